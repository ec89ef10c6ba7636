import numpy as np
import pytest

from codekin.codebooks import dense_random


@pytest.mark.parametrize(
    ("n_codewords", "n_bits", "n_symbols"),
    [(100, 2, 10), (87, 2, 10), (26, 3, 10), (1532, 4, 10), (7, 5, 3), (65, 3, 5)],
)
def test_symbols_are_balanced_and_no_codeword_is_there_twice(n_codewords, n_bits, n_symbols):
    codebook = dense_random(n_codewords, n_bits, n_symbols=n_symbols, rng=0)
    assert codebook.matrix.shape == (n_codewords, n_bits)
    assert codebook.min_distance >= 1
    counts = np.array([np.bincount(column, minlength=n_symbols) for column in codebook.matrix.T])
    assert counts.min() >= n_codewords // n_symbols
    assert counts.max() <= -(-n_codewords // n_symbols)
    assert codebook.has_distinct_columns


def test_the_minimum_distance_is_that_of_the_pairs():
    codebook = dense_random(40, 6, n_symbols=7, rng=1)
    pairs = (codebook.matrix[:, None] != codebook.matrix[None]).sum(axis=2)
    assert codebook.min_distance == pairs[~np.eye(40, dtype=bool)].min()
    assert codebook.min_distance >= 4  # independent draws of the columns reach 3


def test_as_many_symbols_as_codewords_make_one_column():
    assert dense_random(7, n_symbols=10).matrix.ravel().tolist() == list(range(7))
    with pytest.raises(ValueError, match="7 codewords of 10 symbols have one column"):
        dense_random(7, 3, n_symbols=10)


def test_too_few_columns_are_refused():
    with pytest.raises(ValueError, match="2 bits cannot tell 101 codewords apart; at least 3 are needed"):
        dense_random(101, 2, n_symbols=10)


def test_a_given_minimum_distance_is_for_two_symbols():
    with pytest.raises(ValueError, match="min_distance=3 needs two symbols. Got n_symbols=4"):
        dense_random(20, 6, n_symbols=4, min_distance=3)


def test_the_same_seed_gives_the_same_codebook_of_symbols():
    first, second, other = (dense_random(30, 4, n_symbols=5, rng=seed).matrix for seed in (0, 0, 1))
    assert np.array_equal(first, second)
    assert not np.array_equal(first, other)
