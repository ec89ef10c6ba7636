"""Scores, learnability and searches for codes with more than two symbols, against trying everything."""

from itertools import permutations

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from tests.assignments.problems import random_distances, random_tree_distances

from codekin.assignments import ASSIGNMENTS, assign
from codekin.assignments.policy import POLICIES
from codekin.assignments.result import torn_pairs
from codekin.assignments.scores import AssignmentProblem, binary_loss_bound
from codekin.classes.distances import learnability_distances
from codekin.classes.vectors import EmbeddingDistances
from codekin.code import Assignment, Codebook


def symbol_codebook(n_codewords, n_bits=3, n_symbols=4, seed=0, *, is_ignoring=False):
    rng = np.random.default_rng(seed)
    rows = np.unique(rng.integers(-1 if is_ignoring else 0, n_symbols, (20 * n_codewords, n_bits)), axis=0)
    return Codebook(rows[rng.permutation(len(rows))[:n_codewords]], n_symbols=n_symbols)


def counted_distance(a, b):
    """In how many columns two codewords differ; one half where one of them is ignored."""
    return sum(0.0 if x == y else 0.5 if -1 in (x, y) else 1.0 for x, y in zip(a.tolist(), b.tolist(), strict=True))


@pytest.mark.parametrize("is_ignoring", [False, True])
def test_distances_count_the_columns_that_differ(is_ignoring):
    codebook = symbol_codebook(12, 5, is_ignoring=is_ignoring)
    expected = [[counted_distance(a, b) for b in codebook.matrix] for a in codebook.matrix]
    np.testing.assert_array_equal(codebook.row_distances(), expected)
    assert codebook.is_ternary == is_ignoring


@pytest.mark.parametrize("n_codewords", [5, 6])
@pytest.mark.parametrize("is_ignoring", [False, True])
def test_scores_and_their_z_agree_with_all_assignments(n_codewords, is_ignoring):
    codebook = symbol_codebook(n_codewords, is_ignoring=is_ignoring)
    A = random_distances(5)
    problem = AssignmentProblem.of(codebook, A)
    D = np.array([[counted_distance(a, b) for b in codebook.matrix] for a in codebook.matrix])
    alignments = {}
    for order in permutations(range(n_codewords), 5):
        own = D[np.ix_(order, order)]
        assignment = Assignment(list(order))
        expected = np.linalg.norm(A / np.linalg.norm(A) - own / np.linalg.norm(own))
        assert problem.score(assignment) == pytest.approx(expected)
        alignments[order] = ((A - problem.mean_class_distance * (1 - np.eye(5))) * own).sum()
    values = np.array(list(alignments.values()))
    for order in list(alignments)[::17]:
        expected = (alignments[order] - values.mean()) / values.std()
        assert problem.score_and_z(Assignment(list(order)))[1] == pytest.approx(expected)


def test_the_learnability_of_symbols_is_the_error_of_least_squares():
    rng = np.random.default_rng(0)
    class_index = np.arange(300) % 10
    X = rng.normal(size=(10, 4))[class_index] + rng.normal(size=(300, 4))
    codebook, distances = symbol_codebook(10, 3, 4), learnability_distances(X, class_index, ridge=0.0)
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(10)
        errors = []
        for column in codebook.matrix[order].T:
            targets = np.eye(4)[column[class_index]]
            residuals = targets - LinearRegression().fit(X, targets).predict(X)
            errors.append((residuals**2).mean(axis=0).sum())
        assert binary_loss_bound(codebook, Assignment(order), distances) == pytest.approx(np.mean(errors))


def test_the_assignment_of_highest_alignment_is_learned_best():
    rng = np.random.default_rng(1)
    class_index = np.arange(140) % 7
    X = rng.normal(size=(7, 3))[class_index] + 0.5 * rng.normal(size=(140, 3))
    codebook, distances = symbol_codebook(7, 2, 3), learnability_distances(X, class_index)
    found = assign(codebook, distances, "exhaustive", rng=0).assignment
    losses = [binary_loss_bound(codebook, Assignment(list(order)), distances) for order in permutations(range(7))]
    assert binary_loss_bound(codebook, found, distances) == pytest.approx(min(losses))


MATRIX_SEARCHES = sorted(name for name, solver in ASSIGNMENTS.items() if solver.on_matrices is not None)


@pytest.mark.parametrize("method", [*MATRIX_SEARCHES, "vector_swaps", "tree_swaps", "preserving"])
def test_every_search_works_on_symbols(method):
    codebook = symbol_codebook(7, 3, 3, seed=3)
    distances = random_distances(7)
    if method == "vector_swaps":
        distances = EmbeddingDistances(np.random.default_rng(0).normal(size=(7, 3)))
    elif method == "tree_swaps":
        distances = random_tree_distances(7)
    assert method in ASSIGNMENTS or method in POLICIES
    problem = AssignmentProblem.of(codebook, distances)
    best = min(problem.score(Assignment(list(order))) for order in permutations(range(7)))
    result = assign(codebook, distances, method, rng=0, n_restarts=2)
    assert result.score == pytest.approx(problem.score(result.assignment))
    assert best - 1e-9 <= result.score <= best + 0.1


def test_torn_pairs_are_told_with_their_distance_in_columns():
    codebook = Codebook([[0, 0], [1, 1], [2, 1]], n_symbols=3)
    pairs = torn_pairs(codebook, Assignment([0, 1, 2]), [[0, 1, 4], [1, 0, 4], [4, 4, 0]], n_pairs=1)
    assert (pairs[0].u, pairs[0].v, pairs[0].codeword_distance) == (0, 1, 2.0)
