from itertools import permutations, product

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
def test_the_text_of_a_sweep_counts_what_the_bits_say_one_by_one(n_bits):
    rng = np.random.default_rng(0)
    codewords = rng.choice([-1, 1], size=(10, n_bits)).astype(np.int8)
    codeword_of_class = np.array([rng.permutation(10) for _ in range(6)])
    class_of_codeword = np.argsort(codeword_of_class, axis=1)
    splits = rng.integers(0, 7, size=(6, n_bits))
    tables, class_of_block = rng.integers(-3, 9, size=(5, 7, 4)), rng.integers(0, 10, size=5)
    namespace = {"LANES": 4, "int32": int}
    exec(sweep_source(codewords), namespace)
    n_correct = np.zeros(6, dtype=int)
    namespace["count"](tables, class_of_block, codeword_of_class, class_of_codeword, splits, n_correct)
    expected = np.zeros(6, dtype=int)
    for a, (table, y) in product(range(6), zip(tables, class_of_block, strict=True)):
        own = codewords[codeword_of_class[a, y]]
        for lane in range(4):
            # How far the true class leads each other one; of equals the lower class wins.
            leads = [table[splits[a, own != codewords[c]], lane].sum() for c in codeword_of_class[a]]
            expected[a] += all(lead > 0 or (lead == 0 and k >= y) for k, lead in enumerate(leads) if k != y)
    np.testing.assert_array_equal(n_correct, expected)
    assert 0 < expected.sum() < 120
