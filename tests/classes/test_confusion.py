"""Distances from confusion matrices: the paper's recipe, and where the counts come from."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.dummy import DummyClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from codekin.classes.distances import confusion_distances, learned_confusion_distances

DIGITS, DIGIT_OF_SAMPLE = load_digits(return_X_y=True)
DIGITS, DIGIT_OF_SAMPLE = DIGITS[:500], DIGIT_OF_SAMPLE[:500]


def test_a_worked_example_of_the_recipe():
    # Sum 100. Off the diagonal (C + C') / 2 is 0.05 for classes 0 and 1, 0.01 for 0 and 2, and 0 for 1 and 2, so A is
    # 0.95, 0.99 and 1, log A is -0.051293, -0.010050 and 0, and 1.1 min log A is -0.056423.
    distances = confusion_distances([[30, 4, 2], [6, 24, 0], [0, 0, 34]]).matrix()
    expected = [[0, 0.005129, 0.046373], [0.005129, 0, 0.056423], [0.046373, 0.056423, 0]]
    np.testing.assert_allclose(distances, expected, atol=1e-6)


def test_the_scale_of_the_counts_and_their_direction_do_not_matter():
    counts = np.random.default_rng(0).integers(0, 50, size=(6, 6))
    distances = confusion_distances(counts).matrix()
    np.testing.assert_allclose(confusion_distances(counts * 7).matrix(), distances)
    np.testing.assert_allclose(confusion_distances(counts.T).matrix(), distances)


def test_more_confused_classes_are_closer_and_none_coincide():
    counts = np.random.default_rng(1).integers(0, 50, size=(8, 8))
    distances = confusion_distances(counts).matrix()
    pairs = np.triu_indices(8, k=1)
    most_confused_first = np.argsort(-(counts + counts.T)[pairs])
    assert (np.diff(distances[pairs][most_confused_first]) >= -1e-15).all()
    assert distances[pairs].min() > 0
    assert distances.max() <= 11 * distances[pairs].min() * (1 + 1e-9)


def test_all_samples_taken_for_one_other_class_is_still_finite():
    distances = confusion_distances([[0, 10], [0, 0]]).matrix()
    np.testing.assert_allclose(distances[0, 1], 0.1 * np.log(2))


def test_no_confusion_at_all_warns_and_makes_all_classes_equally_far():
    with pytest.warns(UserWarning, match="No two classes were ever confused"):
        distances = confusion_distances(np.diag([3, 4, 5]))
    np.testing.assert_array_equal(distances.matrix(), 1 - np.eye(3))
    assert confusion_distances([[5]]).n_classes == 1


@pytest.mark.parametrize(
    ("counts", "sentence"),
    [([[1, 2]], "square"), ([[1, -2], [0, 1]], "not negative"), ([[1, np.nan], [0, 1]], "finite")],
)
def test_confusion_matrices_are_checked(counts, sentence):
    with pytest.raises(ValueError, match=sentence):
        confusion_distances(counts)


def test_training_counts_are_those_of_the_classifier_on_its_own_samples():
    model = GaussianNB().fit(DIGITS, DIGIT_OF_SAMPLE)
    counts = np.zeros((10, 10))
    np.add.at(counts, (DIGIT_OF_SAMPLE, model.predict(DIGITS)), 1)
    learned = learned_confusion_distances(DIGITS, DIGIT_OF_SAMPLE, estimator=GaussianNB())
    np.testing.assert_allclose(learned.matrix(), confusion_distances(counts).matrix())


@pytest.mark.parametrize("counted", ["out_of_fold", "inverse_folds"])
def test_counts_by_folds_find_confusion_where_training_errors_are_none(counted):
    with pytest.warns(UserWarning, match="never|ever"):
        learned_confusion_distances(DIGITS, DIGIT_OF_SAMPLE, estimator=DecisionTreeClassifier(random_state=0))
    distances = learned_confusion_distances(
        DIGITS, DIGIT_OF_SAMPLE, estimator=DecisionTreeClassifier(random_state=0), counted=counted, rng=0
    )
    assert len(np.unique(distances.matrix())) > 5


def test_inverse_folds_learn_from_one_fold_and_judge_the_seven_others():
    seen = []

    class Witness(DummyClassifier):
        def fit(self, X, y, sample_weight=None):
            seen.append(("learned", len(X)))
            return super().fit(X, y)

        def predict(self, X):
            seen.append(("judged", len(X)))
            return super().predict(X)

    learned_confusion_distances(DIGITS[:80], DIGIT_OF_SAMPLE[:80], estimator=Witness(), counted="inverse_folds", rng=0)
    assert seen == [("learned", 10), ("judged", 70)] * 8


def test_a_fold_with_a_single_class_is_no_obstacle():
    X, y = np.arange(6.0)[:, None], np.array([0, 0, 0, 1, 1, 1])
    distances = learned_confusion_distances(
        X, y, estimator=KNeighborsClassifier(1), counted="inverse_folds", n_folds=6, rng=0
    )
    assert distances.n_classes == 2


def test_the_given_estimator_is_left_alone():
    estimator = GaussianNB()
    learned_confusion_distances(DIGITS, DIGIT_OF_SAMPLE, estimator=estimator)
    assert not hasattr(estimator, "classes_")


def test_the_default_finds_eights_and_ones_hard_to_tell():
    X, y = load_digits(return_X_y=True)
    matrix = learned_confusion_distances(X, y, counted="out_of_fold", rng=0).matrix()
    assert matrix[8, 1] < np.median(matrix[~np.eye(10, dtype=bool)])


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"counted": "test"}, "'counted' must be .* Got 'test'"),
        ({"counted": "out_of_fold", "n_folds": 1}, "'n_folds' must be at least 2"),
        ({"n_classes": 5001}, "at most 5000 classes. Got 5001"),
    ],
)
def test_options_are_checked(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        learned_confusion_distances(DIGITS, DIGIT_OF_SAMPLE, **options)


def test_human_confusion_counts_of_cifar100_bring_superclasses_together(shared_data):
    folder = shared_data("cifar100")
    names = np.load(folder / "cifar100_class_names.npz")
    superclass = np.load(folder / "cifar100_features.npz")["superclass_of_class"]
    matrix = confusion_distances(names["human_confusion"]).matrix()
    same = (superclass[:, None] == superclass) & ~np.eye(100, dtype=bool)
    assert matrix[same].mean() < matrix[~same & ~np.eye(100, dtype=bool)].mean()
