import numpy as np
import pytest
from tests.plots.looks import assert_no_text_lies_on_another

from codekin_studies.bound import draw_bounds, draw_named_points
from codekin_studies.distributions import (
    MASSES,
    N_CELLS,
    draw_class_distances,
    draw_joint_densities,
    draw_variations,
    joint_density,
    regression,
    variation,
)
from codekin_studies.exhaustive.page import draw_ranges
from codekin_studies.extreme.results import Runs, SearchGain, draw_accuracy_by_bits, draw_search_gains
from codekin_studies.robustness.results import draw_attacks, draw_clouds, draw_differences
from codekin_studies.synthetic import draw_histogram, draw_plane_classes, draw_subproblems


@pytest.fixture(scope="module")
def cloud():
    rng = np.random.default_rng(0)
    x = rng.normal(size=40_000)
    return x, 80 + 0.5 * x + rng.normal(size=40_000)


def test_level_sets_hold_the_shares_they_promise(cloud):
    found = joint_density(*cloud)
    assert len(found.levels) == len(MASSES)
    masses = [found.density[found.density >= level].sum() / found.density.sum() for level in found.levels]
    np.testing.assert_allclose(masses, MASSES, atol=0.01)


def test_the_line_is_that_of_least_squares(cloud):
    slope, intercept = np.polyfit(*cloud, 1)
    found = joint_density(*cloud)
    np.testing.assert_allclose([found.slope, found.intercept], [slope, intercept])
    assert found.r_squared == pytest.approx(np.corrcoef(*cloud)[0, 1] ** 2)


def test_a_thousandth_of_the_points_are_shown_one_by_one(cloud):
    points = joint_density(*cloud).points
    assert len(points) == 40
    distance = np.hypot(points[:, 0], points[:, 1] - 80)
    assert distance.min() > 2


def test_quantities_that_do_not_vary_have_no_line():
    slope, intercept, r_squared = regression(np.full(10, 0.3), np.arange(10.0))
    assert np.isnan(slope)
    assert np.isnan(r_squared)
    assert intercept == 4.5
    assert np.isfinite(joint_density(np.full(10, 0.3), np.arange(10.0)).density).all()


def test_violins_know_quartiles_and_ends():
    values = np.repeat([50.0, 60.0, 61.0, 62.0, 90.0], [1, 100, 100, 100, 1])
    found = variation("dense", values)
    assert (found.worst, found.median, found.best) == (50.0, 61.0, 90.0)
    assert found.density.max() == 1
    assert len(found.grid) == N_CELLS


def test_constant_values_can_be_drawn(cloud):
    figure = draw_variations([variation("a", np.full(5, 3.0)), variation("b", cloud[1])], title="t")
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["a", "b"]


@pytest.mark.parametrize("n_panels", [1, 3, 4])
def test_panels_stand_side_by_side(cloud, n_panels):
    found = joint_density(*cloud)
    figure = draw_joint_densities({f"panel {k}": found for k in range(n_panels)}, title="t")
    assert sum(axes.get_visible() for axes in figure.axes) == n_panels


def test_distances_are_drawn_with_the_names_of_the_classes():
    matrix = np.abs(np.subtract.outer(np.arange(3.0), np.arange(3.0)))
    figure = draw_class_distances({"means": matrix, "confusion": matrix}, ("a", "b", "c"), title="t")
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["a", "b", "c"]
    assert matrix[0, 0] == 0


def test_runs_scatter_by_two_standard_deviations():
    runs = Runs.of(48, [70.0, 72.0, 74.0])
    assert (runs.mean, runs.two_deviations) == (72.0, 4.0)
    assert str(runs) == "72.00 ± 4.00"
    assert str(Runs.of(48, [70.0])) == "70.00"


def test_bars_are_drawn_at_the_numbers_of_bits_with_their_spreads():
    lines = {"random": [Runs.of(32, [70.0, 72.0]), Runs.of(62, [80.0, 80.0])], "depth-first": [Runs.of(32, [75.0])]}
    axes = draw_accuracy_by_bits(lines, title="t", one_vs_rest=Runs.of(150, [90.0])).axes[0]
    assert axes.get_xticks().tolist() == [32, 62]
    bar = axes.containers[0][2][0].get_segments()[0]
    assert np.ptp(bar[:, 1]) == pytest.approx(2 * 2 * np.sqrt(2))
    assert "one-vs-rest, 150 bits" in [text.get_text() for text in axes.figure.legends[0].get_texts()]


def test_gains_of_one_data_set_share_a_colour():
    gains = [SearchGain("a", 1.0, 0.5, 0.1), SearchGain("a", 2.0, 0.1, np.nan), SearchGain("b", 3.0, -0.2, 0.1)]
    axes = draw_search_gains(gains, title="t").axes[0]
    assert [container.get_label() for container in axes.containers] == ["a", "b"]
    assert axes.containers[0][0].get_xdata().tolist() == [1.0, 2.0]


CAPACITIES = ("plain", "500 features", "2,000 features", "8,000 features")


def test_clouds_have_a_line_per_capacity_and_room_for_all_words():
    rng = np.random.default_rng(0)
    clean = rng.normal(85, 3, size=(4, 5_000))
    clouds = {
        name: {
            one: joint_density(x, 0.5 * x + rng.normal(size=5_000)) for one, x in zip(CAPACITIES, clean, strict=True)
        }
        for name in ("noise", "flipped weight bits", "transfer 0.05")
    }
    figure = draw_clouds(clouds, title="mnist, 8 bits")
    assert [len(axes.lines) for axes in figure.axes if axes.get_visible()] == [4, 4, 4]
    assert_no_text_lies_on_another(figure)


def test_attacks_have_a_line_per_policy_and_every_radius():
    curves = {name: {"preserving": [90, 40, 0], "random": [89, 38, 0], "breaking": [88, 35, 0]} for name in CAPACITIES}
    figure = draw_attacks(curves, [0, 0.05, 0.4], title="mnist")
    assert [line.get_ydata().tolist() for line in figure.axes[3].lines] == list(map(list, curves["plain"].values()))
    assert [label.get_text() for label in figure.axes[0].get_xticklabels()] == ["0", "0.05", "0.4"]
    assert_no_text_lies_on_another(figure)


def test_differences_are_drawn_with_their_intervals_and_missing_ones_left_out():
    rows = {name: dict.fromkeys(CAPACITIES, (1.0, 0.5 / 1.96)) for name in ("clean", "flipped weight bits")}
    rows["clean"]["plain"] = None
    axes = draw_differences(rows, title="mnist", x_label="points").axes[0]
    spans = [
        line.get_xdata()
        for line in axes.lines
        if len(line.get_xdata()) == 2 and line.get_xdata()[0] == pytest.approx(0.5)
    ]
    assert len(spans) == 7
    assert_no_text_lies_on_another(axes.figure)


def test_every_range_is_a_line_and_what_is_not_known_is_left_out():
    axes = draw_ranges([(77.0, 84.0, 88.0), (78.0, 84.5, 89.0)], given=(77.0, None), title="t").axes[0]
    assert [segment[:, 1].tolist() for segment in axes.collections[0].get_segments()] == [[77.0, 88.0], [78.0, 89.0]]
    assert [line.get_ydata()[0] for line in axes.lines if line.get_linestyle() == "--"] == [77.0]


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


def test_errors_of_zero_have_no_place_on_a_logarithmic_scale():
    figure = draw_bounds({"hinge": np.array([[0.0, 3.0], [2.0, 30.0]])}, title="t")
    assert figure.axes[0].collections[0].get_offsets().tolist() == [[2.0, 30.0]]


def test_no_errors_at_all_can_be_drawn():
    assert draw_bounds({"hinge": np.array([[0.0, 3.0]])}, title="t").axes


def test_points_have_their_names():
    figure = draw_named_points([("a", 0.0, 1.0), ("b", 1.0, 2.0)], title="t", x_label="x", y_label="y")
    assert [text.get_text() for text in figure.axes[0].texts] == ["a", "b"]
