import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from codekin import ExtremeClassifier
from codekin._system import rows as stored_rows
from codekin.data import SparseData, cached_data, make_sparse_topics, write_data
from codekin.fitting import trial
from codekin.model.class_vectors import index_entries
from codekin.samples import Samples


@pytest.fixture(scope="module")
def topics():
    return make_sparse_topics(300, 6_000, n_features=2_000, words_per_sample=7, rng=0)


def test_few_samples_are_all_in_the_part(topics):
    found = trial.hold_out_classes(Samples(topics.train.X, topics.train.y), 300)
    np.testing.assert_array_equal(found.classes, np.unique(topics.train.y))
    assert len(found.samples) + len(found.held_out) == len(topics.train.y)
    assert 0.2 < len(found.held_out) / len(topics.train.y) < 0.27


def test_of_many_samples_a_part_holds_those_of_neighbouring_classes(topics, monkeypatch):
    monkeypatch.setattr(trial, "LEAST_SAMPLES", 1_000)
    monkeypatch.setattr(trial, "MOST_SAMPLES", 1_000)
    monkeypatch.setattr(trial, "LEAST_CLASSES", 10)
    monkeypatch.setattr(trial, "N_NEIGHBOURHOODS", 2)
    found = trial.hold_out_classes(Samples(topics.train.X, topics.train.y), 300)
    n_samples = len(found.samples) + len(found.held_out)
    assert 1_000 <= n_samples < 1_100
    assert n_samples == np.isin(topics.train.y, found.classes).sum()
    # Renumbered, and the same rows.
    assert set(found.samples.class_index) == set(range(len(found.classes)))
    tree = topics.class_tree
    between, everywhere = (
        tree.path_length(*(of[side] for side in np.triu_indices(len(of), 1))).mean()
        for of in (found.classes, np.arange(300))
    )
    assert between < everywhere


def test_few_classes_with_many_samples_each_are_thinned_out(monkeypatch):
    monkeypatch.setattr(trial, "LEAST_SAMPLES", 100)
    monkeypatch.setattr(trial, "MOST_SAMPLES", 100)
    X, y = np.random.default_rng(0).random((3_000, 4)), np.arange(3_000) % 30
    found = trial.hold_out_classes(Samples(X, y), 30)
    assert len(found.samples) + len(found.held_out) == 100
    assert len(found.classes) > 25


@given(st.lists(st.integers(0, 5), min_size=1, max_size=60))
def test_every_class_keeps_a_sample_to_learn_from(class_index):
    class_index = np.array(class_index)
    found = trial.hold_out_classes(Samples(np.zeros((len(class_index), 1)), class_index), 6)
    assert set(found.classes[found.samples.class_index]) == set(class_index)


def test_without_validation_samples_the_bits_of_a_tree_are_learned_once_from_all_samples(topics):
    settings = {"code": "tree", "precision": "float32", "random_state": 0}
    plain = ExtremeClassifier(rerank=None, **settings).fit(topics.train.X, topics.train.y)
    ranked = ExtremeClassifier(rerank="learned", **settings).fit(topics.train.X, topics.train.y)
    np.testing.assert_array_equal(plain.assignment_.codeword_of_class, ranked.assignment_.codeword_of_class)
    for name in ("children", "values"):
        np.testing.assert_array_equal(getattr(plain.model_.bits, name), getattr(ranked.model_.bits, name))
    assert ranked.score(topics.test.X, topics.test.y) >= plain.score(topics.test.X, topics.test.y) - 0.005


def test_a_tree_is_ranked_even_if_every_class_has_a_single_sample():
    X = np.eye(120)
    classifier = ExtremeClassifier(code="tree", rerank="learned", random_state=0).fit(X, np.arange(120))
    assert classifier.score(X, np.arange(120)) == 1


def test_an_index_has_the_entries_that_suit_all_classes_not_those_of_the_trial(topics, monkeypatch):
    monkeypatch.setattr(trial, "LEAST_SAMPLES", 1_000)
    monkeypatch.setattr(trial, "MOST_SAMPLES", 1_000)
    monkeypatch.setattr(trial, "LEAST_CLASSES", 10)
    monkeypatch.setattr("codekin.model.class_vectors.ENTRIES_OF_ALL", 300 * 9)
    classifier = ExtremeClassifier(code="tree", rerank="centroid", candidates="index", random_state=0)
    ranking = classifier.fit(topics.train.X, topics.train.y).model_.ranking
    assert ranking.n_entries == index_entries(300) == 9


@pytest.mark.parametrize("options", [{}, {"n_codes": 2, "assignment": "random"}])
def test_trees_of_samples_on_disk_are_learned_even_if_class_means_do_not_fit(topics, options, monkeypatch, tmp_path):
    monkeypatch.setattr(stored_rows, "LEAST_PAGE", 1)
    monkeypatch.setattr(trial, "LEAST_SAMPLES", 500)
    X, (kept, y) = topics.train.X[:1_000], np.unique(topics.train.y[:1_000], return_inverse=True)
    write_data(tmp_path / "train.svm", SparseData(X, y, np.arange(len(kept))))
    stored = cached_data(tmp_path / "train.svm", n_features=2_000, max_memory=60_000).X
    with pytest.raises(MemoryError, match=f"The means of {len(kept)} classes"):
        trial.hold_out_classes(Samples(stored, y), len(kept))
    options = options or {"taxonomy": topics.class_tree.restricted_to(kept)}
    fitted = ExtremeClassifier(8, code="tree", rerank=None, random_state=0, **options).fit(stored, y)
    assert fitted.assignment_.method == options.get("assignment", "preserving")
    assert fitted.score(X, y) > 0.5


def skewed(n_samples=3_000, n_labels=80, seed=0):
    """Labels of which some are a hundred times as frequent as others, and words that only one text has."""
    rng = np.random.default_rng(seed)
    labels = sparse.csr_array((rng.random((n_samples, n_labels)) < 0.5 / np.arange(1, n_labels + 1)).astype(np.int32))
    own = sparse.hstack([labels, sparse.eye_array(n_samples)], format="csr", dtype=np.float32)
    return Samples.of_sets(sparse.csr_array(own.multiply(1 / np.sqrt(own.power(2).sum(axis=1))[:, None])), labels)


def test_held_out_samples_of_several_labels_have_as_many_as_all_and_every_label_stays():
    samples = skewed()
    found = [trial.hold_out_samples(samples, np.random.default_rng(seed)) for seed in range(20)]
    assert all((each.samples.labels.sum(axis=0) > 0).all() for each in found)
    assert {len(each.held_out) for each in found} == {300}
    held = np.concatenate([np.diff(each.held_out.labels.indptr) for each in found])
    error = held.std() / np.sqrt(len(held))
    assert abs(held.mean() - samples.labels.sum() / len(samples)) < 4 * error


@pytest.mark.parametrize("scale", [1, 7])
def test_held_out_texts_of_several_labels_lose_words_that_only_they_have_and_keep_their_length(scale):
    samples = skewed()
    counts = sparse.diags_array(np.arange(1.0, len(samples) + 1)) if scale > 1 else sparse.eye_array(len(samples))
    samples = Samples.of_sets(sparse.csr_array(counts @ samples.X), samples.labels)
    found = trial.hold_out_samples(samples, np.random.default_rng(0))
    known, held = found.samples.X.sum(axis=0) > 0, found.held_out
    assert not held.X[:, ~known].nnz
    lengths, has_some = np.sqrt(held.X.power(2).sum(axis=1)), np.diff(held.labels.indptr) > 0
    if scale == 1:  # all rows have one length
        np.testing.assert_allclose(lengths[has_some], 1, rtol=1e-6)
    else:  # what is left is as it was
        assert set(np.unique(held.X.data)) <= set(np.unique(samples.X.data))
