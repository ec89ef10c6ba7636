import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from tests.reference import multinomial as reference

import codekin.decoding._multinomial as chooser
import codekin.decoding.decoder_fit as module
from codekin.code import Assignment, Code
from codekin.codebooks import dense_random
from codekin.decoding import LOSSES, MinimumLossDecoder, fit_decoder
from codekin.decoding._multinomial import Problem, shrunk_weights
from codekin.decoding.learned import best_factor


def random_problem(seed, n_samples=40, n_features=4, n_classes=3):
    rng = np.random.default_rng(seed)
    weights = rng.random(n_samples) + 0.1
    features = rng.normal(size=(n_samples, n_features))
    classes = rng.integers(n_classes, size=n_samples)
    return Problem(features, classes, weights / weights.sum(), n_classes, smoothing=0.02)


def noisy_margins(code, n_samples, noise, seed=0):
    rng = np.random.default_rng(seed)
    classes = np.arange(n_samples) % code.n_classes
    return code.coding_matrix[classes] + noise * rng.normal(size=(n_samples, code.n_bits)), classes


def dense_code(n_classes=6, n_bits=8):
    return Code(dense_random(n_classes, n_bits, rng=0), Assignment.identity(n_classes))


@given(seed=st.integers(0, 10**6), scale=st.sampled_from([0.1, 1.0, 30.0]))
@settings(max_examples=25, deadline=None)
def test_loss_and_gradient_agree_with_the_definition(seed, scale):
    problem = random_problem(seed)
    weights = scale * np.random.default_rng(seed).normal(size=(3, 4))
    expected, expected_gradient = reference.objective(
        weights, problem.features, problem.class_index, problem.sample_weight, problem.smoothing, weights, 0.0
    )
    gradient = np.zeros((3, 4))
    assert problem.loss(weights, gradient) == pytest.approx(expected)
    np.testing.assert_allclose(gradient, expected_gradient, atol=1e-12)


@given(seed=st.integers(0, 10**6), strength=st.sampled_from([0.01, 0.3, 10.0]))
@settings(max_examples=10, deadline=None)
def test_shrunk_weights_are_the_minimum(seed, strength):
    problem = random_problem(seed)
    centre = np.random.default_rng(seed).normal(size=(3, 4))
    found, _ = shrunk_weights(problem, centre, strength, centre, 1000)

    def value(x):
        of = problem.features, problem.class_index, problem.sample_weight, problem.smoothing, centre, strength
        loss, gradient = reference.objective(x.reshape(3, 4), *of)
        return loss, gradient.ravel()

    best = minimize(value, np.zeros(12), jac=True, options={"gtol": 1e-8})
    assert value(found.ravel())[0] == pytest.approx(best.fun, abs=1e-5)


def test_a_loss_in_blocks_is_the_loss(monkeypatch):
    problem, weights = random_problem(0), np.ones((3, 4))
    weights[0] = 2.0
    whole, part = np.zeros((3, 4)), np.zeros((3, 4))
    loss = problem.loss(weights, whole)
    monkeypatch.setattr("codekin.decoding._multinomial.BLOCK_ENTRIES", 20)
    assert problem.loss(weights, part) == pytest.approx(loss)
    np.testing.assert_allclose(part, whole, atol=1e-12)


def test_a_sample_of_weight_two_counts_as_two_samples():
    problem = random_problem(0)
    doubled = np.r_[np.arange(40), np.arange(10)]
    twice = Problem(problem.features[doubled], problem.class_index[doubled], np.full(50, 1 / 50), 3, 0.02)
    once = Problem(problem.features, problem.class_index, np.r_[np.full(10, 2), np.ones(30)] / 50, 3, 0.02)
    centre = np.ones((3, 4))
    np.testing.assert_allclose(
        shrunk_weights(once, centre, 0.1, centre, 100)[0], shrunk_weights(twice, centre, 0.1, centre, 100)[0], atol=1e-6
    )


def test_the_best_factor_is_better_than_others():
    problem = random_problem(3)
    means = np.array([problem.features[problem.class_index == k].mean(axis=0) for k in range(3)])
    best = means * best_factor(problem, means)
    assert problem.loss(best) <= min(problem.loss(best * 0.9), problem.loss(best * 1.1))


@pytest.mark.parametrize("loss", LOSSES)
def test_with_infinite_multinomial_it_is_loss_based_decoding(loss):
    code = dense_code()
    margins, classes = noisy_margins(code, 200, noise=1.0)
    fit = fit_decoder(margins, classes, code, loss=loss, strengths=(np.inf,), rng=0)
    new = np.random.default_rng(1).normal(size=(300, code.n_bits))
    expected = MinimumLossDecoder(code.coding_matrix, loss)
    np.testing.assert_array_equal(fit.decoder.decode(new), expected.decode(new))
    if loss != "hamming":  # which of equal classes comes first is decided by rounding until the last fit
        assert fit.accuracy == fit.loss_based_accuracy


@pytest.mark.parametrize("is_weighted", [False, True])
def test_with_infinite_multinomial_codes_with_zeros_are_decoded_under_the_linear_loss(is_weighted):
    code = Code.of([[1, 1, 0, 1], [1, -1, 1, 0], [-1, 0, -1, 0], [0, -1, 1, -1]])
    margins, classes = noisy_margins(code, 200, noise=0.5)
    fit = fit_decoder(margins, classes, code, is_weighted=is_weighted, strengths=(np.inf,), rng=0)
    scores = margins @ (code.coding_matrix / ((code.coding_matrix != 0).sum(axis=1)[:, None] if is_weighted else 1)).T
    np.testing.assert_array_equal(fit.decoder.decode(margins), scores.argmax(axis=1))


def test_bits_that_are_too_cautious_are_understood():
    code = dense_code()
    margins, classes = noisy_margins(code, 600, noise=0.5)
    fit = fit_decoder(margins + 2, classes, code, rng=0)
    new, truth = noisy_margins(code, 600, noise=0.5, seed=1)
    assert fit.accuracy >= fit.loss_based_accuracy
    assert (fit.decoder.decode(new + 2) == truth).mean() > fit.loss_based_accuracy + 0.1
    probabilities = fit.decoder.probabilities(new + 2)
    assert -np.log(probabilities[np.arange(600), truth]).mean() == pytest.approx(fit.log_loss, abs=0.05)


def test_margins_without_a_word_of_truth_leave_the_coding_matrix_alone():
    code = dense_code()
    _, classes = noisy_margins(code, 300, noise=0)
    margins = np.random.default_rng(0).normal(size=(300, code.n_bits))
    fit = fit_decoder(margins, classes, code, rng=0)
    assert fit.decoder.probabilities(margins).max() < 0.4


def trial(log_loss, n_right, shift=0):
    is_right = np.roll(np.arange(100) < n_right, shift)
    return chooser.Trial(None, 1.0, *[chooser.Outcome(np.full(100, log_loss), is_right)] * 2, np.zeros((2, 2)), False)


def test_the_likeliest_multinomial_is_taken_among_those_that_are_about_as_accurate_as_the_best():
    tried = [trial(1.0, 80), trial(0.9, 90), trial(0.5, 89, shift=3), trial(0.1, 82)]
    assert chooser._choice(tried, np.ones(100)) == 2


def test_no_multinomial_is_taken_that_is_less_accurate_than_loss_based_decoding():
    tried = [trial(1.0, 80), trial(0.5, 79, shift=3), trial(0.7, 95)]
    assert chooser._choice(tried, np.ones(100)) == 2


def test_loss_based_decoding_stays_unless_others_are_likelier_and_no_less_accurate():
    assert chooser._choice([trial(1.0, 90), trial(0.5, 89)], np.ones(100)) == 0
    assert chooser._choice([trial(0.5, 90), trial(1.0, 90)], np.ones(100)) == 0
    assert chooser._choice([trial(1.0, 90), trial(0.5, 90)], np.ones(100)) == 1


def test_a_gain_in_accuracy_beyond_chance_outweighs_the_likelihood():
    assert chooser._choice([trial(0.6, 90), trial(0.5, 90), trial(0.8, 99)], np.ones(100)) == 2


def test_weights_that_have_learned_how_margins_of_their_own_samples_differ_are_not_taken():
    """Margins that say the class of a sample only while weights are fitted, as those without the sample might."""
    rng, code = np.random.default_rng(0), dense_code()
    classes = rng.integers(code.n_classes, size=300)
    margins = rng.normal(size=(300, code.n_bits))
    leaking = margins - 0.02 * code.coding_matrix[classes]
    leaking[:, 0] = margins[:, 0] = 0.0
    leaking[:, 0] += 0.001 * classes
    assert fit_decoder(leaking, classes, code, rng=0).strength < np.inf
    fit = fit_decoder(leaking, classes, code, held_out_margins=margins, rng=0)
    assert fit.strength == np.inf
    assert fit.log_loss > np.log(code.n_classes) - 0.2


def test_samples_without_weight_change_nothing():
    code = dense_code()
    margins, classes = noisy_margins(code, 120, noise=1.0)
    weights = np.r_[np.ones(90), np.zeros(30)]
    fit = fit_decoder(margins, classes, code, sample_weight=weights, rng=0)
    same = fit_decoder(margins[:90], classes[:90], code, rng=0)
    np.testing.assert_array_equal(fit.decoder.weights, same.decoder.weights)


def test_a_class_without_samples_is_unlikely_and_finite():
    code = dense_code()
    margins, classes = noisy_margins(code, 300, noise=0.7)
    seen = classes != 2
    fit = fit_decoder(margins[seen], classes[seen], code, rng=0)
    assert fit.decoder.probabilities(margins[seen])[:, 2].mean() < 0.05


def test_a_bit_that_never_changes_keeps_no_weight():
    code = dense_code()
    margins, classes = noisy_margins(code, 300, noise=0.7)
    margins[:, 3] = -1.0
    decoder = fit_decoder(margins, classes, code, rng=0).decoder
    assert (decoder.weights[:, 3] == 0).all()
    assert np.isfinite(decoder.weights).all()


def test_of_many_samples_some_are_drawn_and_every_class_once(monkeypatch):
    monkeypatch.setattr(module, "MAX_MARGINS", 50)
    code = dense_code()
    margins, classes = noisy_margins(code, 400, noise=0.7)
    classes[classes == 5] = 0
    classes[7] = 5
    rows = module._drawn(np.arange(400), classes, *code.coding_matrix.shape, np.random.default_rng(0))
    assert 50 <= len(rows) <= 56
    assert set(classes[rows]) == set(range(6))
    assert fit_decoder(margins, classes, code, rng=0).n_margins == len(rows)


@pytest.mark.parametrize("loss", ["linear", "hinge"])
def test_little_work_allows_few_multinomials(loss, monkeypatch):
    monkeypatch.setattr("codekin.decoding._multinomial.MAX_WORK", 0)
    code = dense_code()
    fit = fit_decoder(*noisy_margins(code, 200, noise=0.7), code, loss=loss, rng=0)
    assert fit.strengths.tolist() == [np.inf]


def test_the_same_seed_gives_the_same_decoder():
    code = dense_code()
    margins, classes = noisy_margins(code, 200, noise=1.0)
    first, second = (fit_decoder(margins, classes, code, rng=3) for _ in range(2))
    np.testing.assert_array_equal(first.decoder.weights, second.decoder.weights)


def test_two_samples_are_enough_and_one_is_not():
    code = dense_code()
    margins, classes = noisy_margins(code, 2, noise=0.1)
    assert np.isfinite(fit_decoder(margins, classes, code, rng=0).decoder.weights).all()
    with pytest.raises(ValueError, match="at least 2 samples of positive weight. Got 1"):
        fit_decoder(margins[:1], classes[:1], code)
    with pytest.raises(ValueError, match="Each of 2 rows of margins"):
        fit_decoder(margins, classes[:1], code)


def ring_and_middle(n_samples, seed):
    """Class 0 lies around class 1, so that no linear score of the margins tells them apart."""
    rng = np.random.default_rng(seed)
    classes = np.arange(n_samples) % 2
    return rng.normal(size=(n_samples, 2)) * np.where(classes == 0, 3.0, 0.5)[:, None], classes


def test_products_tell_classes_apart_that_differ_in_the_spread_of_their_margins():
    code = Code.of([[1, 1], [-1, 1]])
    margins, classes = ring_and_middle(600, seed=0)
    fit = fit_decoder(margins, classes, code, with_products=True, rng=0)
    new, truth = ring_and_middle(600, seed=1)
    assert fit.decoder.products is not None
    assert (fit.decoder.decode(new) == truth).mean() > 0.85
    assert fit_decoder(margins, classes, code, rng=0).accuracy < 0.7


def test_products_are_left_alone_where_they_say_nothing():
    code = dense_code()
    fit = fit_decoder(*noisy_margins(code, 300, noise=1.0), code, with_products=True, rng=0)
    assert fit.has_products.any()
    assert fit.accuracy >= fit.held_out_accuracies[0]


def test_too_many_products_are_not_tried(monkeypatch):
    monkeypatch.setattr(chooser, "MAX_WORK_OF_PRODUCTS", 10**5)
    code = dense_code()
    fit = fit_decoder(*noisy_margins(code, 300, noise=1.0), code, with_products=True, rng=0)
    assert not fit.has_products.any()


@pytest.mark.parametrize("loss", LOSSES)
def test_weights_are_learned_of_the_margins_as_they_are(loss):
    code = dense_code()
    margins, classes = noisy_margins(code, 600, noise=0.5)
    fit = fit_decoder(margins + 2, classes, code, loss=loss, rng=0)
    assert np.isfinite(fit.strength)
    assert fit.decoder.loss.name == (loss if loss in chooser.LINEAR_LOSSES else "linear")
