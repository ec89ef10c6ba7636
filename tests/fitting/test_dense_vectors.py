"""Many classes of dense vectors: the default is not behind what a user would try first."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.neighbors import NearestCentroid

from codekin import ExtremeClassifier
from codekin.learners import VectorSoftmax


@pytest.fixture(scope="module")
def embeddings():
    """Unit vectors of 150 classes in 15 groups: 20 samples of each to learn from, and 2,000 others."""
    rng = np.random.default_rng(0)
    groups = rng.normal(size=(15, 32))
    means = groups[np.arange(150) % 15] + 0.8 * rng.normal(size=(150, 32))
    labels = np.concatenate([np.repeat(np.arange(150), 20), rng.integers(150, size=2_000)])
    X = means[labels] + 0.9 * rng.normal(size=(len(labels), 32))
    X = (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32)
    return X[:3_000], labels[:3_000], X[3_000:], labels[3_000:]


def test_the_default_of_embeddings_is_vectors_of_classes_that_are_not_behind_the_nearest_mean(embeddings):
    X, y, X_test, y_test = embeddings
    classifier = ExtremeClassifier(random_state=0).fit(X, y)
    assert isinstance(classifier.learner_, VectorSoftmax)
    assert classifier.model_.ranking is None
    assert classifier.score(X_test, y_test) >= NearestCentroid().fit(X, y).score(X_test, y_test) - 0.01
