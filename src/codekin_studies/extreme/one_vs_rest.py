"""One predictor per class, for comparison: learned in blocks of classes, of which only the best margins are kept.

A dense matrix of the weights of all predictors would take 59 GB on LSHTC1. Accuracies need only the largest margin of
each sample, pass by pass, and blocks of classes can be learned one after the other.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from codekin._system.memory import available_memory
from codekin.coding import Code, FloatArray
from codekin.datasets import Dataset, Split
from codekin.learners import AROW, EpochReport
from codekin.samples import Samples

BYTES_PER_WEIGHT = 16
"""Of a class and a feature in training: weight, variance and a copy of the weight, and some room."""


def accuracies_of_passes(
    data: Dataset, learner: AROW, *, rng: int, parts: Sequence[Split], n_at_once: int | None = None
) -> FloatArray:
    """The accuracies of one-vs-rest after each pass on some parts of a data set, (n_epochs, n_parts).

    ``n_at_once`` classes are learned at a time, by default as many as fit into memory; the result is the same.
    """
    n_classes = data.n_classes
    best = [np.full((learner.n_epochs, len(part)), -np.inf, dtype=np.float32) for part in parts]
    predicted = [np.zeros((learner.n_epochs, len(part)), dtype=np.intp) for part in parts]
    n_at_once = _classes_that_fit(int(data.X.shape[1]), n_classes) if n_at_once is None else n_at_once
    for first in range(0, n_classes, n_at_once):
        n_here = min(n_at_once, n_classes - first)
        is_here = (data.y >= first) & (data.y < first + n_here)
        # All other classes are one, which no column has on its positive side.
        codewords = np.where(np.eye(n_here + (n_here < n_classes), n_here) > 0, 1, -1).astype(np.int8)
        samples = Samples(data.X, np.where(is_here, data.y - first, n_here))

        def compare(report: EpochReport, first: int = first) -> None:
            assert report.snapshot is not None
            bits, place = report.snapshot(), report.epoch - 1
            for part, largest, classes in zip(parts, best, predicted, strict=True):
                margins = bits.margins(part.X)
                winner = margins.argmax(axis=1)
                values = margins[np.arange(len(margins)), winner]
                # Strictly larger: among equal margins the first class wins, as without blocks.
                is_larger = values > largest[place]
                largest[place, is_larger] = values[is_larger]
                classes[place, is_larger] = first + winner[is_larger]

        learner.fit(samples, Code.of(codewords), rng=rng, on_epoch=compare)
    return 100 * np.column_stack([(own == part.y).mean(axis=1) for own, part in zip(predicted, parts, strict=True)])


def best_pass(scores: Sequence[float], patience: int) -> int:
    """The pass, from 0, that early stopping would choose: the best until ``patience`` passes in a row are below it.

    >>> best_pass([50.0, 60.0, 55.0, 58.0, 70.0], patience=2)
    1
    """
    best = n_below = 0
    for place, score in enumerate(scores):
        best = place if score > scores[best] else best
        n_below = n_below + 1 if score < scores[best] else 0
        if n_below >= patience:
            break
    return best


def _classes_that_fit(n_features: int, n_classes: int) -> int:
    available = available_memory()
    if available is None:
        return n_classes
    return int(np.clip(available // (BYTES_PER_WEIGHT * n_features), 1, n_classes))
