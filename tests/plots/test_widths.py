import numpy as np
import pytest

from codekin.plots.widths import Runs, SearchGain, draw_accuracy_by_bits, draw_search_gains


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
