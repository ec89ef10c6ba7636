"""Scores against matrices of all pairs, and moments against all assignments."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.assignments.problems import random_codebook, random_distances, random_tree
from tests.reference.scores import squared_score_moments

from codekin.assignments import binary_loss_bound, class_codeword_score, class_codeword_z
from codekin.assignments.scores import AssignmentProblem
from codekin.classes.distances import learnability_distances
from codekin.classes.tree_distances import TreeDistances
from codekin.classes.vectors import EmbeddingDistances
from codekin.code import Assignment, Codebook
from codekin.code.geometry import codeword_moments
from codekin.codebooks import trellis_codebook

seeds = st.integers(0, 2**32 - 1)


def dense_score(codebook, codeword_of_class, class_distances):
    a = np.asarray(class_distances)
    d = codebook.row_distances()[np.ix_(codeword_of_class, codeword_of_class)]
    return np.linalg.norm(a / np.linalg.norm(a) - d / np.linalg.norm(d))


@given(st.integers(2, 12), st.integers(0, 4), st.booleans(), seeds)
@settings(max_examples=60, deadline=None)
def test_scores_are_those_of_equation_5(n_classes, n_spare, is_ternary, seed):
    codebook = random_codebook(n_classes + n_spare, seed=seed, is_ternary=is_ternary)
    rng = np.random.default_rng(seed)
    order = rng.permutation(n_classes + n_spare)[:n_classes]
    tree = random_tree(n_classes, seed)
    vectors = rng.normal(size=(n_classes, 3))
    for given_distances, matrix in (
        (random_distances(n_classes, seed), random_distances(n_classes, seed)),
        (tree, TreeDistances(tree).matrix()),
        (EmbeddingDistances(vectors), EmbeddingDistances(vectors).matrix()),
        (EmbeddingDistances(vectors, squared=True), EmbeddingDistances(vectors, squared=True).matrix()),
    ):
        score = class_codeword_score(codebook, Assignment(order), given_distances)
        assert score == pytest.approx(dense_score(codebook, order, matrix), abs=1e-10)
        squared = class_codeword_score(codebook, Assignment(order), given_distances, squared=True)
        assert squared == pytest.approx(score**2, abs=1e-12)


def test_distances_that_are_the_codewords_own_have_score_zero():
    codebook = random_codebook(9, seed=1)
    distances = 3.7 * codebook.row_distances()
    assert class_codeword_score(codebook, Assignment.identity(9), distances) < 1e-14


def test_a_score_only_depends_on_the_codewords_in_use():
    codebook, distances = random_codebook(9, seed=2), random_distances(6)
    assignment = Assignment([8, 0, 3, 4, 7, 1])
    alone = Codebook(codebook.coding_matrix(assignment))
    assert class_codeword_score(codebook, assignment, distances) == pytest.approx(
        class_codeword_score(alone, Assignment.identity(6), distances), abs=1e-12
    )


@pytest.mark.parametrize("n_classes", [1, 3])
def test_distances_of_zero_are_left_as_they_are(n_classes):
    codebook = random_codebook(3)
    score = class_codeword_score(codebook, Assignment.identity(n_classes), np.zeros((n_classes, n_classes)))
    assert score == (1.0 if n_classes > 1 else 0.0)
    assert class_codeword_z(codebook, Assignment.identity(n_classes), np.zeros((n_classes, n_classes))) == 0.0


@pytest.mark.parametrize("n_classes", [2, 3, 4, 5, 6])
@pytest.mark.parametrize("is_ternary", [False, True])
def test_moments_are_those_of_all_assignments(n_classes, is_ternary):
    codebook = random_codebook(n_classes, seed=n_classes, is_ternary=is_ternary)
    distances = random_distances(n_classes, seed=n_classes)
    squares = [dense_score(codebook, list(order), distances) ** 2 for order in permutations(range(n_classes))]
    mean, standard_deviation = squared_score_moments(codebook, distances)
    assert mean == pytest.approx(np.mean(squares), abs=1e-12)
    assert standard_deviation == pytest.approx(np.std(squares), abs=1e-9)
    for order in list(permutations(range(n_classes)))[:5]:
        expected = (np.mean(squares) - dense_score(codebook, list(order), distances) ** 2) / max(np.std(squares), 1e-9)
        assert class_codeword_z(codebook, Assignment(order), distances) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(("n_classes", "n_codewords"), [(1, 3), (2, 4), (3, 5), (4, 6), (5, 6), (3, 3)])
@pytest.mark.parametrize("is_ternary", [False, True])
def test_moments_of_the_alignment_hold_with_codewords_to_spare(n_classes, n_codewords, is_ternary):
    codebook = random_codebook(n_codewords, seed=n_codewords, is_ternary=is_ternary)
    problem = AssignmentProblem.of(codebook, random_distances(n_classes))
    centred = random_distances(n_classes) - problem.mean_class_distance
    np.fill_diagonal(centred, 0.0)
    d = codebook.row_distances()
    alignments = []
    for order in permutations(range(n_codewords), n_classes):
        alignments.append(float(np.sum(centred * d[np.ix_(order, order)])))
    assert problem.evaluated(Assignment(order)).alignment == pytest.approx(alignments[-1], abs=1e-10)
    assert np.mean(alignments) == pytest.approx(0, abs=1e-10)
    assert problem.alignment_spread == pytest.approx(np.std(alignments), abs=1e-9)


@given(st.integers(1, 12), st.booleans(), seeds)
@settings(max_examples=30, deadline=None)
def test_sums_over_codeword_distances_are_those_of_the_matrix(n, is_ternary, seed):
    codebook = random_codebook(n, seed=seed, is_ternary=is_ternary)
    d, moments = codebook.row_distances(), codeword_moments(codebook.matrix)
    assert moments.total == pytest.approx(d.sum())
    assert moments.sum_of_squares == pytest.approx((d**2).sum())
    assert moments.sum_of_squared_row_sums == pytest.approx((d.sum(axis=1) ** 2).sum())


def test_a_trellis_of_many_classes_is_scored_without_a_matrix_of_all_pairs():
    codebook, tree = trellis_codebook(7_000), random_tree(7_000)
    problem = AssignmentProblem.of(codebook, tree)
    rng = np.random.default_rng(0)
    random_z = [problem.score_and_z(Assignment(rng.permutation(7_000)))[1] for _ in range(10)]
    assert np.abs(random_z).max() < 5
    in_order = np.empty(7_000, dtype=int)
    in_order[tree.class_order()] = np.arange(7_000)
    assert problem.score_and_z(Assignment(in_order))[1] > 50


def test_the_bound_is_the_loss_of_least_squares_where_there_is_no_penalty():
    rng = np.random.default_rng(0)
    class_index = rng.integers(0, 5, 200)
    X = rng.normal(size=(5, 4))[class_index] + rng.normal(size=(200, 4))
    codebook, assignment = random_codebook(5), Assignment([3, 1, 4, 0, 2])
    design = np.column_stack([np.ones(200), X])
    bits = codebook.coding_matrix(assignment)[class_index].astype(float)
    residuals = bits - design @ np.linalg.lstsq(design, bits, rcond=None)[0]
    learnability = learnability_distances(X, class_index, ridge=0.0)
    assert binary_loss_bound(codebook, assignment, learnability) == pytest.approx(np.mean(residuals**2), abs=1e-10)
    penalised = learnability_distances(X, class_index, ridge=1.0)
    assert binary_loss_bound(codebook, assignment, penalised) > np.mean(residuals**2)


def test_bits_that_ignore_classes_have_no_such_bound():
    with pytest.raises(ValueError, match="zeros"):
        binary_loss_bound(random_codebook(5, is_ternary=True), Assignment.identity(5), np.zeros((5, 5)))


def test_classes_without_a_codeword_are_refused():
    with pytest.raises(ValueError, match="Got 3 codewords for 4 classes"):
        class_codeword_score(random_codebook(3), Assignment.identity(3), random_distances(4))


def test_an_assignment_for_other_classes_is_refused():
    with pytest.raises(ValueError, match="for 3 classes, the class distances are for 4"):
        class_codeword_score(random_codebook(5), Assignment.identity(3), random_distances(4))
