import numpy as np
import pytest

from codekin.codebooks import dense_random, error_correcting_factorization
from codekin.codebooks.designs.optimised import _leading_eigenvector, design_matrix


def two_clusters(size):
    cluster = np.repeat([0, 1], size)
    distances = np.where(cluster[:, None] == cluster, 1.0, 5.0)
    np.fill_diagonal(distances, 0)
    return distances, cluster[:, None] == cluster


def off_diagonal(matrix):
    return matrix[~np.eye(len(matrix), dtype=bool)]


def misfit(matrix, design):
    return (off_diagonal(design - matrix.astype(float) @ matrix.T) ** 2).sum()


def test_classes_that_are_alike_get_codewords_that_are_far_apart():
    distances, is_together = two_clusters(4)
    codeword_distances = error_correcting_factorization(8, 20, class_distances=distances, rng=0).row_distances()
    within = codeword_distances[is_together & ~np.eye(8, dtype=bool)]
    assert within.min() > codeword_distances[~is_together].max()


def test_agreement_of_codewords_follows_the_class_distances():
    rng = np.random.default_rng(0)
    places = rng.normal(size=(10, 2))
    distances = np.linalg.norm(places[:, None] - places, axis=2)
    codebook = error_correcting_factorization(10, 30, class_distances=distances, rng=0)
    assert np.corrcoef(off_diagonal(distances), off_diagonal(codebook.row_distances()))[0, 1] < -0.8


@pytest.mark.parametrize("shape", [(6, 8), (10, 15), (20, 30)])
def test_the_misfit_is_below_that_of_the_best_of_many_random_codebooks(shape):
    places = np.random.default_rng(1).normal(size=(shape[0], 3))
    distances = np.linalg.norm(places[:, None] - places, axis=2)
    design = design_matrix(distances, shape[1], 0.5)
    found = misfit(error_correcting_factorization(*shape, class_distances=distances, rng=0).matrix, design)
    assert found < min(misfit(dense_random(*shape, n_draws=1, rng=seed).matrix, design) for seed in range(50))


def test_without_a_spread_the_design_asks_for_codewords_that_are_equally_far_apart():
    distances, _ = two_clusters(4)
    assert not design_matrix(distances, 14, 0.0).any()
    codebooks = [error_correcting_factorization(8, 14, class_distances=distances, spread=s, rng=0) for s in (0, 0.5, 1)]
    spreads = [off_diagonal(codebook.row_distances()).std() for codebook in codebooks]
    assert spreads == sorted(spreads)


def test_equal_class_distances_ask_for_equally_far_codewords():
    assert not design_matrix(3 * (1 - np.eye(6)), 10, 0.5).any()


def test_where_nothing_is_left_to_fit_the_present_column_leads():
    present = np.array([1.0, -1.0, 1.0, 1.0])
    assert np.array_equal(_leading_eigenvector(np.zeros((4, 4)), present), present)


def test_a_spread_beyond_one_is_refused():
    with pytest.raises(ValueError, match="'spread' parameter must be between 0 and 1. Got 2 instead"):
        error_correcting_factorization(4, class_distances=1 - np.eye(4), spread=2)
