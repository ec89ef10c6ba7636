"""The kernels of ranking against their definitions."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from tests.reference import paths, reranking

from codekin.code.trellis import TrellisGraph
from codekin.kernels import reranking as kernels
from codekin.kernels.class_vectors import LEAST_GRADIENT, find_entries, learn_vectors
from codekin.kernels.reranking import rank_candidates, score_classes
from codekin.model.class_vectors import ClassVectors, listed_by_feature

graphs = st.integers(2, 60).flatmap(lambda k: st.builds(TrellisGraph, st.just(k), st.integers(2, min(k, 6))))
seeds = st.integers(0, 2**32 - 1)
NOT_LISTED = np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int8), np.zeros(0, np.int8)


def ranked(
    graph,
    costs,
    orders,
    vectors,
    X,
    weight,
    n_candidates,
    n_listed,
    n_out,
    may_end_early=False,
    is_listed=True,
    indexed=None,
):
    n_codes, n_samples, n_edges = costs.shape
    rows, compressed = sparse.csr_array(X.astype(np.float32)), sparse.csr_array(vectors)
    classes, bounds = np.empty((n_samples, n_out), np.intp), np.empty((n_samples, 2))
    losses, scores = np.empty((n_samples, n_out)), np.empty((n_samples, n_out))
    edges = graph.unrank(np.arange(graph.n_paths))
    reach = np.maximum(vectors.max(axis=0), 0), np.minimum(vectors.min(axis=0), 0)
    longest = np.sqrt((vectors**2).sum(axis=1).max()) if may_end_early else np.inf
    limits = [limit if may_end_early else np.sign(limit) * np.inf for limit in (reach[0] + 1e-9, reach[1] - 1e-9)]
    of_classes = ClassVectors(
        compressed.indptr, compressed.indices, compressed.data, np.ones(graph.n_paths), X.shape[1]
    )
    rank_candidates(
        np.ascontiguousarray(np.concatenate([costs, np.zeros((n_codes, n_samples, 1))], axis=2).swapaxes(0, 1)),
        (graph.width, graph.digits, graph.edge_offsets),
        (
            orders.astype(np.int32),
            np.argsort(orders, axis=1).astype(np.int32),
            np.where(edges < 0, n_edges, edges).astype(np.int32),
        ),
        (rows.indptr.astype(np.int64), rows.indices, rows.data),
        (of_classes.indptr, of_classes.features, of_classes.steps, of_classes.scales),
        of_classes.by_feature if is_listed else NOT_LISTED,
        (*(limit.astype(np.float32) for limit in limits), float(longest)),
        X.shape[1],
        weight,
        np.empty((n_samples, 0), np.intp) if indexed is None else indexed,
        n_candidates,
        n_listed,
        classes,
        losses,
        scores,
        bounds,
    )
    return classes, losses, bounds


@given(graphs, seeds, st.integers(1, 3), st.sampled_from([0.0, 0.3]), st.booleans())
@settings(max_examples=60, deadline=None)
def test_candidates_are_ranked_by_their_sums_and_dot_products(graph, seed, n_codes, weight, has_ties):
    rng = np.random.default_rng(seed)
    shape = (n_codes, 4, graph.n_edges)
    costs = rng.integers(-1, 2, size=shape).astype(float) if has_ties else rng.normal(size=shape)
    orders = np.array([rng.permutation(graph.n_paths) for _ in range(n_codes)])
    vectors = rng.integers(-3, 4, size=(graph.n_paths, 7)) * (rng.random((graph.n_paths, 7)) < 0.6)
    X = rng.normal(size=(4, 7)) * (rng.random((4, 7)) < 0.7)
    n_candidates = int(rng.integers(1, graph.n_paths + 1))
    n_out = min(n_codes * n_candidates, graph.n_paths)
    classes, losses, bounds = ranked(graph, costs, orders, vectors, X, weight, n_candidates, n_candidates, n_out)

    of_paths = [paths.all_path_totals(member, graph.n_paths, graph.width) for member in costs]
    totals = sum(np.take_along_axis(t, np.argsort(o)[None], axis=1) for t, o in zip(of_paths, orders, strict=True))
    expected_classes, expected = reranking.ranked(of_paths, orders, vectors, X, weight, n_candidates, n_out)
    np.testing.assert_allclose(losses, expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_array_equal(np.sort(classes), np.sort(expected_classes))
    if weight == 0:
        np.testing.assert_array_equal(classes, expected_classes)
    # What the certificate says of the classes outside holds.
    for s in range(4):
        outside = np.setdiff1d(np.arange(graph.n_paths), classes[s])
        np.testing.assert_allclose(bounds[s, 0], totals[s, classes[s][classes[s] >= 0]].min(), atol=1e-9)
        assert (totals[s, outside] >= bounds[s, 1] - 1e-9).all()


@given(graphs, seeds)
@settings(max_examples=30, deadline=None)
def test_classes_beyond_the_candidates_follow_in_the_codes_order(graph, seed):
    rng = np.random.default_rng(seed)
    costs = rng.normal(size=(1, 3, graph.n_edges))
    orders = rng.permutation(graph.n_paths)[None]
    vectors = rng.integers(-3, 4, size=(graph.n_paths, 5))
    X = rng.normal(size=(3, 5))
    n = int(rng.integers(1, graph.n_paths + 1))
    classes, losses, _ = ranked(graph, costs, orders, vectors, X, 2.0, n, graph.n_paths, graph.n_paths)
    first, of_first, _ = ranked(graph, costs, orders, vectors, X, 2.0, n, n, n)
    by_code, _, _ = ranked(graph, costs, orders, vectors, X, 0.0, n, graph.n_paths, graph.n_paths)
    np.testing.assert_array_equal(classes[:, :n], first)
    np.testing.assert_array_equal(losses[:, :n], of_first)
    np.testing.assert_array_equal(classes[:, n:], by_code[:, n:])
    assert (np.diff(losses, axis=1) >= 0).all()


@given(graphs, seeds, st.integers(1, 3), st.integers(1, 4))
@settings(max_examples=60, deadline=None)
def test_lists_that_end_early_lose_nothing(graph, seed, n_codes, n_out):
    rng = np.random.default_rng(seed)
    costs = 3 * rng.normal(size=(n_codes, 6, graph.n_edges))
    orders = np.array([rng.permutation(graph.n_paths) for _ in range(n_codes)])
    vectors = rng.integers(-3, 4, size=(graph.n_paths, 5)) * (rng.random((graph.n_paths, 5)) < 0.6)
    X = rng.normal(size=(6, 5))
    n = int(rng.integers(1, graph.n_paths + 1))
    n_out = min(n_out, n)
    options = (graph, costs, orders, vectors, X, 0.2, n, n, n_out)
    whole, of_whole, _ = ranked(*options)
    early, of_early, bounds = ranked(*options, may_end_early=True)
    np.testing.assert_array_equal(early, whole)
    np.testing.assert_array_equal(of_early, of_whole)
    of_paths = [paths.all_path_totals(member, graph.n_paths, graph.width) for member in costs]
    totals = sum(np.take_along_axis(t, np.argsort(o)[None], axis=1) for t, o in zip(of_paths, orders, strict=True))
    certified = bounds[:, 0] <= bounds[:, 1]
    np.testing.assert_allclose(bounds[certified, 0], totals.min(axis=1)[certified])


@given(seeds)
@settings(max_examples=30, deadline=None)
def test_a_pass_of_learning_follows_its_formula(seed):
    rng = np.random.default_rng(seed)
    n_samples, n_classes, n_features = 12, 5, 8
    X = rng.normal(size=(n_samples, n_features)) * (rng.random((n_samples, n_features)) < 0.5)
    classes = rng.integers(0, n_classes, n_samples)
    candidates = rng.integers(-1, n_classes, (n_samples, 3))
    candidates[:, 1:][candidates[:, 1:] == candidates[:, :1]] = -1
    candidates[candidates[:, 2] == candidates[:, 1], 2] = -1
    weights = rng.choice([0.5, 1.0, 2.0], n_samples)
    values = rng.normal(size=(n_classes, n_features)) * (rng.random((n_classes, n_features)) < 0.7)
    compressed, rows = sparse.csr_array(values), sparse.csr_array(X.astype(np.float32))
    order = rng.permutation(n_samples)
    of_rows = rows.indptr.astype(np.int64), rows.indices, rows.data
    places = compressed.indptr.astype(np.int64), compressed.indices
    lists = listed_by_feature(*places, n_features)
    learned = []
    for by_feature in (lists, NOT_LISTED[:3]):
        learned.append(compressed.data.astype(np.float32))
        curvature = np.full(compressed.nnz, 0.3, np.float32)
        room = np.zeros(n_features, np.float32), np.full(n_classes, -1, np.int32)
        for batch in (order[:5], order[5:]):
            n_entries = 4 * int(np.diff(of_rows[0])[batch].sum()) + 1
            compared, ends = np.empty((len(batch), 4), np.int32), np.empty((len(batch), 5), np.int64)
            found = compared, ends, np.empty(n_entries, np.int64), np.empty(n_entries, np.float32)
            listed = candidates.astype(np.int32)
            find_entries(batch, of_rows, classes.astype(np.int32), listed, places, by_feature, room, *found)
            learn_vectors(batch, weights, *found, 0.5, learned[-1], curvature)
        assert not room[0].any()
        assert (room[1] == -1).all()
    assert learned[0].tobytes() == learned[1].tobytes()
    support = values != 0
    reranking.learned(order, X, classes, weights, candidates, values, support, 0.5, 0.3, LEAST_GRADIENT)
    np.testing.assert_allclose(learned[0], values[support], rtol=2e-3, atol=2e-3)


@given(seeds, st.integers(1, 40), st.booleans())
@settings(max_examples=40, deadline=None)
def test_looking_features_up_gives_the_scores_of_walking_over_classes_to_the_last_bit(seed, n_own, is_sorted):
    rng = np.random.default_rng(seed)
    n_classes, n_features, n_samples = 12, 400, 5
    dense = rng.normal(size=(n_classes, n_features)) * (rng.random((n_classes, n_features)) < rng.random())
    vectors = ClassVectors.of(dense)
    features = rng.integers(0, n_features, n_samples * n_own)
    features = (np.sort(features.reshape(n_samples, -1)) if is_sorted else features).reshape(-1).astype(np.int32)
    rows = np.arange(n_samples + 1) * n_own, features, rng.normal(size=len(features)).astype(np.float32)
    classes = rng.integers(-1, n_classes, (n_samples, 6)).astype(np.intp)
    own = vectors.indptr, vectors.features, vectors.steps, vectors.scales
    looked_up, walked = np.empty(classes.shape), np.empty(classes.shape)
    score_classes(rows, own, vectors.by_feature, n_features, classes, looked_up)
    score_classes(rows, own, NOT_LISTED, n_features, classes, walked)
    assert looked_up.tobytes() == walked.tobytes()
    expected = reranking.scores(rows, vectors.to_csr().toarray(), classes)
    np.testing.assert_allclose(looked_up, expected, rtol=1e-4, atol=1e-4)


@given(seeds, st.integers(0, 30), st.integers(0, 90))
@settings(max_examples=60, deadline=None)
def test_features_looked_up_in_a_class_vector_give_the_sum_of_walking_over_it_to_the_last_bit(seed, n_own, n_entries):
    rng = np.random.default_rng(seed)
    features = np.sort(rng.permutation(100)[:n_entries]).astype(np.uint16)
    own = np.sort(rng.permutation(100)[:n_own]).astype(np.int32)
    spread, steps = np.zeros(100, np.float32), rng.integers(-127, 128, n_entries).astype(np.int8)
    spread[own] = rng.normal(size=n_own)
    start = int(rng.integers(0, n_entries + 1))
    looked_up = kernels._looked_up(spread, own, n_own, features, steps, start, n_entries)
    assert looked_up == kernels._walked(spread, features, steps, start, n_entries)


@given(seeds, st.integers(1, 12), st.sampled_from([5, 60, 3000]), st.booleans())
@settings(max_examples=60, deadline=None)
def test_the_entries_of_compared_classes_on_the_features_of_a_sample_are_found(seed, n_own, n_features, has_lists):
    rng = np.random.default_rng(seed)
    n_classes, n_samples, n_own = 6, 4, min(n_own, n_features)
    vectors = sparse.random_array((n_classes, n_features), density=rng.random(), format="csr", rng=rng)
    features = np.concatenate([rng.permutation(n_features)[:n_own] for _ in range(n_samples)]).astype(np.int32)
    values = rng.normal(size=len(features)).astype(np.float32)
    rows = np.arange(n_samples + 1, dtype=np.int64) * n_own, features, values
    classes, order = rng.integers(0, n_classes, n_samples).astype(np.int32), rng.permutation(n_samples)
    candidates = np.array([rng.permutation(n_classes)[:3] for _ in range(n_samples)], dtype=np.int32)
    candidates[rng.random(candidates.shape) < 0.2] = -1
    places = vectors.indptr.astype(np.int64), vectors.indices.astype(np.int32)
    by_feature = listed_by_feature(*places, n_features) if has_lists else NOT_LISTED[:3]
    room = np.zeros(n_features, np.float32), np.full(n_classes, -1, np.int32)
    compared, ends = np.empty((n_samples, 4), np.int32), np.empty((n_samples, 5), np.int64)
    n_places = 4 * len(features) + 1
    found = np.empty(n_places, np.int64), np.empty(n_places, np.float32)
    find_entries(order, rows, classes, candidates, places, by_feature, room, compared, ends, *found)
    expected = reranking.entries(order, rows, classes, candidates, places)
    n = ends[-1, -1]
    assert [own[own >= 0].tolist() for own in compared] == [own for own, _ in expected]
    assert found[0][:n].tolist() == [place for _, every in expected for one in every for place, _ in one]
    assert found[1][:n].tolist() == [factor for _, every in expected for one in every for _, factor in one]


@given(graphs, seeds, st.integers(1, 3))
@settings(max_examples=30, deadline=None)
def test_long_class_vectors_that_are_looked_up_rank_as_those_that_are_walked_over(graph, seed, n_codes):
    rng = np.random.default_rng(seed)
    costs = rng.normal(size=(n_codes, 4, graph.n_edges))
    orders = np.array([rng.permutation(graph.n_paths) for _ in range(n_codes)])
    vectors = rng.integers(-3, 4, size=(graph.n_paths, 300))
    X = rng.normal(size=(4, 300)) * (rng.random((4, 300)) < 0.02)
    n = int(rng.integers(1, graph.n_paths + 1))
    options = (graph, costs, orders, vectors, X, 0.3, n, n, min(n_codes * n, graph.n_paths))
    for listed, walked in zip(ranked(*options), ranked(*options, is_listed=False), strict=True):
        assert listed.tobytes() == walked.tobytes()


@given(graphs, seeds, st.integers(1, 3), st.integers(1, 5))
@settings(max_examples=60, deadline=None)
def test_given_classes_are_candidates_beside_those_of_the_codes(graph, seed, n_codes, n_given):
    rng = np.random.default_rng(seed)
    costs = rng.normal(size=(n_codes, 4, graph.n_edges))
    orders = np.array([rng.permutation(graph.n_paths) for _ in range(n_codes)])
    vectors = rng.integers(-3, 4, size=(graph.n_paths, 5))
    X = rng.normal(size=(4, 5))
    n, n_given = int(rng.integers(1, graph.n_paths + 1)), min(n_given, graph.n_paths)
    indexed = np.array([rng.permutation(graph.n_paths)[:n_given] for _ in range(4)])
    indexed[0, rng.integers(0, n_given) :] = -1
    n_out = min(n_codes * n + n_given, graph.n_paths)
    classes, losses, bounds = ranked(graph, costs, orders, vectors, X, 0.3, n, n, n_out, indexed=indexed)
    of_codes, _, _ = ranked(graph, costs, orders, vectors, X, 0.3, n, n, min(n_codes * n, graph.n_paths))
    of_paths = [paths.all_path_totals(member, graph.n_paths, graph.width) for member in costs]
    totals = sum(np.take_along_axis(t, np.argsort(o)[None], axis=1) for t, o in zip(of_paths, orders, strict=True))
    final = totals - 0.3 * X.astype(np.float32) @ vectors.T
    for s in range(4):
        union = np.union1d(indexed[s], of_codes[s])
        union = union[union >= 0]
        assert set(classes[s]) - {-1} == set(union)
        np.testing.assert_allclose(losses[s, : len(union)], np.sort(final[s, union]), rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(bounds[s, 0], totals[s, union].min(), atol=1e-9)
        outside = np.setdiff1d(np.arange(graph.n_paths), union)
        assert (totals[s, outside] >= bounds[s, 1] - 1e-9).all()
    # The best one alone, whose search ends early, and all classes, of which the others follow.
    first, of_first, _ = ranked(graph, costs, orders, vectors, X, 0.3, n, n, 1, may_end_early=True, indexed=indexed)
    np.testing.assert_array_equal(first[:, 0], classes[:, 0])
    np.testing.assert_array_equal(of_first[:, 0], losses[:, 0])
    every, _, _ = ranked(graph, costs, orders, vectors, X, 0.3, n, graph.n_paths, graph.n_paths, indexed=indexed)
    np.testing.assert_array_equal(np.sort(every, axis=1), np.tile(np.arange(graph.n_paths), (4, 1)))
    for s in range(4):
        n_candidates = int((classes[s] >= 0).sum())
        np.testing.assert_array_equal(every[s, :n_candidates], classes[s, :n_candidates])
