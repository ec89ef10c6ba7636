import gzip
import io
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import random_array

from codekin.data import DataError, ReadOptions, SparseData, TextData, blocks, iter_data, read_data, write_data

SVMLIGHT = "cat 1:0.5 3:1\ndog 2:2\ncat 1:1\n"
TEXTS = "cat\tit purrs\ndog\tit barks\tloudly\n"


@pytest.fixture
def some_rows(rng):
    X = random_array((500, 40), density=0.1, rng=rng, dtype=np.float32, format="csr")
    return SparseData(X, rng.integers(7, size=500), np.arange(7))


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("a.svm", SVMLIGHT, "svmlight"),
        ("a.libsvm", SVMLIGHT, "svmlight"),
        ("a.txt", SVMLIGHT, "svmlight"),
        ("a.txt", "3\n5\n", "svmlight"),
        ("a.txt", "3,4 1:1\n", "svmlight"),
        ("a.txt", "# made by hand\n\n3\t1:1 2:1\n", "svmlight"),
        ("a.txt", "2 5 3\n1 0:1\n2 4:1\n", "xmc"),
        ("a.txt", "1 |f a:0.5 b\n2 |f a\n", "vw"),
        ("a.txt", "1 2.0 'tag|f a b\n", "vw"),
        ("a.vw", "1 | a\n", "vw"),
        ("a.tsv", TEXTS, "tsv"),
        ("a.txt", TEXTS, "tsv"),
        ("a", "cat\tat 12:30 it | purrs\n", "tsv"),
        ("a", "3, 4 1:1 # 5\n", "svmlight"),
        ("a", "3,4\n5 1:1\n", "svmlight"),
        ("a", "cats,dogs\tpurr, bark\n", "tsv"),
        ("a", "a," * 5_000 + "\n", "svmlight"),
    ],
)
@pytest.mark.parametrize("is_zipped", [False, True])
def test_the_format_is_told_by_the_name_or_the_content(tmp_path, name, text, kind, is_zipped):
    path = tmp_path / (name + ".gz" * is_zipped)
    path.write_bytes(gzip.compress(text.encode()) if is_zipped else text.encode())
    options = ReadOptions(multilabel="first")
    told, asked = read_data(path, options=options), read_data(path, kind, options=options)
    assert type(told) is type(asked)
    assert told.labels.tolist() == asked.labels.tolist()
    if isinstance(told, SparseData):
        assert told.X.shape == asked.X.shape
        assert (told.X != asked.X).nnz == 0


def test_gzip_is_told_by_the_content_not_by_the_name(tmp_path):
    (tmp_path / "data.svm").write_bytes(gzip.compress(SVMLIGHT.encode()))
    assert read_data(tmp_path / "data.svm").n_samples == 3


def test_gzip_files_that_were_put_one_after_another_are_read_to_the_end():
    halves = gzip.compress(b"cat 1:1\ndo") + gzip.compress(b"g 2:1\n") + b"\0" * 512
    assert read_data(io.BytesIO(halves)).labels.tolist() == ["cat", "dog"]


@pytest.mark.parametrize("change", [str.encode, lambda t: t.replace("\n", "\r\n").encode(), lambda t: t[:-1].encode()])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("text", [SVMLIGHT, TEXTS, "1 |a x:2\n2 |a y\n", "2 3 3\n1 0:1\n2 2:1\n"])
def test_line_ends_and_byte_order_marks_make_no_difference(text, change, mark):
    plain, changed = read_data(io.BytesIO(text.encode())), read_data(io.BytesIO(mark + change(text)))
    assert changed.labels.tolist() == plain.labels.tolist()
    if isinstance(plain, TextData):
        assert changed.texts == plain.texts
    else:
        assert (changed.X != plain.X).nnz == 0


def test_the_standard_input_is_a_file_named_dash():
    program = "from codekin.data import iter_data; print([c.n_samples for c in iter_data('-', chunk_rows=2)])"
    content = "".join(f"{label}\tsome text\n" for label in ("cat", "dog", "cow")).encode()
    for given_content in (content, gzip.compress(content)):
        done = subprocess.run([sys.executable, "-c", program], input=given_content, capture_output=True, check=True)
        assert done.stdout == b"[2, 1]\n"


class Dribble(io.RawIOBase):
    """A pipe that hands over a few bytes at a time."""

    def __init__(self, content, step):
        self.content, self.step = content, step

    def read(self, size=-1):
        piece, self.content = self.content[: self.step], self.content[self.step :]
        return piece


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 40), st.booleans())
def test_it_does_not_matter_how_the_bytes_arrive(step, is_zipped):
    content = ("\ufeff" + SVMLIGHT).encode()
    data = read_data(Dribble(gzip.compress(content) if is_zipped else content, step))
    assert data.labels.tolist() == ["cat", "dog", "cat"]
    assert data.X.data.tolist() == [0.5, 1, 2, 1]


@pytest.mark.parametrize("suffix", ["svm", "svm.gz", "npz"])
@pytest.mark.parametrize("chunk_rows", [1, 64, 500, 10_000])
def test_chunks_together_are_the_whole(tmp_path, some_rows, suffix, chunk_rows, monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 1_000)
    path = tmp_path / f"data.{suffix}"
    write_data(path, some_rows)
    chunks = list(iter_data(path, chunk_rows=chunk_rows, n_features=40))
    assert [chunk.n_samples for chunk in chunks[:-1]] == [chunk_rows] * (len(chunks) - 1)
    whole = read_data(path, n_features=40)
    assert np.array_equal(np.concatenate([chunk.labels for chunk in chunks]), whole.labels)
    assert np.array_equal(np.concatenate([chunk.X.toarray() for chunk in chunks]), whole.X.toarray())


def test_chunks_of_text_together_are_the_whole():
    text = "".join(f"{k % 3}\ttext {k}\n" for k in range(10))
    chunks = list(iter_data(io.BytesIO(text.encode()), chunk_rows=4))
    assert [chunk.n_samples for chunk in chunks] == [4, 4, 2]
    assert sum((chunk.texts for chunk in chunks), ()) == tuple(f"text {k}" for k in range(10))


def test_what_the_first_chunk_decides_holds_for_the_rest(monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 8)
    with pytest.raises(DataError, match=r"line 3: the label 'x' comes after plain integers \(7, -1\) only"):
        list(iter_data(io.BytesIO(b"1 1:1\n2 1:1\nx 1:1\n"), "svmlight", chunk_rows=1))
    with pytest.raises(DataError, match="line 3: feature index 0, but the first feature has index 1"):
        list(iter_data(io.BytesIO(b"1 1:1\n2 1:1\n3 0:1\n"), "svmlight", chunk_rows=1))


def test_a_whole_file_may_begin_with_labels_that_only_look_like_integers(monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 8)
    data = read_data(io.BytesIO(b"1 1:1\n+2 1:1\nx 1:1\n+2 1:1\n"), "svmlight")
    assert data.labels.tolist() == ["1", "+2", "x", "+2"]


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak memory of a process is read from /proc")
def test_memory_does_not_grow_with_the_file(tmp_path):
    path = tmp_path / "large.svm"
    path.write_bytes(b"".join(b"%d 1:0.5 2:1 77:3\n" % (k % 10) for k in range(400_000)))
    program = (
        "import sys; from codekin.data import iter_data\n"
        "def peak(): return int(open('/proc/self/status').read().split('VmHWM:')[1].split()[0])\n"
        "for _ in iter_data(sys.argv[1], chunk_rows=1000, n_features=100): break\n"
        "before = peak()\n"
        "n = sum(chunk.n_samples for chunk in iter_data(sys.argv[1], chunk_rows=1000, n_features=100))\n"
        "print(n, (peak() - before) // 1024)\n"
    )
    done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, check=True, text=True)
    n_samples, growth_in_mib = map(int, done.stdout.split())
    assert n_samples == 400_000
    assert growth_in_mib < 16


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: read_data("no-such-file.svm"), "no-such-file.svm: there is no such file."),
        (lambda: read_data(io.BytesIO(b"1 1:1\n"), "arff"), "'format' must be 'auto' or one of"),
        (lambda: list(iter_data(io.BytesIO(b"1 1:1\n"), chunk_rows=0)), "'chunk_rows' must be at least 1. Got 0"),
        (lambda: read_data(io.BytesIO(b"1 1:1\n"), n_features=0), "'n_features' must be from 1 to 2147483647. Got 0"),
        (lambda: ReadOptions(labels="text"), "The 'labels' option of a reader must be one of 'auto', 'int'"),
        (lambda: ReadOptions(hash_bits=40), "The 'hash_bits' option of a reader must be from 0 to 30. Got 40"),
        (lambda: ReadOptions(unknown_features="drop"), "only when 'index_base' is 0 or 1. Got 'auto'"),
        (lambda: read_data(io.StringIO("1 1:1\n")), "Got a text stream; open the file with mode 'rb'."),
    ],
)
def test_wrong_arguments_are_explained(call, sentence):
    with pytest.raises((ValueError, TypeError, OSError)) as caught:
        call()
    assert sentence in str(caught.value)


def test_labels_can_be_looked_up_among_the_classes_of_a_model():
    data = read_data(io.BytesIO(b"3 1:1\n9 1:1\n3 1:1\n"))
    assert data.index_among(np.array([1, 3])).tolist() == [1, -1, 1]
    assert data.index_among(np.array(["9", "3"])).tolist() == [1, 0, 1]


@pytest.mark.parametrize("name", ["data.svm", "data.svm.gz"])
def test_progress_counts_the_bytes_of_the_file_as_it_is_on_disk(name, tmp_path):
    content = b"0 1:1\n1 2:1\n" * 1000
    path = tmp_path / name
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    told = []
    read_data(path, progress=lambda *numbers: told.append(numbers))
    assert told[-1] == (path.stat().st_size, path.stat().st_size)
    told.clear()
    assert sum(len(chunk) for chunk in iter_data(path, progress=lambda *numbers: told.append(numbers))) == 2000
    assert told[-1][0] == told[-1][1]
    read_data(io.BytesIO(content), progress=lambda *numbers: pytest.fail("a stream has no known end"))
