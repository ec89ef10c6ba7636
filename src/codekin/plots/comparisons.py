"""Accuracy under several assignment policies, by codebook."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from codekin._system.wording import counted
from codekin.coding import FloatArray
from codekin.plots.style import POLICY_COLOURS, POLICY_MARKERS, figure_style, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


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
            axes.errorbar(
                mean.value,
                height,
                xerr=mean.error,
                color=colour,
                marker=marker,
                markeredgecolor="white",
                markersize=8,
                capsize=3,
                label=policy if row == 0 else None,
                zorder=3,
            )
    axes.set_yticks(range(len(comparisons)), [f"{c.codebook}\n{counted(c.n_bits, 'bit')}" for c in comparisons])
    axes.set_ylim(len(comparisons) - 0.5, -0.5)
    axes.locator_params(axis="x", steps=[1, 2, 5, 10])
    axes.set_xlabel("test accuracy, %")
    axes.grid(axis="x")
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
