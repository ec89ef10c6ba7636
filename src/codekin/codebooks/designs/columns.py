"""What the designs share: similarities of classes, and columns and rows that are repaired where they are equal."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from codekin.classes import ClassDistances, DenseDistances, as_class_distances
from codekin.code import CodingMatrix, FloatArray
from codekin.codebooks.classic import check_parameter


def distance_matrix(class_distances: ClassDistances | ArrayLike, n_codewords: int) -> FloatArray:
    """The class distances as a checked matrix, (n_codewords, n_codewords), shifted if some are negative.

    Designs depend only on which classes are nearer than which, and a shift keeps that.
    """
    if isinstance(class_distances, ClassDistances):
        matrix = as_class_distances(class_distances).matrix()
    else:
        matrix = DenseDistances(class_distances, signed=True).matrix()
    if len(matrix) != n_codewords:
        raise ValueError(f"Distances between {n_codewords} classes are needed. Got those of {len(matrix)} classes.")
    between = ~np.eye(n_codewords, dtype=bool)
    shifted = matrix - min(0.0, float(matrix[between].min()))
    return np.where(between, shifted, 0.0)


def class_similarities(
    codebook: str, class_distances: ClassDistances | ArrayLike, n_codewords: int, bandwidth: float
) -> FloatArray:
    r"""How alike classes are: :math:`\exp(-\tfrac12 (A_{uv} / (b \bar A))^2)`, :math:`\bar A` the mean distance."""
    check_parameter(codebook, "bandwidth", bandwidth, bandwidth > 0, "greater than 0")
    distances = distance_matrix(class_distances, n_codewords)
    mean = distances.sum() / (n_codewords * (n_codewords - 1))
    if mean == 0:
        raise ValueError("All class distances are 0, so no cut is better than another. Use another class distance.")
    return np.asarray(np.exp(-((distances / (bandwidth * mean)) ** 2) / 2))


def column_key(column: NDArray[Any]) -> bytes:
    """The same bytes for a column and its complement."""
    return min(column.tobytes(), (-column).tobytes())


def are_columns_useful(matrix: NDArray[Any]) -> bool:
    """Whether no column of -1 and +1 is constant, equal to another one or its complement."""
    n_codewords = len(matrix)
    columns = np.column_stack([np.ones(n_codewords), matrix])
    products = np.abs(columns.T @ columns)
    np.fill_diagonal(products, 0)
    return bool(products.max() < n_codewords)


def are_rows_distinct(matrix: NDArray[Any]) -> bool:
    """Whether no two codewords are equal."""
    return len({row.tobytes() for row in matrix}) == len(matrix)


def useful_signs(values: FloatArray) -> CodingMatrix:
    """The signs of real entries, changed where these are smallest until columns are useful and rows distinct."""
    margins = np.abs(values)
    signs = with_useful_columns(np.where(values < 0, -1, 1).astype(np.int8), margins)
    return signs if are_rows_distinct(signs) else with_distinct_rows(signs, margins)


def with_useful_columns(matrix: CodingMatrix, margins: FloatArray) -> CodingMatrix:
    """Flip bits with the smallest margins in columns that are constant, or equal or complementary to an earlier one."""
    repaired = matrix.copy()
    taken = {np.ones(len(matrix), dtype=matrix.dtype).tobytes()}
    for bit, column in enumerate(matrix.T):
        for flips in chain([[]], _cheapest_subsets(margins[:, bit])):
            flipped = column.copy()
            flipped[flips] *= -1
            if (flipped * flipped[0]).tobytes() not in taken:
                break
        taken.add((flipped * flipped[0]).tobytes())
        repaired[:, bit] = flipped
    return repaired


def with_distinct_rows(matrix: CodingMatrix, margins: FloatArray) -> CodingMatrix:
    """Flip the bits with the smallest (non-negative) margins in rows that are equal to another one."""
    repaired = matrix.copy()
    n_bits = matrix.shape[1]
    taken = {row.tobytes() for row in matrix}
    settled: set[bytes] = set()
    # The row with the largest margins keeps its codeword.
    for row in np.argsort(-margins.min(axis=1), kind="stable"):
        codeword = matrix[row].tobytes()
        if codeword not in settled:
            settled.add(codeword)
            continue
        for flips in _cheapest_subsets(margins[row]):
            repaired[row] = matrix[row]
            repaired[row, flips] *= -1
            if repaired[row].tobytes() not in taken and are_columns_useful(repaired):
                taken.add(repaired[row].tobytes())
                break
        else:
            raise ValueError(
                f"With n_bits={n_bits} no codeword is left for class {row} that keeps columns distinct. Use more bits."
            )
    return repaired


def _cheapest_subsets(costs: FloatArray) -> Iterator[list[int]]:
    """All non-empty subsets of the indices, in the order of their total costs."""
    order = np.argsort(costs, kind="stable")
    # The successors of a subset, as positions in this order: the last position moved by one, or one more position.
    heap: list[tuple[float, tuple[int, ...]]] = [(float(costs[order[0]]), (0,))]
    while heap:
        total, positions = heapq.heappop(heap)
        yield [int(order[position]) for position in positions]
        following = positions[-1] + 1
        if following < len(order):
            added = float(costs[order[following]])
            heapq.heappush(heap, (total + added, (*positions, following)))
            moved = total + added - float(costs[order[positions[-1]]])
            heapq.heappush(heap, (moved, (*positions[:-1], following)))
