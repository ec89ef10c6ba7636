import json

import numpy as np
import pytest

from codekin.datasets import make_sparse_topics
from codekin.estimators import FitReport, TrellisClassifier, order_choice
from codekin.estimators.recipe import Limits, Recipe, bytes_of, default_recipe, recipes_within
from codekin.storage import load_model, save_model

OPEN = {"width": "auto", "n_members": "auto", "rerank": "auto", "precision": "auto", "prune": "auto"}


@pytest.fixture(scope="module")
def topics():
    return make_sparse_topics(120, 1_500, n_features=800, rng=0)


def fitted(topics, *, assignment="preserving", **settings):
    """A classifier; most tests here are not about orders, and leave the search for a better one out."""
    classifier = TrellisClassifier(assignment=assignment, random_state=0, **settings)
    return classifier.fit(topics.train.X, topics.train.y, validation=(topics.test.X, topics.test.y))


def test_many_classes_of_sparse_samples_are_searched_and_re_ranked(topics):
    classifier = fitted(topics, assignment="auto")
    assert classifier.recipe_ == Recipe(2, 1, "learned", "float32", None)
    assert classifier.model_.ranking is not None
    assert classifier.assignment_.method == "portfolio"
    paper = fitted(topics, rerank=None, learner="arow")
    assert paper.model_.is_single
    assert classifier.score(topics.test.X, topics.test.y) > paper.score(topics.test.X, topics.test.y)


def test_few_classes_and_dense_samples_are_not_re_ranked(topics):
    assert [default_recipe(OPEN, topics.train.X, n).rerank for n in (99, 100, 50_001)] == [None, "learned", "learned"]
    assert default_recipe(OPEN, topics.train.X.toarray(), 120).rerank is None
    assert default_recipe({**OPEN, "rerank": "centroid"}, topics.train.X, 5).rerank == "centroid"


@pytest.mark.parametrize("n_bytes", [40_000, 120_000])
def test_a_model_is_within_its_budget_on_disk(topics, tmp_path, n_bytes):
    classifier = fitted(topics, max_model_bytes=n_bytes)
    save_model(classifier, tmp_path / "model")
    on_disk = sum(path.stat().st_size for path in (tmp_path / "model").iterdir())
    assert on_disk <= n_bytes
    assert on_disk == pytest.approx(bytes_of(classifier), rel=0.35)
    best = max(trial.accuracy for trial in classifier.trials_ if trial.fits)
    assert classifier.score(topics.test.X, topics.test.y) == best
    again = load_model(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(topics.test.X), classifier.predict(topics.test.X))
    assert str(again.report()) == str(classifier.report())
    assert "chosen within" in str(again.report())


def test_a_larger_budget_is_never_less_accurate_on_the_samples_that_choose(topics):
    accuracies = [fitted(topics, max_model_bytes=n).score(topics.test.X, topics.test.y) for n in (30_000, 150_000)]
    assert accuracies[1] >= accuracies[0]


def test_members_of_one_width_share_their_orders_with_every_recipe(topics, monkeypatch):
    found = []
    search = order_choice.choose_assignment
    monkeypatch.setattr(
        order_choice, "choose_assignment", lambda *given: found.append(given[1].n_bits) or search(*given)
    )
    classifier = fitted(topics, assignment="random", max_model_bytes=60_000)
    assert len({trial.recipe.width for trial in classifier.trials_}) < len(classifier.trials_)
    assert sorted(found) == sorted(set(found))


def test_what_was_settled_stays_settled(topics):
    classifier = fitted(topics, max_model_bytes=200_000, width=3, rerank=None, n_members=1, precision="float16")
    recipes = {(trial.recipe.width, trial.recipe.rerank, trial.recipe.precision) for trial in classifier.trials_}
    assert recipes == {(3, None, "float16")}


def test_a_budget_that_nothing_fits_in_is_an_error(topics):
    with pytest.raises(ValueError, match=r"no model within 1000 B: the smallest model that was tried takes .* KiB"):
        fitted(topics, max_model_bytes=1_000)


def test_predictions_that_are_too_slow_are_not_chosen(topics):
    with pytest.raises(ValueError, match=r"within 1e-06 microseconds: .* the fastest"):
        fitted(topics, max_microseconds=1e-6, width=2)
    assert fitted(topics, max_microseconds=1e6, width=2, time_limit=0.01).trials_[0].fits


def test_the_limit_of_time_leaves_one_recipe_at_least(topics):
    assert len(fitted(topics, max_model_bytes=10**6, time_limit=1e-3).trials_) == 1


def test_without_validation_some_samples_are_held_out(topics):
    classifier = TrellisClassifier(assignment="preserving", max_model_bytes=60_000, time_limit=1e-3, random_state=0)
    classifier.fit(topics.train.X, topics.train.y)
    assert len(classifier.classes_) == 120
    assert classifier.score(topics.test.X, topics.test.y) > 0.5


def test_recipes_come_with_the_most_bits_first_and_the_smallest_last(topics):
    class_index = np.unique(topics.train.y, return_inverse=True)[1]
    recipes = list(recipes_within(OPEN, topics.train.X, class_index, 120, Limits(n_bytes=10**7)))
    assert recipes[0].width * recipes[0].n_members == max(recipe.width * recipe.n_members for recipe in recipes)
    assert recipes[0].rerank == "learned"
    assert recipes[-1] == Recipe(2, 1, None, "int8", 0.05)


def test_a_report_with_trials_survives_json(topics):
    report = fitted(topics, max_model_bytes=60_000, time_limit=1e-3).report()
    assert str(FitReport.from_dict(json.loads(json.dumps(report.as_dict())))) == str(report)
