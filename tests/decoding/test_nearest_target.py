"""Decoding of real codewords by the nearest target."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from codekin.code import Assignment, Code
from codekin.codebooks import dense_random
from codekin.codebooks.designs.spectral import random_projection
from codekin.decoding import MinimumLossDecoder, decoder_of, fit_decoder
from codekin.decoding.learned import NearestTargetDecoder
from codekin.model import FittedCode

seeds = st.integers(0, 2**32 - 1)


def real_code(n_classes=6, n_bits=4, seed=0):
    return Code(random_projection(n_classes, n_bits, rng=seed), Assignment.identity(n_classes))


@given(seeds, st.integers(2, 30), st.integers(1, 6))
@settings(max_examples=30, deadline=None)
def test_decoding_a_target_returns_its_class(seed, n_classes, n_bits):
    codebook = random_projection(n_classes, n_bits, rng=seed)
    assume(codebook.min_distance > 1e-9)  # targets have six digits
    decoder = NearestTargetDecoder(codebook.matrix)
    assert decoder.decode(codebook.matrix).tolist() == list(range(n_classes))
    assert np.abs(np.diag(decoder.class_losses(codebook.matrix))).max() < 1e-6


@given(seeds)
@settings(max_examples=20, deadline=None)
def test_losses_are_squared_distances(seed):
    rng = np.random.default_rng(seed)
    targets, margins = rng.normal(size=(5, 3)), 2 * rng.normal(size=(40, 3))
    expected = np.square(margins[:, None] - targets).sum(axis=2)
    decoder = NearestTargetDecoder(targets)
    np.testing.assert_allclose(decoder.class_losses(margins), expected, atol=1e-4)
    assert (decoder.decode(margins) == expected.argmin(axis=1)).all()
    classes, losses = decoder.top_k(margins, 3)
    assert (classes == np.argsort(expected, axis=1)[:, :3]).all()
    np.testing.assert_array_equal(losses, np.take_along_axis(decoder.class_losses(margins), classes, axis=1))


def test_targets_of_signs_are_decoded_as_under_the_squared_loss():
    signs = dense_random(8, 10, rng=0).matrix
    margins = np.random.default_rng(0).normal(size=(200, 10))
    squared, nearest = MinimumLossDecoder(signs, "squared"), NearestTargetDecoder(signs)
    np.testing.assert_array_equal(nearest.decode(margins), squared.decode(margins))
    np.testing.assert_allclose(nearest.class_losses(margins), squared.class_losses(margins), atol=1e-6)


def test_a_sample_alone_has_the_losses_it_has_among_others():
    decoder, margins = (
        NearestTargetDecoder(real_code().coding_matrix),
        np.random.default_rng(1).normal(size=(999, 4)),
    )
    every = decoder.class_losses(margins)
    for row in (0, 500, 998):
        np.testing.assert_array_equal(decoder.class_losses(margins[row : row + 1])[0], every[row])


def test_real_codes_are_decoded_by_the_squared_loss_and_no_other():
    assert isinstance(decoder_of(real_code(), "squared"), NearestTargetDecoder)
    with pytest.raises(ValueError, match="Got loss='hinge' and is_weighted=False"):
        FittedCode.of(real_code(), None, "hinge")
    with pytest.raises(ValueError, match="is_weighted=True"):
        decoder_of(real_code(), "squared", is_weighted=True)


@given(seeds, st.floats(0.05, 2))
@settings(max_examples=40, deadline=None)
def test_the_error_is_below_its_bound(seed, noise):
    code, rng = real_code(seed=seed), np.random.default_rng(seed)
    classes = np.arange(60) % 6
    margins = code.coding_matrix[classes] + noise * rng.normal(size=(60, 4))
    decoder = decoder_of(code, "squared")
    epsilon = float(code.codebook.bit_losses(margins, code.coding_matrix, classes, decoder.loss).mean())
    assert epsilon == pytest.approx(np.square(margins - code.coding_matrix[classes]).mean())
    error = (decoder.decode(margins) != classes).mean()
    assert error <= code.codebook.error_bound(epsilon, decoder.loss) + 1e-9


def test_a_decoder_shrunk_to_the_targets_is_the_nearest_one():
    """As far as possible: the first of the compared decoders has the accuracy of the nearest target."""
    code, rng = real_code(8, 5), np.random.default_rng(0)
    classes = np.arange(400) % 8
    margins = code.coding_matrix[classes] + 0.8 * rng.normal(size=(400, 5))
    fit = fit_decoder(margins, classes, code, loss="squared", rng=0)
    assert fit.held_out_accuracies[0] == fit.loss_based_accuracy
    if np.isinf(fit.strength):
        np.testing.assert_array_equal(fit.decoder.decode(margins), decoder_of(code, "squared").decode(margins))


def test_a_learned_decoder_corrects_margins_that_are_always_off():
    code, rng = real_code(8, 5), np.random.default_rng(0)
    classes = np.arange(800) % 8
    margins = code.coding_matrix[classes] * [1, 0.2, 1, 0.3, 1] + [0, 2, 0, -1, 0] + 0.2 * rng.normal(size=(800, 5))
    fit = fit_decoder(margins, classes, code, loss="squared", rng=0)
    assert fit.loss_based_accuracy < 0.8
    assert fit.accuracy > 0.97
