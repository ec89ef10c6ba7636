import numpy as np
import pytest
from scipy.linalg import hadamard as scipy_hadamard

from codekin.codebooks import hadamard
from codekin.codebooks.designs.optimised import plotkin_bound


def test_ten_codewords_have_fifteen_bits_and_distance_eight():
    codebook = hadamard(10)
    assert (codebook.n_bits, codebook.min_distance, codebook.is_equidistant) == (15, 8, True)


@pytest.mark.parametrize("n_codewords", [2, 3, 4, 5, 7, 8, 9, 16, 17, 31, 100, 129])
def test_no_code_of_this_width_has_a_larger_minimum_distance(n_codewords):
    codebook = hadamard(n_codewords)
    assert codebook.is_equidistant
    assert codebook.min_distance == (codebook.n_bits + 1) / 2 == plotkin_bound(n_codewords, codebook.n_bits)


@pytest.mark.parametrize("n_codewords", [2, 10, 16, 33])
def test_it_is_the_matrix_of_sylvester_without_its_first_column(n_codewords):
    codebook = hadamard(n_codewords)
    assert np.array_equal(codebook.matrix, scipy_hadamard(codebook.n_bits + 1)[:n_codewords, 1:])


@pytest.mark.parametrize("n_codewords", range(2, 66))
def test_cutting_rows_off_spoils_no_column(n_codewords):
    codebook = hadamard(n_codewords)
    assert codebook.n_constant_columns == 0
    assert codebook.has_distinct_columns
