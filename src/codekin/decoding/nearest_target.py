"""Decoding real codewords: the class whose target is nearest to the predicted one.

    argmin_y  ||f - t_y||^2  =  argmax_y  2 f . t_y - ||t_y||^2

The right side is linear in the margins ``f``: a decoder with given weights. If the targets are -1 and +1, this is
decoding under the squared loss.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np

from codekin.coding import CodingMatrix, FloatArray, IntArray, Margins
from codekin.decoding.decoder import Decoder, Slopes
from codekin.decoding.learned import WEIGHT_DIGITS, LearnedDecoder
from codekin.decoding.losses import LOSSES, Loss
from codekin.decoding.minimum_loss import as_margins, rounded_rows, set_apart


@dataclass(frozen=True, eq=False)
class NearestTargetDecoder(Decoder):
    """Finds the classes whose targets are nearest to the margins; the squared distance of a target is its loss.

    Parameters
    ----------
    targets : array-like of shape (n_classes, n_bits)
        Row ``k`` is the target of class ``k``; rounded to 20 binary digits of its largest number.

    Examples
    --------
    >>> decoder = NearestTargetDecoder([[0.0, 2.0], [0.5, -1.0], [-2.0, 0.0]])
    >>> decoder.decode(np.array([[0.3, 1.0], [-1.0, -0.2]]))
    array([0, 2])
    >>> decoder.class_losses(np.array([[0.0, 1.0]]))
    array([[1.  , 4.25, 5.  ]])
    """

    targets: CodingMatrix = field(repr=False)
    loss: ClassVar[Loss] = LOSSES["squared"]

    def __post_init__(self) -> None:
        """Round the targets."""
        rounded = rounded_rows(np.asarray(self.targets, dtype=np.float64), WEIGHT_DIGITS)
        object.__setattr__(self, "targets", rounded)

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.targets)

    @cached_property
    def linear(self) -> LearnedDecoder:
        """The decoder with the linear scores."""
        targets = np.asarray(self.targets, dtype=np.float64)
        return LearnedDecoder(targets, -np.square(targets).sum(axis=1), self.loss)

    def decode(self, margins: Margins) -> IntArray:
        """The class with the nearest target for each sample, (n_samples,); the lowest class among equals."""
        return self.linear.decode(margins)

    def top_k(self, margins: Margins, k: int) -> tuple[IntArray, FloatArray]:
        """The k classes with the nearest targets, nearest first; the lower class first among equals.

        Parameters
        ----------
        margins : array of shape (n_samples, n_bits)
        k : int
            At least 1 and at most the number of classes.

        Returns
        -------
        classes : ndarray of shape (n_samples, k)
        losses : ndarray of shape (n_samples, k)
        """
        classes, losses = self.linear.top_k(margins, k)
        return classes, losses + self._lengths(margins)

    def class_losses(self, margins: Margins) -> FloatArray:
        """The squared distance of every target for each sample, (n_samples, n_classes).

        The first of the smallest losses is that of the class that :meth:`decode` returns.
        """
        losses = self.linear.class_losses(margins)
        decoded = losses.argmin(axis=1)
        losses += self._lengths(margins)
        set_apart(losses, decoded)
        return losses

    def slopes(self, class_index: IntArray, moved: FloatArray, offsets: FloatArray) -> Slopes:
        lengths = np.square(offsets + moved).sum(axis=1)
        return self.linear.slopes(class_index, moved, offsets)._replace(shared=-lengths)

    def _lengths(self, margins: Margins) -> FloatArray:
        """The squared lengths of the margins, (n_samples, 1)."""
        given = as_margins(margins, self.targets.shape[1]).astype(np.float64, copy=False)
        return np.asarray(np.square(given).sum(axis=1)[:, None])
