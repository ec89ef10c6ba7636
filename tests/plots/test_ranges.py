from codekin.plots.ranges import Range, draw_ranges


def test_every_range_is_a_line_and_what_is_not_known_is_left_out():
    axes = draw_ranges([Range(77.0, 84.0, 88.0), Range(78.0, 84.5, 89.0)], given=(77.0, None), title="t").axes[0]
    assert [segment[:, 1].tolist() for segment in axes.collections[0].get_segments()] == [[77.0, 88.0], [78.0, 89.0]]
    assert [line.get_ydata()[0] for line in axes.lines if line.get_linestyle() == "--"] == [77.0]
