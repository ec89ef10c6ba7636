"""Test samples, made ready for a sweep over all assignments: whole numbers in blocks of samples of one class."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from codekin.coding import Codebook, FloatArray, IntArray
from codekin.decoding.losses import get_loss

MAX_GRID_EXPONENT = 24
_MAX_INT16 = 2**15 - 1


def rounded_margins(margins: ArrayLike, n_bits: int) -> FloatArray:
    """Margins on the finest grid on which sums over ``n_bits`` of them are exact in 32 bits.

    On a grid whose step is a power of two no sum depends on its order: ties are ties in every decoder.

    ``n_bits`` says how many margins are added up, at most.

    >>> rounded_margins([0.1, 30.0], n_bits=8)[1]
    np.float64(30.0)
    """
    values = np.asarray(margins, dtype=np.float64)
    step = 2.0 ** -grid_exponent(values, n_bits)
    return np.asarray(np.rint(values / step) * step)


def grid_exponent(margins: FloatArray, n_bits: int) -> int:
    """The grid has ``2**grid_exponent`` steps to the unit."""
    largest = max(float(np.abs(margins).max()), 2.0**-MAX_GRID_EXPONENT) if margins.size else 1.0
    # Agreements are at most as large as margins and have one more binary digit; one bit is the sign, one is spare.
    return min(MAX_GRID_EXPONENT, int(np.floor(np.log2(2.0**28 / (n_bits * largest)))))


@dataclass(frozen=True)
class SampleBlocks:
    """Samples that not every assignment gets right, with agreements signed towards their own classes."""

    class_of_block: IntArray
    exact: NDArray[np.int32]
    """(n_blocks, n_splits, LANES), on the grid; samples that are missing have negative numbers only."""
    small: NDArray[np.int16]
    """The same numbers, divided by one number per sample, and rounded if necessary."""
    slack: int
    """Sums of the small numbers have the signs of the exact ones if they are further from zero than this."""
    n_always_right: int
    """How many samples every assignment gets right."""

    @property
    def is_rounded(self) -> bool:
        """Whether small numbers are rounded."""
        return self.slack > 0


def sample_blocks(codebook: Codebook, margins: FloatArray, y: IntArray) -> SampleBlocks:
    """Arrange samples for the sweep: samples of about the same difficulty in one block.

    Row ``s`` of the margins (2**(n_classes - 1), n_samples) belongs to split ``s``; row 0 is not used. They are rounded
    by :func:`rounded_margins`.
    """
    from codekin.kernels.sweep import LANES, PADDING

    splits = np.arange(len(margins))
    is_used = _is_used(codebook, splits)
    agreements = get_loss("hinge").agreement(margins) * 2.0 ** (grid_exponent(margins, codebook.n_bits) + 1)
    towards_class = np.where((splits[:, None] >> y) & 1, agreements, -agreements).astype(np.int32)
    n_against = (towards_class[is_used] <= 0).sum(axis=0)
    samples_of_blocks = [
        (k, samples[start : start + LANES])
        for k in range(codebook.n_codewords)
        for samples in [np.flatnonzero((y == k) & (n_against > 0))]
        for samples in [samples[np.argsort(n_against[samples], kind="stable")]]
        for start in range(0, len(samples), LANES)
    ]
    most_terms = int(codebook.row_distances().max())
    small_numbers, is_rounded = _in_16_bits(towards_class, is_used, most_terms)
    exact = np.full((len(samples_of_blocks), len(splits), LANES), PADDING, dtype=np.int32)
    small = np.full(exact.shape, PADDING, dtype=np.int16)
    for block, (_, samples) in enumerate(samples_of_blocks):
        exact[block, :, : len(samples)] = towards_class[:, samples]
        small[block, :, : len(samples)] = small_numbers[:, samples]
    return SampleBlocks(
        np.array([k for k, _ in samples_of_blocks], dtype=np.intp),
        exact,
        small,
        # A rounded number is off by at most a half, a sum of them by half the number of terms.
        slack=most_terms // 2 if is_rounded else 0,
        n_always_right=int((n_against == 0).sum()),
    )


def _is_used(codebook: Codebook, splits: IntArray) -> NDArray[np.bool_]:
    """Which splits some assignment has among its bits: those with as many classes on one side as a bit has."""
    sizes = (codebook.matrix > 0).sum(axis=0)
    n_inside = np.array([int(split).bit_count() for split in splits])
    return np.isin(n_inside, sizes) | np.isin(codebook.n_codewords - n_inside, sizes)


def _in_16_bits(
    values: NDArray[np.int32], is_used: NDArray[np.bool_], most_terms: int
) -> tuple[NDArray[np.int16], bool]:
    """The columns divided so that 16 bits tell the signs of sums of ``most_terms``, and whether one had to be rounded.

    Sums stop at the largest number. What is left of one that did, after all that can be subtracted from it, must still
    be positive: so it is enough that all negative numbers of a sum fit, or all positive ones.
    """
    rising = np.sort(values[is_used].astype(np.int64), axis=0)
    largest = [np.maximum(ends, 0).sum(axis=0) for ends in (-rising[:most_terms], rising[-most_terms:])]
    # Whole margins on a fine grid end with zeros: without them, they may fit as they are.
    every_digit = np.bitwise_or.reduce(np.abs(rising), axis=0)
    power_of_two = np.maximum(every_digit & -every_digit, 1)
    is_rounded = np.maximum(*largest) // power_of_two >= _MAX_INT16
    # A sum of rounded numbers may be off by half the number of terms, and must then be beyond the slack, which is that.
    divisor = np.where(is_rounded, np.maximum(np.minimum(*largest), 1) / (_MAX_INT16 - 2 * most_terms), power_of_two)
    small = np.clip(np.rint(values / divisor), -_MAX_INT16, _MAX_INT16)
    return np.where(is_used[:, None], small, 0).astype(np.int16), bool(is_rounded.any())
