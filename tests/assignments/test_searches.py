"""Each search by itself: optima against all assignments, certificates, and problems from the literature."""

from itertools import permutations
from math import factorial
from time import sleep

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit
from tests.assignments.problems import random_codebook, random_distances, random_tree_distances

from codekin.assignments import assign, class_codeword_score, quadratic_assignment
from codekin.assignments.exact import all_scores, nth_assignment
from codekin.assignments.solver import spectral_class_order
from codekin.classes import DenseDistances
from codekin.classes.vectors import EmbeddingDistances, ProductDistances
from codekin.code import Assignment, Codebook
from codekin.code.geometry import bit_reversed
from codekin.codebooks import trellis_codebook
from codekin.progress import subscribe

seeds = st.integers(0, 2**32 - 1)

# Nugent, Vollmann and Ruml (1968): twelve facilities on a grid of three by four. Its optimum is 578.
NUG12_FLOWS = """
    0 5 2 4 1 0 0 6 2 1 1 1
    5 0 3 0 2 2 2 0 4 5 0 0
    2 3 0 0 0 0 0 5 5 2 2 2
    4 0 0 0 5 2 2 10 0 0 5 5
    1 2 0 5 0 10 0 0 0 5 1 1
    0 2 0 2 10 0 5 1 1 5 4 0
    0 2 0 2 0 5 0 10 5 2 3 3
    6 0 5 10 0 1 10 0 0 0 5 0
    2 4 5 0 0 1 5 0 0 0 10 10
    1 5 2 0 5 5 2 0 0 0 5 0
    1 0 2 5 1 4 3 5 10 5 0 2
    1 0 2 5 1 0 3 0 10 0 2 0
"""


def nug12():
    rows, columns = np.divmod(np.arange(12), 4)
    distances = np.abs(rows[:, None] - rows) + np.abs(columns[:, None] - columns)
    return distances, np.array(NUG12_FLOWS.split(), dtype=int).reshape(12, 12)


@given(st.integers(1, 6), st.integers(0, 2), st.booleans(), st.sampled_from(["preserving", "breaking"]), seeds)
@settings(max_examples=40, deadline=None)
@pytest.mark.filterwarnings("ignore::codekin.assignments.EquidistantCodebookWarning")
def test_exhaustive_and_optimal_find_the_same_alignment(n_classes, n_spare, is_ternary, sense, seed):
    codebook = random_codebook(n_classes + n_spare, seed=seed, is_ternary=is_ternary)
    distances = random_distances(n_classes, seed=seed)
    tried = assign(codebook, distances, "exhaustive", sense=sense)
    proven = assign(codebook, distances, "optimal", sense=sense, rng=0)
    assert proven.z == pytest.approx(tried.z, abs=1e-6)
    assert tried.is_optimal
    assert proven.is_optimal


@pytest.mark.parametrize("n_codewords", [5, 6])
def test_all_scores_are_in_lexicographic_order_and_the_best_is_what_exhaustive_finds(n_codewords):
    codebook, distances = random_codebook(n_codewords), random_distances(5)
    scores = all_scores(codebook, distances)
    assert len(scores) == factorial(n_codewords) // factorial(n_codewords - 5)
    for rank, order in enumerate(permutations(range(n_codewords), 5)):
        if rank % 7 == 0:
            assert tuple(nth_assignment(rank, 5, n_codewords)) == order
            expected = class_codeword_score(codebook, Assignment(order), distances)
            assert scores[rank] == pytest.approx(expected, abs=1e-10)
    if n_codewords == 5:
        assert assign(codebook, distances, "exhaustive").score == pytest.approx(scores.min(), abs=1e-12)
        assert assign(codebook, distances, "exhaustive", sense="breaking").score == pytest.approx(
            scores.max(), abs=1e-12
        )
    np.testing.assert_allclose(all_scores(codebook, distances, squared=True), scores**2, atol=1e-12)


def test_more_than_ten_codewords_are_not_enumerated():
    with pytest.raises(ValueError, match="at most 10 codewords. Got 11"):
        assign(random_codebook(11), random_distances(11), "exhaustive")
    with pytest.raises(ValueError, match="at most 10. Got 12"):
        quadratic_assignment(*nug12(), method="exhaustive")


def test_a_rank_beyond_the_last_assignment_is_refused():
    with pytest.raises(ValueError, match="There are 6 assignments"):
        nth_assignment(6, 3, 3)


def test_branch_and_bound_proves_the_optimum_of_nug12():
    solution = quadratic_assignment(*nug12(), method="optimal", rng=0)
    assert solution.objective == solution.bound == 578
    assert solution.is_optimal


@pytest.mark.parametrize("method", ["tabu", "portfolio"])
def test_searches_reach_the_optimum_of_nug12(method):
    assert quadratic_assignment(*nug12(), method=method, rng=0).objective == 578


@pytest.mark.parametrize("n_codewords", [11, 13])
def test_branch_and_bound_proves_what_the_portfolio_finds(n_codewords):
    codebook, distances = random_codebook(n_codewords, 8), random_distances(n_codewords)
    proven = assign(codebook, distances, "optimal", rng=0)
    assert proven.is_optimal
    assert proven.bound == pytest.approx(proven.score, abs=1e-9)
    assert assign(codebook, distances, "portfolio", rng=0).score == pytest.approx(proven.score, abs=1e-9)


def test_a_proof_that_nobody_would_see_is_not_begun():
    with pytest.raises(ValueError, match=r"'optimal' needs a time limit for more than 20 codewords. Got 30 and none"):
        assign(random_codebook(30, 12), random_distances(30), "optimal")


def test_a_search_that_runs_out_of_time_returns_a_bound():
    codebook, distances = random_codebook(30, 12), random_distances(30)
    for sense, sign in (("preserving", 1), ("breaking", -1)):
        result = assign(codebook, distances, "optimal", sense=sense, rng=0, time_limit=1e-9)
        assert not result.is_optimal
        assert np.isfinite(result.bound)
        assert sign * result.bound <= sign * result.score
        assert result.gap == pytest.approx(abs(result.score - result.bound))


def test_the_search_for_a_start_of_a_proof_ends_with_the_time():
    n = 60
    result = assign(random_codebook(n, 12), random_distances(n), "optimal", rng=0, time_limit=1e-9)
    every_move = 10 * n**2 * (n * (n - 1) // 2)
    assert result.n_evaluations < every_move / 10


def test_a_search_that_had_to_compile_starts_over_with_all_of_its_time():
    codebook, distances = random_codebook(30, 12), random_distances(30)
    assign(codebook, distances, "annealing", rng=0, time_limit=1e-9)  # whose kernels are compiled now
    n_starts = []
    for compiles in (False, True):
        heard, left = [], [compiles]

        def progress(_, left=left):
            while left and left.pop():
                njit(lambda x: x + 1)(1)
            sleep(0.03)

        with subscribe(heard.append):
            options = {"rng": 0, "n_restarts": 1, "n_threads": 1, "time_limit": 0.02}
            assign(codebook, distances, "annealing", progress=progress, **options)
        n_starts.append(sum(told.count is None for told in heard if told.stage.startswith("searching")))
    assert n_starts == [1, 2]


@given(st.integers(2, 6), seeds, st.booleans())
@settings(max_examples=25, deadline=None)
def test_matrices_need_not_be_symmetric(n, seed, maximize):
    a, b = np.random.default_rng(seed).integers(-5, 6, (2, n, n))
    best = quadratic_assignment(a, b, "exhaustive", maximize=maximize)
    order = best.order
    assert best.objective == (a * b[np.ix_(order, order)]).sum()
    for method in ("optimal", "portfolio"):
        assert quadratic_assignment(a, b, method, maximize=maximize, rng=0).objective == best.objective


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        (np.zeros((2, 3)), np.zeros((2, 2)), "A must be a square matrix"),
        (np.zeros((2, 2)), np.full((2, 2), np.nan), "entries of B must be finite"),
        (np.zeros((2, 2)), np.zeros((3, 3)), "same shape"),
    ],
)
def test_matrices_are_checked(a, b, message):
    with pytest.raises(ValueError, match=message):
        quadratic_assignment(a, b)
    with pytest.raises(ValueError, match="must be one of"):
        quadratic_assignment(np.eye(3), np.eye(3), "guess")


def test_descent_ends_where_no_swap_helps():
    codebook, distances = random_codebook(8), random_distances(8)
    result = assign(codebook, distances, "steepest_descent", rng=0, n_restarts=1)
    order = result.codeword_of_class
    for u in range(8):
        for v in range(u):
            swapped = order.copy()
            swapped[[u, v]] = swapped[[v, u]]
            assert class_codeword_score(codebook, Assignment(swapped), distances) >= result.score - 1e-12


def test_more_restarts_are_not_worse():
    codebook, distances = random_codebook(20, 8), random_distances(20)
    for method in ("random", "steepest_descent", "greedy"):
        scores = [assign(codebook, distances, method, rng=5, n_restarts=n).score for n in (1, 5, 20)]
        assert scores == sorted(scores, reverse=True)


def test_searches_end_better_than_the_papers_descent():
    codebook, distances = random_codebook(40, 10), random_distances(40)
    descent = assign(codebook, distances, "steepest_descent", rng=0)
    assert assign(codebook, distances, "tabu", rng=0, n_moves=20_000).z > descent.z
    assert assign(codebook, distances, "annealing", rng=0, n_restarts=4).z > descent.z
    assert assign(codebook, distances, "portfolio", rng=0).z > descent.z


@pytest.mark.parametrize(("method", "option"), [("tabu", "n_moves"), ("annealing", "n_proposals")])
def test_a_search_of_no_moves_is_refused(method, option):
    with pytest.raises(ValueError, match=f"'{option}' parameter must be at least 1. Got 0"):
        assign(random_codebook(4), random_distances(4), method, **{option: 0})


def test_greedy_gives_the_most_similar_classes_the_most_similar_codewords():
    codebook, distances = random_codebook(12, 8, seed=3), random_distances(12, seed=3)
    d = codebook.row_distances()
    u, v = np.triu_indices(12, 1)
    closest = distances[u, v].argmin()
    order = assign(codebook, distances, "greedy", rng=0).codeword_of_class
    assert d[order[u[closest]], order[v[closest]]] == d[u, v].min()
    order = assign(codebook, distances, "greedy", sense="breaking", rng=0).codeword_of_class
    assert d[order[u[closest]], order[v[closest]]] == d[u, v].max()


def test_classes_in_depth_first_order_get_the_paths_of_a_trellis_in_order():
    distances = random_tree_distances(50)
    result = assign(trellis_codebook(50), distances, "ordered")
    np.testing.assert_array_equal(result.codeword_of_class[distances.tree.class_order()], np.arange(50))
    assert result.z > 5
    assert assign(trellis_codebook(50), distances, "ordered", sense="breaking").z < 0


def test_orders_beat_chance_and_can_be_reversed():
    points = np.random.default_rng(0).random(30)
    line = np.abs(points[:, None] - points)
    thermometer = Codebook(np.where(np.tri(30, 29, -1), 1, -1)[np.random.default_rng(1).permutation(30)])
    assert assign(thermometer, line, "spectral").z > 5
    assert assign(thermometer, line, "spectral", sense="breaking").z < 0


@pytest.mark.parametrize("make", [EmbeddingDistances, ProductDistances])
def test_vectors_of_many_classes_have_a_spectral_order(make):
    vectors = np.random.default_rng(0).normal(size=(5_100, 3)) * [5, 1, 1]
    result = assign(trellis_codebook(5_100), make(vectors), "spectral")
    rank_along = np.argsort(np.argsort(vectors[:, 0]))
    assert abs(np.corrcoef(rank_along, result.codeword_of_class)[0, 1]) > 0.98


def test_bit_reversal_is_a_permutation_that_parts_neighbours():
    for n in (1, 2, 3, 8, 11):
        assert sorted(bit_reversed(n)) == list(range(n))
    assert bit_reversed(8).tolist() == [0, 4, 2, 6, 1, 5, 3, 7]


def test_spare_codewords_are_left_out_evenly():
    assert trellis_codebook(12).similar_order(4).tolist() == [0, 3, 6, 9]


def test_tree_searches_improve_on_the_depth_first_order():
    distances = random_tree_distances(400)
    codebook = trellis_codebook(400)
    start = assign(codebook, distances, "ordered")
    annealed = assign(codebook, distances, "tree_swaps", rng=0, n_proposals=100_000)
    assert annealed.z > start.z
    assert assign(codebook, distances, "top_down", rng=0).z > 0
    assert annealed.z == pytest.approx(assign(codebook, distances, "portfolio", rng=0, n_restarts=1).z, rel=0.1)


def test_tree_searches_work_on_ternary_codewords_and_choose_among_spare_ones():
    distances = random_tree_distances(30)
    codebook = random_codebook(60, 8, is_ternary=True)
    found = assign(codebook, distances, "tree_swaps", rng=0, n_proposals=50_000)
    assert found.z > assign(codebook, distances, "ordered").z
    assert found.z == pytest.approx(assign(codebook, distances, "portfolio", rng=0).z, rel=0.15)


def test_large_problems_are_annealed_along_orders():
    codebook, vectors = trellis_codebook(600), np.random.default_rng(0).normal(size=(560, 2))
    distances = EmbeddingDistances(vectors)
    for sense, sign in (("preserving", 1), ("breaking", -1)):
        result = assign(codebook, distances, "annealing", sense=sense, rng=0, n_restarts=2, n_proposals=60_000)
        start = assign(codebook, distances, "spectral", sense=sense)
        assert sign * result.z > sign * start.z
        assert sign * (result.history[0, 1] - result.history[-1, 1]) > 0
        short = assign(codebook, distances, "annealing", sense=sense, rng=0, n_proposals=1)
        assert sign * short.z >= sign * start.z - 1e-6
    limited = assign(codebook, distances, "portfolio", rng=0, time_limit=0.2)
    assert limited.z >= assign(codebook, distances, "spectral").z - 1e-6


def test_the_spectral_order_of_many_classes_is_that_of_few():
    points = np.random.default_rng(0).random(700)
    order = spectral_class_order(DenseDistances(np.abs(points[:, None] - points)))
    assert abs(np.corrcoef(points[order], np.arange(700))[0, 1]) > 0.99


@pytest.mark.parametrize("squared", [True, False])
def test_vectors_are_searched_as_well_as_their_matrix(squared):
    distances = EmbeddingDistances(np.random.default_rng(0).normal(size=(120, 4)), squared=squared)
    codebook = trellis_codebook(120)
    found = assign(codebook, distances, "vector_swaps", rng=0, n_proposals=300_000)
    assert found.z > assign(codebook, distances, "spectral").z
    assert found.z == pytest.approx(assign(codebook, distances, "portfolio", rng=0).z, rel=0.1)


def test_learnability_is_searched_as_products():
    factors = np.random.default_rng(0).normal(size=(60, 5))
    found = assign(
        random_codebook(90, 8, is_ternary=True), ProductDistances(factors), "vector_swaps", rng=0, n_proposals=200_000
    )
    as_matrix = assign(random_codebook(90, 8, is_ternary=True), ProductDistances(factors), "portfolio", rng=0)
    assert found.z == pytest.approx(as_matrix.z, rel=0.1)


@pytest.mark.parametrize(("method", "option"), [("tree_swaps", "n_proposals"), ("top_down", "n_sweeps")])
def test_a_tree_search_of_no_steps_is_refused(method, option):
    with pytest.raises(ValueError, match=f"'{option}' parameter must be at least 1. Got 0"):
        assign(random_codebook(4), random_tree_distances(4), method, **{option: 0})


@pytest.mark.parametrize("name", ["nug12", "nug20", "had20", "chr12a", "nug30", "kra30a", "tho30"])
def test_the_portfolio_reaches_the_best_known_objectives_of_qaplib(name, shared_data):
    with np.load(shared_data("qaplib") / "qaplib.npz") as instances:
        a, b, best = (instances[f"{name}_{part}"] for part in ("A", "B", "best"))
    assert quadratic_assignment(a, b, rng=0).objective == best


def test_a_search_of_vectors_starts_from_a_given_order():
    points = np.random.default_rng(0).normal(size=(200, 6))
    distances, codebook = ProductDistances(points), trellis_codebook(200)
    best = assign(codebook, distances, "vector_swaps", rng=0, n_proposals=400_000)
    order = np.argsort(best.codeword_of_class)
    start = assign(codebook, distances, "vector_swaps", rng=1, n_proposals=1, class_order=order)
    assert start.z >= best.z - 1e-6
    for wrong in (order[:-1], np.zeros(200, int)):
        with pytest.raises(ValueError, match="'class_order' must have each of the 200 classes once"):
            assign(codebook, distances, "vector_swaps", class_order=wrong)


def test_paths_are_searched_the_same_by_any_number_of_threads():
    points = np.random.default_rng(0).normal(size=(150, 6))
    found = [
        assign(
            trellis_codebook(150),
            ProductDistances(points),
            "vector_swaps",
            rng=3,
            n_restarts=3,
            n_proposals=50_000,
            n_threads=n,
        )
        for n in (1, 3)
    ]
    np.testing.assert_array_equal(found[0].codeword_of_class, found[1].codeword_of_class)
    assert found[0].history[-1, 1] == found[0].score
