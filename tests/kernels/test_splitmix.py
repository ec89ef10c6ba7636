"""The kernels' random numbers."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.reference.qap import SplitMix

from codekin.kernels.splitmix import next_below, next_pair, next_uniform, next_word


@given(st.integers(0, 2**64 - 1), st.integers(2, 1000))
def test_numbers_are_those_of_the_published_generator(seed, n):
    state, twin = np.array([seed], np.uint64), SplitMix(seed)
    for _ in range(5):
        assert next_word(state) == twin.word()
        assert next_uniform(state) == twin.uniform()
        assert next_below(state, n) == twin.below(n)
        assert next_pair(state, n) == twin.pair(n)


def test_the_first_words_of_seed_1234567_are_the_published_ones():
    state = np.array([1234567], np.uint64)
    expected = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431]
    assert [int(next_word(state)) for _ in expected] == expected


def test_pairs_are_uniform():
    state, counts = np.array([1], np.uint64), np.zeros((5, 5))
    for _ in range(20_000):
        first, second = next_pair(state, 5)
        counts[first, second] += 1
    assert not np.tril(counts).any()
    np.testing.assert_allclose(counts[np.triu_indices(5, 1)], 2_000, rtol=0.12)
