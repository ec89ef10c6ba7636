from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reference.sweep import split_of

from codekin.kernels.sweep import fill_assignments, shared_sums, sweep_source


@given(st.lists(st.sets(st.integers(0, 9), min_size=1), min_size=1, max_size=9))
def test_shared_sums_are_the_sums(sets):
    terms = list(range(100, 110))
    values = [1 << k for k in range(10)]
    steps, sums = shared_sums([sorted(one) for one in sets], len(terms))
    for a, b in steps:
        values.append(values[a] + values[b])
    assert [values[k] for k in sums] == [sum(1 << k for k in one) for one in sets]


def test_shared_sums_need_fewer_additions_than_separate_ones():
    rng = np.random.default_rng(0)
    codewords = rng.choice([-1, 1], size=(10, 8))
    sets = [np.flatnonzero(codewords[c] != codewords[0]).tolist() for c in range(1, 10)]
    assert len(shared_sums(sets, 8)[0]) < sum(len(one) - 1 for one in sets)


def test_assignments_are_spelled_out_in_lexicographic_order():
    codewords = np.random.default_rng(0).choice([-1, 1], size=(4, 5)).astype(np.int8)
    expected = np.array(list(permutations(range(4))))
    ranks = np.arange(24)
    forth, back, splits = np.empty((24, 4), np.int8), np.empty((24, 4), np.int8), np.empty((24, 5), np.int16)
    fill_assignments(ranks, codewords, forth, back, splits)
    np.testing.assert_array_equal(forth, expected)
    np.testing.assert_array_equal(np.take_along_axis(back, forth.astype(int), axis=1), np.tile(np.arange(4), (24, 1)))
    assert splits.tolist() == [[split_of(column) for column in codewords[order].T] for order in expected]


@pytest.mark.parametrize("n_bits", [8, 15])
def test_the_text_of_a_sweep_is_python(n_bits):
    codewords = np.random.default_rng(0).choice([-1, 1], size=(10, n_bits)).astype(np.int8)
    compile(sweep_source(codewords), "sweep", "exec")
