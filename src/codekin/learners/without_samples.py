"""What the margins of a linear bit's own samples would be without them, found without learning it again.

Linear bits minimise ``sum_i c_i l(z_i) + penalty``, and leaving sample i out moves its margin by

    f_i -> f_i + c_i l'_i h_i / (1 - c_i l''_i h_i),    h_i = a_i' H^-1 a_i,    H = sum_i c_i l''_i a_i a_i' + penalty

up to terms of second order (exactly for ridge classifiers and ridge regression). With more features than samples, the
same follows from a matrix of pairs of samples. With many of both, either matrix would cost more than the bits. Then a
fifth of the samples is left out at a time instead, and all bits take a few Newton steps from where they are, solved by
conjugate gradients.

References: K. Rad and A. Maleki, "A scalable estimate of the out-of-sample prediction error via approximate
leave-one-out cross-validation", JRSS B 82, 2020; S. Wang et al., "Approximate leave-one-out for fast parameter tuning
in high dimensions", ICML 2018.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from scipy.special import expit
from sklearn.feature_selection import SelectorMixin
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.svm import LinearSVC
from sklearn.utils import gen_batches, get_tags
from sklearn.utils.class_weight import compute_sample_weight

from codekin.code import FloatArray, IntArray, Margins

NEWTON_STEPS, GRADIENT_STEPS = 3, 12
ROWS_PER_BLOCK, BITS_PER_BLOCK = 4096, 32
TINY = np.float32(1e-30)
LEAST_PENALTY = LEAST_SLOPE = 1e-9
LEAST_CURVATURE = 0.02
"""The least share of the curvature along a sample that remains without it, where this is an approximation."""


def steps_of(predictor: Any) -> list[Any]:
    """The steps of a pipeline, or the predictor alone."""
    named = getattr(predictor, "steps", [("", predictor)])
    return [step for _, step in named if step not in (None, "passthrough")]


class Objective(NamedTuple):
    """What a learner minimises: the sum of ``factor`` times a loss, and half the squared weights times ``penalty``."""

    loss: str
    factor: float
    penalty: float
    intercept: float
    """The value of the feature whose weight is the intercept; 0 if there is none."""
    intercept_penalty: float = 0.0

    def derivatives(self, bits: FloatArray, margins: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The first and second derivatives of the loss with respect to the margins; only squares have real bits."""
        if self.loss == "squared":
            return self.factor * (margins - bits), np.full_like(margins, self.factor)
        z = bits * margins
        if self.loss == "logistic":
            wrong = expit(-z)
            return -self.factor * bits * wrong, self.factor * np.maximum(wrong * (1 - wrong), LEAST_SLOPE)
        short = np.maximum(1 - z, 0)
        return -2 * self.factor * bits * short, 2 * self.factor * np.sign(short)


def objective_of(predictor: Any) -> Objective | None:
    """What a fitted bit minimises, if known."""
    steps = steps_of(predictor)
    if len(steps) > 1:
        # A step that uses the classes was fitted to them as well.
        has_looked = any(get_tags(one).target_tags.required or isinstance(one, SelectorMixin) for one in steps[:-1])
        return None if has_looked else objective_of(steps[-1])
    learner = steps[0]
    if type(learner) in (Ridge, RidgeClassifier) and not learner.positive:
        return Objective("squared", 1.0, float(learner.alpha), float(learner.fit_intercept))
    if type(learner) is LinearSVC and (learner.loss, learner.penalty) == ("squared_hinge", "l2"):
        return Objective("squared_hinge", learner.C, 1.0, learner.fit_intercept * learner.intercept_scaling, 1.0)
    if type(learner) is LogisticRegression and learner.penalty in ("deprecated", "l2") and not learner.l1_ratio:
        is_scaled, has_penalty = learner.solver == "liblinear", np.isfinite(learner.C)
        intercept = learner.fit_intercept * (learner.intercept_scaling if is_scaled else 1.0)
        return Objective("logistic", learner.C if has_penalty else 1.0, float(has_penalty), intercept, float(is_scaled))
    return None


class LinearLesson(NamedTuple):
    """Bits of one kind, and their training data."""

    A: Any
    """(n_samples, n_features + 1), the last one for the intercept."""
    bits: FloatArray
    counts: FloatArray
    """(n_samples, n_bits): how much each sample counts for each bit."""
    weights: FloatArray
    """(n_features + 1, n_bits)"""
    penalties: FloatArray
    objective: Objective

    @classmethod
    def of(
        cls, X: Any, bits: FloatArray, is_used: NDArray[np.bool_], sample_weight: Any, learners: list[Any]
    ) -> LinearLesson:
        objective = objective_of(learners[0])
        assert objective is not None
        intercept = np.full((X.shape[0], 1), objective.intercept)
        if hasattr(X, "toarray"):
            A: Any = sparse.hstack([sparse.csr_array(X), sparse.csr_array(intercept)], format="csr", dtype=np.float64)
        else:
            A = np.hstack([X, intercept], dtype=np.float64)
        counts = is_used.astype(np.float64)
        if sample_weight is not None:
            counts *= np.asarray(sample_weight, dtype=np.float64)[:, None]
        weights = np.empty((X.shape[1] + 1, len(learners)))
        for bit, learner in enumerate(learners):
            coefficients = learner.coef_.toarray() if hasattr(learner.coef_, "toarray") else learner.coef_
            own_intercept = np.ravel(learner.intercept_)[0] / (objective.intercept or 1.0)
            weights[:, bit] = np.append(np.ravel(coefficients), own_intercept)
            class_weight = getattr(learner, "class_weight", None)
            if class_weight is not None:
                used = is_used[:, bit]
                counts[used, bit] *= compute_sample_weight(class_weight, (bits[used, bit] > 0).astype(int))
        penalties = np.append(np.full(X.shape[1], objective.penalty), objective.intercept_penalty)
        return cls(A, bits, counts, weights, np.maximum(penalties, LEAST_PENALTY), objective)

    def derivatives(self, weights: Any) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Margins, and the first and second derivatives of the losses with respect to them."""
        margins = np.asarray(self.A @ weights)
        first, second = self.objective.derivatives(self.bits, margins)
        return margins, self.counts * first, self.counts * second

    @property
    def work(self) -> float:
        """About how many multiplications :meth:`without_each` takes."""
        n_curved = np.count_nonzero(self.derivatives(self.weights)[2], axis=0)
        n_features = self.A.shape[1]
        return float((n_curved * n_features * np.minimum(n_curved, n_features)).sum())

    def without_each(self, rows: IntArray) -> Margins:
        """The leave-one-out margin of each of these samples, from the leverages of all samples."""
        margins, first, second = self.derivatives(self.weights)
        least = 1e-9 if self.objective.loss == "squared" else LEAST_CURVATURE
        for bit in range(margins.shape[1]):
            curved = np.flatnonzero(second[:, bit])  # the loss of the others is zero, and stays so
            left_without = self._left_by_pairs if len(curved) < self.A.shape[1] else self._left_by_features
            left = left_without(curved, second[curved, bit])
            moved = first[curved, bit] / second[curved, bit] * (1 - left)
            margins[curved, bit] += moved / np.maximum(left, least)
        return margins[rows]

    def _left_by_features(self, curved: IntArray, second: FloatArray) -> FloatArray:
        """The share ``1 - second * leverage`` of the curvature along each sample that remains without it."""
        hessian = np.diag(self.penalties)
        for some in gen_batches(len(curved), ROWS_PER_BLOCK):
            rooted = self._rows(curved[some]) * np.sqrt(second[some, None])
            hessian += rooted.T @ rooted
        factor, left = linalg.cholesky(hessian, lower=True), np.empty(len(curved))
        for some in gen_batches(len(curved), ROWS_PER_BLOCK):
            leverage = np.square(linalg.solve_triangular(factor, self._rows(curved[some]).T, lower=True)).sum(axis=0)
            left[some] = 1 - second[some] * leverage
        return left

    def _left_by_pairs(self, curved: IntArray, second: FloatArray) -> FloatArray:
        """The same from products of samples: the diagonal of the inverse of their matrix."""
        rooted = self.A[curved] / np.sqrt(self.penalties)
        products = rooted @ rooted.T
        products = products.toarray() if hasattr(products, "toarray") else products
        roots = np.sqrt(second)
        factor = linalg.cholesky(roots[:, None] * products * roots + np.eye(len(curved)), lower=True, overwrite_a=True)
        inverse, _ = linalg.lapack.dtrtri(factor, lower=1)
        return np.asarray(np.square(inverse).sum(axis=0))

    def _rows(self, rows: IntArray) -> FloatArray:
        found = self.A[rows]
        return np.asarray(found.toarray() if hasattr(found, "toarray") else found)

    def without(self, rows: IntArray) -> Margins:
        """Margins of these samples with bits that took some steps towards their minimum without them."""
        is_kept = np.ones((len(self.bits), 1))
        is_kept[rows] = 0
        A = self.A.astype(np.float32)
        squares = A.multiply(A) if hasattr(A, "multiply") else np.square(A)
        turned = A.T.tocsr() if hasattr(A, "tocsr") else A.T
        margins = np.empty((len(rows), self.bits.shape[1]))
        for start in range(0, margins.shape[1], BITS_PER_BLOCK):  # few enough for the cache
            some = slice(start, start + BITS_PER_BLOCK)
            kept = self._replace(A=A, bits=self.bits[:, some], counts=self.counts[:, some] * is_kept)
            weights, penalties = self.weights[:, some].astype(np.float32), self.penalties[:, None].astype(np.float32)
            for _ in range(NEWTON_STEPS):
                first, second = (values.astype(np.float32) for values in kept.derivatives(weights)[1:])
                gradient = turned @ first + penalties * weights
                scale = squares.T @ second + penalties

                def times(V: Any, second: Any = second, penalties: Any = penalties) -> Any:
                    return turned @ (second * (A @ V)) + penalties * V

                weights -= _conjugate_gradients(times, gradient, scale)
            margins[:, some] = self.A[rows] @ weights
        return margins


def _conjugate_gradients(times: Callable[[Any], Any], target: Any, scale: Any) -> Any:
    """Approximate solutions of the systems with the diagonals ``scale``: a few steps from zero.

    ``times`` multiplies the matrix of each bit by its column.
    """
    found, residual = np.zeros_like(target), target
    direction = scaled = residual / scale
    size = np.einsum("fb,fb->b", residual, scaled)
    for _ in range(GRADIENT_STEPS):
        image = times(direction)
        step = size / np.maximum(np.einsum("fb,fb->b", direction, image), TINY)
        found += step * direction
        residual = residual - step * image
        scaled = residual / scale
        size, last = np.einsum("fb,fb->b", residual, scaled), size
        direction = scaled + size / np.maximum(last, TINY) * direction
    return found
