"""What annealing on swaps shares: products and sums of single-precision vectors."""

import numpy as np
from numba import njit


# Reordering the terms (SIMD) changes nothing if they are integers below 2**24, whose sum is exact in any order, and
# otherwise only the last digits: the reported alignment is computed separately.
@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def dot(x, y):
    """Multiply two float32 vectors."""
    total = np.float32(0.0)
    for k in range(x.shape[0]):
        total += x[k] * y[k]
    return total


@njit(cache=True, nogil=True)
def add(sums, addend, factor):
    """Add a multiple of a vector to ``sums``, in place."""
    for k in range(sums.shape[0]):
        sums[k] += factor * addend[k]
