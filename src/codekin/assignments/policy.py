"""Which search to use, depending on the number of codewords, the codebook and the form of the class distances."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from codekin._system.names import suggestion
from codekin._system.workers import with_workers
from codekin.assignments._solver import PATH_LENGTHS, TREE, VECTORS, SearchTask, Solver, has_dense_vectors
from codekin.assignments.annealing import annealing_search
from codekin.assignments.budget import Budget, seed_of
from codekin.assignments.dense import evaluated, is_blind, on_matrices
from codekin.assignments.exhaustive import FEW_CODEWORDS, MAX_CODEWORDS, exhaustive_search
from codekin.assignments.frank_wolfe import frank_wolfe_search
from codekin.assignments.given import solve_at_random, solve_by_identity
from codekin.assignments.greedy import solve_greedily
from codekin.assignments.optimal import END_IN_SIGHT, branch_and_bound
from codekin.assignments.orders import solve_by_spectral_order, solve_by_tree_order
from codekin.assignments.portfolio import default_restarts, portfolio_search
from codekin.assignments.result import SENSES, AssignmentResult, ProgressCallback, Sense
from codekin.assignments.scores import AssignmentProblem, score_and_z
from codekin.assignments.steepest_descent import descent_search
from codekin.assignments.swap_runs import by_swaps
from codekin.assignments.tabu import tabu_search
from codekin.assignments.tree_problem import TreeProblem
from codekin.assignments.trees import anneal_tree, deal
from codekin.assignments.umeyama import umeyama_search
from codekin.assignments.vectors import VectorProblem, anneal_vectors
from codekin.classes import ClassDistances, ClassTree, as_class_distances
from codekin.classes.partial import PartialDistances
from codekin.classes.tree_distances import TreeDistances
from codekin.coding import Assignment, Codebook
from codekin.coding.codebook import MAX_DENSE_CODEWORDS

ASSIGNMENTS: Mapping[str, Solver] = {
    "random": Solver(solve_at_random, is_informed=False),
    "identity": Solver(solve_by_identity, is_informed=False, is_random=False),
    "exhaustive": on_matrices(exhaustive_search, needs=(FEW_CODEWORDS,), is_random=False),
    "optimal": on_matrices(branch_and_bound, needs=(END_IN_SIGHT,)),
    "steepest_descent": on_matrices(descent_search, n_restarts=10),
    "tabu": on_matrices(tabu_search),
    "annealing": on_matrices(annealing_search),
    "portfolio": on_matrices(portfolio_search, n_restarts=default_restarts),
    "greedy": Solver(solve_greedily),
    "frank_wolfe": on_matrices(frank_wolfe_search),
    "umeyama": on_matrices(umeyama_search, is_random=False),
    "ordered": Solver(solve_by_tree_order, needs=(TREE,), is_random=False),
    "spectral": Solver(solve_by_spectral_order, is_random=False),
    "top_down": by_swaps(TreeProblem.of, deal, PATH_LENGTHS),
    "tree_swaps": by_swaps(TreeProblem.of, anneal_tree, PATH_LENGTHS),
    "vector_swaps": by_swaps(VectorProblem.of, anneal_vectors, VECTORS),
}
"""All methods by name; the searches themselves document their options."""

POLICIES: tuple[Sense, ...] = ("preserving", "breaking")
"""May be given instead of a method's name: the search is then chosen."""

MAX_SWAPPED_AS_MATRIX = 200
"""For more codewords, path lengths are searched as a tree instead of as a matrix."""


def assign(
    codebook: Codebook,
    class_distances: ClassDistances | ClassTree | ArrayLike,
    method: str = "preserving",
    *,
    sense: Sense | None = None,
    rng: np.random.Generator | int | None = None,
    time_limit: float | None = None,
    n_restarts: int | None = None,
    progress: ProgressCallback | None = None,
    n_threads: int | None = None,
    n_jobs: int | None = None,
    **options: Any,
) -> AssignmentResult:
    """Find a good assignment of codewords to classes.

    Parameters
    ----------
    codebook : Codebook
        The codewords, at least as many as classes. If there are more, the search chooses among them.
    class_distances : ClassDistances, ClassTree or array-like of shape (n_classes, n_classes)
        How far apart the classes are. Classes with unknown distances get the remaining codewords.
    method : str, default="preserving"
        ``"preserving"`` gives similar classes similar codewords, ``"breaking"`` dissimilar ones, by a search that suits
        codebook and distances; ``method`` of the result says which. The name of a method, such as ``"random"`` or
        ``"tabu"``, selects that one.
    sense : "preserving" or "breaking", optional
        What a method given by its name should look for; by default preserving.
    rng : numpy.random.Generator, int or None
        The source of randomness. The same seed gives the same assignment unless there is a time limit.
    time_limit : float, optional
        Seconds to search for. Compiling kernels, once after an installation, does not count.
    n_restarts : int, optional
        The number of starts; each method has its own default. A time limit is divided evenly among them.
    progress : callable, optional
        Called from time to time with an object that has ``method``, ``seconds``, ``n_evaluations`` and ``score``, the
        best so far.
    n_threads : int, optional
        The most starts that run at once; by default one per processor. Without a time limit the result does not depend
        on it.
    n_jobs : int, optional
        How many of joblib's workers share the restarts, -1 for one per processor; by default those of the enclosing
        ``joblib.parallel_config``, or threads of this process without one. Without a time limit the result does not
        depend on it.
    **options : dict
        Further options of the method: ``n_moves`` of "tabu", ``n_proposals`` of "annealing", "tree_swaps" and
        "vector_swaps", ``n_sweeps`` of "top_down", ``class_order`` of "vector_swaps", ``refine`` of "umeyama".

    Returns
    -------
    AssignmentResult

    Examples
    --------
    >>> from codekin.coding import Codebook
    >>> codebook = Codebook([[1, 1, 1], [1, 1, -1], [-1, -1, 1]])
    >>> class_distances = [[0, 3, 1], [3, 0, 2], [1, 2, 0]]
    >>> assign(codebook, class_distances).codeword_of_class
    array([1, 2, 0])
    >>> assign(codebook, class_distances, "breaking").codeword_of_class
    array([1, 0, 2])
    """
    distances = as_class_distances(class_distances)
    asked = method if method in POLICIES else sense or ""
    if method in POLICIES:
        policy: Sense = "preserving" if method == "preserving" else "breaking"
        if sense not in (None, policy):
            raise ValueError(f"The method {method!r} has its own sense. Got sense={sense!r} with it.")
        sense, method = policy, choose_method(codebook, distances)
    elif method not in ASSIGNMENTS:
        names = [*POLICIES, *ASSIGNMENTS]
        raise ValueError(
            f"The 'method' parameter must be one of {', '.join(names)}. Got {method!r}.{suggestion(method, names)}"
        )
    sense = sense or "preserving"
    if sense not in SENSES:
        raise ValueError(f"The 'sense' parameter must be 'preserving' or 'breaking'. Got {sense!r}.")
    solver = ASSIGNMENTS[method]
    known = distances.known if isinstance(distances, PartialDistances) and solver.is_informed else distances
    if n_restarts is None:
        n_restarts = solver.restarts(codebook.n_codewords)
    task = SearchTask(
        AssignmentProblem.of(codebook, known),
        sense,
        Budget(method, time_limit, n_restarts, progress, n_threads),
        seed_of(rng) if solver.is_random else 0,
    )
    solver.check(task, options)
    if solver.is_informed and is_blind(codebook):
        # Class k gets codeword k, for want of anything better.
        result = evaluated(task, Assignment.identity(known.n_classes, method), is_optimal=True)
    else:
        with with_workers(n_jobs):
            result = solver.solve(task, **options)
            if task.budget.is_spent:
                from codekin.kernels.compiling import WATCH

                if WATCH.ended_at > task.budget.started:  # compiling does not count
                    again = replace(task.budget, started=perf_counter())
                    result = solver.solve(replace(task, budget=again), **options)
    if not solver.is_random:
        result = replace(result, seed=None)
    if known is not distances:
        result = _completed(result, codebook, distances)
    return replace(result, assignment=replace(result.assignment, policy=asked))


def _completed(result: AssignmentResult, codebook: Codebook, distances: ClassDistances) -> AssignmentResult:
    """Give the remaining codewords, in order, to the classes with unknown distances."""
    assert isinstance(distances, PartialDistances)
    codeword_of_class = np.full(distances.n_classes, -1, dtype=np.intp)
    codeword_of_class[distances.classes] = result.codeword_of_class
    is_left = np.ones(codebook.n_codewords, dtype=bool)
    is_left[result.codeword_of_class] = False
    unknown = np.flatnonzero(codeword_of_class < 0)
    codeword_of_class[unknown] = np.flatnonzero(is_left)[: len(unknown)]
    assignment = Assignment(codeword_of_class, result.method)
    score, z = score_and_z(codebook, assignment, distances)
    return replace(result, assignment=assignment, score=score, z=z, bound=None)


def choose_method(codebook: Codebook, class_distances: ClassDistances | ClassTree | ArrayLike) -> str:
    """The method behind the names "preserving" and "breaking".

    The first of these that applies:

    1. a codebook whose rows were made for their classes: ``identity``;
    2. at most 10 codewords: ``exhaustive``, which is optimal;
    3. path lengths in a tree, and more than 200 codewords: ``tree_swaps``;
    4. at most 5,000 codewords: ``portfolio``;
    5. distances between vectors: ``vector_swaps``;
    6. class distances that have a tree: ``ordered``;
    7. otherwise ``spectral``.

    >>> from codekin.coding import Codebook
    >>> choose_method(Codebook([[1, 1], [1, -1]]), [[0, 1], [1, 0]])
    'exhaustive'
    """
    distances = as_class_distances(class_distances)
    if isinstance(distances, PartialDistances):
        distances = distances.known
    n_codewords = codebook.n_codewords
    if codebook.is_designed:
        return "identity"
    if n_codewords <= MAX_CODEWORDS:
        return "exhaustive"
    if isinstance(distances, TreeDistances) and n_codewords > MAX_SWAPPED_AS_MATRIX:
        return "tree_swaps"
    if n_codewords <= MAX_DENSE_CODEWORDS:
        return "portfolio"
    if has_dense_vectors(distances):
        return "vector_swaps"
    return "ordered" if distances.tree is not None else "spectral"
