"""Linear support vector machines as a learner: of codes, of trees, and as the default of few classes."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import log_loss
from sklearn.svm import LinearSVC

from codekin import ECOCClassifier, ExtremeClassifier, load_model, save_model
from codekin.code import Assignment, Code
from codekin.codebooks import one_vs_rest
from codekin.data import SparseData, cached_data, make_sparse_topics, write_data
from codekin.learners import LinearSVM
from codekin.samples import Samples


@pytest.fixture(scope="module")
def topics():
    return make_sparse_topics(40, 2_000, n_features=400, rng=0)


@pytest.fixture(scope="module")
def flat(topics):
    return ExtremeClassifier(random_state=0).fit(topics.train.X, topics.train.y)


def test_few_classes_are_as_right_as_with_scikit_learns_machines(flat, topics):
    assert isinstance(flat.learner_, LinearSVM)
    peer = LinearSVC().fit(topics.train.X.toarray(), topics.train.y)
    assert flat.score(topics.test.X, topics.test.y) >= peer.score(topics.test.X.toarray(), topics.test.y) - 0.01


def test_its_probabilities_are_worth_something_without_validation_samples(flat, topics):
    proba = flat.predict_proba(topics.test.X)
    accuracy = flat.score(topics.test.X, topics.test.y)
    assert proba.max(axis=1).mean() == pytest.approx(accuracy, abs=0.08)
    assert log_loss(topics.test.y, proba, labels=flat.classes_) < np.log(40) / 2


def test_it_is_stored_with_its_settings(flat, topics, tmp_path):
    classifier = ExtremeClassifier(estimator=LinearSVM(C=0.5, n_epochs=3), random_state=0)
    save_model(classifier.fit(topics.train.X, topics.train.y), tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert (loaded.learner_.C, loaded.learner_.n_epochs) == (0.5, 3)
    np.testing.assert_array_equal(loaded.predict(topics.test.X), classifier.predict(topics.test.X))
    assert classifier.score(topics.test.X, topics.test.y) != flat.score(topics.test.X, topics.test.y)


@pytest.mark.parametrize("codebook", ["one_vs_rest", "dense_random"])
def test_it_learns_the_bits_of_any_matrix(topics, codebook):
    settings = {"codebook": codebook, "decoding": "loss", "random_state": 0}
    own = ECOCClassifier("svm", **settings).fit(topics.train.X, topics.train.y)
    peer = ECOCClassifier(LinearSVC(), **settings).fit(topics.train.X.toarray(), topics.train.y)
    X = topics.test.X
    assert own.score(X, topics.test.y) >= peer.score(X.toarray(), topics.test.y) - 0.02


def test_it_learns_the_nodes_of_deep_trees(topics):
    classifier = ExtremeClassifier(code="tree", width=4, estimator="svm", rerank=None, random_state=0)
    assert classifier.fit(topics.train.X, topics.train.y).score(topics.test.X, topics.test.y) > 0.5


@pytest.mark.parametrize("factor", [1e-4, 0.01, 10.0, 1e6])
def test_the_length_of_samples_does_not_matter(topics, flat, factor):
    scaled = ExtremeClassifier(random_state=0).fit(factor * topics.train.X, topics.train.y)
    same = scaled.predict(factor * topics.test.X) == flat.predict(topics.test.X)
    assert same.mean() > 0.99
    assert len(scaled.model_.bits.weights) == pytest.approx(len(flat.model_.bits.weights), rel=0.01)


def test_only_the_ratios_of_weights_count(topics, flat):
    n = len(topics.train.y)
    weighted = ExtremeClassifier(random_state=0).fit(topics.train.X, topics.train.y, np.full(n, 1 / n))
    assert (weighted.predict(topics.test.X) == flat.predict(topics.test.X)).mean() > 0.99
    tiny = np.where(np.arange(n) % 3, 1.0, 1e-40)
    assert (
        ExtremeClassifier(random_state=0).fit(topics.train.X, topics.train.y, tiny).score(topics.test.X, topics.test.y)
        > 0.5
    )


def test_few_samples_that_are_all_right_do_not_make_it_sure():
    easy = make_sparse_topics(3, 300, n_features=60, rng=3)
    temperatures = [ExtremeClassifier(random_state=seed).fit(easy.X, easy.y).temperature_ for seed in range(3)]
    assert min(temperatures) > 0.05


@pytest.mark.parametrize(
    "settings", [{"code": "tree"}, {"rerank": "learned"}, {"estimator": "softmax"}, {"n_codes": 1, "width": 64}]
)
def test_other_wishes_get_a_softmax(topics, settings):
    fitted = ExtremeClassifier(random_state=0, **settings).fit(topics.train.X, topics.train.y)
    assert type(fitted.learner_).__name__ == "Softmax"


def test_without_memory_for_machines_there_is_a_tree(topics, monkeypatch):
    monkeypatch.setattr("codekin.fitting.defaults.MOST_FLAT_BYTES", 1_000)
    fitted = ExtremeClassifier(random_state=0).fit(topics.train.X, topics.train.y)
    assert type(fitted.learner_).__name__ == "Softmax"


def test_samples_of_weight_zero_do_not_count(topics):
    X, y = topics.train.X, topics.train.y
    noise = sparse.vstack([X, X[:500]], format="csr")
    labels, weights = np.r_[y, (y[:500] + 1) % 40], np.r_[np.ones(len(y)), np.zeros(500)]
    code, machines = Code(one_vs_rest(40), Assignment.identity(40)), LinearSVM(1.0, n_epochs=100)
    plain = machines.fit(Samples(X, y), code, rng=0)
    weighted = machines.fit(Samples(noise, labels, weights), code, rng=0)
    np.testing.assert_allclose(weighted.weights, plain.weights, atol=5e-3)


def test_what_it_cannot_do_is_said(topics, flat, tmp_path):
    with pytest.raises(ValueError, match="LinearSVM must be greater than 0. Got 0 instead"):
        LinearSVM(C=0)
    with pytest.raises(MemoryError, match="LinearSVM needs .* allowed by max_memory"):
        LinearSVM(max_memory=100).fit(
            Samples(topics.train.X, topics.train.y), Code(one_vs_rest(40), Assignment.identity(40))
        )
    write_data(tmp_path / "train.svm", SparseData(topics.X, topics.y, np.arange(40)))
    stored = cached_data(tmp_path / "train.svm", n_features=400, max_memory=8 * topics.X.nnz)
    with pytest.raises(ValueError, match="LinearSVM learns from samples in memory"):
        ExtremeClassifier(code="tree", estimator="svm").fit(stored.X, stored.encoded_labels)
    with pytest.raises(ValueError, match="LinearSVM cannot learn batch by batch"):
        ExtremeClassifier(estimator="svm").partial_fit(topics.train.X, topics.train.y, classes=np.arange(40))


def test_batches_are_learned_by_softmax(topics):
    classifier = ExtremeClassifier(random_state=0)
    for start in (0, 500):
        X, y = topics.train.X[start : start + 500], topics.train.y[start : start + 500]
        classifier.partial_fit(X, y, classes=np.arange(40))
    assert type(classifier.learner_).__name__ == "Softmax"
    assert classifier.score(topics.test.X, topics.test.y) > 0.3
