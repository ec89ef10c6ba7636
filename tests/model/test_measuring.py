import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference.calibration import expected_calibration_error

from codekin.code import Codebook
from codekin.decoding import LOSSES, MinimumLossDecoder
from codekin.measures.predictions import confidence_error


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "exponential", "logistic", "squared", "hamming"])
@pytest.mark.parametrize("entries", [(-1, 1), (-1, 0, 1)])
@given(seed=st.integers(0, 10_000), noise=st.floats(0.1, 5))
@settings(max_examples=25, deadline=None)
def test_the_bound_of_eq_4_holds(loss, entries, seed, noise):
    """For convex losses by theorem, and for the Hamming loss as the paper's special case."""
    rng = np.random.default_rng(seed)
    codebook = Codebook(np.unique(rng.choice(entries, (6, 12)), axis=0))
    y = rng.integers(codebook.n_codewords, size=40)
    margins = codebook.matrix[y] + noise * rng.normal(size=(40, 12))
    error = (MinimumLossDecoder(codebook.matrix, loss).decode(margins) != y).mean()
    epsilon = codebook.bit_losses(margins, codebook.matrix, y, LOSSES[loss]).mean()
    assert error <= codebook.error_bound(epsilon, LOSSES[loss]) + 1e-12


def test_the_mean_loss_of_the_bits_is_eq_3():
    margins = np.array([[2.0, -0.5], [0.0, 3.0]])
    matrix = np.array([[1, 1], [-1, 1]], dtype=np.int8)
    losses = Codebook(matrix).bit_losses(margins, matrix, np.array([0, 1]), LOSSES["hinge"])
    np.testing.assert_allclose(losses, [0.5, 0.75])
    assert losses.mean() == (0 + 1.5 + 1 + 0) / 4


def test_a_loss_that_vanishes_at_zero_bounds_nothing():
    codebook = Codebook([[1, 1], [-1, -1]])
    assert codebook.error_bound(0.1, lambda z: np.maximum(0, -z)) == np.inf


def test_calibration_error_of_honest_and_boastful_predictions():
    assert confidence_error(np.full(4, 0.75), np.array([True, True, True, False])) == pytest.approx(0)
    assert confidence_error(np.ones(4), np.array([True, True, False, False])) == pytest.approx(0.5)


def test_the_calibration_error_agrees_with_the_one_bin_by_bin():
    rng = np.random.default_rng(0)
    probabilities = rng.dirichlet(np.ones(4), 300)
    class_index = rng.integers(4, size=300)
    found = confidence_error(probabilities.max(axis=1), probabilities.argmax(axis=1) == class_index)
    assert found == pytest.approx(expected_calibration_error(probabilities, class_index))
