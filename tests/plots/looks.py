"""Automatic checks of drawn figures."""

from itertools import combinations

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgba

from codekin.plots.style import bit_colours


def assert_no_text_lies_on_another(figure):
    """Tick labels, labels of axes and titles; annotations inside a panel may lie on what they explain."""
    figure.draw_without_rendering()
    boxes = []
    for axes in (axes for axes in figure.axes if axes.get_visible()):
        texts = [axes.title, axes._left_title, axes.xaxis.label, axes.yaxis.label]
        for axis in (axes.xaxis, axes.yaxis):
            texts += [axis.get_offset_text()]
            texts += [tick.label1 for tick in axis._update_ticks() if tick.label1.get_visible()]  # those in view
        boxes += [(text.get_text(), text.get_window_extent()) for text in texts if text.get_text().strip()]
    for (first, a), (second, b) in combinations(boxes, 2):
        # Letters do not fill their boxes.
        width, height = min(a.x1, b.x1) - max(a.x0, b.x0), min(a.y1, b.y1) - max(a.y0, b.y0)
        assert min(width, height) < 2.0, f"{first!r} and {second!r} overlap by {width:.1f} x {height:.1f} pixels"


def share_of_bit_colours(axes):
    """How much of a panel shows the colour of a bit."""
    canvas = FigureCanvasAgg(axes.figure)
    canvas.draw()
    pixels = np.asarray(canvas.buffer_rgba())[::-1, :, :3].astype(int)
    x0, y0, x1, y1 = (round(end) for end in axes.get_window_extent().extents)
    inside = pixels[y0:y1, x0:x1]
    wanted = [np.array(to_rgba(bit_colours()(bit))[:3]) * 255 for bit in (0.0, 1.0)]
    is_bit = [np.abs(inside - colour).max(axis=-1) < 40 for colour in wanted]
    return float(np.logical_or(*is_bit).mean())
