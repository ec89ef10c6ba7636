"""What samples say about a model: confusions, the losses of the bits, and predictions to look at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.utils import _safe_indexing

from codekin.coding import IntArray
from codekin.model import Model
from codekin.samples import Samples

N_CONFUSIONS, N_WORST = 6, 8
N_BEST, N_FEATURES, N_CHILDREN = 8, 12, 5
MOST_BITS = 4_000
"""With more bits, single bits are not measured."""
SAMPLES_PER_BLOCK = 2048


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

    None for trees, for more than two symbols and for very many bits.
    """
    if model.codebook.tree is not None or model.codebook.n_symbols > 2 or model.n_bits > MOST_BITS:
        return None
    n_wrong = np.zeros((model.n_classes, model.n_bits), dtype=np.float32)
    for start in range(0, len(samples.class_index), SAMPLES_PER_BLOCK):
        rows = slice(start, start + SAMPLES_PER_BLOCK)
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
    steps, found = _tree_steps(model, X), []
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


def _tree_steps(model: Model, X: Any) -> Callable[[int, int], list[Any]] | None:
    """A function: for every node on the way to a class's leaf the bit that leads there, and the most probable bits.

    The bits have their probabilities, and that of the path is among them. None for other codes.
    """
    tree = model.codebook.tree
    if tree is None:
        return None
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


def _places_before(model: Model, X: Any, classes: IntArray) -> IntArray | None:
    """The place of each class in the order of the first code alone, from 0; -1 if it is not among its candidates."""
    if model.ranking is None:
        return None
    alone = replace(model, members=model.members[:1], ranking=None)
    listed, _ = alone.top_k(X, min(model.ranking.n_candidates, model.n_classes))
    same = listed[:, None, :] == classes[:, :, None]
    return np.where(same.any(axis=2), same.argmax(axis=2), -1)


def _explained(classifier: Any, X: Any, classes: IntArray, names: Any) -> list[dict[str, Any]] | None:
    """The contributions to the scores of one class per sample, or None if the bits are not linear."""
    try:
        one = classifier.explain(X, classifier.classes_[np.maximum(classes, 0)])
    except ValueError:
        return None
    return [
        {
            "features": [[names(row, int(feature)), value] for feature, value in _numbered(one, row)],
            "rest": [list(term) for term in one.rest(row, N_FEATURES)],
            "score": float(one.scores[row]),
        }
        for row in range(len(one))
    ]


def _numbered(one: Any, row: int) -> list[tuple[int, float]]:
    """The largest contributions with the numbers of their features."""
    unnamed = replace(one, feature_names=None)
    return [(int(feature), value) for feature, value in unnamed.top(row, N_FEATURES)]
