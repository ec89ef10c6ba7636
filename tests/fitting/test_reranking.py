"""Several codes and re-ranking behind scikit-learn's interface."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits

from codekin.classes import ClassTree
from codekin.code import Assignment
from codekin.data import make_sparse_topics
from codekin.estimators import ExtremeClassifier
from codekin.fitting.trial import hold_out_samples
from codekin.learners import AROW, Checkpoints, Softmax
from codekin.model import Model
from codekin.samples import Samples


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X / 16, y


@pytest.fixture(scope="module")
def topics():
    return make_sparse_topics(200, 6000, words_per_sample=7, rng=0)


@pytest.mark.parametrize("has_validation", [True, False])
def test_reranking_and_further_codes_improve_a_narrow_code(topics, has_validation):
    validation = (
        (topics.validation.X, topics.validation.y) if has_validation and topics.validation is not None else None
    )
    scores = {}
    for options in ({}, {"rerank": "centroid"}, {"rerank": "learned"}, {"n_codes": 2, "assignment": "random"}):
        settings = {"assignment": "preserving", "rerank": None, **options}
        classifier = ExtremeClassifier(2, random_state=0, **settings).fit(topics.X, topics.y, validation=validation)
        scores[str(options)] = classifier.score(topics.test.X, topics.test.y)
    bare, *better = scores.values()
    assert all(score > bare + 0.01 for score in better), scores


@pytest.mark.parametrize("options", [{"rerank": "centroid"}, {"rerank": "learned", "n_codes": 2}, {"n_codes": 3}])
def test_probabilities_are_exactly_normalised_and_agree_with_the_ranking(digits, options):
    X, y = digits
    classifier = ExtremeClassifier(2, random_state=0, **options)
    classifier.fit(X[:500], y[:500], validation=(X[500:900], y[500:900]))
    everything = classifier.predict_proba(X[900:])
    np.testing.assert_allclose(everything.sum(axis=1), 1)
    labels, best = classifier.top_k_proba(X[900:], 10)
    np.testing.assert_allclose(best, np.take_along_axis(everything, labels, axis=1))
    np.testing.assert_array_equal(labels[:, 0], classifier.predict(X[900:]))
    np.testing.assert_array_equal(classifier.decision_function(X[900:]).argmax(axis=1), classifier.predict(X[900:]))


def test_probabilities_of_few_candidates_are_still_normalised(topics):
    classifier = ExtremeClassifier(rerank="centroid", n_codes=2, random_state=0).fit(topics.X, topics.y)
    model = classifier.model_
    classifier.model_ = Model(model.codes, type(model.ranking)(3, model.ranking.vectors, 2.0, 0.7))
    everything = classifier.predict_proba(topics.test.X[:50])
    np.testing.assert_allclose(everything.sum(axis=1), 1, rtol=1e-6)
    labels, best = classifier.top_k_proba(topics.test.X[:50], 8)
    places = np.searchsorted(classifier.classes_, labels)
    np.testing.assert_allclose(best, np.take_along_axis(everything, places, axis=1), rtol=1e-5)


def test_probabilities_fit_held_out_classes_better_than_those_of_the_bare_code(topics):
    held = topics.test
    X, y, X_held, y_held = topics.X, topics.y, held.X[:400], held.y[:400]

    def negative_log_likelihood(classifier):
        classifier.fit(X, y, validation=(X_held, y_held))
        own = np.searchsorted(classifier.classes_, held.y[400:])
        return -np.log(classifier.predict_proba(held.X[400:])[np.arange(len(own)), own]).mean()

    bare, reranked = (
        negative_log_likelihood(ExtremeClassifier(2, rerank=rerank, assignment="preserving", random_state=0))
        for rerank in (None, "centroid")
    )
    assert reranked < bare


def test_the_same_seed_gives_the_same_model(topics):
    classifier = ExtremeClassifier(rerank="learned", n_codes=2, assignment="random", random_state=3)
    first, second = (clone(classifier).fit(topics.X, topics.y) for _ in range(2))
    np.testing.assert_array_equal(first.decision_function(topics.test.X), second.decision_function(topics.test.X))


def test_the_first_code_is_the_one_that_would_be_learned_alone(topics):
    held_out = topics.test.X[:200], topics.test.y[:200]
    alone = ExtremeClassifier(assignment="random", random_state=0).fit(topics.X, topics.y, validation=held_out)
    ranked = ExtremeClassifier(rerank="learned", n_codes=2, assignment="random", random_state=0)
    ranked.fit(topics.X, topics.y, validation=held_out)
    np.testing.assert_array_equal(ranked.model_.first.bits.margins(topics.test.X), alone.bit_margins(topics.test.X))


def test_members_have_different_orders_of_the_same_tree(topics):
    settings = {"code": "trellis", "assignment": "preserving", "rerank": None, "n_codes": 3}
    classifier = ExtremeClassifier(taxonomy=topics.class_tree, random_state=0, **settings).fit(topics.X, topics.y)
    orders = [member.code.assignment.codeword_of_class for member in classifier.model_.codes]
    assert len({order.tobytes() for order in orders}) == 3
    tree: ClassTree = topics.class_tree
    parents = tree.parent[tree.node_of_class]
    for order in orders:
        # Siblings stay neighbours, whatever the order.
        runs = np.diff(parents[np.argsort(order)]) != 0
        assert runs.sum() + 1 == len(np.unique(parents))
    report = classifier.report(topics.X, topics.y)
    assert report.n_codes == 3
    assert 0 < report.certified_share <= 1
    assert "certified" in str(report)
    assert report.n_bits == 3 * classifier.codebook_.n_bits == classifier.bit_margins(topics.X[:2]).shape[1]


def test_one_order_for_all_members_is_refused(digits):
    order = Assignment(np.arange(10))
    with pytest.raises(ValueError, match="that says how orders are found"):
        ExtremeClassifier(n_codes=2, assignment=order).fit(*digits)


def test_a_search_that_always_ends_the_same_is_refused(topics):
    with pytest.raises(ValueError, match="'spectral' finds the same order every time"):
        ExtremeClassifier(n_codes=2, assignment="spectral").fit(topics.X, topics.y)


def test_only_a_single_code_without_reranking_learns_in_batches():
    assert hasattr(ExtremeClassifier(), "partial_fit")
    assert not hasattr(ExtremeClassifier(rerank="centroid"), "partial_fit")
    assert not hasattr(ExtremeClassifier(n_codes=2), "partial_fit")


def test_every_class_keeps_a_sample():
    class_index = np.array([0, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2])
    for seed in range(20):
        found = hold_out_samples(Samples(np.arange(12)[:, None], class_index), np.random.default_rng(seed))
        assert set(found.samples.class_index) == {0, 1, 2}
        assert len(found.held_out) == 1
        assert sorted([*found.samples.X.ravel(), *found.held_out.X.ravel()]) == list(range(12))
        fewer = hold_out_samples(found.samples, np.random.default_rng(seed), is_copied=False, most_learned=4)
        assert set(fewer.samples.class_index) == {-1, 0, 1, 2}
        assert (fewer.samples.class_index >= 0).sum() == 4 + 3
    single = hold_out_samples(Samples(np.eye(5), np.arange(5)), np.random.default_rng(0))
    assert len(single.held_out) == len(single.samples) == 5


def test_classes_of_one_sample_each_can_be_ranked():
    X = np.eye(12)
    classifier = ExtremeClassifier(rerank="learned", random_state=0).fit(X, np.arange(12))
    assert classifier.score(X, np.arange(12)) == 1


@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("learner", [AROW, Softmax])
def test_an_interrupted_fit_of_several_codes_goes_on_to_the_same_model(topics, tmp_path, learner, n_threads):
    estimator = learner(n_epochs=3, n_threads=n_threads)
    classifier = ExtremeClassifier(
        2, rerank="centroid", n_codes=2, assignment="random", estimator=estimator, random_state=0
    )
    expected = clone(classifier).fit(topics.X, topics.y).decision_function(topics.test.X)
    n_passes = 0

    def interrupt(report):
        nonlocal n_passes
        n_passes += 1
        if n_passes == 5:
            raise KeyboardInterrupt

    checkpoints = Checkpoints(tmp_path / "checkpoint", resume=True)
    with pytest.raises(KeyboardInterrupt):
        clone(classifier).fit(topics.X, topics.y, checkpoints=checkpoints, on_epoch=interrupt)
    assert checkpoints.exists
    resumed = clone(classifier).fit(topics.X, topics.y, checkpoints=checkpoints)
    np.testing.assert_array_equal(resumed.decision_function(topics.test.X), expected)
    checkpoints.clear()
    assert not (tmp_path / "checkpoint").exists()
