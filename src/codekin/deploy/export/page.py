"""A classifier of texts or rows as a static page: the model's arrays and a script that predicts, in one HTML file."""

from __future__ import annotations

import base64
import gzip
import html
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from codekin._system.arrays import Arrays, as_narrow
from codekin._system.files import folder_for, whole_file
from codekin._version import __version__
from codekin.code import entry_for
from codekin.data.row_features import Features, FittedRows
from codekin.decoding import LOSSES
from codekin.decoding.decoder import check_k
from codekin.estimators.base import CodedClassifier
from codekin.estimators.text_predictions import with_features
from codekin.learners.compact import CompactSparseLinearBits
from codekin.learners.linear import linear_rows
from codekin.learners.tree_bits import sizes_of_steps
from codekin.model import Model
from codekin.model.probabilities import check_one_label
from codekin.pages.html import asset, filled

PAGE = "index.html"
SCRIPTS = "engine.js", "codes.js"
ROWS = "rows.js"
"""The further script of models of several columns."""
TEXT_FIELD = '<label for="text">Text to classify</label>\n<textarea id="text" autofocus></textarea>'
ROW_FIELDS = '<div id="row" role="group" aria-label="Sample to classify"></div>'

KINDS = ("i1", "u1", "i2", "u2", "i4", "u4", "f4")
"""The types of arrays, as the script calls them; all others become double precision."""


def export_page(
    classifier: Any,
    folder: str | os.PathLike[str],
    *,
    vectorizer: Features | None = None,
    title: str = "Text classifier",
    k: int = 5,
) -> Path:
    """Write a text classifier as a static page: type a text, get its classes, without a server.

    The page is one HTML file with the model inside, which needs no network; any browser since 2023 shows it, from a
    disk or from any web server. Anyone who has the page has the model, its vocabulary and its labels. Models of several
    columns have a field for each of them; empty ones count as missing.

    Parameters
    ----------
    classifier : TextClassifier or ExtremeClassifier
        One or more trees of classes or a single code on a trellis, re-ranked or not. Several codes on a trellis cannot
        be exported.
    folder : path
        Where to write ``index.html``; the folder is made if necessary.
    vectorizer : FittedVectorizer, optional
        What makes an ExtremeClassifier's features of texts; a TextClassifier has its own.
    title : str, default="Text classifier"
        The heading of the page.
    k : int, default=5
        How many classes the page shows.

    Returns
    -------
    Path
        The page.
    """
    classifier, vectorizer = with_features(classifier, vectorizer)
    model = exported_model(classifier)
    if vectorizer is None:
        raise ValueError("A page needs a TextClassifier, or the 'vectorizer' of a classifier's features. Got none.")
    if vectorizer.n_features != classifier.n_features_in_:
        raise ValueError(
            f"A classifier of {classifier.n_features_in_} features needs a vectorizer with as many. "
            f"Got one with {vectorizer.n_features}."
        )
    n_shown = min(k, len(classifier.classes_))
    check_n_labels(model, n_shown)
    content = packed(*described_model(classifier, vectorizer, n_shown))
    fields, scripts = (ROW_FIELDS, (*SCRIPTS, ROWS)) if isinstance(vectorizer, FittedRows) else (TEXT_FIELD, SCRIPTS)
    n_classes, n_features = f"{model.n_classes:,}", f"{vectorizer.n_features:,}"
    values = {
        "title": html.escape(title),
        "footer": f"{n_classes} classes, {n_features} features. Everything happens in this page; no text leaves it. "
        f"Made with codekin {__version__}.",
        "model": content,
        "fields": fields,
        "engine": "".join(asset("codekin.deploy.export", name) for name in scripts),
        "k": str(n_shown),
    }
    page = filled(asset("codekin.deploy.export", "page.html"), values)
    target = Path(folder)
    with folder_for(target), whole_file(target / PAGE) as stream:
        stream.write(page.encode("utf-8"))
    return target / PAGE


def described_model(classifier: Any, vectorizer: Features, k: int) -> tuple[dict[str, Any], Arrays]:
    """What the page's script needs to know for up to k answers, and its arrays; classes are in the order of paths.

    Raises ValueError if the script cannot predict what this classifier does.
    """
    model = exported_model(classifier)
    if not hasattr(classifier, "temperature_"):
        raise ValueError(f"A page holds an ExtremeClassifier. Got one of type {type(classifier).__name__}.")
    writer = entry_for(WRITERS, model.codebook)
    features, arrays = _described_features(vectorizer)
    classes = np.argsort(model.assignment.codeword_of_class, kind="stable")
    description: dict[str, Any] = {
        "labels": [str(label) for label in classifier.classes_[classes].tolist()],
        **features,
        "kind": model.codebook.kind,
        "n_classes": model.n_classes,
        "temperature": float(model.temperature),
        "ranking": None,
    }
    if least := classifier._least(None):
        description["least"] = least
    prior = model.prior
    if prior is not None:
        first, place = prior.order[:k], np.argsort(classes)
        description["prior"] = [place[first].tolist(), prior.losses[first].tolist()]
    ranking = model.ranking
    if ranking is not None:
        if ranking.vectors is not None:
            arrays |= _vectors(ranking.vectors, classes)
        description["ranking"] = {
            "n_candidates": min(ranking.n_candidates, model.n_classes),
            "weight": float(ranking.weight),
            "temperature": float(ranking.temperature),
            "reach": None,
        }
    writer(model, classes, description, arrays)
    return description, arrays


def _described_features(vectorizer: Features) -> tuple[dict[str, Any], Arrays]:
    """What makes features of a text, or of every cell of a row; the columns are in the order of the cells."""
    if not isinstance(vectorizer, FittedRows):
        settings, arrays = vectorizer.to_state()
        return {"vectorizer": settings}, arrays
    if vectorizer.n_dims:
        listed = ", ".join(vectorizer.columns.embeddings)
        raise ValueError(f"A page cannot make vectors of what is typed. Got a model with vectors of {listed}.")
    names, unit, columns, arrays = vectorizer.columns, vectorizer.unit, [], {}
    for k, (name, weight, fitted) in enumerate(zip(names.text, vectorizer.weights, vectorizer.texts, strict=True)):
        settings, own = fitted.to_state()
        arrays |= {f"text{k}_{of}": array for of, array in own.items()}
        rounded = float(np.float32(weight * unit))
        columns.append(
            {"kind": "text", "name": name, "n": fitted.n_features, "weight": rounded, "vectorizer": settings}
        )
    for name, centre, scale in zip(names.numbers, vectorizer.centres, vectorizer.scales, strict=True):
        columns.append({"kind": "number", "name": name, "n": 1, "weight": unit, "centre": centre, "scale": scale})
    for name, known in zip(names.categories, vectorizer.categories, strict=True):
        columns.append({"kind": "category", "name": name, "n": len(known), "weight": unit, "known": known})
    return {"columns": columns}, arrays


def _write_trellis(model: Any, classes: NDArray[Any], description: dict[str, Any], arrays: Arrays) -> None:
    """Add the edges of all classes, and the weights of the edges."""
    if len(model.codes) > 1:
        raise ValueError(f"A page holds a single trellis or trees. Got {len(model.codes)} trellises.")
    trellis = model.codebook.trellis
    edges = trellis.unrank(model.assignment.codeword_of_class[classes])
    arrays["edges"] = as_narrow(np.where(edges < 0, trellis.n_edges, edges))
    arrays |= _weights(model.bits)
    description |= {
        "n_bits": int(trellis.n_edges),
        "path_edges": int(edges.shape[1]),
        "loss": model.decoder.loss.name,
        "is_gapped": isinstance(model.bits, CompactSparseLinearBits),
    }


def _weights(bits: Any) -> Arrays:
    if isinstance(bits, CompactSparseLinearBits):
        starts = np.concatenate([[0], np.cumsum(bits.counts, dtype=np.int64)])
        weights = bits.weights if bits.weights.dtype == np.int8 else bits.weights.astype(np.float32)
        return {
            "weights": weights,
            "gaps": bits.gaps,
            "starts": starts.astype(np.uint32),
            "scales": bits.scale_of_feature,
            "bias": bits.bias,
        }
    rows = linear_rows(bits)
    n_features = len(rows.weights)
    row_of_feature = np.arange(n_features) if rows.row_of_feature is None else rows.row_of_feature
    weights = rows.weights if rows.weights.dtype == np.int8 else rows.weights.astype(np.float32)
    arrays = {"weights": weights, "row_of_feature": as_narrow(row_of_feature), "bias": rows.bias}
    return arrays if rows.scales is None else {**arrays, "scales": rows.scales}


def _write_trees(model: Any, classes: NDArray[Any], description: dict[str, Any], arrays: Arrays) -> None:
    """Add the trees and their weights; classes are numbered in the order of the first tree's leaves: ``classes``.

    Of each node there are the number of children and the first of them: a node, or minus one minus a leaf. The others
    follow it.
    """
    number_of_class = np.empty(len(classes), np.intp)
    number_of_class[classes] = np.arange(len(classes))
    description |= {"n_trees": len(model.codes), "beam": model.decoder.beam}
    if model.ranking is not None and np.isfinite(model.ranking.max_loss_gap):
        description["ranking"]["reach"] = float(model.ranking.max_loss_gap)
    for t, member in enumerate(model.codes):
        bits: Any = member.bits
        if not hasattr(bits, "tree"):
            raise ValueError("A page takes texts, and has no vectors of classes of dense samples. Got such a model.")
        tree = bits.tree
        own = {
            "n_children": as_narrow(np.diff(tree.first_bits)),
            "below": tree.children[tree.first_bits[:-1]].astype(np.int32),
            "bias": bits.bias,
            **{name: getattr(bits, name) for name in ("counts", "nodes", "lengths", "children")},
            "weights": bits.values if bits.scale is None else bits.weights,
        }
        if bits.scale is not None:
            own["sizes"] = sizes_of_steps(bits.scale)
        if t > 0:
            own["classes"] = as_narrow(number_of_class[member.code.assignment.class_of_codeword(tree.n_paths)])
        arrays |= {f"tree{t}_{name}": array for name, array in own.items()}


Writer = Callable[[Any, NDArray[Any], dict[str, Any], Arrays], None]
WRITERS: dict[str, Writer | str] = {
    **dict.fromkeys(("signs", "symbols", "targets"), "A page holds a trellis or trees."),
    "trellis": _write_trellis,
    "tree": _write_trees,
}
"""Maps the kind of a codebook to what adds its codes to a description and arrays; ``codes.js`` has a reader of each."""


def _vectors(vectors: Any, classes: NDArray[Any]) -> Arrays:
    """Class vectors in the order of the paths."""
    own = vectors.to_csr()[classes]
    own.sort_indices()
    scales = vectors.scales[classes]
    steps = np.rint(own.data / np.repeat(np.where(scales > 0, scales, 1), np.diff(own.indptr))).astype(np.int8)
    return {
        "vector_starts": own.indptr.astype(np.uint32),
        "vector_features": as_narrow(own.indices),
        "vector_steps": steps,
        "vector_scales": scales.astype(np.float32),
    }


# ----- what pages and ONNX share ----------------------------------------------------------------------------------


def exported_model(classifier: Any) -> Model:
    """The model of a fitted classifier; raises if it cannot be exported."""
    classifier, _ = with_features(classifier)
    if not isinstance(classifier, CodedClassifier):
        raise TypeError(
            "An ECOCClassifier, an ExtremeClassifier or a TextClassifier can be exported. "
            f"Got an object of type {type(classifier).__name__}."
        )
    classifier._check_is_fitted()
    model: Model = classifier.model_
    check_one_label(model, "Exported models give")
    if model.ranking is not None and model.ranking.n_indexed:
        raise ValueError(
            "Exported models rescore the candidates of a code. Got one with candidates of an index; "
            "train with candidates='code' (--candidates code)."
        )
    loss = model.decoder.loss
    if LOSSES.get(loss.name) is not loss:
        raise ValueError(f"A loss given as a function cannot be exported. Got {loss.name}.")
    return model


def check_n_labels(model: Model, k: int) -> None:
    """Raise unless an exported model can return this many labels."""
    check_k(k, model.n_classes)
    if model.ranking is not None and k > model.ranking.n_candidates:
        n = model.ranking.n_candidates
        raise ValueError(f"This model ranks {n} candidates; at most as many labels can be exported. Got {k}.")


def packed(description: dict[str, Any], arrays: Arrays) -> str:
    """The description and the arrays, zipped, in letters, which ``unpacked`` of ``engine.js`` reads.

    They are the length of the JSON, the JSON, and the arrays.
    """
    places: dict[str, Any] = {}
    parts: list[bytes] = []
    # Places depend on the length of the JSON, and that on the places: room for both is left at the beginning.
    start = 8 * (len(json.dumps(description)) // 8 + 16 * (len(arrays) + 2))
    offset = start
    for name, array in arrays.items():
        kind = array.dtype.str[1:] if array.dtype.str[1:] in KINDS else "f8"
        places[name] = [kind, offset, array.size]
        content = array.astype(f"<{kind}").tobytes()
        parts.append(content + b"\0" * (-len(content) % 8))
        offset += len(parts[-1])
    text = json.dumps({**description, "arrays": places}).encode()
    head = len(text).to_bytes(4, "little") + text
    whole = head + b"\0" * (start - len(head)) + b"".join(parts)
    return base64.b64encode(gzip.compress(whole, compresslevel=9, mtime=0)).decode()
