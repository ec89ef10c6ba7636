import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import parse as reference

from codekin.data import DataError, ReadOptions, blocks, read_data


def read(text, n_features=None, **options):
    return read_data(io.BytesIO(text.encode()), "vw", n_features=n_features, options=ReadOptions(**options))


def as_rows(data):
    weights = np.ones(data.n_samples) if data.sample_weight is None else data.sample_weight
    X = data.X
    return [
        (str(label), weight, dict(zip(X.indices[a:b].tolist(), X.data[a:b].tolist(), strict=True)))
        for label, weight, a, b in zip(data.labels.tolist(), weights.tolist(), X.indptr[:-1], X.indptr[1:], strict=True)
    ]


names = st.text("abcxyz0123456789_^ä", min_size=1, max_size=9)
values = st.sampled_from(["", ":1", ":0.5", ":-2e1", ":3.25"])
sections = st.tuples(
    st.one_of(st.just(""), st.tuples(names, values).map("".join)), st.lists(st.tuples(names, values).map("".join))
).map(lambda section: " ".join([f"|{section[0]}", *section[1]]))
lines = st.builds(
    "{}{}{} {}".format,
    st.sampled_from(["1", "-2", "cat"]),
    st.sampled_from(["", " 2.5"]),
    st.sampled_from(["", " 'tag"]),
    st.lists(sections, min_size=1, max_size=3).map(" ".join),
)


@settings(max_examples=100, deadline=None)
@given(st.lists(lines, min_size=1, max_size=5).map("\n".join))
def test_the_reader_agrees_with_its_twin(text):
    expected = reference.vowpal(text, 20)
    for got, row in zip(as_rows(read(text, hash_bits=20)), expected, strict=True):
        assert got[:2] == row[:2]
        assert got[2] == pytest.approx(row[2], abs=1e-5)


def test_names_that_are_numbers_in_one_namespace_are_indices():
    data = read("3 | 0:2 17\n5 | 4:1 4:1 2\n")
    assert data.X.shape == (2, 18)
    assert data.X.toarray()[1, :6].tolist() == [0, 0, 1, 0, 2, 0]
    assert data.encoding == {"index_base": 0, "hash_bits": 0}


@pytest.mark.parametrize("text", ["3 | cat\n", "3 |a 1 |b 1\n"])
def test_other_names_are_hashed(text):
    assert read(text).X.shape == (1, 2**20)
    assert read(text, n_features=2**10).encoding["hash_bits"] == 10


def test_the_first_block_decides_whether_names_are_hashed(monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 8)
    with pytest.raises(DataError, match="line 3: the feature 'cat' where features are numbers in one namespace"):
        read("3 | 1 2\n3 | 4 5\n4 | cat\n")


def test_a_word_that_touches_the_bar_is_a_tag():
    assert read("5 dog|a b\n").labels.tolist() == [5]
    with pytest.raises(DataError, match="there is no label before the bar"):
        read("5|a b\n")


def test_weights_are_kept():
    assert read("1 0.5 | 1\n2 | 1\n").sample_weight.tolist() == [0.5, 1.0]
    assert read("1 | 1\n").sample_weight is None


def test_labels_need_not_be_there_when_they_are_not_read():
    assert read("| 1:2\n4 | 2\n", labels="none").X.toarray().tolist() == [[0, 2, 0], [0, 0, 1]]


def test_an_empty_row_stays():
    assert read("1 |\n2 | 1\n").X.indptr.tolist() == [0, 0, 1]


def test_hashing_needs_a_power_of_two_columns():
    with pytest.raises(ValueError, match=r"Hashed names need n_features = 2\*\*hash_bits. Got n_features=100"):
        read("1 | cat\n", n_features=100)


@pytest.mark.parametrize(
    "row", ["2 | 7:3e38 7:3e38", "2 |:1e30 7:1e30", "2 | 7:-3e38 7:-3e38", "2 |:1e30 7:1e30 7:-1e30"]
)
def test_sums_and_products_that_overflow_are_an_error(row):
    with pytest.raises(DataError, match=r"line 2: the values of feature 7, scaled and added up, are too large"):
        read(f"1 | 1:1\n{row}\n")
