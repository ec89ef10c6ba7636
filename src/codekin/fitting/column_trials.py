"""Trials of columns before a code is chosen, for codebooks that ask for them."""

from __future__ import annotations

import numpy as np

from codekin.classes.trials import ColumnTrials
from codekin.coding import Code, CodingMatrix, Margins
from codekin.learners import Learner
from codekin.progress import tell
from codekin.samples import Samples, rows_at, stratified_folds

N_FOLDS = 5
ENOUGH_SAMPLES, SAMPLES_PER_CLASS = 2_000, 20
"""Fifths of the samples are left out until there are this many."""


def column_trials(learner: Learner, samples: Samples, n_classes: int, rng: np.random.Generator) -> ColumnTrials:
    """The learner's margins for samples that it did not learn from; columns are learned when they are asked for."""
    fold_of_sample = stratified_folds(samples.class_index, N_FOLDS, rng)
    enough = max(ENOUGH_SAMPLES, SAMPLES_PER_CLASS * n_classes)
    sizes = np.cumsum(np.bincount(fold_of_sample, minlength=N_FOLDS))
    n_tried = min(N_FOLDS, 1 + int(np.searchsorted(sizes, enough)))
    known = samples.class_index >= 0
    tried = [np.flatnonzero((fold_of_sample == fold) & known) for fold in range(n_tried)]
    seed = int(rng.integers(2**31 - 1))

    def margins(columns: CodingMatrix) -> Margins:
        tell(f"trying {columns.shape[1]} columns")
        # Classes with the same bits in all of these columns are one class to them.
        rows, row_of_class = np.unique(columns, axis=0, return_inverse=True)
        code = Code.of(rows)
        merged = np.where(known, row_of_class.ravel()[samples.class_index], -1)
        found = []
        for held_out in tried:
            class_index = merged.copy()
            class_index[held_out] = -1
            kept = Samples(samples.X, class_index, samples.weights)
            bits = learner.fit(kept, code, rng=np.random.default_rng(seed))
            found.append(np.asarray(bits.margins(rows_at(samples.X, held_out))))
        return np.concatenate(found)

    rows = np.concatenate(tried)
    weights = np.ones(len(rows)) if samples.weights is None else np.asarray(samples.weights, dtype=np.float64)[rows]
    return ColumnTrials(samples.class_index[rows], weights, margins)
