"""Linear bits: margins, and pruning limited by validation."""

import numpy as np
import pytest
from scipy import sparse

from codekin.learners import linear
from codekin.learners.linear import LinearBits, SparseLinearBits
from codekin.learners.training_rows import Validation


@pytest.fixture(name="X")
def samples():
    return sparse.random_array((300, 50), density=0.2, rng=np.random.default_rng(0), format="csr")


@pytest.fixture
def bits():
    rng = np.random.default_rng(1)
    # Heavy tails: a few large weights do most of the work, as in trained models.
    return LinearBits(rng.normal(size=(50, 8)) ** 5, rng.normal(size=8))


def test_dense_and_sparse_samples_have_the_same_margins(X, bits):
    np.testing.assert_allclose(bits.margins(X), bits.margins(X.toarray()), rtol=1e-4, atol=1e-4)
    expected = X.toarray() @ bits.weights.astype(float) + bits.bias
    np.testing.assert_allclose(bits.margins(X), expected, rtol=1e-3, atol=1e-3)


def test_the_compiled_product_gives_the_same_margins_to_the_last_bit(X, bits, monkeypatch):
    by_scipy = bits.margins(X)
    monkeypatch.setattr(linear, "COMPILE_FROM", 0)
    np.testing.assert_array_equal(bits.margins(X), by_scipy)


def test_margins_of_a_sample_do_not_depend_on_the_others_or_on_threads(X, bits, monkeypatch):
    monkeypatch.setattr(linear, "COMPILE_FROM", 0)
    monkeypatch.setattr(linear, "SAMPLES_PER_BLOCK", 7)
    for model in (bits, bits.sparse(1.0)):
        threaded = type(model)(model.weights, model.bias, n_threads=3)
        np.testing.assert_array_equal(threaded.margins(X)[100:103], model.margins(X[100:103]))


@pytest.mark.parametrize(
    "convert", [sparse.csr_matrix, sparse.csc_array, sparse.coo_array, lambda X: X.astype(np.float32)]
)
def test_any_sparse_format_will_do(X, bits, convert):
    other = X.astype(convert) if convert is np.float32 else convert(X)
    np.testing.assert_array_equal(bits.margins(other), bits.margins(X))


def test_64_bit_indices_will_do(X, bits):
    wide = X.copy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    np.testing.assert_array_equal(bits.margins(wide), bits.margins(X))


def test_sparse_bits_have_the_margins_of_the_thresholded_weights(X, bits):
    kept = np.where(np.abs(bits.weights) > 1.0, bits.weights, 0)
    expected = LinearBits(kept, bits.bias)
    pruned = bits.sparse(1.0)
    assert pruned.weights.nnz == np.count_nonzero(kept)
    np.testing.assert_allclose(pruned.margins(X), expected.margins(X), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(pruned.margins(X.toarray()), expected.margins(X.toarray()), rtol=1e-5, atol=1e-4)
    assert (pruned.n_features, pruned.n_bits) == (50, 8)


@pytest.mark.parametrize("max_loss", [0.0, 0.01, 0.1])
def test_pruning_loses_no_more_than_it_may(X, bits, max_loss):
    signs = np.sign(bits.margins(X))
    validation = Validation(X, lambda margins: float((np.sign(margins) == signs).mean()))
    pruned = bits.pruned(validation, max_loss=max_loss)
    assert validation.score(pruned.margins(X)) >= 1.0 - max_loss


def test_pruning_makes_a_model_smaller_where_most_weights_do_not_matter(X, bits):
    signs = np.sign(bits.margins(X))
    pruned = bits.pruned(Validation(X, lambda margins: float((np.sign(margins) == signs).mean())), max_loss=0.05)
    assert isinstance(pruned, SparseLinearBits)
    assert pruned.weights.nnz < bits.weights.size / 2
    assert pruned.nbytes < bits.nbytes


def test_a_pruned_model_is_smaller_also_where_many_weights_have_the_same_size(X):
    weights = np.where(np.random.default_rng(0).random((50, 8)) < 0.3, 2.0, 1.0)
    bits = LinearBits(weights, np.zeros(8))
    pruned = bits.pruned(Validation(X, lambda margins: 1.0))
    assert pruned.nbytes < bits.nbytes


def test_pruning_drops_as_many_weights_as_have_to_go_and_no_more(X, bits):
    full = bits.margins(X)
    validation = Validation(X, lambda margins: -float(np.abs(margins - full).max()))
    sizes = [bits.sparse(threshold).weights.nnz for threshold in bits.thresholds(linear.KEPT_SHARES)]
    for n_weights in (100, 37, 9):
        pruned = bits.pruned(
            validation, max_loss=0.0, is_small_enough=lambda bits, n=n_weights: n_weights_of(bits) <= n
        )
        assert n_weights_of(pruned) == max(size for size in sizes if size <= n_weights)
    smallest = bits.pruned(validation, max_loss=0.0, is_small_enough=lambda _: False)
    assert n_weights_of(smallest) == min(sizes)


def n_weights_of(bits):
    return bits.weights.nnz if isinstance(bits, SparseLinearBits) else bits.weights.size


def test_pruning_leaves_a_model_alone_all_of_whose_weights_matter(X):
    bits = LinearBits(np.ones((50, 8)), np.zeros(8))
    full = bits.margins(X)
    pruned = bits.pruned(Validation(X, lambda margins: -float(np.abs(margins - full).max())), max_loss=0.0)
    np.testing.assert_array_equal(pruned.margins(X), full)


def test_misfits_are_refused_in_one_sentence(X, bits):
    with pytest.raises(ValueError, match="X must have 50 features"):
        bits.margins(X[:, 1:])
    with pytest.raises(ValueError, match="X must have 50 features"):
        bits.margins(np.zeros((3, 49)))
    with pytest.raises(ValueError, match="one entry for each of the 8 bits"):
        LinearBits(bits.weights, np.zeros(7))
