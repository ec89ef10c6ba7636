import numpy as np

from codekin.plots.bounds import draw_bounds, draw_named_points


def test_errors_of_zero_have_no_place_on_a_logarithmic_scale():
    figure = draw_bounds({"hinge": np.array([[0.0, 3.0], [2.0, 30.0]])}, title="t")
    assert figure.axes[0].collections[0].get_offsets().tolist() == [[2.0, 30.0]]


def test_no_errors_at_all_can_be_drawn():
    assert draw_bounds({"hinge": np.array([[0.0, 3.0]])}, title="t").axes


def test_points_have_their_names():
    figure = draw_named_points([("a", 0.0, 1.0), ("b", 1.0, 2.0)], title="t", x_label="x", y_label="y")
    assert [text.get_text() for text in figure.axes[0].texts] == ["a", "b"]
