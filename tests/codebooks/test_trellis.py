"""The trellis: its closed forms against the graph written out, and the widths that the paper prints."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference.trellis import trellis_edges, trellis_matrix, trellis_paths

from codekin.code.geometry import codeword_distances
from codekin.code.trellis import TrellisGraph
from codekin.codebooks import CODEBOOKS, trellis_codebook

WIDTHS_IN_THE_PAPER = [
    *((1_000, width, n_bits) for width, n_bits in [(2, 42), (3, 55), (4, 74), (5, 89), (10, 221)]),
    *((12_294, width, n_bits) for width, n_bits in [(2, 56), (3, 79), (5, 138), (10, 338), (20, 879)]),
    *((27_840, width, n_bits) for width, n_bits in [(2, 62), (3, 86), (5, 151), (10, 351), (20, 904)]),
    *((104_136, width, n_bits) for width, n_bits in [(2, 72), (8, 299), (15, 752)]),
]

graphs = st.integers(2, 400).flatmap(lambda k: st.builds(TrellisGraph, st.just(k), st.integers(2, min(k, 30))))
enormous_graphs = st.integers(2, 10**7).flatmap(lambda k: st.builds(TrellisGraph, st.just(k), st.integers(2, k)))


@pytest.mark.parametrize(("n_codewords", "width", "n_bits"), WIDTHS_IN_THE_PAPER)
def test_codewords_are_as_long_as_the_paper_says(n_codewords, width, n_bits):
    assert trellis_codebook(n_codewords, width).n_bits == n_bits


@given(graphs)
@settings(max_examples=60, deadline=None)
def test_the_codebook_is_the_one_that_enumeration_gives(graph):
    matrix = graph.codewords(np.arange(graph.n_paths))
    np.testing.assert_array_equal(matrix, trellis_matrix(graph.n_paths, graph.width))


@pytest.mark.parametrize(("n_codewords", "width"), [(16_383, 2), (9_999, 10), (124, 5), (16_384, 2), (10_000, 10)])
def test_just_below_and_at_powers_of_the_width_the_graph_has_every_path_once(n_codewords, width):
    # Float logarithms round these up to the next power, and the graph then has another number of paths.
    paths = trellis_paths(n_codewords, width)
    assert len(paths) == n_codewords
    graph = TrellisGraph(n_codewords, width)
    assert graph.n_edges == len(trellis_edges(n_codewords, width))
    np.testing.assert_array_equal(graph.codewords(np.arange(n_codewords)), trellis_matrix(n_codewords, width))


@given(enormous_graphs, st.data())
@settings(max_examples=100, deadline=None)
def test_rank_inverts_unrank_at_any_size(graph, data):
    if graph.n_edges > 10**6:
        graph = TrellisGraph(graph.n_paths, min(graph.width, 100))
    ranks = np.array(data.draw(st.lists(st.integers(0, graph.n_paths - 1), min_size=1, max_size=20)))
    edges = graph.unrank([0, *ranks, graph.n_paths - 1])
    sums = np.where(edges >= 0, graph.edge_offsets[edges], 0).sum(axis=1)
    np.testing.assert_array_equal(sums, [0, *ranks, graph.n_paths - 1])
    # And what unrank gives is a path: from the source, edge to edge, to the sink.
    for path in edges:
        tails, heads = graph.edges[path[path >= 0]].T
        assert tails[0] == 0
        assert heads[-1] == graph.n_vertices - 1
        np.testing.assert_array_equal(tails[1:], heads[:-1])


@given(graphs)
@settings(max_examples=40, deadline=None)
def test_ranks_follow_the_order_of_the_vertices_with_the_sink_last(graph):
    edges = graph.unrank(np.arange(graph.n_paths))
    visited = np.where(edges >= 0, graph.edges[edges, 1], graph.n_vertices)
    np.testing.assert_array_equal(np.lexsort(visited.T[::-1]), np.arange(graph.n_paths))


@given(graphs)
@settings(max_examples=60, deadline=None)
def test_the_minimum_distance_is_the_smallest_between_two_codewords(graph):
    matrix = graph.codewords(np.arange(graph.n_paths))
    distances = codeword_distances(matrix, matrix)
    np.fill_diagonal(distances, np.inf)
    assert graph.min_distance == distances.min()


@pytest.mark.parametrize(
    ("n_codewords", "width", "n_constant"), [(64, 2, 1), (27, 3, 1), (7, 7, 1), (63, 2, 0), (128, 4, 0)]
)
def test_a_bit_is_constant_only_when_the_number_of_codewords_is_a_power_of_the_width(n_codewords, width, n_constant):
    codebook = trellis_codebook(n_codewords, width)
    is_constant = (codebook.matrix == codebook.matrix[0]).all(axis=0)
    assert is_constant.sum() == n_constant == codebook.n_constant_columns
    assert (codebook.matrix[:, is_constant] == 1).all()


@pytest.mark.parametrize("width", [2, 10, 100])
def test_ten_million_codewords_take_little_memory(width):
    tracemalloc.start()
    codebook = trellis_codebook(10**7, width)
    codewords = codebook.codewords([0, 123_456, 10**7 - 1])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert codewords.shape == (3, codebook.n_bits)
    assert peak < 4 * 2**20


def test_auto_takes_the_widest_trellis_within_the_bits():
    codebook = trellis_codebook(1_000, "auto", n_bits=100)
    assert codebook.n_bits <= 100
    wider = range(codebook.trellis.width + 1, 32)
    assert all(trellis_codebook(1_000, width).n_bits > 100 for width in wider)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((1, 2), {}, "at least 2 codewords. Got 1"),
        ((10, 1), {}, "between 2 and its number of codewords, 10. Got 1"),
        ((10, 11), {}, "Got 11"),
        ((1_000, "auto"), {}, "needs n_bits"),
        ((1_000, "auto"), {"n_bits": 40}, r"at least 42 bits \(width 2\), but n_bits is 40"),
        ((1_000, 5), {"n_bits": 88}, "width 5 for 1000 codewords has 89 bits, but n_bits is 88"),
    ],
)
def test_impossible_requests_are_refused_in_one_sentence(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        trellis_codebook(*arguments, **options)


@pytest.mark.parametrize("rank", [-1, 10])
def test_there_is_no_path_outside_the_ranks(rank):
    with pytest.raises(ValueError, match=f"between 0 and 9. Got {rank}"):
        TrellisGraph(10, 2).unrank([0, rank])


def test_the_table_has_the_trellis():
    assert CODEBOOKS["trellis"](20).n_codewords == 20
