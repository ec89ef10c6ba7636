"""A search for assignments to classes that are given as vectors, for any number of them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from codekin.assignments._solver import check_at_least_1
from codekin.assignments.scores import AssignmentProblem
from codekin.assignments.seriation import principal_order
from codekin.assignments.swap_runs import Propose, Schedule, SwapRun
from codekin.classes.embedding import EmbeddingDistances
from codekin.classes.product import ProductDistances
from codekin.coding import FloatArray, IntArray
from codekin.coding.geometry import codeword_vectors

_PATH_SCHEDULE = Schedule(0.2, 0.01, proposals_per_class=2_000, min_proposals=1_000_000, max_proposals=50_000_000)
_CLASSES_PER_SWAP = 2
"""Products are computed again after one swap per this many classes."""


@dataclass(frozen=True, eq=False)
class VectorProblem:
    """A codebook and vectors of classes, in the form for :mod:`codekin.kernels.vector_swaps`.

    Euclidean distances, which are not a sum over bits, are replaced by their squares.
    """

    problem: AssignmentProblem
    class_order: IntArray
    vectors: NDArray[np.float32]
    weight: FloatArray
    points: NDArray[np.float32]
    offset: FloatArray
    linear: FloatArray
    spread: float
    scale: float

    @classmethod
    def of(cls, problem: AssignmentProblem, *, class_order: ArrayLike | None = None) -> VectorProblem:
        """The arrays of a problem; the search starts with the codewords matched to the given order of the classes."""
        distances = problem.class_distances
        if isinstance(distances, EmbeddingDistances):
            if not distances.squared:
                problem = replace(problem, class_distances=EmbeddingDistances(distances.vectors, squared=True))
            points = distances.vectors - distances.vectors.mean(axis=0)
            offset, scale = np.einsum("ij,ij->i", points, points), 1.0
        else:
            assert isinstance(distances, ProductDistances)
            points = distances.factors
            offset, scale = np.zeros(len(points)), 0.5
        row_sums, mean = problem.class_distances.row_sums(), problem.mean_class_distance
        vectors, weight = codeword_vectors(problem.codebook.indicators)
        # Remove the product of each class with itself: |vector|^2 is twice its weight.
        own = 2 * offset - 2 * scale * np.einsum("ij,ij->i", points, points)
        order = principal_order(points) if class_order is None else _checked_order(class_order, len(points))
        return cls(
            problem=problem,
            class_order=order,
            vectors=vectors,
            weight=weight,
            points=np.ascontiguousarray(points[order], dtype=np.float32),
            offset=offset[order],
            linear=(row_sums - mean * len(points) + own)[order],
            spread=mean / 2,
            scale=scale,
        )

    @property
    def edges(self) -> IntArray | None:
        """The edges of the paths, if codewords are sums of edges and every path is used: only swaps are possible."""
        codebook = self.problem.codebook
        return codebook.path_edges if codebook.n_codewords == self.problem.n_classes else None


def _checked_order(class_order: ArrayLike, n_classes: int) -> IntArray:
    class_order = np.asarray(class_order)
    if not np.array_equal(np.sort(class_order, axis=None), np.arange(n_classes)):
        raise ValueError(f"'class_order' must have each of the {n_classes} classes once. Got {class_order!r}.")
    return class_order.astype(np.intp)


def anneal_vectors(arrays: VectorProblem, run: SwapRun, deadline: float, *, n_proposals: int | None = None) -> None:
    """Simulated annealing on swaps of codewords, from an order of the classes, on distances between vectors.

    Scores depend on a sum over bits of squared sums of vectors, so a swap takes as many products of vectors as there
    are different bits in the two codewords, for any number of classes. This is how learnability is optimised for very
    many classes. Two paths of a trellis differ in few bits, and most proposals are rejected after a few additions.

    ``n_proposals`` is how many swaps to propose: by default as many as the time limit allows, or without one 500 per
    class or three million, whichever is more; on a trellis 2,000 per class, at least one million and at most fifty
    million. The search starts from ``class_order``, all classes in an order in which neighbours are similar, such as
    that of a taxonomy; by default the order along the leading principal component of the vectors.
    """
    check_at_least_1(n_proposals=n_proposals)
    edges = arrays.edges
    if edges is None:
        run.anneal(_proposals_of_codewords(arrays, run), n_proposals=n_proposals, deadline=deadline)
    else:
        run.anneal(
            _proposals_of_paths(arrays, run, edges), n_proposals=n_proposals, deadline=deadline, schedule=_PATH_SCHEDULE
        )


def _proposals_of_codewords(arrays: VectorProblem, run: SwapRun) -> Propose:
    from codekin.kernels.vector_swaps import anneal_vector_swaps

    used = arrays.vectors[run.codeword_of_rank]
    bit_sums = np.ascontiguousarray(used.T @ arrays.points)
    totals = used.sum(axis=0, dtype=np.float64)
    offset_totals = arrays.offset @ used
    classes = arrays.points, arrays.offset, arrays.linear, arrays.spread, arrays.scale
    changing = bit_sums, totals, offset_totals, run.codeword_of_rank, run.class_of_codeword()

    def propose(temperature: float, factor: float, n_proposals: int, sampled: FloatArray) -> float:
        cooling = temperature, factor, n_proposals, sampled, run.state
        return float(anneal_vector_swaps(arrays.vectors, arrays.weight, *classes, *changing, run.sign, *cooling))

    return propose


def _proposals_of_paths(arrays: VectorProblem, run: SwapRun, edges: IntArray) -> Propose:
    from codekin.kernels.path_swaps import anneal_path_swaps

    points, squares = arrays.points, np.einsum("ij,ij->i", arrays.points, arrays.points, dtype=np.float64)
    edge_sums = np.ascontiguousarray(arrays.vectors[run.codeword_of_rank].T @ points)
    # The part of the alignment from offsets, -<T, S>, is a sum over classes and their paths: all codewords are in use.
    height = -(arrays.vectors @ arrays.vectors.sum(axis=0, dtype=np.float64))
    products = points @ edge_sums.T
    given = edges, points, squares, arrays.offset, height, arrays.scale
    changing = edge_sums, products, run.codeword_of_rank, run.class_of_codeword()
    most_swaps = max(len(points) // _CLASSES_PER_SWAP, 1)
    swaps_left = most_swaps

    def propose(temperature: float, factor: float, n_proposals: int, sampled: FloatArray) -> float:
        nonlocal swaps_left
        change, n_left = 0.0, n_proposals
        while n_left > 0:
            if swaps_left <= 0:
                np.matmul(points, edge_sums.T, out=products)
                swaps_left = most_swaps
            cooling = temperature, factor, n_left, swaps_left, sampled, run.state
            gained, n_proposed, n_swaps = anneal_path_swaps(*given, *changing, run.sign, *cooling)
            change += gained
            n_left -= n_proposed
            swaps_left -= n_swaps
            temperature *= factor**n_proposed
        return change

    return propose
