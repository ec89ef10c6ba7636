"""Whatever the bytes, a reader answers with samples or with a sentence."""

import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codekin.datasets import FORMATS, DataError, ReadOptions, SparseData, read_data, read_taxonomy

tokens = st.sampled_from(
    [
        *[b"1", b"0", b"-3", b"cat", b":", b" ", b"\t", b"\n", b"\r\n", b",", b"#", b"|", b"'", b"1:1", b"2:0.5"],
        *[b"1e5", b".", b"nan", b"\xff", b"\0", b"\x1f\x8b", b"PK\x03\x04", b"9999999999", b"\xc3\xa4", b"\x0b"],
        *[b"3 4 5\n", b"qid:1"],
    ]
)
soups = st.one_of(st.lists(tokens, max_size=30).map(b"".join), st.binary(max_size=60))
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
@settings(max_examples=120, deadline=None)
@given(content=soups, options=options, n_features=st.sampled_from([None, 16]))
def test_any_bytes_give_samples_or_a_sentence(format, content, options, n_features):
    data = samples_or_sentence(lambda: read_data(io.BytesIO(content), format, n_features=n_features, options=options))
    if not isinstance(data, str):
        assert data.n_samples > 0
        if isinstance(data, SparseData):
            data.X.check_format(full_check=True)


@settings(max_examples=120, deadline=None)
@given(soups)
def test_any_bytes_give_a_tree_or_a_sentence(content):
    tree = samples_or_sentence(lambda: read_taxonomy(io.BytesIO(content)))
    assert isinstance(tree, str) or tree.n_classes > 0
