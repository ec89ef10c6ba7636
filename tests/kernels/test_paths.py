"""The path kernels against trying every path."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import paths as reference

from codekin.code.trellis import TrellisGraph
from codekin.kernels.paths import cheapest_paths, largest_sizes, log_sum_over_paths

graphs = st.integers(2, 120).flatmap(lambda k: st.builds(TrellisGraph, st.just(k), st.integers(2, min(k, 12))))
seeds = st.integers(0, 2**32 - 1)


def cheapest(costs, graph, dtype=np.float64):
    ranks, totals, leads = np.empty((3, len(costs)), dtype)
    columns, offsets = np.ascontiguousarray(costs.T.astype(dtype)), graph.edge_offsets.astype(dtype)
    cheapest_paths(columns, graph.width, graph.digits, offsets, ranks, totals, leads)
    return ranks, totals, leads


@given(graphs, seeds)
@settings(max_examples=40, deadline=None)
def test_the_cheapest_path_costs_as_little_as_the_best_of_all_and_leads_by_as_much(graph, seed):
    costs = np.random.default_rng(seed).normal(size=(5, graph.n_edges))
    ranks, totals, leads = cheapest(costs, graph)
    expected_ranks, expected_totals = reference.k_cheapest(costs, graph.n_paths, graph.width, 2)
    np.testing.assert_array_equal(ranks, expected_ranks[:, 0])
    np.testing.assert_array_equal(totals, expected_totals[:, 0])
    np.testing.assert_array_equal(leads, np.diff(expected_totals)[:, 0])


@given(graphs, seeds)
@settings(max_examples=40, deadline=None)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_among_equal_paths_the_lowest_rank_wins(dtype, graph, seed):
    costs = np.random.default_rng(seed).integers(-1, 2, size=(8, graph.n_edges)).astype(float)
    costs[0] = 0
    ranks, totals, leads = cheapest(costs, graph, dtype)
    expected_ranks, expected_totals = reference.k_cheapest(costs, graph.n_paths, graph.width, 2)
    np.testing.assert_array_equal(ranks, expected_ranks[:, 0])
    np.testing.assert_array_equal(totals, expected_totals[:, 0])
    np.testing.assert_array_equal(leads, np.diff(expected_totals)[:, 0])


@given(graphs, seeds, st.sampled_from([0.1, 3.0, 500.0]))
@settings(max_examples=40, deadline=None)
def test_the_sum_over_paths_is_the_sum_over_every_path(graph, seed, scale):
    scores = scale * np.random.default_rng(seed).normal(size=(4, graph.n_edges))
    log_sums = np.empty(4)
    log_sum_over_paths(scores, graph.width, graph.digits, log_sums)
    np.testing.assert_allclose(log_sums, reference.log_sum(scores, graph.n_paths, graph.width), rtol=1e-12)


def test_the_sum_over_paths_of_nothing_counts_the_paths():
    graph = TrellisGraph(102_673, 5)
    log_sums = np.empty(1)
    log_sum_over_paths(np.zeros((1, graph.n_edges)), graph.width, graph.digits, log_sums)
    np.testing.assert_allclose(np.exp(log_sums), 102_673)


def test_a_sample_without_numbers_gets_the_first_path_and_disturbs_no_other():
    graph = TrellisGraph(50, 3)
    costs = np.random.default_rng(0).normal(size=(3, graph.n_edges))
    costs[1] = np.nan
    with np.errstate(invalid="ignore"):
        ranks, _, _ = cheapest(costs, graph)
    assert ranks[1] == 0
    np.testing.assert_array_equal(ranks[[0, 2]], cheapest(costs[[0, 2]], graph)[0])


def test_the_largest_sizes_are_those_of_the_columns():
    values = np.random.default_rng(0).normal(size=(7, 5))
    largest = np.empty(5)
    largest_sizes(values, largest)
    np.testing.assert_array_equal(largest, np.abs(values).max(axis=0))
