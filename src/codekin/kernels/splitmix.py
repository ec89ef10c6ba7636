"""Random numbers for kernels: SplitMix64, one 64-bit word of state that the caller seeds and keeps.

Numba's own generator is global to a thread and would tie results to the number of threads. This one is a few
instructions, passes the usual batteries of tests, and gives the same numbers everywhere.

G. Steele, D. Lea and C. Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
"""

import numpy as np

from codekin.kernels.calling import njit

_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_LOW_HALF = np.uint64(0xFFFFFFFF)
_11, _27, _30, _31, _32 = np.uint64(11), np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(32)


@njit(cache=True, nogil=True)
def next_word(state):
    """The next 64 random bits; ``state``, a uint64 array of length 1, moves on."""
    word = state[0] + _STEP
    state[0] = word
    word = (word ^ (word >> _30)) * _MIX_1
    word = (word ^ (word >> _27)) * _MIX_2
    return word ^ (word >> _31)


@njit(cache=True, nogil=True)
def next_uniform(state):
    """A number in [0, 1), on a grid of 2**-53."""
    return np.float64(next_word(state) >> _11) * 2.0**-53


@njit(cache=True, nogil=True)
def next_below(state, n):
    """An integer in ``range(n)``, for n below 2**32; its bias, n / 2**32, is of no account here."""
    return np.int64(((next_word(state) & _LOW_HALF) * np.uint64(n)) >> _32)


@njit(cache=True, nogil=True)
def next_pair(state, n):
    """Two different integers ``first < second`` in ``range(n)``, for 2 <= n < 2**32."""
    word = next_word(state)
    first = np.int64(((word & _LOW_HALF) * np.uint64(n)) >> _32)
    second = np.int64(((word >> _32) * np.uint64(n - 1)) >> _32)
    if second >= first:
        return first, second + 1
    return second, first
