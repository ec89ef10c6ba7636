"""Candidates of an index, beside those of a code and instead of them."""

import json

import numpy as np
import pytest
from sklearn.base import clone

from codekin import ExtremeClassifier, load_model, save_model
from codekin._system.parallel import limited_threads
from codekin.data import make_sparse_topics
from codekin.deploy.predictor import Predictor
from codekin.fitting.defaults import NARROW_LISTS
from codekin.fitting.trial import Recipe
from codekin.model.class_vectors import index_entries
from tests.fitting.open_settings import default_recipe

KINDS = {
    "trellis": ExtremeClassifier(2, assignment="preserving", random_state=0),
    "two trellises": ExtremeClassifier(2, assignment="random", n_codes=2, random_state=0),
    "tree": ExtremeClassifier(4, code="tree", random_state=0),
    "two trees": ExtremeClassifier(4, code="tree", assignment="random", n_codes=2, random_state=0),
}
N_ROWS = 60


@pytest.fixture(scope="module")
def topics():
    return make_sparse_topics(120, 3000, words_per_sample=7, rng=0)


@pytest.fixture(scope="module", params=[(kind, source) for kind in KINDS for source in ("index", "both")], ids=str)
def fitted(request, topics):
    kind, source = request.param
    classifier = clone(KINDS[kind]).set_params(rerank="learned", candidates=source)
    return classifier.fit(topics.X, topics.y, validation=(topics.test.X[N_ROWS:], topics.test.y[N_ROWS:]))


def losses_of_code(model, X):
    parts = zip(model.codes, model.lazy_margins(X), strict=True)
    return sum(member.decoder.class_losses(margins) for member, margins in parts)


def test_the_index_lists_candidates_and_the_code_its_best_class(fitted, topics):
    model, X = fitted.model_, topics.test.X[:N_ROWS]
    ranking = model.ranking
    assert fitted.candidates == fitted.recipe_.candidates
    assert ranking.n_indexed > 0
    assert (ranking.n_candidates == 1) == (fitted.candidates == "index")
    assert ranking.n_entries == index_entries(120) == 32
    listed = model.ranked.rescored(X, model.lazy_margins(X), ranking).classes
    of_index = ranking.index.best(X, ranking.n_indexed)
    for own, indexed in zip(listed, of_index, strict=True):
        assert set(indexed) <= set(own)
    if len(model.codes) == 1:
        best_of_code = model.decoder.decode(model.lazy_margins(X)[0])
        assert (listed == best_of_code[:, None]).any(axis=1).all()


def test_losses_of_all_classes_agree_with_the_best_and_with_what_the_code_and_the_vectors_say(fitted, topics):
    model, X = fitted.model_, topics.test.X[:N_ROWS]
    candidates = model.ranked.rescored(X, model.lazy_margins(X), model.ranking)
    every, (classes, losses) = model.class_losses(X), model.top_k(X, model.n_classes)
    np.testing.assert_array_equal(model.predict(X), classes[:, 0])
    np.testing.assert_array_equal(every.argmin(axis=1), classes[:, 0])
    assert (np.diff(losses, axis=1) >= 0).all()
    of_code = losses_of_code(model, X)
    products = np.asarray(X @ model.ranking.vectors.to_csr().T.toarray())
    for s in range(N_ROWS):
        own = candidates.classes[s][candidates.classes[s] >= 0]
        expected = of_code[s, own] - model.ranking.weight * products[s, own]
        np.testing.assert_allclose(every[s, own], expected, rtol=1e-4, atol=1e-4)
        assert set(classes[s, : len(own)]) == set(own) or model.codebook.tree is not None
        found = classes[s] >= 0  # a search on a tree may overlook classes
        assert len(set(classes[s, found])) == found.sum()
        np.testing.assert_allclose(every[s, classes[s, : len(own)]], losses[s, : len(own)], rtol=1e-4, atol=1e-4)
    assert (classes >= 0).all() or model.codebook.tree is not None


@pytest.mark.parametrize("source", ["code", "index", "both"])
@pytest.mark.parametrize("kind", ["tree", "two trees"])
def test_a_wider_search_on_trees_has_the_same_candidates(kind, source):
    topics = make_sparse_topics(120, 1500, words_per_sample=7, rng=0)  # so few that the usual search overlooks some
    X, validation = topics.test.X[:N_ROWS], (topics.test.X[N_ROWS:], topics.test.y[N_ROWS:])
    classifier = clone(KINDS[kind]).set_params(rerank="learned", candidates=source)
    model = classifier.fit(topics.X, topics.y, validation=validation).model_
    every, (classes, losses) = model.class_losses(X), model.top_k(X, model.n_classes)
    found = classes >= 0
    of_found = np.take_along_axis(every, np.maximum(classes, 0), axis=1)
    np.testing.assert_allclose(of_found[found], losses[found], rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(model.predict(X), classes[:, 0])
    predictor = Predictor(classifier)
    for s in range(5):
        labels, own = predictor.top_k(X[s : s + 1], model.n_classes)
        assert labels == classifier.classes_[classes[s]].tolist()
        np.testing.assert_allclose(own, losses[s], rtol=1e-6)


def test_probabilities_add_up_to_one_and_the_best_come_first(fitted, topics):
    X = topics.test.X[:N_ROWS]
    every = fitted.predict_proba(X)
    np.testing.assert_allclose(every.sum(axis=1), 1, rtol=1e-6)
    for k in (1, 3, 40):
        labels, probabilities = fitted.top_k_proba(X, k)
        columns = np.searchsorted(fitted.classes_, labels)
        np.testing.assert_allclose(probabilities, np.take_along_axis(every, columns, axis=1), rtol=1e-5, atol=1e-9)
        np.testing.assert_array_equal(labels[:, 0], fitted.predict(X))


def test_certified_predictions_are_the_best_of_all_classes_by_the_codes(fitted, topics):
    model, X = fitted.model_, topics.test.X[:N_ROWS]
    found = model.candidates(X)
    of_code = losses_of_code(model, X)
    for s in np.flatnonzero(found.is_certified):
        own = found.classes[s][found.classes[s] >= 0]
        assert of_code[s, own].min() <= of_code[s].min() + 1e-6


def test_a_folder_and_any_number_of_threads_give_the_same_bytes(fitted, topics, tmp_path):
    X, folder = topics.test.X, save_model(fitted, tmp_path / "model")
    description = json.loads((folder / "model.json").read_text())
    ranking = fitted.model_.ranking
    assert description["ranking"]["index"] == {"n_candidates": ranking.n_indexed, "n_entries": 32}
    assert description["classifier"]["plan"]["candidates"] == fitted.candidates
    labels, losses = fitted.top_k(X, 5)
    again = load_model(folder)
    assert again.candidates == fitted.candidates
    for n_threads in (1, 3):
        with limited_threads(n_threads):
            of_labels, of_losses = again.top_k(X, 5)
        assert of_losses.tobytes() == losses.tobytes()
        assert (of_labels == labels).all()


def test_an_index_finds_what_a_narrow_code_does_not(topics):
    settings = {"rerank": "centroid", "assignment": "random", "random_state": 0}
    validation = topics.test.X[:N_ROWS], topics.test.y[:N_ROWS]
    scores = {
        source: ExtremeClassifier(2, candidates=source, **settings)
        .fit(topics.X, topics.y, validation=validation)
        .score(topics.test.X, topics.test.y)
        for source in ("code", "auto")
    }
    assert scores["auto"] > scores["code"], scores


def test_samples_without_features_get_the_class_of_the_code(fitted, topics):
    nothing = topics.test.X[:2] * 0
    assert (fitted.predict(nothing) == fitted.predict(nothing)[0]).all()
    assert fitted.model_.ranking.index.best(nothing, 3).tolist() == [[-1] * 3] * 2


@pytest.mark.parametrize(
    ("settled", "source"),
    [
        ({"width": 2}, "index"),
        ({"width": NARROW_LISTS + 1}, "code"),
        ({"code": "tree"}, "code"),
        ({"width": 2, "rerank": None}, "code"),
        ({"width": 2, "candidates": "both"}, "both"),
        ({"code": "tree", "candidates": "index"}, "index"),
    ],
)
def test_narrow_trellises_have_an_index_by_default(topics, settled, source):
    recipe = default_recipe(120, topics.X, **settled)
    assert recipe.candidates == source
    assert ("index" in str(recipe)) == (source != "code")


def test_an_index_asks_for_a_reranking():
    dense = np.zeros((3, 2))
    assert default_recipe(3, dense, candidates="index") == Recipe(3, 1, "learned", "float32", None, candidates="index")


@pytest.mark.parametrize("options", [{"rerank": None}, {"n_reserved": 5}])
def test_an_index_without_class_vectors_is_refused(topics, options):
    classifier = ExtremeClassifier(2, candidates="index", **options)
    with pytest.raises(ValueError, match="candidates='index' needs a re-ranking with class vectors"):
        classifier.fit(topics.X, topics.y)


def test_candidates_of_an_index_are_not_learned_in_batches():
    assert not hasattr(ExtremeClassifier(2, candidates="both"), "partial_fit")
