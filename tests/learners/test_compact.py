"""Predictors with few bytes per weight: as exact as their precision allows, equal after a round trip, and small."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from codekin.code import Code
from codekin.learners import AROW, Validation, compact
from codekin.learners.compact import (
    PRECISIONS,
    SMALLEST_HALF,
    CompactLinearBits,
    CompactSparseLinearBits,
    compacted,
    decompressed,
)
from codekin.learners.linear import LinearBits, SparseLinearBits
from codekin.samples import Samples

NARROW = [precision for precision in PRECISIONS if precision != "float32"]


def random_bits(rng, n_features=40, n_bits=19, density=0.5):
    weights = rng.standard_t(3, size=(n_features, n_bits)) * (rng.random((n_features, n_bits)) < density)
    weights[rng.random(n_features) < 0.3] = 0
    return LinearBits(weights.astype(np.float32), rng.normal(size=n_bits))


def both_forms(bits, precision):
    return CompactLinearBits.of(bits, precision), CompactSparseLinearBits.of(bits.sparse(), precision)


@given(st.integers(1, 600), st.sampled_from(NARROW), st.floats(0.003, 1), st.integers(0, 2**32))
@settings(max_examples=40, deadline=None)
def test_margins_are_those_of_the_weights_that_are_kept(n_bits, precision, density, seed):
    rng = np.random.default_rng(seed)
    bits = random_bits(rng, n_bits=n_bits, density=density)
    X = sparse.random_array((7, 40), density=0.4, rng=rng, format="csr", dtype=np.float32)
    dense, gapped = both_forms(bits, precision)
    expected = dense.decompressed().margins(X)
    # A scale multiplies the value first, or the weight.
    np.testing.assert_allclose(dense.margins(X), expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(gapped.margins(X), expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(gapped.decompressed().weights.toarray(), dense.decompressed().weights)
    np.testing.assert_array_equal(dense.margins(X.toarray()), dense.margins(X))


@given(st.sampled_from(NARROW), st.integers(0, 2**32))
@settings(max_examples=30, deadline=None)
def test_weights_are_as_close_as_the_precision_allows(precision, seed):
    bits = random_bits(np.random.default_rng(seed))
    kept = compacted(bits, precision).decompressed()
    kept = kept.weights if isinstance(kept, LinearBits) else kept.weights.toarray()
    error = np.abs(kept - bits.weights)
    if precision == "int8":
        assert (error <= np.abs(bits.weights).max(axis=1, keepdims=True) / 127 * 0.5001).all()
    else:
        assert (error <= np.maximum(np.abs(bits.weights) * 2**-11, SMALLEST_HALF)).all()


def test_halves_of_every_size_come_back():
    every = np.arange(2**16, dtype=np.uint16).view(np.float16).astype(np.float32)
    every = every[np.isfinite(every) & ((every == 0) | (np.abs(every) >= SMALLEST_HALF))].reshape(1, -1)
    bits = CompactLinearBits.of(LinearBits(every, np.zeros(every.shape[1])), "float16")
    np.testing.assert_array_equal(bits.margins(sparse.csr_array([[1.0]]))[0], every[0])
    huge = LinearBits([[1e6, -1e6, 1e-9]], np.zeros(3))
    assert CompactLinearBits.of(huge, "float16").weights[1].tolist() == [65504, -65504, 0]


@pytest.mark.parametrize("precision", NARROW)
def test_features_without_weights_take_no_row(precision):
    weights = np.zeros((10, 4), dtype=np.float32)
    weights[[2, 7]] = 1, 2, 3, 4
    dense, gapped = both_forms(LinearBits(weights, np.zeros(4)), precision)
    assert dense.row_of_feature.tolist() == [0, 0, 1, 0, 0, 0, 0, 2, 0, 0]
    assert dense.weights.shape == (3, 4)
    assert gapped.counts.tolist() == [0, 0, 4, 0, 0, 0, 0, 4, 0, 0]
    nothing = LinearBits(np.zeros((3, 2)), [1.0, 2.0])
    for bits in both_forms(nothing, precision):
        np.testing.assert_array_equal(bits.margins(np.ones((1, 3))), [[1, 2]])


def test_the_smaller_form_is_chosen_and_float32_left_alone():
    rng = np.random.default_rng(0)
    full, thin = random_bits(rng, density=1.0), random_bits(rng, density=0.05)
    assert compacted(full, "float32") is full
    assert isinstance(compacted(full, "int8"), CompactLinearBits)
    assert isinstance(compacted(thin, "int8"), CompactSparseLinearBits)
    assert isinstance(compacted(full.sparse(), "float16"), CompactSparseLinearBits)
    assert compacted(full, "int8").nbytes < compacted(full, "float16").nbytes < full.nbytes
    with pytest.raises(ValueError, match="'precision' parameter must be one of .*Got 'int4' instead"):
        compacted(full, "int4")


def test_the_number_of_threads_changes_nothing():
    rng = np.random.default_rng(0)
    X = sparse.random_array((900, 40), density=0.4, rng=rng, format="csr", dtype=np.float32)
    bits = random_bits(rng)
    for precision in NARROW:
        for one, three in zip(
            both_forms(LinearBits(bits.weights, bits.bias, 1), precision),
            both_forms(LinearBits(bits.weights, bits.bias, 3), precision),
            strict=True,
        ):
            np.testing.assert_array_equal(one.margins(X), three.margins(X))


def test_pruning_scores_what_it_returns():
    rng = np.random.default_rng(0)
    bits = random_bits(rng, density=1.0)
    X = rng.normal(size=(200, 40))
    signs = bits.margins(X) > 0
    validation = Validation(X, lambda margins: float(((margins > 0) == signs).mean()))
    for precision in PRECISIONS:
        pruned = bits.pruned(validation, max_loss=0.1, finished=partial(compacted, precision=precision))
        assert validation.score(pruned.margins(X)) >= 0.9
        assert isinstance(pruned, SparseLinearBits if precision == "float32" else CompactSparseLinearBits)
        assert pruned.precision == precision
        assert pruned.nbytes < compacted(bits, precision).nbytes


@pytest.mark.parametrize("precision", NARROW)
def test_pruning_in_blocks_of_features_changes_nothing(precision, monkeypatch):
    bits = random_bits(np.random.default_rng(0), density=1.0)
    whole = CompactSparseLinearBits.of(bits.sparse(0.5), precision)
    monkeypatch.setattr(compact, "FEATURES_PER_BLOCK", 7)
    in_blocks = compacted(bits, precision, 0.5)
    for name in ("weights", "gaps", "counts", "scales"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(in_blocks, name))


@pytest.mark.parametrize("precision", NARROW)
def test_compact_bits_can_go_on_learning(precision):
    rng = np.random.default_rng(0)
    X = sparse.random_array((60, 12), density=0.5, rng=rng, format="csr", dtype=np.float32)
    classes, matrix = rng.integers(0, 4, size=60), np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]], dtype=np.int8)
    bits = AROW(n_epochs=1).fit(Samples(X, classes), Code.of(matrix), rng=0)
    for form in both_forms(bits, precision):
        further = AROW().partial_fit(form, Samples(X, classes), Code.of(matrix), rng=1)
        expected = AROW().partial_fit(decompressed(form), Samples(X, classes), Code.of(matrix), rng=1)
        np.testing.assert_array_equal(further.state, expected.state)
