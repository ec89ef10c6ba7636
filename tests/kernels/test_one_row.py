"""The kernel of one row against the twins of its parts, in room that is used again and again."""

from functools import partial

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from tests.reference import compact_product, paths, reranking

from codekin.code.trellis import TrellisGraph
from codekin.kernels.reranking import score_classes_in, scoring_room
from codekin.kernels.single_row import rank_row_of_bytes, rank_row_of_gaps
from codekin.learners.compact import CompactLinearBits, CompactSparseLinearBits
from codekin.learners.linear import LinearBits
from codekin.model.class_vectors import ClassVectors
from codekin.model.reranking import kernel_vectors


@given(st.integers(3, 40), st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.7]), st.booleans())
@settings(max_examples=30, deadline=None)
def test_a_row_is_ranked_by_its_margins_and_dot_products_whatever_the_room_was_used_for(
    n_classes, seed, weight, is_sparse
):
    rng = np.random.default_rng(seed)
    graph, n_features = TrellisGraph(n_classes, 2), 9
    weights = rng.normal(size=(n_features, graph.n_edges)) * (rng.random((n_features, graph.n_edges)) < 0.7)
    whole = LinearBits(weights, rng.normal(size=graph.n_edges))
    bits = (CompactSparseLinearBits if is_sparse else CompactLinearBits).of(whole, "int8")
    rank_row = rank_row_of_gaps if is_sparse else rank_row_of_bytes
    vectors = ClassVectors.of(rng.normal(size=(n_classes, n_features)) * (rng.random((n_classes, n_features)) < 0.5))
    order = rng.permutation(n_classes).astype(np.int32)
    of_kernel, empty = kernel_vectors(vectors), np.zeros((0, 0), np.int32)
    room = scoring_room(n_features, n_classes, 0)
    n_candidates = int(rng.integers(1, n_classes + 1))
    for x in (rng.normal(size=(6, n_features)) * (rng.random((6, n_features)) < 0.6)).astype(np.float32):
        row = sparse.csr_array(x[None])
        compressed = row.indptr.astype(np.int64), row.indices.astype(np.int32), row.data
        classes, (losses, scores) = np.empty((1, n_candidates), np.intp), np.empty((2, 1, n_candidates))
        product, costs = np.empty((1, graph.n_edges), np.float32), np.zeros((1, 1, graph.n_edges + 1))
        rank_row(
            room,
            compressed,
            bits.product()[1],
            bits.bias,
            -1.0,
            product,
            costs,
            (graph.width, graph.digits, graph.edge_offsets),
            (order[None], empty, empty),
            *of_kernel[:2],
            vectors.reach,
            weight,
            np.empty((1, 0), np.intp),
            n_candidates,
            n_candidates,
            classes,
            losses,
            scores,
            np.empty((1, 2)),
        )
        times = partial(compact_product.times_gapped, n_bits=bits.n_bits) if is_sparse else compact_product.times_bytes
        margins = times(x[None], *bits.product()[1]) + bits.bias
        totals = paths.all_path_totals(-margins.astype(np.float64), graph.n_paths, graph.width)
        dense = vectors.to_csr().toarray()
        _, expected = reranking.ranked([totals], [order], dense, x[None], weight, n_candidates, n_candidates)
        np.testing.assert_allclose(losses, expected, rtol=1e-4, atol=1e-4)
        again = np.empty((1, n_candidates))
        score_classes_in(room, compressed, *of_kernel[:2], classes, again)
        np.testing.assert_allclose(again, reranking.scores(compressed, dense, classes), rtol=1e-4, atol=1e-4)
        assert not room[0].any()
