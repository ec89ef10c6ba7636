"""Bytes to sparse rows: the Vowpal Wabbit line, with the conventions of ``parse``."""

import numpy as np
from numba import njit

from codekin.kernels.parse import (
    BAR,
    BAR_MISSING,
    COLON,
    INDEX_TOO_LARGE,
    INDEX_UNKNOWN,
    LABEL_HAS_COLON,
    LABEL_MISSING,
    MAX_INDEX,
    NAME_EMPTY,
    NAME_NOT_AN_INDEX,
    NEWLINE,
    NINE,
    NO_ERROR,
    QUOTE,
    RETURN,
    SPACE,
    TAB,
    VALUE_NOT_A_NUMBER,
    VALUE_TOO_LARGE,
    WEIGHT_NOT_A_NUMBER,
    ZERO,
    parse_integer_label,
    parse_number,
)


@njit(cache=True, nogil=True)
def hash_name(text, start, stop, seed):
    """MurmurHash3 (x86, 32 bits) of some bytes; digits alone are a number to which the seed is added.

    This is how Vowpal Wabbit hashes features by default.
    """
    number = 0
    is_number = stop > start
    for i in range(start, stop):
        if not ZERO <= text[i] <= NINE:
            is_number = False
            break
        number = (number * 10 + (int(text[i]) - ZERO)) & 0xFFFFFFFF
    if is_number:
        return (number + seed) & 0xFFFFFFFF
    state = seed
    n_bytes = stop - start
    for block in range(n_bytes // 4):
        i = start + 4 * block
        word = int(text[i]) | int(text[i + 1]) << 8 | int(text[i + 2]) << 16 | int(text[i + 3]) << 24
        state ^= _murmur_scramble(word)
        state = (state << 13 | state >> 19) & 0xFFFFFFFF
        state = (state * 5 + 0xE6546B64) & 0xFFFFFFFF
    rest = 0
    for i in range(stop - 1, stop - 1 - n_bytes % 4, -1):
        rest = rest << 8 | int(text[i])
    if n_bytes % 4:
        state ^= _murmur_scramble(rest)
    state ^= n_bytes
    state ^= state >> 16
    state = _times(state, 0x85EBCA6B)
    state ^= state >> 13
    state = _times(state, 0xC2B2AE35)
    return state ^ state >> 16


@njit(cache=True, nogil=True)
def _murmur_scramble(word):
    word = _times(word, 0xCC9E2D51)
    word = (word << 15 | word >> 17) & 0xFFFFFFFF
    return _times(word, 0x1B873593)


@njit(cache=True, nogil=True)
def _times(a, b):
    """The product of two 32-bit numbers modulo 2**32, without leaving the signed 64-bit integers."""
    return (a * (b & 0xFFFF) + ((a * (b >> 16) & 0xFFFF) << 16)) & 0xFFFFFFFF


@njit(cache=True, nogil=True)
def parse_vowpal(  # noqa: PLR0911  # one per kind of error
    text, hash_mask, largest_index, drop_unknown, label_is_optional, namespace, indices, values, row_end, label_span,
    integer_label, weights
):  # fmt: skip
    """Parse lines ``label weight 'tag|namespace:scale name:value name ...``.

    ``text``, ``largest_index``, ``drop_unknown``, ``label_is_optional``, ``indices``, ``values``, ``row_end``,
        ``label_span``, ``integer_label``: as in :func:`parse_svmlight`; features are not sorted, and one may occur
        twice in a row.
    ``hash_mask``: names are hashed to ``hash & hash_mask``; 0 means that names are indices, all in one namespace.
    ``namespace``: the hash of the one namespace when names are indices; -1 when it is not known yet.
    ``weights``: ndarray of float32. Filled with the rows' weights.
    Returns how many rows and features there are, how many labels are no integers, the namespace, the code of the error,
        and the byte where it is.
    """
    i, n_rows, n_values, n_odd_labels = 0, 0, 0, 0
    while i < len(text):
        while text[i] == SPACE or text[i] == TAB or text[i] == RETURN:
            i += 1
        if text[i] == NEWLINE:
            i += 1
            continue
        # Fields before the first bar: label, weight and tag; a tag begins with a quote or touches the bar.
        label_span[n_rows, 0], label_span[n_rows, 1] = i, i
        integer_label[n_rows], weights[n_rows] = 0, 1.0
        is_integer = False
        line_start = i
        while text[i] != BAR and text[i] != NEWLINE:
            i += 1
        if text[i] == NEWLINE:
            return n_rows, n_values, n_odd_labels, namespace, BAR_MISSING, line_start
        i = line_start
        n_fields = 0
        while text[i] != BAR:
            start = i
            while text[i] > SPACE and text[i] != BAR:
                i += 1
            if start == i:
                i += 1
                continue
            if text[i] == BAR or text[start] == QUOTE:
                continue
            if n_fields == 0:
                label_span[n_rows, 0], label_span[n_rows, 1] = start, i
                for j in range(start, i):
                    if text[j] == COLON:
                        return n_rows, n_values, n_odd_labels, namespace, LABEL_HAS_COLON, start
                is_integer, integer_label[n_rows] = parse_integer_label(text, start, i)
            else:
                after, weight, _ = parse_number(text, start)
                if after != i or n_fields > 1 or weight < 0 or np.isinf(np.float32(weight)):
                    return n_rows, n_values, n_odd_labels, namespace, WEIGHT_NOT_A_NUMBER, start
                weights[n_rows] = weight
            n_fields += 1
        if n_fields == 0 and not label_is_optional:
            return n_rows, n_values, n_odd_labels, namespace, LABEL_MISSING, line_start
        n_odd_labels += not is_integer
        scale, seed = 1.0, 0
        while text[i] != NEWLINE:
            if text[i] == SPACE or text[i] == TAB or text[i] == RETURN:
                i += 1
                continue
            is_namespace = text[i] == BAR
            if is_namespace:
                i += 1
            start = i
            while text[i] > SPACE and text[i] != COLON and text[i] != BAR:
                i += 1
            stop = i
            value = 1.0
            if text[i] == COLON:
                i, value, _ = parse_number(text, i + 1)
                if i == stop + 1 or (text[i] > SPACE and text[i] != BAR):
                    return n_rows, n_values, n_odd_labels, namespace, VALUE_NOT_A_NUMBER, start
                if np.isinf(np.float32(value)):
                    return n_rows, n_values, n_odd_labels, namespace, VALUE_TOO_LARGE, start
            if is_namespace:
                scale = value
                seed = hash_name(text, start, stop, 0) if stop > start else 0
                if hash_mask == 0 and namespace == -1:
                    namespace = seed
                if hash_mask == 0 and namespace != seed:
                    return n_rows, n_values, n_odd_labels, namespace, NAME_NOT_AN_INDEX, start - 1
                continue
            if stop == start:
                return n_rows, n_values, n_odd_labels, namespace, NAME_EMPTY, start
            if hash_mask:
                index = hash_name(text, start, stop, seed) & hash_mask
            else:
                index = 0
                for j in range(start, stop):
                    if not ZERO <= text[j] <= NINE:
                        return n_rows, n_values, n_odd_labels, namespace, NAME_NOT_AN_INDEX, start
                    if index <= MAX_INDEX:
                        index = index * 10 + (int(text[j]) - ZERO)
                if index > MAX_INDEX:
                    return n_rows, n_values, n_odd_labels, namespace, INDEX_TOO_LARGE, start
            if index > largest_index:
                if not drop_unknown:
                    return n_rows, n_values, n_odd_labels, namespace, INDEX_UNKNOWN, start
                continue
            indices[n_values], values[n_values] = index, value * scale
            n_values += 1
        row_end[n_rows] = n_values
        n_rows += 1
        i += 1
    return n_rows, n_values, n_odd_labels, namespace, NO_ERROR, 0
