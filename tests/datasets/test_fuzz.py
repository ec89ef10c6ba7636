"""Whatever the bytes, a reader answers with samples or with a sentence.

More of the same, for as long as one likes: ``CODEKIN_FUZZ_EXAMPLES=100000 pytest tests/datasets/test_fuzz.py``.
"""

import gzip
import io
import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codekin.datasets import FORMATS, DataError, ReadOptions, SparseData, read_data, read_taxonomy

EXAMPLES = int(os.environ.get("CODEKIN_FUZZ_EXAMPLES", "120"))

tokens = st.sampled_from(
    [
        *[b"1", b"0", b"-3", b"cat", b":", b" ", b"\t", b"\n", b"\r\n", b",", b"#", b"|", b"'", b"1:1", b"2:0.5"],
        *[b"1e5", b".", b"nan", b"\xff", b"\0", b"\x1f\x8b", b"PK\x03\x04", b"9999999999", b"\xc3\xa4", b"\x0b"],
        *[b"3 4 5\n", b"qid:1"],
    ]
)
soups = st.one_of(st.lists(tokens, max_size=30).map(b"".join), st.binary(max_size=60))


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


@st.composite
def mutated(draw):
    """A valid file in which some bytes are replaced, put in, or left out."""
    content = bytearray(draw(st.sampled_from(VALID)))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(content)))
        content[start : start + draw(st.sampled_from([0, 0, 1, 1, 2, 10, 10_000]))] = draw(
            st.one_of(st.just(b""), tokens, st.binary(max_size=3), tokens.map(lambda token: token * 30))
        )
    return bytes(content)


options = st.builds(
    ReadOptions,
    labels=st.sampled_from(["auto", "int", "str", "none"]),
    index_base=st.sampled_from([0, 1]),
    multilabel=st.sampled_from(["error", "first", "drop"]),
    feature_order=st.sampled_from(["increasing", "any"]),
    unknown_features=st.sampled_from(["error", "drop"]),
    hash_bits=st.sampled_from([None, 0, 4]),
)


def samples_or_sentence(read):
    try:
        return read()
    except DataError as error:
        sentence = str(error)
    assert sentence.startswith("the given stream")
    assert sentence.endswith((".", "?"))
    assert "\n" not in sentence
    return sentence


@pytest.mark.parametrize("format", ["auto", *FORMATS])
@settings(max_examples=EXAMPLES, deadline=None)
@given(content=st.one_of(soups, mutated()), options=options, n_features=st.sampled_from([None, 16]))
def test_any_bytes_give_samples_or_a_sentence(format, content, options, n_features):
    data = samples_or_sentence(lambda: read_data(io.BytesIO(content), format, n_features=n_features, options=options))
    if not isinstance(data, str):
        assert data.n_samples > 0
        if isinstance(data, SparseData):
            data.X.check_format(full_check=True)


@settings(max_examples=EXAMPLES, deadline=None)
@given(soups)
def test_any_bytes_give_a_tree_or_a_sentence(content):
    tree = samples_or_sentence(lambda: read_taxonomy(io.BytesIO(content)))
    assert isinstance(tree, str) or tree.n_classes > 0
