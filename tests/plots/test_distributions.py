import numpy as np
import pytest

from codekin.plots.distributions import (
    MASSES,
    N_CELLS,
    draw_class_distances,
    draw_joint_densities,
    draw_variations,
    joint_density,
    regression,
    variation,
)


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
