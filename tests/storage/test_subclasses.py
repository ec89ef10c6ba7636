"""Classifiers of parts of classes, saved and loaded."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from tests.crossed import make_crossed_blobs
from tests.storage.test_forged_folders import description_of, refused, sign, with_arrays

from codekin import ECOCClassifier, ExtremeClassifier, SubclassClassifier, load_model, save_model
from codekin.storage import stored_bytes

LABELS = {
    "text": np.array(["ash", "beech", "cedar"]),
    "object": np.array(["ash", "beech", "cedar"], dtype=object),
    "int": np.array([10, 20, 40]),
}
WRAPPED = {
    "one_vs_rest": ECOCClassifier(codebook="one_vs_rest", decoding="loss", random_state=0),
    "dense": ECOCClassifier(RidgeClassifier(), codebook="dense_random", decoding="loss", random_state=0),
    "softmax": ECOCClassifier("softmax", random_state=0),
    "trellis": ExtremeClassifier(3, random_state=0),
}


def crossed(labels=LABELS["text"], seed=0):
    """Three classes, and a feature that is always 1."""
    X, y = make_crossed_blobs(3, 300, labels=labels, seed=seed)
    return np.column_stack([X, np.ones(len(X))]), y


@pytest.fixture(scope="module")
def classifier():
    return SubclassClassifier(WRAPPED["one_vs_rest"]).fit(*crossed())


@pytest.fixture
def folder(classifier, tmp_path):
    return save_model(classifier, tmp_path / "model")


@pytest.mark.parametrize(
    ("wrapped", "kind"), [*((name, "text") for name in WRAPPED), ("one_vs_rest", "object"), ("one_vs_rest", "int")]
)
def test_a_round_trip_is_exact(wrapped, kind, tmp_path):
    X, y = crossed(LABELS[kind])
    classifier = SubclassClassifier(WRAPPED[wrapped], max_error=0.0, max_parts=3).fit(X, y)
    assert len(classifier.class_of_part_) > 3
    folder = save_model(classifier, tmp_path / "model")
    again = load_model(folder)
    assert type(again) is SubclassClassifier
    assert type(again.estimator_) is type(WRAPPED[wrapped])
    assert again.classes_.dtype == classifier.classes_.dtype
    for name in ("classes_", "class_of_part_", "training_errors_"):
        np.testing.assert_array_equal(getattr(again, name), getattr(classifier, name))
    np.testing.assert_array_equal(again.predict(X), classifier.predict(X))
    np.testing.assert_array_equal(again.predict_proba(X), classifier.predict_proba(X))
    np.testing.assert_array_equal(again.top_k(X, 3)[1], classifier.top_k(X, 3)[1])
    params = [one.get_params(deep=False) for one in (again, classifier)]
    assert all(one.pop("estimator") is not None for one in params)
    assert params[0] == params[1]
    assert again.n_features_in_ == 3
    assert stored_bytes(classifier) == sum(file.stat().st_size for file in folder.iterdir())


def test_a_loaded_classifier_can_be_fitted_again(folder, classifier):
    X, y = crossed()
    again = load_model(folder).fit(X, y)
    np.testing.assert_array_equal(again.predict_proba(X), classifier.predict_proba(X))


def test_feature_names_are_kept(tmp_path):
    pandas = pytest.importorskip("pandas")
    X, y = crossed()
    frame = pandas.DataFrame(X, columns=["east", "north", "one"])
    classifier = SubclassClassifier(WRAPPED["one_vs_rest"]).fit(frame, y)
    again = load_model(save_model(classifier, tmp_path / "model"))
    assert again.feature_names_in_.tolist() == ["east", "north", "one"]
    np.testing.assert_array_equal(again.predict(frame), classifier.predict(frame))


def test_a_folder_of_the_version_before_is_read(tmp_path):
    classifier = WRAPPED["one_vs_rest"].fit(*crossed())
    folder = save_model(classifier, tmp_path / "model")
    description = description_of(folder)
    assert description["format_version"] >= 7
    assert "subclasses" not in description["classifier"]
    sign(folder, {**description, "format_version": 6})
    np.testing.assert_array_equal(load_model(folder).predict(crossed()[0]), classifier.predict(crossed()[0]))


@pytest.mark.parametrize("wrapped", [LogisticRegression(), SubclassClassifier(ECOCClassifier(random_state=0))])
def test_around_other_classifiers_it_cannot_be_saved(wrapped, tmp_path):
    classifier = SubclassClassifier(wrapped).fit(*crossed())
    with pytest.raises(TypeError, match="if its estimator is an ECOCClassifier or an ExtremeClassifier. Got one with"):
        save_model(classifier, tmp_path / "model")
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize(
    ("class_of_part", "reason"),
    [
        ([0, 1, 2], "the labels of the 5 parts must be their numbers, and there are classes for 3"),
        ([0, 0, 1, 1, 3], "integers from 0 that increase by at most 1"),
        ([1, 1, 2, 2, 3], "integers from 0 that increase by at most 1"),
        ([0, 0, 2, 1, 2], "integers from 0 that increase by at most 1"),
        ([0.0, 0.0, 1.0, 1.0, 2.0], "integers from 0 that increase by at most 1"),
        ([], "integers from 0 that increase by at most 1"),
        ([0, 0, 1, 1, 1], "'labels' must be a list of 2 texts"),
    ],
)
def test_forged_parts_are_refused_in_one_sentence(class_of_part, reason, folder, classifier):
    assert classifier.class_of_part_.tolist() == [0, 0, 1, 1, 2]

    def change(arrays):
        arrays["class_of_part"] = np.array(class_of_part)

    with_arrays(folder, change)
    assert reason in refused(folder)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"params": {"max_parts": [1]}}, "the parameter 'max_parts' must be a name or a number"),
        ({"params": {"width": 2}}, "a part of the model is missing or misplaced"),
        ({"training_errors": ["0"]}, "'training_errors' must be finite numbers"),
        ({"labels": {"kind": "array"}}, "a part of the model is missing or misplaced"),
    ],
)
def test_forged_descriptions_are_refused_in_one_sentence(change, reason, folder):
    description = description_of(folder)
    description["classifier"]["subclasses"].update(change)
    sign(folder, description)
    assert reason in refused(folder)
