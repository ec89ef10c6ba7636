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

from collections.abc import Callable, Iterator, Sequence
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

from codekin._system.arrays import bounded_margins
from codekin._system.parallel import single_blas
from codekin.code import Code, FloatArray, IntArray, Margins
from codekin.learners.estimators import is_plain_linear
from codekin.learners.independent import ConstantBit, EstimatorBits
from codekin.learners.linear import CONSTANT_MARGIN
from codekin.samples import N_FOLDS, Samples, rows_at, stratified_folds

SAMPLES_PER_FEATURE = 20
"""From this many samples per feature on, margins of training samples are better than those out of folds, which come
from five sets of bits that differ from the final one. Accuracy of decoders learned from the former and from the latter:
digits, 17 samples per feature, 93.8 and 94.3 %; vowel, 20 and 45 samples per feature, 68.6 and 66.9 %, 88.6 and 83.8 %.
"""

MAX_FEATURES = 300
MAX_WORK = 3e10
"""With more features than this, and more multiplications than this, a fifth of the samples is left out at a time."""

SAMPLES_PER_DIMENSION = 3
"""With more bits than dimensions and fewer samples per class and dimension, a fifth is left out at a time, too."""
LEAST_VARIANCE = 1e-7
"""Directions in which margins vary by less than this share of the largest variance are rounding, and so is what varies
by less than its square as a share of the largest square: all of it, if bits say the same of every sample."""
NEWTON_STEPS, GRADIENT_STEPS = 3, 12
ROWS_PER_BLOCK, BITS_PER_BLOCK = 4096, 32
TINY = np.float32(1e-30)
LEAST_PENALTY = LEAST_SLOPE = 1e-9
LEAST_CURVATURE = 0.02
"""The least share of the curvature along a sample that remains without it, where this is an approximation."""


class OutOfFold(NamedTuple):
    """Margins of samples from bits without them.

    - ``rows``: which samples, in increasing order.
    - ``by_fifths``: the same margins from bits without a fifth of the samples, where ``margins`` are from bits without
      one. They are less like those of new samples, but reveal nothing about the class.
    """

    margins: Margins
    rows: IntArray
    by_fifths: Margins | None = None


def approximate_out_of_fold_margins(
    bits: Any, samples: Samples, code: Code, *, n_margins: int, rng: np.random.Generator
) -> OutOfFold | None:
    """Margins of samples as if the bits had been learned without them.

    None for bits that do not minimise a smooth loss with a quadratic penalty over numeric features. Where there are few
    features or few samples, all samples get margins; otherwise as many fifths of them as contain ``n_margins``.

    More linear bits than features add no information. But bits learned without a single sample differ from those of
    other samples, and how they differ reveals its class. Margins are projected onto the span of the bits' own, as those
    of new samples are. With few samples per class that also takes back much of what the sample's absence changed; then
    a fifth of them is left out at a time, so that many samples share the same bits, and nothing is projected.
    Of few samples, there are margins of either kind.
    """
    if not isinstance(bits, EstimatorBits) or bits.columns is not None:
        return None
    predictors, class_index = bits.predictors, samples.class_index
    is_constant = np.array([isinstance(predictor, ConstantBit) for predictor in predictors])
    if is_constant.all() or None in [_objective(one) for one in predictors if not isinstance(one, ConstantBit)]:
        return None
    known = np.flatnonzero(class_index >= 0)
    fold_of_sample = stratified_folds(class_index[known], N_FOLDS, rng)
    folds = [known[fold_of_sample == fold] for fold in range(N_FOLDS)]
    entries, (n_classes, n_bits) = code.coding_matrix[class_index].astype(np.float64), code.coding_matrix.shape
    is_used = code.codebook.is_used(code.assignment.codeword_of_class)[class_index] & (class_index >= 0)[:, None]
    own = bits.margins(rows_at(samples.X, known))
    rank, n_learned = _basis(own).shape[1], np.count_nonzero(~is_constant)
    are_few = rank < n_learned and len(known) < SAMPLES_PER_DIMENSION * rank * n_classes
    is_each, n_folds, margins = True, N_FOLDS, np.empty((len(class_index), n_bits))
    has_both = len(known) <= n_margins
    by_fifths = np.empty_like(margins)
    for bit, predictor in enumerate(predictors):
        if isinstance(predictor, ConstantBit):
            margins[:, bit] = predictor.sign * CONSTANT_MARGIN
    with single_blas():  # sums must not depend on the number of threads
        for columns, X in _groups(predictors, np.flatnonzero(~is_constant), samples.X):
            if getattr(getattr(X, "dtype", None), "kind", "O") not in "biuf" or len(X.shape) != 2:
                return None  # these are no numbers
            learners = [steps_of(predictors[bit])[-1] for bit in columns]
            lesson = _LinearLesson.of(X, entries[:, columns], is_used[:, columns], samples.weights, learners)
            if not are_few and (X.shape[1] <= MAX_FEATURES or lesson.work <= MAX_WORK):
                margins[np.ix_(known, columns)] = lesson.without_each(known)
                for fold in folds if has_both else ():
                    by_fifths[np.ix_(fold, columns)] = lesson.without(fold)
                continue
            is_each, sizes = False, np.cumsum([len(fold) for fold in folds])
            n_folds = min(N_FOLDS, 1 + int(np.searchsorted(sizes, n_margins)))
            for fold in folds[:n_folds]:
                margins[np.ix_(fold, columns)] = lesson.without(fold)
    rows = np.sort(np.concatenate(folds[:n_folds]))
    if not is_each:
        return OutOfFold(bounded_margins(margins[rows]), rows)
    of_fifths = bounded_margins(by_fifths[rows]) if has_both else None
    return OutOfFold(bounded_margins(within_span(margins[rows], own)), rows, of_fifths)


def within_span(margins: Margins, own: Margins) -> Margins:
    """Margins projected onto the span of the bits' own margins for the same samples."""
    mean, basis = own.mean(axis=0), _basis(own)
    return margins if basis.shape[1] == len(basis) else np.asarray(mean + (margins - mean) @ basis @ basis.T)


def _basis(own: Margins) -> FloatArray:
    """Directions in which margins vary, as orthonormal columns."""
    with single_blas():
        values, vectors = np.linalg.eigh(np.cov(own, rowvar=False, ddof=0).reshape(own.shape[1], -1))
    least = max(LEAST_VARIANCE * values[-1], np.square(LEAST_VARIANCE * np.abs(own).max()))
    return np.asarray(vectors[:, values > least])


def _groups(predictors: Sequence[Any], columns: IntArray, X: Any) -> Iterator[tuple[IntArray, Any]]:
    """Groups of bits with the same features, and these; each bit after a transformation has its own."""
    is_plain = np.array([not hasattr(predictors[bit], "steps") for bit in columns])
    if is_plain.any():
        yield columns[is_plain], X
    for bit in columns[~is_plain]:
        yield np.array([bit]), predictors[bit][:-1].transform(X)


class _Objective(NamedTuple):
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


def _objective(predictor: Any) -> _Objective | None:
    """What a fitted bit minimises, if known."""
    steps = steps_of(predictor)
    if len(steps) > 1:
        # A step that uses the classes was fitted to them as well.
        has_looked = any(get_tags(one).target_tags.required or isinstance(one, SelectorMixin) for one in steps[:-1])
        return None if has_looked else _objective(steps[-1])
    learner = steps[0]
    if type(learner) in (Ridge, RidgeClassifier) and not learner.positive:
        return _Objective("squared", 1.0, float(learner.alpha), float(learner.fit_intercept))
    if type(learner) is LinearSVC and (learner.loss, learner.penalty) == ("squared_hinge", "l2"):
        return _Objective("squared_hinge", learner.C, 1.0, learner.fit_intercept * learner.intercept_scaling, 1.0)
    if type(learner) is LogisticRegression and learner.penalty in ("deprecated", "l2") and not learner.l1_ratio:
        is_scaled, has_penalty = learner.solver == "liblinear", np.isfinite(learner.C)
        intercept = learner.fit_intercept * (learner.intercept_scaling if is_scaled else 1.0)
        return _Objective(
            "logistic", learner.C if has_penalty else 1.0, float(has_penalty), intercept, float(is_scaled)
        )
    return None


class _LinearLesson(NamedTuple):
    """Bits of one kind, and their training data."""

    A: Any
    """(n_samples, n_features + 1), the last one for the intercept."""
    bits: FloatArray
    counts: FloatArray
    """(n_samples, n_bits): how much each sample counts for each bit."""
    weights: FloatArray
    """(n_features + 1, n_bits)"""
    penalties: FloatArray
    objective: _Objective

    @classmethod
    def of(
        cls, X: Any, bits: FloatArray, is_used: NDArray[np.bool_], sample_weight: Any, learners: list[Any]
    ) -> _LinearLesson:
        objective = _objective(learners[0])
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


# ----- whether margins of training samples are good enough -----------------------------------------------------------


def has_enough_samples(bits: Any, samples: Samples, code: Code) -> bool:
    """Whether the margins of the training samples are about like those of new samples.

    That is so for linear bits with at least twenty samples per feature each, also after transformations that do not use
    the classes.
    """
    n_features = _n_linear_features(bits)
    if n_features is None:
        return False
    counts = None if samples.weights is None else (np.asarray(samples.weights) > 0).astype(np.float64)
    class_sizes = np.bincount(samples.class_index, counts, minlength=code.n_classes)
    n_seen = class_sizes @ code.is_used
    return bool(n_seen.min() >= SAMPLES_PER_FEATURE * n_features)


def are_linear(bits: Any) -> bool:
    """Whether the margins are linear in the features, possibly after a transformation."""
    return _n_linear_features(bits) is not None


def _n_linear_features(bits: Any) -> int | None:
    """The largest number of features of linear bits; None for other bits."""
    if not isinstance(bits, EstimatorBits):
        return getattr(bits, "n_features", None)
    numbers = [_n_features_of(predictor) for predictor in bits.predictors]
    return None if None in numbers else max(number for number in numbers if number is not None)


def _n_features_of(predictor: Any) -> int | None:
    if isinstance(predictor, ConstantBit):
        return 0
    steps = steps_of(predictor)
    if steps and steps[0] is not predictor:
        # A step that uses the classes, or selects features, is fitted to them, however few features remain.
        has_looked = any(get_tags(step).target_tags.required for step in steps[:-1])
        n_features = None if has_looked else _n_features_of(steps[-1])
        return n_features and max(n_features, int(getattr(predictor, "n_features_in_", 0)))
    return int(np.shape(predictor.coef_)[-1]) if is_plain_linear(predictor) else None


def steps_of(predictor: Any) -> list[Any]:
    """The steps of a pipeline, or the predictor alone."""
    named = getattr(predictor, "steps", [("", predictor)])
    return [step for _, step in named if step not in (None, "passthrough")]
