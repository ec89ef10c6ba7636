"""The classes as the learner sees them: their samples as numbers, and the distances between them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from codekin.classes import ClassDistances, ClassTree, DenseDistances, as_class_distances
from codekin.classes.distances import CLASS_DISTANCES_FROM_DATA, learned_confusion_distances
from codekin.classes.learnability import ClassMoments, class_moments
from codekin.classes.samples import ColumnTrials, class_samples
from codekin.code import Code, CodingMatrix, FloatArray, IntArray, Margins
from codekin.code.codebook import symbol_parameters
from codekin.fitting.setting import are_distances, check_distances_choice, shown
from codekin.learners import Learner
from codekin.learners.estimators import declared_limit, seeded
from codekin.progress import report
from codekin.samples import N_FOLDS, Samples, rows_at, stratified_folds

MAX_CLASSES_AS_MATRIX = 200
"""Up to this many classes, learnability is a matrix, and the search needs no initial order."""
LEARNABILITY_RIDGE = 0.6
"""About one unit of weight for rows of length one; the penalty is not divided by the number of samples."""

STAGES = {
    "clustering": "learning a class tree",
    "splitting": "learning a class tree",
    "learnability": "measuring learnability",
}
"""The stages of progress while distances are computed from samples."""
MAX_CATEGORIES = 100
"""How many values of a non-numeric column become features; rarer ones do not."""

ENOUGH_FOR_COLUMNS, PER_CLASS_FOR_COLUMNS = 2_000, 20
"""Fifths of the samples are left out until there are this many."""
CONFUSION_FOLDS = 3
"""How many times the learner is trained if its own confusion is needed."""


@dataclass(frozen=True, eq=False)
class Classes:
    """The samples of the classes and the distances between classes, computed when needed.

    - ``features``: returns the samples as numbers, (n_samples, n_features), or None if they are not numeric; called
      only if a choice needs them.
    - ``samples``: the samples as given, for a function of the user if they are not numeric.
    - ``confusion``: returns distances if the samples are not numeric.
    - ``trials``: returns what the learner makes of columns, if there is one.
    - ``cooccurrences``: returns how often classes occur together in samples of several labels.
    """

    features: Callable[[], Any]
    class_index: IntArray
    n_classes: int
    sample_weight: FloatArray | None
    distances_choice: Any
    rng: np.random.Generator
    samples: Any = None
    confusion: Callable[[], ClassDistances] | None = None
    trials: Callable[[], ColumnTrials] | None = None
    cooccurrences: Callable[[], Any] | None = None

    @cached_property
    def numbers(self) -> Any:
        return self.features()

    @cached_property
    def distances(self) -> ClassDistances:
        """The distances between classes, as chosen by the user."""
        choice = self.distances_choice
        check_distances_choice(choice)
        if isinstance(choice, str):
            return self.confusion() if self.confusion and self.numbers is None else self._from_data(choice)
        if not are_distances(choice):
            choice = choice(self.samples if self.numbers is None else self.numbers, self.class_index)
            if not are_distances(choice):
                raise ValueError(
                    "A function given as 'class_distances' must return a matrix, a class tree or a ClassDistances "
                    f"object. Got {shown(choice)} instead."
                )
        distances = as_class_distances(choice)
        if distances.n_classes != self.n_classes:
            raise ValueError(
                f"The class distances are between {distances.n_classes} classes, but the labels have {self.n_classes}."
            )
        return distances

    @property
    def known_distances(self) -> ClassDistances | None:
        """The distances if some choice needed them, or if they were given; None otherwise."""
        is_given = not (isinstance(self.distances_choice, str) or callable(self.distances_choice))
        return self.distances if is_given or "distances" in self.__dict__ else None

    @cached_property
    def tree(self) -> ClassTree:
        """The tree of the distances, or one from the class means."""
        tree = self.distances.tree
        if tree is None:
            tree = self._from_data("clustering").tree
        assert tree is not None
        return tree

    @property
    def given_tree(self) -> ClassTree | None:
        """The tree of the user's class distances, if they have one."""
        choice = self.distances_choice
        return choice if isinstance(choice, ClassTree) else getattr(choice, "tree", None)

    @cached_property
    def learnability(self) -> ClassDistances:
        """Learnability, regardless of the user's choice: a matrix for few classes, factors for many."""
        form = "dense" if self.n_classes <= MAX_CLASSES_AS_MATRIX else "factored"
        return self._from_data("learnability", form=form, ridge=LEARNABILITY_RIDGE)

    @cached_property
    def moments(self) -> ClassMoments:
        """How often classes occur, and how much of them least squares explains."""
        return class_moments(self.needed_numbers("class moments"), self.class_index, **self._options)

    def class_means(self) -> Any:
        """The mean of the samples of each class, (n_classes, n_features)."""
        if self.numbers is None:
            raise ValueError(
                "The leaves of a tree are found by halving the set of class means. Got samples that are not numeric."
            )
        own: Any = {"n_classes": self.n_classes, "sample_weight": self.sample_weight}
        return class_samples(self.numbers, self.class_index, **own).class_means

    def mixed_vectors(self) -> Any:
        """Means and co-occurrences of the classes side by side, of equal length."""
        parts = [sparse.csr_array(part) for part in (self.class_means(), self.known_cooccurrences())]
        factors = [1 / np.sqrt(np.maximum(part.power(2).sum(axis=1), 1e-300)) for part in parts]
        return sparse.hstack([part.multiply(own[:, None]) for own, part in zip(factors, parts, strict=True)], "csr")

    def known_cooccurrences(self) -> Any:
        """How often classes occur together, (n_classes, n_classes)."""
        return cast("Callable[[], Any]", self.cooccurrences)()

    def learnability_factors(self) -> ClassDistances:
        return self._from_data("learnability", form="factored", ridge=LEARNABILITY_RIDGE)

    def learned_tree(self) -> ClassTree:
        """A tree made by repeatedly halving the set of classes, for any number of them."""
        tree = self._from_data("splitting").tree
        assert tree is not None
        return tree

    def mean_distances(self) -> FloatArray:
        """Distances between class means, regardless of the user's choice."""
        return self._from_data("means").matrix()

    def _from_data(self, name: str, **options: Any) -> ClassDistances:
        numbers = self.needed_numbers(f"class distances {name!r}")
        report(STAGES.get(name, f"measuring class distances by {name}"))
        return CLASS_DISTANCES_FROM_DATA[name](numbers, self.class_index, **self._options, **options)

    @property
    def _options(self) -> dict[str, Any]:
        return {"n_classes": self.n_classes, "sample_weight": self.sample_weight, "rng": self.rng}

    def needed_numbers(self, wanted: str) -> Any:
        """The samples as numbers, (n_samples, n_features); an error that says what they were wanted for if not."""
        if self.numbers is None:
            raise ValueError(
                f"The {wanted} need numeric features. Put the steps that turn X into numbers into a "
                "pipeline as the estimator, or choose a codebook and an assignment that do not need them."
            )
        return self.numbers


def classes_as_learned(
    learner: Any, samples: Samples, n_classes: int, distances: Any, *, rng: np.random.Generator, n_symbols: int = 2
) -> Classes:
    """The samples of the classes and their distances, from the features that the learner sees.

    - ``learner``: learns the bits by an ``estimator``, if it has one, or from X itself.
    - ``distances``: the user's choice.
    - ``n_symbols``: how many symbols a column may have; two say nothing about what the estimator can do.
    """
    cooccurrences, samples = samples._cooccurrences, samples.of_each_label()
    X, class_index = samples.X, samples.class_index
    if 0 in getattr(X, "shape", ())[1:2] or getattr(X, "nnz", 1) == 0:
        raise ValueError("Nothing can be learned from samples without features. All rows of X are empty.")
    classes = Classes(lambda: X, class_index, n_classes, samples.weights, distances, rng, cooccurrences=cooccurrences)
    estimator = getattr(learner, "estimator", None)
    if estimator is None:
        return classes
    return replace(
        classes,
        features=lambda: as_numbers(last_step_features(estimator, X, class_index, rng)),
        samples=X,
        confusion=lambda: learner_confusion(estimator, X, classes, n_symbols),
    )


def last_step_features(learner: Any, X: Any, class_index: IntArray, rng: np.random.Generator) -> Any:
    """The input of the last step of a pipeline; X itself without a pipeline."""
    if is_search(learner):
        return last_step_features(learner.estimator, X, class_index, rng)
    if not hasattr(learner, "steps") or len(learner.steps) < 2:
        return X
    return seeded(learner[:-1], int(rng.integers(2**31 - 1))).fit_transform(X, class_index)


def as_numbers(X: Any) -> Any:
    """Samples as finite numbers, (n_samples, n_features), for class distances; None if they are not a table.

    Missing and infinite entries count as the mean of their feature. Non-numeric columns of a table become one feature
    for each of their most frequent values; numeric columns next to them are then standardized.
    """
    if sparse.issparse(X):
        return _filled(X)
    if isinstance(X, np.ndarray) and X.ndim >= 2 and X.dtype.kind in "biuf":
        return _filled(X.reshape(len(X), -1))
    columns = list(_columns(X))
    if not columns:
        return None
    numbers = [column for column in columns if column.dtype.kind == "f"]
    values = [_indicators(column) for column in columns if column.dtype.kind != "f"]
    filled = _filled(np.column_stack(numbers)) if numbers else None
    if not values:
        return filled
    if filled is not None:
        spread = filled.std(axis=0)
        values.insert(0, sparse.csr_array((filled - filled.mean(axis=0)) / np.where(spread > 0, spread, 1)))
    return sparse.csr_array(sparse.hstack(values))


def _columns(X: Any) -> Iterator[NDArray[Any]]:
    """The columns of a table: float64 if they are numeric, objects otherwise; none if X is not a table."""
    if isinstance(X, np.ndarray) and X.ndim == 2:
        yield from (_as_float(column) for column in X.T)
        return
    import narwhals as nw

    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return
    for column in frame.iter_columns():
        if column.dtype.is_numeric() or column.dtype == nw.Boolean:
            yield column.cast(nw.Float64).to_numpy().astype(np.float64)
        else:
            yield _as_float(column.to_numpy())


def _as_float(values: NDArray[Any]) -> NDArray[Any]:
    """The values as numbers if all of them are; dates count from 1970."""
    if values.dtype.kind in "mM":
        return np.where(np.isnat(values), np.nan, values.astype(np.int64))
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError):
        return values.astype(object)


def _filled(X: Any) -> Any:
    """X with missing and infinite entries replaced by the mean of the feature."""
    is_sparse = sparse.issparse(X)
    entries = X.data if is_sparse else X
    with np.errstate(over="ignore", invalid="ignore"):
        if entries.dtype.kind != "f" or np.isfinite(entries.sum()) or np.isfinite(entries).all():
            return X
    from sklearn.impute import SimpleImputer

    X = X.tocsc(copy=True) if is_sparse else X.copy()
    entries = X.data if is_sparse else X
    entries[~np.isfinite(entries)] = np.nan
    return SimpleImputer(keep_empty_features=True).fit_transform(X)


def _indicators(column: NDArray[Any]) -> sparse.csr_array:
    """One feature for each of the most frequent values, 1 where the sample has it."""
    names, value_of_sample, counts = np.unique(
        np.array([str(value) for value in column]), return_inverse=True, return_counts=True
    )
    frequent = np.argsort(-counts, kind="stable")[:MAX_CATEGORIES]
    n_samples = len(column)
    all_values: FloatArray = np.ones(n_samples)
    one_hot = sparse.csr_array((all_values, (np.arange(n_samples), value_of_sample)), shape=(n_samples, len(names)))
    return sparse.csr_array(one_hot[:, np.sort(frequent)])


def learner_confusion(learner: Any, X: Any, classes: Classes, n_symbols: int) -> ClassDistances:
    """Distances if X is not a table of numbers, from the confusion of the learner itself.

    All equal, after a warning, if the learner is a regressor or supports only two classes, or fewer than there are.
    """
    remedy = "Pass class_distances, or put the steps that turn X into numbers into a pipeline as the estimator."
    from sklearn.base import is_regressor
    from sklearn.utils import get_tags

    tags = get_tags(learner).classifier_tags
    most = symbol_parameters(n_symbols).get("n_symbols") or declared_limit(learner) or classes.n_classes
    is_binary = tags is not None and not tags.multi_class
    if is_binary or most < classes.n_classes or is_regressor(learner):
        limit = "only two classes" if is_binary else f"at most {most} classes at once"
        limit = "numbers" if is_regressor(learner) else limit
        warnings.warn(
            f"X is not a table of numbers and {type(learner).__name__} learns {limit}, so all classes count as equally "
            f"far apart. {remedy}",
            stacklevel=2,
        )
        return DenseDistances(1 - np.eye(classes.n_classes))
    warnings.warn(
        f"X is not a table of numbers, so class distances come from the confusion of {type(learner).__name__} itself, "
        f"which is trained {CONFUSION_FOLDS} times for it. {remedy}",
        stacklevel=2,
    )
    return learned_confusion_distances(
        X,
        classes.class_index,
        n_classes=classes.n_classes,
        sample_weight=classes.sample_weight,
        rng=classes.rng,
        estimator=seeded(learner, int(classes.rng.integers(2**31 - 1))),
        counted="out_of_fold",
        n_folds=min(CONFUSION_FOLDS, len(classes.class_index)),
    )


def is_search(learner: Any) -> bool:
    """Whether the learner tries settings of an estimator, as a grid search does."""
    return hasattr(learner, "estimator") and hasattr(learner, "cv")


def column_trials(learner: Learner, samples: Samples, n_classes: int, rng: np.random.Generator) -> ColumnTrials:
    """The learner's margins for samples that it did not learn from; columns are learned when they are asked for."""
    fold_of_sample = stratified_folds(samples.class_index, N_FOLDS, rng)
    enough = max(ENOUGH_FOR_COLUMNS, PER_CLASS_FOR_COLUMNS * n_classes)
    sizes = np.cumsum(np.bincount(fold_of_sample, minlength=N_FOLDS))
    n_tried = min(N_FOLDS, 1 + int(np.searchsorted(sizes, enough)))
    known = samples.class_index >= 0
    tried = [np.flatnonzero((fold_of_sample == fold) & known) for fold in range(n_tried)]
    seed = int(rng.integers(2**31 - 1))

    def margins(columns: CodingMatrix) -> Margins:
        report(f"trying {columns.shape[1]} columns")
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
