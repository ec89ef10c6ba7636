"""For any bytes, a reader returns samples or raises a one-sentence error."""

import gzip
import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codekin.classes.distances import read_word_vectors
from codekin.data import FORMATS, DataError, ReadOptions, SparseData, read_data, read_taxonomy
from codekin.data.class_files import read_distances, read_matrix
from tests.faults.mutations import EXAMPLES, SOUPS, Refusal, mutated_bytes, value_or_refusal


def archive():
    stream = io.BytesIO()
    parts = {"indices": np.array([1, 0, 2]), "indptr": np.array([0, 1, 3, 3]), "data": np.ones(3, np.float32)}
    np.savez(stream, **parts, format=np.array(b"csr"), shape=np.array([3, 3]), labels=np.array(["a", "b", "c"]))
    return stream.getvalue()


VALID = [
    b"cat 1:0.5 3:1\n# comment\n2,3 2:2e5 # x\n\ndog 1:1\r\n",
    b"3 10 4\n0,3 0:1 9:2\n2 4:0.5\n 3:1\n",
    b"1 2.0 'tag|a:2 x:1 y |b 3:4\n2 | 7:1 8\n",
    "cat\tit purrs\ndog\tbällt\tloudly\n".encode(),
    gzip.compress(b"cat 1:0.5 3:1\ndog 2:2\n" * 20),
    archive(),
]


options = st.builds(
    ReadOptions,
    labels=st.sampled_from(["auto", "int", "str", "none"]),
    index_base=st.sampled_from([0, 1]),
    multilabel=st.sampled_from(["error", "first", "drop", "all"]),
    feature_order=st.sampled_from(["increasing", "any"]),
    unknown_features=st.sampled_from(["error", "drop"]),
    hash_bits=st.sampled_from([None, 0, 4]),
)


def samples_or_sentence(read):
    answer = value_or_refusal(read, DataError)
    if isinstance(answer, Refusal):
        assert answer.startswith("the given stream")
        assert answer.endswith((".", "?"))
    return answer


@pytest.mark.parametrize("format", ["auto", *FORMATS])
@settings(max_examples=EXAMPLES, deadline=None)
@given(content=st.one_of(SOUPS, mutated_bytes(VALID)), options=options, n_features=st.sampled_from([None, 16]))
def test_any_bytes_give_samples_or_a_sentence(format, content, options, n_features):
    data = samples_or_sentence(lambda: read_data(io.BytesIO(content), format, n_features=n_features, options=options))
    if not isinstance(data, str):
        assert data.n_samples > 0
        if isinstance(data, SparseData):
            data.X.check_format(full_check=True)


TREES = [b"r a\nr b\na c\na d\n# no more\n", "r\tä b\nr\tc\n".encode(), gzip.compress(b"r a\nr b\n", mtime=0)]
MATRICES = [b"0,1,2\n1,0,3\n2,3,0\n", b",a,b\na,0,1.5\nb,1.5,0\n", b"0 1\n1 0\n"]
VECTORS = [b"2 3\ncat 1 2 3\ndog 4 5 6\n", b"cat 0.5 1e3\ndog -1 2\n"]


@pytest.mark.parametrize("layout", ["edges", "paths"])
@settings(max_examples=EXAMPLES, deadline=None)
@given(st.one_of(SOUPS, mutated_bytes(TREES)))
def test_any_bytes_give_a_tree_or_a_sentence(layout, content):
    tree = samples_or_sentence(lambda: read_taxonomy(io.BytesIO(content), layout=layout))
    assert isinstance(tree, str) or tree.n_classes > 0


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.one_of(SOUPS, mutated_bytes(MATRICES)))
def test_any_bytes_give_a_matrix_and_distances_or_a_sentence(content):
    matrix = samples_or_sentence(lambda: read_matrix(io.BytesIO(content)))
    assert isinstance(matrix, str) or matrix[0].ndim == 2
    distances = samples_or_sentence(lambda: read_distances(io.BytesIO(content)))
    assert isinstance(distances, str) or distances[0].n_classes == len(distances[1])


@settings(max_examples=EXAMPLES, deadline=None)
@given(content=st.one_of(SOUPS, mutated_bytes(VECTORS)))
def test_any_bytes_give_word_vectors_or_a_sentence(content, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "vectors.txt"
    path.write_bytes(content)
    found = value_or_refusal(lambda: read_word_vectors(path, ["cat", "dog", "1"]), ValueError)
    if isinstance(found, Refusal):
        assert found.startswith(f"{path}, line ")
    else:
        assert all(vector.dtype == np.float64 and vector.ndim == 1 for vector in found.values())
