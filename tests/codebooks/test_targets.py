"""Real-valued codewords: random projections, and eigenvectors of the graph of classes."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform
from threadpoolctl import threadpool_limits

from codekin.codebooks import spectral
from codekin.codebooks.designs.spectral import eigen_targets, random_projection


def distances_on_a_circle(n):
    angles = 2 * np.pi * np.arange(n) / n
    return squareform(pdist(np.column_stack([np.cos(angles), np.sin(angles)])))


def places(n, seed=0):
    return squareform(pdist(np.random.default_rng(seed).normal(size=(n, 3))))


@pytest.mark.parametrize("n_bits", [50, 400])
def test_random_projections_keep_the_distances_of_one_hot_labels_as_far_as_johnson_and_lindenstrauss_say(n_bits):
    codebook = random_projection(150, n_bits, rng=0)
    ratios = codebook.row_distances()[np.triu_indices(150, k=1)] / (n_bits / 2)
    spread = np.sqrt(2 / n_bits)
    assert ratios.mean() == pytest.approx(1, abs=0.02)
    assert ratios.std() == pytest.approx(spread, rel=0.1)
    assert np.abs(ratios - 1).max() < 6.5 * spread
    assert np.square(codebook.matrix).mean() == pytest.approx(1, abs=0.02)


def test_more_bits_than_classes_make_projections_nearly_equidistant():
    ratios = [random_projection(5, n_bits, rng=0).row_distances()[0, 1:] / n_bits for n_bits in (10, 100_000)]
    assert np.ptp(ratios[1]) < 0.01 < np.ptp(ratios[0])


def test_all_eigenvectors_of_equally_linked_classes_are_the_corners_of_a_simplex():
    for distances in (distances_on_a_circle(9), 1 - np.eye(9)):
        codebook = eigen_targets(9, class_distances=distances)
        assert codebook.n_bits == 8
        assert codebook.is_equidistant
        np.testing.assert_allclose(codebook.matrix.sum(axis=0), 0, atol=1e-9)


def test_two_eigenvectors_of_a_circle_are_the_circle():
    n = 12
    distances = distances_on_a_circle(n)
    found = eigen_targets(n, 2, class_distances=distances).row_distances()
    np.testing.assert_allclose(found, distances**2 / 2, atol=1e-9)  # radius sqrt(2), a quarter of the square


@pytest.mark.parametrize("n_bits", [2, 5, 11])
def test_targets_are_as_long_as_rows_of_signs(n_bits):
    codebook = eigen_targets(12, n_bits, class_distances=places(12))
    np.testing.assert_allclose(np.square(codebook.matrix).sum(axis=1), n_bits)


def test_the_columns_of_the_spectral_code_are_signs_of_the_targets():
    distances = places(10)
    signs = np.sign(eigen_targets(10, class_distances=distances).matrix)
    columns = spectral(10, 9, class_distances=distances).matrix
    assert (np.abs(columns.T @ signs).max(axis=1) == 10).all()


def test_similar_classes_get_similar_targets():
    group = np.arange(12) // 4
    distances = np.where(group[:, None] == group, 1.0, 4.0) + 0.1 * places(12)
    np.fill_diagonal(distances, 0)
    apart = eigen_targets(12, 2, class_distances=distances).row_distances()
    is_same = group[:, None] == group
    assert apart[is_same].max() < 0.1 * apart[~is_same].min()


def test_targets_do_not_depend_on_the_number_of_threads():
    made = []
    for n_threads in (1, 2):
        with threadpool_limits(n_threads, user_api="blas"):
            made.append(eigen_targets(120, 30, class_distances=places(120)).matrix.tobytes())
    assert made[0] == made[1]


@pytest.mark.parametrize(
    ("n_bits", "distances", "sentence"),
    [
        (1, places(4), r"gives classes \d and \d the same target. Use more bits; there are up to 3\.$"),
        (4, places(4), r"4 classes have 3 eigenvectors that are not constant. Got n_bits=4\.$"),
        (0, places(4), r"at least 1 bit. Got n_bits=0\.$"),
        (3, np.zeros((4, 4)), "All class distances are 0"),
    ],
)
def test_impossible_targets_are_refused_in_a_sentence(n_bits, distances, sentence):
    with pytest.raises(ValueError, match=sentence):
        eigen_targets(4, n_bits, class_distances=distances)


def test_a_class_in_the_middle_has_no_direction():
    line = np.abs(np.arange(3.0)[:, None] - np.arange(3.0))
    with pytest.raises(ValueError, match=r"no target for class 1, whose entries .* are all 0. Use more bits"):
        eigen_targets(3, 1, class_distances=line)
    assert eigen_targets(3, 2, class_distances=line).n_bits == 2


@pytest.mark.parametrize("bandwidth", [0, -1.0, np.nan])
def test_a_bandwidth_is_positive(bandwidth):
    with pytest.raises(ValueError, match="bandwidth"):
        eigen_targets(4, class_distances=places(4), bandwidth=bandwidth)
