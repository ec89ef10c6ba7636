import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.reference import parse as reference

from codekin.kernels import parse

digits = st.text("0123456789", min_size=1, max_size=25)
decimals = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(["", "-", "+"]),
    digits,
    st.one_of(st.just(""), st.just("."), digits.map(".{}".format)),
    st.one_of(st.just(""), st.integers(-60, 60).map("e{}".format)),
)


def as_bytes(text):
    return np.frombuffer(text.encode() + b"\n", np.uint8)


@settings(max_examples=300, deadline=None)
@given(st.one_of(decimals, st.floats(allow_nan=False, allow_infinity=False).map(repr)))
@example("0.5000000298023223876953125")  # halfway between two float32 numbers
@example("0.50000002980232238769531250000000000001")
@example("1.17549429e-38")  # around the smallest normal number
@example("7.006492321624085e-46")
@example("340282356779733642752192712376094261248")
@example("16777217")
@example("-0.0")
def test_numbers_are_those_of_python_or_are_called_doubtful(text):
    after, value, is_doubtful = parse.parse_number(as_bytes(text), 0)
    assert after == len(text)
    with np.errstate(over="ignore"):
        got = np.float32(value)
    assert is_doubtful or got.tobytes() == reference.number(text).tobytes()


def test_few_numbers_are_doubtful():
    numbers = np.random.default_rng(0).random(2_000)
    assert sum(parse.parse_number(as_bytes(repr(x)), 0)[2] for x in numbers.tolist()) < 5


@pytest.mark.parametrize("text", ["", "-", ".", "e5", "nan", "inf", "+-1", "1e", "1e+", "x1"])
def test_what_is_no_number_is_not_read_as_one(text):
    assert parse.parse_number(as_bytes(text), 0)[0] == 0


@settings(max_examples=200, deadline=None)
@given(st.text("+-0123456789.", min_size=1, max_size=21))
@example("007")
@example("3.0")
@example("+1")
@example("-0")
@example("-10")
@example("123456789012345678")
@example("1234567890123456789")
def test_a_label_is_an_integer_when_the_twin_says_so(text):
    is_integer, value = parse.parse_integer_label(as_bytes(text), 0, len(text))
    assert (value if is_integer else None) == reference.integer_label(text)


@settings(max_examples=200, deadline=None)
@given(st.text(min_size=1, max_size=20), st.integers(0, 2**32 - 1))
def test_names_are_hashed_as_scikit_learn_hashes_them(name, seed):
    encoded = name.encode(errors="surrogatepass")
    text = np.frombuffer(encoded + b"\n", np.uint8)
    expected = (
        (int(name) + seed) % 2**32
        if name.isascii() and name.isdigit()
        else reference.murmurhash3_32(encoded, seed=seed, positive=True)
    )
    assert parse.hash_name(text, 0, len(encoded), seed) == expected
