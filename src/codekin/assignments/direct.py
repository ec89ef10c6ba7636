"""Assignments without a search: codeword k for class k, random ones, matched orders, and LTLS's own.

Neighbours in a good order of the classes are similar, and so are neighbours in a good order of the codewords. Matching
the two orders preserves similarity with next to no computation. To break it, the codewords are taken in bit-reversed
order, which puts neighbouring classes far apart.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from codekin._system.memory import require_memory
from codekin._system.rows import SparseRows, blocks_of
from codekin.assignments.result import AssignmentResult
from codekin.assignments.solver import SearchTask, evaluated, spectral_class_order
from codekin.code import Assignment, Codebook, IntArray
from codekin.progress import report


def solve_by_identity(task: SearchTask) -> AssignmentResult:
    """Class ``k`` gets codeword ``k``: for codebooks whose rows were made for their classes."""
    return evaluated(task, Assignment.identity(task.problem.n_classes))


def solve_at_random(task: SearchTask) -> AssignmentResult:
    """An assignment drawn at random, or the best of several."""
    problem, budget = task.problem, task.budget
    generator = np.random.default_rng(task.seed)
    best: AssignmentResult | None = None
    history: list[tuple[int, float]] = []
    for drawn in range(1, budget.n_restarts + 1):
        order = generator.permutation(problem.n_codewords)[: problem.n_classes]
        result = evaluated(task, Assignment(order, "random"))
        if best is None or task.sign * result.z > task.sign * best.z:
            best = result
            history.append((drawn, result.score))
        if budget.is_spent:
            break
    assert best is not None
    return replace(
        best, seed=task.seed, n_evaluations=drawn, seconds=budget.seconds, history=np.array(history, dtype=np.float64)
    )


def solve_by_tree_order(task: SearchTask) -> AssignmentResult:
    """The paper's naive algorithm: the depth-first order of the class tree, matched to the order of the codewords.

    The paths of a trellis are numbered in depth-first order, so neighbouring codewords share most of their edges. The
    codewords of another codebook are taken in the order of their leading principal component.
    """
    tree = task.problem.class_distances.tree
    assert tree is not None
    return _laid_onto(task, tree.class_order())


def solve_by_spectral_order(task: SearchTask) -> AssignmentResult:
    """The classes in spectral order, matched to the order of the codewords: for distances without a tree.

    Spectral seriation (Atkins et al., 1998) orders the classes by the Fiedler vector of their similarities,
    ``max A - A``. For more than 5,000 classes given as vectors, their leading principal component is used instead;
    other distances of more than 5,000 classes must come from a tree, whose order is used.

    References
    ----------
    J. Atkins, E. Boman and B. Hendrickson, "A spectral algorithm for seriation and the consecutive ones problem",
    SIAM Journal on Computing 28, 1998.
    """
    return _laid_onto(task, spectral_class_order(task.problem.class_distances))


def _laid_onto(task: SearchTask, class_order: IntArray) -> AssignmentResult:
    problem = task.problem
    codeword_of_class = np.empty(problem.n_classes, dtype=np.intp)
    codeword_of_class[class_order] = problem.codebook.similar_order(
        problem.n_classes, breaking=task.sense == "breaking"
    )
    return evaluated(task, Assignment(codeword_of_class, task.budget.method))


def online_assignment(
    X: Any, class_index: IntArray, codebook: Codebook, *, n_classes: int, rng: np.random.Generator
) -> Assignment:
    """The paths of a trellis, given to classes in one pass over the samples in random order.

    The edges have linear weights, which start at zero and are learned meanwhile. The first sample of a class ranks the
    paths by the weights of their edges; the class gets the first of them that is free, if there is one among the best
    ``ceil(log2 K)``, and otherwise a random one. After every sample, if the path of its class is not ahead of the best
    other path by 1, its edges gain the sample and those of the other path lose it (the separation ranking loss).
    Classes without a sample get the remaining paths at random.

    The weights are dropped, and codekin's learners start from zero with the assignment; LTLS keeps them. In the
    authors' code, shortcuts to the sink count more than other edges; here they do not.

    References
    ----------
    K. Jasinska and N. Karampatziakis, "Log-time and Log-space Extreme Classification", arXiv:1611.01964, 2016.
    """
    from codekin.kernels.online_paths import assign_online

    if "online" not in codebook.orders:
        raise ValueError(
            f"The assignment 'online' needs the paths of a trellis. Got the {codebook.name} codebook; use "
            "codebook='trellis', or 'learnability', which suits any codebook."
        )
    trellis, n_features = codebook.trellis, int(X.shape[1])
    require_memory(
        4 * n_features * trellis.n_edges,
        f"Weights of {n_features:,} features x {trellis.n_edges:,} bits x 4 bytes",
        "Use another assignment, fewer bits or fewer features.",
    )
    fallback = rng.permutation(trellis.n_paths)
    weights = np.zeros((n_features, trellis.n_edges), dtype=np.float32)
    taken = np.zeros(trellis.n_paths, dtype=np.bool_)
    path_of_class = np.full(n_classes, -1, dtype=np.int64)
    graph = trellis.width, trellis.digits, trellis.edge_offsets, trellis.unrank(np.arange(trellis.n_paths))
    k = int(np.ceil(np.log2(trellis.n_paths)))
    for some, block in blocks_of(X):
        report("giving paths to classes online", some.start, X.shape[0], unit="samples")
        rows, classes = SparseRows.of(block), np.ascontiguousarray(class_index[some], dtype=np.int64)
        samples = rows.indptr, rows.indices, rows.values, classes, rng.permutation(len(classes))
        assign_online(*samples, *graph, fallback, k, weights, taken, path_of_class)
    unseen = np.flatnonzero(path_of_class < 0)
    path_of_class[unseen] = fallback[~taken[fallback]][: len(unseen)]
    return Assignment(path_of_class, method="online")
