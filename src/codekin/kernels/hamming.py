"""Hamming distances of codewords packed into 64-bit words: the nearest codeword, and minimum distances of codebooks."""

from typing import Any

import numpy as np
from numba import types
from numba.extending import intrinsic

from codekin.kernels.calling import njit

BLOCK = 512
"""Distances of this many codewords stay in the first-level cache."""


@intrinsic
def popcount(typing_context: Any, word: Any) -> Any:  # noqa: ARG001
    """The number of bits set in a 64-bit word, as the processor's own instruction."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:  # noqa: ARG001
        return builder.ctpop(args[0])

    return types.uint64(types.uint64), codegen


@njit(cache=True, nogil=True)
def nearest_codewords(signs, codewords, nearest):
    """Fill ``nearest`` with the lowest index of a codeword closest to each row of signs.

    Both are packed; ``codewords`` words first, (n_words, n_codewords): the inner loop runs over neighbours in memory.
    """
    n_words, n_codewords = codewords.shape
    for i in range(len(signs)):
        # The distance above, the index below: one minimum finds the closest codeword and breaks ties.
        best = np.uint64(0xFFFFFFFFFFFFFFFF)
        if n_words == 1:
            first = signs[i, 0]
            for k in range(n_codewords):
                distance = popcount(first ^ codewords[0, k])
                best = min(best, (distance << np.uint64(32)) | np.uint64(k))
        elif n_words == 2:
            first, second = signs[i, 0], signs[i, 1]
            for k in range(n_codewords):
                distance = popcount(first ^ codewords[0, k]) + popcount(second ^ codewords[1, k])
                best = min(best, (distance << np.uint64(32)) | np.uint64(k))
        else:
            for start in range(0, n_codewords, BLOCK):
                stop = min(start + BLOCK, n_codewords)
                distances = np.zeros(stop - start, dtype=np.uint64)
                for w in range(n_words):
                    word = signs[i, w]
                    for k in range(stop - start):
                        distances[k] += popcount(word ^ codewords[w, start + k])
                for k in range(stop - start):
                    best = min(best, (distances[k] << np.uint64(32)) | np.uint64(start + k))
        nearest[i] = np.int64(best & np.uint64(0xFFFFFFFF))


@njit(cache=True, nogil=True)
def nearest_ternary_codewords(signs, known, codewords, used, nearest):
    """As :func:`nearest_codewords`, where a zero margin or a zero in a codeword costs one half.

    ``known`` marks the non-zero margins and ``used`` the non-zero entries of the codewords, packed like the signs.
    """
    n_words, n_codewords = codewords.shape
    n_bits = np.uint64(64 * n_words)
    for i in range(len(signs)):
        best = np.uint64(0xFFFFFFFFFFFFFFFF)
        for k in range(n_codewords):
            # Twice the loss: two for every wrong bit, one for every bit that is zero on either side.
            cost = n_bits
            for w in range(n_words):
                counted = known[i, w] & used[w, k]
                cost += np.uint64(2) * popcount((signs[i, w] ^ codewords[w, k]) & counted)
                cost -= popcount(counted)
            best = min(best, (cost << np.uint64(32)) | np.uint64(k))
        nearest[i] = np.int64(best & np.uint64(0xFFFFFFFF))


@njit(cache=True, nogil=True)
def min_distances(signs, used, is_ternary, zero_pair, floor, n_bits, doubled):
    """Write twice the minimum row distance of each codebook into ``doubled``, or -1 if it is below ``floor``.

    ``signs`` and ``used``, (n_codebooks, n_words, n_codewords) uint64, hold a bit for each entry: whether it is +1,
    and whether it is not 0; the bits beyond ``n_bits`` are 0 in both. ``used`` is not read unless ``is_ternary``.
    Distances and ``floor`` are doubled to stay integers: a pair of opposite entries adds 2, one with one zero adds 1
    and one of two zeros ``zero_pair`` (0 or 1).
    """
    n_codebooks, n_words, n_codewords = signs.shape
    distances = np.empty(n_codewords, dtype=np.int64)
    for book in range(n_codebooks):
        smallest = 2 * n_bits
        for row in range(n_codewords - 1):
            # The loops over all later rows are innermost and have no early exit, so that they are vectorised.
            to_later = distances[row + 1 :]
            to_later[:] = zero_pair * n_bits if is_ternary else 0
            for word in range(n_words):
                if is_ternary:
                    _add_ternary(signs[book, word, row:], used[book, word, row:], zero_pair, to_later)
                else:
                    _add_binary(signs[book, word, row:], to_later)
            for distance in to_later:
                smallest = min(smallest, distance)
            if smallest < floor:
                smallest = -1
                break
        doubled[book] = smallest


@njit(cache=True, nogil=True)
def pack_rows(stream, n_bits, packed):
    """Cut a stream of bits into rows of ``n_bits`` and write them into ``packed``, (n_codebooks, n_words, n_codewords).

    ``stream`` holds bytes, the highest bit first, and nine bytes more than the rows need. The first bit of a row is
    highest in its first word; bits beyond the row are 0.
    """
    n_codebooks, n_words, n_codewords = packed.shape
    first = 0
    for book in range(n_codebooks):
        for row in range(n_codewords):
            for word in range(n_words):
                at = (first + 64 * word) >> 3
                skipped = np.uint64((first + 64 * word) & 7)
                bits = np.uint64(0)
                for byte in range(8):
                    bits = (bits << np.uint64(8)) | np.uint64(stream[at + byte])
                # A shift of a byte by 8 - 0 clears it, as it should.
                bits = (bits << skipped) | (np.uint64(stream[at + 8]) >> (np.uint64(8) - skipped))
                n_missing = 64 * (word + 1) - n_bits
                if n_missing > 0:
                    bits = (bits >> np.uint64(n_missing)) << np.uint64(n_missing)
                packed[book, word, row] = bits
            first += n_bits


@njit(cache=True, nogil=True)
def _add_binary(signs, to_later):
    """Add the contribution of one word to the distances between the first row and the later ones."""
    first = signs[0]
    later = signs[1:]
    for row in range(len(later)):
        to_later[row] += 2 * np.int64(popcount(first ^ later[row]))


@njit(cache=True, nogil=True)
def _add_ternary(signs, used, zero_pair, to_later):
    """The same if entries may be zero: an entry used once adds 1, one used twice with both signs adds 2."""
    first, first_used = signs[0], used[0]
    later, later_used = signs[1:], used[1:]
    for row in range(len(later)):
        opposite = first_used & later_used[row] & (first ^ later[row])
        to_later[row] += np.int64(popcount(first_used ^ later_used[row]) + np.uint64(2) * popcount(opposite))
        to_later[row] -= zero_pair * np.int64(popcount(first_used | later_used[row]))
