"""Seen rows: fingerprints, marks, and how held-out samples choose what they are worth."""

import numpy as np
import pytest
from scipy import sparse
from tests.reference import reranking as reference

from codekin.estimators import TrellisClassifier
from codekin.kernels.reranking import mark_seen
from codekin.model.reranking import Reranking
from codekin.model.seen_rows import SeenRows, fingerprints
from codekin.storage import load_model, save_model

N_PAIRS, N_WORDS = 20, 12


@pytest.fixture(scope="module")
def pairs():
    """Two classes share twelve words and have every two of them once; training shows each item in one of the two."""
    rng = np.random.default_rng(0)
    first, second = np.triu_indices(N_WORDS, 1)
    splits = {"seen": ([], []), "held_out": ([], [])}
    for pair in range(N_PAIRS):
        seen_in = rng.integers(2, size=len(first))
        for name, side in (("seen", seen_in), ("held_out", 1 - seen_in)):
            words = np.column_stack([first, second]) + N_WORDS * pair
            splits[name][0].append(words)
            splits[name][1].append(2 * pair + side)
    made = {}
    for name, (words, classes) in splits.items():
        features = np.concatenate(words).ravel()
        indptr = np.arange(0, len(features) + 1, 2)
        X = sparse.csr_array((np.ones(len(features)), features, indptr), shape=(len(indptr) - 1, N_WORDS * N_PAIRS))
        made[name] = X, np.concatenate(classes)
    return made


def fitted(pairs, **options):
    half = len(pairs["held_out"][1]) // 2
    validation = tuple(part[:half] for part in pairs["held_out"])
    classifier = TrellisClassifier(4, code="tree", rerank="learned", random_state=0, **options)
    return classifier.fit(*pairs["seen"], validation=validation), tuple(part[half:] for part in pairs["held_out"])


def test_fingerprints_know_the_features_and_nothing_else():
    X = np.array([[1.0, 2.0, 0.0, 0.0], [5.0, -1.0, 0.0, 0.0], [1.0, 2.0, 3.0, 0.0], [0.0, 0.0, 0.0, 0.0]])
    found = fingerprints(X)
    assert found[0] == found[1]
    assert len(np.unique(found)) == 3
    twice_and_zero = sparse.csr_array((np.array([1.0, 1.0, 2.0, 0.0]), np.array([1, 1, 0, 3]), np.array([0, 4])))
    assert fingerprints(twice_and_zero) == found[0]
    many = fingerprints(sparse.random_array((4000, 300), density=0.05, rng=np.random.default_rng(0)))
    assert len(np.unique(many)) > 3800  # 4,000 random numbers of 65,536 are 3,881 different ones


def test_marks_are_those_of_the_twin():
    rng = np.random.default_rng(1)
    sets = [rng.integers(9, size=rng.integers(5)).astype(np.uint16) for _ in range(30)]
    prints, classes = rng.integers(9, size=50).astype(np.uint16), rng.integers(-1, 30, size=(50, 7))
    indptr = np.concatenate([[0], np.cumsum([len(own) for own in sets])])
    marks = np.empty(classes.shape)
    mark_seen(prints, classes, indptr, np.concatenate(sets), marks)
    assert np.array_equal(marks, reference.seen_marks(prints, classes, sets))
    assert 0 < marks.mean() < 1


def test_what_a_class_has_seen_twice_is_not_marked():
    X = np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    seen = SeenRows.of(X, np.array([0, 0, 0, 1]), n_classes=3)
    assert seen.marks(X[[0, 2]], np.array([[0, 1, 2, -1], [0, 1, 2, -1]])).tolist() == [[0, 1, 0, 0], [1, 0, 0, 0]]


def test_items_of_which_a_class_has_one_each_are_looked_for_elsewhere(pairs):
    classifier, test = fitted(pairs)
    ranking = classifier.model_.ranking
    assert ranking.seen_weight < 0
    assert classifier.score(*test) > 0.95
    without = Reranking(ranking.n_candidates, ranking.vectors, ranking.weight)
    assert (classifier.model_.candidates(test[0], 1, ranking=without).classes[:, 0] == test[1]).mean() < 0.5


def test_without_validation_samples_a_tenth_of_the_others_notices_too(pairs):
    both = tuple(
        (sparse.vstack if k == 0 else np.concatenate)([pairs["seen"][k], pairs["held_out"][k]]) for k in range(2)
    )
    classifier = TrellisClassifier(4, code="tree", rerank="learned", random_state=0).fit(*both)
    seen = classifier.model_.ranking.seen
    assert classifier.model_.ranking.seen_weight < 0
    assert seen.marks(both[0], both[1][:, None]).mean() > 0.99  # all of them, not nine tenths


def test_samples_that_do_not_repeat_leave_no_seen_rows():
    rng = np.random.default_rng(2)
    y = np.arange(900) % 30
    X = sparse.csr_array(rng.poisson(1.0, size=(900, 60)) + 3.0 * (np.arange(60) // 2 == y[:, None]))
    classifier = TrellisClassifier(4, code="tree", rerank="learned", random_state=0)
    ranking = classifier.fit(X[:600], y[:600], validation=(X[600:], y[600:])).model_.ranking
    assert ranking.seen is None
    assert ranking.seen_weight == 0


def test_seen_rows_are_stored(pairs, tmp_path):
    classifier, test = fitted(pairs)
    save_model(classifier, tmp_path / "model")
    again = load_model(tmp_path / "model")
    assert np.array_equal(again.predict(test[0]), classifier.predict(test[0]))
    np.testing.assert_array_equal(again.decision_function(test[0][:9]), classifier.decision_function(test[0][:9]))


def test_seen_rows_need_a_tree_and_its_classes(pairs):
    classifier, _ = fitted(pairs)
    model = classifier.model_
    few = SeenRows.of(np.eye(3), np.arange(3), n_classes=3)
    with pytest.raises(ValueError, match="40 classes need as many sets of seen rows. Got 3"):
        type(model)(model.members, Reranking(5, seen=few, seen_weight=1.0))
    trellis = TrellisClassifier(2, rerank=None, random_state=0).fit(*pairs["seen"]).model_
    with pytest.raises(ValueError, match="only rescore the classes of trees"):
        type(trellis)(trellis.members, Reranking(5, seen=model.ranking.seen, seen_weight=1.0))
    with pytest.raises(ValueError, match="'seen_weight' of a re-ranking must be finite"):
        Reranking(5, seen_weight=np.nan)
