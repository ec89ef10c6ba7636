import numpy as np
import pytest

from codekin.codebooks import hexj, unary


@pytest.mark.parametrize("n_codewords", [2, 3, 10, 33])
def test_unary_codewords_are_as_far_apart_as_their_ranks(n_codewords):
    ranks = np.arange(n_codewords)
    assert np.array_equal(unary(n_codewords).row_distances(), np.abs(ranks[:, None] - ranks))


def test_hexj_writes_each_digit_as_a_johnson_counter():
    counter = ["00000000", "00000001", "00000011", "00000111", "00001111", "00011111", "00111111", "01111111"]
    counter += ["".join("10"[int(bit)] for bit in state) for state in counter]
    written = ["".join("01"[int(bit > 0)] for bit in row) for row in hexj(256).matrix]
    assert written == [counter[rank // 16] + counter[rank % 16] for rank in range(256)]


@pytest.mark.parametrize("n_codewords", range(2, 10))
def test_hexj_of_a_few_classes_is_unary(n_codewords):
    assert hexj(n_codewords).n_bits == n_codewords - 1
    assert np.array_equal(hexj(n_codewords).row_distances(), unary(n_codewords).row_distances())


@pytest.mark.parametrize("n_codewords", [10, 16, 17, 100, 256, 257, 4000])
def test_hexj_neighbours_differ_in_one_bit_for_each_digit_that_changes(n_codewords):
    matrix = hexj(n_codewords).matrix
    n_changed = (matrix[1:] != matrix[:-1]).sum(axis=1)
    ranks = np.arange(1, n_codewords)
    assert np.array_equal(n_changed, 1 + (ranks % 16 == 0) + (ranks % 256 == 0))


@pytest.mark.parametrize("n_codewords", [16, 17, 31, 100, 255, 256, 257, 300, 4097])
def test_hexj_has_few_bits_all_of_them_useful(n_codewords):
    codebook = hexj(n_codewords)
    assert codebook.n_bits <= 8 * len(f"{n_codewords - 1:x}")
    assert codebook.n_constant_columns == 0
    assert codebook.has_distinct_columns
