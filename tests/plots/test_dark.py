"""On dark pages ink becomes light and paper transparent; the colours of the data stay readable."""

import io

import numpy as np
import pytest
from matplotlib import colors
from matplotlib.figure import Figure

from codekin.plots import CodingMatrixDisplay
from codekin.plots.style import IN_THE_DARK, INK, PALETTE, PAPER, RULE, darken, figure_style, new_panel, save_figure


def luminance(colour):
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colors.to_rgb(colour)]
    return np.dot([0.2126, 0.7152, 0.0722], linear)


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@figure_style()
def drawn():
    figure, axes = new_panel(2.0, title="a title", x_label="x")
    axes.plot([0, 1], [0, 1], "o-", color=PALETTE["blue"], markeredgecolor="white", label="line")
    axes.scatter([0, 1], [1, 0], color=INK)
    axes.annotate("a note", (0.5, 0.5), bbox={"facecolor": "white", "edgecolor": "none"})
    axes.annotate("", (1, 1), (0, 1), arrowprops={"arrowstyle": "->", "color": INK})
    axes.legend()
    return figure, axes


def test_letters_are_readable_on_either_paper():
    for colour in (INK, PALETTE["black"]):
        assert contrast(colour, "white") > 7
        assert contrast(IN_THE_DARK[colour], PAPER) > 7


@pytest.mark.parametrize("name", [name for name in PALETTE if name != "black"])
def test_the_colours_of_data_can_be_seen_on_dark_paper(name):
    assert contrast(IN_THE_DARK.get(PALETTE[name], PALETTE[name]), PAPER) > 3


def test_ink_becomes_light_and_paper_transparent():
    figure, axes = drawn()
    darken(figure)
    inks = [axes.title, axes.xaxis.label, *axes.get_xticklabels(), *axes.get_legend().get_texts(), axes.texts[0]]
    assert {colors.to_hex(text.get_color()) for text in inks} == {IN_THE_DARK[INK]}
    assert colors.to_hex(axes.spines["left"].get_edgecolor()) == IN_THE_DARK[INK]
    assert colors.to_hex(axes.collections[0].get_facecolor()[0]) == IN_THE_DARK[INK]
    assert colors.to_hex(axes.get_xgridlines()[0].get_color()) == IN_THE_DARK[RULE]
    assert colors.to_hex(axes.lines[0].get_markeredgecolor()) == PAPER
    assert colors.to_hex(axes.texts[0].get_bbox_patch().get_facecolor()) == PAPER
    assert colors.to_hex(axes.texts[1].arrow_patch.get_edgecolor()) == IN_THE_DARK[INK]
    assert figure.patch.get_facecolor()[3] == axes.patch.get_facecolor()[3] == 0


def test_letters_on_cells_keep_their_colour():
    matrix = np.array([[0, 1, 2], [3, 2, 1]])
    display = CodingMatrixDisplay(matrix, ["a", "b"], n_symbols=4).plot(Figure(figsize=(4, 3)).subplots())
    before = [text.get_color() for text in display.ax_.texts if text.get_text() in "0123"]
    darken(display.figure_)
    assert [text.get_color() for text in display.ax_.texts if text.get_text() in "0123"] == before


def test_the_picture_has_no_background(tmp_path):
    figure, _ = drawn()
    darken(figure)
    with io.BytesIO() as stream:
        figure.savefig(stream, facecolor="none", format="rgba", dpi=50)
        pixels = np.frombuffer(stream.getvalue(), dtype=np.uint8).reshape(-1, 4)
    assert (pixels[:, 3] == 0).mean() > 0.5
    assert save_figure(figure, tmp_path / "dark", formats=("png",))[0].exists()
