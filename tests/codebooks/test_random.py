import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference.codebook_search import best_codebook, is_valid, mean_column_correlation, min_distance

from codekin.codebooks import dense_random, exhaustive, sparse_random
from codekin.codebooks.drawing import DENSE, SPARSE, codebook_sampler
from codekin.codebooks.random import _checked_n_draws, _mean_column_correlations


@settings(max_examples=40, deadline=None)
@given(data=st.data(), n_codewords=st.integers(2, 20), n_draws=st.integers(1, 30), seed=st.integers(0, 2**32))
def test_any_feasible_shape_gives_a_valid_dense_codebook(data, n_codewords, n_draws, seed):
    fewest, most = (n_codewords - 1).bit_length(), min(2 ** (n_codewords - 1) - 1, 40)
    n_bits = data.draw(st.integers(fewest, most))
    codebook = dense_random(n_codewords, n_bits, n_draws=n_draws, rng=seed)
    assert codebook.matrix.shape == (n_codewords, n_bits)
    assert is_valid(codebook.matrix)
    assert not codebook.is_ternary


@settings(max_examples=40, deadline=None)
@given(data=st.data(), n_codewords=st.integers(2, 20), n_draws=st.integers(1, 30), seed=st.integers(0, 2**32))
def test_any_feasible_shape_gives_a_valid_sparse_codebook(data, n_codewords, n_draws, seed):
    fewest = next(n for n in itertools.count() if 3**n >= n_codewords)
    most = min((3**n_codewords - 2 ** (n_codewords + 1) + 1) // 2, 40)
    n_bits = data.draw(st.integers(fewest, most))
    codebook = sparse_random(n_codewords, n_bits, n_draws=n_draws, rng=seed)
    assert codebook.matrix.shape == (n_codewords, n_bits)
    assert is_valid(codebook.matrix)


@pytest.mark.parametrize("entries", [DENSE, SPARSE])
@pytest.mark.parametrize("shape", [(4, 5), (6, 3), (10, 8), (12, 20), (60, 9)])
def test_the_search_keeps_what_going_through_all_draws_would_keep(shape, entries):
    # One block of draws, made as the search makes them.
    draws = codebook_sampler(*shape, entries)(np.random.default_rng(5), 300).matrices(np.arange(300))
    search = dense_random if entries is DENSE else sparse_random
    found = search(*shape, n_draws=300, rng=5).matrix
    expected = best_codebook(draws)
    assert min_distance(found) == min_distance(expected)
    assert mean_column_correlation(found) == pytest.approx(mean_column_correlation(expected), abs=1e-12)


@pytest.mark.parametrize("entries", [(-1, 1), (-1, 0, 1)])
def test_correlations_of_columns_are_numpys_and_infinite_where_columns_are_useless(entries):
    draws = np.random.default_rng(0).choice(entries, size=(200, 5, 4)).astype(np.int8)
    for matrix, correlation in zip(draws, _mean_column_correlations(draws), strict=True):
        if is_valid(np.unique(matrix, axis=0)):
            assert correlation == pytest.approx(mean_column_correlation(matrix))
        else:
            assert correlation == np.inf


@pytest.mark.parametrize(
    ("shape", "n_draws"), [((10, 15), 10_000), ((600, 93), 10_000), ((1000, 100), 4_004), ((10_000, 133), 26)]
)
def test_ten_thousand_are_drawn_by_default_as_long_as_that_takes_seconds(shape, n_draws):
    assert _checked_n_draws(None, *shape) == n_draws


def test_more_draws_never_give_nearer_codewords():
    # A search of more draws starts with the same ones.
    few, many = (dense_random(20, 20, n_draws=n, rng=0).min_distance for n in (512, 5120))
    assert few <= many


def test_ten_codewords_of_fifteen_bits_reach_six_and_can_be_asked_for_five():
    assert dense_random(10, 15, rng=0).min_distance == 6
    asked_for = dense_random(10, 15, min_distance=5, rng=0)
    assert asked_for.min_distance == 5
    assert is_valid(asked_for.matrix)


@pytest.mark.parametrize("zero_pair", [0.0, 0.5])
def test_a_wanted_distance_of_a_sparse_codebook_is_that_of_its_zero_pairs(zero_pair):
    codebook = sparse_random(6, 12, min_distance=4.5, zero_pair=zero_pair, n_draws=2000, rng=0)
    distances = codebook.row_distances(zero_pair=zero_pair)
    assert distances[np.triu_indices(6, k=1)].min() == 4.5


def test_a_distance_that_no_draw_has_is_refused_with_the_largest_that_was_seen():
    with pytest.raises(ValueError, match="None of 300 random 10 x 8 codebooks had minimum distance 7; the largest was"):
        dense_random(10, 8, min_distance=7, n_draws=300, rng=0)


@pytest.mark.parametrize("n_codewords", range(2, 6))
def test_dense_codebooks_of_few_codewords_are_the_exhaustive_one(n_codewords):
    codebook = dense_random(n_codewords, rng=0)
    assert codebook.n_bits == 2 ** (n_codewords - 1) - 1
    assert codebook.min_distance == exhaustive(n_codewords).min_distance


@pytest.mark.parametrize(("n_codewords", "n_bits"), [(6, 26), (8, 30), (10, 34), (100, 67)])
def test_the_default_width_of_a_dense_codebook_is_allweins(n_codewords, n_bits):
    assert dense_random(n_codewords, n_draws=10, rng=0).n_bits == n_bits


@pytest.mark.parametrize(("n_codewords", "n_bits"), [(2, 1), (3, 6), (4, 25), (5, 35), (8, 45), (10, 50)])
def test_the_default_width_of_a_sparse_codebook_is_allweins_as_far_as_there_are_columns(n_codewords, n_bits):
    assert sparse_random(n_codewords, n_draws=10, rng=0).n_bits == n_bits


@pytest.mark.parametrize(("n_codewords", "n_bits"), [(16, 4), (20, 5), (31, 5), (64, 6), (200, 8)])
def test_codebooks_with_hardly_a_bit_to_spare_are_found(n_codewords, n_bits):
    assert is_valid(dense_random(n_codewords, n_bits, n_draws=10, rng=0).matrix)


@pytest.mark.parametrize(("n_codewords", "n_bits"), [(5, 14), (7, 62), (8, 126)])
def test_codebooks_with_hardly_a_column_to_spare_are_found(n_codewords, n_bits):
    assert is_valid(dense_random(n_codewords, n_bits, n_draws=10, rng=0).matrix)


def test_half_of_the_entries_of_a_sparse_codebook_are_zero():
    assert sparse_random(30, 200, n_draws=1, rng=0).sparsity == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("search", [dense_random, sparse_random])
def test_more_bits_than_columns_are_refused(search):
    with pytest.raises(ValueError, match="3 codewords have only . different columns, .* Got 9"):
        search(3, 9)


@pytest.mark.parametrize("options", [{"n_draws": 0}, {"min_distance": 0}, {"min_distance": 1.25}])
def test_options_that_make_no_sense_are_refused(options):
    name, value = next(iter(options.items()))
    with pytest.raises(ValueError, match=f"The '{name}' parameter must be .* Got {value} instead"):
        dense_random(10, 8, **options)


def test_zero_pairs_count_nothing_or_half():
    with pytest.raises(ValueError, match="must be 0 or 0.5. Got 1 instead"):
        sparse_random(10, zero_pair=1)
