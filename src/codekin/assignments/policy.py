"""The table of all methods, the choice among them, and the functions that run them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from codekin._system.messages import suggestion
from codekin._system.parallel import with_workers
from codekin.assignments.budget import Budget, derived_seeds, seed_of
from codekin.assignments.direct import (
    frank_wolfe_search,
    solve_at_random,
    solve_by_identity,
    solve_by_spectral_order,
    solve_by_tree_order,
    solve_greedily,
    umeyama_search,
)
from codekin.assignments.exact import END_IN_SIGHT, FEW_CODEWORDS, MAX_CODEWORDS, branch_and_bound, exhaustive_search
from codekin.assignments.local import annealing_search, default_restarts, descent_search, portfolio_search, tabu_search
from codekin.assignments.quadratic import QuadraticProblem, QuadraticSolution
from codekin.assignments.result import POLICIES, AssignmentComparison, AssignmentResult, ProgressCallback, Sense
from codekin.assignments.scores import AssignmentProblem
from codekin.assignments.solver import (
    PATH_LENGTHS,
    TREE,
    VECTORS,
    SearchTask,
    Solver,
    evaluated,
    has_dense_vectors,
    on_matrices,
)
from codekin.assignments.swaps import TreeProblem, VectorProblem, anneal_tree, anneal_vectors, by_swaps, deal
from codekin.classes import ClassDistances, ClassTree, as_class_distances
from codekin.classes.interface import PartialDistances
from codekin.classes.tree_distances import TreeDistances
from codekin.code import Assignment, Codebook
from codekin.code.geometry import MAX_DENSE_CODEWORDS

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
    >>> from codekin.code import Codebook
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
    if sense not in POLICIES:
        raise ValueError(f"The 'sense' parameter must be 'preserving' or 'breaking'. Got {sense!r}.")
    solver = ASSIGNMENTS[method]
    known = distances.known if isinstance(distances, PartialDistances) and solver.is_informed else distances
    budget = Budget(method, time_limit, solver.restarts(codebook.n_codewords, n_restarts), progress, n_threads)
    problem = AssignmentProblem.of(codebook, known)
    task = SearchTask(problem, sense, budget, seed_of(rng) if solver.is_random else 0)
    solver.check(task, options)
    if solver.is_informed and codebook._has_equal_assignments():
        # All assignments are equally good: class k gets codeword k.
        result = evaluated(task, Assignment.identity(known.n_classes, method), is_optimal=True)
    else:
        with with_workers(n_jobs):
            result = solver.solve(task, **options)
            if task.budget.is_spent:
                from codekin.kernels.calling import compiled_until

                if compiled_until() > task.budget.started:  # compiling does not count
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
    unknown = np.flatnonzero(codeword_of_class < 0)
    free = np.setdiff1d(np.arange(codebook.n_codewords), result.codeword_of_class)
    codeword_of_class[unknown] = free[: len(unknown)]
    assignment = Assignment(codeword_of_class, result.method)
    score, z = AssignmentProblem.of(codebook, distances).score_and_z(assignment)
    return replace(result, assignment=assignment, score=score, z=z, bound=None)


def choose_method(codebook: Codebook, class_distances: ClassDistances | ClassTree | ArrayLike) -> str:
    """The method behind the names "preserving" and "breaking": the first that applies.

    >>> from codekin.code import Codebook
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
    return "ordered" if distances.tree else "spectral"


SEARCHES = {name: solver.on_matrices for name, solver in ASSIGNMENTS.items() if solver.on_matrices is not None}
"""The methods that need only matrices."""


def quadratic_assignment(
    A: ArrayLike,
    B: ArrayLike,
    method: str = "portfolio",
    *,
    maximize: bool = False,
    rng: np.random.Generator | int | None = None,
    time_limit: float | None = None,
    n_restarts: int | None = None,
    progress: ProgressCallback | None = None,
    n_threads: int | None = None,
) -> QuadraticSolution:
    r"""Minimise :math:`\sum_{uv} A_{uv} B_{p(u)p(v)}` over permutations :math:`p`.

    The problem behind assignments, for any matrices; they need not be symmetric.

    Parameters
    ----------
    A, B : array-like of shape (n, n)
        The matrices.
    method : str, default="portfolio"
        One of "exhaustive" (n at most 10), "optimal", "steepest_descent", "tabu", "annealing", "portfolio",
        "frank_wolfe" and "umeyama".
    maximize : bool, default=False
        Look for the highest sum.
    rng : numpy.random.Generator, int or None
        The source of randomness.
    time_limit : float, optional
        Seconds to search for.
    n_restarts : int, optional
        The number of starts; each method has its own default.
    progress : callable, optional
        Called from time to time with an object that has ``method``, ``seconds``, ``n_evaluations`` and ``score``, the
        best objective so far.
    n_threads : int, optional
        How many searches run at once.

    Returns
    -------
    QuadraticSolution
        With ``order[u] = p(u)``, the objective, and a bound if there is one.

    Examples
    --------
    >>> solution = quadratic_assignment([[0, 3, 1], [3, 0, 2], [1, 2, 0]], [[0, 1, 2], [1, 0, 3], [2, 3, 0]], rng=0)
    >>> solution.order, solution.objective
    (array([1, 0, 2]), 20.0)
    """
    if method not in SEARCHES:
        raise ValueError(f"The 'method' parameter must be one of {', '.join(SEARCHES)}. Got {method!r}.")
    problem = QuadraticProblem.of(A, B)
    if method == "exhaustive" and problem.n > MAX_CODEWORDS:
        raise ValueError(f"All permutations are enumerated for n of at most {MAX_CODEWORDS}. Got {problem.n}.")
    sign = -1.0 if maximize else 1.0
    if maximize:
        problem = replace(problem, a=-problem.a)
    n_restarts = ASSIGNMENTS[method].restarts(problem.n, n_restarts)
    budget = Budget(method, time_limit, n_restarts, progress, n_threads, lambda objective: sign * objective)
    found = SEARCHES[method](problem, budget, seed_of(rng))
    bound, history = None if found.bound is None else sign * found.bound, found.history * np.array([1.0, sign])
    return replace(found, objective=sign * found.objective, bound=bound, history=history)


def compare_assignments(
    codebook: Codebook,
    class_distances: ClassDistances | ClassTree | ArrayLike,
    methods: Sequence[str] = ("random", "greedy", "steepest_descent", "portfolio"),
    *,
    sense: Sense = "preserving",
    rng: np.random.Generator | int | None = None,
    time_limit: float | None = None,
    options: Mapping[str, Mapping[str, Any]] | None = None,
) -> AssignmentComparison:
    """Run several methods on one problem.

    Parameters
    ----------
    codebook : Codebook
        The codewords.
    class_distances : ClassDistances, ClassTree or array-like of shape (n_classes, n_classes)
        How far apart the classes are.
    methods : sequence of str
        Names in ``ASSIGNMENTS``, or "preserving" or "breaking" for the method that would be chosen.
    sense : "preserving" or "breaking", default="preserving"
        What the methods look for.
    rng : numpy.random.Generator, int or None
        The source of randomness; every method gets its own seed, which does not depend on the other methods.
    time_limit : float, optional
        Seconds for each method.
    options : mapping, optional
        Further options by the name of the method.

    Returns
    -------
    AssignmentComparison

    Examples
    --------
    >>> from codekin.code import Codebook
    >>> codebook = Codebook([[1, 1, 1], [1, 1, -1], [-1, -1, 1]])
    >>> table = compare_assignments(codebook, [[0, 3, 1], [3, 0, 2], [1, 2, 0]], ["identity", "exhaustive"])
    >>> [(row["method"], round(row["score"], 3)) for row in table.rows()]
    [('identity', 0.655), ('exhaustive', 0.0)]
    """
    distances = as_class_distances(class_distances)
    names = [*POLICIES, *ASSIGNMENTS]
    seeds = dict(zip(names, derived_seeds(seed_of(rng), len(names)), strict=True))
    results = []
    for method in methods:
        if method not in names:
            raise ValueError(f"A method to compare must be one of {', '.join(names)}. Got {method!r}.")
        given: Any = {"sense": None if method in POLICIES else sense, "rng": seeds[method], "time_limit": time_limit}
        results.append(assign(codebook, distances, method, **given, **(options or {}).get(method, {})))
    return AssignmentComparison(tuple(results))
