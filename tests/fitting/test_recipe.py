import json

import numpy as np
import pytest
from scipy import sparse

from codekin._system.files import bytes_in
from codekin.codebooks import trellis_codebook
from codekin.data import make_sparse_topics
from codekin.estimators import ExtremeClassifier, FitReport
from codekin.fitting import budget, fit
from codekin.fitting.budget import Limits, Task, recipes_within
from codekin.fitting.footprint import SizeAhead
from codekin.fitting.trial import Recipe, Trial
from codekin.learners import Checkpoints, Softmax
from codekin.storage import load_model, save_model, stored_bytes
from tests.fitting.open_settings import open_settings

OPEN = {
    **dict.fromkeys(("width", "n_codes", "rerank", "candidates", "precision", "prune"), "auto"),
    "code": "trellis",
}


@pytest.fixture(scope="module")
def topics():
    return make_sparse_topics(120, 1_500, n_features=800, rng=0)


@pytest.fixture(scope="module")
def few_topics():
    return make_sparse_topics(30, 300, n_features=150, rng=0)


def fitted(topics, *, assignment="preserving", **settings):
    """A classifier; most tests here are not about orders, and leave the search for a better one out."""
    classifier = ExtremeClassifier(assignment=assignment, random_state=0, **settings)
    return classifier.fit(topics.train.X, topics.train.y, validation=(topics.test.X, topics.test.y))


@pytest.mark.parametrize(
    ("code", "recipe", "method"),
    [
        ("tree", Recipe(8, 1, "learned", "int8", None, "tree"), "halving"),
        ("trellis", Recipe(2, 1, "learned", "int8", 0.001, candidates="index"), "portfolio"),
    ],
)
def test_many_classes_of_sparse_samples_are_re_ranked_and_small_weights_dropped(topics, code, recipe, method):
    classifier = fitted(topics, assignment="auto", code=code)
    assert classifier.recipe_ == recipe
    assert classifier.model_.ranking is not None
    assert classifier.assignment_.method == method
    paper = fitted(topics, width=2, rerank=None, estimator="arow")
    assert paper.model_.is_single
    assert classifier.score(topics.test.X, topics.test.y) > paper.score(topics.test.X, topics.test.y)


def test_from_five_hundred_classes_on_and_without_a_re_ranking_the_code_is_wide(topics):
    widths = [open_settings(n, topics.train.X).width for n in (4, 99, 100, 499, 500, 50_001)]
    assert widths == [4, 10, 2, 2, 10, 10]
    assert open_settings(120, topics.train.X, rerank=None).width == 10


def test_few_classes_on_trellises_and_dense_samples_that_are_no_embeddings_are_not_re_ranked(topics):
    assert [open_settings(n, topics.train.X).rerank for n in (99, 100, 50_001)] == [
        None,
        *["learned"] * 2,
    ]
    dense = topics.train.X.toarray()
    assert [open_settings(120, X).rerank for X in (dense, 100 * dense, dense + 1)] == ["learned", None, None]
    assert open_settings(5, topics.train.X, rerank="centroid").rerank == "centroid"
    assert [open_settings(n, topics.train.X, code="auto").rerank for n in (2, 3, 999, 1_000)] == [None] * 3 + [
        "learned"
    ]
    softmax = {"code": "auto", "estimator": "softmax"}
    assert [open_settings(n, topics.train.X, **softmax).rerank for n in (2, 3, 999)] == [None, "learned", "learned"]


@pytest.mark.parametrize("n_bytes", [40_000, 120_000, 10**6])
def test_a_model_is_within_its_budget_on_disk(topics, tmp_path, n_bytes):
    classifier = fitted(topics, max_model_bytes=n_bytes)
    save_model(classifier, tmp_path / "model")
    on_disk = bytes_in(tmp_path / "model")
    assert on_disk == stored_bytes(classifier)
    chosen = next(trial for trial in classifier.trials_ if trial.recipe == classifier.recipe_)
    assert on_disk <= chosen.n_bytes <= n_bytes
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
    search = fit.choose_orders
    monkeypatch.setattr(
        fit,
        "choose_orders",
        lambda *given, **options: found.append(given[0].codebook.n_bits) or search(*given, **options),
    )
    classifier = fitted(topics, assignment="random", width=5, max_model_bytes=60_000)
    assert len({trial.recipe.width for trial in classifier.trials_}) < len(classifier.trials_)
    assert sorted(found) == sorted(set(found))


def test_what_was_settled_stays_settled(topics):
    classifier = fitted(topics, max_model_bytes=200_000, width=3, rerank=None, n_codes=1, precision="float16")
    recipes = {(trial.recipe.width, trial.recipe.rerank, trial.recipe.precision) for trial in classifier.trials_}
    assert recipes == {(3, None, "float16")}


def test_a_budget_that_nothing_fits_in_is_an_error(topics):
    with pytest.raises(ValueError, match=r"no model within 1000 B: labels and everything else besides the weights"):
        fitted(topics, max_model_bytes=1_000)
    with pytest.raises(ValueError, match=r"no model within 6.8 KiB: the smallest model tried takes .* KiB"):
        fitted(topics, max_model_bytes=7_000)


def test_trees_that_cannot_fit_are_not_learned(topics):
    X, n_more = topics.train.X.copy(), 20_000  # a tree counts the weights of every feature
    X.resize(X.shape[0], X.shape[1] + n_more)
    data, told = (X, topics.train.y), []
    refused = ExtremeClassifier(code="tree", max_model_bytes=20_000, random_state=0)
    with pytest.raises(ValueError, match="no model within 19.5 KiB: labels and everything else besides the weights"):
        refused.fit(*data, validation=data, progress=told.append)
    assert not [report.stage for report in told if "learning" in report.stage]
    one = ExtremeClassifier(code="tree", max_model_bytes=40_000, rerank=None, random_state=0).fit(
        *data, validation=data
    )
    assert [trial.recipe.n_codes for trial in one.trials_] == [1]


def test_what_is_saved_beside_the_model_is_part_of_the_budget(topics):
    whole, rest = (
        ExtremeClassifier(assignment="preserving", width=2, rerank=None, max_model_bytes=40_000, random_state=0).fit(
            topics.train.X, topics.train.y, validation=(topics.test.X, topics.test.y), reserved_bytes=n_bytes
        )
        for n_bytes in (0, 15_000)
    )
    assert stored_bytes(rest) + 15_000 <= 40_000
    assert stored_bytes(rest) < stored_bytes(whole)
    with pytest.raises(ValueError, match=r"no model within 39.1 KiB: .* take .* KiB. Allow more"):
        whole.fit(topics.train.X, topics.train.y, reserved_bytes=39_000)


def test_a_class_tree_is_left_out_where_it_would_take_the_budget():
    y = np.repeat(np.arange(1_000), 2)
    X = sparse.csr_array((y[:, None] >> np.arange(10) & 1).astype(np.float32))
    pairs = [("top", f"pair {k}") for k in range(500)] + [(f"pair {k // 2}", k) for k in range(1_000)]
    settings = {"width": 5, "rerank": None, "estimator": "arow", "assignment": "preserving", "random_state": 0}
    large, small, least = (
        ExtremeClassifier(taxonomy=pairs, max_model_bytes=n_bytes, **settings).fit(X, y, validation=(X, y))
        for n_bytes in (30_000, 25_000, 20_000)
    )
    assert large.class_distances_.tree.n_classes == 1_000
    assert small.class_distances_ is least.class_distances_ is None
    np.testing.assert_array_equal(small.predict(X), large.predict(X))
    assert stored_bytes(large) <= 30_000
    assert stored_bytes(small) <= 25_000
    assert stored_bytes(least) <= 20_000


def test_predictions_that_are_too_slow_are_not_chosen(topics):
    with pytest.raises(ValueError, match=r"within 1e-06 microseconds: .* the fastest"):
        fitted(topics, max_microseconds=1e-6, width=2)
    assert fitted(topics, max_microseconds=1e6, width=2, time_limit=0.01).trials_[0].fits


def test_where_no_tree_fits_a_trellis_is_tried(topics, monkeypatch):
    monkeypatch.setattr(
        budget, "microseconds_of", lambda predict, _: 1.0 if predict.__self__.codebook.tree is None else 10.0
    )
    classifier = fitted(topics, max_microseconds=5, time_limit=1e-3)
    assert [trial.recipe.code for trial in classifier.trials_] == ["tree", "tree", "trellis"]
    assert classifier.recipe_.code == "trellis"
    assert classifier.model_.codebook.tree is None


def test_the_limit_of_time_leaves_one_recipe_at_least(topics):
    assert len(fitted(topics, max_model_bytes=10**6, time_limit=1e-3).trials_) == 1


def test_without_validation_some_samples_are_held_out():
    rng = np.random.default_rng(0)
    X = sparse.csr_array((rng.random((200, 400)) < 0.1).astype(float))
    y = rng.permutation(np.arange(200) % 20)  # labels that can be memorised, but not predicted
    settings = {"assignment": "preserving", "code": "trellis", "max_model_bytes": 10**6, "time_limit": 1e-3}
    classifier = ExtremeClassifier(**settings, random_state=0)
    classifier.fit(X, y)
    assert len(classifier.classes_) == 20
    assert classifier.score(X, y) > 0.7
    assert all(trial.accuracy < 0.35 for trial in classifier.trials_)


RECIPES = [
    {"width": 3},
    {"width": 2, "precision": "int8"},
    {"width": 3, "precision": "float16", "prune": 0.3},
    {"width": 5, "prune": 0.2},
    {"width": 2, "precision": "int8", "rerank": "learned"},
    {"width": 3, "precision": "int8", "rerank": "centroid", "n_codes": 3},
    {"width": 2, "n_reserved": 300, "rerank": None},
    {"width": 2, "estimator": Softmax(class_weight=np.ones(120))},
]


@pytest.mark.parametrize("settings", RECIPES, ids=str)
def test_the_size_of_a_trial_is_that_on_disk_or_little_more(topics, settings):
    classifier = fitted(topics, max_model_bytes=10**9, time_limit=1e-3, **settings)
    (trial,) = classifier.trials_
    assert 0 <= trial.n_bytes - stored_bytes(classifier) < 6_000


def asked(task, limits, fits, accuracy=lambda recipe: 0.5):
    """The recipes that are tried where those that ``fits`` accepts are within the limits, and are so accurate."""
    plan, recipes = recipes_within(task, limits), []
    recipe = next(plan)
    while True:
        recipes.append(recipe)
        is_within = fits(recipe)
        n_bytes = 1 if is_within or limits.n_bytes is None else limits.n_bytes + 1
        try:
            recipe = plan.send(Trial(recipe, accuracy(recipe), n_bytes, 1.0, 1.0, is_within))
        except StopIteration:
            return recipes


def test_a_wide_code_is_tried_first_and_others_while_all_take_three_times_its_work():
    task = Task(OPEN, 1_000, 2_000, SizeAhead(10_000, 50_000))
    recipes = asked(task, Limits(n_bytes=200_000), lambda recipe: True)
    assert recipes[0] == Recipe(10, 1, "learned", "int8", "to fit")
    assert [(recipe.width, recipe.n_codes, recipe.rerank) for recipe in recipes[1:]] == [
        (10, 1, None), (20, 1, "learned")
    ]  # fmt: skip
    without = asked(task, Limits(n_bytes=200_000), lambda recipe: recipe.rerank is None)
    assert {recipe.rerank for recipe in without[1:]} == {None}
    nothing = asked(task, Limits(n_bytes=200_000), lambda recipe: False)
    assert [(recipe.width, recipe.n_codes) for recipe in nothing] == [
        (10, 1), (10, 1), (20, 1), (10, 2), (5, 1), (3, 1), (2, 1)
    ]  # fmt: skip


def test_candidates_of_the_code_are_tried_if_those_of_an_index_take_too_long():
    limits = Limits(microseconds=5.0)
    narrow = Task({**OPEN, "width": 2}, 1_000, 2_000, SizeAhead(10_000, 50_000))
    recipes = asked(narrow, limits, lambda recipe: recipe.candidates == "code")
    assert [(recipe.rerank, recipe.candidates) for recipe in recipes[:3]] == [
        ("learned", "index"), ("learned", "code"), (None, "code")
    ]  # fmt: skip
    given = Task(
        {**OPEN, "width": 2, "candidates": "index", "rerank": "learned"}, 1_000, 2_000, SizeAhead(10_000, 50_000)
    )
    assert {recipe.candidates for recipe in asked(given, limits, lambda recipe: False)} == {"index"}


@pytest.mark.parametrize("n_classes", [300, 12_582, 80_000])
@pytest.mark.parametrize("accuracy_of_ranked", [0.4, 0.6])
def test_the_work_of_all_trials_is_at_most_three_fits_of_the_first(n_classes, accuracy_of_ranked):
    task = Task(OPEN, n_classes, 2_000, SizeAhead(10_000, 50_000))
    accuracy = lambda recipe: 0.5 if recipe.rerank is None else accuracy_of_ranked  # noqa: E731
    recipes = asked(task, Limits(n_bytes=10**8), lambda recipe: True, accuracy)
    codes = {recipe.width: recipe.n_codes for recipe in recipes}
    n_ranked = sum(recipe.rerank is not None for recipe in recipes)
    n_bits = {width: trellis_codebook(n_classes, width).n_bits for width in codes}
    total = sum(n * n_bits[width] for width, n in codes.items()) + 500 * n_ranked
    assert len(recipes) > 2
    assert total <= 3 * (n_bits[10] + 500)


def test_the_code_of_a_re_ranking_is_also_tried_alone_and_what_is_better_goes_on():
    task = Task(OPEN, 1_000, 2_000, SizeAhead(10_000, 50_000))
    accuracy = lambda recipe: 0.5 if recipe.rerank is None else 0.4  # noqa: E731
    recipes = asked(task, Limits(n_bytes=200_000), lambda recipe: True, accuracy)
    assert [recipe.rerank for recipe in recipes[:2]] == ["learned", None]
    assert {recipe.rerank for recipe in recipes[2:]} == {None}


def test_the_default_width_is_tried_first():
    task = Task(OPEN, 150, 2_000, SizeAhead(10_000, 50_000), default_width=2)
    assert asked(task, Limits(n_bytes=200_000), lambda recipe: True)[0].width == 2


def test_nothing_is_tried_that_cannot_fit():
    task = Task(OPEN, 1_000, 2_000, SizeAhead(10_000, 50_000))
    assert {recipe.rerank for recipe in asked(task, Limits(n_bytes=55_000), lambda recipe: True)} == {None}
    slow = asked(task, Limits(microseconds=1), lambda recipe: False)
    assert [(recipe.width, recipe.n_codes, recipe.rerank) for recipe in slow] == [
        (10, 1, "learned"),
        *((width, 1, None) for width in (10, 5, 3, 2)),
    ]


def test_all_weights_are_kept_where_they_fit():
    task = Task(OPEN, 1_000, 2_000, SizeAhead(10_000, None))
    assert {recipe.prune for recipe in asked(task, Limits(n_bytes=10**7), lambda recipe: True)} == {None}


def test_codes_of_one_width_are_learned_once(few_topics, monkeypatch):
    learned = []
    fit = Softmax.fit
    monkeypatch.setattr(Softmax, "fit", lambda *given, **options: learned.append(1) or fit(*given, **options))
    classifier = fitted(few_topics, estimator="softmax", width=5, max_model_bytes=20_000)
    assert len(classifier.trials_) == 3
    assert len(learned) == 2  # one code, with and without a re-ranking, and the second of two


def test_checkpoints_of_finished_widths_are_removed_as_the_search_goes_on(few_topics, tmp_path):
    seen = []

    def watch(report):
        seen.append({path.parent.parent.name for path in tmp_path.rglob("*.safetensors")})

    settings = {"assignment": "preserving", "estimator": "softmax", "code": "trellis", "max_model_bytes": 20_000}
    classifier = ExtremeClassifier(**settings, random_state=0)
    options = {"validation": (few_topics.test.X, few_topics.test.y), "on_epoch": watch}
    classifier.fit(few_topics.train.X, few_topics.train.y, checkpoints=Checkpoints(tmp_path / "c"), **options)
    assert max(len(widths) for widths in seen) == 1
    assert len(set.union(*seen)) > 1


def test_a_search_goes_on_where_it_was_interrupted_and_ends_the_same(few_topics, tmp_path):
    settings = {"assignment": "preserving", "estimator": "softmax", "max_model_bytes": 20_000, "random_state": 0}
    settings["code"] = "trellis"
    data = few_topics.train.X, few_topics.train.y
    validation = few_topics.test.X, few_topics.test.y
    undisturbed = ExtremeClassifier(**settings).fit(*data, validation=validation)
    n_epochs = []

    def interrupt(report):
        n_epochs.append(report.epoch)
        if len(n_epochs) == 6:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ExtremeClassifier(**settings).fit(
            *data, validation=validation, on_epoch=interrupt, checkpoints=Checkpoints(tmp_path / "c")
        )
    noted = sorted(path.parent.name for path in tmp_path.rglob("trial-*/checkpoint.json"))
    assert noted
    resumed = ExtremeClassifier(**settings, n_jobs=1)  # the result does not depend on it
    resumed.fit(*data, validation=validation, checkpoints=Checkpoints(tmp_path / "c", resume=True))
    assert [(t.recipe, t.accuracy, t.n_bytes) for t in resumed.trials_] == [
        (t.recipe, t.accuracy, t.n_bytes) for t in undisturbed.trials_
    ]
    np.testing.assert_array_equal(resumed.bit_margins(few_topics.test.X), undisturbed.bit_margins(few_topics.test.X))
    another = ExtremeClassifier(**{**settings, "max_model_bytes": 21_000})
    with pytest.raises(ValueError, match="of another training: its max_model_bytes is 20000, not 21000"):
        another.fit(*data, validation=validation, checkpoints=Checkpoints(tmp_path / "c", resume=True))


def test_a_report_with_trials_survives_json(topics):
    report = fitted(topics, max_model_bytes=60_000, time_limit=1e-3).report()
    assert str(FitReport.from_dict(json.loads(json.dumps(report.as_dict())))) == str(report)
