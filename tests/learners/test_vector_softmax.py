"""Vectors of the classes of dense samples: how they are learned, searched, stored and used."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from codekin import ExtremeClassifier, load_model, save_model
from codekin.code import Assignment, Code
from codekin.code.tree import label_tree
from codekin.learners import Checkpoints, VectorSoftmax, vector_bits
from codekin.samples import Samples


def clustered(n_classes=120, n_features=24, per_class=12, seed=0, spread=0.8):
    rng = np.random.default_rng(seed)
    means = rng.normal(size=(n_classes, n_features))
    y = np.repeat(np.arange(n_classes), per_class)
    X = means[y] + spread * rng.normal(size=(len(y), n_features))
    return (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32), y


def fitted(X, y, learner=VectorSoftmax(n_epochs=3), **options):  # noqa: B008
    n = int(y.max()) + 1
    return learner.fit(
        Samples(X, y, options.pop("weights", None)), Code(label_tree(n, n), Assignment.identity(n)), rng=0, **options
    )


@pytest.fixture
def searched(monkeypatch):
    """Candidates, sketches and cells already of a hundred classes."""
    monkeypatch.setattr("codekin.learners.vector_softmax.ALL_MET", 50)
    monkeypatch.setattr(vector_bits, "SKETCHED_CLASSES", 50)
    monkeypatch.setattr("codekin.learners.vector_softmax.LISTED_CLASSES", 100)


def test_many_classes_of_dense_samples_get_vectors_that_are_as_good_as_logistic_regression():
    X, y = clustered(spread=1.3)
    train = np.arange(len(y)) % 3 > 0
    ours = ExtremeClassifier(random_state=0).fit(X[train], y[train])
    theirs = LogisticRegression(C=30, max_iter=300).fit(X[train], y[train])
    assert ours.report().learner == "vectors"
    assert ours.score(X[~train], y[~train]) > theirs.score(X[~train], y[~train]) - 0.02


def test_features_in_different_units_are_scaled_one_by_one():
    X, y = clustered()
    train, units = np.arange(len(y)) % 3 > 0, np.geomspace(1e-3, 1e6, X.shape[1])
    plain = ExtremeClassifier(random_state=0).fit(X[train], y[train]).score(X[~train], y[~train])
    assert (
        ExtremeClassifier(random_state=0).fit((X * units)[train], y[train]).score((X * units)[~train], y[~train])
        > plain - 0.02
    )


def test_classes_met_all_at_once_are_learned_as_well_as_by_candidates(monkeypatch):
    X, y = clustered(spread=1.3)
    train = np.arange(len(y)) % 3 > 0
    right = []
    for most in (0, 300):
        monkeypatch.setattr("codekin.learners.vector_softmax.ALL_MET", most)
        bits = fitted(X[train], y[train], VectorSoftmax(step=1.0))
        right.append((bits.margins(X[~train]).best_leaf() == y[~train]).mean())
    assert right[1] > right[0] - 0.02


def test_a_search_by_sketches_and_cells_finds_the_best_of_all_classes(searched):
    X, y = clustered()
    bits = fitted(X, y)
    assert bits.sketch is not None
    assert bits.cells is not None
    every = np.asarray(bits.margins(X)).argmax(axis=1)
    assert (bits.margins(X).best_leaf() == every).mean() > 0.99


def test_answers_depend_neither_on_the_batch_nor_on_the_number_of_threads(searched):
    X, y = clustered()
    classifiers = [fitted(X, y, VectorSoftmax(n_epochs=2, n_threads=n)) for n in (1, 3)]
    np.testing.assert_array_equal(classifiers[0].weights, classifiers[1].weights)
    whole = classifiers[0].best(X, 5)
    for row in range(0, len(X), 97):
        for together, alone in zip(whole, classifiers[1].best(X[row : row + 1], 5), strict=True):
            np.testing.assert_array_equal(together[row], alone[0])


def test_a_saved_model_answers_as_before(tmp_path, searched):
    X, y = clustered()
    before = ExtremeClassifier(random_state=0).fit(X, y)
    save_model(before, tmp_path / "model")
    after = load_model(tmp_path / "model")
    np.testing.assert_array_equal(after.predict(X), before.predict(X))
    for now, then in zip(after.top_k_proba(X[:50], 4), before.top_k_proba(X[:50], 4), strict=True):
        np.testing.assert_array_equal(now, then)


def test_probabilities_of_all_classes_add_up_to_1_and_agree_with_those_of_the_best():
    X, y = clustered()
    classifier = ExtremeClassifier(random_state=0).fit(X, y)
    every = classifier.predict_proba(X[:40])
    labels, best = classifier.top_k_proba(X[:40], 3)
    np.testing.assert_allclose(every.sum(axis=1), 1, rtol=1e-6)
    np.testing.assert_allclose(np.take_along_axis(every, labels, axis=1), best, rtol=1e-6)


def test_half_precision_and_memory_mapped_samples_are_learned_from_as_they_are(tmp_path):
    X, y = clustered()
    np.save(tmp_path / "X.npy", X.astype(np.float16))
    mapped = ExtremeClassifier(random_state=0).fit(np.load(tmp_path / "X.npy", mmap_mode="r"), y)
    in_memory = ExtremeClassifier(random_state=0).fit(X.astype(np.float16).astype(np.float32), y)
    np.testing.assert_array_equal(mapped.model_.bits.weights, in_memory.model_.bits.weights)
    np.testing.assert_array_equal(mapped.predict(X.astype(np.float16)), in_memory.predict(X.astype(np.float16)))


def test_samples_of_weight_0_change_nothing():
    X, y = clustered()
    weights = np.where(np.arange(len(y)) % 4 == 0, 0.0, 1.0)
    kept = weights > 0
    np.testing.assert_array_equal(fitted(X, y, weights=weights).weights, fitted(X[kept], y[kept]).weights)


def test_a_resumed_training_ends_as_an_uninterrupted_one(tmp_path):
    X, y = clustered()

    class InterruptedFitError(Exception):
        pass

    def interrupt(report):
        if report.epoch == 2:
            raise InterruptedFitError

    learner, folder = VectorSoftmax(n_epochs=4), tmp_path / "checkpoint"
    with pytest.raises(InterruptedFitError):
        fitted(X, y, learner, checkpoints=Checkpoints(folder), on_epoch=interrupt)
    epochs = []
    resumed = fitted(
        X, y, learner, checkpoints=Checkpoints(folder, resume=True), on_epoch=lambda r: epochs.append(r.epoch)
    )
    assert epochs == [3, 4]
    np.testing.assert_array_equal(resumed.weights, fitted(X, y, learner).weights)


def test_a_budget_is_met_by_vectors_or_by_a_smaller_model():
    X, y = clustered(n_features=64)
    options = {"random_state": 0, "max_model_bytes": 60_000}
    assert ExtremeClassifier(**options).fit(X, y).report().learner == "vectors"
    smaller = ExtremeClassifier(random_state=0, max_model_bytes=9_000).fit(X, y)
    assert smaller.report().learner != "vectors"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"estimator": "vectors", "width": 8}, "VectorSoftmax learns a vector for each class"),
        ({"estimator": "vectors", "code": "trellis"}, "VectorSoftmax learns a vector for each class"),
        ({"estimator": "vectors", "precision": "float16"}, "stored as int8"),
    ],
)
def test_settings_that_vectors_cannot_have_are_refused(settings, message):
    X, y = clustered()
    with pytest.raises(ValueError, match=message):
        ExtremeClassifier(random_state=0, **settings).fit(X, y)


def test_sparse_samples_are_refused():
    from scipy import sparse

    X, y = clustered()
    with pytest.raises(ValueError, match="learns from dense samples"):
        fitted(sparse.csr_array(X), y)
