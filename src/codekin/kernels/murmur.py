"""MurmurHash3 of 32 bits (A. Appleby, in the public domain), as Vowpal Wabbit and scikit-learn use it."""

from codekin.kernels.calling import njit

_LOW = 0xFFFFFFFF


@njit(cache=True, nogil=True)
def murmur(text, start, stop, seed):
    """The hash of the bytes of a text from ``start`` to ``stop``."""
    state = seed
    for first in range(start, stop, 4):
        word = 0
        for i in range(min(first + 4, stop) - 1, first - 1, -1):
            word = (word << 8) | int(text[i])
        word = (word * 0xCC9E2D51) & _LOW
        word = ((word << 15) | (word >> 17)) & _LOW
        state ^= (word * 0x1B873593) & _LOW
        if first + 4 <= stop:
            state = ((state << 13) | (state >> 19)) & _LOW
            state = (state * 5 + 0xE6546B64) & _LOW
    state ^= stop - start
    state = ((state ^ (state >> 16)) * 0x85EBCA6B) & _LOW
    state = ((state ^ (state >> 13)) * 0xC2B2AE35) & _LOW
    return state ^ (state >> 16)


@njit(cache=True, nogil=True)
def hashed_column(text, n_bytes, n_columns):
    """The column that scikit-learn's FeatureHasher gives to a term of these bytes."""
    number = murmur(text, 0, n_bytes, 0)
    number -= (number >> 31) << 32
    if number == -(2**31):
        return (2**31 - 1 - (n_columns - 1)) % n_columns
    return abs(number) % n_columns


@njit(cache=True, nogil=True)
def put(text, n_bytes, point):
    """Write the UTF-8 bytes of a code point after those that there are. Returns how many there are now."""
    if point < 0x80:
        text[n_bytes] = point
        return n_bytes + 1
    if point < 0x800:
        text[n_bytes] = 0xC0 | (point >> 6)
    else:
        if point < 0x10000:
            text[n_bytes] = 0xE0 | (point >> 12)
        else:
            text[n_bytes] = 0xF0 | (point >> 18)
            n_bytes += 1
            text[n_bytes] = 0x80 | ((point >> 12) & 0x3F)
        n_bytes += 1
        text[n_bytes] = 0x80 | ((point >> 6) & 0x3F)
    text[n_bytes + 1] = 0x80 | (point & 0x3F)
    return n_bytes + 2
