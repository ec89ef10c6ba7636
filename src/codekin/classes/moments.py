"""Class frequencies, and how much of the one-hot targets least squares explains."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from codekin.coding import FloatArray


@dataclass(frozen=True, eq=False)
class ClassMoments:
    r"""Class frequencies, all above 0, and the covariance of one-hot targets that linear least squares explains.

    With :math:`\pi` the frequencies, :math:`\mu_k` the class means, :math:`\mu` and :math:`\Sigma` the mean and the
    covariance of all samples, ``explained`` is :math:`E = Z^\top (\Sigma + \lambda I)^{-1} Z`, where column ``k`` of
    :math:`Z` is :math:`\pi_k (\mu_k - \mu)`. Its rows add up to zero.
    """

    frequency: FloatArray = field(repr=False)
    explained: FloatArray = field(repr=False)

    def __post_init__(self) -> None:
        """Check the shapes and the frequencies."""
        frequency, explained = (np.asarray(a, dtype=np.float64) for a in (self.frequency, self.explained))
        if frequency.ndim != 1 or explained.shape != (len(frequency), len(frequency)):
            raise ValueError(
                "Class moments need a frequency for each class and a square matrix of as many rows. "
                f"Got shapes {frequency.shape} and {explained.shape}."
            )
        if not (frequency > 0).all():
            raise ValueError(f"Every class must have a frequency greater than 0. Got {frequency.min()} instead.")
        object.__setattr__(self, "frequency", frequency)
        object.__setattr__(self, "explained", (explained + explained.T) / 2)

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.frequency)
