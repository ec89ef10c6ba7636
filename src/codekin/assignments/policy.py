"""Which search to use: by the number of codewords, by the codebook, and by the form in which distances are known."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from codekin.assignments.annealing import annealing
from codekin.assignments.exhaustive import MAX_CODEWORDS, exhaustive
from codekin.assignments.frank_wolfe import frank_wolfe
from codekin.assignments.given import identity, random
from codekin.assignments.greedy import greedy
from codekin.assignments.optimal import optimal
from codekin.assignments.orders import ordered, spectral
from codekin.assignments.portfolio import portfolio
from codekin.assignments.result import AssignmentResult, ProgressCallback, Sense
from codekin.assignments.scores import AssignmentProblem
from codekin.assignments.steepest_descent import steepest_descent
from codekin.assignments.tabu import tabu
from codekin.assignments.trees import top_down, tree_swaps
from codekin.assignments.vectors import has_dense_vectors, vector_swaps
from codekin.class_trees import ClassTree
from codekin.coding import MAX_DENSE_CODEWORDS, Assignment, Codebook
from codekin.distances import ClassDistances, PartialDistances, TreeDistances, as_class_distances
from codekin.workers import with_workers

ASSIGNMENTS: Mapping[str, Callable[..., AssignmentResult]] = {
    "random": random,
    "identity": identity,
    "exhaustive": exhaustive,
    "optimal": optimal,
    "steepest_descent": steepest_descent,
    "tabu": tabu,
    "annealing": annealing,
    "portfolio": portfolio,
    "greedy": greedy,
    "frank_wolfe": frank_wolfe,
    "ordered": ordered,
    "spectral": spectral,
    "top_down": top_down,
    "tree_swaps": tree_swaps,
    "vector_swaps": vector_swaps,
}
"""All methods by name."""

_UNINFORMED = {"random", "identity"}

POLICIES: tuple[Sense, ...] = ("preserving", "breaking")
"""What may stand in the place of a method's name: the search is then chosen."""

MAX_SWAPPED_AS_MATRIX = 200
"""For more codewords than this, path lengths are searched as a tree and not as a matrix."""


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
    n_jobs: int | None = None,
    **options: Any,
) -> AssignmentResult:
    """Find out which class should get which codeword.

    Parameters
    ----------
    codebook : Codebook
        The codewords, at least as many as there are classes. Where there are more, the search chooses among them.
    class_distances : ClassDistances, ClassTree or array-like of shape (n_classes, n_classes)
        How far apart the classes are. Classes whose distances are not known get what codewords are left over.
    method : str, default="preserving"
        ``"preserving"`` gives similar classes similar codewords, ``"breaking"`` dissimilar ones, by the search that
        :func:`choose_method` chooses. The name of a method, such as ``"random"`` or ``"tabu"``, uses that one.
    sense : "preserving" or "breaking", optional
        Which of the two a method that is given by its name is to look for; preserving when left out.
    rng : numpy.random.Generator, int or None
        The source of randomness. The same one gives the same assignment unless there is a time limit.
    time_limit : float, optional
        Seconds to search for.
    n_restarts : int, optional
        How many times to start; each method has its own default.
    progress : callable, optional
        Called with a :class:`SearchProgress` from time to time.
    n_jobs : int, optional
        How many of joblib's workers share the restarts, -1 for as many as there are processors; by default those of a
        block of ``joblib.parallel_config``, and without one none, so that threads of this process do. Without a time
        limit the result does not depend on it.
    **options : dict
        Further options of the method.

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
    if method in POLICIES:
        policy: Sense = "preserving" if method == "preserving" else "breaking"
        if sense not in (None, policy):
            raise ValueError(f"The method {method!r} has a sense of its own. Got sense={sense!r} beside it.")
        sense, method = policy, choose_method(codebook, distances)
    elif method not in ASSIGNMENTS:
        names = ", ".join([*POLICIES, *ASSIGNMENTS])
        raise ValueError(f"The 'method' parameter must be one of {names}. Got {method!r}.")
    if n_restarts is not None:
        options["n_restarts"] = n_restarts
    known = distances.known if isinstance(distances, PartialDistances) and method not in _UNINFORMED else distances
    with with_workers(n_jobs):
        result = ASSIGNMENTS[method](
            codebook,
            known,
            sense=sense or "preserving",
            rng=rng,
            time_limit=time_limit,
            progress=progress,
            **options,
        )
    return result if known is distances else _completed(result, codebook, distances)


def _completed(result: AssignmentResult, codebook: Codebook, distances: ClassDistances) -> AssignmentResult:
    """The codewords that known classes left over go to the others, of which nothing is known, in their order."""
    assert isinstance(distances, PartialDistances)
    codeword_of_class = np.full(distances.n_classes, -1, dtype=np.intp)
    codeword_of_class[distances.classes] = result.codeword_of_class
    is_left = np.ones(codebook.n_codewords, dtype=bool)
    is_left[result.codeword_of_class] = False
    unknown = np.flatnonzero(codeword_of_class < 0)
    codeword_of_class[unknown] = np.flatnonzero(is_left)[: len(unknown)]
    assignment = Assignment(codeword_of_class, result.method)
    score, z = AssignmentProblem.of(codebook, distances).score_and_z(assignment)
    return replace(result, assignment=assignment, score=score, z=z, bound=None)


def choose_method(codebook: Codebook, class_distances: ClassDistances | ClassTree | ArrayLike) -> str:
    """The method behind the names "preserving" and "breaking".

    The first of these that applies:

    1. a codebook whose rows were made for their classes stays as it is: ``identity``;
    2. at most 10 codewords: ``exhaustive``, which is optimal;
    3. path lengths in a tree, and more than 200 codewords: ``tree_swaps``;
    4. at most 5,000 codewords: ``portfolio``;
    5. distances between vectors: ``vector_swaps``;
    6. class distances that have a tree: ``ordered``;
    7. otherwise ``spectral``.

    Parameters
    ----------
    codebook : Codebook
        The codewords.
    class_distances : ClassDistances, ClassTree or array-like of shape (n_classes, n_classes)
        How far apart the classes are.

    Returns
    -------
    str
        A name in ``ASSIGNMENTS``.

    Examples
    --------
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
