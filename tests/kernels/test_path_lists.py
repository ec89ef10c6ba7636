"""Lists of the cheapest paths against trying every path."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import paths as reference

from codekin.code.trellis import TrellisGraph
from codekin.kernels.paths import k_cheapest_paths, ways_onward

graphs = st.integers(2, 120).flatmap(lambda k: st.builds(TrellisGraph, st.just(k), st.integers(2, min(k, 12))))
seeds = st.integers(0, 2**32 - 1)


def k_cheapest(costs, graph, k):
    ranks, totals = np.empty((len(costs), k), np.int64), np.empty((len(costs), k))
    k_cheapest_paths(costs, graph.width, graph.digits, graph.edge_offsets, ranks, totals)
    return ranks, totals


@given(graphs, seeds, st.integers(1, 12), st.booleans())
@settings(max_examples=40, deadline=None)
def test_the_k_cheapest_paths_are_the_k_best_of_all_in_order(graph, seed, k, has_ties):
    rng = np.random.default_rng(seed)
    shape = (4, graph.n_edges)
    costs = rng.integers(-1, 2, size=shape).astype(float) if has_ties else rng.normal(size=shape)
    k = min(k, graph.n_paths)
    ranks, totals = k_cheapest(costs, graph, k)
    expected_ranks, expected_totals = reference.k_cheapest(costs, graph.n_paths, graph.width, k)
    np.testing.assert_array_equal(ranks, expected_ranks)
    np.testing.assert_array_equal(totals, expected_totals)


def test_all_paths_are_found_when_all_are_asked_for():
    graph = TrellisGraph(77, 3)
    ranks, _ = k_cheapest(np.zeros((2, graph.n_edges)), graph, 77)
    np.testing.assert_array_equal(ranks, [np.arange(77)] * 2)


def test_a_sample_without_numbers_gets_paths_all_the_same_and_disturbs_no_other():
    graph = TrellisGraph(50, 3)
    costs = np.random.default_rng(0).normal(size=(3, graph.n_edges))
    costs[1] = np.nan
    ranks, _ = k_cheapest(costs, graph, 50)
    assert sorted(ranks[1]) == list(range(50))
    np.testing.assert_array_equal(ranks[[0, 2]], k_cheapest(costs[[0, 2]], graph, 50)[0])


@given(graphs)
@settings(max_examples=40, deadline=None)
def test_the_ways_onward_are_the_edges_of_the_graph(graph):
    n_ways, edges, enters = ways_onward(graph.width, graph.digits)
    listed = [edges[u, way] for u in range(len(n_ways)) for way in range(n_ways[u])]
    assert sorted(listed) == list(range(graph.n_edges))
    assert all(enters[u, way] < u for u in range(len(n_ways)) for way in range(n_ways[u]))
