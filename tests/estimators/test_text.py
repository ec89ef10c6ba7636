"""TextClassifier: from texts in any container to labels, reports and folders."""

import html

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.utils import get_tags

from codekin import ExtremeClassifier, Predictor, TextClassifier, load_model, save_model
from codekin.data import TextVectorizer, load_dataset
from codekin.data.training_samples import held_back
from codekin.storage import stored_bytes

ANIMALS = ["a cat purrs", "the dog barks", "my cat sleeps", "dogs bark", "cats purr", "a dog runs"] * 4
KINDS = ["cat", "dog"] * 12


@pytest.fixture(scope="module")
def codes():
    """Texts of 374 classes: training and test."""
    icd = load_dataset("icd10cm")
    names = np.array(icd.class_names)
    return [(list(split.texts), names[split.y]) for split in (icd.train, icd.test)]


@pytest.fixture(scope="module")
def fitted(codes):
    (texts, labels), _ = codes
    return TextClassifier(random_state=0).fit(texts, labels, validation=0.1)


@pytest.mark.parametrize(
    "container",
    [
        list,
        tuple,
        np.array,
        lambda texts: np.array(texts, dtype=object),
        lambda texts: np.array(texts)[:, None],
        pd.Series,
        lambda texts: pd.Series(texts, dtype="string", index=range(5, 5 + len(texts))),
        lambda texts: pd.DataFrame({"title": texts}),
        pl.Series,
        lambda texts: pl.DataFrame({"title": texts}),
        pa.array,
        lambda texts: pa.chunked_array([texts[:3], texts[3:]]),
        lambda texts: pa.table({"title": texts}),
    ],
)
def test_texts_come_in_any_container(container):
    wanted = TextClassifier(random_state=0).fit(ANIMALS, KINDS).predict_proba(ANIMALS)
    classifier = TextClassifier(random_state=0).fit(container(ANIMALS), KINDS)
    assert np.array_equal(classifier.predict_proba(container(ANIMALS)), wanted)


def test_labels_come_in_any_container_and_give_the_same_bytes():
    sizes = {
        stored_bytes(TextClassifier(random_state=0).fit(ANIMALS, labels))
        for labels in (KINDS, np.array(KINDS), pd.Series(KINDS), pl.Series(KINDS), np.array(KINDS, dtype=object))
    }
    assert len(sizes) == 1


def test_missing_texts_are_empty():
    classifier = TextClassifier(random_state=0).fit([*ANIMALS, None, float("nan")], [*KINDS, "cat", "dog"])
    missing = classifier.predict_proba([None, np.nan])
    assert np.array_equal(missing, classifier.predict_proba(["", ""]))
    series = pd.Series(["cat", None], dtype="string")
    assert np.array_equal(classifier.predict_proba(series), classifier.predict_proba(["cat", ""]))


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ("a cat", "Several texts are needed: .* Got a single one, 'a cat'; put it into a list."),
        (["a cat", b"a dog"], "Text 1 must be a str. Got b'a dog' of type bytes."),
        (["a cat", 7], "Text 1 must be a str. Got 7 of type int."),
        (np.arange(4), "Text 0 must be a str. Got 0 of type int."),
        (pd.DataFrame({"a": ["x"], "b": ["y"]}), "One column of texts is needed. Got a table with 2 columns."),
        (7, "Several texts are needed: .* Got 7."),
    ],
)
def test_what_is_no_text_is_named_with_its_place(texts, message):
    classifier = TextClassifier(random_state=0).fit(ANIMALS, KINDS)
    for method in (classifier.predict, lambda given: TextClassifier().fit(given, KINDS)):
        with pytest.raises(ValueError, match=message):
            method(texts)


@pytest.mark.parametrize(
    ("labels", "settings", "message"),
    [
        (KINDS[1:], {}, "There are 24 texts. Got 23 labels."),
        (["cat"] * 24, {}, "needs samples of at least 2 classes"),
        (KINDS, {"validation": 1.5}, "a share of the samples between 0 and 1. Got 1.5"),
        (KINDS, {"validation": "0.1"}, "a share of the samples between 0 and 1. Got '0.1'"),
        (KINDS, {"validation": (ANIMALS,)}, r"\(texts, labels\), or a share of the samples. Got 1 values."),
        (KINDS, {"validation": (ANIMALS[:2], ["cat"])}, "There are 2 validation texts. Got 1 label."),
        (
            [f"class{k}" for k in range(24)],
            {"validation": 0.1},
            "No samples can be held back .*: every class has one sample",
        ),
    ],
)
def test_what_does_not_fit_is_one_sentence(labels, settings, message):
    with pytest.raises(ValueError, match=message):
        TextClassifier().fit(ANIMALS, labels, **settings)


def test_wrong_settings_name_this_classifier():
    with pytest.raises(ValueError, match="'width' parameter of TextClassifier"):
        TextClassifier(width="wide").fit(ANIMALS, KINDS)


def test_what_asks_before_fitting_is_told_so():
    for ask in ("predict", "predict_proba", "explain"):
        with pytest.raises(NotFittedError):
            getattr(TextClassifier(), ask)(ANIMALS)
    with pytest.raises(NotFittedError):
        TextClassifier().report()
    with pytest.raises(NotFittedError):
        TextClassifier().evaluate(ANIMALS, KINDS)


def test_it_is_one_of_scikit_learns_estimators():
    classifier = TextClassifier(TextVectorizer(min_df=2), width=2, random_state=3)
    assert clone(classifier).get_params() == classifier.get_params()
    assert set(ExtremeClassifier().get_params()) < set(classifier.get_params())
    tags = get_tags(classifier).input_tags
    assert (tags.string, tags.one_d_array, tags.two_d_array) == (True, True, False)
    assert cross_val_score(TextClassifier(random_state=0), ANIMALS, KINDS, cv=3).mean() > 0.9
    search = GridSearchCV(TextClassifier(random_state=0), {"width": [2, "auto"]}, cv=2).fit(ANIMALS, KINDS)
    assert search.predict(["a cat"]).tolist() == ["cat"]


def test_answers_are_those_of_the_classifier_of_its_features(codes, fitted):
    _, (texts, _) = codes
    X = fitted.vectorizer_.transform(texts[:50])
    inner = fitted.classifier_
    assert np.array_equal(fitted.predict(texts[:50]), inner.predict(X))
    assert np.array_equal(fitted.predict_proba(texts[:50]), inner.predict_proba(X))
    for mine, theirs in zip(fitted.top_k_proba(texts[:50], 3), inner.top_k_proba(X, 3), strict=True):
        assert np.array_equal(mine, theirs)
    predictor = Predictor(fitted)
    assert [predictor.predict(text) for text in texts[:50]] == fitted.predict(texts[:50]).tolist()


def test_a_share_is_held_back_and_every_class_keeps_a_sample(fitted, codes):
    (texts, labels), _ = codes
    report = fitted.report()
    assert report.evaluation.n_samples == round(0.1 * len(texts)) == len(texts) - report.n_samples
    assert set(fitted.classes_) == set(labels)
    assert 0.85 < report.evaluation.accuracy < report.evaluation.top_5 < 1


def test_the_evaluation_compares_and_names_the_worst_classes(fitted, codes):
    _, (texts, labels) = codes
    evaluation = fitted.evaluate(texts, labels)
    assert evaluation.accuracy == fitted.score(texts, labels)
    best = fitted.top_k(texts, 5)[0]
    assert evaluation.top_5 == np.mean([label in row for label, row in zip(labels, best, strict=True)])
    (_, of_training), _ = codes
    assert evaluation.most_frequent == pytest.approx(np.mean(labels == pd.Series(of_training).mode()[0]), abs=0.01)
    assert evaluation.most_frequent < 0.05 < evaluation.nearest_centroid < evaluation.accuracy
    predicted = fitted.predict(texts)
    for each in evaluation.worst_classes:
        own = predicted[labels == each.label]
        assert (len(own), int((own == each.label).sum())) == (each.n_samples, each.n_right)
        assert each.taken_for[0][1] == pd.Series(own[own != each.label]).value_counts().iloc[0]
    shares = [each.n_right / each.n_samples for each in evaluation.worst_classes]
    assert len(shares) == 10
    assert shares == sorted(shares)
    assert min(each.n_samples for each in evaluation.worst_classes) >= 5
    assert f"accuracy                        {evaluation.accuracy:.1%}" in str(evaluation)


def test_the_nearest_centroid_is_that_of_scikit_learn(codes):
    (texts, labels), (others, of_others) = codes
    texts, labels = texts[:2000], labels[:2000]
    classifier = TextClassifier(random_state=0).fit(texts, labels)
    X, asked = (classifier.vectorizer_.transform(each).toarray() for each in (texts, others[:500]))
    means = np.stack([X[labels == label].mean(axis=0) for label in classifier.classes_])
    means /= np.linalg.norm(means, axis=1, keepdims=True)
    nearest = classifier.classes_[np.argmax(asked @ means.T, axis=1)]
    evaluation = classifier.evaluate(others[:500], of_others[:500])
    assert evaluation.nearest_centroid == pytest.approx(np.mean(nearest == of_others[:500]), abs=0.003)
    assert evaluation.n_unknown == int((~np.isin(of_others[:500], classifier.classes_)).sum()) > 0


def test_the_report_is_for_people_and_its_details_for_the_others(fitted):
    report = fitted.report()
    text = str(report)
    for line in ("accuracy  ", "among the best 5  ", "the nearest class mean", "374 classes", "microseconds from text"):
        assert line in text
    for word in ("rho", "NLL", "svm", "bits"):
        assert word not in text
        assert word in str(report.details)
    assert report.n_bytes == stored_bytes(fitted)
    assert report.as_dict()["evaluation"]["accuracy"] == report.evaluation.accuracy
    unmeasured = TextClassifier(random_state=0).fit(ANIMALS, KINDS).report()
    assert unmeasured.evaluation is None
    assert "not measured" in str(unmeasured)


def test_an_explanation_names_words_and_adds_up(fitted):
    explanation = fitted.explain("tuberculosis of other bones")
    assert explanation.labels.tolist() == fitted.predict(["tuberculosis of other bones"]).tolist()
    assert "tuberculosis" in dict(explanation.top())
    total = explanation.contributions.sum() + explanation.bias.sum() + sum(map(np.sum, explanation.other.values()))
    assert total == pytest.approx(explanation.scores[0])
    hashed = TextClassifier(TextVectorizer(hashing=True), random_state=0).fit(ANIMALS, KINDS)
    assert "cat" in dict(hashed.explain(["a cat"]).top())


def test_folders_are_those_of_save_model(fitted, codes, tmp_path):
    _, (texts, labels) = codes
    folder = fitted.save(tmp_path / "one")
    again = TextClassifier.load(folder)
    assert np.array_equal(again.predict_proba(texts[:30]), fitted.predict_proba(texts[:30]))
    assert again.evaluate(texts, labels).nearest_centroid is None
    assert again.report().n_bytes == fitted.report().n_bytes
    assert isinstance(load_model(folder), ExtremeClassifier)
    other = save_model(fitted.classifier_, tmp_path / "two", model_input=fitted.model_input_)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == {
        path.name: path.read_bytes() for path in other.iterdir()
    }
    refitted = clone(again).fit(texts[:300], labels[:300])
    assert refitted.vectorizer_.vectorizer == fitted.vectorizer_.vectorizer


def test_a_folder_of_features_holds_no_text_classifier(tmp_path):
    X, y = np.eye(4), np.arange(4)
    folder = save_model(ExtremeClassifier(random_state=0).fit(X, y), tmp_path / "model")
    with pytest.raises(ValueError, match="holds no TextClassifier but a model of features; load_model reads it"):
        TextClassifier.load(folder)


def test_prediction_sets_are_saved_with_the_model(fitted, codes, tmp_path):
    _, (texts, labels) = codes
    fitted.calibrate_sets(texts[::2], labels[::2])
    sets = TextClassifier.load(fitted.save(tmp_path / "model")).predict_sets(texts[1::2], 0.9)
    assert np.mean([label in own for label, own in zip(labels[1::2], sets, strict=True)]) > 0.87


def test_batches_and_new_classes_are_learned():
    classifier = TextClassifier(TextVectorizer(hashing=True), width=2, rerank=None, n_reserved=1, random_state=0)
    for _ in range(5):
        classifier.partial_fit(ANIMALS, KINDS, classes=["cat", "dog"])
    assert classifier.score(ANIMALS, KINDS) == 1
    classifier.add_classes(["a cow moos"], ["cow"])
    assert classifier.partial_fit([*ANIMALS, "a cow moos"], [*KINDS, "cow"]).classes_.tolist() == ["cat", "cow", "dog"]
    assert classifier.report().evaluation is None


def test_weights_count():
    texts, labels = ["it runs"] * 20, ["cat"] * 12 + ["dog"] * 8
    assert TextClassifier(random_state=0).fit(texts, labels).predict(texts[:1]).tolist() == ["cat"]
    weights = np.r_[np.full(12, 0.1), np.full(8, 5.0)]
    weighted = TextClassifier(random_state=0).fit(texts, labels, sample_weight=weights)
    assert weighted.predict(texts[:1]).tolist() == ["dog"]
    cat_only = TextClassifier(random_state=0).fit(
        [*ANIMALS, "a cow"], [*KINDS, "cow"], sample_weight=[*np.ones(24), 0.0], validation=0.2
    )
    assert "cow" not in cat_only.classes_


def test_a_budget_is_met_with_the_vocabulary(codes):
    (texts, labels), _ = codes
    classifier = TextClassifier(max_model_bytes=200_000, random_state=0).fit(texts[::4], labels[::4], validation=0.1)
    assert classifier.report().n_bytes <= 200_000


def test_the_explorer_takes_texts(fitted, codes):
    _, (texts, labels) = codes
    page = fitted.explore(texts[:60], labels[:60], title="Codes")
    assert "Codes" in page.html


def test_features_are_chosen_by_name():
    words, both = (
        TextClassifier(features, random_state=0).fit(ANIMALS, KINDS) for features in ("words", "words+trigrams")
    )
    assert {block.kind for block in words.vectorizer_.blocks} == {"words"}
    assert {block.kind for block in both.vectorizer_.blocks} == {"words", "characters"}
    with pytest.raises(ValueError, match="'features' parameter of TextClassifier must be .* Got 'guess' instead"):
        TextClassifier("guess").fit(ANIMALS, KINDS)


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA])
def test_a_missing_label_is_called_missing(missing):
    for labels in (["a", missing, "b"], pd.Series(["a", missing, "b"]), pd.Series([1, missing, 2], dtype=object)):
        with pytest.raises(ValueError, match=r"The label of sample 1 is missing. Got .*; leave such samples out\."):
            TextClassifier().fit(["x", "y", "z"], labels)


@pytest.mark.filterwarnings("error")
def test_different_labels_of_texts_to_evaluate_are_nothing_to_warn_of():
    classifier = TextClassifier(random_state=0).fit(["a cat", "a dog", "my cat", "my dog"] * 5, ["cat", "dog"] * 10)
    labels = ["cat", "dog", *(f"pet {k}" for k in range(28))]
    assert classifier.evaluate(["a cat", "a dog"] * 15, labels).n_unknown == 28


def test_validation_samples_that_chose_the_settings_are_said_to_have():
    classifier = TextClassifier(max_model_bytes=20_000, random_state=0).fit(ANIMALS, KINDS, validation=0.25)
    assert "(on 6 validation samples, which also chose the settings)" in str(classifier.report())
    classifier = TextClassifier(random_state=0).fit(ANIMALS, KINDS, validation=0.25)
    assert "(on 6 samples that the model has not learned from)" in str(classifier.report())


@pytest.mark.parametrize("sizes", [[10] * 40, [1, 1, 500, 30, 30, 2], [3, 3, 3]])
def test_the_share_that_is_held_back_is_about_that_of_every_class(sizes):
    class_index = np.random.RandomState(1).permutation(np.repeat(np.arange(len(sizes)), sizes))
    spare = np.array(sizes) - 1
    for seed in range(20):
        kept, held = held_back(class_index, 0.1, np.random.RandomState(seed))
        assert sorted([*kept, *held]) == list(range(len(class_index)))
        assert len(held) == max(round(0.1 * len(class_index)), 1)
        expected = len(held) * spare / spare.sum()
        assert (np.abs(np.bincount(class_index[held], minlength=len(sizes)) - expected) < 1).all()


def test_a_report_is_a_table_in_notebooks_with_the_classes_that_are_the_problem(fitted):
    report = fitted.report()
    shown = report._repr_html_()
    assert shown.count("<table>") > 2
    assert f"{report.evaluation.accuracy:.1%}" in shown
    pair = report.evaluation.by_class.confused[0]
    assert html.escape(str(pair.examples[0])) in shown
    assert report.evaluation.by_class.worst == report.evaluation.worst_classes
    assert "by_class" not in report.evaluation.as_dict()
    assert shown.count("worst classes") == 1
    assert "recognised least" not in shown
    assert "minimum distance" in report.details._repr_html_()
