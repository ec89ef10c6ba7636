"""Kernels of trees agree with their readable twins."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from tests.reference import label_tree as reference

from codekin.code.tree import TreeGraph
from codekin.kernels import label_tree as kernels
from codekin.learners.tree_bits import TreeBits


def random_bits(tree, n_features, rng, share=0.5):
    """Predictors with random weights, by way of a dense matrix."""
    dense = np.where(rng.random((n_features, tree.n_edges)) < share, rng.normal(size=(n_features, tree.n_edges)), 0)
    dense = dense.astype(np.float32)
    node_of_bit = np.repeat(np.arange(tree.n_nodes), np.diff(tree.first_bits))
    counts, nodes, lengths, children, weights = [], [], [], [], []
    for row in dense:
        own = np.flatnonzero(row)
        chunk_nodes, chunk_lengths = np.unique(node_of_bit[own], return_counts=True)
        counts.append(len(chunk_nodes))
        nodes += chunk_nodes.tolist()
        lengths += chunk_lengths.tolist()
        children += (own - tree.first_bits[node_of_bit[own]]).tolist()
        weights += row[own].tolist()
    bias = rng.normal(size=tree.n_edges).astype(np.float32)
    parts = (np.array(part, dtype=np.int64) for part in (counts, nodes, lengths, children))
    return TreeBits(tree, *parts, np.array(weights, dtype=np.float32), None, bias), dense


def test_exponentials_are_those_of_numpy():
    scores = np.random.default_rng(0).normal(scale=20, size=501).astype(np.float32)
    powers, out = np.empty(501, np.int32), np.empty(501, np.float32)
    largest, total = kernels.exponentials(scores, powers, powers.view(np.float32), out)
    expected = np.exp(scores.astype(np.float64) - scores.max())
    assert largest == scores.max()
    np.testing.assert_allclose(out, expected, rtol=2e-5, atol=1e-37)
    np.testing.assert_allclose(total, expected.sum(), rtol=1e-5)


@pytest.mark.parametrize("n_children", [2, 5, 33])
def test_a_pass_makes_the_steps_of_the_twin(n_children):
    rng = np.random.default_rng(n_children)
    X = sparse.random_array((60, 20), density=0.3, rng=rng, format="csr", dtype=np.float32)
    children, weights = rng.integers(n_children, size=60), rng.uniform(0.5, 2, size=60)
    order = rng.permutation(60)
    state = np.zeros((20, 2, n_children), dtype=np.float32)
    state[:, 1] = 0.3
    rows = X.indptr.astype(np.int64), X.indices.astype(np.int32), X.data
    kernels.node_softmax_pass(*rows, children, weights, order, 0.5, state)
    expected = reference.node_softmax(
        X.toarray(), children, weights, order, n_children=n_children, step=0.5, curvature=0.3
    )
    np.testing.assert_allclose(state[:, 0], expected[0], atol=2e-4)
    np.testing.assert_allclose(state[:, 1], expected[1], rtol=1e-4)


def rows_of_node(X, wanted, *, merges):
    """What ``node_rows`` returns and writes."""
    rows = X.indptr.astype(np.int64), X.indices.astype(np.int32), X.data
    n_entries = int(np.diff(X.indptr)[wanted].sum())
    room, indptr = np.full(X.shape[1], -1, dtype=np.int32), np.empty(len(wanted) + 1, dtype=np.int64)
    local, values = np.empty(n_entries, dtype=np.int32), np.empty(n_entries, dtype=np.float32)
    found = kernels.node_rows(rows, wanted, room, merges, indptr, local, values)
    return *found, room, indptr, local, values


def with_few_values(n_features, seed):
    """Rows in which many features occur once, many of them with the same value."""
    X = sparse.random_array((12, n_features), density=0.2, rng=np.random.default_rng(seed), format="csr")
    X.data = np.ceil(3 * X.data)
    return X.astype(np.float32)


@pytest.mark.parametrize("merges", [False, True])
@pytest.mark.parametrize("n_features", [9, 60])
def test_the_rows_of_a_node_are_those_of_the_twin(n_features, merges):
    X, wanted = with_few_values(n_features, seed=1), np.array([7, 2, 11, 2, 5])
    features, numbers, room, indptr, local, values = rows_of_node(X, wanted, merges=merges)
    expected = reference.node_rows(X, wanted, merges=merges)
    assert dict(zip(features.tolist(), numbers.tolist(), strict=True)) == expected[0]
    assert features.tolist() == list(expected[0])
    n_entries = len(local)
    assert [part.tolist() for part in np.split(local, indptr[1:-1])] == expected[1]
    assert [part.tolist() for part in np.split(values, indptr[1:-1])] == expected[2]
    assert indptr[0] == 0
    assert indptr[-1] == n_entries
    assert (room == -1).all()


def test_features_that_share_a_number_learn_what_they_would_learn_alone():
    X, rng = with_few_values(80, seed=2), np.random.default_rng(3)
    children, weights, order = rng.integers(5, size=12), rng.uniform(0.5, 2, size=12), rng.permutation(12)
    learned = []
    for merges in (False, True):
        features, numbers, _, *rows = rows_of_node(X, np.arange(12), merges=merges)
        state = np.full((numbers.max() + 1, 2, 5), 0.3, dtype=np.float32)
        state[:, 0] = 0
        for _ in range(3):
            kernels.node_softmax_pass(*rows, children, weights, order, 0.5, state)
        learned.append((features, state[numbers]))
    assert np.array_equal(learned[0][0], learned[1][0])
    assert np.array_equal(learned[0][1], learned[1][1])
    assert numbers.max() + 1 < len(features)


def test_chunks_are_put_where_the_twin_puts_them():
    values, lengths, starts = np.arange(1, 8, dtype=np.float32), np.array([3, 0, 2, 2]), np.array([6, 4, 0, 3])
    out = np.zeros(10, dtype=np.float32)
    kernels.put_chunks(values, lengths, starts, out)
    assert np.array_equal(out, reference.put_chunks(values, lengths, starts, 10))


def test_large_weights_are_those_of_the_twin():
    state = np.random.default_rng(3).normal(size=(8, 2, 6)).astype(np.float32)
    thresholds = np.linspace(0, 1.4, 8, dtype=np.float32)
    numbers = np.array([0, 1, 5, 1, 3, 7, 2, 2], dtype=np.int32)
    expected = reference.large_weights(state, numbers, thresholds)
    for found, of_twin in zip(kernels.large_weights(state, numbers, thresholds, True), expected, strict=True):
        assert np.array_equal(found, of_twin)
    assert len(kernels.large_weights(state, numbers, thresholds, False)[-1]) == 0


@pytest.mark.parametrize(("n_leaves", "width"), [(5, 2), (40, 2), (100, 3), (300, 8)])
@pytest.mark.parametrize("beam", [1, 3, 1000])
def test_the_search_finds_what_the_twin_finds(n_leaves, width, beam):
    rng = np.random.default_rng([n_leaves, beam])
    tree = TreeGraph(n_leaves, width)
    bits, _ = random_bits(tree, 12, rng)
    X = sparse.random_array((30, 12), density=0.4, rng=rng, format="csr", dtype=np.float32)
    margins = bits.margins(X)
    leaves, logs = margins.best_leaves(4, beam)
    for own, found, log in zip(np.asarray(margins), leaves, logs, strict=True):
        expected, expected_logs = reference.searched(own, tree, beam, 4)
        assert np.array_equal(found[found >= 0], expected)
        np.testing.assert_allclose(log[found >= 0], expected_logs, atol=1e-4)


@pytest.mark.parametrize("reach", [0.5, 2.0])
def test_leaves_beyond_the_reach_are_left_out(reach):
    rng = np.random.default_rng(11)
    tree = TreeGraph(120, 3)
    bits, _ = random_bits(tree, 12, rng)
    X = sparse.random_array((40, 12), density=0.4, rng=rng, format="csr", dtype=np.float32)
    margins = bits.margins(X)
    leaves, logs = margins.best_leaves(9, 6, 1.0, reach)
    lengths = set()
    for own, found, log in zip(np.asarray(margins), leaves, logs, strict=True):
        expected, _ = reference.searched(own, tree, 6, 9, reach)
        assert np.array_equal(found[found >= 0], expected)
        assert (log[found < 0] == -np.inf).all()
        lengths.add(len(expected))
    assert len(lengths) > 1


def test_nodes_that_are_far_less_probable_are_not_followed_once_there_is_enough():
    rng = np.random.default_rng(12)
    tree = TreeGraph(300, 4)
    bits, _ = random_bits(tree, 12, rng)
    X = 8 * sparse.random_array((30, 12), density=0.4, rng=rng, format="csr", dtype=np.float32)
    margins = bits.margins(X)
    leaves, _ = margins.best_leaves(12, 6)
    for own, found in zip(np.asarray(margins), leaves, strict=True):
        expected, _ = reference.searched(own, tree, 6, 12, far=kernels.FAR)
        assert np.array_equal(found[found >= 0], expected)


@pytest.mark.parametrize("share", [0.1, 0.5])
@pytest.mark.parametrize("temperature", [1.0, 2.5])
def test_probabilities_of_leaves_are_products_along_the_way(temperature, share):
    rng = np.random.default_rng(5)
    tree = TreeGraph(200, 4)
    bits, _ = random_bits(tree, 12, rng, share)
    X = sparse.random_array((20, 12), density=0.4, rng=rng, format="csr", dtype=np.float32)
    margins = bits.margins(X)
    expected = reference.leaf_log_probabilities(np.asarray(margins) / temperature, tree)
    leaves = np.column_stack([rng.integers(200, size=(20, 30)), np.full(20, -1)])
    found = margins.log_probabilities(leaves, temperature)
    np.testing.assert_allclose(found[:, :-1], np.take_along_axis(expected, leaves[:, :-1], axis=1), atol=1e-4)
    assert (found[:, -1] == -np.inf).all()
    every = margins.log_probabilities(np.tile(np.arange(200), (20, 1)), temperature)
    np.testing.assert_allclose(np.exp(every).sum(axis=1), 1, atol=1e-5)


@pytest.mark.parametrize("precision", ["float32", "int8"])
def test_weights_for_predictions_are_those_of_the_matrix_however_many_chunks_are_filled_at_once(monkeypatch, precision):
    bits, _ = random_bits(TreeGraph(60, 9), 7, np.random.default_rng(5), share=0.2)
    bits = bits.compacted(precision)
    found = []
    for at_once in (2, 100):
        monkeypatch.setattr("codekin.learners.tree_bits.CHUNKS_AT_ONCE", at_once)
        found.append(replace(bits).kernel_arrays)
    assert all(np.array_equal(few, many) for few, many in zip(*found, strict=True))
    chunk_indptr, nodes, starts, children, values, _ = found[0]
    rebuilt = np.zeros((7, bits.n_bits), dtype=np.float32)
    for feature in range(7):
        for chunk in range(chunk_indptr[feature], chunk_indptr[feature + 1]):
            first_bit, own = bits.tree.first_bits[nodes[chunk]], slice(starts[chunk], starts[chunk + 1])
            n_all = bits.tree.first_bits[nodes[chunk] + 1] - first_bit
            is_whole = len(values[own]) == n_all > bits.lengths[chunk]
            rebuilt[feature, first_bit + (np.arange(n_all) if is_whole else children[own])] = values[own]
    assert 0 < (np.diff(starts) > bits.lengths).sum() < len(nodes)
    np.testing.assert_array_equal(rebuilt, bits.to_csr().toarray())
