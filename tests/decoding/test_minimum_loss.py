import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from tests.reference import decoding as reference

import codekin.decoding.minimum_loss as module
from codekin.decoding import LOSSES, MinimumLossDecoder


def distinct_rows(matrix):
    return len(np.unique(matrix, axis=0)) == len(matrix)


def coding_matrices(entries):
    shapes = st.tuples(st.integers(2, 6), st.integers(3, 70))
    return shapes.flatmap(lambda shape: hnp.arrays(np.int8, shape, elements=st.sampled_from(entries))).filter(
        distinct_rows
    )


def margins_for(matrix, draw_from):
    return hnp.arrays(np.float64, (5, matrix.shape[1]), elements=draw_from)


@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
@given(data=st.data())
@settings(max_examples=15, deadline=None)
def test_class_losses_agree_with_the_definition(loss, is_weighted, data):
    matrix = data.draw(coding_matrices([-1, 0, 1]))
    f = data.draw(margins_for(matrix, st.floats(-4, 4)))
    decoder = MinimumLossDecoder(matrix, loss, is_weighted)
    expected = reference.class_losses(f, matrix, LOSSES[loss], is_weighted)
    np.testing.assert_allclose(decoder.class_losses(f), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("loss", LOSSES)
@given(data=st.data())
@settings(max_examples=20, deadline=None)
def test_decode_and_top_k_and_class_losses_tell_the_same_story(loss, data):
    matrix = data.draw(coding_matrices([-1, 0, 1]))
    # Margins in quarters: sums are exact, so ties are true ties (the exponential and logistic losses apart).
    f = data.draw(margins_for(matrix, st.integers(-8, 8).map(lambda i: i / 4)))
    decoder = MinimumLossDecoder(matrix, loss)
    losses = decoder.class_losses(f)
    classes, best = decoder.top_k(f, len(matrix))
    np.testing.assert_array_equal(decoder.decode(f), classes[:, 0])
    np.testing.assert_allclose(best, np.take_along_axis(losses, classes, axis=1), rtol=1e-12, atol=1e-12)
    if loss not in ("exponential", "logistic"):
        np.testing.assert_array_equal(classes, reference.k_smallest(losses, len(matrix)))


@pytest.mark.parametrize("is_weighted", [False, True])
@pytest.mark.parametrize("entries", [(-1, 1), (-1, 0, 1)])
@pytest.mark.parametrize("loss", LOSSES)
def test_ties_are_decided_alike_by_every_method_and_in_every_batch(loss, entries, is_weighted, monkeypatch):
    rng = np.random.default_rng(0)
    matrix = np.unique(rng.choice(np.array(entries, np.int8), (60, 12)), axis=0)
    # Few different margins, none of which is a sum of powers of two: many ties, and sums that depend on their order.
    f = rng.choice([-0.7, -0.1, 0.1, 0.3, 1.9], (300, 12)) * rng.choice([1e-9, 1.0, 1e9], (300, 1))
    decoder = MinimumLossDecoder(matrix, loss, is_weighted)
    decoded = decoder.decode(f)
    np.testing.assert_array_equal(decoder.class_losses(f).argmin(axis=1), decoded)
    np.testing.assert_array_equal(decoder.top_k(f, 2)[0][:, 0], decoded)
    for n in (1, 3):
        batches = [decoder.decode(f[start : start + n]) for start in range(0, len(f), n)]
        np.testing.assert_array_equal(np.concatenate(batches), decoded)
    monkeypatch.setattr(module, "COMPILE_FROM", 0)
    np.testing.assert_array_equal(decoder.decode(f), decoded)


@given(values=hnp.arrays(np.float64, (3, 40), elements=st.floats(-1e300, 1e300)), seed=st.integers(0, 99))
@settings(max_examples=50, deadline=None)
def test_summable_numbers_have_the_same_sum_in_every_order(values, seed):
    rounded = module.summable(values)
    limit = 40 * 2.0**-52 * np.abs(values).max(axis=1, keepdims=True) + 2.0**-1022
    assert (np.abs(rounded - values) <= limit).all()
    signs = np.random.default_rng(seed).choice([-1.0, 0.0, 1.0], 40)
    order = np.random.default_rng(seed).permutation(40)
    for row in rounded:
        assert sum((row * signs)[order].tolist()) == math.fsum(row * signs)


@pytest.mark.parametrize("loss", [*LOSSES, lambda z: np.maximum(0, 2 - z)])
@pytest.mark.parametrize("entries", [(-1, 1), (-1, 0, 1)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_fast_ways_give_what_the_plain_way_gives(loss, entries, dtype, monkeypatch):
    rng = np.random.default_rng(0)
    monkeypatch.setattr(module, "CLASSES_PER_BLOCK", 37)
    monkeypatch.setattr(module, "DECODED_PER_BLOCK", 64)
    matrix = rng.choice(np.array(entries, np.int8), (150, 9 if len(entries) == 2 else 7))
    matrix = np.unique(matrix, axis=0)
    # Many true ties, and margins that differ only beyond single precision.
    f = np.concatenate([rng.integers(-3, 4, (200, matrix.shape[1])) / 2, rng.normal(size=(200, matrix.shape[1]))])
    f[50:60] += rng.normal(size=(10, matrix.shape[1])) * 1e-9
    decoder = MinimumLossDecoder(matrix, loss)
    plain = decoder.decode(f.astype(dtype))
    monkeypatch.setattr(module, "COMPILE_FROM", 0)
    np.testing.assert_array_equal(decoder.decode(f.astype(dtype)), plain)
    np.testing.assert_array_equal(decoder.top_k(f.astype(dtype), 3)[0][:, 0], plain)


@pytest.mark.parametrize("n_bits", [5, 64, 72, 200])
@pytest.mark.parametrize("has_zeros", [False, True])
def test_counting_bits_agrees_with_counting_by_hand(n_bits, has_zeros, monkeypatch):
    monkeypatch.setattr(module, "COMPILE_FROM", 0)
    rng = np.random.default_rng(n_bits)
    matrix = np.unique(rng.choice(np.array([-1, 0, 1] if has_zeros else [-1, 1], np.int8), (20, n_bits)), axis=0)
    f = rng.integers(-1, 2, (30, n_bits)).astype(float) if has_zeros else rng.normal(size=(30, n_bits))
    np.testing.assert_array_equal(MinimumLossDecoder(matrix, "hamming").decode(f), reference.hamming_nearest(f, matrix))


@given(data=st.data())
@settings(max_examples=20, deadline=None)
def test_decoding_a_codeword_returns_its_class(data):
    matrix = data.draw(coding_matrices([-1, 1]))
    for loss in LOSSES:
        np.testing.assert_array_equal(MinimumLossDecoder(matrix, loss).decode(matrix * 0.9), np.arange(len(matrix)))


def test_equal_losses_go_to_the_lowest_class():
    decoder = MinimumLossDecoder(np.array([[1, -1], [-1, 1], [1, 1]]), "hinge")
    np.testing.assert_array_equal(decoder.decode(np.zeros((1, 2))), [0])
    np.testing.assert_array_equal(decoder.top_k(np.zeros((1, 2)), 3)[0], [[0, 1, 2]])


def test_the_number_of_threads_does_not_matter(monkeypatch):
    rng = np.random.default_rng(1)
    matrix, f = np.unique(rng.choice(np.array([-1, 1], np.int8), (99, 12)), axis=0), rng.normal(size=(2000, 12))
    monkeypatch.setattr(module, "COMPILE_FROM", 0)
    results = []
    for n_threads in (1, 3):
        monkeypatch.setattr("codekin._system.parallel.available_threads", lambda n=n_threads: n)
        results.append([MinimumLossDecoder(matrix, loss).decode(f) for loss in ("hinge", "hamming")])
    np.testing.assert_array_equal(results[0], results[1])


def test_no_samples_give_no_classes():
    decoder = MinimumLossDecoder(np.array([[1, -1], [-1, 1]]))
    assert decoder.decode(np.zeros((0, 2))).shape == (0,)
    assert decoder.top_k(np.zeros((0, 2)), 2)[0].shape == (0, 2)


def test_wrong_shapes_and_counts_are_named():
    decoder = MinimumLossDecoder(np.array([[1, -1], [-1, 1]]))
    with pytest.raises(ValueError, match=r"shape \(n_samples, 2\).*\(3, 4\)"):
        decoder.decode(np.zeros((3, 4)))
    with pytest.raises(ValueError, match="'k' parameter.*between 1 and the number of classes, 2. Got 3"):
        decoder.top_k(np.zeros((1, 2)), 3)
