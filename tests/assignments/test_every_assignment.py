"""Laws that hold for every assignment of the table, including new ones."""

import numpy as np
import pytest
from tests.assignments.problems import random_codebook, random_distances, random_tree_distances

from codekin.assignments import ASSIGNMENTS, EquidistantCodebookWarning, assign, class_codeword_score, class_codeword_z
from codekin.assignments.solver import PATH_LENGTHS, TREE, VECTORS
from codekin.classes.vectors import EmbeddingDistances
from codekin.code import Codebook

NEEDS_A_TREE = {name for name, solver in ASSIGNMENTS.items() if {TREE, PATH_LENGTHS} & set(solver.needs)}
NEEDS_VECTORS = {name for name, solver in ASSIGNMENTS.items() if VECTORS in solver.needs}
NO_SEARCH = {name for name, solver in ASSIGNMENTS.items() if not solver.is_informed}
ORDERS = {"ordered", "spectral"}
SENSES = ["preserving", "breaking"]
SHORT = {
    "tabu": {"n_moves": 200},
    "annealing": {"n_proposals": 500},
    "tree_swaps": {"n_proposals": 2_000},
    "vector_swaps": {"n_proposals": 2_000},
}

methods = pytest.mark.parametrize("method", list(ASSIGNMENTS))
informed_methods = pytest.mark.parametrize("method", [name for name in ASSIGNMENTS if name not in NO_SEARCH])
searches = pytest.mark.parametrize("method", [name for name in ASSIGNMENTS if name not in NO_SEARCH | ORDERS])
senses = pytest.mark.parametrize("sense", SENSES)


def problem_for(method, n_classes, n_codewords=None, seed=0):
    codebook = random_codebook(n_codewords or n_classes, seed=seed)
    if method in NEEDS_VECTORS:
        return codebook, EmbeddingDistances(np.random.default_rng(seed).normal(size=(n_classes, 3)), squared=True)
    return codebook, (random_tree_distances if method in NEEDS_A_TREE else random_distances)(n_classes, seed)


def solve(method, codebook, distances, **options):
    return assign(codebook, distances, method, **(SHORT.get(method, {}) | options))


@methods
@senses
@pytest.mark.parametrize(("n_classes", "n_codewords"), [(1, 1), (1, 3), (2, 2), (3, 3), (5, 7), (7, 7), (9, 9)])
def test_the_result_is_an_assignment_with_its_own_score(method, sense, n_classes, n_codewords):
    codebook, distances = problem_for(method, n_classes, n_codewords)
    result = solve(method, codebook, distances, sense=sense, rng=0)
    assert result.codeword_of_class.shape == (n_classes,)
    assert len(set(result.codeword_of_class)) == n_classes
    assert result.codeword_of_class.max() < n_codewords
    assert result.score == pytest.approx(class_codeword_score(codebook, result.assignment, distances), abs=1e-12)
    assert result.z == pytest.approx(class_codeword_z(codebook, result.assignment, distances), abs=1e-12)
    assert (result.method, result.assignment.method, result.sense) == (method, method, sense)
    assert result.n_evaluations >= 1
    assert result.seconds >= 0


@methods
def test_an_option_that_a_method_does_not_have_is_refused_with_those_it_has(method):
    codebook, distances = problem_for(method, 6)
    options = ASSIGNMENTS[method].options
    known = f"Its options are {', '.join(options)}" if options else "It has none"
    with pytest.raises(TypeError, match=f"The method '{method}' has no option 'n_miracles'. {known}"):
        assign(codebook, distances, method, n_miracles=3)


@methods
def test_the_seed_of_a_result_is_none_where_chance_plays_no_part(method):
    codebook, distances = problem_for(method, 6)
    assert (solve(method, codebook, distances, rng=5).seed == 5) == ASSIGNMENTS[method].is_random


@methods
@senses
def test_the_same_seed_gives_the_same_assignment_and_so_does_the_seed_of_the_result(method, sense):
    codebook, distances = problem_for(method, 8, 9)
    first = solve(method, codebook, distances, sense=sense, rng=np.random.default_rng(7))
    second = solve(method, codebook, distances, sense=sense, rng=np.random.default_rng(7))
    np.testing.assert_array_equal(first.codeword_of_class, second.codeword_of_class)
    again = solve(method, codebook, distances, sense=sense, rng=first.seed)
    np.testing.assert_array_equal(first.codeword_of_class, again.codeword_of_class)
    np.testing.assert_array_equal(first.history, again.history)


@methods
def test_the_number_of_threads_changes_nothing(method):
    codebook, distances = problem_for(method, 9)
    results = [solve(method, codebook, distances, rng=3, n_restarts=3, n_threads=threads) for threads in (1, 2, 5)]
    for result in results[1:]:
        np.testing.assert_array_equal(result.codeword_of_class, results[0].codeword_of_class)
        np.testing.assert_array_equal(result.history, results[0].history)
        assert result.n_evaluations == results[0].n_evaluations


# Umeyama's matching is for distances that are nearly those of the codewords; for others it promises nothing.
@pytest.mark.parametrize("method", [name for name in ASSIGNMENTS if name not in NO_SEARCH | ORDERS | {"umeyama"}])
@pytest.mark.parametrize(("n_classes", "n_codewords"), [(9, 9), (6, 9)])
def test_preserving_is_below_and_breaking_above_the_mean_of_random_assignments(method, n_classes, n_codewords):
    for seed in range(3):
        codebook, distances = problem_for(method, n_classes, n_codewords, seed)
        preserving = solve(method, codebook, distances, sense="preserving", rng=0)
        breaking = solve(method, codebook, distances, sense="breaking", rng=0)
        assert preserving.z > breaking.z
        if method != "greedy":
            assert preserving.z > 0 > breaking.z


@methods
def test_history_ends_with_the_score_and_never_gets_worse(method):
    codebook, distances = problem_for(method, 9)
    for sense, sign in (("preserving", 1), ("breaking", -1)):
        result = solve(method, codebook, distances, sense=sense, rng=0, n_restarts=2)
        evaluations, scores = result.history.T
        assert (np.diff(evaluations) >= 0).all()
        assert (sign * np.diff(scores) <= 1e-9).all()
        assert scores[-1] == pytest.approx(result.score, abs=1e-7)
        assert evaluations[-1] <= result.n_evaluations


@methods
def test_progress_is_told(method):
    codebook, distances = problem_for(method, 9)
    told = []
    result = solve(method, codebook, distances, rng=0, progress=told.append)
    assert told
    assert {progress.method for progress in told} == {method}
    assert [progress.n_evaluations for progress in told] == sorted(progress.n_evaluations for progress in told)
    assert min(progress.score for progress in told) <= result.score + 1e-7


@methods
def test_a_time_limit_leaves_an_assignment(method):
    codebook, distances = problem_for(method, 9)
    result = assign(codebook, distances, method, rng=0, time_limit=0.05)
    assert len(set(result.codeword_of_class)) == 9


@informed_methods
def test_an_equidistant_codebook_is_not_searched_and_says_so(method):
    hadamard = np.array([[1]])
    for _ in range(3):
        hadamard = np.block([[hadamard, hadamard], [hadamard, -hadamard]])
    _, distances = problem_for(method, 8)
    with pytest.warns(EquidistantCodebookWarning, match="equally far apart"):
        result = solve(method, Codebook(hadamard[:, 1:]), distances, rng=0)
    np.testing.assert_array_equal(result.codeword_of_class, np.arange(8))
    assert result.z == 0.0


@informed_methods
def test_a_symmetric_codebook_needs_no_warning(method, recwarn):
    _, distances = problem_for(method, 6)
    result = solve(method, Codebook(2 * np.eye(6) - 1), distances, rng=0)
    assert not [warning for warning in recwarn if issubclass(warning.category, EquidistantCodebookWarning)]
    np.testing.assert_array_equal(result.codeword_of_class, np.arange(6))


@methods
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sense": "keeping"}, "'preserving' or 'breaking'. Got 'keeping'"),
        ({"time_limit": 0.0}, "'time_limit' parameter must be a number greater than 0. Got 0.0"),
        ({"n_restarts": 0}, "'n_restarts' parameter must be at least 1. Got 0"),
    ],
)
def test_what_makes_no_sense_is_refused(method, options, message):
    codebook, distances = problem_for(method, 6)
    with pytest.raises(ValueError, match=message):
        assign(codebook, distances, method, **options)


@pytest.mark.parametrize("method", sorted(NEEDS_A_TREE | NEEDS_VECTORS))
def test_class_distances_of_another_form_are_refused_where_one_is_needed(method):
    with pytest.raises(ValueError, match="vectors" if method in NEEDS_VECTORS else "tree"):
        assign(random_codebook(5), random_distances(5), method)
