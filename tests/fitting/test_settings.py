"""The table of settings: what estimators, options and documents have in common follows from it."""

import inspect
import warnings
from dataclasses import fields

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.naive_bayes import GaussianNB

from codekin import ECOCClassifier, ExtremeClassifier, TextClassifier, TrellisClassifier
from codekin.cli.options import reader_of
from codekin.cli.train_options import LEARNER_SETTINGS, OPTIONS, TEXT_SETTINGS
from codekin.data import TextVectorizer
from codekin.fitting.setting import check_settings
from codekin.fitting.settings import ECOC_SETTINGS, EXTREME_SETTINGS
from codekin.learners import LEARNERS
from tests.test_contracts.settings_page import PAGE, settings_page

TABLES = [(ECOCClassifier, ECOC_SETTINGS), (ExtremeClassifier, EXTREME_SETTINGS)]
ROWS = [pytest.param(row, id=f"{kind.__name__}-{row.name}") for kind, table in TABLES for row in table.values()]


@pytest.mark.parametrize(("kind", "table"), TABLES, ids=lambda value: getattr(value, "__name__", ""))
def test_the_signature_of_an_estimator_is_that_of_its_table(kind, table):
    signature = inspect.signature(kind)
    defaults = {name: parameter.default for name, parameter in signature.parameters.items()}
    assert defaults == {name: row.default for name, row in table.items()}
    assert list(defaults) == list(table)
    assert list(kind._parameter_constraints) == list(table)


def test_the_options_of_learners_and_texts_have_their_defaults():
    of_texts = inspect.signature(TextVectorizer).parameters
    for row in LEARNER_SETTINGS:
        having = [kind for kind in LEARNERS.values() if row.name in {field.name for field in fields(kind)}]
        assert having
        for learner in having:
            assert row.default == getattr(learner(), row.name) or row.default is None
    for row in TEXT_SETTINGS:
        assert (reader_of(row)(row.default) if row.name == "min_df" else row.default) in (
            of_texts[row.name].default,
            ",".join(map(str, of_texts["word_ngrams"].default)),
            inspect.signature(TextClassifier).parameters["features"].default,
        )


@pytest.mark.parametrize("row", ROWS)
def test_auto_is_explained_where_it_is_a_value(row):
    is_auto = isinstance(row.default, str) and row.default == "auto"
    assert bool(row.auto) == is_auto
    assert row.help.endswith(".")
    assert not row.auto.endswith(".")
    row.help.format_map({name: name for name in EXTREME_SETTINGS})
    row.auto.format_map({name: name for name in EXTREME_SETTINGS})


@pytest.mark.parametrize("table", [ECOC_SETTINGS, EXTREME_SETTINGS], ids=["ecoc", "extreme"])
def test_defaults_need_nothing(table):
    class Learner:
        learns_probabilities = False
        estimator = None

    values = {name: row.default for name, row in table.items()}
    for kind in ("signs", "symbols", "targets", "trellis", "tree"):
        check_settings(table, {**values, "validation": None, "learner": Learner()}, kind=kind)


def test_every_setting_of_a_classifier_of_many_classes_is_an_option():
    shared = {"taxonomy", "n_jobs", "random_state"}
    assert {row.name for row in OPTIONS} >= set(EXTREME_SETTINGS) - shared


def test_a_trellis_classifier_differs_in_two_defaults():
    defaults = {name: each.default for name, each in inspect.signature(TrellisClassifier).parameters.items()}
    own = {name: row.default for name, row in EXTREME_SETTINGS.items()}
    assert list(defaults) == list(own)
    assert {name: value for name, value in defaults.items() if value != own[name]} == {
        "code": "trellis",
        "rerank": None,
    }


@pytest.mark.parametrize("given", [{"code": "tree"}, {"code": "auto"}, {"rerank": "centroid"}], ids=str)
def test_a_trellis_classifier_that_is_no_trellis_or_re_ranked_says_its_name(given):
    X, y = np.eye(12), np.arange(12) % 4
    with pytest.warns(FutureWarning, match="use ExtremeClassifier"):
        TrellisClassifier(random_state=0, **given).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        TrellisClassifier(random_state=0).fit(X, y)
        ExtremeClassifier(random_state=0, **given).fit(X, y)


@pytest.mark.parametrize(
    "classifier",
    [
        ECOCClassifier(random_state=0),
        ECOCClassifier(GaussianNB(), decoding="learned", random_state=0),
        ECOCClassifier("softmax", codebook="one_vs_rest", random_state=0),
        ExtremeClassifier(random_state=0),
        ExtremeClassifier(code="tree", width=3, random_state=0),
        ExtremeClassifier(max_model_bytes=50_000, random_state=0),
    ],
    ids=repr,
)
def test_a_stored_plan_leaves_nothing_open(classifier):
    X, y = load_digits(return_X_y=True)
    plan = classifier.fit(X[:300] / 16, y[:300]).plan_
    assert not {"auto", "to fit"} & {str(value) for value in plan.values()}
    assert "," not in plan["assignment"]
    assert plan["loss"] == classifier.loss_.name
    assert plan["n_bits"] == classifier.codebook_.n_bits
    assert plan["decoding"] == ("learned" if classifier.model_.decoder.is_learned else "loss")


def test_the_page_of_settings_is_that_of_the_table():
    assert PAGE.read_text(encoding="utf-8") == settings_page(), "python -m tests.test_contracts.settings_page"
