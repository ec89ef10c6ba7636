import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from codekin.learners.calibration import fit_temperature, platt_scaling


def test_platt_scaling_agrees_with_logistic_regression_on_plenty_of_samples():
    rng = np.random.default_rng(0)
    margins = rng.normal(size=(20_000, 2)) * [0.5, 10]
    signs = np.where(rng.random((20_000, 2)) < 1 / (1 + np.exp(-(margins * [3, 0.2] + [0.5, -1]))), 1, -1).astype(
        np.int8
    )
    slopes, intercepts = platt_scaling(margins, signs, np.ones(20_000))
    for j in range(2):
        reference = LogisticRegression(C=np.inf).fit(margins[:, [j]], signs[:, j])
        assert slopes[j] == pytest.approx(reference.coef_[0, 0], rel=0.01)
        assert intercepts[j] == pytest.approx(reference.intercept_[0], abs=0.02)


def test_separable_bits_stay_finite_and_keep_their_side():
    margins = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    slopes, intercepts = platt_scaling(margins, np.sign(margins).astype(np.int8), np.ones(4))
    assert np.isfinite(slopes).all()
    assert slopes[0] > 0
    np.testing.assert_array_equal(np.sign(margins * slopes + intercepts), np.sign(margins))


def test_a_bit_that_predicts_worse_than_chance_says_nothing():
    margins = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    slopes, _ = platt_scaling(margins, -np.sign(margins).astype(np.int8), np.ones(4))
    assert slopes[0] == 0


def test_samples_with_a_zero_do_not_count():
    rng = np.random.default_rng(1)
    margins, signs = rng.normal(size=(50, 1)), rng.choice(np.array([-1, 1], np.int8), (50, 1))
    padded = platt_scaling(
        np.vstack([margins, 99 * np.ones((5, 1))]), np.vstack([signs, np.zeros((5, 1), np.int8)]), np.ones(55)
    )
    alone = platt_scaling(margins, signs, np.ones(50))
    np.testing.assert_allclose(np.ravel(padded), np.ravel(alone), rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("entries", [(-1, 1), (-1, 0, 1)])
def test_bits_that_count_evidence_twice_get_a_temperature_of_two(entries):
    rng = np.random.default_rng(2)
    matrix = np.unique(rng.choice(np.array(entries, np.int8), (5, 6)), axis=0)
    log_odds = rng.normal(size=(20_000, 6)) * 2
    z = matrix[None] * log_odds[:, None]
    scores = -np.logaddexp(0, -z).sum(axis=2)
    probabilities = np.exp(scores - scores.max(1, keepdims=True))
    probabilities /= probabilities.sum(1, keepdims=True)
    y = (probabilities.cumsum(1) > rng.random((20_000, 1))).argmax(1)
    assert fit_temperature(log_odds, y, matrix, np.ones(20_000)) == pytest.approx(1, abs=0.05)
    assert fit_temperature(2 * log_odds, y, matrix, np.ones(20_000)) == pytest.approx(2, abs=0.1)
