import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import RidgeClassifier
from sklearn.svm import LinearSVC

from codekin import ECOCClassifier
from codekin.learners.without_samples import within_span


def test_what_bits_cannot_say_of_new_samples_is_taken_from_margins():
    rng = np.random.default_rng(0)
    own = rng.normal(size=(50, 3)) @ rng.normal(size=(3, 6)) + rng.normal(size=6)
    margins = own + rng.normal(scale=0.1, size=own.shape)
    within = within_span(margins, own)
    assert np.linalg.matrix_rank(within - own.mean(axis=0), tol=1e-8) == 3
    np.testing.assert_allclose(within_span(own, own), own)
    np.testing.assert_allclose(within_span(within, own), within)
    assert np.square(within - own).sum() < np.square(margins - own).sum()


def test_margins_of_full_rank_stay_as_they_are():
    rng = np.random.default_rng(0)
    own, margins = rng.normal(size=(2, 50, 6))
    np.testing.assert_allclose(within_span(margins, own), margins)


@pytest.mark.parametrize("learner", [LinearSVC(), RidgeClassifier()])
@pytest.mark.parametrize(("n_features", "n_samples", "class_sep"), [(5, 1500, 0.5), (8, 300, 1.0)])
def test_more_bits_than_features_do_not_betray_the_class_of_a_sample(n_features, n_samples, class_sep, learner):
    """Held-out accuracies were up to 25 points above those of new samples, and the wrong decoders were chosen."""
    shape = {"n_informative": n_features, "n_redundant": 0, "n_classes": 20, "n_clusters_per_class": 1}
    X, y = make_classification(4000, n_features, class_sep=class_sep, random_state=0, **shape)
    classifier = ECOCClassifier(learner, decoding="learned", random_state=0)
    classifier.fit(X[:n_samples], y[:n_samples])
    claimed, true = classifier.report().learned_accuracy, classifier.score(X[n_samples:], y[n_samples:])
    # Bits without a fifth of few samples are less accurate, so that a claim may be too low.
    assert -0.06 < claimed - true < 0.03
