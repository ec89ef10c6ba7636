"""Displays of a fitted classifier: how good its assignment and its bits are, and how other policies compare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from codekin._system.messages import counted
from codekin.assignments.scores import AssignmentProblem
from codekin.classes import ClassDistances, ClassTree, as_class_distances
from codekin.code import Assignment, FloatArray
from codekin.plots.assignments import check_n_drawn, entries_of
from codekin.plots.code_displays import Display, code_of, distances_of
from codekin.plots.style import COLUMN_WIDTH, INK, PALETTE, POLICY_COLOURS, POLICY_MARKERS, figure_style, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(eq=False, repr=False)
class AssignmentScoreDisplay(Display):
    """The class-codeword score of an assignment among those of random ones; lower scores preserve similarity better.

    Parameters
    ----------
    score : float
        The score of the classifier's assignment.
    random_scores : ndarray of shape (n_random,)
        The scores of random assignments of the same codebook.
    """

    _size = (COLUMN_WIDTH, 2.8)

    score: float
    random_scores: FloatArray

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        class_distances: ClassDistances | ClassTree | ArrayLike | None = None,
        n_random: int = 300,
        rng: np.random.Generator | int | None = 0,
        ax: Axes | None = None,
    ) -> Self:
        """Score the assignment of a fitted classifier and random ones.

        Parameters
        ----------
        estimator : ECOCClassifier or ExtremeClassifier
            Fitted.
        class_distances : ClassDistances, ClassTree or array-like of shape (n_classes, n_classes), default=None
            Those of the classifier by default.
        n_random : int, default=300
            How many random assignments to draw.
        rng : numpy.random.Generator or int, default=0
            The source of randomness.
        ax : matplotlib.axes.Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        AssignmentScoreDisplay
        """
        distances = as_class_distances(distances_of(estimator, class_distances))
        check_n_drawn(distances.n_classes)
        codebook, generator = estimator.codebook_, np.random.default_rng(rng)
        draws = (generator.permutation(codebook.n_codewords)[: distances.n_classes] for _ in range(n_random))
        problem = AssignmentProblem.of(codebook, distances)
        scores = [problem.score(Assignment(rows)) for rows in draws]
        return cls(problem.score(estimator.assignment_), np.array(scores)).plot(ax)

    def _draw(self) -> None:
        low, high = float(self.random_scores.min()), float(self.random_scores.max())
        if np.isclose(low, high):
            low, high = low - 0.01, high + 0.01
        axes, colours = self.ax_, POLICY_COLOURS
        axes.hist(self.random_scores, bins=30, range=(low, high), color=colours["random"], label="random assignments")
        axes.axvline(self.score, color=colours["preserving"], linewidth=2, label="this classifier")
        axes.margins(x=0.08)
        axes.locator_params(axis="x", nbins=6)
        axes.set_xlabel("class-codeword score (lower preserves similarity better)", size=9)
        axes.set_ylabel("assignments")
        axes.grid(axis="y")
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, borderpad=0)


@dataclass(eq=False, repr=False)
class BitErrorDisplay(Display):
    """How often each bit, or column of symbols, is wrong, as in ``report()``: a bar for each, and the mean.

    Parameters
    ----------
    bit_errors : ndarray of shape (n_bits,)
        For each bit, the share of wrong answers among samples of the classes that it does not ignore.
    n_symbols : int, default=2
        How many symbols a column may have.
    """

    _size = (COLUMN_WIDTH, 2.6)

    bit_errors: FloatArray
    n_symbols: int = 2

    @classmethod
    def from_estimator(cls, estimator: Any, X: Any, y: ArrayLike, *, ax: Axes | None = None) -> Self:
        """Measure the bits of a fitted classifier on samples.

        Parameters
        ----------
        estimator : ECOCClassifier or ExtremeClassifier
            Fitted.
        X : {array-like, sparse matrix, dataframe} of shape (n_samples, n_features)
            Samples, preferably ones that were not used for training.
        y : array-like of shape (n_samples,)
            Their labels, which the classifier must know.
        ax : matplotlib.axes.Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        BitErrorDisplay
        """
        code, margins = code_of(estimator), estimator.bit_margins(X)
        codewords = code.coding_matrix[estimator._known_class_index(y)]
        return cls(entries_of(code.n_symbols).errors(margins, codewords), code.n_symbols).plot(ax)

    def _draw(self) -> None:
        percent = 100 * self.bit_errors
        self.ax_.bar(np.arange(len(percent)), percent, width=0.8, color=PALETTE["blue"])
        self.ax_.axhline(percent.mean(), color=INK, linestyle="--", linewidth=1, label=f"mean {percent.mean():.1f} %")
        self.ax_.locator_params(axis="x", integer=True, nbins=12)
        self.ax_.set(xlim=(-0.7, len(percent) - 0.3), ylabel="wrong answers, %")
        self.ax_.set_xlabel(entries_of(self.n_symbols).unit)
        self.ax_.grid(axis="y")
        self.ax_.legend(loc="lower right", bbox_to_anchor=(1, 1), borderpad=0)


@dataclass(frozen=True)
class Mean:
    """A mean and its standard error. The error is NaN for a single value."""

    value: float
    error: float

    @classmethod
    def of(cls, values: ArrayLike) -> Mean:
        """The mean of some values."""
        array = np.asarray(values, dtype=np.float64)
        error = float(array.std(ddof=1) / np.sqrt(array.size)) if array.size > 1 else float("nan")
        return cls(float(array.mean()), error)

    @property
    def is_positive(self) -> bool:
        """Whether it is above zero by more than two standard errors."""
        return self.value > 2 * self.error

    def __format__(self, sign: str) -> str:
        """One digit after the point, ``81.2 ± 0.4``; ``"+"`` adds a plus sign to positive means."""
        text = format(self.value, f"{sign}.1f").replace("-", "−")
        return text if np.isnan(self.error) else f"{text} ± {self.error:.1f}"

    def __str__(self) -> str:
        """Without the sign of positive means."""
        return format(self)


@dataclass(frozen=True, eq=False)
class PolicyComparison:
    """The accuracies of a codebook under several policies, draw by draw.

    Accuracies are in percent, by policy. All policies use the same draws, so they can be compared pairwise.
    """

    codebook: str
    n_bits: int
    accuracies: Mapping[str, FloatArray]

    def mean(self, policy: str) -> Mean:
        """The mean accuracy under a policy, in percent."""
        return Mean.of(self.accuracies[policy])

    def gain(self, policy: str, over: str = "random") -> Mean:
        """By how many points a policy beats another, draw by draw."""
        return Mean.of(self.accuracies[policy] - self.accuracies[over])


@figure_style()
def draw_policy_comparison(comparisons: Sequence[PolicyComparison], *, title: str) -> Figure:
    """Mean accuracy of every codebook under every policy, with standard errors and the individual draws."""
    figure = new_figure(1.2 + 0.5 * len(comparisons))
    axes = figure.subplots()
    draw_policies(axes, comparisons)
    axes.set_title(title)
    figure.legend(loc="outside lower center", ncols=len(comparisons[0].accuracies))
    return figure


def draw_policies(axes: Axes, comparisons: Sequence[PolicyComparison]) -> None:
    """Draw the comparisons in a panel, one below the other."""
    policies = list(comparisons[0].accuracies)
    offsets = dict(zip(policies, np.linspace(-0.15, 0.15, len(policies)), strict=True))
    for row, comparison in enumerate(comparisons):
        for policy in policies:
            draws, mean = comparison.accuracies[policy], comparison.mean(policy)
            height = row + offsets[policy]
            colour, marker = POLICY_COLOURS[policy], POLICY_MARKERS[policy]
            axes.plot(draws, np.full(len(draws), height), "|", color=colour, alpha=0.45, markersize=7, zorder=1)
            look: Any = {"color": colour, "marker": marker, "markeredgecolor": "white", "markersize": 8, "capsize": 3}
            label = policy if row == 0 else None
            axes.errorbar(mean.value, height, xerr=mean.error, label=label, zorder=3, **look)
    axes.set_yticks(range(len(comparisons)), [f"{c.codebook}\n{counted(c.n_bits, 'bit')}" for c in comparisons])
    axes.set_ylim(len(comparisons) - 0.5, -0.5)
    axes.locator_params(axis="x", steps=[1, 2, 5, 10])
    axes.set_xlabel("test accuracy, %")
    axes.grid(axis="x")
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)


@dataclass(eq=False, repr=False)
class PolicyComparisonDisplay(Display):
    """The accuracy of a classifier under several policies: means with standard errors, and a tick per draw.

    Parameters
    ----------
    comparison : PolicyComparison
        The accuracies.
    """

    _size = (COLUMN_WIDTH, 1.7)

    comparison: PolicyComparison

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        X_test: Any,
        y_test: ArrayLike,
        *,
        policies: Sequence[str] = ("random", "preserving"),
        n_draws: int = 5,
        ax: Axes | None = None,
    ) -> Self:
        """Fit copies of a classifier under each policy, and score them.

        Parameters
        ----------
        estimator : ECOCClassifier
            Fitted or not; it is not changed. Its copies have the random states 0, 1, 2 and so on.
        X : {array-like, sparse matrix, dataframe} of shape (n_samples, n_features)
            Training samples.
        y : array-like of shape (n_samples,)
            Their labels.
        X_test : {array-like, sparse matrix, dataframe} of shape (n_test_samples, n_features)
            Test samples.
        y_test : array-like of shape (n_test_samples,)
            Their labels.
        policies : sequence of str, default=("random", "preserving")
            Some of "random", "preserving" and "breaking".
        n_draws : int, default=5
            How often to fit under each policy.
        ax : matplotlib.axes.Axes, default=None
            Where to draw; None makes a figure.

        Returns
        -------
        PolicyComparisonDisplay
        """
        unknown = [policy for policy in policies if policy not in POLICY_COLOURS]
        if unknown or not policies:
            raise ValueError(f"The 'policies' must be some of {list(POLICY_COLOURS)}. Got {list(policies)} instead.")
        if n_draws < 1:
            raise ValueError(f"The 'n_draws' parameter must be at least 1. Got {n_draws} instead.")
        accuracies: dict[str, list[float]] = {policy: [] for policy in policies}
        fitted: Any = None
        for draw in range(n_draws):
            for policy in policies:
                fitted = deepcopy(estimator).set_params(assignment=policy, random_state=draw).fit(X, y)
                accuracies[policy].append(100 * fitted.score(X_test, y_test))
        by_policy = {policy: np.array(values) for policy, values in accuracies.items()}
        return cls(PolicyComparison(fitted.codebook_.name, fitted.codebook_.n_bits, by_policy)).plot(ax)

    def _draw(self) -> None:
        draw_policies(self.ax_, [self.comparison])
        self.ax_.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=3, borderpad=0)
