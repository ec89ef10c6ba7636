"""The swap kernels against their readable twins, on integers, where both are exact."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import qap as reference

from codekin.assignments.quadratic import QuadraticProblem, SwapState
from codekin.kernels import qap_swaps

seeds = st.integers(0, 2**32 - 1)
kinds = st.sampled_from(["symmetric", "one symmetric", "asymmetric", "spare"])


def problem_of(kind, n, seed):
    """A problem with integers, and its two matrices."""
    rng = np.random.default_rng(seed)
    a, b = rng.integers(-9, 10, (2, n, n)).astype(float)
    if kind in ("symmetric", "one symmetric", "spare"):
        b = b + b.T
    if kind in ("symmetric", "spare"):
        a = a + a.T
    problem = QuadraticProblem.of(a, b)
    if kind == "spare":
        n_active = max(1, n - 3)
        a[n_active:] = 0.0
        a[:, n_active:] = 0.0
        problem = QuadraticProblem(a[None], b[None], n_active)
    return problem, a, b, rng.permutation(n)


@given(kinds, st.integers(2, 7), seeds)
@settings(max_examples=40, deadline=None)
def test_deltas_are_the_differences_of_objectives(kind, n, seed):
    problem, a, b, order = problem_of(kind, n, seed)
    state = SwapState(problem, order)
    assert state.objective == pytest.approx(reference.objective(a, b, order))
    for r, s in reference.pairs(n, problem.n_active):
        expected = reference.delta(a, b, order, r, s)
        assert state.deltas[r, s] == pytest.approx(expected)
        assert qap_swaps.swap_delta(state.a, state.b, r, s) == pytest.approx(expected)


@given(kinds, st.integers(2, 7), seeds)
@settings(max_examples=30, deadline=None)
def test_descent_makes_the_moves_of_its_twin_and_keeps_its_arrays_true(kind, n, seed):
    problem, a, b, order = problem_of(kind, n, seed)
    state, trace = SwapState(problem, order), np.empty(100)
    n_moves = qap_swaps.descend(
        state.a, state.b, state.products, state.deltas, problem.n_active, state.order, 0.25, 100, trace
    )
    expected_order, expected_trace = reference.descend(a, b, order, problem.n_active, 0.25)
    np.testing.assert_allclose(trace[:n_moves], expected_trace)
    np.testing.assert_array_equal(state.order, expected_order)
    fresh = SwapState(problem, state.order)
    for kept, new in ((state.b, fresh.b), (state.products, fresh.products)):
        np.testing.assert_allclose(kept, new, atol=1e-9)
    for r, s in reference.pairs(n, problem.n_active):
        assert state.deltas[r, s] == pytest.approx(fresh.deltas[r, s])


@given(kinds, st.integers(2, 6), seeds, st.integers(1, 25))
@settings(max_examples=30, deadline=None)
def test_tabu_makes_the_moves_of_its_twin(kind, n, seed, n_moves):
    problem, a, b, order = problem_of(kind, n, seed)
    state, best = SwapState(problem, order), np.array(order, dtype=np.int64)
    banned = -np.arange(n * n, dtype=np.int64).reshape(n, n)
    by_place = banned[:, order]
    moves_banned, clock = np.minimum(by_place, by_place.T), np.array([0.0, state.objective])
    random_state = np.array([seed], np.uint64)
    objective = state.objective
    # In two parts: what is kept between them must be true.
    for part in (n_moves // 2, n_moves - n_moves // 2):
        objective = qap_swaps.tabu_moves(
            state.a, state.b, state.products, state.deltas, problem.n_active, state.order, banned, moves_banned,
            objective, best, 0.25, clock, part, 2.0 * n, n * n, random_state
        )  # fmt: skip
    expected, expected_best = reference.tabu(
        a, b, order, problem.n_active, n_moves=n_moves, tenure=2.0 * n, patience=n * n, seed=seed
    )
    np.testing.assert_array_equal(state.order, expected)
    np.testing.assert_array_equal(best, expected_best)
    assert objective == pytest.approx(reference.objective(a, b, expected))
    assert clock[1] == pytest.approx(reference.objective(a, b, expected_best))


@given(kinds, st.integers(2, 6), seeds)
@settings(max_examples=30, deadline=None)
def test_annealing_accepts_what_its_twin_accepts(kind, n, seed):
    problem, a, b, order = problem_of(kind, n, seed)
    b_permuted, kept = problem.permuted_b(order), np.array(order, dtype=np.int64)
    pair, state = np.array([0, 1], np.int64), np.array([seed], np.uint64)
    change = qap_swaps.anneal_moves(problem.a, b_permuted, problem.n_active, kept, pair, 200.0, 1.0, 13, state)
    change += qap_swaps.anneal_moves(problem.a, b_permuted, problem.n_active, kept, pair, 200.0, 1.0, 12, state)
    expected = reference.anneal(
        a, b, order, problem.n_active, temperature=200.0, cooling=1.0, n_proposals=25, seed=seed
    )
    np.testing.assert_array_equal(kept, expected)
    assert change == pytest.approx(reference.objective(a, b, expected) - reference.objective(a, b, order))
    np.testing.assert_array_equal(b_permuted, problem.permuted_b(kept))


@given(kinds, st.integers(2, 7), seeds)
@settings(max_examples=30, deadline=None)
def test_annealing_of_neighbours_accepts_what_its_twin_accepts(kind, n, seed):
    problem, a, b, order = problem_of(kind, n, seed)
    b_permuted, kept = problem.permuted_b(order), np.array(order, dtype=np.int64)
    place, state = np.argsort(kept), np.array([seed], np.uint64)
    change = qap_swaps.anneal_near_moves(problem.a, b_permuted, problem.n_active, kept, place, 200.0, 1.0, 30, state)
    expected = reference.anneal_near(
        a, b, order, problem.n_active, temperature=200.0, cooling=1.0, n_proposals=30, seed=seed
    )
    np.testing.assert_array_equal(kept, expected)
    np.testing.assert_array_equal(place, np.argsort(expected))
    assert change == pytest.approx(reference.objective(a, b, expected) - reference.objective(a, b, order))
    np.testing.assert_array_equal(b_permuted, problem.permuted_b(kept))


@given(st.integers(2, 7), seeds)
@settings(max_examples=15, deadline=None)
def test_annealing_of_neighbours_in_single_precision_decides_alike(n, seed):
    problem, *_, order = problem_of("symmetric", n, seed)
    orders = []
    for precision in (np.float32, np.float64):
        kept, state = np.array(order, dtype=np.int64), np.array([seed], np.uint64)
        a, b = problem.a.astype(precision), problem.permuted_b(order).astype(precision)
        qap_swaps.anneal_near_moves(a, b, problem.n_active, kept, np.argsort(kept), 200.0, 1.0, 30, state)
        orders.append(kept)
    np.testing.assert_array_equal(*orders)


def test_the_scale_of_temperatures_is_the_mean_over_all_swaps():
    problem, a, b, order = problem_of("symmetric", 6, 0)
    state = np.array([3], np.uint64)
    sampled = qap_swaps.mean_absolute_delta(problem.a, problem.permuted_b(order), 6, 100_000, state)
    expected = np.mean([abs(reference.delta(a, b, order, r, s)) for r, s in reference.pairs(6, 6)])
    assert sampled == pytest.approx(expected, rel=0.02)
