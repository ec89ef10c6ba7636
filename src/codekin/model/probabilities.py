"""From losses to probabilities: of one class among all, or marginal ones, if a sample may have several labels.

Marginal probabilities are a falling function of the loss, the same for all classes: isotonic regression on held-out
samples, with straight lines between its steps. So no kind of code needs rules of its own, and classes keep their order.

All that is known about a sample without features, such as a text without known words, is how frequent classes are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from codekin._system.arrays import as_narrow
from codekin._system.rows import Row, StoredRows, n_samples_in
from codekin.code import FloatArray, IntArray
from codekin.decoding.decoder import SingleBest
from codekin.samples import Samples, as_indicator

if TYPE_CHECKING:
    from codekin.measures import LabelEvaluation
    from codekin.model.model import Model

FIRST_LIST, GROWTH, LISTED_AT_ONCE = 16, 4, 1 << 12
"""How many classes are listed at first, how many times more if these are too few, for how many samples at a time."""
DEFAULT_THRESHOLD = 0.5
LISTED = 50
"""How many labels of each sample are looked at for thresholds."""


@dataclass(frozen=True, eq=False)
class Marginals:
    """From losses to marginal probabilities, and from which probability on a class is predicted.

    - ``losses``, ``probabilities`` of shape (n_steps,): the first increase, the second fall; linear between them, and
      constant beyond.
    - ``thresholds`` of shape (1,) or (n_classes,): from which probability on a class is predicted.
    - ``is_dense``: whether predictions are a dense table, as the labels that were learned.
    - ``training_counts`` of shape (n_classes + 1,): how many training samples had each label, and how many there were.
    """

    losses: FloatArray = field(repr=False)
    probabilities: FloatArray = field(repr=False)
    thresholds: FloatArray = field(default_factory=lambda: np.array([DEFAULT_THRESHOLD]))
    is_dense: bool = False
    training_counts: IntArray | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        is_falling = len(self.losses) == len(self.probabilities) > 0 and bool((np.diff(self.probabilities) <= 0).all())
        if not is_falling or not (np.diff(self.losses) > 0).all() or not np.isfinite(self.losses).all():
            raise ValueError("Marginal probabilities must fall while the losses increase.")
        if not ((self.probabilities >= 0) & (self.probabilities <= 1)).all():
            raise ValueError("Marginal probabilities must be between 0 and 1.")

    @classmethod
    def of(cls, losses: FloatArray, is_label: NDArray[np.bool_]) -> Self:
        """What held-out samples say about losses, (n_samples, n), of classes some of which are labels.

        >>> marginals = Marginals.of(np.array([[0.1, 2.0], [0.3, 3.0]]), np.array([[True, False], [True, True]]))
        >>> marginals.at(np.array([0.2, 2.5, np.inf])).round(2).tolist()
        [0.88, 0.5, 0.0]
        """
        from scipy.optimize import isotonic_regression

        is_finite = np.isfinite(losses)
        order = np.argsort(losses[is_finite], kind="stable")
        x, y = losses[is_finite][order], is_label[is_finite][order].astype(np.float64)
        if not len(x):
            return cls(np.zeros(1), np.zeros(1))
        fitted = isotonic_regression(y, increasing=False)
        starts = fitted.blocks[:-1].astype(np.intp)
        # Of many equal ones, no more than one is certain.
        least = 1 / (2 * len(y))
        means = np.clip(fitted.x[starts], least, 1 - least)
        middles = np.add.reduceat(x, starts) / np.diff(fitted.blocks)
        middles, first = np.unique(middles, return_index=True)
        return cls(middles, means[first])

    def check(self, n_classes: int) -> None:
        """Raise unless there is one threshold, or one for each of so many classes."""
        if self.thresholds.shape not in ((1,), (n_classes,)):
            raise ValueError(f"There are thresholds of {self.thresholds.size} classes, not of {n_classes}.")
        counts = self.training_counts
        if counts is not None and (counts.shape != (n_classes + 1,) or counts.min() < 0 or counts.max() > counts[-1]):
            raise ValueError(f"The training samples of {n_classes} labels cannot be those of the counts.")

    def at(self, losses: FloatArray) -> FloatArray:
        """The probabilities of classes with these losses; 0 for infinite losses, of no class."""
        return np.where(np.isfinite(losses), np.interp(losses, self.losses, self.probabilities), 0.0)

    def log_probabilities(self, losses: FloatArray) -> FloatArray:
        """The logarithms of the probabilities of classes with these losses."""
        with np.errstate(divide="ignore"):
            return np.log(self.at(losses))

    def log_probabilities_of(self, class_losses: FloatArray, classes: IntArray) -> FloatArray:
        """Those of some classes of each sample, given the losses of all; minus infinity for class -1."""
        losses = np.append(class_losses, np.full((len(class_losses), 1), np.inf), axis=1)
        return self.log_probabilities(np.take_along_axis(losses, classes, axis=1))

    def are_probable(self, classes: Any, probabilities: FloatArray, n_classes: int) -> NDArray[np.bool_]:
        """Which of the listed classes of each sample are probable enough."""
        least = np.broadcast_to(self.thresholds, n_classes)[classes]
        return np.asarray((probabilities >= least) & (classes >= 0))


def code_log_proba(model: Model, margins: Any, classes: IntArray) -> Callable[[float], FloatArray]:
    """The log-probabilities of some classes before any re-ranking, as a function of the temperature.

    ``margins`` are those of each code, ``classes`` of shape (n_samples, n); -1 for none, whose probability is 0.
    """
    from scipy.special import logsumexp

    pairs = zip(model.probability_decoders, margins, strict=True)
    of_codes = [decoder.log_proba_of(part, classes) for decoder, part in pairs]

    def at(temperature: float) -> FloatArray:
        logs = [own(temperature) for own in of_codes]
        mean = logs[0] if len(logs) == 1 else logsumexp(logs, axis=0) - np.log(len(logs))
        return np.where(classes >= 0, mean, -np.inf)

    return at


def with_threshold(model: Model, least: float | None) -> Model:
    """A model of several labels per sample that predicts all with at least this probability; None changes nothing."""
    if least is None or model.marginals is None:
        return model
    return replace(model, marginals=replace(model.marginals, thresholds=np.array([least])))


def decisions(model: Model, X: Any) -> FloatArray:
    """Minus the loss of each class, of two their difference; with several labels, above 0 for predicted ones."""
    losses, own = model.class_losses(X), model.marginals
    if own is None:
        return np.asarray(losses[:, 0] - losses[:, 1] if model.n_classes == 2 else -losses, dtype=np.float64)
    below, least = np.interp(-own.thresholds, -own.probabilities, own.losses) - losses, np.finfo(np.float64).tiny
    return np.where(model.proba(X) >= own.thresholds, np.maximum(below, least), np.minimum(below, 0.0))


def with_chosen(model: Model, X: Any, labels: sparse.csr_array, aim: str | float, *, per_label: bool) -> Model:
    """A model with the thresholds that :func:`codekin.measures.label_thresholds` chooses on validation samples."""
    from codekin.measures import label_thresholds

    if model.marginals is None:
        raise ValueError("Thresholds are for models of several labels per sample. Got a model of one.")
    best, probabilities = model.top_k_proba(X, min(LISTED, model.n_classes))
    chosen = label_thresholds(best, probabilities, labels, aim, per_label=per_label)
    return replace(model, marginals=replace(model.marginals, thresholds=chosen))


def with_sets(model: Model, **known: Any) -> Model:
    """A model that knows in what form it predicts sets of labels, and of how many samples; the same if it has none."""
    return model if model.marginals is None else replace(model, marginals=replace(model.marginals, **known))


def probable_labels(model: Model, X: Any) -> sparse.csr_array:
    """The classes that are as probable as their thresholds ask, as an indicator of shape (n_samples, n_classes)."""
    parts = []
    for classes, _, are_probable in probable_classes(model, X):
        rows, places = np.nonzero(are_probable)
        entries = np.ones(len(rows)), (rows, classes[rows, places])
        parts.append(as_indicator(entries, (len(classes), model.n_classes)))
    return parts[0] if len(parts) == 1 else sparse.csr_array(sparse.vstack(parts, format="csr"))


def probable_classes(model: Model, X: Any) -> Iterator[tuple[IntArray, FloatArray, NDArray[np.bool_]]]:
    """The best classes of some samples at a time, their probabilities, and which are as probable as thresholds ask.

    Longer and longer lists of the best classes are made until they hold all of these.
    """
    marginals, n_samples = model.marginals, n_samples_in(X)
    assert marginals is not None
    least = float(np.min(marginals.thresholds))
    for start in range(0, max(n_samples, 1), LISTED_AT_ONCE):
        some = X if n_samples <= LISTED_AT_ONCE else X[start : start + LISTED_AT_ONCE]
        k = min(FIRST_LIST, model.n_classes)
        classes, probabilities = model.top_k_proba(some, k)
        while k < model.n_classes and (probabilities[:, -1] >= least).any():
            k = min(GROWTH * k, model.n_classes)
            classes, probabilities = model.top_k_proba(some, k)
        yield classes, probabilities, marginals.are_probable(classes, probabilities, model.n_classes)


def evaluated_sets(model: Model, X: Any, truth: sparse.csr_array) -> LabelEvaluation:
    """How good a model of several labels per sample is; labels that it does not know are the last columns."""
    from codekin.measures import label_evaluation

    best, probabilities = model.top_k_proba(X, min(5, model.n_classes))
    predicted = probable_labels(model, X)
    counts = None if model.marginals is None else model.marginals.training_counts
    return label_evaluation(
        best,
        truth,
        n_classes=model.n_classes,
        probabilities=probabilities,
        predicted=predicted,
        label_counts=None if counts is None else counts[:-1],
        n_training=0 if counts is None else int(counts[-1]),
    )


def check_one_label(model: Model, what: str) -> None:
    """Raise for a model of several labels per sample; ``what`` begins a sentence that ends with "one label"."""
    if model.marginals is not None:
        raise ValueError(f"{what} one label per sample. Got a model of several.")


# ----- samples without features -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ClassPrior:
    """How frequent classes are, up to a factor, among sparse rows without an entry: integers or single precision.

    ``total``: of what the sizes are shares, by default of their sum; with several labels per sample they may add up to
    more.
    """

    sizes: NDArray[Any] = field(repr=False)
    total: float | None = None

    def __post_init__(self) -> None:
        if self.sizes.ndim != 1 or not (self.sizes >= 0).all() or not 0 < self.sizes.sum(dtype=np.float64) < np.inf:
            raise ValueError("The frequencies of the classes must be numbers, at least 0, and not all of them 0.")

    @classmethod
    def of(cls, samples: Samples, n_classes: int) -> ClassPrior:
        """The frequencies of the classes in sparse samples.

        Samples without features get extra weight: each counts as much as all samples together, divided by
        ``n_classes``.
        """
        n_empty, n_all = ((_row_lengths(samples.X) == 0).sum(), len(samples)) if samples.labels is not None else (0, 0)
        samples = samples.of_each_label(is_shared=False)
        lengths, classes, weights = _row_lengths(samples.X), samples.class_index, samples.weights
        is_known = classes >= 0
        sizes, own = (
            np.bincount(classes[rows], None if weights is None else np.asarray(weights, np.float64)[rows], n_classes)
            for rows in (is_known, (lengths == 0) & is_known)
        )
        total = sizes.sum() * n_all / len(samples) if n_all and len(samples) else 0.0
        if ((lengths == 0) & is_known).any():
            factor = n_classes / sizes.sum()
            sizes, total = own + sizes * factor, n_empty + total * factor
        is_whole = (sizes == np.rint(sizes)).all()
        narrow = as_narrow(sizes.astype(np.int64)) if is_whole else sizes.astype(np.float32)
        return cls(narrow, float(total) if n_all else None)

    @cached_property
    def order(self) -> IntArray:
        """The classes, most frequent first."""
        return np.argsort(-self.probabilities, kind="stable")

    @cached_property
    def probabilities(self) -> FloatArray:
        if self.total is not None:
            return np.minimum(np.asarray(self.sizes, dtype=np.float64) / self.total, 1.0)
        return np.asarray(self.sizes / self.sizes.sum(dtype=np.float64))

    @cached_property
    def log_probabilities(self) -> FloatArray:
        """Finite for a class without samples, too."""
        return np.log(np.maximum(self.probabilities, np.finfo(np.float64).tiny))

    @cached_property
    def losses(self) -> FloatArray:
        return -self.log_probabilities

    def rows(self, X: Any) -> IntArray:
        return np.flatnonzero(_row_lengths(X) == 0) if hasattr(X, "nnz") else np.zeros(0, np.intp)

    def single(self, best: SingleBest) -> SingleBest:
        """What lists the best classes of one row, with the most frequent ones for a row without features."""

        @wraps(best)
        def best_or_frequent(row: Row, k: int, *, has_losses: bool) -> tuple[IntArray, FloatArray]:
            if len(row.indices) or isinstance(row.given, np.ndarray):
                return best(row, k, has_losses=has_losses)
            return self.order[:k], self.losses[self.order[:k]]

        return best_or_frequent

    def put_best(self, X: Any, classes: IntArray, numbers: FloatArray | None = None, name: str = "losses") -> None:
        """Replace the best classes of samples without features, and their losses or what else the numbers are."""
        rows, best = self.rows(X), self.order[: classes.shape[1]]
        classes[rows] = best
        if numbers is not None:
            numbers[rows] = getattr(self, name)[best]


def _row_lengths(X: Any) -> NDArray[Any]:
    """The number of entries of each sparse row."""
    if isinstance(X, StoredRows):
        return np.diff(X.row_ends) if X.rows is None else np.diff(X.row_ends)[X.rows]
    return np.diff(X.tocsr().indptr)
