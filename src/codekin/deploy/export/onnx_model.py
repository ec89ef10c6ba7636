"""A fitted classifier as an ONNX model: from features to margins to the best labels and their probabilities.

ONNX has neither shortest paths nor a beam search, so that the losses of all classes are added up; for very many classes
that is slow. On a tree it is exact, where codekin's search may overlook a class.
Margins have the precision of the weights, everything after them double precision. Sums of margins may differ from
codekin's in the last digit, since runtimes add in another order.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from codekin._system.files import whole_file
from codekin._system.memory import in_units
from codekin._system.messages import not_installed
from codekin._version import __version__
from codekin.code import entry_for
from codekin.data.row_features import takes_vectors
from codekin.deploy.export.onnx_graph import (
    DOUBLE,
    FLOAT,
    INT32,
    IR_VERSION,
    OPSET,
    WRITERS,
    ClassLosses,
    OnnxGraph,
    of_learned_decoder,
)
from codekin.deploy.export.page import check_n_labels, exported_model
from codekin.estimators.text_predictions import with_features
from codekin.learners.linear import LinearRows, linear_rows
from codekin.model.probabilities import ClassPrior

MAX_BYTES = 2**31 - 2**20
"""What a file of ONNX may hold."""
MOST_OF_TREE = 2**30
"""The largest weights of a tree that are exported, with their zeros; its class vectors may take as much again."""


def export_onnx(
    classifier: Any,
    path: str | os.PathLike[str],
    *,
    k: int = 5,
    input: Literal["dense", "sparse"] | None = None,
) -> Path:
    """Write a fitted classifier as an ONNX model, which any ONNX runtime can run without Python.

    The model has the outputs ``labels``, ``losses`` and ``probabilities``, each of shape (n_samples, k), the smallest
    loss first, and ``margins`` of shape (n_samples, n_bits). Labels are the classifier's own, except that labels with
    equal losses may come in another order. A model with sparse input answers samples whose values are all zero with the
    most frequent classes, as the classifier does.

    Parameters
    ----------
    classifier : ECOCClassifier, ExtremeClassifier or TextClassifier
        With linear bits: codekin's own learners, or linear classifiers of scikit-learn. Trellises and trees, all codes
        with a coding matrix, learned decoders, calibration, and the re-ranking of a single trellis or tree can be
        exported; several codes and all other learners cannot, nor can trees whose weights would take more than 1 GB.
    path : path
        The file to write.
    k : int, default=5
        How many labels the model returns.
    input : {"dense", "sparse"}, optional
        The input of the model: ``X`` of shape (n_samples, n_features), or, for texts and other sparse samples,
        ``features`` and ``values`` of shape (n_samples, n), as :func:`padded_rows` makes them. By default sparse for a
        TextClassifier, whose ``vectorizer_`` makes the features outside of the model, and dense for others. Weights of
        one byte stay so in a model with sparse input only.

    Returns
    -------
    Path
        The file.
    """
    try:
        from onnx import helper, save_model
    except ImportError:
        raise not_installed("Exporting to ONNX", "onnx") from None
    model = exported_model(classifier)
    classifier, vectorizer = with_features(classifier)
    input = input or ("dense" if vectorizer is None or takes_vectors(vectorizer) else "sparse")
    if input not in ("dense", "sparse"):
        raise ValueError(f"The 'input' parameter must be 'dense' or 'sparse'. Got {input!r} instead.")
    if len(model.codes) > 1:
        raise ValueError(f"Only a single code can be exported to ONNX. Got {len(model.codes)} of them.")
    of_kind = entry_for(WRITERS, model.codebook)
    writer = of_learned_decoder if model.decoder.is_learned else of_kind
    _check_size(model, is_sparse=input == "sparse")
    labels = _labels(classifier.classes_)
    check_n_labels(model, k)
    graph, rows = OnnxGraph(), linear_rows(model.bits)
    samples = _Samples.sparse(graph, rows) if input == "sparse" else _Samples.dense(rows)
    margins = samples.margins(graph, rows)
    f = margins if rows.weights.dtype == np.float64 or rows.slopes is not None else graph("Cast", margins, to=DOUBLE)
    best, losses, probabilities = _best(graph, model, samples, writer(graph, model, f), k)
    if input == "sparse" and model.prior is not None:
        best, losses, probabilities = _with_prior(graph, model.prior, k, (best, losses, probabilities))
    kinds: dict[str, int] = {"i": 7, "U": 8, "f": DOUBLE, "b": 9}
    outputs = {
        "labels": (
            graph("Gather", graph.constant(labels), best, axis=0),
            kinds[labels.dtype.kind.replace("O", "U")],
            k,
        ),
        "losses": (losses, DOUBLE, k),
        "probabilities": (probabilities, DOUBLE, k),
        "margins": (f, DOUBLE, model.n_bits),
    }
    for name, (value, _, _) in outputs.items():
        graph.nodes.append(helper.make_node("Identity", [value], [name]))
    if sum(len(constant.raw_data) for constant in graph.constants) > MAX_BYTES:
        raise ValueError(
            "An ONNX file holds at most 2 GB. Got a model that is larger; use fewer features or input='sparse'."
        )
    described = [helper.make_tensor_value_info(name, kind, ["n", width]) for name, (_, kind, width) in outputs.items()]
    whole = helper.make_model(
        helper.make_graph(graph.nodes, "codekin", samples.inputs, described, graph.constants),
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="codekin",
        producer_version=__version__,
    )
    if least := classifier._least(None):
        helper.set_model_props(whole, {"min_probability": repr(least)})
    target = Path(path)
    with whole_file(target) as stream:
        save_model(whole, stream)
    return target


def padded_rows(X: Any) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Sparse samples as a model with sparse input takes them.

    Parameters
    ----------
    X : sparse matrix of shape (n_samples, n_features)

    Returns
    -------
    features : ndarray of shape (n_samples, n)
        The features of each sample; ``n`` is the largest number of them, and at least 1. Shorter rows are filled with
        feature 0.
    values : ndarray of shape (n_samples, n)
        Their values; zero where there is no further feature.

    Examples
    --------
    >>> features, values = padded_rows(sparse.csr_array([[0, 2.0, 3.0], [4.0, 0, 0]]))
    >>> features
    array([[1, 2],
           [0, 0]])
    >>> values
    array([[2., 3.],
           [4., 0.]], dtype=float32)
    """
    rows = sparse.csr_array(X)
    lengths = np.diff(rows.indptr)
    shape = rows.shape[0], max(int(lengths.max(initial=0)), 1)
    features, values = np.zeros(shape, np.int64), np.zeros(shape, np.float32)
    is_there = np.arange(shape[1]) < lengths[:, None]
    features[is_there], values[is_there] = rows.indices, rows.data
    return features, values


@dataclass(frozen=True, eq=False)
class _Samples:
    """The input of a model, and products with it."""

    inputs: list[Any]
    features: str | None
    values: str

    @classmethod
    def dense(cls, rows: LinearRows) -> _Samples:
        from onnx import helper

        n_features = len(rows.weights if rows.row_of_feature is None else rows.row_of_feature)
        kind = DOUBLE if rows.weights.dtype == np.float64 else FLOAT
        return cls([helper.make_tensor_value_info("X", kind, ["n", n_features])], None, "X")

    @classmethod
    def sparse(cls, graph: OnnxGraph, rows: LinearRows) -> _Samples:
        from onnx import helper

        inputs = [
            helper.make_tensor_value_info(name, kind, ["n", "m"]) for name, kind in (("features", 7), ("values", FLOAT))
        ]
        values = graph("Cast", "values", to=DOUBLE) if rows.weights.dtype == np.float64 else "values"
        return cls(inputs, "features", values)

    def margins(self, graph: OnnxGraph, rows: LinearRows) -> str:
        """The margins of the bits."""
        if self.features is None:
            product = graph("MatMul", self.values, graph.constant(rows.dense()))
        else:
            which = self.features
            if rows.row_of_feature is not None:
                which = graph("Gather", graph.constant(rows.row_of_feature, np.int32), which)
            values = self.values
            if rows.scales is not None:
                values = graph("Mul", values, graph("Gather", graph.constant(rows.scales), which))
            stored, own = rows.weights, graph("Gather", graph.constant(rows.weights), which)
            if rows.table is not None:
                stored, own = rows.table, graph("Gather", graph.constant(rows.table), graph("Cast", own, to=INT32))
            product = self._summed(graph, values, own, stored)
        margins = graph.add(product, graph.constant(rows.bias))
        if rows.slopes is None:
            return margins
        wide = margins if rows.weights.dtype == np.float64 else graph("Cast", margins, to=DOUBLE)
        return graph.add(graph("Mul", wide, graph.constant(rows.slopes)), graph.constant(rows.intercepts))

    def scores(self, graph: OnnxGraph, by_feature: NDArray[np.int8]) -> str:
        """The products with one-byte columns, (n_samples, n_columns), in single precision."""
        if self.features is None:
            return str(graph("MatMul", self.values, graph.constant(by_feature, np.float32)))
        rows = graph("Gather", graph.constant(by_feature), self.features)
        return self._summed(graph, self.values, rows, by_feature)

    @staticmethod
    def _summed(graph: OnnxGraph, values: str, rows: str, stored: NDArray[Any]) -> str:
        """The sum of each sample's rows, times its values."""
        if stored.dtype not in (np.float32, np.float64):
            rows = graph("Cast", rows, to=FLOAT)
        middle = graph.constant([1], np.int64)
        return str(graph("Squeeze", graph("MatMul", graph("Unsqueeze", values, middle), rows), middle))


def _check_size(model: Any, *, is_sparse: bool) -> None:
    """Raise if weights that codekin keeps sparse would be too large with their zeros."""
    bits = model.bits
    n_bytes = (
        bits.n_features * bits.n_bits * (bits.weights.itemsize if is_sparse else 4) if model.codebook.is_lazy else 0
    )
    if n_bytes > MOST_OF_TREE:
        raise ValueError(
            f"ONNX has no sparse weights: those of {bits.n_bits:,} bits and {bits.n_features:,} features would "
            f"take {in_units(n_bytes)}, and at most {in_units(MOST_OF_TREE)} are exported. Use code='trellis'."
        )


def _labels(classes: NDArray[Any]) -> NDArray[Any]:
    """The labels in a type that ONNX has."""
    if classes.dtype.kind in "iu":
        return classes.astype(np.int64)
    if classes.dtype.kind in "fb":
        return classes
    if not all(isinstance(label, str) for label in classes.tolist()):
        raise ValueError(f"Labels must be numbers or texts to be exported. Got labels of type {classes.dtype}.")
    for label in classes.tolist():
        if label.encode("utf-8", "replace").decode() != label:
            raise ValueError(f"Labels of an ONNX model cannot have halves of surrogate pairs. Got {label[:40]!r}.")
    return np.array(classes.tolist(), dtype=object)


def _with_prior(graph: OnnxGraph, prior: ClassPrior, k: int, answer: tuple[str, str, str]) -> list[str]:
    """The best classes, losses and probabilities, for samples without features those of the most frequent classes."""
    first = prior.order[:k][None]
    largest = graph("ReduceMax", graph("Abs", "values"), axes=[1], keepdims=1)
    is_unknown = graph("Equal", largest, graph.constant(0, np.float32))
    unknown = (first.astype(np.int64), prior.losses[first], prior.probabilities[first])
    return [graph("Where", is_unknown, graph.constant(own), name) for own, name in zip(unknown, answer, strict=True)]


def _best(graph: OnnxGraph, model: Any, samples: _Samples, own: ClassLosses, k: int) -> tuple[str, str, str]:
    """The best classes, their losses and probabilities; candidates are re-ranked if the model does so."""
    ranking = model.ranking
    if ranking is None:
        best, places = graph.best(own.losses, k)
        logs = graph.columns(own.logs, places)
    else:
        listed, at = graph.best(own.losses, min(ranking.n_candidates, model.n_classes))
        final = listed
        if ranking.vectors is not None:
            steps, scales = _by_feature(ranking.vectors, own.classes)
            scores = graph("Cast", graph.columns(samples.scores(graph, steps), at), to=DOUBLE)
            weights = graph("Gather", graph.constant(ranking.weight * scales), at)
            final = graph("Sub", listed, graph("Mul", scores, weights))
        if np.isfinite(own.max_loss_gap):
            final = graph.with_others_behind(listed, final, own.max_loss_gap)
        best, order = graph.best(final, k)
        places = graph.columns(at, order)
        whole = graph("Log", graph.total(graph("Exp", graph.columns(own.logs, at))))
        shared = graph("LogSoftmax", graph.times(final, -1 / ranking.temperature), axis=1)
        logs = graph.columns(graph.add(shared, whole), order)
    found = graph("Gather", graph.constant(own.classes, np.int64), places)
    return found, best if own.constant is None else graph.add(best, own.constant), graph("Exp", logs)


def _by_feature(vectors: Any, classes: NDArray[Any]) -> tuple[NDArray[np.int8], NDArray[np.float64]]:
    """The steps of class vectors as (n_features, n_classes), and the scales of the classes, in the given order."""
    if vectors.n_features * len(classes) > MAX_BYTES:
        raise ValueError(
            f"The vectors of {len(classes):,} classes and {vectors.n_features:,} features take more than the 2 GB that "
            "an ONNX file holds. Train with rerank=None."
        )
    place = np.empty(len(classes), np.intp)
    place[classes] = np.arange(len(classes))
    steps = np.zeros((vectors.n_features, len(classes)), np.int8)
    steps[vectors.features, np.repeat(place, np.diff(vectors.indptr))] = vectors.steps
    return steps, vectors.scales[classes].astype(np.float64)
