"""Every assignment of a small codebook: how many test samples it gets right, and what its bits cost."""

from __future__ import annotations

from collections.abc import Iterator
from math import factorial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from codekin._system.threads import run_blocks
from codekin.assignments.exhaustive import nth_assignment
from codekin.coding import Codebook, FloatArray, IntArray
from codekin_studies.splits.sample_blocks import sample_blocks

ASSIGNMENTS_PER_BLOCK = 40_320
"""The number of assignments of ten codewords that share the first two."""


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


def count_correct(
    codebook: Codebook,
    margins: FloatArray,
    y: IntArray,
    *,
    ranks: IntArray | None = None,
    n_threads: int | None = None,
) -> NDArray[np.int32]:
    """How many samples assignments get right, by minimum hinge loss; the lowest class wins among equals.

    The codebook has as many codewords as classes, at most 10, with entries -1 and +1. Row ``s`` of the margins
    (2**(n_classes - 1), n_samples) belongs to split ``s``; row 0 is not used. They are rounded by
    :func:`rounded_margins`. ``ranks`` says which assignments, by their places in lexicographic order; by default all.
    The result does not depend on ``n_threads``.
    """
    from codekin.kernels.sweep import count_exactly, fill_assignments, group_by_codeword, plans_of_sums, sweep_kernel

    check_sweepable(codebook)
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


def check_sweepable(codebook: Codebook) -> None:
    """Raise unless all assignments of the codebook can be examined."""
    if codebook.n_codewords > 10 or codebook.is_ternary or codebook.is_real:
        raise ValueError(
            f"All assignments are examined for at most 10 codewords of signs without zeros. Got {codebook!r}."
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
    from codekin.kernels.sweep import fill_assignments

    codewords = np.ascontiguousarray(codebook.matrix)
    n, n_bits = codewords.shape
    for start in range(0, factorial(n), ASSIGNMENTS_PER_BLOCK):
        ranks = np.arange(start, min(start + ASSIGNMENTS_PER_BLOCK, factorial(n)), dtype=np.int64)
        unused = np.empty((2, len(ranks), n), dtype=np.int8)
        splits = np.empty((len(ranks), n_bits), dtype=np.uint16)
        fill_assignments(ranks, codewords, unused[0], unused[1], splits)
        yield start, splits
