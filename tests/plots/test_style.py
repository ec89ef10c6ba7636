import sys

import matplotlib as mpl
import pytest

from codekin.plots.style import PALETTE, figure_style, new_figure, save_figure


def test_the_style_ends_with_its_block():
    before = dict(mpl.rcParams)
    with figure_style():
        assert mpl.rcParams["font.family"] == ["DejaVu Sans"]
    assert dict(mpl.rcParams) == before


def test_the_same_figure_gives_the_same_files(tmp_path):
    def draw():
        figure = new_figure(2)
        figure.subplots().plot([1, 3, 2], label="line")
        return figure

    first = save_figure(draw(), tmp_path / "first" / "line")
    second = save_figure(draw(), tmp_path / "second" / "line")
    assert [path.name for path in first] == ["line.png", "line.svg"]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    assert sorted(path.name for path in (tmp_path / "first").iterdir()) == ["line.png", "line.svg"]


def test_drawing_leaves_no_window_open():
    before = open_windows()
    new_figure(2)
    assert open_windows() == before


def open_windows():
    return sys.modules["matplotlib.pyplot"].get_fignums() if "matplotlib.pyplot" in sys.modules else []


def test_a_failed_drawing_leaves_the_old_file(tmp_path):
    path = tmp_path / "line.svg"
    path.write_text("old")
    with pytest.raises(ValueError, match="bogus"):
        save_figure(new_figure(2), tmp_path / "line", formats=["bogus"])
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_the_colours_differ_in_lightness_for_those_who_see_no_hue():
    def lightness(colour):
        red, green, blue = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    assert abs(lightness(PALETTE["blue"]) - lightness(PALETTE["grey"])) > 0.1
