"""Decoding real codewords: the class whose target is nearest to the predicted one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from codekin.coding import FloatArray, Margins
from codekin.decoding.learned import WEIGHT_DIGITS, LearnedDecoder
from codekin.decoding.minimum_loss import rounded_rows


@dataclass(frozen=True, eq=False)
class NearestTargetDecoder(LearnedDecoder):
    """Finds the classes whose targets are nearest to the margins; the squared distance of a target is its loss.

    It is a decoder with given weights: ``||f - t||^2 = ||f||^2 - (2 f . t - ||t||^2)``, and the term in brackets is a
    score that is linear in the margins. If the targets are -1 and +1, this is decoding under the squared loss. Make it
    with :meth:`of`.

    Examples
    --------
    >>> decoder = NearestTargetDecoder.of([[0.0, 2.0], [0.5, -1.0], [-2.0, 0.0]])
    >>> decoder.decode(np.array([[0.3, 1.0], [-1.0, -0.2]]))
    array([0, 2])
    >>> decoder.class_losses(np.array([[0.0, 1.0]]))
    array([[1.  , 4.25, 5.  ]])
    """

    is_learned: ClassVar[bool] = False

    @classmethod
    def of(cls, targets: ArrayLike) -> Self:
        """The decoder of the targets of the classes, (n_classes, n_bits), rounded to 20 binary digits.

        Parameters
        ----------
        targets : array-like of shape (n_classes, n_bits)

        Returns
        -------
        NearestTargetDecoder
        """
        rounded = rounded_rows(np.asarray(targets, dtype=np.float64), WEIGHT_DIGITS)
        return cls(rounded, -np.square(rounded).sum(axis=1), "squared")

    def _losses(self, margins: Margins) -> Iterator[tuple[slice, FloatArray]]:
        for samples, losses in super()._losses(margins):
            yield samples, losses + np.square(margins[samples].astype(np.float64)).sum(axis=1)[:, None]
