import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits
from sklearn.naive_bayes import GaussianNB

from codekin import ECOCClassifier
from codekin.code.geometry import codeword_distances
from codekin.plots import ClassDistanceDisplay, CodingMatrixDisplay
from codekin.plots.assignments import correlation, drawn_distances, readable_columns, similarity_order
from codekin_studies.distributions import draw_class_distances
from tests.plots.looks import assert_no_text_lies_on_another

UNARY = np.where(np.tri(6, 5, -1, dtype=bool), 1, -1).astype(np.int8)


def on_a_line(positions):
    return np.abs(np.subtract.outer(positions, positions)).astype(float)


@settings(max_examples=20, deadline=None)
@given(st.permutations(range(6)))
def test_classes_on_a_line_are_put_in_their_order(places):
    order = similarity_order(on_a_line(np.array(places)))
    along_the_line = np.array(places)[order]
    assert list(along_the_line) in ([0, 1, 2, 3, 4, 5], [5, 4, 3, 2, 1, 0])


@pytest.mark.parametrize("n_classes", [1, 2])
def test_one_or_two_classes_need_no_order(n_classes):
    assert list(similarity_order(np.zeros((n_classes, n_classes)))) == list(range(n_classes))


@settings(max_examples=20, deadline=None)
@given(st.permutations(range(6)))
def test_the_readable_order_of_columns_keeps_the_code(places):
    shuffled = UNARY[list(places)]
    matrix, bits = readable_columns(shuffled)
    assert np.array_equal(codeword_distances(matrix, matrix), codeword_distances(shuffled, shuffled))
    assert np.array_equal(np.abs(matrix.T @ shuffled)[np.arange(5), bits], np.full(5, 6))
    assert (matrix[0] == 1).all()


def test_the_unary_code_of_an_ordered_line_changes_once_per_bit():
    matrix, _ = readable_columns(UNARY)
    assert CodingMatrixDisplay(matrix, "abcdef").n_changes == 5
    assert correlation(on_a_line(np.arange(6)), codeword_distances(matrix, matrix)) == pytest.approx(1)


def test_codewords_at_equal_distances_have_no_correlation():
    one_hot = (2 * np.eye(6) - 1).astype(np.int8)
    assert np.isnan(correlation(on_a_line(np.arange(6)), codeword_distances(one_hot, one_hot)))


def test_columns_that_begin_with_zeros_keep_them():
    drawn, _ = readable_columns(np.array([[0, 1], [-1, 1], [1, -1]], dtype=np.int8))
    assert sorted(map(tuple, drawn.T)) == [(0, 1, -1), (1, 1, -1)]


@settings(max_examples=10, deadline=None)
@given(st.permutations(range(6)), st.floats(-20, 0))
def test_the_order_stays_when_all_distances_sink_below_zero(places, shift):
    distances = on_a_line(np.array(places))
    assert list(similarity_order(distances + shift * (1 - np.eye(6)))) == list(similarity_order(distances))


def test_the_distances_of_a_classifier_are_drawn_negative_ones_too():
    X, y = load_digits(return_X_y=True)
    classifier = ECOCClassifier(GaussianNB(), n_bits=8, random_state=0).fit(X[:500], y[:500])
    assert classifier.class_distances_.matrix().min() < 0
    assert ClassDistanceDisplay.from_estimator(classifier).class_distances.min() < 0


def test_more_classes_than_a_figure_can_show_are_refused():
    with pytest.raises(ValueError, match="at most 1,000 classes. Got 1,001"):
        drawn_distances(np.zeros((1001, 1001)))


@pytest.mark.parametrize("n_classes", [3, 100])
def test_no_text_lies_on_another_beside_class_distances(n_classes):
    distances = on_a_line(np.arange(n_classes))
    names = [f"class {k}" for k in range(n_classes)]
    assert_no_text_lies_on_another(draw_class_distances(dict.fromkeys("abc", distances), names, title="distances"))
