"""Bytes to sparse rows: lines of svmlight and of Vowpal Wabbit, parsed without making a Python object per field.

The kernel gets whole lines (the last byte is a newline, so a scan for the end of a field needs no bounds check) and
writes into arrays that are large enough: one row per newline, one value per feature. It stops at the first error and
returns its code and position; the caller makes the message.
"""

import numpy as np

from codekin.kernels.calling import njit
from codekin.kernels.murmur import murmur

NO_ERROR = 0
LABEL_MISSING = 1
LABEL_HAS_COLON = 2
INDEX_NOT_AN_INTEGER = 3
INDEX_TOO_LARGE = 4
INDEX_UNKNOWN = 5
INDEX_NOT_INCREASING = 6
COLON_MISSING = 7
VALUE_NOT_A_NUMBER = 8
VALUE_TOO_LARGE = 9
QUERY_ID = 10
BAR_MISSING = 11
WEIGHT_NOT_A_NUMBER = 12
NAME_NOT_AN_INDEX = 13
NAME_EMPTY = 14
INDEX_TOO_SMALL = 15

MAX_INDEX = 2**31 - 1

TAB, NEWLINE, RETURN, SPACE, HASH, QUOTE, PLUS, COMMA, MINUS, POINT, ZERO, NINE, COLON, UPPER_E, LOWER_E, BAR = (
    ord(character) for character in "\t\n\r #'+,-.09:Ee|"
)

# 10**22 is the largest power of ten that a double holds exactly.
_POWERS_OF_TEN = np.array([float(10**power) for power in range(23)])
_MANTISSA_LIMIT = 10**17
_EXPONENT_LIMIT = 10**6
_EXACT_LIMIT = 2**53
# At most five roundings of half a unit in the last place each, and only the first 18 digits are used.
_DOUBT = 2.0**-49


@njit(cache=True, nogil=True)
def parse_number(text, start):
    """A decimal number that begins at ``start``.

    Returns the position after the number (``start`` itself where there is none), its value, and whether the value may
        round to the wrong float32, so that the caller should fall back to the exact parser.
    """
    i = start
    sign = 1.0
    if text[i] == MINUS or text[i] == PLUS:
        if text[i] == MINUS:
            sign = -1.0
        i += 1
    mantissa, exponent, n_digits = 0, 0, 0
    while ZERO <= text[i] <= NINE:
        if mantissa < _MANTISSA_LIMIT:
            mantissa = mantissa * 10 + (int(text[i]) - ZERO)
        else:
            exponent += 1
        n_digits += 1
        i += 1
    if text[i] == POINT:
        i += 1
        while ZERO <= text[i] <= NINE:
            if mantissa < _MANTISSA_LIMIT:
                mantissa = mantissa * 10 + (int(text[i]) - ZERO)
                exponent -= 1
            n_digits += 1
            i += 1
    if n_digits == 0:
        return start, 0.0, False
    if text[i] == LOWER_E or text[i] == UPPER_E:
        i += 1
        power_is_negative = text[i] == MINUS
        if text[i] == MINUS or text[i] == PLUS:
            i += 1
        power = 0
        first_digit = i
        while ZERO <= text[i] <= NINE:
            if power < _EXPONENT_LIMIT:
                power = power * 10 + (int(text[i]) - ZERO)
            i += 1
        if i == first_digit:
            return start, 0.0, False
        exponent += -power if power_is_negative else power
    if mantissa == 0:
        return i, sign * 0.0, False
    if exponent > 60:
        return i, sign * np.inf, False
    if exponent < -90:
        return i, sign * 0.0, False
    value = float(mantissa)
    is_exact = mantissa <= _EXACT_LIMIT and -22 <= exponent <= 22
    while exponent > 22:
        value *= 1e22
        exponent -= 22
    while exponent < -22:
        value /= 1e22
        exponent += 22
    if exponent >= 0:
        value *= _POWERS_OF_TEN[exponent]
    else:
        value /= _POWERS_OF_TEN[-exponent]
    is_doubtful = not is_exact and np.float32(value * (1.0 - _DOUBT)) != np.float32(value * (1.0 + _DOUBT))
    return i, sign * value, is_doubtful


@njit(cache=True, nogil=True)
def parse_integer_label(text, start, stop):
    """Whether a label is the canonical spelling of an integer of up to 18 digits, and which.

    ``-1`` is; ``+1``, ``3.0``, ``-0`` and ``007`` are not: what is read as a number is written in the same way again.
    """
    i = start
    is_negative = text[i] == MINUS
    if is_negative:
        i += 1
    n_digits = stop - i
    if n_digits < 1 or n_digits > 18 or (text[i] == ZERO and (is_negative or n_digits > 1)):
        return False, 0
    value = 0
    while i < stop and ZERO <= text[i] <= NINE:
        value = value * 10 + (int(text[i]) - ZERO)
        i += 1
    return i == stop, -value if is_negative else value


@njit(cache=True, nogil=True)
def parse_svmlight(  # noqa: PLR0911  # one per kind of error
    text, smallest_index, largest_index, drop_unknown, must_increase, label_is_optional, blank_is_row, indices, values,
    row_end, label_span, integer_label, doubtful
):  # fmt: skip
    """Parse lines ``label index:value index:value ... # comment``.

    Indices below ``smallest_index`` are an error, those above ``largest_index`` too, or are dropped if
    ``drop_unknown``. With ``blank_is_row`` a blank line is a row without label and features; otherwise it is passed
    over. Filled: ``indices`` and ``values`` of all rows, int32 and float32; ``row_end``, the number of features up to
    and including each row's; ``label_span``, the first byte of each row's label and the byte after it, equal where
    there is none; ``integer_label``; ``doubtful``, the number and the position of the values that need a slower parser.
    Returns how many rows, features, doubtful values and labels that are no integers there are; the code of the error,
    and the byte where it is.
    """
    i, n_rows, n_values, n_doubtful, n_odd_labels = 0, 0, 0, 0, 0
    while i < len(text):
        line_start = i
        while text[i] == SPACE or text[i] == TAB or text[i] == RETURN:
            i += 1
        if text[i] == HASH:
            while text[i] != NEWLINE:
                i += 1
            i += 1
            continue
        if text[i] == NEWLINE and not blank_is_row:
            i += 1
            continue
        # The label: the first field, and the ones after it as long as they are joined by commas ("545, 32 8:1").
        start, stop, has_colon = i, i, False
        if not (blank_is_row and i > line_start):
            while True:
                while text[i] > SPACE:
                    has_colon |= text[i] == COLON
                    i += 1
                stop = i
                if stop == start or text[stop - 1] != COMMA:
                    break
                while text[i] == SPACE or text[i] == TAB or text[i] == RETURN:
                    i += 1
                if text[i] <= SPACE:
                    break
        if has_colon:
            i = start
            stop = start
            is_feature = ZERO <= text[start] <= NINE
            if not label_is_optional:
                return n_rows, n_values, n_doubtful, n_odd_labels, LABEL_MISSING if is_feature else LABEL_HAS_COLON, i
        label_span[n_rows, 0], label_span[n_rows, 1] = start, stop
        is_integer = False
        if stop > start:
            is_integer, integer_label[n_rows] = parse_integer_label(text, start, stop)
        n_odd_labels += not is_integer
        previous = -1
        while True:
            while text[i] == SPACE or text[i] == TAB or text[i] == RETURN:
                i += 1
            if text[i] == HASH:
                while text[i] != NEWLINE:
                    i += 1
            if text[i] == NEWLINE:
                break
            start = i
            index = 0
            while ZERO <= text[i] <= NINE:
                if index <= MAX_INDEX:
                    index = index * 10 + (int(text[i]) - ZERO)
                i += 1
            if i == start or text[i] != COLON:
                code = INDEX_NOT_AN_INTEGER
                if i > start and text[i] <= SPACE:
                    code = COLON_MISSING
                if text[i] == ord("q") and text[i + 1] == ord("i") and text[i + 2] == ord("d") and text[i + 3] == COLON:
                    code = QUERY_ID
                return n_rows, n_values, n_doubtful, n_odd_labels, code, start
            if index < smallest_index:
                return n_rows, n_values, n_doubtful, n_odd_labels, INDEX_TOO_SMALL, start
            if must_increase and index <= previous:
                return n_rows, n_values, n_doubtful, n_odd_labels, INDEX_NOT_INCREASING, start
            if index > MAX_INDEX:
                return n_rows, n_values, n_doubtful, n_odd_labels, INDEX_TOO_LARGE, start
            is_unknown = index > largest_index
            if is_unknown and not drop_unknown:
                return n_rows, n_values, n_doubtful, n_odd_labels, INDEX_UNKNOWN, start
            previous = index
            i += 1
            value_start = i
            i, value, is_doubtful = parse_number(text, value_start)
            if i == value_start or (text[i] > SPACE and text[i] != HASH):
                return n_rows, n_values, n_doubtful, n_odd_labels, VALUE_NOT_A_NUMBER, start
            if np.isinf(np.float32(value)):
                return n_rows, n_values, n_doubtful, n_odd_labels, VALUE_TOO_LARGE, start
            if is_unknown:
                continue
            if is_doubtful:
                doubtful[n_doubtful, 0], doubtful[n_doubtful, 1] = n_values, value_start
                n_doubtful += 1
            indices[n_values], values[n_values] = index, value
            n_values += 1
        row_end[n_rows] = n_values
        n_rows += 1
        i += 1
    return n_rows, n_values, n_doubtful, n_odd_labels, NO_ERROR, 0


@njit(cache=True, nogil=True)
def hash_name(text, start, stop, seed):
    """Vowpal Wabbit's hash: MurmurHash3 (x86, 32 bits); digits alone are a number to which the seed is added."""
    number = 0
    is_number = stop > start
    for i in range(start, stop):
        if not ZERO <= text[i] <= NINE:
            is_number = False
            break
        number = (number * 10 + (int(text[i]) - ZERO)) & 0xFFFFFFFF
    if is_number:
        return (number + seed) & 0xFFFFFFFF
    return murmur(text, start, stop, seed)


@njit(cache=True, nogil=True)
def parse_vowpal(  # noqa: PLR0911  # one per kind of error
    text, hash_mask, largest_index, drop_unknown, label_is_optional, namespace, indices, values, row_end, label_span,
    integer_label, weights
):  # fmt: skip
    """Parse lines ``label weight 'tag|namespace:scale name:value name ...``; otherwise as :func:`parse_svmlight`.

    Features are not sorted, and one may occur twice in a row. Names are hashed to ``hash & hash_mask``; 0 means that
    names are indices, all in one namespace, whose hash is ``namespace``, -1 when it is not known yet. Returns how many
    rows and features there are, how many labels are no integers, the namespace, the code of the error, and the byte
    where it is.
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
