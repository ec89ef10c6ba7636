"""Corruptions, gradients, attacks and relations, without a study."""

from dataclasses import replace

import numpy as np
import pytest

from codekin.codebooks import dense_random
from codekin_studies.robustness.attacks import Attack, Victims, crafted, survivors
from codekin_studies.robustness.comparing import (
    MAX_DIFFERENCE,
    divided_errors,
    matched_pairs,
    relations,
    standard_errors,
)
from codekin_studies.robustness.models import (
    PICTURE_CORRUPTIONS,
    RandomFeatures,
    fit_ridge,
    flipped_code_bits,
    margins_of_flipped_weights,
    train_network,
    with_flipped_bits,
)
from codekin_studies.robustness.sweeping import strata

N_CLASSES, BOX = 5, (0.0, 1.0)


@pytest.fixture(scope="module")
def samples():
    rng = np.random.default_rng(0)
    y = np.arange(200) % N_CLASSES
    X = np.clip(rng.random((N_CLASSES, 12))[y] + 0.2 * rng.standard_normal((200, 12)), 0, 1)
    return X.astype(np.float32), y


def ridge_model(samples, n_features):
    features = RandomFeatures.drawn(samples[0], n_features, width=1.0, rng=np.random.default_rng(1))
    return fit_ridge(features, *samples, N_CLASSES, ridge=0.1)


def models(samples):
    matrix = dense_random(N_CLASSES, 6, rng=0).matrix
    network = train_network(*samples, matrix, n_hidden=9, n_epochs=3, rng=np.random.default_rng(2))
    return {
        "plain": Victims.of_outputs(ridge_model(samples, 0), [matrix]),
        "random features": Victims.of_outputs(ridge_model(samples, 40), [matrix]),
        "network": Victims.of_margins(network, matrix),
    }


def test_least_squares_on_plain_features_is_the_textbook_solution(samples):
    X, y = samples
    model = ridge_model(samples, 0)
    centred = X.astype(float) - X.mean(axis=0, dtype=float)
    targets = np.eye(N_CLASSES)[y] - np.eye(N_CLASSES)[y].mean(axis=0)
    squares = centred.T @ centred
    weights = np.linalg.solve(squares + 0.1 * np.trace(squares) / 12 * np.eye(12), centred.T @ targets)
    np.testing.assert_allclose(model.weights, weights, atol=1e-4)
    np.testing.assert_allclose(model(X).sum(axis=1), 1, atol=1e-5)


@pytest.mark.parametrize("name", ["plain", "random features", "network"])
def test_gradients_of_the_gap_are_those_of_small_differences(samples, name):
    victims, x = models(samples)[name], samples[0][:1]
    first = np.zeros(1, dtype=np.intp)
    slopes = np.array([[1, 0, -1, 0, 0]], dtype=np.float32)

    def gap(at):
        return float((victims.scores(at, first)[0] * slopes).sum())

    gradient = victims.scores(x, first)[1](slopes)[0]
    step = 1e-2 * np.eye(12, dtype=np.float32)
    differences = [(gap(x + one) - gap(x - one)) / 2e-2 for one in step]
    np.testing.assert_allclose(gradient, differences, rtol=0.05, atol=0.02)


def test_attacks_on_linear_bits_break_exactly_what_can_be_broken(samples):
    X, y = samples
    matrix = dense_random(N_CLASSES, 6, rng=0).matrix
    model = ridge_model(samples, 0)
    # Margins that stay between -1 and 1, where the hinge loss is linear: the worst change is known for every rival.
    model = replace(model, weights=0.1 * model.weights, intercept=0.1 * model.intercept)
    radius, weights = 0.15, model.weights @ matrix
    assert (np.abs(model(X) @ matrix) + radius * np.abs(weights).sum(axis=0) < 1).all()
    low, high = np.maximum(X - radius, 0), np.minimum(X + radius, 1)
    can_break = np.zeros(len(X), dtype=bool)
    for rival in range(N_CLASSES):
        slopes = weights @ (matrix[y] - matrix[rival]).T  # of the gap to the rival, per sample
        worst = np.where(slopes.T > 0, low, high)
        gaps = ((worst @ weights + model.intercept @ matrix) * (matrix[y] - matrix[rival])).sum(axis=1)
        can_break |= (rival != y) & (gaps < 0)
    found = survivors(Victims.of_outputs(model, [matrix]), X, y, [radius], Attack(10, N_CLASSES, BOX, 0))
    assert 0.1 < can_break.mean() < 0.9
    np.testing.assert_array_equal(~found[0, 1], can_break)


@pytest.mark.parametrize("name", ["plain", "random features", "network"])
def test_every_attacked_picture_is_within_the_radius_and_the_box(samples, name):
    X, y = samples
    pictures = crafted(models(samples)[name], X, y, 0.1, Attack(4, 1, BOX, 0))
    assert np.abs(pictures - X).max() <= 0.1 + 1e-6
    assert pictures.min() >= 0
    assert pictures.max() <= 1


def test_attacks_do_not_depend_on_how_rows_are_divided(samples, monkeypatch):
    X, y = samples
    matrices = [dense_random(N_CLASSES, 6, rng=seed).matrix for seed in range(3)]
    victims, attack = Victims.of_outputs(ridge_model(samples, 0), matrices), Attack(4, 3, BOX, 0)
    together = survivors(victims, X, y, [0.02, 0.1], attack)
    monkeypatch.setattr("codekin_studies.robustness.attacks.VALUES_PER_BLOCK", 12 * 4 * 37)
    np.testing.assert_array_equal(survivors(victims, X, y, [0.02, 0.1], attack), together)


def test_corruptions_change_what_they_promise():
    rng = np.random.default_rng(0)
    pictures = rng.random((50, 10, 10, 1), dtype=np.float32)
    altered = {name: made(pictures, 0.3, BOX, np.random.default_rng(1)) for name, made in PICTURE_CORRUPTIONS.items()}
    assert ((altered["occlusion"] == 0).sum(axis=(1, 2, 3)) == 9).all()
    np.testing.assert_allclose(altered["contrast"].mean(axis=(1, 2, 3)), pictures.mean(axis=(1, 2, 3)), rtol=1e-4)
    np.testing.assert_allclose(altered["contrast"].std(axis=(1, 2, 3)), 0.3 * pictures.std(axis=(1, 2, 3)), rtol=1e-3)
    assert altered["blur"].std() < 0.5 * pictures.std()
    assert 0.1 < np.abs(altered["noise"] - pictures).mean() < 0.3
    assert altered["noise"].min() >= 0


def test_bits_are_flipped_as_often_as_promised():
    rng = np.random.default_rng(0)
    margins = np.ones((100, 400))
    assert (flipped_code_bits(margins, 0.15, rng) < 0).mean() == pytest.approx(0.15, abs=0.01)
    stored = rng.integers(-127, 128, (300, 200)).astype(np.int8)
    changed = with_flipped_bits(stored, 0.05, rng)
    flips = np.unpackbits((stored ^ changed).view(np.uint8)).mean()
    assert flips == pytest.approx(0.05, abs=0.005)


def test_int8_weights_without_flips_are_nearly_the_weights(samples):
    model = ridge_model(samples, 0)
    signs = dense_random(N_CLASSES, 6, rng=0).matrix
    margins = margins_of_flipped_weights(model, signs, samples[0], 0.0, np.random.default_rng(0))
    np.testing.assert_allclose(margins.T, model(samples[0]) @ signs, atol=0.05)


def test_relations_recover_the_line_they_are_made_of():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=2_000)
    clean = 80 - 2 * scores + rng.normal(size=2_000)
    z = (scores - scores.mean()) / scores.std()
    robust = 0.7 * clean + 0.5 * z
    found = relations(robust, clean, scores)
    assert found["at_equal_accuracy"] == pytest.approx(0.5)
    assert found["slope"] == pytest.approx(np.polyfit(clean, robust, 1)[0])
    assert found["per_sd"] == pytest.approx(np.polyfit(z, robust, 1)[0])
    assert found["difference"] > 0


def test_standard_errors_are_those_of_repeated_samples():
    rng = np.random.default_rng(0)
    scores = np.linspace(-1, 1, 40)

    def drawn(n):
        hard = rng.random(n)
        return rng.random((40, n)) < 0.9 - 0.4 * hard - 0.1 * scores[:, None]

    repeated = [
        relations(100 * one.mean(axis=1), 100 * one.mean(axis=1), scores)["difference"]
        for one in (drawn(300) for _ in range(200))
    ]
    one = drawn(300)
    assert standard_errors(one, one, scores, 0)["difference"] == pytest.approx(np.std(repeated), rel=0.25)


def test_relations_to_constant_accuracies_or_scores_are_not_numbers():
    rng = np.random.default_rng(0)
    found = relations(rng.normal(size=20), np.full(20, 90.0), np.full(20, 0.3))
    assert np.isnan([found[name] for name in ("per_sd", "slope", "at_equal_accuracy")]).all()


def test_strata_hold_one_assignment_each_and_both_extremes():
    order = np.random.default_rng(0).permutation(1_000)
    place = {rank: number for number, rank in enumerate(order.tolist())}
    places = [place[rank] for rank in strata(order, 10, 0).tolist()]
    assert [at // 100 for at in places] == list(range(10))
    assert (places[0], places[-1]) == (0, 999)


def test_matched_pairs_have_equal_losses_and_the_lower_score_first():
    rng = np.random.default_rng(0)
    losses, scores = rng.normal(size=50_000), rng.normal(size=50_000)
    pairs, n_bins = matched_pairs(losses, scores)
    assert 0.5 * n_bins < len(pairs) <= n_bins
    assert (np.abs(losses[pairs[:, 0]] - losses[pairs[:, 1]]) <= MAX_DIFFERENCE * losses.std()).all()
    assert (scores[pairs[:, 0]] < scores[pairs[:, 1]]).all()


def test_errors_are_divided_by_pairs():
    y = np.array([0, 0, 1, 2])
    predicted = np.array([[0, 1, 1, 2], [2, 1, 0, 2]], dtype=np.uint8)
    found = divided_errors(predicted, y, [(0, 1)])
    assert found["within"]["preserving"] == 25
    assert found["within"]["breaking"] == 50
    assert found["beyond"]["difference"][0] == -25
