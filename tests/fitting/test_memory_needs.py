"""Every recipe keeps to the memory that its learner is allowed, or is refused in one sentence before it begins."""

import numpy as np
import pytest

from codekin import TrellisClassifier
from codekin.codebooks import trellis_codebook
from codekin.datasets import make_sparse_topics
from codekin.fitting.learner_choice import AutoLearner
from codekin.fitting.memory_needs import BYTES_PER_ENTRY
from codekin.learners import AROW, Softmax
from codekin.model.class_vectors import n_class_entries

RECIPES = {
    "trellis": {"width": 5, "rerank": None},
    "narrow trellis": {"width": 2, "rerank": None},
    "trellis, re-ranked": {"width": 5, "rerank": "learned"},
    "trellis, by centroids": {"width": 5, "rerank": "centroid"},
    "two codes": {"width": 5, "n_members": 2, "rerank": None},
    "tree": {"code": "tree", "rerank": None},
    "tree, re-ranked": {"code": "tree", "rerank": "learned"},
    "two trees": {"code": "tree", "n_members": 2},
    "budget": {"max_model_bytes": 10**6, "code": "tree"},
    "budget of a trellis": {"max_model_bytes": 10**6, "code": "trellis"},
}

KNOWN_AT_ONCE = ("trellis", "trellis, re-ranked", "trellis, by centroids", "two codes", "tree, re-ranked", "two trees")
"""What they need does not depend on the tree or the learner."""


@pytest.fixture(scope="module")
def topics():
    return make_sparse_topics(110, 1_000, n_features=8_000, words_per_sample=12, rng=0)


def limited(recipe, n_bytes):
    learner = AutoLearner(AROW(max_memory=n_bytes, n_epochs=1), Softmax(max_memory=n_bytes, n_epochs=1))
    # Without a search for an order, which takes longer than everything else.
    order = "random" if recipe.get("code") == "tree" else "preserving"
    return TrellisClassifier(estimator=learner, assignment=order, random_state=0, **recipe)


def bytes_of_code(X):
    """A finished code of width 2, a byte for each weight, which the class vectors are learned beside."""
    return X.shape[1] * trellis_codebook(110, 2).n_bits


@pytest.mark.parametrize("name", RECIPES)
def test_too_little_memory_is_refused_in_one_sentence_with_a_way_out(topics, name, monkeypatch):
    if name in KNOWN_AT_ONCE:
        monkeypatch.setattr("codekin.fitting.fit.choose_parts", None)  # nothing is begun
    with pytest.raises(MemoryError, match=r"^[^\n]+ needs? [^\n]+ but 19.5 KiB are allowed by max_memory\. [^\n]+\.$"):
        limited(RECIPES[name], 20_000).fit(topics.X, np.asarray(topics.y))


@pytest.mark.parametrize("name", ["trellis, re-ranked", "two codes", "two trees"])
def test_enough_memory_changes_nothing(topics, name):
    y = np.asarray(topics.y)
    without, within = (limited(RECIPES[name], n_bytes).fit(topics.X, y) for n_bytes in (None, 10**9))
    np.testing.assert_array_equal(without.predict(topics.X[:100]), within.predict(topics.X[:100]))


def test_class_vectors_need_memory_for_each_of_their_entries(topics):
    y = np.asarray(topics.y)
    n_entries = n_class_entries(topics.X, y, 110)
    pairs = np.column_stack([np.repeat(y, np.diff(topics.X.indptr)), topics.X.indices])
    assert n_entries == len(np.unique(pairs, axis=0))
    enough = BYTES_PER_ENTRY * n_entries + bytes_of_code(topics.X)
    recipe = {"width": 2, "rerank": "centroid"}
    with pytest.raises(MemoryError, match="^AROW needs"):  # then the bits
        limited(recipe, enough).fit(topics.X, y)
    with pytest.raises(MemoryError, match="class vectors of a re-ranking need at least"):
        limited(recipe, enough - 1).fit(topics.X, y)


def test_entries_are_counted_only_where_the_samples_have_more_than_fit(topics, monkeypatch):
    monkeypatch.setattr("codekin.fitting.memory_needs.n_class_entries", lambda *_: pytest.fail("entries were counted"))
    monkeypatch.setattr("codekin.fitting.fit.choose_parts", lambda *_: 1 / 0)  # what follows the check
    recipe, enough = {"width": 2, "rerank": "centroid"}, BYTES_PER_ENTRY * topics.X.nnz + bytes_of_code(topics.X)
    with pytest.raises(ZeroDivisionError):
        limited(recipe, enough).fit(topics.X, np.asarray(topics.y))
    with pytest.raises(pytest.fail.Exception, match="entries were counted"):
        limited(recipe, enough - 1).fit(topics.X, np.asarray(topics.y))


def test_a_budget_is_searched_among_the_widths_that_fit(topics):
    n_bytes = 8 * 8_000 * 50  # not enough for width 5 or 10
    found = limited({"max_model_bytes": 10**6, "code": "trellis", "rerank": None}, n_bytes)
    assert found.fit(topics.X, np.asarray(topics.y)).recipe_.width <= 3
