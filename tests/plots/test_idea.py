"""The picture that explains codekin shows both assignments of one codebook and both accuracies, readably."""

import numpy as np
import pytest

from codekin.plots import CodingMatrixDisplay
from codekin.plots.code_displays import HEADINGS, draw_idea
from tests.plots.looks import assert_no_text_lies_on_another, share_of_bit_colours

CODEWORDS = np.where((np.arange(8)[:, None] >> np.arange(3)) & 1, 1, -1).astype(np.int8)


@pytest.fixture(scope="module")
def figure():
    matrices = {"random": CODEWORDS[np.random.default_rng(0).permutation(8)], "preserving": CODEWORDS}
    displays = {policy: CodingMatrixDisplay(matrix, "abcdefgh") for policy, matrix in matrices.items()}
    return draw_idea(displays, {"random": 81.04, "preserving": 90.96}, class_label="letter")


def test_both_accuracies_are_shown(figure):
    shown = [[text.get_text() for text in axes.texts] for axes in figure.axes]
    assert shown == [[HEADINGS["random"], "81.0 % right"], [HEADINGS["preserving"], "91.0 % right"]]


def test_every_class_has_its_row_in_both_panels(figure):
    for axes in figure.axes:
        assert sorted(label.get_text() for label in axes.get_yticklabels()) == list("abcdefgh")
        assert share_of_bit_colours(axes) > 0.8


def test_nothing_overlaps(figure):
    assert_no_text_lies_on_another(figure)
