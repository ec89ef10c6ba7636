"""Which search is used when, and comparisons of several searches."""

import numpy as np
import pytest
from scipy.sparse import eye_array
from tests.assignments.problems import random_codebook, random_distances, random_tree_distances

from codekin.assignments import ASSIGNMENTS, assign, class_codeword_score, compare_assignments
from codekin.assignments.policy import choose_method
from codekin.classes import DenseDistances
from codekin.classes.interface import PartialDistances
from codekin.classes.vectors import EmbeddingDistances
from codekin.code import Codebook
from codekin.codebooks import trellis_codebook


def test_a_codebook_that_was_made_for_its_classes_stays_as_it_is():
    codebook = Codebook(random_codebook(7).matrix, is_designed=True)
    distances = random_distances(7)
    for policy in ("preserving", "breaking"):
        result = assign(codebook, distances, policy)
        np.testing.assert_array_equal(result.codeword_of_class, np.arange(7))
        assert (result.method, result.sense) == ("identity", policy)
    assert (assign(codebook, distances, "exhaustive").codeword_of_class != np.arange(7)).any()


@pytest.mark.parametrize(
    ("n_classes", "make", "expected"),
    [
        (10, random_distances, "exhaustive"),
        (11, random_distances, "portfolio"),
        (200, random_tree_distances, "portfolio"),
        (201, random_tree_distances, "tree_swaps"),
        (5_100, random_tree_distances, "tree_swaps"),
        (5_100, lambda n: EmbeddingDistances(np.random.default_rng(0).normal(size=(n, 2))), "vector_swaps"),
        (5_100, lambda n: EmbeddingDistances(eye_array(n, 3, format="csr")), "spectral"),
    ],
)
def test_the_search_is_chosen_by_size_and_form(n_classes, make, expected):
    assert choose_method(trellis_codebook(n_classes), make(n_classes)) == expected


def test_distances_that_belong_to_a_tree_are_ordered_by_it_where_they_are_too_many():
    distances = DenseDistances(random_distances(8), tree=random_tree_distances(8).tree)
    assert choose_method(trellis_codebook(5_001), distances) == "ordered"
    assert choose_method(trellis_codebook(11), distances) == "portfolio"


def test_a_policy_is_what_its_method_finds():
    codebook, distances = random_codebook(8), random_distances(8)
    for policy in ("preserving", "breaking"):
        chosen = assign(codebook, distances, policy, rng=0)
        named = assign(codebook, distances, "exhaustive", sense=policy)
        np.testing.assert_array_equal(chosen.codeword_of_class, named.codeword_of_class)


def test_classes_of_which_nothing_is_known_get_what_is_left():
    codebook = random_codebook(7)
    partial = PartialDistances(DenseDistances(random_distances(5)), [6, 0, 2, 3, 5], n_classes=7)
    result = assign(codebook, partial, rng=0)
    assert sorted(result.codeword_of_class) == list(range(7))
    as_matrix = assign(codebook, partial.matrix())
    assert result.score == pytest.approx(as_matrix.score, abs=1e-9)
    assert result.score == class_codeword_score(codebook, result.assignment, partial)
    assert assign(codebook, partial, "random", rng=0).codeword_of_class.shape == (7,)


def test_a_tree_of_some_of_many_classes_is_searched_as_a_tree():
    known = random_tree_distances(300)
    partial = PartialDistances(known, np.arange(10, 310), n_classes=5_010)
    result = assign(trellis_codebook(5_010), partial, rng=0, n_proposals=20_000)
    assert result.method == "tree_swaps"
    assert sorted(result.codeword_of_class) == list(range(5_010))
    assert result.z > 5


def test_options_reach_the_method():
    codebook, distances = random_codebook(12), random_distances(12)
    assert assign(codebook, distances, "tabu", rng=0, n_moves=3).n_evaluations == 1 + 3 * 66
    assert assign(codebook, distances, "random", rng=0, n_restarts=4).n_evaluations == 4


def test_unknown_methods_and_contradictions_are_refused():
    codebook, distances = random_codebook(5), random_distances(5)
    with pytest.raises(ValueError, match="must be one of preserving, breaking, random, .* Got 'best'"):
        assign(codebook, distances, "best")
    with pytest.raises(ValueError, match="has its own sense"):
        assign(codebook, distances, "preserving", sense="breaking")


def test_a_comparison_has_one_row_per_method_in_the_order_asked_for():
    codebook, distances = random_codebook(9), random_tree_distances(9)
    methods = [name for name in ASSIGNMENTS if name != "vector_swaps"] + ["preserving"]
    table = compare_assignments(codebook, distances, methods, rng=0, options={"tabu": {"n_moves": 500}})
    assert [row["method"] for row in table.rows()] == [*methods[:-1], "exhaustive"]
    assert table.best.score == min(row["score"] for row in table.rows())
    assert len(str(table).splitlines()) == 1 + len(methods)


def test_what_a_method_finds_does_not_depend_on_what_it_is_compared_with():
    codebook, distances = random_codebook(9), random_distances(9)
    alone = compare_assignments(codebook, distances, ["random"], rng=3).results[0]
    among = compare_assignments(codebook, distances, ["greedy", "random"], rng=3, sense="preserving").results[1]
    np.testing.assert_array_equal(alone.codeword_of_class, among.codeword_of_class)


def test_a_comparison_of_unknown_methods_is_refused():
    with pytest.raises(ValueError, match="Got 'luck'"):
        compare_assignments(random_codebook(4), random_distances(4), ["luck"])
