"""Nearest codeword in Hamming distance, on codewords packed into 64-bit words."""

from typing import Any

import numpy as np
from numba import njit, types
from numba.extending import intrinsic

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

    ``signs``: uint64 (n_samples, n_words). Packed signs of the margins.
    ``codewords``: uint64 (n_words, n_codewords). Packed codewords; words first, so that the inner loop runs over
        neighbours in memory.
    ``nearest``: int64 (n_samples,), changed in place
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
