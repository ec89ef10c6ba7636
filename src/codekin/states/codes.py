"""A model as JSON and arrays: codes with their bits and decoders, and how their candidates are ranked.

For each part there is a function that describes it and one that restores and checks it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from inspect import signature
from typing import Any, NamedTuple

import numpy as np

from codekin._system.arrays import Arrays, as_narrow, check_counts, check_indices
from codekin.code import Assignment, Code, Codebook
from codekin.code.codebook import kind_of_matrix
from codekin.code.tree import TreeGraph
from codekin.code.trellis import TrellisGraph
from codekin.decoding import LOSSES, LearnedDecoder, MinimumLossDecoder, decoder_of
from codekin.model import FittedCode, Model
from codekin.model.class_vectors import ClassVectors, features_of_gaps
from codekin.model.probabilities import ClassPrior, Marginals
from codekin.model.reranking import Reranking
from codekin.states.bits import describe_bits, restore_bits
from codekin.states.values import Json, check, checked, typed

MARGINALS = "losses", "probabilities", "thresholds"
"""The arrays of marginal probabilities."""


def describe_model(model: Model, arrays: Arrays, learners: list[Any], *, is_alone: bool) -> Json:
    """A model as JSON; arrays and learners are added to the given ones.

    A model ``is_alone`` if there is no classifier around it, which knows how it makes probabilities.
    """
    description: Json = {
        "n_classes": model.n_classes,
        "n_bits": model.n_bits,
        **_describe_code(model.codes[0], arrays, learners),
    }
    if model.prior is not None:
        arrays["class_frequencies"] = model.prior.sizes
    if model.marginals is not None:
        arrays.update({f"marginal_{name}": getattr(model.marginals, name) for name in MARGINALS})
        description["frequencies_of"] = None if model.prior is None else model.prior.total
        description["predicts_table"] = model.marginals.is_dense
        if model.marginals.training_counts is not None:
            arrays["training_counts"] = model.marginals.training_counts
    if model.ranking is not None:
        description["ranking"] = _describe_ranking(model, arrays, learners)
    own: Any = model.probability_decoder
    if is_alone and model.temperature != 1:
        description["temperature"] = model.temperature
    if is_alone and own is not None:
        description |= {"probability_loss": own.loss.name, "is_weighted": own.is_weighted}
    return description


def restore_model(description: Json, arrays: Arrays, learners: list[Any]) -> tuple[Model, int | None]:
    """What :func:`describe_model` described, and for how many features it has weights, if it has any.

    The temperature is that of the classifier around it, if there is one. All parts fit together.
    """
    codes, ranking, prior = [_restore_code(description, arrays, learners)], None, None
    if "ranking" in description:
        for number, other in enumerate(description["ranking"]["members"], start=1):
            codes.append(_restore_code(other, _prefixed(arrays, f"member_{number}_"), learners))
        ranking = _restore_ranking(description["ranking"], arrays)
    if "class_frequencies" in arrays:
        total = description.get("frequencies_of")
        total = None if total is None else float(checked(total, "frequencies_of", "positive"))
        prior = ClassPrior(arrays["class_frequencies"], total)
    marginals = None
    if "marginal_losses" in arrays:
        own = {name: np.array(typed(arrays[f"marginal_{name}"], f"marginal_{name}", "float64")) for name in MARGINALS}
        counts = None
        if "training_counts" in arrays:
            counts = np.array(typed(arrays["training_counts"], "training_counts", "int64"))
        marginals = Marginals(**own, is_dense=bool(description.get("predicts_table")), training_counts=counts)
    temperature = description.get("classifier", description).get("temperature")
    temperature = 1.0 if temperature is None else float(checked(temperature, "temperature", "positive"))
    model = Model(tuple(codes), ranking, prior=prior, temperature=temperature, marginals=marginals)
    if "probability_loss" in description:
        loss, is_weighted = LOSSES[description["probability_loss"]], bool(description["is_weighted"])
        model = replace(model, probability_decoder=MinimumLossDecoder(model.coding_matrix, loss, is_weighted))
    n_classes, n_bits = codes[0].code.n_classes, sum(each.code.n_bits for each in codes)
    check(
        (description["n_classes"], description["n_bits"]) == (n_classes, n_bits),
        f"there are {n_classes} classes and {n_bits} bits, which is not what 'n_classes' and 'n_bits' say",
    )
    of_bits = [getattr(each.bits, "n_features", None) for each in codes]
    widths = {int(n_features) for n_features in of_bits if n_features is not None}
    if ranking is not None and ranking.vectors is not None:
        widths.add(ranking.vectors.n_features)
    check(len(widths) <= 1, f"there are weights for {', '.join(map(str, sorted(widths)))} features")
    return model, next(iter(widths), None)


def _prefixed(arrays: Arrays, prefix: str) -> Arrays:
    """The arrays whose names begin with a prefix, without it."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def _describe_code(fitted: FittedCode, arrays: Arrays, learners: list[Any]) -> Json:
    codebook, assignment = fitted.code.codebook, fitted.code.assignment
    arrays["codeword_of_class"] = as_narrow(assignment.codeword_of_class)
    of_codebook = {"name": codebook.name, "is_designed": codebook.is_designed}
    return {
        "codebook": {**of_codebook, **CODEBOOKS[codebook.kind].write(codebook, arrays)},
        "assignment": {"method": assignment.method, **({"policy": assignment.policy} if assignment.policy else {})},
        "decoder": _describe_decoder(fitted.decoder, arrays),
        "bits": describe_bits(fitted.bits, arrays, learners),
    }


def _restore_code(description: Json, arrays: Arrays, learners: list[Any]) -> FittedCode:
    codebook = CODEBOOKS[kind_of(description["codebook"])].read(description["codebook"], arrays)
    named = description["assignment"]
    assignment = Assignment(arrays["codeword_of_class"], str(named["method"]), str(named.get("policy", "")))
    code = Code(codebook, assignment)
    bits = restore_bits(description["bits"], arrays, learners, code)
    given = dict(description["decoder"])
    is_learned, decoder = given.pop("is_learned", False), decoder_of(code, **given)
    if is_learned:
        decoder = LearnedDecoder.from_arrays(_prefixed(arrays, "decoder_"), given["loss"])
        is_right = (decoder.n_classes, decoder.n_bits) == (code.n_classes, code.n_margins)
        check(is_right, f"the decoder is not of {code.n_classes} classes and {code.n_margins} margins")
    return FittedCode(code, bits, decoder)


def _describe_decoder(decoder: Any, arrays: Arrays) -> Json:
    """The loss of a decoder, whether it is weighted, and its learned weights."""
    loss = decoder.loss.name
    if loss not in LOSSES:
        raise ValueError(f"A loss given as a function cannot be saved; use one of {sorted(LOSSES)}. Got {loss}.")
    description = {"loss": loss, "is_weighted": bool(getattr(decoder, "is_weighted", False))}
    if decoder.is_learned:
        description["is_learned"] = True
        arrays.update({f"decoder_{name}": array for name, array in decoder.to_arrays().items()})
    return description


# ----- codebooks ----------------------------------------------------------------------------------------------------


class _Form(NamedTuple):
    """How a kind of codebook is written and read."""

    write: Callable[[Codebook, Arrays], Json]
    read: Callable[[Json, Arrays], Codebook]


def kind_of(description: Json) -> str:
    """The kind of graph that a description has; "signs" if it has a matrix, of signs or anything else."""
    return next((kind for mark, kind in GRAPHS.items() if mark in description), "signs")


def matrix_codebook(matrix: Any, description: Json) -> Codebook:
    """The codebook of a matrix, with the name and parameters of a description."""
    named: Json = {"name": str(description["name"]), "is_designed": bool(description["is_designed"])}
    return Codebook(matrix, **named, **matrix_parameters(description))


def matrix_parameters(description: Json) -> Json:
    """The parameters that say which kind of matrix it is."""
    given = {name: description[name] for name in signature(kind_of_matrix).parameters if name in description}
    for name, value in given.items():
        checked(int(value) if isinstance(value, bool) else value, name)
    return given


def _write_matrix(codebook: Codebook, arrays: Arrays) -> Json:
    arrays["codebook"] = codebook.matrix
    return codebook.parameters


def _read_matrix(description: Json, arrays: Arrays) -> Codebook:
    codebook = matrix_codebook(arrays["codebook"], description)
    typed(arrays["codebook"], "codebook", codebook.matrix.dtype.name, 2)
    return codebook


def _write_graph(codebook: Codebook, _: Arrays) -> Json:
    return {codebook.kind: {"n_codewords": codebook.n_codewords, "width": codebook.width}}


def _read_trellis(description: Json, arrays: Arrays) -> Codebook:
    codebook = Codebook(name="trellis", trellis=TrellisGraph(**_size(description["trellis"])))
    codebook.check_spare_codewords(len(arrays["codeword_of_class"]))
    return codebook


def _read_tree(description: Json, arrays: Arrays) -> Codebook:
    size, n_classes = _size(description["tree"]), len(arrays["codeword_of_class"])
    check(size["n_paths"] == n_classes, f"a tree of {size['n_paths']} leaves cannot have {n_classes} classes")
    return Codebook(name="label_tree", tree=TreeGraph(**size))


def _size(graph: Json) -> dict[str, int]:
    return {"n_paths": checked(graph["n_codewords"], "n_codewords"), "width": checked(graph["width"], "width")}


_MATRIX = _Form(_write_matrix, _read_matrix)
CODEBOOKS = {
    "signs": _MATRIX,
    "symbols": _MATRIX,
    "targets": _MATRIX,
    "trellis": _Form(_write_graph, _read_trellis),
    "tree": _Form(_write_graph, _read_tree),
}
"""The kinds of codebooks. Two numbers define a graph; all others have a matrix, whose parameters say the kind."""
GRAPHS = {"trellis": "trellis", "tree": "tree", "width": "trellis"}
"""The fields of a description that only graphs have; ``width`` is that of files of assignments."""


# ----- rankings -----------------------------------------------------------------------------------------------------


def _describe_ranking(model: Model, arrays: Arrays, learners: list[Any]) -> Json:
    """The parts of a ranked model besides its first code; arrays of other codes are prefixed with their number."""
    ranking = model.ranking
    assert ranking is not None
    others: list[Json] = []
    for number, fitted in enumerate(model.codes[1:], start=1):
        own: Arrays = {}
        others.append(_describe_code(fitted, own, learners))
        arrays.update({f"member_{number}_{name}": array for name, array in own.items()})
    description: Json = {
        "members": others,
        "n_candidates": ranking.n_candidates,
        "weight": ranking.weight,
        "temperature": ranking.temperature,
    }
    if np.isfinite(ranking.max_loss_gap):
        description["reach"] = ranking.max_loss_gap
    if ranking.n_indexed:
        description["index"] = {"n_candidates": ranking.n_indexed, "n_entries": ranking.n_entries}
    if ranking.vectors is not None:
        arrays.update({f"vector_{name}": array for name, array in ranking.vectors.to_arrays().items()})
        description["vectors"] = {"n_features": ranking.vectors.n_features}
    return description


def _restore_ranking(description: Json, arrays: Arrays) -> Reranking:
    """What ranks the candidates of all codes."""
    index = description.get("index", {"n_candidates": 0, "n_entries": 0})
    return Reranking(
        checked(description["n_candidates"], "n_candidates", n=1),
        _restore_vectors(description["vectors"], arrays) if "vectors" in description else None,
        float(description["weight"]),
        float(checked(description["temperature"], "temperature", "positive")),
        float(checked(description["reach"], "reach", "positive")) if "reach" in description else np.inf,
        *(checked(index[name], name) for name in ("n_candidates", "n_entries")),
    )


def _restore_vectors(description: Json, arrays: Arrays) -> ClassVectors:
    lengths, steps, scales = (arrays[f"vector_{name}"] for name in ("lengths", "steps", "scales"))
    n_features = checked(description["n_features"], "n_features")
    check_counts(lengths, len(steps), "the lengths of class vectors")
    if typed(scales, "vector_scales", "float32").shape != lengths.shape:
        raise ValueError(f"{len(lengths)} class vectors need as many scales. Got {len(scales)}.")
    has_gaps = "vector_gaps" in arrays
    features = typed(arrays["vector_gaps"], "vector_gaps", "uint16") if has_gaps else arrays["vector_features"]
    if typed(steps, "vector_steps", "int8").shape != features.shape:
        raise ValueError(f"class vectors of {len(features)} features need as many steps. Got {len(steps)}.")
    indptr = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    if has_gaps:
        features = features_of_gaps(lengths.astype(np.int64), features)
    check_indices(features, n_features, "the features of class vectors")
    if has_gaps:
        is_entry = steps != 0  # not the bridge over a wide gap
        indptr = np.concatenate([[0], np.cumsum(is_entry)])[indptr]
        features, steps = features[is_entry], steps[is_entry]
    # Copies: the kernels would be compiled a second time for read-only arrays.
    return ClassVectors(indptr, np.array(features), np.array(steps), np.array(scales), n_features)
