import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codekin.coding import Codebook
from codekin.decoding import LOSSES, MinimumLossDecoder
from codekin.model.measuring import (
    average_binary_loss,
    binary_losses,
    expected_calibration_error,
    multiclass_error_bound,
)


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
    epsilon = average_binary_loss(margins, y, codebook.matrix, LOSSES[loss])
    assert error <= multiclass_error_bound(epsilon, codebook, LOSSES[loss]) + 1e-12


def test_average_binary_loss_is_eq_3():
    margins = np.array([[2.0, -0.5], [0.0, 3.0]])
    matrix = np.array([[1, 1], [-1, 1]], dtype=np.int8)
    expected = (0 + 1.5 + 1 + 0) / 4
    assert average_binary_loss(margins, np.array([0, 1]), matrix, LOSSES["hinge"]) == expected
    np.testing.assert_allclose(binary_losses(margins, np.array([0, 1]), matrix, LOSSES["hinge"]), [0.5, 0.75])


def test_a_loss_that_vanishes_at_zero_bounds_nothing():
    codebook = Codebook([[1, 1], [-1, -1]])
    assert multiclass_error_bound(0.1, codebook, lambda z: np.maximum(0, -z)) == np.inf


def test_calibration_error_of_honest_and_boastful_predictions():
    honest = np.tile([0.75, 0.25], (4, 1))
    assert expected_calibration_error(honest, np.array([0, 0, 0, 1])) == pytest.approx(0)
    boastful = np.tile([1.0, 0.0], (4, 1))
    assert expected_calibration_error(boastful, np.array([0, 0, 1, 1])) == pytest.approx(0.5)
