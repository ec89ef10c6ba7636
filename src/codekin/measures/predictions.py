"""How good predictions are: the first class, the first few, in the class tree, class by class, and without a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from codekin._system.messages import counted
from codekin._system.tables import html_of_lines
from codekin.classes import ClassTree
from codekin.code import FloatArray, IntArray
from codekin.measures.by_class import ENOUGH_SAMPLES, ClassErrors, ClassReport, classes_of

__all__ = ["Evaluation", "PredictionMeasures", "prediction_measures"]

N_BINS = 15
"""Of the confidence, for the expected calibration error."""
MAX_LEVELS = 20
"""Deeper class trees have no levels that people could name."""


@dataclass(frozen=True, eq=False)
class PredictionMeasures:
    """How good a model's predictions for some samples are.

    Parameters
    ----------
    n_samples : int
        How many samples were predicted.
    accuracy : float
        The share of samples whose first class is the true one.
    precision_at : dict of int to float
        For each k, the share of true classes among the first k: at most 1/k, since a sample has one true class.
    recall_at : dict of int to float
        For each k, the share of samples whose true class is among the first k.
    level_accuracies : tuple of float
        For each level of the class tree below its root, the share of samples whose first class is below the same node
        of that level as the true one; the last one is the accuracy. Empty without a tree, and for trees of more than
        ``MAX_LEVELS`` levels, such as those from pairwise clustering, whose levels have no meaning.
    mean_error_distance : float or None
        The mean path length, in the class tree, from the true class to the wrong one that was predicted; None without
        a tree, or without errors.
    """

    n_samples: int
    accuracy: float
    precision_at: Mapping[int, float]
    recall_at: Mapping[int, float]
    level_accuracies: tuple[float, ...] = ()
    mean_error_distance: float | None = None


def prediction_measures(
    best_classes: IntArray, class_index: IntArray, *, tree: ClassTree | None = None, at: Sequence[int] = (1, 3, 5)
) -> PredictionMeasures:
    """How good predictions are: the first class, the first few, and in the class tree.

    Parameters
    ----------
    best_classes : array of shape (n_samples, k)
        The best classes of each sample, best first.
    class_index : array of shape (n_samples,)
        The true classes; -1 for a class that the model does not know.
    tree : ClassTree, optional
        For the measures of wrong classes that are near the true ones.
    at : sequence of int, default=(1, 3, 5)
        How many of the first classes to look at; if there are fewer, the rest counts as wrong.

    Returns
    -------
    PredictionMeasures

    Examples
    --------
    >>> measures = prediction_measures(np.array([[0, 1], [2, 1], [1, 2]]), np.array([0, 1, -1]), at=(1, 2))
    >>> measures.recall_at[2], measures.precision_at[2]
    (0.6666666666666666, 0.3333333333333333)
    """
    if len(class_index) == 0:
        raise ValueError("There are no predictions to measure.")
    is_hit = best_classes == class_index[:, None]
    recall = {k: float(is_hit[:, :k].any(axis=1).mean()) for k in at}
    accuracy = float(is_hit[:, 0].mean())
    levels: tuple[float, ...] = ()
    mean_distance = None
    if tree is not None:
        levels = tuple(level_accuracies(best_classes[:, 0], class_index, tree).tolist())
        if len(levels) > MAX_LEVELS:
            levels = ()
        is_wrong = ~is_hit[:, 0] & (class_index >= 0)
        if is_wrong.any():
            mean_distance = float(tree.path_length(best_classes[is_wrong, 0], class_index[is_wrong]).mean())
    return PredictionMeasures(
        len(class_index), accuracy, {k: value / k for k, value in recall.items()}, recall, levels, mean_distance
    )


def level_accuracies(predicted: IntArray, class_index: IntArray, tree: ClassTree) -> FloatArray:
    """The accuracy at each level of a class tree: whether the path from the root is right down to that level.

    Levels go from the children of the root down to the deepest classes; edge lengths are ignored. A class above a level
    is right only if it is the true one. The class -1 is not in the tree.

    Examples
    --------
    >>> tree = ClassTree.from_nested({"animal": ["cat", "dog"], "vehicle": ["bus", "car"]})  # bus, car, cat, dog
    >>> level_accuracies(np.array([0, 1, 3, 3]), np.array([0, 0, 2, 1]), tree)
    array([0.75, 0.25])
    """
    levels = ClassTree(tree.parent, tree.node_of_class)
    depth = levels.depth[levels.node_of_class]
    known = class_index >= 0
    u, v = predicted[known], class_index[known]
    shared = (depth[u] + depth[v] - levels.path_length(u, v)) / 2
    shared[u == v] = np.inf
    n_levels = max(int(depth.max()), 1)
    return np.array([(shared >= level).sum() / len(class_index) for level in range(1, n_levels + 1)])


def confidence_error(confidence: FloatArray, is_right: NDArray[np.bool_]) -> float:
    """The expected calibration error: the mean difference between confidence and accuracy (Guo et al. 2017).

    Samples are grouped by the probability of their predicted class into bins of equal width.
    """
    _, expected, right = confidence_bins(confidence, is_right)
    return float(np.abs(expected - right).sum() / len(is_right))


def confidence_bins(confidence: FloatArray, is_right: NDArray[np.bool_]) -> FloatArray:
    """For each bin of :func:`confidence_error`: how many samples, how many should be right, and how many are."""
    bins = np.minimum((confidence * N_BINS).astype(np.intp), N_BINS - 1)
    columns = np.ones(len(bins)), confidence, is_right
    return np.stack([np.bincount(bins, weights=column, minlength=N_BINS) for column in columns])


def reliability_rows(bins: FloatArray) -> list[dict[str, float]]:
    """The samples of each bin that has some, their mean confidence, and how many are right."""
    return [
        {"n_samples": int(n), "confidence": float(expected / n), "accuracy": float(right / n)}
        for n, expected, right in bins.T
        if n
    ]


BETTER_MEAN = (
    "The nearest class mean is better than this model: try rerank learned or centroid, or more samples per class."
)
N_BEST = 5
MOST_COMPARED = 5_000
"""How many samples are compared with all class means."""


@dataclass(frozen=True)
class Evaluation:
    """How good a model is on some samples, what would do without it, and its worst classes.

    Parameters
    ----------
    n_samples : int
        How many samples were predicted.
    n_unknown : int
        How many of them have a label that the model does not know; they count as errors.
    accuracy : float
        The share of samples whose label is predicted.
    top_5 : float
        The share of samples whose label is among the best five.
    most_frequent : float or None
        The accuracy of always guessing the most frequent label of the training samples; None if these are not known.
    nearest_centroid : float or None
        The accuracy of the most similar class mean, by the cosine, on at most 5,000 of the samples; None likewise.
    worst_classes : tuple of ClassErrors
        The ten classes with the smallest share of recognised samples, among those with at least five.
    n_classes : int or None
        How many classes the model has.
    by_class : ClassReport or None
        More about the classes: those that are confused, rare, or perhaps to be merged or split.
    """

    n_samples: int
    n_unknown: int
    accuracy: float
    top_5: float
    most_frequent: float | None = None
    nearest_centroid: float | None = None
    worst_classes: tuple[ClassErrors, ...] = ()
    n_classes: int | None = None
    by_class: ClassReport | None = field(default=None, repr=False)

    def as_dict(self) -> dict[str, Any]:
        """All fields as plain values for JSON, without ``by_class``, which has an ``as_dict`` of its own."""
        plain = asdict(replace(self, by_class=None))
        del plain["by_class"]
        return plain

    def __str__(self) -> str:
        """A few lines for people."""
        return evaluation_text(self)

    def _repr_html_(self) -> str:
        """The same for notebooks, with the tables of the classes."""
        return html_of_lines(str(self._without_worst)) + self._tables_html

    @property
    def _without_worst(self) -> Evaluation:
        return self if self.by_class is None else replace(self, worst_classes=())

    @property
    def _tables_html(self) -> str:
        return "" if self.by_class is None else self.by_class._repr_html_()


def evaluation_text(each: Any, what: str = "sample", which: str = "") -> str:
    """A few lines for people, which call the samples ``what`` and then say which they are."""
    if not isinstance(each, Evaluation):  # of several labels per sample
        return str(each)
    unknown = f"; {counted(each.n_unknown, 'sample')} of classes without training samples" if each.n_unknown else ""
    samples = f"(on {counted(each.n_samples, what)}{which}{unknown})"
    rows = {"accuracy": f"{each.accuracy:.1%}  {samples}"}
    if each.n_classes is None or each.n_classes > N_BEST:
        rows["among the best 5"] = f"{each.top_5:.1%}"
    if each.most_frequent is not None:
        rows["always the most frequent class"] = f"{each.most_frequent:.1%}"
    if each.nearest_centroid is not None:
        rows["the nearest class mean"] = f"{each.nearest_centroid:.1%}"
    lines = [f"{name:<32}{value}" for name, value in rows.items()]
    if each.nearest_centroid is not None:
        # Twice the standard error of the difference is no noise.
        shares = np.array([each.accuracy, each.nearest_centroid])
        error = np.sqrt((shares * (1 - shares)).sum() / min(each.n_samples, MOST_COMPARED))
        lines += [BETTER_MEAN] if each.nearest_centroid - each.accuracy > 2 * error else []
    if each.worst_classes:
        lines.append(f"classes that are recognised least (of those with {ENOUGH_SAMPLES} samples or more):")
    for worst in each.worst_classes:
        others = ", ".join(f"{label} ({n})" for label, n in worst.taken_for)
        lines.append(f"  {f'{worst.n_right:,} of {worst.n_samples:,}':>14}  {worst.label}: taken for {others}")
    return "\n".join(lines)


def evaluated(
    best_classes: IntArray,
    class_index: IntArray,
    labels: NDArray[Any],
    baselines: Baselines | None = None,
    X: Any = None,
    *,
    texts: Sequence[Any] | None = None,
) -> Evaluation:
    """How good the predicted classes of samples are, best first, compared with baselines if there are any.

    ``class_index`` has -1 for labels that the model does not know; ``X`` are the samples that baselines predict, and
    ``texts`` what people read of them.
    """
    measures = prediction_measures(best_classes, class_index, at=(N_BEST,))
    by_class = classes_of(best_classes[:, 0], class_index, labels, X, texts)
    most_frequent, nearest = (None, None) if baselines is None else baselines.accuracies(X, class_index)
    return Evaluation(
        n_samples=len(class_index),
        n_unknown=int((class_index < 0).sum()),
        accuracy=measures.accuracy,
        top_5=measures.recall_at[N_BEST],
        most_frequent=most_frequent,
        nearest_centroid=nearest,
        worst_classes=by_class.worst,
        n_classes=len(labels),
        by_class=by_class,
    )


@dataclass(frozen=True, eq=False)
class Baselines:
    """What a model must beat: the most frequent class and the class means, each of length one, of its samples."""

    most_frequent: int
    means: csr_array

    @classmethod
    def of(cls, X: Any, class_index: IntArray, n_classes: int) -> Baselines:
        n_samples, sizes = len(class_index), np.bincount(class_index, minlength=n_classes)
        members = csr_array(
            (np.ones(n_samples, np.float32), (class_index, np.arange(n_samples))), (n_classes, n_samples)
        )
        means = csr_array(members @ X)
        lengths = np.sqrt(np.bincount(np.repeat(np.arange(n_classes), np.diff(means.indptr)), means.data**2, n_classes))
        means.data /= np.repeat(np.maximum(lengths, np.finfo(np.float32).tiny), np.diff(means.indptr))
        return cls(int(np.argmax(sizes)), means)

    def accuracies(self, X: Any, class_index: IntArray) -> tuple[float, float]:
        """The shares of samples that the most frequent class and the nearest mean get right."""
        rows = np.arange(0, len(class_index), -(-len(class_index) // MOST_COMPARED))
        step, n_right = max((1 << 24) // self.means.shape[0], 1), 0
        for start in range(0, len(rows), step):
            own = rows[start : start + step]
            found: Any = X[own] @ self.means.T  # dense if the samples are
            scores = found if isinstance(found, np.ndarray) else found.toarray()
            n_right += int((scores.argmax(axis=1) == class_index[own]).sum())
        return float((class_index == self.most_frequent).mean()), n_right / len(rows)


def is_clear(larger: NDArray[Any], smaller: NDArray[Any], weights: FloatArray, least: float = 1.0) -> bool:
    """Whether numbers are larger than others of the same samples by more than some standard errors."""
    gains, share = larger.astype(np.float64) - smaller, weights / weights.sum()
    gain = float(share @ gains)
    return bool(gain > 0 and gain > least * np.sqrt(share**2 @ (gains - gain) ** 2))
