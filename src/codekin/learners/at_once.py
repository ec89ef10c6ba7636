"""The bits of one-vs-rest from a single fit of all classes.

Linear support vector machines and ridge classifiers learn each class against the rest themselves, with a fraction of
the calls. A logistic regression of all classes lets them compete: its scores are linear, so that each can be the margin
of a bit, and the class with the largest one is decoded.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from codekin.code import Code
from codekin.learners.estimators import last_step, learns_jointly, predictors_of_classes, seeded
from codekin.learners.independent import EstimatorBits, IndependentBits
from codekin.samples import Samples, rows_at

MOST_WEIGHTS, MOST_NUMBERS = 10**6, 10**7
"""With more weights, the solver of all classes at once takes long, and much memory. With more numbers in the samples,
times classes, the calls take little of the time, and support vector machines are learned by all workers."""


def learns_at_once(estimator: Any, samples: Samples, n_classes: int) -> bool:
    """Whether one fit of all classes gives the bits of one-vs-rest, or better ones."""
    from sklearn.linear_model import RidgeClassifier
    from sklearn.svm import LinearSVC

    shape: tuple[int, ...] = getattr(samples.X, "shape", ())
    if len(shape) != 2 or n_classes * shape[1] > MOST_WEIGHTS:
        return False
    if learns_jointly(estimator):
        return True
    last = last_step(estimator)
    is_small = type(last) is RidgeClassifier or shape[0] * shape[1] * n_classes <= MOST_NUMBERS
    is_same = type(last) is RidgeClassifier or (type(last) is LinearSVC and last.multi_class == "ovr")
    return is_same and is_small and last.class_weight is None


@dataclass(frozen=True, eq=False)
class BitsAtOnce(IndependentBits):
    """Learns the bits of one-vs-rest by one fit of all classes."""

    def fit(self, samples: Samples, code: Code, *, rng: np.random.Generator) -> EstimatorBits:
        """A predictor for each bit, with the weights of the class whose bit it is."""
        weights = np.ones(len(samples)) if samples.weights is None else np.asarray(samples.weights)
        rows = np.flatnonzero((samples.class_index >= 0) & (weights > 0))
        if len(np.unique(samples.class_index[rows])) < code.n_classes or self.fit_params:
            return super().fit(samples, code, rng=rng)
        learned = seeded(self.estimator, int(rng.integers(np.iinfo(np.int32).max)))
        name = f"{learned.steps[-1][0]}__sample_weight" if hasattr(learned, "steps") else "sample_weight"
        own = {} if samples.weights is None else {name: weights[rows]}
        for task in [self.tasks.popleft() for _ in range(code.n_bits) if self.tasks]:
            with task.around(learned):
                pass
        X = samples.X if len(rows) == len(samples) else rows_at(samples.X, rows)
        learned.fit(X, samples.class_index[rows], **own)
        predictors = predictors_of_classes(learned, code.coding_matrix.argmax(axis=0))
        return EstimatorBits(predictors, are_joint=learns_jointly(learned))
