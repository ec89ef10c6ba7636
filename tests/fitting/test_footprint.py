"""Every recipe keeps to the memory that its learner is allowed, or is refused in one sentence before it begins."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from codekin import ECOCClassifier, ExtremeClassifier
from codekin._system.parallel import limited_threads
from codekin.codebooks import trellis_codebook
from codekin.data import SparseData, cached_data, make_sparse_topics, write_data
from codekin.fitting.codes import learned_code
from codekin.fitting.defaults import AutoLearner
from codekin.fitting.learned_vectors import n_class_entries
from codekin.learners import AROW, Softmax

RECIPES = {
    "trellis": {"width": 5, "rerank": None},
    "narrow trellis": {"width": 2, "rerank": None},
    "trellis, re-ranked": {"width": 5, "rerank": "learned"},
    "trellis, by centroids": {"width": 5, "rerank": "centroid"},
    "narrow trellis, an index": {"width": 2, "rerank": "learned"},
    "AROW": {"width": 5, "rerank": None, "estimator": "arow"},
    "two codes": {"width": 5, "n_codes": 2, "rerank": None},
    "two codes, re-ranked": {"width": 2, "n_codes": 2, "rerank": "learned", "assignment": "random"},
    "tree": {"code": "tree", "rerank": None},
    "tree, re-ranked": {"code": "tree", "rerank": "learned"},
    "two trees": {"code": "tree", "n_codes": 2},
    "budget": {"max_model_bytes": 10**6, "code": "tree"},
    "budget of a trellis": {"max_model_bytes": 10**6, "code": "trellis"},
}

KNOWN_AT_ONCE = [name for name in RECIPES if not name.startswith("budget")]
"""A search within a budget looks for what fits."""

SAMPLES = {
    "sparse": lambda X: X,
    "double": lambda X: X.astype(np.float64),
    "dense": lambda X: X.toarray(),
    "dense, double": lambda X: X.toarray().astype(np.float64),
}


@pytest.fixture(scope="module")
def topics():
    return make_sparse_topics(110, 1_000, n_features=8_000, words_per_sample=12, rng=0)


def limited(recipe, n_bytes):
    arow, softmax = AROW(max_memory=n_bytes, n_epochs=1), Softmax(max_memory=n_bytes, n_epochs=1)
    learner = arow if recipe.get("estimator") == "arow" else AutoLearner(arow, softmax)
    # Without a search for an order, which takes longer than everything else.
    order = "random" if recipe.get("code") == "tree" else "preserving"
    return ExtremeClassifier(random_state=0, **{"assignment": order, **recipe, "estimator": learner})


REFUSAL = r"^[^\n]+ needs? [^\n]+ but {} are allowed by max_memory\. [^\n]+\.$"


def bytes_of_code(X):
    """A finished code of width 2, a byte for each weight, which the class vectors are learned beside."""
    return X.shape[1] * trellis_codebook(110, 2).n_bits


@pytest.mark.parametrize("kind", SAMPLES)
@pytest.mark.parametrize("name", KNOWN_AT_ONCE)
def test_too_little_memory_is_refused_in_one_sentence_before_anything_begins(topics, name, kind, monkeypatch):
    monkeypatch.setattr("codekin.fitting.fit.choose_orders", None)
    with pytest.raises(MemoryError, match=REFUSAL.format("19.5 KiB")):
        limited(RECIPES[name], 20_000).fit(SAMPLES[kind](topics.X), np.asarray(topics.y))


@pytest.mark.parametrize("name", sorted(set(RECIPES) - set(KNOWN_AT_ONCE)))
def test_a_budget_is_refused_in_one_sentence_if_nothing_fits_into_memory(topics, name):
    with pytest.raises(MemoryError, match=REFUSAL.format("19.5 KiB")):
        limited(RECIPES[name], 20_000).fit(topics.X, np.asarray(topics.y))


@pytest.mark.parametrize("name", KNOWN_AT_ONCE)
def test_samples_on_disk_are_refused_alike(topics, name, monkeypatch, tmp_path):
    monkeypatch.setattr("codekin.fitting.fit.choose_orders", None)  # nothing is begun
    y = np.asarray(topics.y)
    write_data(tmp_path / "train.svm", SparseData(topics.X, y, np.arange(110)))
    stored = cached_data(tmp_path / "train.svm", n_features=topics.X.shape[1], max_memory=30_000)
    with pytest.raises(MemoryError, match=REFUSAL.format("19.5 KiB")):
        limited(RECIPES[name], 20_000).fit(stored.X, y)


@pytest.mark.parametrize("learner", [AROW, Softmax])
def test_learners_of_any_code_refuse_before_they_learn(learner, monkeypatch):
    X, y = load_digits(return_X_y=True)
    monkeypatch.setattr("codekin.learners.passes.Passes.fit", None)
    with pytest.raises(MemoryError, match=REFUSAL.format("1000 B")):
        ECOCClassifier(learner(max_memory=1_000), random_state=0).fit(X / 16, y)


@pytest.mark.parametrize(
    ("recipe", "needs"),
    [
        ({"width": 2, "rerank": None, "assignment": "learnability"}, "The search for an order by learnability needs"),
        ({"width": 2, "rerank": None, "assignment": "preserving"}, "A tree of class means needs"),
        ({"code": "tree", "rerank": None, "assignment": "halving"}, "A tree of class means needs"),
        ({"code": "tree", "rerank": "learned", "assignment": "random"}, "The class vectors of a re-ranking need"),
    ],
)
def test_what_is_needed_besides_the_weights_is_refused_before_it_begins(topics, recipe, needs, monkeypatch):
    monkeypatch.setattr("codekin.fitting.fit.choose_orders", None)
    monkeypatch.setattr("codekin.fitting.footprint.BYTES_PER_MEAN", 10**6)
    monkeypatch.setattr("codekin.fitting.footprint.BYTES_PER_ENTRY", 10**6)
    monkeypatch.setattr("codekin.fitting.footprint.BYTES_PER_PAIR", 10**6)
    with pytest.raises(MemoryError, match=f"^{needs} .* but 95.4 MiB are allowed by max_memory"):
        limited(recipe, 10**8).fit(topics.X, np.asarray(topics.y))


def test_a_re_ranking_is_refused_beside_trees_that_kept_too_much(topics, monkeypatch):
    y = np.asarray(topics.y)
    recipe = {"code": "tree", "rerank": "learned", "assignment": "random"}
    held_out = topics.X[:200], y[:200]
    monkeypatch.setattr("codekin.fitting.footprint.bytes_in_use", lambda _: 10**8 - 1)
    monkeypatch.setattr("codekin.fitting.reranking.RankingTrial", None)  # nothing is ranked
    with pytest.raises(MemoryError, match=r"^The codes need 95.4 MiB and their ranking [.0-9]+ KiB, but 95.4 MiB"):
        limited(recipe, 10**8).fit(topics.X, y, validation=held_out)


@pytest.fixture
def one_thread():
    """Codes are learned in turn."""
    with limited_threads(1):
        yield


def test_a_further_code_gets_what_the_others_leave(topics, monkeypatch, one_thread):
    y, given = np.asarray(topics.y), []

    def noted(plan, *arguments, **options):
        given.append(plan.learner.max_memory)
        return learned_code(plan, *arguments, **options)

    monkeypatch.setattr("codekin.fitting.codes.learned_code", noted)
    recipe = {"width": 2, "n_codes": 2, "rerank": None, "assignment": "random", "precision": "float32"}
    held_out = topics.X[:200], y[:200]
    model = limited(recipe, 10**8).fit(topics.X, y, validation=held_out).model_
    assert given == [10**8, 10**8 - model.codes[0].bits.nbytes]
    monkeypatch.setattr("codekin.learners.linear.LinearForm.nbytes", property(lambda _: 10**8 - 1))
    sentence = r"but 1 B are allowed by max_memory\. .* Finished codes take 95.4 MiB of 95.4 MiB already\.$"
    with pytest.raises(MemoryError, match=sentence):
        limited(recipe, 10**8).fit(topics.X, y, validation=held_out)
    monkeypatch.setattr("codekin.learners.linear.LinearForm.nbytes", property(lambda _: 10**8))
    with pytest.raises(MemoryError, match=r"^The codes that are learned need 95.4 MiB, but 95.4 MiB are allowed"):
        limited(recipe, 10**8).fit(topics.X, y, validation=held_out)


@pytest.mark.parametrize("kind", SAMPLES)
def test_entries_of_dense_samples_are_those_of_sparse_ones(topics, kind):
    y = np.asarray(topics.y)
    assert n_class_entries(SAMPLES[kind](topics.X), y, 110) == n_class_entries(topics.X, y, 110)


@pytest.mark.parametrize("name", ["trellis, re-ranked", "two codes", "two trees"])
def test_enough_memory_changes_nothing(topics, name):
    y = np.asarray(topics.y)
    without, within = (limited(RECIPES[name], n_bytes).fit(topics.X, y) for n_bytes in (None, 10**9))
    np.testing.assert_array_equal(without.predict(topics.X[:100]), within.predict(topics.X[:100]))


PER_ENTRY = 1_000
"""Instead of less, so that class vectors need more than anything else."""


def test_class_vectors_need_memory_for_each_of_their_entries(topics, monkeypatch):
    monkeypatch.setattr("codekin.fitting.footprint.BYTES_PER_ENTRY", PER_ENTRY)
    monkeypatch.setattr("codekin.fitting.fit.choose_orders", lambda *_, **__: 1 / 0)  # what follows the check
    y = np.asarray(topics.y)
    n_entries = n_class_entries(topics.X, y, 110)
    pairs = np.column_stack([np.repeat(y, np.diff(topics.X.indptr)), topics.X.indices])
    assert n_entries == len(np.unique(pairs, axis=0))
    enough = PER_ENTRY * n_entries + bytes_of_code(topics.X)
    recipe = {"width": 2, "rerank": "centroid"}
    with pytest.raises(ZeroDivisionError):
        limited(recipe, enough).fit(topics.X, y)
    with pytest.raises(MemoryError, match="class vectors of a re-ranking need at least"):
        limited(recipe, enough - 1).fit(topics.X, y)


def test_entries_are_counted_only_where_the_samples_have_more_than_fit(topics, monkeypatch):
    monkeypatch.setattr("codekin.fitting.footprint.BYTES_PER_ENTRY", PER_ENTRY)
    monkeypatch.setattr("codekin.fitting.footprint.n_class_entries", lambda *_: pytest.fail("entries were counted"))
    monkeypatch.setattr("codekin.fitting.fit.choose_orders", lambda *_, **__: 1 / 0)  # what follows the check
    recipe, enough = {"width": 2, "rerank": "centroid"}, PER_ENTRY * topics.X.nnz + bytes_of_code(topics.X)
    with pytest.raises(ZeroDivisionError):
        limited(recipe, enough).fit(topics.X, np.asarray(topics.y))
    with pytest.raises(pytest.fail.Exception, match="entries were counted"):
        limited(recipe, enough - 1).fit(topics.X, np.asarray(topics.y))


def test_a_budget_is_searched_among_the_widths_that_fit(topics):
    n_bytes = 8 * 8_000 * 50  # not enough for width 5 or 10
    found = limited({"max_model_bytes": 10**6, "code": "trellis", "rerank": None}, n_bytes)
    assert found.fit(topics.X, np.asarray(topics.y)).recipe_.width <= 3


def test_small_copies_of_samples_are_not_counted():
    X, y = load_digits(return_X_y=True)
    few = AROW(max_memory=100_000)  # the weights of ten bits and 64 features take 5 kB, the samples a megabyte
    assert ECOCClassifier(few, random_state=0).fit(X / 16, y).score(X / 16, y) > 0.9
