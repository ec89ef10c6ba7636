import pytest

from codekin.plots.style import SMALLEST, fitting_step, name_rows, new_figure, number_columns, shortened


@pytest.mark.parametrize("n_labels", [1, 2, 7, 34, 100, 999, 12_582])
@pytest.mark.parametrize("inches", [0.5, 3.0, 9.0])
def test_labels_fit_into_their_row_and_can_be_read(n_labels, inches):
    step, size = fitting_step(n_labels, inches)
    assert size >= SMALLEST
    assert -(-n_labels // step) * size <= 72 * inches + step * 72 * inches / n_labels


def test_names_stay_on_one_line_and_short():
    assert shortened("one\ntwo") == "one two"
    assert len(shortened("x" * 1000)) == 20


def test_all_labels_are_shown_where_there_is_room():
    axes = new_figure(4).subplots()
    name_rows(axes, "abcdef")
    number_columns(axes, range(8))
    assert [label.get_text() for label in axes.get_yticklabels()] == list("abcdef")
    assert [label.get_text() for label in axes.get_xticklabels()] == list("01234567")
