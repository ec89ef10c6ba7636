import numpy as np

from codekin.plots.plane import draw_histogram, draw_plane_classes, draw_subproblems

X = np.array([[-0.5, 0.0], [-0.4, 0.1], [0.5, 0.0], [0.4, 0.1]])
Y = np.array([0, 0, 1, 1])


def test_every_bit_has_a_panel_that_counts_its_errors():
    codes = np.array([[-1, 1], [1, -1]], dtype=np.int8)
    figure = draw_subproblems(X, Y, codes, np.array([[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]), title="t")
    assert [axes.get_title(loc="left") for axes in figure.axes[1:3]] == ["bit 0: no errors", "bit 1: 4 errors"]


def test_a_predictor_without_a_direction_has_no_line():
    codes = np.array([[-1], [1]], dtype=np.int8)
    figure = draw_subproblems(X, Y, codes, np.array([[0.0, 0.0, -1.0]]), title="t")
    assert not figure.axes[1].lines


def test_classes_are_numbered_from_one():
    figure = draw_plane_classes(X, Y, title="t")
    assert [text.get_text() for text in figure.axes[0].texts] == ["1", "2"]


def test_a_histogram_shows_its_marks():
    figure = draw_histogram([1.0, 2.0, 2.0], title="t", label="x", marks=[(1.5, "here")])
    assert [text.get_text() for text in figure.axes[0].texts] == ["here"]
