import itertools

import numpy as np
import pytest

from codekin.classes import ClassTree, DenseDistances
from codekin.classes.tree_distances import TreeDistances
from codekin.codebooks import spectral
from codekin.codebooks.designs.columns import _cheapest_subsets, with_distinct_rows


def clusters(n_clusters, size):
    """Classes that are 1 apart within a cluster and about 10 apart between clusters."""
    cluster = np.repeat(np.arange(n_clusters), size)
    between = 10 + 0.1 * np.abs(cluster[:, None] - cluster)
    distances = np.where(cluster[:, None] == cluster, 1.0, between)
    np.fill_diagonal(distances, 0)
    return distances, cluster


def test_the_first_bits_part_clusters_and_never_cut_through_one():
    distances, cluster = clusters(4, 3)
    first = spectral(12, class_distances=distances).matrix[:, :3]
    assert len(np.unique(first, axis=0)) == 4
    assert all(len(np.unique(first[cluster == c], axis=0)) == 1 for c in range(4))


def test_similar_classes_get_similar_codewords():
    distances, cluster = clusters(4, 3)
    codeword_distances = spectral(12, class_distances=distances).row_distances()
    is_together = cluster[:, None] == cluster
    within = codeword_distances[is_together & ~np.eye(12, dtype=bool)].mean()
    assert within < 0.6 * codeword_distances[~is_together].mean()


@pytest.mark.parametrize("n_classes", [5, 8, 12, 33])
def test_the_median_makes_every_bit_balanced(n_classes):
    distances = np.abs(np.subtract.outer(*[np.random.default_rng(0).normal(size=n_classes)] * 2))
    codebook = spectral(n_classes, class_distances=distances, threshold="median", repair=True)
    assert (np.abs((codebook.matrix > 0).sum(axis=0) - n_classes / 2) < 1).all()


def test_equal_codewords_are_refused_with_their_classes_and_a_remedy():
    distances, _ = clusters(4, 3)
    with pytest.raises(ValueError, match="gives classes 0 and 1 the same codeword. Use .* or repair=True"):
        spectral(12, 4, class_distances=distances)


def test_repaired_codewords_are_distinct_and_columns_stay_useful():
    distances, _ = clusters(4, 3)
    repaired = spectral(12, 4, class_distances=distances, repair=True)
    assert repaired.n_constant_columns == 0
    assert repaired.has_distinct_columns
    assert len(np.unique(repaired.matrix, axis=0)) == 12


def test_repairing_a_codebook_without_equal_codewords_changes_nothing():
    places = np.arange(9.0)
    distances = np.abs(places[:, None] - places)
    untouched, repaired = (spectral(9, class_distances=distances, repair=repair) for repair in (False, True))
    assert np.array_equal(untouched.matrix, repaired.matrix)


def test_as_many_bits_as_classes_are_refused():
    distances = np.abs(np.subtract.outer(np.arange(10.0), np.arange(10.0)))
    with pytest.raises(ValueError, match="fewer bits than codewords: 10 classes have 9 eigenvectors .* Got n_bits=10"):
        spectral(10, 10, class_distances=distances)


def test_more_bits_than_different_cuts_are_refused():
    places = np.array([[0, 0], [1, 0], [0, 1], [3, 3]])
    distances = np.linalg.norm(places[:, None] - places, axis=2)
    with pytest.raises(ValueError, match="cut these 4 classes in only 2 different ways; .* Got 3"):
        spectral(4, 3, class_distances=distances, threshold="median")
    assert spectral(4, class_distances=distances, threshold="median").n_bits == 2


def test_what_cannot_be_repaired_is_refused():
    with pytest.raises(ValueError, match="With n_bits=1 no codeword is left for class 1"):
        with_distinct_rows(np.array([[1], [1], [-1]], dtype=np.int8), np.array([[3.0], [1.0], [2.0]]))


def test_any_kind_of_class_distances_will_do():
    tree = ClassTree.from_nested([["a", "b", "c"], ["d", "e"], ["f", ["g", "h"]]])
    distances = TreeDistances(tree)
    as_matrix = spectral(8, class_distances=distances.matrix(), repair=True).matrix
    assert np.array_equal(spectral(8, class_distances=distances, repair=True).matrix, as_matrix)


def test_a_signed_matrix_is_as_good_as_the_same_one_shifted():
    rng = np.random.default_rng(0)
    noise = rng.uniform(1, 2, size=(6, 6))
    distances = np.where(np.eye(6), 0, noise + noise.T)
    least = distances[distances > 0].min()
    shifted, signed = (np.where(np.eye(6), 0, distances - shift) for shift in (least, least + 3))
    codebooks = [spectral(6, class_distances=a) for a in (shifted, signed, DenseDistances(signed, signed=True))]
    assert all(np.array_equal(codebook.matrix, codebooks[0].matrix) for codebook in codebooks)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"threshold": "mean"}, "must be 'zero' or 'median'. Got 'mean' instead"),
        ({"bandwidth": 0}, "must be greater than 0. Got 0 instead"),
        ({"class_distances": np.zeros((4, 4))}, "All class distances are 0"),
        ({"class_distances": np.ones((3, 3)) - np.eye(3)}, "between 4 classes are needed. Got those of 3 classes"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, complaint):
    with pytest.raises(ValueError, match=complaint):
        spectral(4, **{"class_distances": np.ones((4, 4)) - np.eye(4)} | options)


def test_subsets_come_in_the_order_of_their_costs_and_all_of_them_once():
    costs = np.array([3.0, 1.0, 4.0, 1.5])
    subsets = [tuple(sorted(subset)) for subset in _cheapest_subsets(costs)]
    everything = [c for size in range(1, 5) for c in itertools.combinations(range(4), size)]
    assert sorted(subsets) == sorted(everything)
    totals = [costs[list(subset)].sum() for subset in subsets]
    assert totals == sorted(totals)
