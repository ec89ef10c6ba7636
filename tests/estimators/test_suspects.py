import csv

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression, Perceptron

from codekin import ECOCClassifier, ExtremeClassifier, TextClassifier
from codekin.data.embedded import load_icd10cm
from codekin.estimators import suspected_labels


@pytest.fixture(scope="module")
def digits():
    """The digits with 2 % of wrong labels, and which these are."""
    X, y = load_digits(return_X_y=True)
    rng = np.random.default_rng(3)
    wrong = rng.choice(len(y), round(0.02 * len(y)), replace=False)
    given = y.copy()
    given[wrong] = (y[wrong] + rng.integers(1, 10, len(wrong))) % 10
    return X / 16, y, given, wrong


@pytest.mark.parametrize(
    "classifier",
    [LogisticRegression(max_iter=1000), ECOCClassifier(n_bits=15, random_state=0), ExtremeClassifier(random_state=0)],
    ids=lambda each: type(each).__name__,
)
def test_most_planted_labels_are_among_the_first(digits, classifier):
    X, y, given, wrong = digits
    before = classifier.get_params()
    found = suspected_labels(classifier, X, given)
    first = round(0.03 * len(y))
    assert np.isin(wrong, found.rows[:first]).mean() >= 0.9
    assert sorted(found.rows.tolist()) == list(range(len(y)))
    own = np.isin(found.rows[:first], wrong)
    assert (found.suggested[:first][own] == y[found.rows[:first]][own]).mean() > 0.8
    assert (found.given == given[found.rows]).all()
    assert (found.given != found.suggested).all()
    assert classifier.get_params() == before
    assert not hasattr(classifier, "classes_")


def test_texts_are_judged_and_written_to_a_table(tmp_path):
    part = load_icd10cm().splits["train"]
    texts, y = list(part.texts[::9][:1500]), np.array([f"class {k}" for k in part.y[::9][:1500]])
    settings = {"features": "words", "random_state": 0}
    found = suspected_labels(TextClassifier(**settings), texts, y, n_folds=2)
    n_single = int((np.unique(y, return_counts=True)[1] == 1).sum())
    assert n_single > 0
    assert len(found) == 1500 - n_single
    with found.save(tmp_path / "suspects.csv", 7).open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert [int(row["row"]) - 1 for row in rows] == found.rows[:7].tolist()
    assert [row["text"] for row in rows] == [texts[k] for k in found.rows[:7]]
    assert float(rows[0]["probability"]) == found.probability[0] < found.suggested_probability[0]
    assert rows[0]["text"][:30] in str(found)
    assert "<table>" in found._repr_html_()


def test_the_same_seed_gives_the_same_list(digits):
    X, _, given, _ = digits
    one, same, other = (
        suspected_labels(LogisticRegression(max_iter=1000), X[:300], given[:300], n_folds=3, random_state=seed).rows
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(one, same)
    assert (one != other).any()


def test_a_budget_of_the_classifier_is_not_searched_for_again(digits):
    X, _, given, _ = digits
    classifier = ExtremeClassifier(max_model_bytes=1000, random_state=0)  # so little that a search would refuse it
    free = ExtremeClassifier(random_state=0)
    one, other = (suspected_labels(each, X[:400], given[:400], n_folds=2).rows for each in (classifier, free))
    np.testing.assert_array_equal(one, other)
    assert classifier.max_model_bytes == 1000


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"n_folds": 1}, "'n_folds' parameter must be at least 2. Got 1"),
        ({"y": [0] * 20}, "At least 2 classes are needed. Got 1"),
        ({"y": range(20)}, "Every class has a single sample"),
        ({"y": [0, 1]}, "There are 20 samples. Got 2 labels"),
        ({"y": [[0, 1]] * 20}, "one label per sample"),
        ({"classifier": Perceptron()}, "Got Perceptron, which has none"),
    ],
)
def test_what_cannot_be_judged_is_refused_in_a_sentence(change, sentence):
    given = {"classifier": LogisticRegression(), "X": np.random.default_rng(0).normal(size=(20, 2)), "y": [0, 1] * 10}
    with pytest.raises(ValueError, match=sentence):
        suspected_labels(**given | change)
