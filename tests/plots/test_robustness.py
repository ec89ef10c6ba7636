import numpy as np

from codekin.plots.distributions import joint_density
from codekin.plots.robustness import Interval, draw_attacks, draw_clouds, draw_differences
from tests.plots.looks import assert_no_text_lies_on_another

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
    rows = {name: dict.fromkeys(CAPACITIES, Interval(1.0, 0.5, 1.5)) for name in ("clean", "flipped weight bits")}
    rows["clean"]["plain"] = None
    axes = draw_differences(rows, title="mnist", x_label="points").axes[0]
    spans = [line.get_xdata() for line in axes.lines if len(line.get_xdata()) == 2 and line.get_xdata()[0] == 0.5]
    assert len(spans) == 7
    assert_no_text_lies_on_another(axes.figure)
