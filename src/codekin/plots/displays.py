"""The base of the displays of fitted classifiers.

A display holds its numbers; ``plot`` draws them into given axes or a new figure, and stores these as ``ax_`` and
``figure_``. Figures are created with pyplot, so notebooks and ``plt.show()`` show them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

from codekin.coding import Code
from codekin.plots.assignments import check_n_drawn
from codekin.plots.style import figure_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure


class Display(ABC):
    """The base class of all displays."""

    ax_: Axes
    figure_: Figure | SubFigure

    @figure_style()
    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the display into the given axes or a new figure, and store them as ``ax_`` and ``figure_``."""
        if ax is None:
            from matplotlib import pyplot

            ax = pyplot.figure(figsize=self._size(), layout="constrained").subplots()
        self.ax_, self.figure_ = ax, ax.figure
        self._draw()
        return self

    @abstractmethod
    def _size(self) -> tuple[float, float]:
        """Width and height of a new figure, in inches."""

    @abstractmethod
    def _draw(self) -> None:
        """Draw into ``ax_``."""


def code_of(estimator: Any) -> Code:
    """The code of a fitted classifier."""
    if not hasattr(estimator, "model_"):
        raise ValueError(f"This {type(estimator).__name__} is not fitted yet. Call fit first.")
    check_n_drawn(len(estimator.classes_))
    code: Code = estimator.model_.code
    if code.codebook.is_real:
        raise ValueError(f"Codewords of signs or symbols can be drawn. Got the real ones of {code.codebook!r}.")
    return code


def distances_of(estimator: Any, given: Any) -> Any:
    """The given class distances, or those of the fitted classifier if none are given."""
    known = getattr(estimator, "class_distances_", None) if given is None else given
    if known is None:
        raise ValueError(
            f"This {type(estimator).__name__} has no class distances: it is not fitted, did not need them, or was "
            "loaded from disk. Give class_distances."
        )
    return known


def names_of(estimator: Any, given: Sequence[Any] | None) -> Sequence[Any]:
    """The given names of the classes, or their labels if none are given."""
    names: Sequence[Any] = estimator.classes_ if given is None else given
    if len(names) != len(estimator.classes_):
        raise ValueError(f"There are {len(estimator.classes_)} classes. Got {len(names)} class names.")
    return names
