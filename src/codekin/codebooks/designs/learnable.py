"""Columns for loss-based decoding, which linear bits learn well and which keep the classes apart. Experimental."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from codekin.classes.learnability import ClassMoments
from codekin.code import Codebook, FloatArray
from codekin.codebooks.classic import checked_n_codewords, dense_n_bits
from codekin.codebooks.designs.columns import are_columns_useful, are_rows_distinct
from codekin.codebooks.designs.separating import Space
from codekin.codebooks.random import dense_random

MAX_LEARNABLE = 500
"""The effort grows with the cube of the number of classes."""

FEW_CLASSES = 32
"""Up to this many classes, there are several starts."""

STARTED_COLUMNS = 64
"""How many columns all starts have together, about: the more bits, the less a start matters."""

MAX_SWEEPS = 10
"""How often each column is optimised again given all others; stops when a sweep gains less than a thousandth."""

N_SINGLE_FLIPS = 6
"""How many of the flips with the steepest descent are tried one by one."""


def learnable(
    n_codewords: int,
    n_bits: int | None = None,
    *,
    class_moments: ClassMoments,
    rng: np.random.Generator | int | None = None,
) -> Codebook:
    r"""Columns with which loss-based decoding errs least, chosen by learnability: no bit is trained.

    Easy columns alone are not enough: the easiest ones are nearly the same column. What counts is how often loss-based
    decoding takes class ``u`` for class ``v``. The margins of least-squares bits are :math:`M^\top p(x)`, where
    :math:`p(x)` are the ``K`` outputs of least squares on one-hot targets, and the class with the largest entry of
    :math:`G p(x)` wins, :math:`G = M M^\top`. With the mean :math:`p_u` of the outputs of a class and their covariance
    :math:`W` within classes, both from the class moments, and normal outputs, the expected error is at most

    .. math:: \sum_{u \ne v} \pi_u\, \Phi\!\left(- \frac{(G_u - G_v) p_u}
        {\sqrt{(G_u - G_v) W (G_u - G_v)^\top}}\right).

    The numerator is small if classes share much of their codewords or if the bits that separate them are hard to learn.
    The sum is minimised by flipping entries of one column after the other, starting from random codewords.

    Bai et al. (see :func:`cross_validated`) choose columns by separability and accuracy, for which every column must be
    trained. For a learned decoder, which undoes correlations between bits, use :func:`separating`. With many classes
    and few samples per feature, as in texts, the estimate is far too small, and a random code with
    ``assignment="learnability"`` is better. For at most 500 classes.

    >>> from sklearn.datasets import load_digits
    >>> from codekin.classes.learnability import class_moments
    >>> moments = class_moments(*load_digits(return_X_y=True))
    >>> learnable(10, 8, class_moments=moments, rng=0)
    <Codebook learnable: 10 codewords x 8 bits, minimum distance 3>
    """
    n_codewords = checked_n_codewords(n_codewords, codebook="learnable", at_most=MAX_LEARNABLE)
    n_bits = dense_n_bits(n_bits, n_codewords)
    class_moments.check(n_codewords)
    outputs, generator = Outputs.of(class_moments), np.random.default_rng(rng)
    best, lowest = np.empty((n_codewords, n_bits)), np.inf
    for _ in range(-(-STARTED_COLUMNS // n_bits) if n_codewords <= FEW_CLASSES else 1):
        start = dense_random(n_codewords, n_bits, n_draws=1, rng=generator).matrix
        found = _improved(outputs, start.astype(np.float64))
        error = outputs.error(found)
        if error < lowest * (1 - 1e-6):
            best, lowest = found, error
    return Codebook(best.astype(np.int8), name="learnable", is_designed=True)


@dataclass(frozen=True, eq=False)
class Outputs:
    """What least squares on one-hot targets gives samples of each class: means and one covariance."""

    frequency: FloatArray
    means: FloatArray  # column k is that of class k
    within: FloatArray

    @classmethod
    def of(cls, moments: ClassMoments) -> Outputs:
        """The outputs for some class moments."""
        space = Space.of(moments)
        means = moments.frequency[:, None] + space.steps @ space.means.T
        return cls(moments.frequency, means, space.steps @ space.steps.T)

    def error(self, columns: FloatArray) -> float:
        """The estimated error of loss-based decoding with these columns."""
        return Rest.of(self, columns[:, :-1]).error(columns[:, -1])


@dataclass(frozen=True, eq=False)
class Rest:
    """All columns but one: by how much class ``u`` leads class ``v`` among its samples, and how much that varies."""

    outputs: Outputs
    gaps: FloatArray
    variances: FloatArray
    spread: FloatArray  # G W

    @classmethod
    def of(cls, outputs: Outputs, columns: FloatArray) -> Rest:
        """The state of some columns."""
        products = columns @ (columns.T @ outputs.means)
        spread = columns @ (columns.T @ outputs.within)
        noise = (spread @ columns) @ columns.T
        variances = noise.diagonal()[:, None] + noise.diagonal() - noise - noise.T
        return cls(outputs, products.diagonal()[:, None] - products.T, variances, spread)

    def error(self, column: FloatArray) -> float:
        """The estimated error with one more column."""
        return float(self._errors(column)[0].sum())

    def slopes(self, column: FloatArray) -> FloatArray:
        """The derivative of the error with respect to each entry of the column."""
        _, by_gap, by_variance = self._errors(column)
        apart, means = column[:, None] - column, self.outputs.means
        lead, noise, own = column @ means, self.spread @ column, self.outputs.within @ column
        both = by_variance + by_variance.T
        pulls = (both * apart).sum(axis=1)
        of_gaps = lead * by_gap.sum(axis=1) - lead @ by_gap + means @ (by_gap * apart).sum(axis=1)
        of_noise = both.sum(axis=1) * noise - both @ noise + pulls @ self.spread + (column @ own) * pulls
        return np.asarray(of_gaps + 2 * of_noise + 2 * own * (by_variance * apart**2).sum())

    def _errors(self, column: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The error of each pair, and its derivatives with respect to the gap and the variance; 0 on the diagonal."""
        outputs = self.outputs
        apart = column[:, None] - column
        noise = self.spread @ column
        gaps = self.gaps + apart * (column @ outputs.means)[:, None]
        own = float(column @ outputs.within @ column)
        variances = self.variances + 2 * apart * (noise[:, None] - noise) + own * apart**2
        floor = 1e-12 * max(float(variances.max()), np.finfo(np.float64).tiny)
        deviations = np.sqrt(np.maximum(variances, floor))
        z = gaps / deviations
        weight = np.repeat(outputs.frequency[:, None], len(z), axis=1)
        np.fill_diagonal(weight, 0.0)
        density = weight * np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
        return weight * ndtr(-z), -density / deviations, density * z / (2 * deviations**2)


def _improved(outputs: Outputs, columns: FloatArray) -> FloatArray:
    """Columns that are optimised one after the other, given all others."""
    columns, error = columns.copy(), outputs.error(columns)
    for _ in range(MAX_SWEEPS):
        for bit in range(columns.shape[1]):
            _descend(Rest.of(outputs, np.delete(columns, bit, axis=1)), columns, bit)
        before, error = error, outputs.error(columns)
        if not error < before * (1 - 1e-3):
            break
    return columns


def _descend(rest: Rest, columns: FloatArray, bit: int) -> None:
    """Flip entries of one column, in place, as long as that lowers the error and rows and columns stay distinct."""
    error = rest.error(columns[:, bit])
    while True:
        column = columns[:, bit].copy()
        # Flip the steepest entries each on its own, then 2, 4, 8, ... of them together.
        changes = -2 * column * rest.slopes(column)
        rank, n_steep = np.argsort(np.argsort(changes, kind="stable")), int((changes < 0).sum())
        flipped = [rank == place for place in range(min(n_steep, N_SINGLE_FLIPS))]
        flipped += [rank < 2**power for power in range(1, n_steep.bit_length())]
        candidates = [np.where(flips, -column, column) for flips in flipped]
        errors = [rest.error(candidate) for candidate in candidates]
        for best in np.argsort(errors, kind="stable"):
            if not errors[best] < error * (1 - 1e-9):
                columns[:, bit] = column
                return
            columns[:, bit] = candidates[best]
            if are_rows_distinct(columns) and are_columns_useful(columns):
                error = errors[best]
                break
        else:
            columns[:, bit] = column
            return
