"""Scores, learnability and searches for real codewords, against trying everything."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression
from tests.assignments.problems import random_distances, random_tree_distances

from codekin.assignments import ASSIGNMENTS, assign
from codekin.assignments.budget import Budget
from codekin.assignments.result import torn_pairs
from codekin.assignments.scores import AssignmentProblem, binary_loss_bound
from codekin.assignments.swaps import SwapRun, TreeProblem, VectorProblem, anneal_tree, anneal_vectors
from codekin.classes.distances import learnability_distances
from codekin.classes.vectors import EmbeddingDistances, ProductDistances
from codekin.code import Assignment, Codebook
from codekin.code.geometry import codeword_moments
from codekin.codebooks.designs.spectral import random_projection

MATRIX_SEARCHES = sorted(name for name, solver in ASSIGNMENTS.items() if solver.on_matrices is not None)


@given(st.integers(1, 9), st.integers(1, 5), st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None)
def test_moments_are_those_of_all_distances(n_codewords, n_bits, seed):
    matrix = np.random.default_rng(seed).normal(size=(n_codewords, n_bits))
    apart = np.square(matrix[:, None] - matrix).sum(axis=2) / 4
    moments = codeword_moments(matrix)
    assert moments.total == pytest.approx(apart.sum())
    assert moments.sum_of_squares == pytest.approx((apart**2).sum(), abs=1e-9)
    assert moments.sum_of_squared_row_sums == pytest.approx((apart.sum(axis=1) ** 2).sum(), abs=1e-9)


@pytest.mark.parametrize("n_codewords", [5, 6])
def test_scores_and_their_z_agree_with_all_assignments(n_codewords):
    codebook, A = random_projection(n_codewords, 3, rng=0), random_distances(5)
    problem, D = AssignmentProblem.of(codebook, A), codebook.row_distances()
    alignments = {}
    for order in permutations(range(n_codewords), 5):
        own = D[np.ix_(order, order)]
        expected = np.linalg.norm(A / np.linalg.norm(A) - own / np.linalg.norm(own))
        assert problem.score(Assignment(list(order))) == pytest.approx(expected)
        alignments[order] = ((A - problem.mean_class_distance * (1 - np.eye(5))) * own).sum()
    values = np.array(list(alignments.values()))
    for order in list(alignments)[::17]:
        expected = (alignments[order] - values.mean()) / values.std()
        assert problem.score_and_z(Assignment(list(order)))[1] == pytest.approx(expected)


def test_the_learnability_of_real_bits_is_the_error_of_least_squares():
    rng = np.random.default_rng(0)
    class_index = np.arange(300) % 10
    X = rng.normal(size=(10, 4))[class_index] + rng.normal(size=(300, 4))
    codebook, distances = random_projection(10, 3, rng=0), learnability_distances(X, class_index, ridge=0.0)
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(10)
        targets = codebook.matrix[order][class_index]
        residuals = targets - LinearRegression().fit(X, targets).predict(X)
        assert binary_loss_bound(codebook, Assignment(order), distances) == pytest.approx((residuals**2).mean())


@pytest.mark.parametrize("method", [*MATRIX_SEARCHES, "greedy", "spectral", "vector_swaps", "tree_swaps", "preserving"])
@pytest.mark.parametrize("n_spare", [0, 2])
def test_every_search_works_on_real_codewords(method, n_spare):
    codebook, distances = random_projection(7 + n_spare, 3, rng=3), random_distances(7)
    if method == "vector_swaps":
        distances = EmbeddingDistances(np.random.default_rng(0).normal(size=(7, 3)))
    elif method == "tree_swaps":
        distances = random_tree_distances(7)
    problem = AssignmentProblem.of(codebook, distances)
    options = {} if method in ("umeyama", "greedy", "spectral") else {"n_restarts": 2}
    result = assign(codebook, distances, method, rng=0, **options)
    assert result.score == pytest.approx(problem.score(result.assignment))
    if n_spare:
        assert result.z > 0
        return
    best = min(problem.score(Assignment(list(order))) for order in permutations(range(7)))
    is_rough = method in ("greedy", "spectral", "umeyama", "frank_wolfe")
    assert best - 1e-9 <= result.score <= best + (0.4 if is_rough else 0.1)


@pytest.mark.parametrize("n_spare", [0, 5])
@pytest.mark.parametrize(
    ("distances", "prepare", "search"),
    [
        (
            EmbeddingDistances(np.random.default_rng(0).normal(size=(40, 3)), squared=True),
            VectorProblem,
            anneal_vectors,
        ),
        (ProductDistances(np.random.default_rng(0).normal(size=(40, 3))), VectorProblem, anneal_vectors),
        (random_tree_distances(40), TreeProblem, anneal_tree),
    ],
    ids=["embedding", "factors", "tree"],
)
def test_searches_without_a_matrix_know_what_they_have_gained(distances, prepare, search, n_spare):
    n = 40 + n_spare
    codebook = Codebook(random_projection(n, 4, rng=0).matrix * np.linspace(0.1, 3, n)[:, None], is_real=True)
    problem = AssignmentProblem.of(codebook, distances)
    arrays, budget = prepare.of(problem), Budget("test", None, 1, None, 1)
    run = SwapRun(problem, arrays.class_order, budget, sense="preserving", seed=0)
    budget.score_of_objective = float
    before = run.alignment
    search(arrays, run, np.inf, n_proposals=20_000)
    assert run.best_alignment == pytest.approx(problem.evaluated(run.assignment("test")).alignment, rel=1e-4)
    assert run.best_alignment > before


def test_torn_pairs_are_told_with_their_distance():
    codebook = Codebook([[0, 0], [2, 1], [2, 0]], is_real=True)
    pairs = torn_pairs(codebook, Assignment([0, 1, 2]), [[0, 1, 4], [1, 0, 4], [4, 4, 0]], n_pairs=1)
    assert (pairs[0].u, pairs[0].v, pairs[0].codeword_distance) == (0, 1, 1.25)
