import io

import pytest

from codekin.data import ReadOptions, TextData, read_data


def read(text, **options):
    return read_data(io.BytesIO(text.encode()), "tsv", options=ReadOptions(**options))


def test_further_tabs_belong_to_the_text():
    assert read("cat\tpurrs\tloudly\n").texts == ("purrs\tloudly",)


def test_labels_may_be_integers():
    assert read("7\tx\n3\ty\n").labels.tolist() == [7, 3]
    assert read("7\tx\n3\ty\n", labels="str").labels.tolist() == ["7", "3"]


def test_a_text_may_be_empty_and_a_blank_line_is_none():
    data = read("a\t\n\n  \nb\ttext\n")
    assert isinstance(data, TextData)
    assert data.texts == ("", "text")


def test_without_labels_the_text_is_what_follows_the_first_tab_or_the_whole_line():
    assert read("what is it\nlabel\ttext\n", labels="none").texts == ("what is it", "text")


def test_without_labels_every_line_is_a_text():
    assert read("purr\n\n  \r\nbone", labels="none").texts == ("purr", "", "  ", "bone")
    assert read("\n\n", labels="none").texts == ("", "")


@pytest.mark.parametrize(("policy", "texts"), [("first", ("x", "y")), ("drop", ("y",))])
def test_rows_of_several_labels_follow_the_policy(policy, texts):
    assert read("1,2\tx\n3\ty\n", multilabel=policy).texts == texts
