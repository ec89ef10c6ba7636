from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import logsumexp
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from codekin.code import Assignment, Code, Codebook
from codekin.codebooks import dense_random
from codekin.learners import IndependentBits
from codekin.learners.calibration import calibrate_bits, column_weights
from codekin.learners.estimators import LEAST_PROBABILITY, declared_limit
from codekin.learners.independent import ConstantBit
from codekin.samples import Samples


@pytest.fixture(scope="module")
def blobs():
    rng = np.random.default_rng(0)
    class_index = np.arange(240) % 12
    return rng.normal(size=(12, 5))[class_index] * 2 + rng.normal(size=(240, 5)), class_index


@pytest.fixture(scope="module")
def code():
    return Code(dense_random(12, 4, n_symbols=4, rng=0), Assignment.identity(12))


def test_margins_are_logarithms_of_probabilities_times_the_number_of_symbols(blobs, code):
    X, class_index = blobs
    bits = IndependentBits(GaussianNB()).fit(Samples(X, class_index), code, rng=np.random.default_rng(0))
    margins = bits.margins(X).reshape(len(X), code.n_bits, 4)
    for bit, predictor in enumerate(bits.predictors):
        assert predictor.classes_.tolist() == [0, 1, 2, 3]
        own = GaussianNB().fit(X, code.coding_matrix[class_index, bit]).predict_proba(X)
        expected = np.log(4 * ((1 - LEAST_PROBABILITY) * own + LEAST_PROBABILITY / 4))
        np.testing.assert_allclose(margins[:, bit], expected, rtol=1e-9)
    np.testing.assert_allclose(logsumexp(margins, axis=2), np.log(4))


def test_a_learner_without_probabilities_is_taken_by_the_softmax_of_its_scores(blobs, code):
    X, class_index = blobs
    bits = IndependentBits(LinearSVC()).fit(Samples(X, class_index), code, rng=np.random.default_rng(0))
    scores = bits.predictors[0].decision_function(X)
    margins = bits.margins(X)[:, :4]
    assert (margins.argmax(axis=1) == scores.argmax(axis=1)).all()
    np.testing.assert_allclose(logsumexp(margins, axis=1), np.log(4))


def test_ignored_classes_are_not_learned_from_and_symbols_without_samples_leave_no_gap(blobs):
    X, class_index = blobs
    codebook = Codebook([[0, 0], [3, 1], [1, -1], [4, 3]], n_symbols=5)
    code = Code(codebook, Assignment.identity(4))
    few = class_index < 4
    weights = np.where(class_index[few] == 1, 0.0, 1.0)
    samples = Samples(X[few], class_index[few], weights)
    bits = IndependentBits(GaussianNB()).fit(samples, code, rng=np.random.default_rng(0))
    assert [symbols.tolist() for symbols in bits.symbols] == [[0, 1, 4], [0, 3]]
    assert [predictor.classes_.tolist() for predictor in bits.predictors] == [[0, 1, 2], [0, 1]]
    assert bits.predictors[1].class_count_.sum() == 40
    margins = bits.margins(X)
    assert margins.shape == (len(X), 10)
    assert (margins[:, [2, 3, 6, 7, 9]] == np.log(LEAST_PROBABILITY)).all()


def test_a_column_with_one_symbol_says_the_same_of_every_sample(blobs):
    X, class_index = blobs
    code = Code(Codebook([[0, 2], [1, 2], [2, 2]], n_symbols=3), Assignment.identity(3))
    few = class_index < 3
    bits = IndependentBits(GaussianNB()).fit(Samples(X[few], class_index[few]), code, rng=np.random.default_rng(0))
    assert isinstance(bits.predictors[1], ConstantBit)
    np.testing.assert_array_equal(np.unique(bits.margins(X)[:, 3:], axis=0)[:, 2], [0.0])


def test_learning_batch_by_batch_knows_all_symbols_from_the_first_batch_on(blobs, code):
    X, class_index = blobs
    learner, rng = IndependentBits(GaussianNB()), np.random.default_rng(0)
    first = learner.partial_fit(None, Samples(X[:5], class_index[:5]), code, rng=rng)
    assert first.margins(X).shape == (240, 16)
    both = learner.partial_fit(first, Samples(X[5:], class_index[5:]), code, rng=rng)
    at_once = learner.fit(Samples(X, class_index), code, rng=rng)
    np.testing.assert_allclose(both.margins(X), at_once.margins(X), atol=1e-6)


def test_weights_of_columns_make_held_out_classes_most_likely(blobs, code):
    X, class_index = blobs
    bits = IndependentBits(GaussianNB()).fit(Samples(X[:120], class_index[:120]), code, rng=np.random.default_rng(0))
    margins, held_out = bits.margins(X[120:]), class_index[120:]
    margins[:, :4] = np.random.default_rng(1).normal(size=(120, 4))  # a column that knows nothing

    def likelihood(weights):
        scores = (margins * np.repeat(weights, 4)) @ code.indicators.T
        return float((scores[np.arange(120), held_out] - logsumexp(scores, axis=1)).mean())

    found = column_weights(margins, held_out, code.coding_matrix, np.ones(120))
    assert found[0] < 0.2 < found[1:].min()
    for column in range(4):
        for step in (-0.02, 0.02):
            moved = found.copy()
            moved[column] = max(moved[column] + step, 0)
            assert likelihood(moved) <= likelihood(found) + 1e-9


@pytest.mark.parametrize("method", ["cv", "holdout"])
def test_calibrated_columns_have_one_weight_for_all_their_symbols(blobs, code, method):
    X, class_index = blobs
    learner = IndependentBits(GaussianNB())
    bits = calibrate_bits(learner, Samples(X, class_index), code, method=method, rng=np.random.default_rng(0))
    assert bits.n_bits == 4
    slopes = bits.slopes.reshape(4, 4)
    assert (slopes == slopes[:, :1]).all()
    assert not bits.intercepts.any()
    np.testing.assert_allclose(bits.margins(X), bits.bits.margins(X) * bits.slopes)


def test_the_limit_of_an_estimator_is_found_where_it_declares_one():
    of_tabpfn = SimpleNamespace(get_inference_config=lambda: SimpleNamespace(MAX_NUMBER_OF_CLASSES=10))
    limited = SimpleNamespace(max_classes=7)
    assert declared_limit(of_tabpfn) == 10
    assert declared_limit(limited) == 7
    assert declared_limit(SimpleNamespace(steps=[("scale", StandardScaler()), ("learn", limited)])) == 7
    assert declared_limit(SimpleNamespace(estimator=limited, cv=3)) == 7
    assert declared_limit(make_pipeline(StandardScaler(), LogisticRegression())) is None
    assert declared_limit(GridSearchCV(LogisticRegression(), {"C": [1]})) is None
