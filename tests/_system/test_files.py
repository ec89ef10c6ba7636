import gzip

import pytest

from codekin._system.files import whole_file
from codekin.data.blocks import output_stream


def test_an_interrupted_write_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "report.html"
    path.write_text("old")

    def interrupted():
        with whole_file(path) as stream:
            stream.write(b"half of the n")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"), whole_file(tmp_path / "nowhere" / "page.html"):
        pass


def test_a_zipped_file_has_the_same_bytes_whenever_it_is_written(tmp_path):
    for name in ("a.txt.gz", "b.txt.gz"):
        with output_stream(tmp_path / name) as stream:
            stream.write(b"the same")
    first, second = (tmp_path / name for name in ("a.txt.gz", "b.txt.gz"))
    assert first.read_bytes() == second.read_bytes()
    assert gzip.decompress(first.read_bytes()) == b"the same"


def test_a_dash_is_the_standard_output(capsysbinary):
    with output_stream("-") as stream:
        stream.write(b"seen\n")
    assert capsysbinary.readouterr().out == b"seen\n"


def test_what_killed_writers_left_goes_and_what_others_are_writing_stays(tmp_path):
    pytest.importorskip("fcntl")
    (tmp_path / ".page.html.0123abcd.partial").write_text("left by a writer that was killed")
    (tmp_path / ".page.html.4567abcd.partial").mkdir()
    (tmp_path / ".other.html.0123abcd.partial").write_text("of another file")
    with whole_file(tmp_path / "page.html") as first:
        with whole_file(tmp_path / "page.html") as second:
            second.write(b"second")
        first.write(b"first")
    assert (tmp_path / "page.html").read_text() == "first"
    assert sorted(path.name for path in tmp_path.iterdir()) == [".other.html.0123abcd.partial", "page.html"]
