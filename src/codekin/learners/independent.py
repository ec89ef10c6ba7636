"""One scikit-learn estimator per bit, fitted independently and in parallel.

Classifiers get bits as the labels 0 and 1, and columns of more symbols as labels without gaps, which every learner
accepts; regressors get real bits as they are, and their predictions are the margins. The predictors of linear
estimators are stacked, so that the margins of all bits are one matrix product.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import repeat
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import SGDRegressor
from sklearn.linear_model._base import LinearClassifierMixin, LinearModel
from sklearn.utils import _safe_indexing, get_tags
from sklearn.utils.validation import _num_samples

from codekin._system.magnitudes import bounded_margins
from codekin._system.workers import n_workers, share_work, with_workers
from codekin.coding import Code, Codebook, CodingMatrix, FloatArray, IntArray, Margins
from codekin.coding.geometry import _is_real as is_real
from codekin.learners.linear import CONSTANT_MARGIN
from codekin.learners.natural_loss import natural_loss
from codekin.learners.symbols import symbol_margins
from codekin.samples import Samples

LINEAR_REGRESSORS = (LinearModel, SGDRegressor)
"""What scikit-learn's linear regressors are derived from."""

LOG_ODDS_LIMIT = 20.0
"""Probabilities of 0 and 1 become log-odds of this size instead of infinite ones."""


@dataclass(frozen=True, eq=False)
class BitTask:
    """Tells scikit-learn's callbacks that the fit of one bit begins and ends, on behalf of ``owner``."""

    context: Any
    owner: Any

    @contextmanager
    def around(self, estimator: Any) -> Iterator[None]:
        """Call the hooks around the fit of ``estimator``, and pass them on if it supports them."""
        takes_callbacks = hasattr(estimator, "set_callbacks")
        with self.context.propagate_callback_context(estimator) if takes_callbacks else nullcontext():
            self.context.call_on_fit_task_begin(estimator=self.owner)
            yield
        self.context.call_on_fit_task_end(estimator=self.owner)


@dataclass(frozen=True)
class ConstantBit:
    """The classifier of a bit that was always +1, or always -1, in the training samples."""

    sign: int

    def decision_function(self, X: Any) -> FloatArray:
        """The same margin for every sample."""
        return np.full(_num_samples(X), self.sign * CONSTANT_MARGIN)

    def predict(self, X: Any) -> IntArray:
        """The same side for every sample: 1 or 0."""
        return np.full(_num_samples(X), int(self.sign > 0))

    def predict_proba(self, X: Any) -> FloatArray:
        """Certainty for every sample, as in one-vs-rest."""
        return np.eye(2)[self.predict(X)]


@dataclass(frozen=True, eq=False)
class EstimatorBits:
    """Fitted estimators, one per bit.

    - ``predictors``: fitted binary classifiers with classes 0 and 1, or ``ConstantBit``; regressors of real bits.
    - ``columns`` of shape (n_bits, n_features): for precomputed kernels, the training samples of each bit.
    - ``symbols``: for columns with more than two symbols, those that each predictor knows, in the order of its classes.
    """

    predictors: Sequence[Any] = field(repr=False)
    columns: NDArray[np.bool_] | None = field(default=None, repr=False)
    symbols: Sequence[IntArray] | None = field(default=None, repr=False)
    n_symbols: int = 2

    @property
    def n_bits(self) -> int:
        """The number of bits."""
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
        seen = repeat(X) if self.columns is None else (_columns(X, columns) for columns in self.columns)
        if self.symbols is None:
            margins = [_bit_margins(*pair) for pair in zip(self.predictors, seen, strict=False)]
        else:
            parts = zip(self.predictors, seen, self.symbols, strict=False)
            margins = [symbol_margins(*part, self.n_symbols) for part in parts]
        return bounded_margins(np.column_stack(margins))


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
    tasks : deque of BitTask, optional
        One is taken from the left for every bit that is fitted, for callbacks such as a progress bar.
    """

    estimator: Any
    n_jobs: int | None = None
    fit_params: Mapping[str, Any] | None = None
    tasks: deque[BitTask] | None = None

    learns_probabilities: ClassVar[bool] = False
    """False: bits can be calibrated one by one."""

    @property
    def learns_targets(self) -> bool:
        """Whether it learns real bits: the estimator is a regressor."""
        return bool(is_regressor(self.estimator))

    def decoding_loss(self, codebook: Codebook) -> str:
        """The default decoding loss: the one that the estimator minimises, if known; with more symbols, their sum.

        That of real bits is the squared one.
        """
        if codebook.is_real:
            return "squared"
        return natural_loss(self.estimator) if codebook.n_symbols == 2 else "log_likelihood"

    def fit(self, samples: Samples, code: Code, *, rng: np.random.Generator) -> EstimatorBits:
        """Learn every bit of a code.

        Parameters
        ----------
        samples : Samples
            Those of class -1 are left out.
        code : Code
        rng : numpy.random.Generator

        Returns
        -------
        EstimatorBits
        """
        check_kind(self, code.codebook)
        params = dict(self.fit_params or {})
        if samples.weights is not None:
            params["sample_weight"] = np.asarray(samples.weights)
        seeds = _draw_seeds(code.n_bits, rng)
        # Of a precomputed kernel samples are columns as well as rows.
        is_pairwise = bool(get_tags(self.estimator).input_tags.pairwise)
        begun = [seeded(self.estimator, int(seed)) for seed in seeds]
        tasks = [self.tasks.popleft() if self.tasks else None for _ in seeds]
        ignored = 0 if code.n_symbols == 2 else -1
        lesson = _Lesson(samples.X, samples.class_index, code.coding_matrix, params, is_pairwise, ignored)
        symbols = None if code.n_symbols == 2 else [lesson.present(bit) for bit in range(code.n_bits)]
        bits = self._shared(_fit_bit, lesson, list(zip(begun, range(len(begun)), tasks, strict=True)))
        bits = replace(bits, symbols=symbols, n_symbols=code.n_symbols)
        if not lesson.is_pairwise:
            return bits
        used = [lesson.labels(bit, lesson.class_index)[0] for bit in range(code.n_bits)]
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
        from copy import deepcopy

        check_kind(self, code.codebook)
        seeds = _draw_seeds(code.n_bits, rng)
        begun = [seeded(self.estimator, int(seed)) for seed in seeds] if bits is None else deepcopy(bits.predictors)
        params = {} if samples.weights is None else {"sample_weight": samples.weights}
        ignored = 0 if code.n_symbols == 2 else -1
        lesson = _Lesson(samples.X, samples.class_index, code.coding_matrix, params, ignored=ignored)
        learned = self._shared(_partial_fit_bit, lesson, list(zip(begun, range(len(begun)), strict=True)))
        symbols = [lesson.known(bit) for bit in range(code.n_bits)] if ignored else None
        return replace(learned, symbols=symbols, n_symbols=code.n_symbols)

    def _shared(self, fit: Callable[[_Lesson, Any], Any], lesson: _Lesson, parts: Sequence[Any]) -> EstimatorBits:
        """Fit every bit, here or in joblib's workers."""
        with with_workers(self.n_jobs):
            if n_workers() > 1:
                return EstimatorBits(list(share_work(fit, lesson, parts)))
        return EstimatorBits([fit(lesson, part) for part in parts])


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
    params: Mapping[str, Any]
    is_pairwise: bool = False
    ignored: int = 0

    def signs(self, bit: int, class_index: IntArray | None = None) -> CodingMatrix:
        """The bit, or symbol, of each sample; ``ignored`` if its class is ignored or -1."""
        of_class = np.append(self.coding_matrix[:, bit], self.ignored)
        return np.asarray(of_class[self.class_index if class_index is None else class_index], dtype=np.int8)

    def known(self, bit: int) -> IntArray:
        """The symbols of a column, in increasing order."""
        symbols = np.unique(self.coding_matrix[:, bit])
        return np.asarray(symbols[symbols != self.ignored], dtype=np.intp)

    def present(self, bit: int) -> IntArray:
        """The symbols of a column that occur in samples of positive weight, or the last symbol if none does."""
        weights = self.params.get("sample_weight")
        symbols = self.signs(bit)
        seen = np.unique(symbols if weights is None else symbols[np.asarray(weights) > 0])
        present = np.asarray(seen[seen != self.ignored], dtype=np.intp)
        return present if len(present) else self.known(bit)[-1:]

    def labels(self, bit: int, class_index: IntArray) -> tuple[IntArray, NDArray[Any]]:
        """The rows that a column learns from, of samples of these classes, and their labels as the learner sees them.

        They are 0 and 1 for a bit, numbers without gaps for symbols, and the targets of a real bit.
        """
        if is_real(self.coding_matrix):
            used = np.flatnonzero(class_index >= 0)
            return used, np.asarray(self.coding_matrix[class_index[used], bit], dtype=np.float64)
        symbols, present = self.signs(bit, class_index), self.present(bit)
        used = np.flatnonzero(np.isin(symbols, present))
        return used, np.searchsorted(present, symbols[used])

    def rows(self, bit: int, used: IntArray) -> tuple[Any, dict[str, Any]]:
        """The samples at some rows, and the other arguments of ``fit``."""
        n_samples = len(self.class_index)
        params = {name: _resolved(value, lambda one: self._of_others(bit, one)) for name, value in self.params.items()}
        if len(used) == n_samples:
            return self.X, params
        X = _columns(_rows(self.X, used), used) if self.is_pairwise else _rows(self.X, used)
        return X, {
            name: _rows(value, used) if value is self.params[name] and is_per_sample(value, n_samples) else value
            for name, value in params.items()
        }

    def _of_others(self, bit: int, others: OtherSamples) -> Any:
        used, labels = self.labels(bit, others.class_index)
        if not len(used):
            raise ValueError(
                f"No sample of {others.name!r} is of a class that bit {bit} separates from others. Add some of "
                "every class, or leave it out."
            )
        return labels if others.values is None else _rows(others.values, used)


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
    if bool(getattr(learner, "learns_targets", False)) == codebook.is_real:
        return
    got = type(getattr(learner, "estimator", learner)).__name__
    if codebook.is_real:
        raise ValueError(
            f"The bits of the {codebook.name} codebook are real numbers, which regressors learn. Got {got}; use a "
            "regressor, such as Ridge(), or another codebook."
        )
    raise ValueError(
        f"The bits of the {codebook.name} codebook are signs or symbols, which classifiers learn. Got {got}, a "
        "regressor; use a classifier, or a codebook of real numbers, such as 'eigen_targets'."
    )


def _draw_seeds(n_bits: int, rng: np.random.Generator) -> NDArray[np.int64]:
    return rng.integers(np.iinfo(np.int32).max, size=n_bits)


def seeded(estimator: Any, seed: int) -> Any:
    """A clone of the estimator whose random states are set from the seed if they are None."""
    copy = clone(estimator)
    stream = np.random.default_rng(seed)
    to_set = {
        key: int(stream.integers(np.iinfo(np.int32).max))
        for key, value in sorted(copy.get_params(deep=True).items())
        if (key == "random_state" or key.endswith("__random_state")) and value is None
    }
    return copy.set_params(**to_set) if to_set else copy


def _fit_bit(lesson: _Lesson, part: tuple[Any, int, BitTask | None]) -> Any:
    estimator, bit, task = part
    used, labels = lesson.labels(bit, lesson.class_index)
    present = None if is_real(lesson.coding_matrix) else lesson.present(bit)
    with nullcontext() if task is None else task.around(estimator):
        if present is not None and len(present) < 2:
            return ConstantBit(int(present[0]) if lesson.ignored == 0 and len(present) else 1)
        X, params = lesson.rows(bit, used)
        return estimator.fit(X, labels, **params)


def _partial_fit_bit(lesson: _Lesson, part: tuple[Any, int]) -> Any:
    predictor, bit = part
    more: dict[str, Any] = {}
    if is_real(lesson.coding_matrix):
        used, labels = lesson.labels(bit, lesson.class_index)
    else:
        symbols, known = lesson.signs(bit), lesson.known(bit) if lesson.ignored else np.array([-1, 1])
        used = np.flatnonzero(symbols != lesson.ignored)
        # Models saved by early versions have the classes -1 and +1.
        more["classes"] = np.asarray(getattr(predictor, "classes_", np.arange(len(known))))
        labels = more["classes"][np.searchsorted(known, symbols[used])]
    X, params = lesson.rows(bit, used)
    return predictor.partial_fit(X, labels, **more, **params) if len(used) else predictor


def _bit_margins(predictor: Any, X: Any) -> FloatArray:
    try:
        if hasattr(predictor, "decision_function"):
            return np.asarray(predictor.decision_function(X), dtype=np.float64).reshape(_num_samples(X))
        if not hasattr(predictor, "predict_proba"):  # a regressor
            return np.asarray(predictor.predict(X), dtype=np.float64).reshape(_num_samples(X))
        probability = np.asarray(predictor.predict_proba(X))[:, 1]
    except NotFittedError:
        # partial_fit has not shown this bit a sample of either side.
        return np.zeros(_num_samples(X))
    with np.errstate(divide="ignore"):
        log_odds = np.log(probability) - np.log1p(-probability)
    return np.asarray(np.clip(log_odds, -LOG_ODDS_LIMIT, LOG_ODDS_LIMIT), dtype=np.float64)


def is_plain_linear(predictor: Any) -> bool:
    """Whether the margin is X @ coef_.T + intercept_ and nothing else."""
    if not hasattr(predictor, "coef_"):
        return False
    if isinstance(predictor, LinearClassifierMixin):
        return getattr(type(predictor), "decision_function", None) is LinearClassifierMixin.decision_function
    # Some versions of scikit-learn's regressors override predict to call the one that they inherit; others' may differ.
    return isinstance(predictor, LINEAR_REGRESSORS) and type(predictor).__module__.startswith("sklearn.")


def _rows(values: Any, index: IntArray) -> Any:
    return _safe_indexing(values, index)


def _columns(values: Any, index: Any) -> Any:
    return _safe_indexing(values, index, axis=1)


def is_per_sample(value: Any, n_samples: int) -> bool:
    """Whether an argument of ``fit`` has one entry per sample."""
    return (
        (hasattr(value, "__len__") or hasattr(value, "shape"))
        and not isinstance(value, str | bytes | dict)
        and ((value.shape[0] if hasattr(value, "shape") and value.shape else len(value)) == n_samples)
    )
