"""Samples and weights of any magnitude: finite results, or a one-sentence error before training."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from codekin import ECOCClassifier, ExtremeClassifier
from codekin.learners import AROW, Softmax
from codekin.learners.independent import IndependentBits
from codekin.learners.passes import Passes

rng = np.random.default_rng(0)
y = np.arange(60) % 6
X = np.clip(rng.normal(size=(6, 5))[y] + 0.3 * rng.normal(size=(60, 5)), -2, 2)

CLASSIFIERS = {
    "logistic regression": lambda: ECOCClassifier(LogisticRegression(max_iter=50), random_state=0, n_bits=6),
    "ridge, means": lambda: ECOCClassifier(RidgeClassifier(), class_distances="means", random_state=0, n_bits=6),
    "tree, clustering": lambda: ECOCClassifier(
        DecisionTreeClassifier(random_state=0), class_distances="clustering", random_state=0, n_bits=6
    ),
    "ridge, confusion": lambda: ECOCClassifier(
        RidgeClassifier(), class_distances="confusion", random_state=0, n_bits=6
    ),
    "ridge, splitting": lambda: ECOCClassifier(
        RidgeClassifier(), class_distances="splitting", random_state=0, n_bits=6
    ),
    "softmax on any code": lambda: ECOCClassifier("softmax", random_state=0, n_bits=6),
    "trellis, AROW": lambda: ExtremeClassifier(estimator="arow", random_state=0),
    "trellis, AROW with an average": lambda: ExtremeClassifier(
        estimator=AROW(average=True, fit_intercept=True), random_state=0
    ),
    "trellis, softmax": lambda: ExtremeClassifier(width=3, estimator="softmax", random_state=0),
    "trellis, learnability": lambda: ExtremeClassifier(estimator="arow", assignment="learnability", random_state=0),
    "trellis, centroids": lambda: ExtremeClassifier(estimator="arow", rerank="centroid", random_state=0),
    "trellis, learned vectors": lambda: ExtremeClassifier(estimator="arow", rerank="learned", random_state=0),
}
SCALES = [1e-300, 1e-30, 1e-14, 1e14, 1e20, 1e30, 1e160, 1e300]


@pytest.fixture
def n_trainings(monkeypatch):
    """A list that grows with every training of bits."""
    begun = []
    for owner, name in ((Passes, "fit"), (IndependentBits, "fit")):
        original = getattr(owner, name)

        def counted(*arguments, original=original, **options):
            begun.append(original)
            return original(*arguments, **options)

        monkeypatch.setattr(owner, name, counted)
    return begun


def finite_or_one_sentence(action):
    """What the action gives, or None where it gives one sentence instead."""
    try:
        with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
            return action()
    except ValueError as error:
        said = str(error)
        assert "\n" not in said
        # The last one is what scikit-learn's trees say.
        remedies = ("scale the features.", "scale them.", "divide all of them by a number.", "for dtype('float32').")
        assert said.endswith(remedies)
        return None


def assert_finite(classifier, samples):
    scores = finite_or_one_sentence(lambda: (classifier.decision_function(samples), classifier.predict_proba(samples)))
    if scores is None:
        return
    assert np.isfinite(scores[0]).all()
    np.testing.assert_allclose(scores[1].sum(axis=1), 1)
    assert set(classifier.predict(samples)) <= set(y)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_features_of_any_size_give_finite_scores_or_one_sentence_before_training(name, scale, n_trainings):
    classifier = CLASSIFIERS[name]()
    is_own = isinstance(classifier, ExtremeClassifier) or classifier.estimator == "softmax"
    if finite_or_one_sentence(lambda: classifier.fit(X * scale, y)) is None:
        assert n_trainings == []
        assert not 1e-15 < scale < (1e15 if is_own else 1e100)
        return
    assert_finite(classifier, X * scale)
    assert_finite(classifier, np.full((1, 5), 1e300))
    assert_finite(classifier, np.full((1, 5), 1e15))
    report = classifier.report(X * scale, y)
    assert np.isfinite([report.average_binary_loss, report.error, report.error_bound]).all()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("weight", [1e-300, 1e-30, 1e14, 1e30, 1e300])
@pytest.mark.parametrize("name", [name for name in CLASSIFIERS if "means" not in name])
def test_weights_of_any_size_give_finite_scores_or_one_sentence_before_training(name, weight, n_trainings):
    classifier = CLASSIFIERS[name]()
    weights = np.where(np.arange(60) < 30, weight, 1.0)
    if finite_or_one_sentence(lambda: classifier.fit(X, y, sample_weight=weights)) is None:
        assert n_trainings == []
        assert weight > 1e15
        return
    assert_finite(classifier, X)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["trellis, AROW", "trellis, softmax", "trellis, centroids", "softmax on any code"])
@pytest.mark.parametrize("seed", range(4))
def test_features_of_very_different_sizes_give_finite_scores(name, seed):
    sizes = 10.0 ** np.random.default_rng(seed).uniform(-14, 14, size=X.shape)
    weights = 10.0 ** np.random.default_rng(seed).uniform(-30, 14, size=len(X))
    classifier = CLASSIFIERS[name]().fit(X * sizes, y, sample_weight=weights)
    assert np.isfinite(classifier.decision_function(X * sizes)).all()
    assert np.isfinite(classifier.predict_proba(X * sizes)).all()


@pytest.mark.parametrize("as_given", [np.asarray, sparse.csr_array, sparse.csr_matrix], ids=lambda form: form.__name__)
def test_a_sample_that_is_too_large_to_predict_is_one_sentence(as_given):
    classifier = CLASSIFIERS["trellis, AROW"]().fit(X, y)
    with pytest.raises(
        ValueError, match=r"must be at most 1e\+15 for learners in single precision. Got 1e\+300; scale"
    ):
        classifier.predict(as_given([[0, 1e300, 0, 0, 0]]))


def test_margins_that_are_no_numbers_are_named():
    classifier = ECOCClassifier(GaussianNB(), random_state=0, n_bits=6).fit(X, y)
    with pytest.raises(ValueError, match="The margin of bit 0 is not a number for sample 1"), np.errstate(all="ignore"):
        classifier.predict([[0.0] * 5, [1e300] * 5])


def test_margins_of_a_learner_that_cannot_take_constant_features_are_explained():
    with np.errstate(all="ignore"), pytest.raises(ValueError, match="those of all training samples were the same"):
        ECOCClassifier(GaussianNB(), random_state=0).fit(np.ones(X.shape), y).predict(np.ones(X.shape))


@pytest.mark.parametrize("learner", [AROW(r=1e-38), Softmax(step=1e38)], ids=["AROW", "softmax"])
def test_a_learner_that_diverges_says_so(learner):
    sizes = 10.0 ** np.random.default_rng(0).uniform(-14, 14, size=X.shape)
    weights = np.full(len(X), 1e14)
    with pytest.raises(ValueError, match="The weights of the bits have grown beyond single precision"):
        ExtremeClassifier(estimator=learner, assignment="random", rerank=None, random_state=0).fit(
            X * sizes, y, weights
        )
