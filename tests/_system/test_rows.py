"""Rows on disk are those of the matrix, in blocks that fit into memory."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from codekin._system import rows as stored_rows
from codekin._system.rows import BYTES_PER_VALUE, StoredRows, class_sums
from codekin.classes.distances import CLASS_DISTANCES_FROM_DATA
from codekin.data import SparseData, cached_data, write_data
from codekin.fitting.learned_vectors import centroids, learned_vectors
from codekin.model.class_vectors import ClassVectors


@pytest.fixture
def both(tmp_path, monkeypatch):
    """The same samples in memory and on disk, in some fifty pieces."""
    monkeypatch.setattr(stored_rows, "LEAST_PAGE", 1)
    rng = np.random.default_rng(0)
    X = sparse.random_array((400, 60), density=0.1, rng=rng, dtype=np.float32, format="csr")
    y = rng.permutation(np.arange(400) % 20)
    write_data(tmp_path / "train.svm", SparseData(X, y, np.arange(20)))
    stored = cached_data(tmp_path / "train.svm", n_features=60, max_memory=30_000).X
    assert 30 < len(stored._pages) < 300
    return X, stored, y


def test_slices_rows_columns_and_parts_of_parts_are_those_of_the_matrix(both):
    X, stored, _ = both
    rows, columns = np.flatnonzero(np.arange(400) % 3), np.array([2, 5, 59])
    for ours, theirs in [
        (stored.in_memory(), X),
        (stored[10:17], X[10:17]),
        (stored[399:], X[399:]),
        (stored[7:7], X[7:7]),
        (stored[rows], X[rows]),
        (stored.at(rows)[5:9], X[rows][5:9]),
        (stored.at(rows).at(np.array([0, 7, 100])).in_memory(), X[rows][[0, 7, 100]]),
        (stored[:, columns].in_memory(), X[:, columns]),
        (stored.at(rows)[:, columns][3:8], X[rows][:, columns][3:8]),
    ]:
        np.testing.assert_array_equal(ours.toarray(), theirs.toarray())
    assert stored.shape == X.shape
    assert (stored.nnz, stored.at(rows).nnz) == (X.nnz, X[rows].nnz)
    with pytest.raises(TypeError, match="without a step"):
        stored[::2]
    with pytest.raises(TypeError, match="indexed by rows"):
        stored[1, 2]


@pytest.mark.parametrize("is_part", [False, True])
def test_blocks_have_every_row_once_and_fit_into_memory(is_part, both):
    X, stored, _ = both
    rows = np.flatnonzero(np.arange(400) % 3) if is_part else np.arange(400)
    stored = stored.at(rows) if is_part else stored
    blocks = list(stored.blocks())
    assert np.array_equal(np.concatenate([np.arange(400)[of_block] for of_block, _ in blocks]), np.arange(len(rows)))
    shuffled = list(stored.shuffled_blocks(np.random.default_rng(1)))
    numbers = np.concatenate([of_block for of_block, _ in shuffled])
    assert np.array_equal(np.sort(numbers), np.arange(len(rows)))
    np.testing.assert_array_equal(sparse.vstack([block for _, block in shuffled]).toarray(), X[rows[numbers]].toarray())
    for _, block in blocks + shuffled:
        assert 8 * block.nnz <= stored.max_memory / 2


def test_rows_that_are_far_apart_are_read_without_holding_what_lies_between(both, monkeypatch):
    X, stored, _ = both
    rows, n_read = np.arange(0, X.shape[0], 7), []
    read = StoredRows._items

    def counted(self, name, dtype, pieces):
        n_read.append(sum(count for _, count in pieces))
        return read(self, name, dtype, pieces)

    monkeypatch.setattr(StoredRows, "_items", counted)
    part = stored.at(rows)
    for found in (part[:], part[1:], part.in_memory(), next(part.blocks())[1]):
        assert found.nnz > 0
    longest_row = int(np.diff(stored.row_ends).max())
    assert max(n_read) <= max(part._page_bytes / BYTES_PER_VALUE, longest_row) < X.nnz / 2


def test_a_shuffled_block_has_rows_from_all_over_the_file(both):
    for rows, _ in list(both[1].shuffled_blocks(np.random.default_rng(0)))[:-1]:
        assert rows.min() < 100
        assert rows.max() > 300


@pytest.mark.parametrize("name", sorted(set(CLASS_DISTANCES_FROM_DATA) - {"confusion"}))
def test_class_distances_are_those_of_the_samples_in_memory(name, both):
    X, stored, y = both
    ours, theirs = (CLASS_DISTANCES_FROM_DATA[name](samples, y, rng=0).matrix() for samples in (stored, X))
    np.testing.assert_allclose(ours, theirs, atol=1e-7)


def test_learnability_in_factors_is_that_of_the_samples_in_memory(both):
    X, stored, y = both
    options = {"form": "factored", "n_components": 30, "rng": 0}
    learnability = CLASS_DISTANCES_FROM_DATA["learnability"]
    ours, theirs = (learnability(samples, y, **options).matrix() for samples in (stored, X))
    np.testing.assert_allclose(ours, theirs, atol=1e-7)


def test_class_vectors_are_those_of_the_samples_in_memory(both):
    X, stored, y = both
    ours, theirs = (ClassVectors.of(centroids(samples, y)).to_csr().toarray() for samples in (stored, X))
    np.testing.assert_allclose(ours, theirs, rtol=1e-5)
    candidates = np.tile(np.arange(20), (400, 1))
    some, listed = (
        next(learned_vectors(stored, y, given, rng=0)).to_csr().toarray()
        for given in (candidates, lambda block: candidates[: block.shape[0]])
    )
    np.testing.assert_array_equal(some, listed)
    right = ((X @ some.T).argmax(axis=1) == y).mean()
    assert right > ((X @ ours.T).argmax(axis=1) == y).mean()


def test_class_means_that_would_not_fit_are_an_error_with_a_way_out(both):
    _, stored, y = both
    with pytest.raises(MemoryError, match=r"The means of 20 classes have more than .* Allow more memory, or avoid the"):
        class_sums(replace(stored, max_memory=4_000), y, np.ones(400), 20)


def test_classes_are_added_up_in_blocks_to_the_same_bytes(both, monkeypatch):
    X, _, y = both
    weights = np.random.default_rng(0).random(len(y))
    whole = class_sums(X, y, weights, 20)
    monkeypatch.setattr(stored_rows, "CLASSES_PER_BLOCK", 7)
    some = class_sums(X, y, weights, 20)
    for name in ("data", "indices", "indptr"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(some, name))
    expected = [weights[y == k] @ X.toarray()[y == k] for k in range(20)]
    np.testing.assert_allclose(some.toarray(), expected, rtol=1e-6)
    assert some.indices.dtype == np.int32
