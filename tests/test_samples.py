import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.preprocessing import MultiLabelBinarizer

from codekin.samples import EncodedLabelSets

SETS = st.lists(st.sets(st.sampled_from(["ant", "bee", "cat", "dog"]), max_size=4), min_size=1, max_size=8)
TABLE = np.array([[1, 0, 1], [0, 0, 0], [0, 1, 1]])


@given(SETS)
def test_sets_of_labels_agree_with_scikit_learns_binarizer(sets):
    found, binarizer = EncodedLabelSets.of(sets), MultiLabelBinarizer()
    np.testing.assert_array_equal(found.indicator.toarray(), binarizer.fit_transform(sets))
    assert found.classes.tolist() == binarizer.classes_.tolist()


@pytest.mark.parametrize(
    "y",
    [
        TABLE,
        TABLE.astype(bool),
        TABLE.astype(float),
        TABLE.astype(object),
        TABLE.tolist(),
        sparse.csr_matrix(TABLE),
        sparse.coo_array(TABLE),
        pd.DataFrame(TABLE),
        pd.Series([[0, 2], [], [1, 2]]),
        [{0, 2}, set(), {1, 2}],
        [(0, 2), (), (1, 2)],
        [np.array([2, 0, 2]), np.array([], dtype=int), np.array([1, 2])],
    ],
    ids=lambda y: type(y).__name__,
)
def test_several_labels_are_recognised_in_any_form(y):
    found = EncodedLabelSets.of(y)
    np.testing.assert_array_equal(found.indicator.toarray(), TABLE)
    assert found.indicator.dtype.kind == "i"
    assert found.classes.tolist() == [0, 1, 2]
    assert len(found) == 3


@pytest.mark.parametrize(
    "y",
    [
        ["a", "b"],
        [0, 1, 1],
        np.array(["a", "b"], dtype=object),
        np.array([[0], [1]]),
        [[3], [4]],
        [["a"], ["b"]],
        pd.Series(["a", "b"]),
        pd.DataFrame({"a": [0, 1]}),
        sparse.csr_matrix([[0], [1]]),
        [],
    ],
    ids=str,
)
def test_one_label_per_sample_is_left_to_those_who_take_it(y):
    assert EncodedLabelSets.of(y) is None


def test_one_label_in_every_set_is_still_a_set():
    assert EncodedLabelSets.of([{"b"}, {"a"}]).indicator.toarray().tolist() == [[0, 1], [1, 0]]


def test_names_of_columns_are_the_labels_in_their_order():
    found = EncodedLabelSets.of(pd.DataFrame(TABLE, columns=["z", "y", "x"]))
    assert found.classes.tolist() == ["z", "y", "x"]


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.array([[0, 2], [1, 1]]), "a table of zeros and ones"),
        (sparse.csr_array([[0, 2], [1, 0]]), "a table of zeros and ones"),
        ([["a"], "b"], "must have a list or a set of labels if one has. Got 'b'"),
        ([["a", 1]], "all text or all numbers. Got 'a' and 1"),
        (pd.DataFrame(np.eye(2, dtype=int), columns=["a", "a"]), "different names. Got 2 columns"),
    ],
    ids=range(5),
)
def test_anything_else_is_refused(y, message):
    with pytest.raises(ValueError, match=message):
        EncodedLabelSets.of(y)


def test_columns_follow_other_classes_and_unknown_labels_are_left_out():
    found = EncodedLabelSets.of([["b", "x"], ["a"], []]).of_classes(np.array(["c", "b", "a"]))
    assert found.toarray().tolist() == [[0, 1, 0], [0, 0, 1], [0, 0, 0]]
