"""ECOCClassifier with jointly learned bits: a multinomial logistic regression through a code."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.special import softmax
from sklearn import config_context
from sklearn.datasets import load_digits

from codekin.codebooks import CODEBOOKS, REAL_CODEBOOKS
from codekin.estimators import ECOCClassifier
from codekin.learners import Softmax
from codekin.learners.linear import LinearBits
from codekin.storage import load_model, save_model


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:900] / 16, y[:900]


# A matrix of one's own, ordinal codes, one for many symbols, one of four bits, too few for softmax on digits, and those
# that regressors learn.
OTHERS = ("given", "unary", "hexj", "reed_solomon", "tree_levels", *REAL_CODEBOOKS)


@pytest.mark.parametrize("codebook", [name for name in CODEBOOKS if name not in OTHERS])
def test_every_codebook_learns_digits_by_softmax(codebook, digits):
    X, y = digits
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # equidistant codebooks say so
        classifier = ECOCClassifier("softmax", codebook=codebook, random_state=0).fit(X[:600], y[:600])
    assert classifier.score(X[600:], y[600:]) > 0.8
    assert isinstance(classifier.model_.bits, LinearBits)


@pytest.mark.parametrize("codebook", ["dense_random", "sparse_random", "trellis"])
def test_probabilities_are_the_softmax_of_codewords_times_margins(codebook, digits):
    X, y = digits
    classifier = ECOCClassifier("softmax", codebook=codebook, random_state=0).fit(X[:600], y[:600])
    scores = classifier.bit_margins(X[600:]) @ classifier.coding_matrix_.T.astype(np.float32) / 2
    probabilities = classifier.predict_proba(X[600:])
    np.testing.assert_allclose(probabilities, softmax(scores, axis=1), rtol=1e-3, atol=1e-6)
    np.testing.assert_array_equal(classifier.predict(X[600:]), classifier.classes_[probabilities.argmax(axis=1)])
    assert classifier.loss_.name == ("linear" if codebook == "sparse_random" else "logistic")


def test_sparse_samples_frames_weights_and_batches(digits):
    X, y = digits
    dense = ECOCClassifier("softmax", random_state=0).fit(X, y)
    np.testing.assert_allclose(
        ECOCClassifier("softmax", random_state=0).fit(sparse.csr_array(X), y).bit_margins(X),
        dense.bit_margins(X),
        rtol=1e-3,
        atol=1e-4,
    )
    frame = pd.DataFrame(X, columns=[f"pixel {k}" for k in range(64)])
    assert ECOCClassifier("softmax", random_state=0).fit(frame, y).score(frame, y) == dense.score(X, y)
    weights = np.where(y < 5, 1.0, 0.0)
    few = ECOCClassifier("softmax", random_state=0).fit(X, y, sample_weight=weights)
    assert (few.predict(X) < 5).all()
    with config_context(enable_metadata_routing=True):
        routed = ECOCClassifier("softmax", random_state=0).fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(routed.bit_margins(X), few.bit_margins(X))
    by_batch = ECOCClassifier("softmax", random_state=0)
    for start in range(0, 900, 300):
        by_batch.partial_fit(X[start : start + 300], y[start : start + 300], classes=range(10))
    assert by_batch.score(X, y) > 0.8


@pytest.mark.parametrize("estimator", ["softmax", Softmax(n_epochs=3, class_weight="balanced")])
def test_a_round_trip_is_exact(estimator, digits, tmp_path):
    X, y = digits
    classifier = ECOCClassifier(estimator, codebook="sparse_random", random_state=0).fit(X, y)
    again = load_model(save_model(classifier, tmp_path / "model"))
    np.testing.assert_array_equal(again.predict_proba(X), classifier.predict_proba(X))
    assert not (tmp_path / "model" / "learners.skops").exists()
    if isinstance(estimator, str):
        assert again.estimator == "softmax"
    else:
        assert again.estimator.n_epochs == 3
    assert again.partial_fit(X, y).score(X, y) > 0.8


def test_what_does_not_go_together_is_named(digits):
    X, y = digits
    with pytest.raises(ValueError, match="calibrate='cv' is for bits that are learned one by one"):
        ECOCClassifier("softmax", calibrate="cv").fit(X, y)
    with pytest.raises(ValueError, match="weighted_decoding=True needs bits that are learned one by one"):
        ECOCClassifier("softmax", weighted_decoding=True).fit(X, y)
    with pytest.raises(TypeError, match="accept only sample weights. Got \\['clf__x'\\]"):
        ECOCClassifier("softmax").fit(X, y, clf__x=1)
    with pytest.raises(ValueError, match="'estimator' parameter of ECOCClassifier must be"):
        ECOCClassifier("perceptron").fit(X, y)
    fitted = ECOCClassifier("softmax", random_state=0).fit(X, y)
    with pytest.raises(AttributeError, match="have no separate estimators"):
        fitted.estimators_  # noqa: B018


def test_arow_learns_the_bits_of_any_code(digits):
    X, y = digits
    classifier = ECOCClassifier("arow", n_bits=15, random_state=0).fit(X[:600], y[:600])
    assert classifier.loss_.name == "exponential"
    assert classifier.score(X[600:], y[600:]) > 0.8
