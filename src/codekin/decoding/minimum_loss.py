"""Decoding an arbitrary codebook: the class whose codeword has the smallest total loss.

    argmin_y  sum_j L(M_yj f_j)                                              (Eq. 2 of the paper)

With ``h`` and ``g`` from :mod:`codekin.decoding.losses` the loss of class ``y`` is ``|M_y| . h - M_y . g`` plus
``L(0)`` for every zero of ``M_y``: a matrix product, whatever the loss. It is computed in blocks; an array of
samples x classes is never in memory. Hamming decoding of large problems counts bits instead.

The product is exact, with margins rounded to about fifteen digits. Classes whose codewords fit equally well therefore
have the same loss, for any size of a batch, number of threads and order of summation.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from codekin._system.parallel import run_blocks, single_blas
from codekin.code import CodingMatrix, FloatArray, IntArray, Margins
from codekin.code.geometry import packed_bits
from codekin.decoding.decoder import Decoder, Slopes, check_k, secants
from codekin.decoding.losses import STABLE_UNITS, get_loss

DECODED_PER_BLOCK = 512
CLASSES_PER_BLOCK = 4096
LEAST_EXPONENT = -1022
"""The exponent of the smallest normal power of two."""
COMPILE_FROM = 10**8
"""From this many (sample, class, bit) triples on, faster methods are worth their start-up time."""


class BlockDecoder(Decoder):
    """Decoders whose losses are computed for blocks of samples and classes, up to a constant for each sample."""

    @property
    @abstractmethod
    def n_bits(self) -> int:
        """The number of margins per sample."""

    @abstractmethod
    def _costs(self, margins: Margins, rows: IntArray | None = None) -> Iterator[tuple[Any, int, FloatArray]]:
        """Blocks of the loss, up to a constant per sample: (samples, first class, costs).

        With ``rows``, only of these samples, in increasing order.
        """

    def _constant(self, margins: Margins) -> FloatArray:
        """The constant per sample that :meth:`_costs` leaves out."""
        return np.zeros(len(margins))

    def decode(self, margins: Margins) -> IntArray:
        return self._decode_plainly(as_margins(margins, self.n_bits))

    def _decode_plainly(self, margins: Margins, rows: IntArray | None = None) -> IntArray:
        nearest = np.zeros(len(margins), dtype=np.intp)
        smallest = np.full(len(margins), np.inf)
        for samples, first, costs in self._costs(margins, rows):
            arg = costs.argmin(axis=1)
            cost = costs[np.arange(len(arg)), arg]
            better = cost < smallest[samples]
            smallest[samples] = np.where(better, cost, smallest[samples])
            nearest[samples] = np.where(better, arg + first, nearest[samples])
        return nearest

    def top_k(self, margins: Margins, k: int) -> tuple[IntArray, FloatArray]:
        check_k(k, self.n_classes)
        from codekin.kernels.ranking import keep_smallest

        margins = as_margins(margins, self.n_bits)
        best_costs = np.full((len(margins), k), np.inf)
        best_classes = np.zeros((len(margins), k), dtype=np.int64)
        for samples, first, costs in self._costs(margins):
            keep_smallest(costs, first, best_costs[samples], best_classes[samples])
        return best_classes.astype(np.intp, copy=False), best_costs + self._constant(margins)[:, None]

    def class_losses(self, margins: Margins) -> FloatArray:
        margins = as_margins(margins, self.n_bits)
        losses = np.empty((len(margins), self.n_classes))
        for samples, first, costs in self._costs(margins):
            losses[samples, first : first + costs.shape[1]] = costs
        decoded = losses.argmin(axis=1)
        losses += self._constant(margins)[:, None]
        set_apart(losses, decoded)
        return losses


@dataclass(frozen=True, eq=False)
class MinimumLossDecoder(BlockDecoder):
    """Finds the classes with the smallest decoding loss, for any codebook and any loss.

    Parameters
    ----------
    coding_matrix : array of shape (n_classes, n_bits)
        Row ``k`` is the codeword of class ``k``, entries -1, 0, +1.
    loss : str or callable, default="hinge"
        A name from ``LOSSES`` or a function of ``z = bit * margin``.
    is_weighted : bool, default=False
        For codes with zeros: leave the zeros out and divide by the number of non-zero bits, so that the number of bits
        that ignore a class does not matter (loss-weighted decoding, Escalera et al. 2010). Otherwise each zero costs
        ``L(0)`` (Allwein et al. 2000).

    Examples
    --------
    >>> decoder = MinimumLossDecoder(np.array([[1, 1], [1, -1], [-1, 1]]), loss="hinge")
    >>> decoder.decode(np.array([[0.3, -2.0], [-0.1, 0.4]]))
    array([1, 2])
    >>> classes, losses = decoder.top_k(np.array([[0.3, -2.0]]), k=2)
    >>> classes, losses.round(2)
    (array([[1, 0]]), array([[0.7, 3.7]]))
    """

    coding_matrix: CodingMatrix = field(repr=False)
    loss: Any = "hinge"
    is_weighted: bool = False

    def __post_init__(self) -> None:
        """Look the loss up and bring the matrix into its type."""
        object.__setattr__(self, "loss", get_loss(self.loss))
        object.__setattr__(self, "coding_matrix", np.ascontiguousarray(self.coding_matrix, dtype=np.int8))

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.coding_matrix)

    @property
    def n_bits(self) -> int:
        """The number of margins per sample."""
        return int(self.coding_matrix.shape[1])

    @cached_property
    def _is_ternary(self) -> bool:
        return bool((self.coding_matrix == 0).any())

    @cached_property
    def _cost_of_zeros(self) -> FloatArray:
        """What the zeros of each class add to its loss."""
        zeros = (self.coding_matrix == 0).sum(axis=1)
        return np.asarray(zeros * float(self.loss(np.zeros(1))[0]), dtype=np.float64)

    @cached_property
    def _n_used(self) -> FloatArray:
        """How many bits do not ignore each class."""
        return np.asarray(np.maximum((self.coding_matrix != 0).sum(axis=1), 1), dtype=np.float64)

    @cached_property
    def _factors(self) -> dict[Any, NDArray[Any]]:
        return {}

    def _factor(self, dtype: Any) -> NDArray[Any]:
        """The right factor of the product, (n_bits or 2 n_bits, n_classes)."""
        kind = np.dtype(dtype)  # its name would take longer than the product of a small block
        if kind not in self._factors:
            bits = self.coding_matrix.T
            factor = np.vstack([-bits, np.abs(bits)]) if self._is_ternary else -bits
            self._factors[kind] = factor.astype(kind, order="C")
        return self._factors[kind]

    def _left(self, f: Margins) -> Margins:
        """The left factor of the product for a block of margins."""
        left: Margins = self.loss.agreement(f)
        if self._is_ternary:
            left = np.hstack([left, (self.loss(f) + self.loss(-f)) / 2])
        return left

    def _costs_of_classes(self, left: Margins) -> Iterator[tuple[int, NDArray[Any]]]:
        """The first class and the costs of some classes at a time, in the precision of the left factor."""
        factor = self._factor(left.dtype)
        for first in range(0, self.n_classes, CLASSES_PER_BLOCK):
            classes = slice(first, first + CLASSES_PER_BLOCK)
            costs = left @ factor[:, classes]
            if self.is_weighted:
                costs /= self._n_used[classes].astype(left.dtype)
            elif self._is_ternary:
                costs += self._cost_of_zeros[classes].astype(left.dtype)
            yield first, costs

    def _costs(self, margins: Margins, rows: IntArray | None = None) -> Iterator[tuple[Any, int, FloatArray]]:
        for start in range(0, len(margins), DECODED_PER_BLOCK):
            stop = start + DECODED_PER_BLOCK
            samples: Any = slice(start, stop)
            if rows is not None:
                samples = rows[np.searchsorted(rows, start) : np.searchsorted(rows, stop)]
                if not len(samples):
                    continue
            # The whole block even for some rows: how NumPy evaluates a loss may depend on an array's layout.
            left = summable(self._left(margins[start:stop].astype(np.float64, copy=False)))
            left = left if rows is None else left[samples - start]
            for first, costs in self._costs_of_classes(left):
                yield samples, first, costs

    def _constant(self, margins: Margins) -> FloatArray:
        if self._is_ternary:
            return np.zeros(len(margins))
        constant = ((self.loss(margins) + self.loss(-margins)) / 2).sum(axis=1, dtype=np.float64)
        return np.asarray(constant / self.n_bits if self.is_weighted else constant, dtype=np.float64)

    def decode(self, margins: Margins) -> IntArray:
        margins = as_margins(margins, self.n_bits)
        if margins.size * self.n_classes < COMPILE_FROM:
            return self._decode_plainly(margins)
        if self.loss.name == "hamming" and not self.is_weighted:
            return self._decode_by_counting(margins)
        return self._decode_in_single_precision(margins)

    def _decode_in_single_precision(self, margins: Margins) -> IntArray:
        """Twice as fast as double precision, with the same result.

        Single precision decides only if the best class leads by more than the largest possible rounding error; the
        other samples, few unless there are true ties, are decoded again in double precision.
        """
        factor = self._factor(np.float32)
        most_of_zeros = 0.0 if self.is_weighted else float(self._cost_of_zeros.astype(np.float32).max())
        nearest = np.zeros(len(margins), dtype=np.intp)
        is_certain = np.zeros(len(margins), dtype=bool)
        # A sum of n terms is off by at most n units in the last place of the sum of their absolute values (Higham 2002,
        # section 3.1), besides the errors of the terms themselves; twice that for a difference of two such sums.
        unit = 2 * float(np.finfo(np.float32).eps)
        precision = np.float32 if self.loss.is_stable else np.float64

        def fill(start: int, stop: int) -> None:
            left = self._left(margins[start:stop].astype(precision, copy=False)).astype(np.float32, copy=False)
            size = np.abs(left).sum(axis=1, dtype=np.float64) + most_of_zeros
            error = unit * (len(factor) * size + STABLE_UNITS * (size + len(factor)))
            rows = np.arange(stop - start)
            smallest = np.full(stop - start, np.inf, dtype=np.float32)
            second = smallest.copy()
            for first, costs in self._costs_of_classes(left):
                arg = costs.argmin(axis=1)
                cost = costs[rows, arg]
                costs[rows, arg] = np.inf
                better = cost < smallest
                second = np.minimum(np.minimum(second, costs.min(axis=1)), np.where(better, smallest, cost))
                nearest[start:stop] = np.where(better, arg + first, nearest[start:stop])
                smallest = np.where(better, cost, smallest)
            is_certain[start:stop] = second.astype(np.float64) - smallest > error

        # Each of our threads has its own block; threads started by the product would compete with them.
        with single_blas():
            run_blocks(fill, len(margins), block=DECODED_PER_BLOCK)
        doubtful = np.flatnonzero(~is_certain)
        nearest[doubtful] = self._decode_plainly(margins, doubtful)[doubtful]
        return nearest

    def _decode_by_counting(self, margins: Margins) -> IntArray:
        from codekin.kernels.hamming import nearest_codewords, nearest_ternary_codewords

        nearest = np.empty(len(margins), dtype=np.int64)
        signs, codewords = packed_bits(margins > 0), packed_bits(self.coding_matrix > 0).T.copy()
        if self._is_ternary or not margins.all():
            known, used = packed_bits(margins != 0), packed_bits(self.coding_matrix != 0).T.copy()

            def fill(start: int, stop: int) -> None:
                nearest_ternary_codewords(signs[start:stop], known[start:stop], codewords, used, nearest[start:stop])
        else:

            def fill(start: int, stop: int) -> None:
                nearest_codewords(signs[start:stop], codewords, nearest[start:stop])

        run_blocks(fill, len(margins), block=64)
        return nearest.astype(np.intp, copy=False)

    def slopes(self, class_index: IntArray, moved: FloatArray, offsets: FloatArray) -> Slopes:
        loss, bits = self.loss, self.coding_matrix[class_index].astype(np.float64)

        def even(f: FloatArray) -> FloatArray:
            return np.asarray((loss(f) + loss(-f)) / 2)

        by_bit = bits * secants(loss.agreement, moved, offsets)
        bias = bits @ loss.agreement(offsets)
        shared = np.zeros(len(bits))
        if (self.coding_matrix == 0).any():
            used = np.abs(bits)
            by_bit -= used * secants(even, moved, offsets)
            bias -= used @ even(offsets)
            n_used = np.maximum(used.sum(axis=1), 1)
            if not self.is_weighted:
                bias -= (used == 0).sum(axis=1) * float(loss(np.zeros(1))[0])
        else:
            shared, n_used = -even(offsets + moved).sum(axis=1), np.full(len(bits), float(bits.shape[1]))
        if self.is_weighted:
            return Slopes(by_bit / n_used[:, None], bias / n_used, shared / n_used)
        return Slopes(by_bit, bias, shared)


def summable(values: Margins) -> FloatArray:
    """Round rows to multiples of a power of two, so that their sums are exact in any order.

    Sums of ``n`` of them are exact since they stay below ``2**53`` such multiples. Rows that are not finite stay as
    they are. The error is at most ``n * 2**-52`` times the largest number of the row.
    """
    return rounded_rows(values, 53 - (values.shape[1] - 1).bit_length())


def rounded_rows(values: Margins, n_digits: int) -> FloatArray:
    """Finite rows, rounded to a number of binary digits of their largest number."""
    largest = np.abs(values).max(axis=1, initial=0.0)
    _, exponents = np.frexp(np.where(np.isfinite(largest), largest, 1.0))
    steps = np.ldexp(1.0, np.maximum(exponents - n_digits, LEAST_EXPONENT))[:, None]
    rounded = np.rint(values / steps) * steps
    return np.asarray(np.where(np.isfinite(rounded), rounded, values), dtype=np.float64)


def set_apart(losses: FloatArray, classes: IntArray) -> None:
    """Lower the loss of the decoded class of each row by a unit in the last place if it is not the first smallest.

    Decoding compares losses without the constant of a sample. Adding that may round different losses to the same
    number, and a shortest path is the first of the paths, not of the classes. ``losses`` is changed in place.
    """
    rows = np.flatnonzero(losses.argmin(axis=1) != classes) if losses.size else np.zeros(0, np.intp)
    losses[rows, classes[rows]] = np.nextafter(losses[rows].min(axis=1), -np.inf)


def as_margins(margins: Margins, n_bits: int) -> Margins:
    """The margins as a float array with one column per bit; raises if they are not."""
    array = np.asarray(margins)
    if array.dtype not in (np.float32, np.float64):
        array = array.astype(np.float64)
    if array.ndim != 2 or array.shape[1] != n_bits:
        raise ValueError(f"The margins must have shape (n_samples, {n_bits}), one column per bit. Got {array.shape}.")
    return array
