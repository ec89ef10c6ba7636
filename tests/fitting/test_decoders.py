import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import RidgeClassifier
from sklearn.svm import LinearSVC

from codekin import ECOCClassifier
from codekin.learners.left_out import within_span


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
def test_more_bits_than_features_do_not_betray_the_class_of_a_sample(learner):
    """Held-out accuracies were 25 points above those of new samples, and the wrong decoders were chosen."""
    X, y = make_classification(
        4000, 5, n_informative=5, n_redundant=0, n_classes=20, n_clusters_per_class=1, class_sep=0.5, random_state=0
    )
    classifier = ECOCClassifier(learner, decoding="learned", random_state=0).fit(X[:1500], y[:1500])
    claimed, true = classifier.report().learned_accuracy, classifier.score(X[1500:], y[1500:])
    assert abs(claimed - true) < 0.03


@pytest.mark.parametrize("learner", [LinearSVC(), RidgeClassifier()])
def test_nor_do_they_where_samples_are_few(learner):
    """Projected margins of single samples were 10 points too optimistic here: the decoder of the loss was kept."""
    X, y = make_classification(
        4000, 8, n_informative=8, n_redundant=0, n_classes=20, n_clusters_per_class=1, class_sep=1.0, random_state=0
    )
    classifier = ECOCClassifier(learner, decoding="learned", random_state=0).fit(X[:300], y[:300])
    claimed, true = classifier.report().learned_accuracy, classifier.score(X[300:], y[300:])
    assert claimed < true + 0.03
