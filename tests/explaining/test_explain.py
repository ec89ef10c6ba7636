"""Contributions add up to the score that the classifier ranks by, for every kind of model."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from tests.blobs import make_blobs_with_tree

from codekin import ECOCClassifier, ExtremeClassifier
from codekin.decoding import LOSSES
from codekin.decoding.decoder import secants

DATA = make_blobs_with_tree(12, 240, n_features=6, rng=0)
X, Y, NEW = DATA.train.X, DATA.train.y, DATA.test.X[:8]

CODES = {
    "default": {},
    "hinge": {"estimator": LinearSVC(), "n_bits": 12, "decoding": "loss"},
    "squared": {"estimator": RidgeClassifier(), "decoding": "loss"},
    "zeros": {"codebook": "sparse_random", "n_bits": 12, "decoding": "loss"},
    "weighted zeros": {"codebook": "one_vs_one", "decoding": "loss", "weighted_decoding": True},
    "weighted": {"n_bits": 12, "decoding": "loss", "weighted_decoding": True},
    "products of margins": {"n_bits": 6, "decoding": "learned"},
    "calibrated": {"calibrate": "holdout", "n_bits": 12},
    "softmax": {"estimator": "softmax", "n_bits": 12},
    "own loss": {"n_bits": 12, "loss": lambda z: np.maximum(0, 1 - z) ** 3, "decoding": "loss"},
}
TRELLISES = {
    "softmax": {"width": 3},
    "arow": {"width": 2, "estimator": "arow"},
    "free paths": {"width": 2, "n_reserved": 3},
    "one byte": {"width": 3, "precision": "int8"},
    "re-ranked": {"width": 2, "rerank": "centroid"},
    "two codes": {"width": 2, "n_codes": 2},
    "tree": {"code": "tree", "width": 2},
    "re-ranked tree": {"code": "tree", "width": 2, "rerank": "learned"},
}


def add_up(explanation):
    return explanation.contributions.sum(axis=1) + explanation.bias + sum(explanation.other.values())


def check(classifier, new):
    scores = classifier.decision_function(new)
    for k, label in enumerate(classifier.classes_.tolist()):
        explanation = classifier.explain(new, label)
        assert explanation.labels.tolist() == [label] * len(NEW)
        size = np.abs(scores).max()
        np.testing.assert_allclose(explanation.scores, scores[:, k], rtol=1e-6, atol=1e-6 * size)
        np.testing.assert_allclose(add_up(explanation), explanation.scores, rtol=0, atol=1e-12 * size)
        # What is called rounding is no more than that.
        assert np.abs(explanation.other["rounding"]).max() <= 1e-5 * size
        assert explanation.contributions.shape == new.shape


@pytest.mark.parametrize("name", CODES)
def test_contributions_add_up_to_the_scores_of_codes(name):
    classifier = ECOCClassifier(random_state=0, **CODES[name]).fit(X, Y)
    if name == "products of margins":
        assert classifier.model_.decoder.products is not None
    check(classifier, NEW)


@pytest.mark.parametrize("name", TRELLISES)
def test_contributions_add_up_to_the_scores_of_trellises_and_trees(name):
    classifier = ExtremeClassifier(random_state=0, **TRELLISES[name])
    held_out = (sparse.csr_array(DATA.test.X), DATA.test.y)
    classifier.fit(sparse.csr_array(X), Y, validation=held_out)
    check(classifier, sparse.csr_array(NEW))
    check(classifier, NEW)


@pytest.mark.parametrize("settings", [{"width": 2}, {"code": "tree", "width": 2}], ids=["trellis", "tree"])
def test_classes_behind_the_candidates_say_so(settings):
    classifier = ExtremeClassifier(rerank="centroid", random_state=0, **settings).fit(sparse.csr_array(X), Y)
    model = classifier.model_
    # Vectors that speak against their classes push the candidates back, and with them all others.
    against = replace(model.ranking.vectors, steps=-model.ranking.vectors.steps)
    ranking = replace(model.ranking, n_candidates=3, weight=50.0, vectors=against)
    classifier._set_model(replace(model, ranking=ranking))
    check(classifier, sparse.csr_array(NEW))
    best, _ = classifier.top_k(sparse.csr_array(NEW), 12)
    assert (classifier.explain(sparse.csr_array(NEW), best[:, 0]).other["not_reranked"] == 0).all()
    behind = classifier.explain(sparse.csr_array(NEW), best[:, -1]).other["not_reranked"]
    assert (behind <= 1e-5).all()
    assert behind.min() < -0.01


def test_contributions_to_linear_scores_are_weights_times_features():
    classifier = ECOCClassifier(LogisticRegression(), codebook="one_vs_rest", decoding="loss").fit(X, Y)
    explanation = classifier.explain(NEW, classifier.classes_[3])
    bits = classifier.coding_matrix_[3]
    np.testing.assert_allclose(explanation.contributions, NEW * (bits / 2 @ classifier.coef_), atol=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
def test_secants_lead_from_one_value_to_the_other(loss):
    rng = np.random.default_rng(0)
    moved, offsets = 2 * rng.normal(size=(50, 3)), rng.normal(size=3)
    agreement = LOSSES[loss].agreement
    reached = agreement(offsets) + moved * secants(agreement, moved, offsets)
    np.testing.assert_allclose(reached, agreement(offsets + moved), atol=1e-9)


def test_the_predicted_label_is_explained_by_default_with_names_of_features():
    data = load_iris(as_frame=True)
    classifier = ECOCClassifier(random_state=0).fit(data.data, data.target)
    explanation = classifier.explain(data.data)
    assert explanation.labels.tolist() == classifier.predict(data.data).tolist()
    assert len(explanation) == len(data.data)
    np.testing.assert_allclose(add_up(explanation), explanation.scores, atol=1e-9)
    features, text = explanation.top(3, n=2), explanation.text(3, n=2)
    assert [name for name, _ in features] == [line[14:] for line in text.splitlines()[1:3]]
    shown = [float(line[:12]) for line in text.splitlines()[1:]]
    assert sum(shown) == pytest.approx(explanation.scores[3], abs=1e-3)
    assert abs(features[0][1]) >= abs(features[1][1])


@pytest.mark.parametrize(
    ("classifier", "message"),
    [
        (ECOCClassifier(DecisionTreeClassifier(), n_bits=8), "linear predictors .* can be explained. Got DecisionTree"),
        (ECOCClassifier(n_symbols=3), "can be explained. Got <Codebook .* of 3 symbols"),
    ],
    ids=["trees", "symbols"],
)
def test_bits_that_are_not_linear_are_refused_with_a_sentence(classifier, message):
    with pytest.raises(ValueError, match=message):
        classifier.fit(X, Y).explain(NEW)


def test_wrong_labels_are_refused_with_a_sentence():
    classifier = ECOCClassifier(random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="There are 8 samples. Got labels of shape \\(2,\\)."):
        classifier.explain(NEW, [0, 1])
    with pytest.raises(ValueError, match="The label 99 is not among the 12 classes"):
        classifier.explain(NEW, 99)


def test_printing_the_explanation_of_one_sample_shows_its_terms():
    explained = ECOCClassifier(random_state=0).fit(X, Y).explain
    assert str(explained(NEW[:1])) == explained(NEW[:1]).text()
    assert str(explained(NEW)).startswith("Explanation(labels=array(")
