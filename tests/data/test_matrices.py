import gzip
import io

import numpy as np
import pytest

from codekin.data import DataError
from codekin.data.class_files import read_distances, read_matrix


def stream(text):
    return io.BytesIO(text.encode())


@pytest.mark.parametrize("mark", [",", "\t", " ", "  ", ", "])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\n\n"])
def test_numbers_may_be_separated_in_any_usual_way(mark, end):
    matrix, labels = read_matrix(stream(end.join(mark.join(row) for row in (["1", "-2.5"], ["3e2", ".5"]))))
    np.testing.assert_array_equal(matrix, [[1, -2.5], [300, 0.5]])
    assert labels is None


@pytest.mark.parametrize("corner", ["", "class"])
def test_labels_are_told_by_the_first_entry(corner):
    matrix, labels = read_matrix(stream(f"{corner},a b,2\na b,0,1\n# a comment\n2,1,0\n"))
    np.testing.assert_array_equal(matrix, [[0, 1], [1, 0]])
    assert labels == ("a b", "2")


def test_what_pandas_writes_is_read(tmp_path):
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame([[0.0, 1.25], [1.25, 0.0]], index=["cat", "dog"], columns=["cat", "dog"])
    table.to_csv(tmp_path / "distances.csv.gz")
    assert gzip.decompress((tmp_path / "distances.csv.gz").read_bytes())
    distances, labels = read_distances(tmp_path / "distances.csv.gz")
    np.testing.assert_array_equal(distances.matrix(), table.to_numpy())
    assert labels == ("cat", "dog")


def test_classes_without_labels_are_numbers():
    assert read_distances(stream("0,1\n1,0"))[1] == ("0", "1")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0,1\n1,0,3\n", "distances.csv, line 2: 3 entries, but the rows before have 2"),
        ("0,1\n1,x\n", "distances.csv, line 2: 'x' is not a number"),
        ("0,1\n1,nan\n", "distances.csv, line 2: 'nan' is not a number"),
        ("\n# nothing\n", "there are no rows"),
        (",a,a\na,0,1\na,1,0\n", "'a' is given to two rows"),
        (",a,b\nb,0,1\na,1,0\n", "Row 1 is 'b', column 1 is 'a'"),
        ("0,1\n2,0\n", "symmetric"),
        ("0,1,2\n1,0,2\n", "square"),
    ],
)
def test_a_broken_file_is_named_with_what_is_wrong(text, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "distances.csv").write_text(text)
    with pytest.raises(DataError, match=message) as caught:
        read_distances("distances.csv")
    assert str(caught.value).startswith("distances.csv")
