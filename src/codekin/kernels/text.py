"""Texts to sparse rows: words, their n-grams and characters, hashed and counted without making a Python string.

Texts are code points in lower case, one text after the other. A term is what a column stands for: an n-gram of words,
some characters of a word, or its first letters. Its key is a hash of 64 bits; two of a million terms share one with a
chance of 1 in 30 million, and are then counted as one term, both when a vocabulary is learned and when it is used.

``blocks`` has a row for each block of terms: its kind, its shortest and its longest n-grams. Two arrays stand for the
vocabulary: keys in an open-addressing table, where 0 is empty, and the column of each. ``n_columns`` is 0 with a
vocabulary; otherwise the column of a term is the hash of its UTF-8 bytes modulo ``n_columns``, and there is no table.
"""

from math import log, sqrt

import numpy as np

from codekin.kernels.calling import njit
from codekin.kernels.murmur import hashed_column, put

WORDS, CHARACTERS, PREFIXES = 0, 1, 2
IS_KNOWN, IS_WORD, IS_DIGIT, IS_SPACE = 1, 2, 4, 8
"""What is known about a code point: whether anything is, whether words have it, and so on."""

SPACE, NUMBER_SIGN, STAR, PLUS, POINT, OPENING, CLOSING = (ord(character) for character in " #*+.[]")
SHORTEST = 64
"""The first length of arrays that grow."""

MOST_INSERTED = 24
"""Up to this many columns are sorted by insertion."""

_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_START = np.uint64(0x2545F4914F6CDD1D)
_ZERO, _ONE, _29 = np.uint64(0), np.uint64(1), np.uint64(29)


@njit(cache=True, nogil=True)
def mixed(state, value):
    """The next state of a hash."""
    state = (state ^ value) * _FACTOR
    return state ^ (state >> _29)


@njit(cache=True, nogil=True)
def find_words(points, start, stop, flags, version, spans, hashes):
    """Find the words of a text: where they start and stop, and their hashes. Returns how many there are.

    ``version`` 1: runs of at least two letters, digits and underscores. 2: of at least one. 3: they go on over a point
        before a digit, and over plus and number signs at their end, unless a letter follows these.
    """
    n_words = 0
    i = start
    while i < stop:
        if not flags[points[i]] & IS_WORD:
            i += 1
            continue
        first = i
        state = _START
        end = i
        while True:
            while end < stop and flags[points[end]] & IS_WORD:
                end += 1
            if version < 3 or end + 1 >= stop or points[end] != POINT or not flags[points[end + 1]] & IS_DIGIT:
                break
            end += 1
        signs = end
        while version >= 3 and signs < stop and (points[signs] == PLUS or points[signs] == NUMBER_SIGN):
            signs += 1
        if signs == stop or not flags[points[signs]] & IS_WORD:
            end = signs
        while i < end:
            state = mixed(state, np.uint64(points[i]))
            i += 1
        if version > 1 or end - first > 1:
            spans[n_words, 0], spans[n_words, 1] = first, end
            hashes[n_words] = state
            n_words += 1
    return n_words


@njit(cache=True, nogil=True)
def with_room(keys, places, n_terms, n_more):
    """Keys and places, or copies of them with room for more terms."""
    if n_terms + n_more <= len(keys):
        return keys, places
    size = 2 * (n_terms + n_more)
    new_keys, new_places = np.empty(size, np.uint64), np.empty((size, 3), np.int64)
    new_keys[:n_terms], new_places[:n_terms] = keys[:n_terms], places[:n_terms]
    return new_keys, new_places


@njit(cache=True, nogil=True)
def find_terms(points, start, stop, flags, version, blocks, n_columns, spans, hashes, text, keys, places):
    """Find the terms of a text, in any order, as often as they occur.

    ``spans``, ``hashes``, ``text``: workspace for the words of this text, and for the bytes of a term.
    ``keys``: ndarray of uint64. Filled with the keys of the terms, or their columns if they are hashed.
    ``places``: (n, 3). Filled with where each term starts and stops, and its block.
    Returns the two, which may have become longer, and the number of terms.
    """
    n_terms = 0
    n_words = -1
    is_marked = n_columns > 0 and len(blocks) > 1
    for block in range(len(blocks)):
        kind, least, most = blocks[block]
        seed = np.uint64(block + 1)
        if kind != CHARACTERS and n_words < 0:
            n_words = find_words(points, start, stop, flags, version, spans, hashes)
        if kind == WORDS:
            keys, places = with_room(keys, places, n_terms, n_words * (most - least + 1))
            for i in range(n_words):
                key, n_bytes = seed, 0
                for last in range(i, min(i + most, n_words)):
                    key = mixed(key, hashes[last])
                    if n_columns:
                        if last > i:
                            n_bytes = put(text, n_bytes, SPACE)
                        for j in range(spans[last, 0], spans[last, 1]):
                            n_bytes = put(text, n_bytes, int(points[j]))
                    if last - i + 1 >= least:
                        keys[n_terms] = np.uint64(hashed_column(text, n_bytes, n_columns)) if n_columns else key
                        places[n_terms] = spans[i, 0], spans[last, 1], block
                        n_terms += 1
        elif kind == PREFIXES:
            keys, places = with_room(keys, places, n_terms, n_words * (most - least + 1))
            for i in range(n_words):
                first, state, n_bytes = spans[i, 0], _START, 0
                # A word that is not longer is a term itself.
                for j in range(first, min(first + most, spans[i, 1] - 1)):
                    state = mixed(state, np.uint64(points[j]))
                    if n_columns:
                        n_bytes = put(text, n_bytes, int(points[j]))
                    if j - first + 1 >= least:
                        n_whole = put(text, n_bytes, STAR) if is_marked else n_bytes
                        column = hashed_column(text, n_whole, n_columns) if n_columns else 0
                        keys[n_terms] = np.uint64(column) if n_columns else mixed(seed, state)
                        places[n_terms] = first, j + 1, block
                        n_terms += 1
        else:
            end = start
            while end < stop:
                if flags[points[end]] & IS_SPACE:
                    end += 1
                    continue
                begin = end
                while end < stop and not flags[points[end]] & IS_SPACE:
                    end += 1
                # With a space on both sides; if that is shorter than the shortest n-gram, it is one itself.
                length = end - begin + 2
                keys, places = with_room(keys, places, n_terms, length * (most - least + 1))
                for first in range(begin - 1, max(begin, end + 2 - least)):
                    state = _START
                    n_bytes = put(text, 0, OPENING) if is_marked else 0
                    for j in range(first, min(first + most, end + 1)):
                        point = int(points[j]) if begin <= j < end else SPACE
                        state = mixed(state, np.uint64(point))
                        if n_columns:
                            n_bytes = put(text, n_bytes, point)
                        n = j - first + 1
                        if n >= least or n == length:
                            n_whole = put(text, n_bytes, CLOSING) if is_marked else n_bytes
                            column = hashed_column(text, n_whole, n_columns) if n_columns else 0
                            keys[n_terms] = np.uint64(column) if n_columns else mixed(seed, state)
                            places[n_terms] = first, j + 1, block
                            n_terms += 1
    return keys, places, n_terms


@njit(cache=True, nogil=True)
def workspace(ends, n_columns):
    """Arrays that :func:`find_terms` needs for texts that end there."""
    longest, start = 0, 0
    for end in ends:
        longest, start = max(longest, end - start), end
    n_words = longest // 2 + 1
    # An n-gram has at most a space for every word, or two spaces and two marks, more than the text.
    text = np.empty(4 * (longest + n_words + 4) if n_columns else 8, np.uint8)
    keys, places = np.empty(SHORTEST, np.uint64), np.empty((SHORTEST, 3), np.int64)
    return np.empty((n_words, 2), np.int64), np.empty(n_words, np.uint64), text, keys, places


@njit(cache=True, nogil=True)
def column_of(key, table_keys, table_columns):
    """The column of a term in a vocabulary; -1 if it is not in there."""
    mask = np.uint64(len(table_keys) - 1)
    slot = key & mask
    while table_keys[slot] != _ZERO:
        if table_keys[slot] == key:
            return table_columns[slot]
        slot = (slot + _ONE) & mask
    return -1


@njit(cache=True, nogil=True)
def sort_columns(columns, n, largest, spare, counts):
    """Sort the first n columns in place: by insertion if they are few, else byte by byte, the lowest one first.

    ``largest``: no column is larger.
    ``spare``, ``counts``: workspace, as many columns and 256 numbers.
    """
    if n <= MOST_INSERTED:
        for i in range(1, n):
            column, place = columns[i], i
            while place > 0 and columns[place - 1] > column:
                columns[place] = columns[place - 1]
                place -= 1
            columns[place] = column
        return
    for shift in range(0, 32, 8):
        if largest >> shift == 0:
            break
        counts[:] = 0
        for i in range(n):
            counts[(columns[i] >> shift) & 255] += 1
        start = 0
        for byte in range(256):
            start, counts[byte] = start + counts[byte], start
        for i in range(n):
            byte = (columns[i] >> shift) & 255
            spare[counts[byte]] = columns[i]
            counts[byte] += 1
        columns[:n] = spare[:n]


@njit(cache=True, nogil=True)
def text_terms(points, flags, version, blocks, n_columns, table_keys, table_columns):
    """The columns and places of the known terms of one text, in any order, as often as they occur."""
    spans, hashes, text, keys, places = workspace(np.array([len(points)]), n_columns)
    keys, places, n_terms = find_terms(
        points, 0, len(points), flags, version, blocks, n_columns, spans, hashes, text, keys, places
    )
    columns, n_known = np.empty(n_terms, np.int64), 0
    for i in range(n_terms):
        column = np.int64(keys[i]) if n_columns else column_of(keys[i], table_keys, table_columns)
        if column >= 0:
            columns[n_known], places[n_known] = column, places[i]
            n_known += 1
    return columns[:n_known], places[:n_known]


@njit(cache=True, nogil=True)
def text_rows(
    points, ends, flags, version, blocks, n_columns, table_keys, table_columns, weights, damped, is_raw
):  # fmt: skip
    """The features of texts: columns in increasing order, their values, and where the rows end.

    A value is one plus the logarithm of how often a term occurs times the weight of its column; rows are then scaled to
    length one. Sums are in double precision and in the order of the columns, as in scikit-learn.

    ``weights``: ndarray. The weight of each column; empty if all have the same.
    ``damped``: ndarray. One plus the logarithm of each count, as NumPy computes it: that of the C library may differ in
        the last bit. Larger counts are rare.
    ``is_raw``: whether values stay counts.
    """
    spans, hashes, text, keys, places = workspace(ends, n_columns)
    columns, values = np.empty(SHORTEST, np.int32), np.empty(SHORTEST, np.float32)
    found, exact, counts = np.empty(SHORTEST, np.int32), np.empty(SHORTEST), np.empty(256, np.int64)
    spare, largest = np.empty(SHORTEST, np.int32), (n_columns if n_columns else len(table_keys)) - 1
    row_ends = np.empty(len(ends), np.int64)
    n_values, start = 0, 0
    for row in range(len(ends)):
        keys, places, n_terms = find_terms(
            points, start, ends[row], flags, version, blocks, n_columns, spans, hashes, text, keys, places
        )
        start = ends[row]
        if n_terms > len(found):
            found, exact, spare = (
                np.empty(2 * n_terms, np.int32),
                np.empty(2 * n_terms),
                np.empty(2 * n_terms, np.int32),
            )
        if n_values + n_terms > len(columns):
            more = np.empty(len(columns) + n_terms, np.int32)
            columns = np.concatenate((columns, more))
            values = np.concatenate((values, more.view(np.float32)))
        n_found = 0
        for i in range(n_terms):
            column = np.int64(keys[i]) if n_columns else column_of(keys[i], table_keys, table_columns)
            if column >= 0:
                found[n_found] = column
                n_found += 1
        sort_columns(found, n_found, largest, spare, counts)
        n_own, total, i = 0, 0.0, 0
        while i < n_found:
            column, first = found[i], i
            while i < n_found and found[i] == column:
                i += 1
            count = i - first
            value = float(count)
            if not is_raw:
                value = damped[count] if count < len(damped) else log(value) + 1.0
                if len(weights):
                    value *= weights[column]
            columns[n_values + n_own], exact[n_own] = column, value
            total += value * value
            n_own += 1
        length = sqrt(total) if total > 0.0 and not is_raw else 1.0
        for i in range(n_own):
            values[n_values + i] = exact[i] / length
        n_values += n_own
        row_ends[row] = n_values
    return columns[:n_values], values[:n_values], row_ends


@njit(cache=True, nogil=True)
def count_terms(points, ends, first_text, flags, version, blocks, slots, keys, facts, n_known):
    """Count in how many texts each term occurs; with what is known from the texts before.

    ``first_text``: the number of the first of these texts.
    ``slots``: ndarray of int32. An open-addressing table: the number of a term, or -1.
    ``keys``: ndarray of uint64. The key of each term.
    ``facts``: (n, 6). For each term: the number of texts, the last of them, the first of them, where it starts and
        stops there, its block.
    ``n_known``: the number of terms.
    Returns the last four, which may have become longer.
    """
    spans, hashes, text, found, places = workspace(ends, 0)
    start = 0
    for row in range(len(ends)):
        found, places, n_found = find_terms(
            points, start, ends[row], flags, version, blocks, 0, spans, hashes, text, found, places
        )
        for i in range(n_found):
            mask = np.uint64(len(slots) - 1)
            slot = found[i] & mask
            while slots[slot] >= 0 and keys[slots[slot]] != found[i]:
                slot = (slot + _ONE) & mask
            term = slots[slot]
            if term < 0:
                term = n_known
                if n_known == len(keys):
                    keys = np.concatenate((keys, keys))
                    facts = np.concatenate((facts, facts))
                slots[slot], keys[term] = term, found[i]
                facts[term, 0], facts[term, 1], facts[term, 2] = 0, -1, first_text + row
                facts[term, 3], facts[term, 4], facts[term, 5] = (
                    places[i, 0] - start,
                    places[i, 1] - start,
                    places[i, 2],
                )
                n_known += 1
                if 2 * n_known > len(slots):
                    slots = rehashed(keys, n_known)
            if facts[term, 1] != first_text + row:
                facts[term, 0] += 1
                facts[term, 1] = first_text + row
        start = ends[row]
    return slots, keys, facts, n_known


@njit(cache=True, nogil=True)
def rehashed(keys, n_known):
    """A table of the numbers of terms, four times as large as the number of terms."""
    size = SHORTEST
    while size < 4 * n_known:
        size *= 2
    slots, mask = np.full(size, -1, np.int32), np.uint64(size - 1)
    for term in range(n_known):
        slot = keys[term] & mask
        while slots[slot] >= 0:
            slot = (slot + _ONE) & mask
        slots[slot] = term
    return slots


@njit(cache=True, nogil=True)
def vocabulary_table(points, ends, block_ends, blocks):
    """The table of the terms that end there, block by block; of terms with one key the first is found."""
    size = SHORTEST
    while size < 2 * len(ends):
        size *= 2
    table_keys, table_columns = np.zeros(size, np.uint64), np.full(size, -1, np.int32)
    mask = np.uint64(size - 1)
    block, start = 0, 0
    for column in range(len(ends)):
        while column >= block_ends[block]:
            block += 1
        key, state = np.uint64(block + 1), _START
        for i in range(start, ends[column]):
            if blocks[block, 0] == WORDS and points[i] == SPACE:
                key, state = mixed(key, state), _START
            else:
                state = mixed(state, np.uint64(points[i]))
        key, start = mixed(key, state), ends[column]
        slot = key & mask
        while table_keys[slot] != _ZERO and table_keys[slot] != key:
            slot = (slot + _ONE) & mask
        if table_keys[slot] == _ZERO:
            table_keys[slot], table_columns[slot] = key, column
    return table_keys, table_columns
