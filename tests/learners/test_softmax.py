"""Softmax as a learner of codes: what its options promise, on trellises and on any other code."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from tests.reference import softmax as reference

from codekin.code import Assignment, Code
from codekin.codebooks import dense_random, one_vs_rest, sparse_random, trellis_codebook
from codekin.decoding import MinimumLossDecoder, ShortestPathDecoder
from codekin.learners import AROW, IndependentBits, Learner, Softmax, Validation, online
from codekin.learners import softmax as softmax_module
from codekin.samples import Samples

N_CLASSES, N_FEATURES = 10, 30
IDENTITY = Assignment.identity(N_CLASSES)
CODEBOOKS = {
    "trellis": trellis_codebook(N_CLASSES, 3),
    "dense": dense_random(N_CLASSES, n_bits=12, rng=0),
    "ternary": sparse_random(N_CLASSES, n_bits=20, rng=0),
}


@pytest.fixture(scope="module")
def samples():
    """Classes that linear scores can tell apart, with some noise."""
    rng = np.random.default_rng(0)
    class_index = rng.integers(0, N_CLASSES, size=400)
    centres = rng.normal(size=(N_CLASSES, N_FEATURES)) * (rng.random((N_CLASSES, N_FEATURES)) < 0.4)
    X = sparse.csr_array(centres[class_index] * (rng.random((400, N_FEATURES)) < 0.8) * rng.normal(1, 0.3, (400, 1)))
    return X.astype(np.float32), class_index


@pytest.fixture(params=list(CODEBOOKS))
def codebook(request):
    return CODEBOOKS[request.param]


def fitted(learner, samples, codebook, assignment=IDENTITY, **options):
    weights = options.pop("sample_weight", None)
    return learner.fit(Samples(*samples, weights), Code(codebook, assignment), **{"rng": 0, **options})


def predicted(bits, X, codebook, assignment=IDENTITY):
    return MinimumLossDecoder(codebook.coding_matrix(assignment), "linear").decode(bits.margins(X))


def test_all_learners_keep_one_protocol_and_softmax_alone_learns_probabilities():
    for learner, learns_probabilities in ((Softmax(), True), (AROW(), False), (IndependentBits(LinearSVC()), False)):
        assert isinstance(learner, Learner)
        assert learner.learns_probabilities == learns_probabilities
    assert not isinstance(LinearSVC(), Learner)


@pytest.mark.parametrize("name", ["trellis", "ternary"])
def test_fitting_is_diagonal_newton_on_the_multiclass_logistic_loss(samples, name):
    X, class_index = samples
    codebook, assignment = CODEBOOKS[name], Assignment(np.arange(N_CLASSES)[::-1].copy())
    bits = fitted(Softmax(n_epochs=2, shuffle=False), samples, codebook, assignment)
    rows = X.toarray()
    norm = (rows[rows.any(axis=1)] ** 2).sum(axis=1).mean()
    matrix = codebook.coding_matrix(assignment)
    n_used = np.count_nonzero(matrix) / len(matrix)
    curvature = 0.3 * norm * (1 if name == "trellis" else max(1, n_used / 12))
    order = [*range(400)] * 2
    weights, _ = reference.softmax(rows, class_index, matrix, np.ones(400), order, step=0.5, curvature=curvature)
    np.testing.assert_allclose(bits.weights, weights, rtol=0.02, atol=2e-3)
    assert not bits.bias.any()


def test_it_learns(samples, codebook):
    X, class_index = samples
    bits = Softmax().fit(Samples(X[:300], class_index[:300]), Code(codebook, IDENTITY), rng=0)
    assert (predicted(bits, X[300:], codebook) == class_index[300:]).mean() > 0.9


def test_scaling_all_features_changes_no_prediction(samples, codebook):
    X, class_index = samples
    plain, scaled = fitted(Softmax(), samples, codebook), fitted(Softmax(), (64 * X, class_index), codebook)
    np.testing.assert_allclose(plain.margins(X), scaled.margins(64 * X), rtol=1e-3, atol=1e-3)


def test_many_passes_come_near_to_the_logistic_regression_of_scikit_learn(samples):
    X, class_index = samples
    rng = np.random.default_rng(1)
    noisy = np.where(rng.random(400) < 0.3, rng.integers(0, N_CLASSES, 400), class_index)
    codebook = one_vs_rest(N_CLASSES)
    bits = fitted(Softmax(n_epochs=100, step=1), (X, noisy), codebook)
    reference_model = LogisticRegression(C=np.inf, fit_intercept=False, max_iter=2000).fit(X, noisy)
    scores = bits.margins(X).astype(np.float64)
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares /= shares.sum(axis=1, keepdims=True)
    own = np.arange(400), noisy
    best = -np.log(reference_model.predict_proba(X)[own]).mean()
    assert best - 1e-6 <= -np.log(shares[own]).mean() < best + 0.1
    # The directions in which classes part are the same, up to what all classes share.
    ours = bits.weights.T - bits.weights.T.mean(axis=0)
    theirs = reference_model.coef_ - reference_model.coef_.mean(axis=0)
    assert (ours * theirs).sum() / np.linalg.norm(ours) / np.linalg.norm(theirs) > 0.7


@given(st.integers(2, 40), st.integers(2, 6), st.integers(0, 2**32))
@settings(max_examples=25, deadline=None)
def test_log_probabilities_sum_to_one_over_all_classes(n_classes, width, seed):
    rng = np.random.default_rng(seed)
    codebook = trellis_codebook(n_classes, min(width, n_classes))
    assignment = Assignment(rng.permutation(n_classes))
    X = sparse.random_array((20, 8), density=0.5, rng=rng, format="csr", dtype=np.float32)
    classes = rng.integers(0, n_classes, size=20)
    bits = Softmax(n_epochs=2).fit(Samples(X, classes), Code(codebook, assignment), rng=rng)
    decoder = ShortestPathDecoder(codebook.trellis, "logistic", assignment)
    margins = bits.margins(X).astype(np.float64)
    log_shares = decoder.path_scores(margins, np.arange(n_classes)) - decoder.log_partition(margins)[:, None]
    np.testing.assert_allclose(np.exp(log_shares).sum(axis=1), 1)
    matrix = codebook.coding_matrix(assignment)
    np.testing.assert_allclose(np.exp(log_shares[0]), reference.class_probabilities(margins[0], matrix), rtol=1e-6)


def test_a_trellis_learns_the_same_as_its_codewords_one_by_one(samples, monkeypatch):
    codebook = CODEBOOKS["trellis"]
    by_paths = fitted(Softmax(n_epochs=2), samples, codebook)
    monkeypatch.setattr(softmax_module, "BITS_PER_DAMPING", 1000)
    codewords = softmax_module.dense_codewords(codebook.matrix.astype(np.float32))
    monkeypatch.setattr(softmax_module, "class_paths", lambda _: codewords)
    by_codewords = fitted(Softmax(n_epochs=2), samples, codebook)
    np.testing.assert_allclose(by_paths.weights, by_codewords.weights, rtol=0.02, atol=2e-3)


def test_a_trellis_is_learned_without_a_matrix_of_its_codewords(samples):
    X, y = samples
    code = Code(trellis_codebook(7, 3), Assignment(np.arange(7)[::-1]))
    Softmax().fit(Samples(X, y % 7), code, rng=0)
    assert "matrix" not in vars(code.codebook)
    assert "coding_matrix" not in vars(code)


def test_the_number_of_threads_and_of_steps_at_once_change_nothing(samples, codebook, monkeypatch):
    validation = Validation(samples[0], lambda margins: float(margins.mean()))
    one = fitted(Softmax(n_threads=1), samples, codebook, validation=validation)
    monkeypatch.setattr(softmax_module, "UPDATES_AT_ONCE", 1)
    many = fitted(Softmax(n_threads=3), samples, codebook, validation=validation)
    np.testing.assert_array_equal(one.weights, many.weights)


def test_a_seed_determines_the_result_and_another_gives_another(samples, codebook):
    first, again, other = (fitted(Softmax(), samples, codebook, rng=seed).weights for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_the_best_epoch_is_kept_and_patience_ends_the_training(samples, codebook):
    scores, reports = iter([0.1, 0.6, 0.5, 0.4, 0.9]), []
    validation = Validation(samples[0], lambda margins: next(scores))
    bits = fitted(Softmax(n_epochs=9), samples, codebook, validation=validation, on_epoch=reports.append)
    assert [report.score for report in reports] == [0.1, 0.6, 0.5, 0.4]
    np.testing.assert_array_equal(bits.weights, fitted(Softmax(n_epochs=2), samples, codebook).weights)


def test_passes_of_partial_fit_are_the_epochs_of_fit(samples, codebook):
    for options in ({}, {"fit_intercept": True}):
        rng, bits = np.random.default_rng(7), None
        for _ in range(3):
            bits = Softmax(**options).partial_fit(bits, Samples(*samples), Code(codebook, IDENTITY), rng=rng)
        whole = fitted(Softmax(n_epochs=3, **options), samples, codebook, rng=np.random.default_rng(7))
        np.testing.assert_array_equal(bits.finished().weights, whole.weights)
        np.testing.assert_array_equal(bits.finished().bias, whole.bias)
        np.testing.assert_allclose(bits.margins(samples[0]), whole.margins(samples[0]), rtol=1e-4, atol=1e-5)


def test_learning_on_leaves_the_bits_before_alone(samples, codebook):
    first = Softmax().partial_fit(None, Samples(*samples), Code(codebook, IDENTITY), rng=0)
    before = first.state.copy()
    Softmax().partial_fit(first, Samples(*samples), Code(codebook, IDENTITY), rng=0)
    np.testing.assert_array_equal(first.state, before)
    with pytest.raises(ValueError, match="cannot continue"):
        Softmax(fit_intercept=True).partial_fit(first, Samples(*samples), Code(codebook, IDENTITY), rng=0)


def test_finished_bits_go_on_from_their_weights(samples, codebook):
    for options in ({}, {"fit_intercept": True}):
        learner = Softmax(**options)
        bits = fitted(learner, samples, codebook)
        for begun in (bits, bits.sparse(0.0)):
            further = learner.partial_fit(begun, Samples(*samples), Code(codebook, IDENTITY), rng=1).finished()
            assert 0 < np.abs(further.weights - bits.weights).max() < np.abs(bits.weights).max()


def test_samples_of_weight_zero_do_not_exist_and_class_weights_multiply(samples, codebook):
    X, class_index = samples
    weight = (np.arange(400) % 3 > 0).astype(float)
    rng = np.random.default_rng(0)
    by_sample = fitted(Softmax(), samples, codebook, sample_weight=rng.uniform(1, 2, N_CLASSES)[class_index])
    by_class = fitted(Softmax(class_weight=np.random.default_rng(0).uniform(1, 2, N_CLASSES)), samples, codebook)
    np.testing.assert_array_equal(by_sample.weights, by_class.weights)
    learner, some = Softmax(shuffle=False), weight > 0
    begun = learner.partial_fit(None, Samples(*samples), Code(codebook, IDENTITY), rng=0)
    weighted = learner.partial_fit(begun, Samples(*samples, weights=weight), Code(codebook, IDENTITY))
    without = learner.partial_fit(begun, Samples(X[some], class_index[some]), Code(codebook, IDENTITY))
    np.testing.assert_array_equal(weighted.state, without.state)


def test_a_bias_is_the_weight_of_a_feature_that_is_always_one(samples, codebook):
    X, class_index = samples
    with_bias = fitted(Softmax(fit_intercept=True), samples, codebook)
    ones = sparse.hstack([X, np.ones((400, 1), dtype=np.float32)], format="csr")
    by_hand = fitted(Softmax(), (ones, class_index), codebook)
    np.testing.assert_array_equal(with_bias.weights, by_hand.weights[:-1])
    np.testing.assert_array_equal(with_bias.bias, by_hand.weights[-1])


def test_the_constant_edge_of_a_trellis_is_left_alone():
    codebook = trellis_codebook(8, 2)
    X = sparse.eye_array(8, format="csr", dtype=np.float32)
    bits = Softmax().fit(Samples(X, np.arange(8)), Code(codebook, Assignment.identity(8)), rng=0)
    constant = (codebook.matrix == 1).all(axis=0)
    assert constant.sum() == 1
    np.testing.assert_allclose(bits.weights[:, constant], 0, atol=1e-9)


def test_classes_without_samples_lose(samples):
    X, class_index = samples
    seen = class_index < 7
    codebook = CODEBOOKS["trellis"]
    bits = Softmax().fit(Samples(X[seen], class_index[seen]), Code(codebook, IDENTITY), rng=0)
    assert (predicted(bits, X[seen], codebook) < 7).mean() > 0.95


def test_dense_samples_and_empty_ones_are_understood(samples, codebook):
    X, class_index = samples
    np.testing.assert_array_equal(
        fitted(Softmax(), (X.toarray(), class_index), codebook).weights, fitted(Softmax(), samples, codebook).weights
    )
    nothing = sparse.csr_array((3, 4), dtype=np.float32)
    assert not Softmax().fit(Samples(nothing, np.array([0, 1, 2])), Code(codebook, IDENTITY), rng=0).weights.any()


def test_too_little_memory_is_refused_with_the_arithmetic(samples, codebook, monkeypatch):
    n_bits = codebook.n_bits
    with pytest.raises(MemoryError, match=rf"30 features x {n_bits} bits x 8 bytes.*100 B are allowed by max_memory"):
        fitted(Softmax(max_memory=100), samples, codebook)
    monkeypatch.setattr(online, "available_memory", lambda: 2000)
    with pytest.raises(MemoryError, match=r"2\.0 KiB are available"):
        fitted(Softmax(), samples, codebook)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_epochs": 0}, "The 'n_epochs' parameter of Softmax must be at least 1. Got 0 instead."),
        ({"step": 0}, "greater than 0. Got 0"),
        ({"damping": -1}, "greater than 0. Got -1"),
        ({"patience": 0}, "at least 1. Got 0"),
        ({"max_memory": 0}, "greater than 0. Got 0"),
        ({"class_weight": "even"}, "'balanced' or an array .* Got 'even'"),
    ],
)
def test_impossible_options_are_refused_in_one_sentence(options, message):
    with pytest.raises(ValueError, match=message):
        Softmax(**options)
