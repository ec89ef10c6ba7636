"""A corpus of broken files: each gives a one-sentence error that names the file and the line."""

import gzip
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from codekin.data import DataError, read_data, read_taxonomy

MANY = b"1 1:1\n" * 10

# name of the file, content, where the sentence says it is, what it says
BROKEN = {
    "index zero after another": ("a.svm", b"1 17:1 0:2\n", 1, "feature index 0 after 17; indices must increase"),
    "equal indices": ("a.svm", b"1 3:1 3:2\n", 1, "feature index 3 after 3; indices must increase"),
    "indices in another order": ("a.svm", MANY + b"1 9:1 4:2\n", 11, "feature index 4 after 9"),
    "a negative index": ("a.svm", b"1 1:1\n1 -3:1\n", 2, "feature index '-3' is not an integer from 0"),
    "a fractional index": ("a.svm", b"1 1.5:1\n", 1, "feature index '1.5' is not an integer"),
    "a name instead of an index": ("a.svm", b"1 cat:1\n", 1, "feature index 'cat' is not an integer"),
    "no index": ("a.svm", b"1 :1\n", 1, "feature index '' is not an integer"),
    "an index of 2**31": ("a.svm", b"1 2147483648:1\n", 1, "feature index 2147483648 is too large"),
    "an index of 2**31 - 1 from 0": ("a.svm", b"1 0:1 2147483647:1\n", 1, "there may be up to 2147483647 features"),
    "an index of 300 digits": ("a.svm", b"1 " + b"9" * 300 + b":1\n", 1, "is too large; indices must be below 2**31"),
    "no value": ("a.svm", b"1 1:\n", 1, "feature 1 has the value ''; values must be finite numbers"),
    "two values": ("a.svm", b"1 1:2:3\n", 1, "feature 1 has the value '2:3'"),
    "a word as value": ("a.svm", b"1 1:x\n", 1, "feature 1 has the value 'x'"),
    "half a number": ("a.svm", b"1 1:1e\n", 1, "feature 1 has the value '1e'"),
    "a hexadecimal number": ("a.svm", b"1 1:0x10\n", 1, "feature 1 has the value '0x10'"),
    "a number with an underscore": ("a.svm", b"1 1:1_0\n", 1, "feature 1 has the value '1_0'"),
    "a comma for a point": ("a.svm", b"1 1:0,5\n", 1, "feature 1 has the value '0,5'"),
    "nan": ("a.svm", b"1 1:1\n1 2:nan\n", 2, "feature 2 has the value 'nan'; values must be finite numbers"),
    "inf": ("a.svm", b"1 2:-inf\n", 1, "feature 2 has the value '-inf'"),
    "too large for float32": (
        "a.svm",
        b"1 2:1e39\n",
        1,
        "feature 2 has the value 1e39, which is too large for float32",
    ),
    "too large for anything": ("a.svm", b"1 2:1e999999999999\n", 1, "which is too large for float32"),
    "a query id": ("a.svm", b"1 qid:4 1:1\n", 1, "a query id (qid:4)"),
    "no label": ("a.svm", b"1 1:1\n3:1 4:1\n", 2, "the line begins with the feature '3:1'; a label must come first"),
    "a label with a colon": ("a.svm", b"cat:x 3:1\n", 1, "the label 'cat:x' has a colon in it"),
    "a label that is not UTF-8": ("a.svm", b"1 1:1\n\xff\xfe 1:1\n", 2, r"the label b'\xff\xfe' is not UTF-8"),
    "several labels": ("a.svm", b"1,2,3 1:1\n", 1, "3 labels (1,2,3) where one is expected"),
    "a number without a colon": ("a.svm", b"1 1:1 5\n", 1, "'5' is not of the form index:value"),
    "a word without a colon": ("a.svm", b"1 1:1 word\n", 1, "'word' is not of the form index:value"),
    "a million characters": ("a.svm", b"1 " + b"x" * 10**6 + b"\n", 1, "is not of the form index:value"),
    "a control character in a label": ("a.svm", b"3,\x1f 1:1\n", 1, "is not of the form index:value"),
    "a control character": ("a.svm", b"1 1:1 \x0b\n", 1, "is not of the form index:value"),
    "a NUL byte": ("a.svm", MANY + b"1 1:1\0\n", 11, "a NUL byte at column 6; text files have none; remove it."),
    "NUL bytes": ("a.svm", b"1 1:1\0\0\0\n", 1, "a NUL byte at column 6; is this a text file?"),
    "UTF-16-LE without a mark": (
        "a.svm",
        "1 1:1\n".encode("utf-16-le"),
        1,
        "byte order mark: use --encoding utf-16-le.",
    ),
    "UTF-16-BE without a mark": (
        "a.svm",
        "1 1:1\n".encode("utf-16-be"),
        1,
        "byte order mark: use --encoding utf-16-be.",
    ),
    "Chinese without a mark": ("a.tsv", "甲类\t二三四五六七\n".encode("utf-16-le") * 9, 1, "use --encoding utf-16-le."),
    "nothing": ("a.svm", b"", None, "there are no samples in it."),
    "nothing, and no name": ("a", b"", None, "the file is empty."),
    "blank lines only": ("a.svm", b"\n \n\r\n", None, "there are no samples in it."),
    "comments only": ("a.txt", b"# one\n# two\n", None, "there are no samples in it."),
    "gzip cut off": ("a.svm.gz", gzip.compress(MANY * 100)[:-12], None, "the gzip data ends here, before its end mark"),
    "gzip damaged": ("a.svm.gz", gzip.compress(MANY)[:10] + b"\xff" * 30, 1, "the gzip data is damaged here"),
    "gzip with a wrong sum": ("a.svm.gz", gzip.compress(MANY)[:-8] + b"\0" * 8, None, "the gzip data is damaged here"),
    "another format": ("a", b"once upon a time\n", 1, "the format cannot be recognized from 'once upon a time'"),
    "two numbers in a header": ("a.xmc", b"3 10\n1 1:1\n", 1, "the header must be three numbers"),
    "no number in a header": ("a.xmc", b"3 ten 4\n1 1:1\n", 1, "the header must be three numbers"),
    "a header without features": ("a.xmc", b"1 0 1\n1\n", 1, "the number of features must be from 1 to 2147483647"),
    "a header of 10**12 features": ("a.xmc", b"1 1000000000000 1\n1\n", 1, "the number of features must be from 1"),
    "too few rows": ("a.xmc", b"5 3 3\n1 1:1\n", None, "the header promises 5 rows, but the file has 1"),
    "too many rows": ("a.xmc", b"1 3 3\n1 1:1\n2 1:1\n", 3, "the header promises 1 rows, but here is one more"),
    "a label beyond the header": ("a.xmc", b"1 3 3\n3 1:1\n", 2, "label 3, but the header promises 3 labels"),
    "a feature beyond the header": ("a.xmc", b"1 3 3\n1 3:1\n", 2, "feature index 3, but there are 3 features"),
    "two labels in xmc": ("a.xmc", b"1 3 3\n1,2 1:1\n", 2, "2 labels (1,2) where one is expected"),
    "no label in xmc": ("a.xmc", b"1 3 3\n 1:1\n", 2, "this row has no label"),
    "a word as label in xmc": ("a.xmc", b"1 3 3\nx 1:1\n", 2, "the label 'x' is not an integer"),
    "no bar": ("a.vw", b"1 | a\n2 a b\n", 2, "there is no bar '|' between the label and the features"),
    "no label in vw": ("a.vw", b"| a\n", 1, "there is no label before the bar"),
    "a word as weight": ("a.vw", b"1 heavy | a\n", 1, "'heavy' is neither a weight"),
    "a negative weight": ("a.vw", b"1 -2 | a\n", 1, "'-2' is neither a weight"),
    "labels with costs": ("a.vw", b"1:0.5 2:1 | a\n", 1, "the label '1:0.5' has a colon in it; one label per line"),
    "a word as value in vw": ("a.vw", b"1 | a:b\n", 1, "feature 'a' has the value 'b'; values must be finite numbers"),
    "nan in vw": ("a.vw", b"1 | a:nan\n", 1, "feature 'a' has the value 'nan'"),
    "too large in vw": ("a.vw", b"1 | a:1e60\n", 1, "feature 'a' has the value 1e60, which is too large for float32"),
    "no name in vw": ("a.vw", b"1 | :3\n", 1, "':3' is a feature without a name"),
    "an index of 2**31 in vw": ("a.vw", b"1 | 2147483648\n", 1, "feature index 2147483648 is too large"),
    "no tab": ("a.tsv", b"cat\tpurrs\ndog barks\n", 2, "there is no tab between the label and the text"),
    "nothing before the tab": ("a.tsv", b"\tpurrs\n", 1, "there is no label before the tab"),
    "Latin-1": ("a.tsv", b"cat\tpurrs\ndog\tb\xe4llt\n", 2, "byte 0xe4 at column 6 is not UTF-8"),
    "a text as archive": ("a.npz", b"1 1:1\n", None, "the archive is damaged"),
}

BROKEN_TAXONOMIES = {
    "a cycle": (b"r a\na b\nb c\nc a\n", 4, "'a' has a second parent, 'c'; in line 1 it is below 'r'"),
    "nothing but a cycle": (b"a b\nb c\nc a\n", 3, "this edge closes a cycle: a below c below b below a"),
    "a long cycle": (
        b"".join(b"%d %d\n" % (k, (k + 1) % 9) for k in range(9)),
        9,
        "closes a cycle: 0 below 8 below ... below 2 below 1 below 0",
    ),
    "a cycle beside a tree": (b"r s\na b\nb a\n", 3, "this edge closes a cycle: a below b below a"),
    "a loop": (b"r a\na a\n", 2, "'a' cannot be its own parent"),
    "two parents": (b"r a\nr b\na c\nb c\n", 4, "'c' has a second parent, 'b'; in line 3 it is below 'a'"),
    "an edge given twice": (b"r a\nr b\nr a\n", 3, "this edge is already in line 1"),
    "one name": (b"r a\nb\n", 2, "a line holds a parent and a child. Got 1 names"),
    "three names": (b"r a b\n", 1, "a line holds a parent and a child. Got 3 names"),
    "an empty name": (b"r\t\n", 1, "a line holds a parent and a child. Got 1 names"),
    "an empty name between tabs": (b"r\ta\nr\t\tb\n", 2, "a line holds a parent and a child. Got 3 names"),
    "Latin-1": (b"r a\nr \xe4\n", 2, "this line is not UTF-8"),
    "a NUL byte": (b"r a\nr \0\n", 2, "a NUL byte"),
    "nothing": (b"", None, "there are no edges in it"),
    "comments only": (b"# none\n", None, "there are no edges in it"),
    "gzip cut off": (gzip.compress(b"r a\nr b\n")[:-9], None, "the gzip data ends here"),
    "a missing class": (b"r a\nr b\n", None, "2 classes are not in the taxonomy, the first of them 'x'"),
}


def check_sentence(error, name, line, reason):
    sentence = str(error)
    where = f"{name}: " if line is None else f"{name}, line {line}: "
    assert where in sentence or (line is None and f"{name}, line " in sentence)
    assert reason in sentence
    assert len(sentence) < 400
    assert "\n" not in sentence


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_file_is_answered_by_a_sentence(tmp_path, case):
    name, content, line, reason = BROKEN[case]
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(DataError) as caught:
        read_data(path)
    check_sentence(caught.value, str(path), line, reason)


@pytest.mark.parametrize("case", BROKEN_TAXONOMIES)
def test_a_broken_taxonomy_is_answered_by_a_sentence(tmp_path, case):
    content, line, reason = BROKEN_TAXONOMIES[case]
    path = tmp_path / "taxonomy.txt"
    path.write_bytes(content)
    with pytest.raises(DataError) as caught:
        read_taxonomy(path, classes=["x", "y"] if case == "a missing class" else None)
    check_sentence(caught.value, str(path), line, reason)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak memory of a process is read from /proc")
def test_an_endless_line_is_given_up_before_memory_is(tmp_path):
    path = tmp_path / "bomb.svm.gz"
    with gzip.open(path, "wb", compresslevel=1) as stream:
        for _ in range(256):
            stream.write(b"1 " * (1 << 19))
    program = textwrap.dedent("""
        import sys
        from codekin.data import read_data
        try:
            read_data(sys.argv[1])
        except ValueError as error:
            print(error)
        print(int(open("/proc/self/status").read().split("VmHWM:")[1].split()[0]) // 1024)
    """)
    done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, check=True, text=True)
    sentence, peak_in_mib = done.stdout.splitlines()
    assert "line 1: this line is longer than 16 MiB" in sentence
    assert int(peak_in_mib) < 200


def test_a_folder_is_not_a_file(tmp_path):
    with pytest.raises(DataError, match="a folder of samples needs a folder for each class"):
        read_data(tmp_path)


def test_errors_survive_the_way_back_from_a_worker():
    import pickle

    error = pickle.loads(pickle.dumps(DataError("a.svm", "no good.", line=3, column=7)))
    assert str(error) == "a.svm, line 3: no good."
    assert (error.line, error.column) == (3, 7)
