import operator
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import config, njit
from tests.reference.sweep import split_of

from codekin.kernels.sweep import (
    LANES,
    count_exactly,
    fill_assignments,
    group_by_codeword,
    plans_of_sums,
    saturating_sum,
    shared_sums,
    sweep_source,
)


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
    forth, back, splits = np.empty((24, 4), np.int8), np.empty((24, 4), np.int8), np.empty((24, 5), np.uint16)
    fill_assignments(ranks, codewords, forth, back, splits)
    np.testing.assert_array_equal(forth, expected)
    np.testing.assert_array_equal(np.take_along_axis(back, forth.astype(int), axis=1), np.tile(np.arange(4), (24, 1)))
    assert splits.tolist() == [[split_of(column) for column in codewords[order].T] for order in expected]


def test_assignments_are_grouped_by_the_codeword_of_each_class():
    codeword_of_class = np.array([np.random.default_rng(k).permutation(5) for k in range(30)], dtype=np.int8)
    places, first = np.empty((5, 30), np.uint32), np.empty((5, 6), np.int64)
    group_by_codeword(codeword_of_class, places, first)
    for k, c in product(range(5), range(5)):
        assert (
            places[k, first[k, c] : first[k, c + 1]].tolist() == np.flatnonzero(codeword_of_class[:, k] == c).tolist()
        )


def block_of_samples(n_bits, lanes):
    """Codewords, assignments, and the numbers of a block of samples of class 3."""
    rng = np.random.default_rng(0)
    codewords = rng.choice([-1, 1], size=(10, n_bits)).astype(np.int8)
    codeword_of_class = np.array([rng.permutation(10) for _ in range(40)], dtype=np.int8)
    class_of_codeword = np.argsort(codeword_of_class, axis=1).astype(np.int8)
    splits = rng.integers(0, 7, size=(40, n_bits)).astype(np.uint16)
    return codewords, codeword_of_class, class_of_codeword, splits, rng.integers(-30, 90, size=(7, lanes)), 3


def leads_over_other_classes(block):
    """The sums by which class 3 leads the others, (n_assignments, lanes, n - 1), and whether a lead of 0 is one."""
    codewords, codeword_of_class, _, splits, table, y = block
    others = [k for k in range(10) if k != y]
    leads = [
        [table[splits[a, codewords[order[y]] != codewords[order[k]]]].sum(axis=0) for k in others]
        for a, order in enumerate(codeword_of_class)
    ]
    return np.moveaxis(np.array(leads), 1, 2), np.array(others) > y


@pytest.mark.parametrize("n_bits", [8, 15])
@pytest.mark.parametrize("slack", [0, 4])
def test_the_text_of_a_sweep_counts_what_the_bits_say_one_by_one(n_bits, slack):
    block = block_of_samples(n_bits, lanes=4)
    codewords, codeword_of_class, class_of_codeword, splits, table, y = block
    places, first = np.empty((10, 40), np.uint32), np.empty((10, 11), np.int64)
    group_by_codeword(codeword_of_class, places, first)
    n_correct, is_open = np.zeros(40, dtype=int), np.zeros(40, dtype=bool)
    namespace = {"LANES": 4, "int16": int, "uint16": int, "int32": int, "plus": operator.add}
    exec(sweep_source(codewords, is_rounded=slack > 0), namespace)
    namespace["count"](table, y, places[y], first[y], class_of_codeword, splits, slack, n_correct, is_open)
    leads, wins_ties = leads_over_other_classes(block)
    if slack:
        np.testing.assert_array_equal(is_open, (np.abs(leads.min(axis=2)) <= slack).any(axis=1))
    is_right = ((leads > 0) | ((leads == 0) & wins_ties)).all(axis=2)
    np.testing.assert_array_equal(n_correct, np.where(is_open, 0, is_right.sum(axis=1)))
    assert 0 < n_correct.sum() < 160


@pytest.mark.parametrize("n_bits", [8, 15])
def test_exact_counts_are_those_of_the_bits_one_by_one(n_bits):
    block = block_of_samples(n_bits, LANES)
    codewords, codeword_of_class, class_of_codeword, splits, table, y = block
    is_wanted, n_correct = np.arange(40) % 3 > 0, np.ones(40, dtype=np.int32)
    assignments = (codeword_of_class, class_of_codeword, splits)
    count_exactly(table.astype(np.int32), y, *plans_of_sums(codewords), *assignments, is_wanted, n_correct)
    leads, wins_ties = leads_over_other_classes(block)
    n_right = ((leads > 0) | ((leads == 0) & wins_ties)).all(axis=2).sum(axis=1)
    np.testing.assert_array_equal(n_correct, 1 + np.where(is_wanted, n_right, 0))
    assert (leads == 0).any()


@pytest.mark.skipif(bool(config.DISABLE_JIT), reason="an instruction exists in compiled code only")
def test_compiled_sums_stop_at_the_ends_of_16_bits():
    @njit
    def add(a, b):
        return saturating_sum(a, b)

    sums = [add(np.int16(a), np.int16(b)) for a, b in ((30_000, 3_000), (30_000, 2_767), (-30_000, -3_000), (5, -7))]
    assert sums == [32_767, 32_767, -32_768, -2]
