"""What codebooks that are designed from class distances share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from codekin.classes import ClassDistances, DenseDistances, as_class_distances
from codekin.coding import FloatArray


def distance_matrix(class_distances: ClassDistances | ArrayLike, n_codewords: int) -> FloatArray:
    """The class distances as a checked matrix, (n_codewords, n_codewords), shifted where some are negative.

    A signed matrix, such as the learnability matrix, is as good as any: designs depend on which classes are nearer
    than which, and the shift leaves that alone.
    """
    if isinstance(class_distances, ClassDistances):
        matrix = as_class_distances(class_distances).matrix()
    else:
        matrix = DenseDistances(class_distances, signed=True).matrix()
    if len(matrix) != n_codewords:
        raise ValueError(f"Class distances are needed between {n_codewords} classes. Got {len(matrix)} classes.")
    between = ~np.eye(n_codewords, dtype=bool)
    shifted = matrix - min(0.0, float(matrix[between].min()))
    return np.where(between, shifted, 0.0)


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
