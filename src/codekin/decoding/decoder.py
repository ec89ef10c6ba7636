"""What every decoder does: from margins to classes, their losses and their probabilities."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from codekin._system.rows import Row
from codekin.code import FloatArray, IntArray, Margins

SingleMargins = Callable[[Any], Callable[[Row], Margins]]
"""From bits to a function that gives the margins of one row, (1, n_bits)."""
SingleBest = Callable[..., tuple[IntArray, FloatArray]]
"""From one row, k and ``has_losses`` to its k best classes and their losses, which mean nothing unless asked for."""

NEARBY = 1e-6
"""If a margin moves by less than this, the secant is too short to compute with; a longer one is taken."""


NO_LOSS = np.zeros(1)


class Slopes(NamedTuple):
    """The score of one class per sample as a function of the margins.

    - ``by_bit`` of shape (n_samples, n_bits): what the score grows by per unit of the margin.
    - ``bias`` of shape (n_samples,): the score of a sample without features.
    - ``shared`` of shape (n_samples,): the part of the score that all classes of a sample have.
    """

    by_bit: FloatArray
    bias: FloatArray
    shared: FloatArray


class Decoder(ABC):
    """Turns margins, one per bit, into classes. Among equal losses the lowest class index wins.

    Margins are an array of shape (n_samples, n_bits), or whatever the bits of the code give instead.
    """

    is_learned: ClassVar[bool] = False
    """Whether it has weights of its own, besides those of the bits."""

    @property
    @abstractmethod
    def loss(self) -> Any:
        """The decoding loss."""

    @property
    @abstractmethod
    def n_classes(self) -> int:
        """The number of classes."""

    @abstractmethod
    def decode(self, margins: Any) -> IntArray:
        """The class with the smallest loss for each sample, (n_samples,)."""

    @abstractmethod
    def top_k(self, margins: Any, k: int) -> tuple[IntArray, FloatArray]:
        """The k classes with the smallest losses, and those losses, smallest first.

        Parameters
        ----------
        margins : array of shape (n_samples, n_bits)
            Or whatever the bits of the code give instead.
        k : int
            At least 1 and at most the number of classes.

        Returns
        -------
        classes : ndarray of shape (n_samples, k)
            -1 if a search found fewer.
        losses : ndarray of shape (n_samples, k)
        """

    @abstractmethod
    def class_losses(self, margins: Any) -> FloatArray:
        """The losses of all classes, (n_samples, n_classes); the first of the smallest is that of :meth:`decode`."""

    def losses_of(self, margins: Any, classes: IntArray) -> FloatArray:
        """The losses of given classes.

        Parameters
        ----------
        margins : array of shape (n_samples, n_bits)
            Or whatever the bits of the code give instead.
        classes : array of shape (n_samples, n)
            -1 if there is none.

        Returns
        -------
        ndarray of shape (n_samples, n)
            Infinite for class -1.
        """
        every = self.class_losses(margins)
        return np.take_along_axis(np.column_stack([every, np.full(len(every), np.inf)]), classes, axis=1)

    def n_listed(self, k: int) -> int:  # noqa: ARG002
        """How many classes get a loss where the best k are listed: all of them, unless the decoder searches."""
        return self.n_classes

    def most_probable(self, margins: Any, k: int, temperature: float) -> tuple[IntArray, FloatArray]:
        """The k most probable classes at a temperature, and the logarithms of their probabilities, largest first.

        Parameters
        ----------
        margins : array of shape (n_samples, n_bits)
            Or whatever the bits of the code give instead.
        k : int
        temperature : float

        Returns
        -------
        classes : ndarray of shape (n_samples, k)
        log_probabilities : ndarray of shape (n_samples, k)
        """
        from scipy.special import log_softmax

        logs = log_softmax(-self.class_losses(margins) / temperature, axis=1)
        classes = np.argsort(-logs, axis=1, kind="stable")[:, :k]
        return classes, np.take_along_axis(logs, classes, axis=1)

    def log_proba_of(self, margins: Any, classes: IntArray) -> Callable[[float], FloatArray]:
        """The logarithms of the probabilities of given classes, as a function of the temperature.

        Parameters
        ----------
        margins : array of shape (n_samples, n_bits)
            Or whatever the bits of the code give instead.
        classes : array of shape (n_samples, n)

        Returns
        -------
        callable
            From a temperature to an array of shape (n_samples, n).
        """
        from scipy.special import log_softmax

        losses = self.class_losses(margins)
        return lambda temperature: np.take_along_axis(log_softmax(-losses / temperature, axis=1), classes, axis=1)

    def single(self, bits: Any, margins_of: SingleMargins) -> SingleBest:
        """A function that lists the best classes of one row, with arrays that are made ready once.

        For a single row, what surrounds a kernel takes several times as long as the kernel itself: checks, conversions,
        blocks, threads, memory that is allocated and cleared. The results are those of :meth:`top_k`, to the last bit.

        Parameters
        ----------
        bits : FittedBits
            The predictors of the bits.
        margins_of : callable
            From bits to the function that gives the margins of a row.

        Returns
        -------
        callable
            From a row, k and ``has_losses`` to classes and losses.
        """
        margins = margins_of(bits)

        def best(row: Row, k: int, *, has_losses: bool) -> tuple[IntArray, FloatArray]:
            f = margins(row)
            if k == 1 and not has_losses:
                return self.decode(f), NO_LOSS
            classes, losses = self.top_k(f, k)
            return classes[0], losses[0]

        return best

    def with_narrow_beam(self) -> Self:
        """The same for lists of candidates of very many samples, in less time if it searches."""
        return self

    def slopes(self, class_index: IntArray, moved: FloatArray, offsets: FloatArray) -> Slopes:
        """How fast the score of one class per sample grows with each margin, on average between offsets and margins.

        A margin ``f = w . x + b`` is linear in the features, but the score of a class is not linear in the margin under
        most losses. A function ``phi`` of one margin is divided among the features in proportion to what they add to
        the margin: feature ``i`` contributes ``w_i x_i`` times the slope of the secant,
        ``(phi(f) - phi(b)) / (f - b)``. These are the integrated gradients along the straight line from a sample of
        zeros (Sundararajan et al. 2017), without an integral. For logistic and linear losses ``phi`` is linear and the
        contributions are simply the weights times the features.

        Parameters
        ----------
        class_index : array of shape (n_samples,)
        moved : array of shape (n_samples, n_bits)
            The margins without the offsets.
        offsets : array of shape (n_bits,)

        Returns
        -------
        Slopes
        """
        raise ValueError(
            f"The scores of a {type(self).__name__} are not functions of the margins of single bits. Got margins of "
            f"{moved.shape[1] or len(offsets)} bits and {len(class_index)} samples."
        )


def secants(phi: Callable[[FloatArray], FloatArray], moved: FloatArray, offsets: FloatArray) -> FloatArray:
    """The slopes of ``phi`` between the offsets and the margins.

    >>> secants(np.square, np.array([[2.0, 0.0]]), np.array([1.0, 3.0])).round(6)
    array([[4., 6.]])
    """
    is_near = np.abs(moved) < NEARBY * (1 + np.abs(offsets))
    half = NEARBY * (1 + np.abs(offsets))
    begins = np.where(is_near, offsets - half, offsets)
    ends = np.where(is_near, offsets + half, offsets + moved)
    return np.asarray((phi(ends) - phi(begins)) / (ends - begins))


def check_k(k: int, n_classes: int) -> None:
    """Raise unless ``1 <= k <= n_classes``."""
    if not 1 <= k <= n_classes:
        raise ValueError(
            f"The 'k' parameter of top_k must be between 1 and the number of classes, {n_classes}. Got {k}."
        )
