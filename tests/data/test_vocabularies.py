import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codekin.data.recipes import CodedWords, coded_weights, decoded_weights, decoded_words

words = st.lists(st.text(max_size=40) | st.text("ab ", max_size=60), max_size=30)


@given(words, st.booleans())
@settings(max_examples=100, deadline=None)
def test_words_come_back_in_any_order(words, is_sorted):
    words = sorted(words) if is_sorted else words
    assert list(decoded_words(CodedWords(words).arrays())) == words


@given(words, st.integers(0, 2**32 - 1))
@settings(max_examples=50, deadline=None)
def test_the_size_of_some_words_is_that_of_their_arrays(words, seed):
    rng = np.random.default_rng(seed)
    kept = np.flatnonzero(rng.random(len(words)) < 0.5)
    arrays = CodedWords([words[k] for k in kept]).arrays()
    assert CodedWords(words).n_bytes(kept) == sum(array.nbytes for array in arrays.values())


@given(st.lists(st.floats(1, 10), max_size=30))
def test_weights_come_back_to_the_last_bit(weights):
    again = decoded_weights(coded_weights(np.array(weights, dtype=np.float64)))
    assert again.tobytes() == np.array(weights, dtype=np.float64).tobytes()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"n_letters": np.array([3, 250], np.uint8)}, "must be from 0 to 9. Got 250"),
        ({"n_letters": np.array([3, 5], np.uint8)}, "must add up to 9. Got 8"),
        ({"n_letters": np.array([2**63, 2**63], np.uint64)}, "must be from 0 to 9"),
        ({"n_letters": np.array([3.0, 6.0])}, "array of integers"),
        ({"n_letters": np.array([9], np.uint8)}, "needs two numbers of letters"),
        ({"n_shared": np.array([0, 32], np.uint8)}, "must be from 0 to 31. Got 32"),
        ({"n_shared": np.array([1, 3], np.uint8)}, "shares more letters"),
        ({"n_shared": np.array([0, 4], np.uint8)}, "shares more letters"),
    ],
)
def test_arrays_that_do_not_fit_together_are_refused(change, reason):
    arrays = CodedWords(["cat", "cat purrs"]).arrays()
    with pytest.raises(ValueError, match=reason):
        decoded_words({**arrays, **change})


def test_no_word_takes_over_more_than_31_bytes():
    arrays = CodedWords(["x" * 100, "x" * 101]).arrays()
    assert arrays["n_shared"].tolist() == [0, 31]


def test_a_weight_that_is_not_in_the_table_is_refused():
    for numbers in (np.array([2], np.uint8), np.array([-1], np.int8), np.array([[0]], np.uint8)):
        with pytest.raises(ValueError, match="the numbers of weights in the state of this text vectorizer must be"):
            decoded_weights({"idf_values": np.ones(2), "idf_numbers": numbers})
