"""Everything that a page about a model holds, as a description and arrays; similar classes are next to each other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.utils import _safe_indexing

from codekin._system.arrays import Arrays, as_narrow
from codekin.assignments.scores import AssignmentProblem
from codekin.classes import as_class_distances
from codekin.classes.learnability import learnability_distances
from codekin.code import Code, FloatArray, IntArray, entry_for
from codekin.deploy.explore.class_similarity import ClassSimilarity, as_numbers, class_similarity, tree_arrays
from codekin.explaining import explainers_of
from codekin.fitting.report import measured
from codekin.model import Model
from codekin.samples import Samples, rows_at

MOST_TO_MOVE = 12
"""Up to this many classes can be moved to other codewords."""
MOST_TO_TYPE = 50_000
"""Up to this many classes, the page knows the order of the model's labels, which typing texts needs."""
N_SAMPLES = 60
MOST_MARGINS = 200_000
"""How many margins of samples a page holds."""
MOST_TEXT = 2_000

N_CONFUSIONS, N_WORST = 6, 8
N_BEST, N_FEATURES, N_CHILDREN = 8, 12, 5
MOST_BITS = 4_000
"""With more bits, single bits are not measured."""
SHOWN_PER_BLOCK = 2048

Json = dict[str, Any]
Steps = Callable[[int, int], list[Any]]


def described(
    classifier: Any, samples: Samples | None, texts: list[str] | None, names: Any, max_label: int
) -> tuple[Json, Arrays]:
    """What the page shows of a classifier and, if there are samples, of these."""
    model = classifier.model_
    arrays: Arrays = {}
    writer = entry_for(WRITERS, model.codebook)
    kin = class_similarity(model.code, classifier.class_distances_, samples, is_in_order=writer.is_in_order)
    place = np.empty(model.n_classes, dtype=np.intp)
    place[kin.order] = np.arange(model.n_classes)
    labels = [_shortened(str(label), max_label) for label in classifier.classes_[kin.order].tolist()]
    report = classifier.report()
    description: Json = {
        "n_classes": model.n_classes,
        "n_bits": model.n_bits,
        "codebook": model.codebook.name,
        "assignment": report.assignment,
        "loss": report.loss,
        "min_distance": float(model.codebook.min_distance) if model.n_classes <= 2_000 else None,
        "labels": labels,
        "similarity": kin.source,
        "ranking": None,
        "is_learned": bool(model.decoder.is_learned),
        "bit_losses": None,
        "samples": None,
        "is_linear": _is_linear(model),
    }
    if model.ranking is not None:
        n_candidates = min(int(model.ranking.n_candidates), model.n_classes)
        description["ranking"] = {"n_candidates": n_candidates, "n_codes": len(model.codes)}
    description["code"] = writer.describe(model.code, kin.order, arrays)
    if model.n_classes <= MOST_TO_TYPE:
        arrays["order"] = as_narrow(kin.order)
    arrays |= {name: as_narrow(array) for name, array in tree_arrays(kin).items()}
    if kin.nearest is not None and kin.distances is not None:
        arrays["kin"] = as_narrow(kin.nearest - np.arange(model.n_classes)[:, None])
        arrays["kin_distance"] = _numbers(kin.distances)
    if samples is not None:
        description |= _of_samples(classifier, samples, texts, names, place, arrays)
    if model.n_classes <= MOST_TO_MOVE:
        description["moving"] = _moving(classifier, kin, samples)
    return description, arrays


@dataclass(frozen=True)
class CodeWriter:
    """How codes of a kind are shown.

    - ``describe``: from a code and classes to facts about their codewords; adds arrays.
    - ``is_in_order``: whether codewords with numbers close to each other are similar.
    - ``has_sides``: whether each bit has two sides.
    - ``steps``: from a model and samples to a function that gives the steps from a sample to a class, if there are any.
    """

    describe: Callable[[Code, IntArray, Arrays], Json]
    is_in_order: bool = False
    has_sides: bool = True
    steps: Callable[[Model, Any], Steps | None] = lambda *_: None


def _describe_matrix(code: Code, classes: IntArray, arrays: Arrays) -> Json:
    arrays["matrix"] = np.ascontiguousarray(code.coding_matrix[classes])
    has_zeros = bool(code.codebook.is_ternary)
    return {"kind": "matrix", "n_bits": code.n_bits, "n_symbols": code.n_symbols, "has_zeros": has_zeros}


def _describe_trellis(code: Code, classes: IntArray, arrays: Arrays) -> Json:
    trellis = code.codebook.trellis
    arrays["edge_from"], arrays["edge_to"] = map(as_narrow, trellis.edges.T)
    sizes = {"n_slices": int(trellis.n_slices), "n_vertices": int(trellis.n_vertices)}
    return {"kind": "trellis", **_paths(code, trellis, classes, arrays), **sizes}


def _describe_tree(code: Code, classes: IntArray, arrays: Arrays) -> Json:
    tree = code.codebook.tree
    arrays["first_bit"] = as_narrow(tree.first_bits)
    sizes = {"n_nodes": int(tree.n_nodes), "most_children": int(np.diff(tree.first_bits).max())}
    return {"kind": "tree", "has_zeros": True, **_paths(code, tree, classes, arrays), **sizes}


def _paths(code: Code, graph: Any, classes: IntArray, arrays: Arrays) -> Json:
    edges = graph.unrank(code.assignment.codeword_of_class[classes])
    arrays["path"] = as_narrow(np.where(edges < 0, graph.n_edges, edges))
    return {"n_bits": int(graph.n_edges), "n_steps": int(edges.shape[1]), "width": int(graph.width)}


def _tree_steps(model: Model, X: Any) -> Steps:
    """A function: for every node on the way to a class the bit that leads there, and the most probable bits.

    The bits have their probabilities, and that of the path is among them.
    """
    tree = model.codebook.tree
    margins = np.asarray(model.lazy_margins(X)[0])
    leaf_of_class = model.assignment.codeword_of_class

    def steps(row: int, k: int) -> list[Any]:
        found = []
        for own in tree.unrank(leaf_of_class[[k]])[0].tolist():
            if own >= 0:
                node = int(np.searchsorted(tree.first_bits, own, side="right")) - 1
                first, stop = tree.first_bits[node : node + 2].tolist()
                probabilities = softmax(margins[row, first:stop].astype(np.float64))
                best = np.argsort(-probabilities, kind="stable")
                kept = [j for place, j in enumerate(best.tolist()) if place < N_CHILDREN or first + j == own]
                found.append([own, [[first + j, float(probabilities[j])] for j in kept]])
        return found

    return steps


WRITERS: dict[str, CodeWriter | str] = {
    "signs": CodeWriter(_describe_matrix),
    "symbols": CodeWriter(_describe_matrix, has_sides=False),
    "targets": "Codes of signs or symbols can be explored.",
    "trellis": CodeWriter(_describe_trellis, is_in_order=True),
    "tree": CodeWriter(_describe_tree, is_in_order=True, steps=_tree_steps),
}
"""Maps the kind of a codebook to how its codes are shown; ``explorer.js`` has a part for each."""


def _of_samples(  # noqa: PLR0917
    classifier: Any, samples: Samples, texts: list[str] | None, names: Any, place: Any, arrays: Arrays
) -> Json:
    """Measurements, and some samples to look at."""
    model, true = classifier.model_, samples.class_index
    predicted = model.predict(samples.X)
    in_order = np.where(true >= 0, place[np.maximum(true, 0)], -1)
    for name, array in confusions(in_order, place[predicted]).items():
        arrays[f"confused_{name}"] = as_narrow(array)
    sizes = np.bincount(in_order[in_order >= 0], minlength=model.n_classes)
    arrays["n_samples_of"] = as_narrow(sizes)
    found: Json = {"n_measured": len(true), "n_unknown": int((true < 0).sum())}
    found["accuracy"] = float((true == predicted).mean())
    known = np.flatnonzero(true >= 0)
    worst = worst_classes(model, samples)
    if worst is not None:
        arrays["worst"], arrays["worst_share"] = as_narrow(place[worst[0]]), _numbers(worst[1])
    has_margins = not model.codebook.is_lazy
    if has_margins and len(known):
        of_known = Samples(rows_at(samples.X, known), true[known])
        losses = measured(model, classifier.loss_, of_known)["bit_losses"]
        found["bit_losses"] = [float(loss) for loss in losses]
    n_margins = model.code.n_margins * len(model.codes)
    most = min(N_SAMPLES, MOST_MARGINS // n_margins) if has_margins else N_SAMPLES
    chosen = chosen_samples(true, predicted, min(max(most, 1), len(true)))
    X = rows_at(samples.X, chosen)
    shown = predictions(classifier, X, true[chosen], place, lambda row, feature: names(int(chosen[row]), feature))
    for number, (row, one) in enumerate(zip(chosen.tolist(), shown, strict=True)):
        one["name"] = f"sample {row + 1}" if texts is None else _shortened(texts[row], MOST_TEXT)
        one["margins"] = number
    if has_margins:
        arrays["margins"] = np.asarray(model.margins(X), dtype=np.float32)
    found["samples"] = shown
    return found


def _moving(classifier: Any, kin: ClassSimilarity, samples: Samples | None) -> Json:
    """Matrices from which score and learnability of any assignment follow; None where they are not known."""
    model = classifier.model_
    found: Json = {"distances": None, "learnability": None, "what": None, "score": None, "z": None}
    codebook, in_order = model.codebook, np.ix_(kin.order, kin.order)
    if codebook.n_codewords > MOST_TO_MOVE or codebook.n_codewords > model.n_classes:
        found["refused"] = "This code has more codewords than classes; moving classes is for codes with as many."
        return found
    found["codeword_of_class"] = model.assignment.codeword_of_class[kin.order].tolist()
    found["codewords"] = codebook.matrix.tolist()
    found["apart"] = codebook.row_distances().tolist()
    found["is_plain"] = entry_for(WRITERS, codebook).has_sides and not codebook.is_ternary
    distances = classifier.class_distances_
    learned: FloatArray | None = None
    numbers = as_numbers(samples)
    if numbers is not None:
        own = learnability_distances(numbers.X, numbers.class_index, n_classes=model.n_classes)
        learned = own.matrix()
        distances, found["what"] = (own, "learnability, from the samples") if distances is None else (distances, None)
    if distances is not None:
        score, z = AssignmentProblem.of(codebook, as_class_distances(distances)).score_and_z(model.assignment)
        found["distances"] = np.asarray(distances.matrix())[in_order].tolist()
        found["what"] = found["what"] or "the class distances of the model"
        found["score"], found["z"] = float(score), float(z)
    if learned is not None and found["is_plain"]:
        found["learnability"] = np.asarray(learned)[in_order].tolist()
    return found


def _is_linear(model: Any) -> bool:
    try:
        explainers_of(model)
    except ValueError:
        return False
    return True


def _numbers(values: Any) -> Any:
    """Whole numbers in the narrowest type, others in single precision."""
    whole = np.rint(values)
    is_whole = values.size == 0 or (np.isfinite(values).all() and (whole == values).all() and whole.min() >= 0)
    return as_narrow(whole.astype(np.int64)) if is_whole else values.astype(np.float32)


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def confusions(true: IntArray, predicted: IntArray) -> dict[str, NDArray[Any]]:
    """Which classes are predicted for samples of each class, most often first: pairs and counts."""
    known = true >= 0
    n_classes = int(max(true.max(initial=0), predicted.max(initial=0))) + 1
    pairs, counts = np.unique(true[known] * n_classes + predicted[known], return_counts=True)
    is_wrong = pairs // n_classes != pairs % n_classes
    pairs, counts = pairs[is_wrong], counts[is_wrong]
    order = np.lexsort((pairs, -counts, pairs // n_classes))
    pairs, counts = pairs[order], counts[order]
    first = np.searchsorted(pairs // n_classes, pairs // n_classes)
    kept = np.arange(len(pairs)) - first < N_CONFUSIONS
    return {"from": (pairs // n_classes)[kept], "to": (pairs % n_classes)[kept], "count": counts[kept]}


def worst_classes(model: Model, samples: Samples) -> tuple[NDArray[Any], NDArray[Any]] | None:
    """For each bit the classes that it misjudges most often and the shares of their samples, (n_bits, n).

    None for more than two symbols, very many bits, and margins that are computed on demand.
    """
    has_sides = entry_for(WRITERS, model.codebook).has_sides
    if model.codebook.is_lazy or not has_sides or model.n_bits > MOST_BITS:
        return None
    n_wrong = np.zeros((model.n_classes, model.n_bits), dtype=np.float32)
    for start in range(0, len(samples.class_index), SHOWN_PER_BLOCK):
        rows = slice(start, start + SHOWN_PER_BLOCK)
        classes = samples.class_index[rows]
        known = classes >= 0
        signs = model.coding_matrix[classes[known]] * np.sign(model.margins(_safe_indexing(samples.X, rows)))[known]
        np.add.at(n_wrong, classes[known], signs < 0)
    sizes = np.bincount(samples.class_index[samples.class_index >= 0], minlength=model.n_classes)
    shares = n_wrong / np.maximum(sizes, 1)[:, None]
    worst = np.argsort(-shares, axis=0, kind="stable")[:N_WORST].T
    return worst, np.take_along_axis(shares.T, worst, axis=1)


def chosen_samples(true: IntArray, predicted: IntArray, n: int) -> IntArray:
    """Samples to look at: some that are wrong and some that are right, evenly spaced."""
    wrong, right = np.flatnonzero(true != predicted), np.flatnonzero(true == predicted)
    n_wrong = min(len(wrong), max(n // 2, n - len(right)))
    parts = ((wrong, n_wrong), (right, min(n - n_wrong, len(right))))
    picked = [some[np.linspace(0, len(some) - 1, k).astype(np.intp)] for some, k in parts if k > 0]
    return np.unique(np.concatenate(picked)) if picked else np.zeros(0, np.intp)


def predictions(classifier: Any, X: Any, true: IntArray, place: IntArray, names: Any) -> list[dict[str, Any]]:
    """For each sample its best classes and what the features contribute; classes are places in the order."""
    model: Model = classifier.model_
    k = min(N_BEST, model.n_classes)
    classes, losses = model.top_k(X, k)
    _, probabilities = classifier.top_k_proba(X, k)
    before = _places_before(model, X, classes)
    explained = [_explained(classifier, X, classes[:, 0], names), _explained(classifier, X, true, names)]
    steps, found = entry_for(WRITERS, model.codebook).steps(model, X), []
    for row in range(len(classes)):
        best = [
            {
                "class": int(place[c]),
                "loss": float(losses[row, i]),
                "probability": float(probabilities[row, i]),
                "before": None if before is None else int(before[row, i]),
            }
            for i, c in enumerate(classes[row].tolist())
        ]
        asked = [int(c) for c in (classes[row, 0], true[row])]
        one: dict[str, Any] = {"true": int(place[true[row]]) if true[row] >= 0 else None, "best": best}
        one["explained"] = {
            int(place[c]): own[row] for c, own in zip(asked, explained, strict=True) if own is not None and c >= 0
        }
        if steps is not None:
            one["steps"] = {int(place[c]): steps(row, c) for c in asked if c >= 0}
        found.append(one)
    return found


def _places_before(model: Model, X: Any, classes: IntArray) -> IntArray | None:
    """The place of each class in the order of the first code alone, from 0; -1 if it is not among its candidates."""
    if model.ranking is None:
        return None
    alone = replace(model, codes=model.codes[:1], ranking=None)
    listed, _ = alone.top_k(X, min(model.ranking.n_candidates, model.n_classes))
    same = listed[:, None, :] == classes[:, :, None]
    return np.where(same.any(axis=2), same.argmax(axis=2), -1)


def _explained(classifier: Any, X: Any, classes: IntArray, names: Any) -> list[dict[str, Any]] | None:
    """The contributions to the scores of one class per sample, or None if the bits are not linear."""
    try:
        one = classifier.explain(X, classifier.classes_[np.maximum(classes, 0)])
    except ValueError:
        return None
    unnamed = replace(one, feature_names=None)
    return [
        {
            "features": [[names(row, int(feature)), value] for feature, value in unnamed.top(row, N_FEATURES)],
            "rest": [list(term) for term in one.rest(row, N_FEATURES)],
            "score": float(one.scores[row]),
        }
        for row in range(len(one))
    ]
