"""Every assignment of a small codebook: how many test samples it gets right, and what its bits cost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import factorial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from codekin._system.parallel import run_blocks
from codekin.assignments.exact import nth_assignment
from codekin.code import Codebook, CodingMatrix, FloatArray, IntArray
from codekin.decoding.losses import get_loss

ASSIGNMENTS_PER_BLOCK = 40_320
"""The number of assignments of ten codewords that share the first two."""

MAX_BITS = 15
"""Studies round margins so that codebooks of up to this many bits are exact."""

MAX_STREAMED = 12
"""Assignments of so many classes can be counted, if not kept."""

MAX_GRID_EXPONENT = 24
_MAX_INT16 = 2**15 - 1


def lexicographic_rank(codeword_of_class: ArrayLike) -> int:
    """The position of an assignment in the order of :func:`itertools.permutations`.

    >>> lexicographic_rank([1, 2, 0])
    3
    """
    order = [int(codeword) for codeword in np.asarray(codeword_of_class)]
    if sorted(order) != list(range(len(order))):
        raise ValueError(f"An assignment names each codeword from 0 to {len(order) - 1} once. Got {order}.")
    rank = 0
    for k, codeword in enumerate(order):
        rank += sum(later < codeword for later in order[k + 1 :]) * factorial(len(order) - k - 1)
    return rank


def coding_matrix_of(codebook: Codebook, rank: int) -> CodingMatrix:
    """The coding matrix of an assignment, by its position in lexicographic order."""
    return codebook.matrix[nth_assignment(rank, codebook.n_codewords, codebook.n_codewords)]


def spread_of(accuracies: NDArray[Any]) -> dict[str, float]:
    """The ends, the mean and the standard deviation of accuracies."""
    return {name: float(getattr(accuracies, name)()) for name in ("min", "mean", "max", "std")}


def count_correct(
    codebook: Codebook, margins: FloatArray, y: IntArray, *, ranks: IntArray | None = None, n_threads: int | None = None
) -> NDArray[np.int32]:
    """How many samples assignments get right, by minimum hinge loss; the lowest class wins among equals.

    The codebook has as many codewords as classes, at most 12, with entries -1 and +1. Row ``s`` of the margins
    (2**(n_classes - 1), n_samples) belongs to split ``s``; row 0 is not used. They are rounded by
    :func:`rounded_margins`. ``ranks`` says which assignments, by their places in lexicographic order; by default all.
    The result does not depend on ``n_threads``.
    """
    from codekin.kernels.sweep import count_exactly, fill_assignments, group_by_codeword, plans_of_sums, sweep_kernel

    check_sweepable(codebook, MAX_STREAMED)
    codewords = np.ascontiguousarray(codebook.matrix)
    n, n_bits = codewords.shape
    if ranks is None:
        ranks = np.arange(factorial(n), dtype=np.int64)
    blocks = sample_blocks(codebook, margins, y)
    count = sweep_kernel(codewords, blocks.is_rounded)
    plans, sums = plans_of_sums(codewords)
    n_correct = np.full(len(ranks), blocks.n_always_right, dtype=np.int32)

    def fill(start: int, stop: int) -> None:
        codeword_of_class, class_of_codeword = np.empty((2, stop - start, n), dtype=np.int8)
        splits = np.empty((stop - start, n_bits), dtype=np.uint16)
        fill_assignments(ranks[start:stop], codewords, codeword_of_class, class_of_codeword, splits)
        places = np.empty((n, stop - start), dtype=np.uint32)
        first = np.empty((n, n + 1), dtype=np.int64)
        group_by_codeword(codeword_of_class, places, first)
        is_open = np.empty(stop - start, dtype=np.bool_)
        counts = n_correct[start:stop]
        for k, small, exact in zip(blocks.class_of_block, blocks.small, blocks.exact, strict=True):
            count(small, k, places[k], first[k], class_of_codeword, splits, blocks.slack, counts, is_open)
            if blocks.is_rounded:
                count_exactly(exact, k, plans, sums, codeword_of_class, class_of_codeword, splits, is_open, counts)

    run_blocks(fill, len(ranks), block=ASSIGNMENTS_PER_BLOCK, n_threads=n_threads)
    return n_correct


def average_losses(codebook: Codebook, split_losses: FloatArray) -> FloatArray:
    """The average binary losses of all assignments (Eq. 3 of the paper), from those of the splits.

    ``split_losses`` is the mean training loss of each split; entry 0 is not used. Losses are in lexicographic order.
    """
    check_sweepable(codebook)
    losses = np.empty(factorial(codebook.n_codewords))
    for start, splits in _splits_of_assignments(codebook):
        losses[start : start + len(splits)] = split_losses[splits].mean(axis=1)
    return losses


def distinct_assignments(codebook: Codebook) -> tuple[IntArray, IntArray]:
    """Assignments that give different classifiers, and for every assignment which of them it equals.

    Permuting bits, or flipping one, changes no classifier. Codebooks with structure, such as Hadamard's, have
    permutations of their codewords that do nothing else, and as many times fewer assignments to look at.

    Returns ``ranks``, the first of each kind in lexicographic order, and ``kind_of_rank``: ``ranks[kind_of_rank[r]]``
    gives the same classifier as assignment ``r``.

    >>> codebook = Codebook([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]])  # Hadamard
    >>> ranks, kinds = distinct_assignments(codebook)
    >>> len(kinds), ranks
    (24, array([0]))
    """
    check_sweepable(codebook)
    n = codebook.n_codewords
    symmetries = _symmetries(codebook)
    everyone = np.arange(factorial(n), dtype=np.int64)
    if len(symmetries) == 1:
        return everyone, everyone
    kind_of_rank = np.full(factorial(n), -1, dtype=np.int64)
    ranks: list[int] = []
    places = np.array([factorial(n - k - 1) for k in range(n)])
    for rank in range(len(everyone)):
        if kind_of_rank[rank] < 0:
            # The same classifier has each codeword replaced by its image under a symmetry.
            images = symmetries[:, nth_assignment(rank, n, n)]
            n_smaller_later = np.triu(images[:, None, :] < images[:, :, None], k=1).sum(axis=2)
            kind_of_rank[n_smaller_later @ places] = len(ranks)
            ranks.append(rank)
    return np.array(ranks), kind_of_rank


def check_sweepable(codebook: Codebook, most: int = 10) -> None:
    """Raise unless all assignments of the codebook can be examined."""
    if codebook.n_codewords > most or not (np.abs(codebook.matrix) == 1).all():
        raise ValueError(
            f"All assignments are examined for at most {most} codewords of signs without zeros. Got {codebook!r}."
        )


def _symmetries(codebook: Codebook) -> IntArray:
    """The permutations of the codewords that only permute and flip bits, (n_symmetries, n_codewords)."""
    # Sums of squares rule out most assignments; the rest are compared in full.
    square = np.arange(2 ** (codebook.n_codewords - 1), dtype=np.int64) ** 2
    found: list[int] = []
    own = np.empty(0, dtype=np.uint16)
    for start, splits in _splits_of_assignments(codebook):
        if start == 0:
            own = np.sort(splits[0])
        candidates = np.flatnonzero(square[splits].sum(axis=1) == square[own].sum())
        is_same = (np.sort(splits[candidates], axis=1) == own).all(axis=1)
        found += (start + candidates[is_same]).tolist()
    n = codebook.n_codewords
    return np.array([nth_assignment(rank, n, n) for rank in found])


def _splits_of_assignments(codebook: Codebook) -> Iterator[tuple[int, NDArray[np.uint16]]]:
    """The splits of all assignments, (n_assignments, n_bits), in blocks, with the position of the first."""
    n = codebook.n_codewords
    for start in range(0, factorial(n), ASSIGNMENTS_PER_BLOCK):
        yield start, splits_of_ranks(codebook, np.arange(start, min(start + ASSIGNMENTS_PER_BLOCK, factorial(n))))


def splits_of_ranks(codebook: Codebook, ranks: IntArray) -> NDArray[np.uint16]:
    """The splits of some assignments, (n_assignments, n_bits), by their places in lexicographic order."""
    from codekin.kernels.sweep import fill_assignments

    codewords = np.ascontiguousarray(codebook.matrix)
    unused = np.empty((2, len(ranks), len(codewords)), dtype=np.int8)
    splits = np.empty((len(ranks), codewords.shape[1]), dtype=np.uint16)
    fill_assignments(np.ascontiguousarray(ranks, dtype=np.int64), codewords, unused[0], unused[1], splits)
    return splits


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
