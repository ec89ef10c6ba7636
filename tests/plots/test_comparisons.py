import numpy as np
import pytest

from codekin.plots.fit_displays import Mean, PolicyComparison, draw_policy_comparison


@pytest.fixture
def comparison():
    return PolicyComparison(
        "dense_random", 8, {"random": np.array([80.0, 82.0, 84.0]), "preserving": np.array([83.0, 85.0, 87.0])}
    )


def test_the_error_is_that_of_the_mean():
    mean = Mean.of([1.0, 2.0, 3.0, 4.0])
    assert mean.value == 2.5
    assert mean.error == pytest.approx(np.sqrt(5 / 3) / 2)


def test_a_single_value_has_no_error():
    assert str(Mean.of([81.23])) == "81.2"


@pytest.mark.parametrize(("sign", "text"), [("", "2.0 ± 0.5"), ("+", "+2.0 ± 0.5")])
def test_a_mean_is_shown_with_its_error(sign, text):
    assert format(Mean(2.0, 0.5), sign) == text


def test_a_negative_mean_has_a_minus_sign():
    assert str(Mean(-1.0, 0.25)) == "−1.0 ± 0.2"


def test_gains_are_taken_draw_by_draw(comparison):
    assert comparison.gain("preserving") == Mean(3.0, 0.0)
    assert comparison.mean("random").error > 1


def test_the_figure_shows_every_draw_and_every_mean(comparison):
    axes = draw_policy_comparison([comparison, comparison], title="digits").axes[0]
    shown = np.concatenate([line.get_xdata() for line in axes.lines])
    assert {80.0, 82.0, 84.0, 83.0, 85.0, 87.0} <= set(shown)
    assert [label.get_text() for label in axes.get_yticklabels()] == ["dense_random\n8 bits"] * 2
    assert axes.get_xlabel() == "test accuracy, %"
