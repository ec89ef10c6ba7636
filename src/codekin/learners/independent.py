"""One scikit-learn estimator per bit, fitted independently and in parallel.

Classifiers get bits as the labels 0 and 1, and columns of more symbols as labels without gaps, which every learner
accepts; regressors get real bits as they are, and their predictions are the margins. The predictors of linear
estimators are stacked, so that the margins of all bits are one matrix product.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from copy import copy, deepcopy
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import repeat
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from codekin._system.arrays import bounded_margins
from codekin._system.parallel import share_work, with_workers
from codekin._system.rows import n_samples_in
from codekin.code import Code, Codebook, CodingMatrix, FloatArray, IntArray, Margins
from codekin.learners.estimators import (
    LEAST_OF_ONE,
    LEAST_PROBABILITY,
    bit_margins,
    is_per_sample,
    is_plain_linear,
    natural_loss,
    seeded,
    symbol_margins,
    way_of_learning,
)
from codekin.learners.label_sets import LabelSets
from codekin.learners.linear import CONSTANT_MARGIN, LinearRows
from codekin.samples import Samples, rows_at


@dataclass(frozen=True)
class ConstantBit:
    """The classifier of a bit that was always +1, or always -1, in the training samples."""

    sign: int

    def decision_function(self, X: Any) -> FloatArray:
        """The same margin for every sample."""
        return np.full(n_samples_in(X), self.sign * CONSTANT_MARGIN)

    def predict(self, X: Any) -> IntArray:
        """The same side for every sample: 1 or 0."""
        return np.full(n_samples_in(X), int(self.sign > 0))

    def predict_proba(self, X: Any) -> FloatArray:
        """Certainty for every sample, as in one-vs-rest."""
        return np.eye(2)[self.predict(X)]


def are_of_estimators(bits: Any) -> bool:
    """Whether bits, calibrated or not, are learners of other libraries, which have rules of their own."""
    return isinstance(getattr(bits, "bits", bits), EstimatorBits)


@dataclass(frozen=True, eq=False)
class EstimatorBits:
    """Fitted estimators, one per bit.

    - ``predictors``: fitted binary classifiers with classes 0 and 1, or ``ConstantBit``; regressors of real bits.
    - ``columns`` of shape (n_bits, n_features): for precomputed kernels, the training samples of each bit.
    - ``symbols``: for columns with more than two symbols, those that each predictor knows, in the order of its classes.
    - ``are_joint``: whether they are the scores of the classes of one logistic regression.
    """

    predictors: Sequence[Any] = field(repr=False)
    columns: NDArray[np.bool_] | None = field(default=None, repr=False)
    symbols: Sequence[IntArray] | None = field(default=None, repr=False)
    n_symbols: int = 2
    are_joint: bool = False

    @property
    def n_bits(self) -> int:
        return len(self.predictors)

    @cached_property
    def stacked(self) -> tuple[NDArray[Any], NDArray[Any]] | None:
        """Stacked weights (n_features, n_bits) and intercepts if every predictor is plain linear."""
        rows, intercepts = [], []
        n_features = next((p.coef_.shape[-1] for p in self.predictors if is_plain_linear(p)), None)
        for predictor in self.predictors:
            if isinstance(predictor, ConstantBit) and n_features is not None:
                rows.append(np.zeros(n_features))
                intercepts.append(predictor.sign * CONSTANT_MARGIN)
            elif is_plain_linear(predictor):
                coefficients = predictor.coef_
                dense = coefficients.toarray() if hasattr(coefficients, "toarray") else np.asarray(coefficients)
                rows.append(np.ravel(dense))
                intercepts.append(float(np.ravel(predictor.intercept_)[0]))
            else:
                return None
        return np.asarray(rows).T, np.asarray(intercepts)

    def margins(self, X: Any) -> Margins:
        """One column per bit, positive if the predictor says +1; for a real bit what the predictor predicts.

        With more than two symbols, one column per symbol: the logarithm of how much more probable it is than by chance.
        """
        is_numbers = getattr(getattr(X, "dtype", None), "kind", "O") in "biuf"
        if self.symbols is None and is_numbers and self.stacked is not None:
            weights, intercepts = self.stacked
            return bounded_margins(np.asarray(X @ weights + intercepts))
        seen = repeat(X) if self.columns is None else (_columns_at(X, own) for own in self.columns)
        if self.symbols is None:
            margins = [bit_margins(*pair) for pair in zip(self.predictors, seen, strict=False)]
        else:
            parts = zip(self.predictors, seen, self.symbols, strict=False)
            least = LEAST_PROBABILITY if len(self.predictors) > 1 else LEAST_OF_ONE
            margins = [symbol_margins(*part, self.n_symbols, least) for part in parts]
        return bounded_margins(np.column_stack(margins))

    def linear_rows(self) -> LinearRows | None:
        """The weights in the form that linear predictors of all kinds have in common; None if they are not linear."""
        if self.symbols is not None or self.stacked is None:
            return None
        weights, intercepts = self.stacked
        return LinearRows(np.asarray(weights, np.float64), None, None, np.asarray(intercepts, np.float64))


@dataclass(frozen=True, eq=False)
class IndependentBits:
    """Learns every bit with a clone of one scikit-learn classifier, or of a regressor if bits are real.

    Parameters
    ----------
    estimator : classifier or regressor
        Has ``fit`` and either ``decision_function`` or ``predict_proba``, or is a regressor; it is cloned, never fitted
        itself. Its random states that are None are set from the generator, so that a seed determines the result.
    n_jobs : int, optional
        How many of joblib's workers learn the bits, -1 for one per processor; by default those of the enclosing
        ``joblib.parallel_config``, or none without one.
    fit_params : mapping, optional
        Further arguments of the estimator's ``fit``. Those with one entry per sample follow the samples of a bit;
        ``OtherSamples`` in them become labels and rows of each bit.
    tasks : deque, optional
        One is taken from the left for every bit that is fitted, for callbacks such as a progress bar.
    """

    estimator: Any
    n_jobs: int | None = None
    fit_params: Mapping[str, Any] | None = None
    tasks: deque[Any] | None = None

    learns_probabilities: ClassVar[bool] = False
    """False: bits can be calibrated one by one."""

    @property
    def learns_targets(self) -> bool:
        """Whether it learns real bits: the estimator is a regressor."""
        from sklearn.base import is_regressor

        return bool(is_regressor(self.estimator))

    def decoding_loss(self, codebook: Codebook) -> str:
        """The default decoding loss: the one that the estimator minimises, if known; with more symbols, their sum.

        That of real bits is the squared one.
        """
        return codebook.loss_of_margins(natural_loss(self.estimator))

    def fit(self, samples: Samples, code: Code, *, rng: np.random.Generator) -> EstimatorBits:
        """Learn every bit of a code; samples of class -1 are left out."""
        from sklearn.utils import get_tags

        check_kind(self, code.codebook)
        # Of a precomputed kernel samples are columns as well as rows.
        is_pairwise = bool(get_tags(self.estimator).input_tags.pairwise)
        lesson = _Lesson.of(samples, code, self.fit_params or {}, is_pairwise=is_pairwise)
        n_bits = lesson.coding_matrix.shape[1]
        begun = [seeded(self.estimator, int(seed)) for seed in _draw_seeds(n_bits, rng)]
        tasks = [self.tasks.popleft() if self.tasks else None for _ in begun]
        symbols: Any = [lesson.present(bit) for bit in range(n_bits)] if code.codebook.has_symbol_margins else None
        bits = self._shared(_fit_bit, lesson, list(zip(begun, range(n_bits), tasks, strict=True)))
        bits = replace(bits, symbols=symbols, n_symbols=code.codebook.n_symbols)
        if not lesson.is_pairwise:
            return bits
        used = [lesson.labels(bit, lesson.class_index)[0] for bit in range(n_bits)]
        is_used = np.array([np.isin(np.arange(len(samples)), rows) for rows in used])
        return bits if is_used.all() else replace(bits, columns=is_used)

    def partial_fit(
        self, bits: EstimatorBits | None, samples: Samples, code: Code, *, rng: np.random.Generator
    ) -> EstimatorBits:
        """Continue to learn from further samples; the given bits are left as they are.

        Parameters
        ----------
        bits : EstimatorBits or None
            The result of an earlier call; None to begin.
        samples, code, rng
            As in :meth:`fit`.

        Returns
        -------
        EstimatorBits
        """
        check_kind(self, code.codebook)
        seeds = _draw_seeds(code.n_bits, rng)
        begun = [seeded(self.estimator, int(seed)) for seed in seeds] if bits is None else deepcopy(bits.predictors)
        lesson = _Lesson.of(samples, code, {})
        learned = self._shared(_partial_fit_bit, lesson, list(zip(begun, range(len(begun)), strict=True)))
        symbols: Any = [lesson.known(bit) for bit in range(code.n_bits)] if code.codebook.has_symbol_margins else None
        return replace(learned, symbols=symbols, n_symbols=code.n_symbols)

    def _shared(self, fit: Callable[[_Lesson, Any], Any], lesson: _Lesson, parts: Sequence[Any]) -> EstimatorBits:
        """Fit every bit, here or in joblib's workers."""
        with with_workers(self.n_jobs) as n_workers:
            if n_workers > 1:
                return EstimatorBits(list(share_work(fit, lesson, parts)))
        return EstimatorBits([fit(lesson, part) for part in parts])


@dataclass(frozen=True, eq=False)
class BitsAtOnce(IndependentBits):
    """Learns the bits of one-vs-rest by one fit of all classes; in a logistic regression, they compete."""

    def fit(self, samples: Samples, code: Code, *, rng: np.random.Generator) -> EstimatorBits:
        """A predictor for each bit, with the weights of the class whose bit it is."""
        weights = np.ones(samples.class_index.shape) if samples.weights is None else np.asarray(samples.weights)
        rows = np.flatnonzero((samples.class_index >= 0) & (weights > 0))
        if len(np.unique(samples.class_index[rows])) < code.n_classes or self.fit_params:
            return super().fit(samples, code, rng=rng)
        learned = seeded(self.estimator, int(rng.integers(np.iinfo(np.int32).max)))
        name = f"{learned.steps[-1][0]}__sample_weight" if hasattr(learned, "steps") else "sample_weight"
        own = {} if samples.weights is None else {name: weights[rows]}
        for task in [self.tasks.popleft() for _ in range(code.n_bits) if self.tasks]:
            with task.around(learned):
                pass
        X = samples.X if len(rows) == len(weights) else rows_at(samples.X, rows)
        learned.fit(X, samples.class_index[rows], **own)
        predictors = [_predictor_of_class(learned, k) for k in code.coding_matrix.argmax(axis=0)]
        return EstimatorBits(predictors, are_joint=way_of_learning(learned) == "jointly")


def _predictor_of_class(learned: Any, k: int) -> Any:
    """A predictor of two sides for one of the classes, with its weights in a fit of all classes at once."""
    own = last = copy(learned)
    if hasattr(own, "steps"):
        last = copy(own.steps[-1][1])
        own.steps = [*own.steps[:-1], (own.steps[-1][0], last)]
    last.coef_ = last.coef_[k : k + 1].copy(order="C")
    last.intercept_ = last.intercept_[k : k + 1].copy() if np.ndim(last.intercept_) else last.intercept_
    last.classes_ = np.arange(2)
    return own


@dataclass(frozen=True, eq=False)
class OtherSamples:
    """Something about samples that a learner is judged on: their labels, as classes, or ``values`` with a row for each.

    In the arguments of ``fit`` it stands where every bit gets its own labels, and the rows of the classes it uses.
    """

    name: str
    class_index: IntArray
    values: Any = None


class _Lesson(NamedTuple):
    """The training data of all bits."""

    X: Any
    class_index: IntArray
    coding_matrix: CodingMatrix
    kind: type[Codebook]
    params: Mapping[str, Any]
    is_pairwise: bool = False

    @classmethod
    def of(cls, samples: Samples, code: Code, params: Mapping[str, Any], *, is_pairwise: bool = False) -> _Lesson:
        weights = {} if samples.weights is None else {"sample_weight": np.asarray(samples.weights)}
        kind, sets = type(code.codebook), LabelSets.of_code(samples, code)
        # Samples with several labels are of as many classes as there are sets of labels.
        of_sample = (samples.class_index, code.coding_matrix) if sets is None else (sets.of_sample, 2 * sets.sets - 1)
        return cls(samples.X, *of_sample, kind, {**params, **weights}, is_pairwise)

    def entries(self, bit: int, class_index: IntArray) -> CodingMatrix:
        """The entry of each sample, of these classes; that of an ignored class if the class is -1."""
        of_class = np.append(self.coding_matrix[:, bit], self.kind.ignored)
        return np.asarray(of_class[class_index], dtype=self.coding_matrix.dtype)

    def known(self, bit: int) -> IntArray | None:
        """The entries that a predictor of a column could have as its classes, if it has any."""
        return self.kind.entries_to_tell_apart(self.coding_matrix[:, bit])

    def present(self, bit: int) -> IntArray | None:
        """Those that occur in samples of positive weight, or the column's last one if none does."""
        if self.known(bit) is None:
            return None
        weights = self.params.get("sample_weight")
        entries = self.entries(bit, self.class_index)
        seen = self._distinct(entries if weights is None else entries[np.asarray(weights) > 0])
        return seen if len(seen) else self._distinct(self.coding_matrix[:, bit])[-1:]

    def _distinct(self, entries: CodingMatrix) -> IntArray:
        return np.unique(entries[entries != self.kind.ignored]).astype(np.intp)

    def labels(self, bit: int, class_index: IntArray) -> tuple[IntArray, NDArray[Any]]:
        """The rows that a column learns from, of samples of these classes, and their labels as the learner sees them.

        They are 0 and 1 for a bit, numbers without gaps for symbols, and the targets of a real bit.
        """
        return self.numbered(self.entries(bit, class_index), self.present(bit))

    @staticmethod
    def numbered(entries: CodingMatrix, numbered: IntArray | None) -> tuple[IntArray, NDArray[Any]]:
        """The rows with one of the numbered entries, and the numbers; without any, those that are not NaN."""
        if numbered is None:
            used = np.flatnonzero(~np.isnan(entries))
            return used, np.asarray(entries[used], dtype=np.float64)
        used = np.flatnonzero(np.isin(entries, numbered))
        return used, np.searchsorted(numbered, entries[used])

    def rows(self, bit: int, used: IntArray) -> tuple[Any, dict[str, Any]]:
        """The samples at some rows, and the other arguments of ``fit``."""
        n_samples = len(self.class_index)
        params = {name: _resolved(value, lambda one: self._of_others(bit, one)) for name, value in self.params.items()}
        if len(used) == n_samples:
            return self.X, params
        X = rows_at(self.X, used)
        for name, value in params.items():
            if value is self.params[name] and is_per_sample(value, n_samples):
                params[name] = rows_at(value, used)
        return _columns_at(X, used) if self.is_pairwise else X, params

    def _of_others(self, bit: int, others: OtherSamples) -> Any:
        used, labels = self.labels(bit, others.class_index)
        if not len(used):
            raise ValueError(
                f"No sample of {others.name!r} is of a class that bit {bit} separates from others. Add some of "
                "every class, or leave it out."
            )
        return labels if others.values is None else rows_at(others.values, used)


def _columns_at(X: Any, columns: Any) -> Any:
    from sklearn.utils import _safe_indexing

    return _safe_indexing(X, columns, axis=1)


def _resolved(value: Any, of_others: Callable[[OtherSamples], Any]) -> Any:
    """An argument of ``fit`` with other samples replaced; the same object if it holds none."""
    if isinstance(value, OtherSamples):
        return of_others(value)
    if not isinstance(value, list | tuple):
        return value
    parts = [_resolved(one, of_others) for one in value]
    return value if all(new is old for new, old in zip(parts, value, strict=True)) else type(value)(parts)


def check_kind(learner: Any, codebook: Codebook) -> None:
    """Raise unless a learner learns the kind of bits that a codebook has.

    Learners say by an attribute ``learns_targets`` that they learn real bits; those without one do not.
    """
    name = type(getattr(learner, "estimator", learner)).__name__
    codebook.check_learner(name, bool(getattr(learner, "learns_targets", False)))


def _draw_seeds(n_bits: int, rng: np.random.Generator) -> NDArray[np.int64]:
    return rng.integers(np.iinfo(np.int32).max, size=n_bits)


def _fit_bit(lesson: _Lesson, part: tuple[Any, int, Any]) -> Any:
    estimator, bit, task = part
    used, labels = lesson.labels(bit, lesson.class_index)
    present = lesson.present(bit)
    with nullcontext() if task is None else task.around(estimator):
        if present is not None and len(present) < 2:
            return ConstantBit(lesson.kind.constant_sign(int(present[0]) if len(present) else 1))
        X, params = lesson.rows(bit, used)
        return estimator.fit(X, labels, **params)


def _partial_fit_bit(lesson: _Lesson, part: tuple[Any, int]) -> Any:
    predictor, bit = part
    known = lesson.known(bit)
    used, labels = lesson.numbered(lesson.entries(bit, lesson.class_index), known)
    if not len(used):
        return predictor
    X, params = lesson.rows(bit, used)
    if known is not None:
        # Models saved by early versions have the classes -1 and +1.
        params["classes"] = classes = np.asarray(getattr(predictor, "classes_", np.arange(len(known))))
        labels = classes[labels]
    return predictor.partial_fit(X, labels, **params)
