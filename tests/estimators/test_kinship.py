"""KinshipOrder: similar classes get neighbouring numbers, and nothing else changes."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils.estimator_checks import estimator_checks_generator
from tests.blobs import make_blobs_with_tree

from codekin.estimators import KinshipOrder

CHECKS = list(estimator_checks_generator(KinshipOrder(LogisticRegression())))


@pytest.mark.parametrize(("estimator", "check"), CHECKS)
def test_scikit_learn_finds_nothing_wrong(estimator, check):
    check(estimator)


@pytest.fixture
def samples():
    """Four pairs of classes, each pair in a place of its own; names that tear the pairs apart."""
    rng = np.random.default_rng(0)
    y = np.tile(np.arange(8), 20)
    X = np.column_stack([10.0 * (y % 4), y // 4, np.zeros(len(y))]) + rng.normal(scale=0.1, size=(len(y), 3))
    return X, np.array(list("abcdefgh"))[y]


def test_kin_have_neighbouring_numbers(samples):
    ranks = KinshipOrder(KNeighborsClassifier(1)).fit(*samples).rank_of_class_
    assert sorted(ranks) == list(range(8))
    for one, kin in ("ae", "bf", "cg", "dh"):
        assert ranks["abcdefgh".index(one)] // 2 == ranks["abcdefgh".index(kin)] // 2


def test_a_learner_that_does_not_look_at_numbers_answers_as_without_it(samples):
    data = make_blobs_with_tree(6, 120, n_features=3, noise=2.0, rng=np.random.default_rng(0)).train
    alone = LogisticRegression().fit(data.X, data.y)
    ordered = KinshipOrder(LogisticRegression()).fit(data.X, data.y)
    np.testing.assert_array_equal(ordered.predict(data.X), alone.predict(data.X))
    np.testing.assert_allclose(ordered.predict_proba(data.X), alone.predict_proba(data.X), atol=1e-3)


def test_probabilities_are_there_if_the_learner_has_them(samples):
    assert not hasattr(KinshipOrder(RidgeClassifier()).fit(*samples), "predict_proba")
    assert KinshipOrder(RidgeClassifier()).fit(*samples).score(*samples) > 0.4


def test_an_estimator_must_be_given():
    with pytest.raises(ValueError, match="The 'estimator' parameter of KinshipOrder must be an object implementing"):
        KinshipOrder("arow").fit([[0.0], [1.0]], [0, 1])
