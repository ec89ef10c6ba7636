from itertools import combinations

import numpy as np
import pytest

from codekin.code.geometry import codeword_distances
from codekin.codebooks import exhaustive, optimised, optimised_columns
from codekin.codebooks.designs.optimised import plotkin_bound


def largest_by_brute_force(n_codewords, n_bits):
    columns = exhaustive(n_codewords).matrix
    pairs = np.triu_indices(n_codewords, k=1)
    choices = (columns[:, list(chosen)] for chosen in combinations(range(columns.shape[1]), n_bits))
    return max(codeword_distances(matrix, matrix)[pairs].min() for matrix in choices)


@pytest.mark.parametrize(("n_codewords", "n_bits"), [(3, 2), (4, 3), (4, 5), (5, 3), (5, 4), (5, 6), (5, 13), (6, 3)])
def test_no_choice_of_columns_is_better(n_codewords, n_bits):
    found = optimised_columns(n_codewords, n_bits)
    assert found.is_proven
    assert found.codebook.min_distance == found.upper_bound == largest_by_brute_force(n_codewords, n_bits)


@pytest.mark.parametrize(
    ("n_codewords", "n_bits", "distance"),
    [(8, 7, 4), (6, 10, 6), (8, 4, 2), (10, 15, 8)],  # simplex, A(10, 6) = 6, even weights, simplex again
)
def test_known_best_codes_are_found(n_codewords, n_bits, distance):
    assert optimised(n_codewords, n_bits).min_distance == distance


@pytest.mark.parametrize("n_codewords", range(2, 7))
def test_no_codebook_exceeds_the_bound(n_codewords):
    for n_bits in range((n_codewords - 1).bit_length(), min(2 ** (n_codewords - 1), 4)):
        assert largest_by_brute_force(n_codewords, n_bits) <= plotkin_bound(n_codewords, n_bits)


def test_the_name_says_whether_the_distance_is_proven():
    assert optimised(5, 6).name == "optimised (proven)"
    # Nobody gets to the bound of 19 in no time.
    cut_off = optimised_columns(12, 36, time_limit=0.01)
    assert not cut_off.is_proven
    assert cut_off.codebook.name == f"optimised (at most {cut_off.upper_bound} possible)"


def test_a_time_limit_must_be_positive():
    with pytest.raises(ValueError, match="'time_limit' parameter must be greater than 0. Got 0 instead"):
        optimised(5, 6, time_limit=0)
