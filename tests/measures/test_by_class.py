import json

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict

from codekin.data import make_sparse_topics
from codekin.measures import class_report


@pytest.fixture(scope="module")
def digits():
    """Digits with two problems: 3 and 7 are one class, and half of the fives are a class of their own."""
    X, y = load_digits(return_X_y=True)
    labels = y.astype("<U4")
    labels[(y == 3) | (y == 7)] = "3or7"
    labels[(y == 5) & (np.random.default_rng(0).random(len(y)) < 0.5)] = "5b"
    return X, labels, cross_val_predict(LogisticRegression(max_iter=1000), X / 16, labels)


def test_a_class_that_was_cut_in_two_at_random_is_to_be_merged(digits):
    _, labels, predicted = digits
    (pair,) = class_report(predicted, labels).to_merge
    assert pair.labels == ("5", "5b")


def test_two_classes_under_one_label_are_to_be_split_and_the_parts_are_these_classes(digits):
    X, labels, predicted = digits
    first = class_report(predicted, labels, X, [str(digit) for digit in load_digits().target]).to_split[0]
    assert first.label == "3or7"
    assert first.similarity < first.nearest_similarity
    assert {first.examples[0], first.examples[1]} == {("3", "3", "3"), ("7", "7", "7")}


def test_two_classes_of_sparse_samples_under_one_label_are_to_be_split():
    part = make_sparse_topics(8, 3000, n_features=400, rng=0).splits["train"]
    labels = np.where(part.y == 7, 0, part.y)
    (first, *_) = class_report(labels, labels, part.X, [f"topic {k}" for k in part.y]).to_split
    assert first.label == 0
    assert {len(set(own)) for own in first.examples} == {1}


def test_without_features_nothing_is_to_be_split(digits):
    _, labels, predicted = digits
    assert class_report(predicted, labels).to_split == ()


def test_random_samples_of_one_kind_have_no_parts():
    rng = np.random.default_rng(1)
    labels = np.repeat(["a", "b", "c"], 100)
    X = rng.normal(size=(300, 40)) + 2 * np.repeat(rng.normal(size=(3, 40)), 100, axis=0)
    assert class_report(labels, labels, X).to_split == ()


def test_pairs_are_counted_in_both_directions_with_examples():
    true = ["cat"] * 6 + ["dog"] * 6 + ["cow"]
    predicted = ["cat"] * 4 + ["dog"] * 2 + ["cat"] + ["dog"] * 5 + ["dog"]
    report = class_report(predicted, true, texts=[f"text {i}" for i in range(13)])
    first, second = report.confused
    assert (first.labels, first.n_samples, first.n_confused) == (("cat", "dog"), (6, 6), (2, 1))
    assert first.examples == ("text 4", "text 5", "text 6")
    assert (second.labels, second.n_confused) == (("cow", "dog"), (1, 0))
    assert [each.label for each in report.rare] == ["cow"]
    assert [(each.fewest, each.most, each.n_right) for each in report.sizes] == [(1, 1, 0), (6, 6, 9)]


def test_labels_that_the_model_does_not_know_are_left_out():
    report = class_report(["a", "b", "a"], ["a", "b", "z"], classes=["a", "b"])
    assert (report.n_samples, report.confused, report.worst) == (3, (), ())


def test_a_prediction_of_nothing_is_wrong_but_confuses_nothing():
    predicted = np.array([None, "cat", None, "dog"], dtype=object)
    report = class_report(predicted, ["cat", "cat", "dog", "cat"])
    assert [each.n_right for each in report.sizes] == [0, 1]
    assert [(each.labels, each.n_confused) for each in report.confused] == [(("cat", "dog"), (1, 0))]


def test_a_report_prints_as_tables_is_plain_json_and_its_html_shows_labels_as_they_are():
    report = class_report(["<b>", "c", "c"], ["c", "<b>", "c"])
    assert "most confused pairs" in str(report)
    assert "<b>" not in report._repr_html_()
    assert "&lt;b&gt;" in report._repr_html_()
    assert json.loads(json.dumps(report.as_dict()))["confused"][0]["n_confused"] == [1, 1]


@pytest.mark.parametrize("labels", [[], ["a"]])
def test_predictions_and_labels_must_fit_together(labels):
    with pytest.raises(ValueError, match=r"predictions"):
        class_report(labels, [])
