import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits
from sklearn.naive_bayes import GaussianNB

from codekin import ECOCClassifier
from codekin.code.geometry import codeword_distances
from codekin.plots.assignments import assignment_views, draw_coding_matrices, draw_distances, similarity_order
from codekin_studies.distributions import draw_class_distances
from tests.plots.looks import assert_no_text_lies_on_another, share_of_bit_colours

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
    places = np.array(places)
    views = assignment_views(on_a_line(places), {"shuffled": UNARY}, "abcdef")
    order = ["abcdef".index(name) for name in views.class_names]
    expected = codeword_distances(UNARY[order], UNARY[order])
    assert np.array_equal(views.codeword_distances["shuffled"], expected)
    assert (views.coding_matrices["shuffled"][0] == 1).all()


def test_the_unary_code_of_an_ordered_line_changes_once_per_bit():
    views = assignment_views(on_a_line(np.arange(6)), {"unary": UNARY}, "abcdef")
    assert views.n_changes == {"unary": 5}
    assert views.correlations["unary"] == pytest.approx(1)
    assert views.class_names == tuple("abcdef")


def test_codewords_at_equal_distances_have_no_correlation():
    one_hot = (2 * np.eye(6) - 1).astype(np.int8)
    views = assignment_views(on_a_line(np.arange(6)), {"one_vs_rest": one_hot}, "abcdef")
    assert np.isnan(views.correlations["one_vs_rest"])


def test_columns_that_begin_with_zeros_keep_them():
    ternary = np.array([[0, 1], [-1, 1], [1, -1]], dtype=np.int8)
    drawn = assignment_views(on_a_line(np.arange(3)), {"ternary": ternary}, "abc").coding_matrices["ternary"]
    assert sorted(map(tuple, drawn.T)) == [(0, 1, -1), (1, 1, -1)]


@settings(max_examples=10, deadline=None)
@given(st.permutations(range(6)), st.floats(-20, 0))
def test_the_order_stays_when_all_distances_sink_below_zero(places, shift):
    distances = on_a_line(np.array(places))
    assert list(similarity_order(distances + shift * (1 - np.eye(6)))) == list(similarity_order(distances))


def test_views_take_the_distances_of_a_classifier_negative_ones_too():
    X, y = load_digits(return_X_y=True)
    classifier = ECOCClassifier(GaussianNB(), n_bits=8, random_state=0).fit(X[:500], y[:500])
    assert classifier.class_distances_.matrix().min() < 0
    views = assignment_views(classifier.class_distances_, {"own": classifier.coding_matrix_}, classifier.classes_)
    assert views.class_distances.min() < 0


def test_more_classes_than_a_figure_can_show_are_refused():
    with pytest.raises(ValueError, match="at most 1,000 classes. Got 1,001"):
        assignment_views(np.zeros((1001, 1001)), {}, range(1001))


def views_of(n_classes, n_bits, n_panels):
    rng = np.random.default_rng(0)
    names = ("random", "preserving", "breaking")[:n_panels]
    matrices = {name: rng.choice([-1, 1], size=(n_classes, n_bits)).astype(np.int8) for name in names}
    return assignment_views(on_a_line(np.arange(n_classes)), matrices, [f"class {k}" for k in range(n_classes)])


@pytest.mark.parametrize(("n_classes", "n_bits"), [(3, 3), (10, 34), (100, 67)])
def test_three_matrices_are_seen_and_no_text_lies_on_another(n_classes, n_bits):
    figure = draw_coding_matrices(views_of(n_classes, n_bits, 3))
    assert_no_text_lies_on_another(figure)
    for axes in figure.axes[:3]:
        assert share_of_bit_colours(axes) > 0.5


@pytest.mark.parametrize("n_classes", [10, 100])
def test_no_text_lies_on_another_beside_pairs_of_classes(n_classes):
    views = views_of(n_classes, 34, 3)
    assert_no_text_lies_on_another(draw_distances(views))


@pytest.mark.parametrize("n_classes", [3, 100])
def test_no_text_lies_on_another_beside_class_distances(n_classes):
    distances = on_a_line(np.arange(n_classes))
    names = [f"class {k}" for k in range(n_classes)]
    assert_no_text_lies_on_another(draw_class_distances(dict.fromkeys("abc", distances), names, title="distances"))


@pytest.mark.parametrize("draw", [draw_coding_matrices, draw_distances])
def test_a_figure_has_a_panel_per_assignment(draw):
    matrices = {"random": UNARY[[3, 0, 5, 1, 4, 2]], "preserving": UNARY}
    figure = draw(assignment_views(on_a_line(np.arange(6)), matrices, "abcdef"))
    titles = " ".join(axes.get_title(loc="left") for axes in figure.axes)
    assert "random" in titles
    assert "preserving" in titles
