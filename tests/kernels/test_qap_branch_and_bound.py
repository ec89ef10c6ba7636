"""The parts of branch and bound against brute force and SciPy."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment
from tests.reference import qap as reference

from codekin.kernels import qap_exact as kernels

seeds = st.integers(0, 2**32 - 1)


@given(st.integers(1, 9), seeds)
@settings(max_examples=50, deadline=None)
def test_linear_assignments_are_optimal_and_priced(n, seed):
    cost = np.random.default_rng(seed).integers(-20, 20, (n, n)).astype(float)
    row_price, column_price, row_of_column = np.empty(n + 1), np.empty(n + 1), np.empty(n + 1, np.int64)
    total = kernels.solve_linear_assignment(cost, n, row_price, column_price, row_of_column)
    assert total == cost[linear_sum_assignment(cost)].sum()
    reduced = cost - row_price[1:, None] - column_price[None, 1:]
    assert reduced.min() >= -1e-9
    assert row_price[1:].sum() + column_price[1:].sum() == pytest.approx(total)


@given(st.integers(2, 6), seeds, st.booleans())
@settings(max_examples=50, deadline=None)
def test_no_completion_costs_less_than_the_bound_of_its_node(n, seed, symmetric):
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, n, n))
    if symmetric:
        a, b = a + a.T, b + b.T
    n_fixed = int(rng.integers(0, n))
    fixed = rng.permutation(n)[:n_fixed]
    value_of_row = np.full(n, -1, np.int64)
    value_of_row[rng.permutation(n)[:n_fixed]] = fixed
    is_used = np.isin(np.arange(n), fixed)
    rows, values, row_of_column = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n + 1, np.int64)
    bound = kernels.node_bound(
        a, b, np.argsort(a, axis=1), np.argsort(-b, axis=1), value_of_row, is_used, rows, values, np.empty((n, n)),
        np.empty((2, n + 1)), row_of_column
    )  # fmt: skip
    is_fixed = value_of_row >= 0
    cost_of_fixed = reference.objective(a[np.ix_(is_fixed, is_fixed)], b, value_of_row[is_fixed])
    completions = [
        reference.objective(a, b, order)
        for order in permutations(range(n))
        if all(order[u] == value_of_row[u] for u in range(n) if is_fixed[u])
    ]
    assert cost_of_fixed + bound <= min(completions) + 1e-9


@given(st.integers(1, 6), seeds)
@settings(max_examples=30, deadline=None)
def test_automorphisms_are_all_permutations_that_change_nothing(n, seed):
    b = np.random.default_rng(seed).integers(0, 2, (n, n)).astype(float)
    b = b + b.T
    found = np.zeros((1000, n), np.int64)
    n_found = kernels.find_automorphisms(b, 1e-9, 10**6, found)
    assert sorted(map(tuple, found[:n_found].tolist())) == sorted(reference.automorphisms(b))
