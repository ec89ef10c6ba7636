"""LTLS's assignment of paths against a version that tries every path."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from tests.reference import online_paths as reference

from codekin.code.trellis import TrellisGraph
from codekin.kernels.paths import assign_online

graphs = st.integers(2, 40).flatmap(lambda k: st.builds(TrellisGraph, st.just(k), st.integers(2, min(k, 5))))


@given(graphs, st.integers(0, 2**32 - 1), st.integers(1, 6))
@settings(max_examples=40, deadline=None)
def test_the_same_paths_and_weights_as_by_trying_every_path(graph, seed, k):
    rng = np.random.default_rng(seed)
    n_samples, n_classes, k = 60, graph.n_paths, min(k, graph.n_paths)
    # Whole numbers: no rounding, many ties.
    X = rng.integers(-1, 2, size=(n_samples, 5)).astype(np.float32)
    class_index, order = rng.integers(-1, n_classes, n_samples), rng.permutation(n_samples)
    fallback = rng.permutation(graph.n_paths)
    rows = sparse.csr_array(X)
    weights = np.zeros((5, graph.n_edges), dtype=np.float32)
    path, taken = np.full(n_classes, -1), np.zeros(graph.n_paths, dtype=bool)
    samples = rows.indptr.astype(np.int64), rows.indices, rows.data, class_index, order
    edges_of_path = graph.unrank(np.arange(graph.n_paths))
    assign_online(
        *samples, graph.width, graph.digits, graph.edge_offsets, edges_of_path, fallback, k, weights, taken, path
    )
    expected = reference.assign_online(X, class_index, order, graph.n_paths, graph.width, fallback, k, n_classes)
    np.testing.assert_array_equal(path, expected[0])
    np.testing.assert_array_equal(weights, expected[1])
    np.testing.assert_array_equal(np.flatnonzero(taken), np.sort(path[path >= 0]))
