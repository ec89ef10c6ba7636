"""Columns of the features of texts are sorted by hand."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from codekin.kernels.text import MOST_INSERTED, sort_columns


@given(st.lists(st.integers(0, 2**31 - 1), max_size=4 * MOST_INSERTED), st.integers(1, 31))
def test_columns_are_sorted_as_numpy_sorts_them(columns, n_bits):
    largest = 2**n_bits - 1
    given_columns = np.array(columns, np.int64) & largest
    own, spare = given_columns.astype(np.int32), np.zeros(len(columns), np.int32)
    sort_columns(own, len(own), largest, spare, np.zeros(256, np.int64))
    assert np.array_equal(own, np.sort(given_columns))
