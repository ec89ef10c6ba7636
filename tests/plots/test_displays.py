from tempfile import mkdtemp

import numpy as np
import pytest
from matplotlib import pyplot
from sklearn.datasets import load_wine, make_classification
from sklearn.naive_bayes import GaussianNB

from codekin import ECOCClassifier, load_model, save_model
from codekin.assignments import class_codeword_score, class_codeword_z
from codekin.plots import (
    AssignmentScoreDisplay,
    BitErrorDisplay,
    ClassDistanceDisplay,
    CodewordDistanceDisplay,
    CodingMatrixDisplay,
    PolicyComparisonDisplay,
)
from tests.plots.looks import assert_no_text_lies_on_another, share_of_bit_colours

OF_A_CODE = (CodingMatrixDisplay, CodewordDistanceDisplay, ClassDistanceDisplay, AssignmentScoreDisplay)


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    pyplot.close("all")


def mean_distances(X, y):
    means = np.array([X[y == label].mean(axis=0) for label in np.unique(y)])
    return np.linalg.norm(means[:, None] - means, axis=2)


def problem(n_classes):
    X, y = make_classification(
        20 * n_classes, 20, n_informative=14, n_classes=n_classes, n_clusters_per_class=1, random_state=0
    )
    return X, np.array([f"class {k}" for k in range(n_classes)])[y]


@pytest.fixture(scope="module")
def fitted():
    """Classifiers of codes; for many classes without the searches, which are not tested here."""
    codes = {3: {"codebook": "exhaustive"}, 10: {"codebook": "dense_random", "n_bits": 15}}
    found = {k: ECOCClassifier(GaussianNB(), **code, random_state=0).fit(*problem(k)) for k, code in codes.items()}
    codebook = np.random.default_rng(0).choice([-1, 1], size=(100, 67))
    many = ECOCClassifier(GaussianNB(), codebook=codebook, assignment=np.arange(100), random_state=0)
    return {**found, 100: many.fit(*problem(100))}


@pytest.mark.parametrize("n_classes", [3, 10, 100])
@pytest.mark.parametrize("display", OF_A_CODE)
def test_no_text_lies_on_another(fitted, n_classes, display):
    more = {} if display is CodingMatrixDisplay else {"class_distances": mean_distances(*problem(n_classes))}
    shown = display.from_estimator(fitted[n_classes], **more)
    assert_no_text_lies_on_another(shown.figure_)
    if display is CodingMatrixDisplay:
        assert share_of_bit_colours(shown.ax_) > 0.5


@pytest.mark.parametrize("n_classes", [3, 100])
def test_no_text_lies_on_another_beside_errors_of_bits(fitted, n_classes):
    assert_no_text_lies_on_another(BitErrorDisplay.from_estimator(fitted[n_classes], *problem(n_classes)).figure_)


@pytest.mark.parametrize("display", OF_A_CODE)
def test_a_given_panel_is_drawn_into(fitted, display):
    figure, panels = pyplot.subplots(1, 2)
    shown = display.from_estimator(fitted[10], ax=panels[1])
    assert shown.ax_ is panels[1]
    assert shown.figure_ is figure
    assert not panels[0].has_data()


def test_the_matrix_drawn_is_that_of_the_classifier(fitted):
    classifier = fitted[10]
    shown = CodingMatrixDisplay.from_estimator(classifier)
    rows = [classifier.classes_.tolist().index(name) for name in shown.class_names]
    own = classifier.coding_matrix_[rows]
    assert sorted(map(tuple, shown.coding_matrix.T)) == sorted(map(tuple, (own * own[0]).T))


@pytest.fixture(scope="module")
def of_symbols():
    return ECOCClassifier(GaussianNB(), n_symbols=4, n_bits=5, random_state=0).fit(*problem(10))


def test_symbols_are_numbered_as_they_occur_and_written_into_their_cells(of_symbols):
    shown = CodingMatrixDisplay.from_estimator(of_symbols)
    rows = [of_symbols.classes_.tolist().index(name) for name in shown.class_names]
    own = of_symbols.model_.coding_matrix[rows]

    def partitions(matrix):
        return sorted(sorted(tuple(np.flatnonzero(column == s)) for s in np.unique(column)) for column in matrix.T)

    assert partitions(shown.coding_matrix) == partitions(own)
    assert all(list(dict.fromkeys(column)) == sorted(set(column)) for column in shown.coding_matrix.T.tolist())
    written = np.array([int(text.get_text()) for text in shown.ax_.texts[-own.size :]])
    assert np.array_equal(written.reshape(own.shape), shown.coding_matrix)
    assert_no_text_lies_on_another(shown.figure_)


def test_columns_of_symbols_are_measured_and_compared_as_such(of_symbols):
    X, y = problem(10)
    index = np.array([of_symbols.classes_.tolist().index(label) for label in y])
    wanted = of_symbols.model_.coding_matrix
    said = of_symbols.bit_margins(X).reshape(len(X), 5, 4).argmax(axis=2)
    shown = BitErrorDisplay.from_estimator(of_symbols, X, y)
    assert shown.bit_errors == pytest.approx((said != wanted[index]).mean(axis=0))
    assert shown.ax_.get_xlabel() == "column"
    between = CodewordDistanceDisplay.from_estimator(of_symbols)
    assert np.array_equal(between.codeword_distances, (wanted[:, None] != wanted).sum(axis=2))
    assert between.ax_.get_ylabel() == "columns that differ"


def test_a_classifier_that_knows_no_distances_is_ordered_by_its_codewords(fitted):
    restored = load_model(save_model(fitted[10], mkdtemp() + "/model"))
    assert CodingMatrixDisplay.from_estimator(restored).coding_matrix.shape == fitted[10].coding_matrix_.shape
    with pytest.raises(ValueError, match="has no class distances.*Give class_distances"):
        ClassDistanceDisplay.from_estimator(restored)
    given = CodewordDistanceDisplay.from_estimator(restored, class_distances=fitted[10].class_distances_)
    assert given.correlation > 0.3


def test_what_is_not_fitted_is_not_drawn():
    for display in OF_A_CODE:
        with pytest.raises(ValueError, match="This ECOCClassifier .*not fitted"):
            display.from_estimator(ECOCClassifier())


def test_names_are_as_many_as_classes(fitted):
    with pytest.raises(ValueError, match="There are 3 classes. Got 2 class names"):
        CodingMatrixDisplay.from_estimator(fitted[3], class_names=["a", "b"])


def test_the_score_drawn_is_the_classifiers_and_random_ones_lie_where_they_should(fitted):
    classifier = fitted[10]
    shown = AssignmentScoreDisplay.from_estimator(classifier)
    parts = (classifier.codebook_, classifier.assignment_, classifier.class_distances_)
    assert shown.score == class_codeword_score(*parts)
    distance = (shown.random_scores.mean() - shown.score) / shown.random_scores.std()
    assert distance == pytest.approx(class_codeword_z(*parts), rel=0.2)


def test_errors_of_bits_are_those_of_their_margins(fitted):
    X, y = problem(10)
    classifier = fitted[10]
    shown = BitErrorDisplay.from_estimator(classifier, X, y)
    bits = classifier.coding_matrix_[np.searchsorted(classifier.classes_, y)]
    assert np.allclose(shown.bit_errors, (np.sign(classifier.bit_margins(X)) != bits).mean(axis=0))
    with pytest.raises(ValueError, match="'unseen' is not among the 10 classes"):
        BitErrorDisplay.from_estimator(classifier, X[:1], ["unseen"])


def test_a_comparison_of_policies_leaves_the_classifier_alone():
    X, y = load_wine(return_X_y=True)
    classifier = ECOCClassifier(GaussianNB(), n_bits=3, assignment="breaking", random_state=7)
    shown = PolicyComparisonDisplay.from_estimator(classifier, X[::2], y[::2], X[1::2], y[1::2], n_draws=2)
    assert {policy: len(values) for policy, values in shown.comparison.accuracies.items()} == {
        "random": 2,
        "preserving": 2,
    }
    assert (classifier.assignment, classifier.random_state) == ("breaking", 7)
    assert not hasattr(classifier, "model_")
    assert_no_text_lies_on_another(shown.figure_)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [({"policies": ["lucky"]}, r"some of .*'random'.*Got \['lucky'\]"), ({"n_draws": 0}, "at least 1")],
)
def test_wrong_policies_and_draws_are_named(wrong, message):
    X, y = load_wine(return_X_y=True)
    with pytest.raises(ValueError, match=message):
        PolicyComparisonDisplay.from_estimator(ECOCClassifier(), X, y, X, y, **wrong)


def ticks_of(axis):
    return [int(label.get_text()) for label in axis.get_ticklabels()]


def test_bits_have_the_numbers_of_the_coding_matrix_in_every_display(fitted):
    classifier, (X, y) = fitted[10], problem(10)
    matrix = CodingMatrixDisplay.from_estimator(classifier)
    named = dict(zip(ticks_of(matrix.ax_.xaxis), matrix.coding_matrix.T, strict=True))
    rows = [classifier.classes_.tolist().index(name) for name in matrix.class_names]
    for bit, column in named.items():
        own = classifier.coding_matrix_[rows, bit]
        assert np.array_equal(column, own) or np.array_equal(column, -own)
    errors = BitErrorDisplay.from_estimator(classifier, X, y)
    bars = {round(bar.get_x() + bar.get_width() / 2): bar.get_height() / 100 for bar in errors.ax_.patches}
    wrong = np.sign(classifier.bit_margins(X)) != classifier.coding_matrix_[np.searchsorted(classifier.classes_, y)]
    assert bars == pytest.approx(dict(enumerate(wrong.mean(axis=0))))


@pytest.mark.parametrize(("shift", "word"), [(0.0, "distance"), (-100.0, "dissimilarity")])
def test_what_is_below_zero_is_not_called_a_distance(fitted, shift, word):
    distances = mean_distances(*problem(10)) + shift * (1 - np.eye(10))
    pairs = CodewordDistanceDisplay.from_estimator(fitted[10], class_distances=distances)
    assert pairs.ax_.get_xlabel() == f"class {word}"
    heat = ClassDistanceDisplay.from_estimator(fitted[10], class_distances=distances)
    assert heat.figure_.axes[-1].get_ylabel() == word
