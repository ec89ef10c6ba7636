"""Orders of classes and of codewords in which neighbours are similar."""

from __future__ import annotations

from typing import Any

import numpy as np

from codekin.assignments.result import Sense
from codekin.classes import ClassDistances
from codekin.classes.embedding import EmbeddingDistances
from codekin.classes.product import ProductDistances
from codekin.coding import Codebook, FloatArray, IntArray
from codekin.coding.codebook import MAX_DENSE_CODEWORDS

_MAX_DENSE_EIGENPROBLEM = 300
"""Up to this many rows all eigenvectors are computed; beyond, only the one that is needed."""
_MAX_DENSE_COVARIANCE = 2_000
"""Up to this many dimensions the covariance of vectors is computed; beyond, only products with it."""


def codeword_order(codebook: Codebook, n_classes: int, sense: Sense) -> IntArray:
    """``n_classes`` evenly spaced codewords in an order in which neighbours are similar or, to break, dissimilar."""
    n_codewords = codebook.n_codewords
    order = np.arange(n_codewords) if codebook.is_in_order else principal_order(codebook.indicators)
    chosen = order[np.arange(n_classes) * n_codewords // n_classes]
    return chosen if sense == "preserving" else chosen[bit_reversed(n_classes)]


def spectral_class_order(class_distances: ClassDistances) -> IntArray:
    """The classes in an order in which neighbours are similar."""
    n_classes = class_distances.n_classes
    if n_classes <= MAX_DENSE_CODEWORDS:
        return _fiedler_order(class_distances.matrix())
    if isinstance(class_distances, EmbeddingDistances):
        return principal_order(class_distances.vectors)
    if isinstance(class_distances, ProductDistances):
        return principal_order(class_distances.factors)
    if class_distances.tree is not None:
        return class_distances.tree.class_order()
    return _fiedler_order(class_distances.matrix())


def bit_reversed(n: int) -> IntArray:
    """``range(n)`` in bit-reversed order: neighbours are far apart, at every scale."""
    n_bits = max(int(n - 1).bit_length(), 1)
    numbers = np.arange(2**n_bits)
    reversed_numbers = np.zeros_like(numbers)
    for bit in range(n_bits):
        reversed_numbers |= ((numbers >> bit) & 1) << (n_bits - 1 - bit)
    return reversed_numbers[reversed_numbers < n]


def principal_order(vectors: Any) -> IntArray:
    """Ascending along the leading principal component of the rows of an array or a sparse matrix."""
    from scipy.linalg import eigh
    from scipy.sparse.linalg import LinearOperator, svds

    n, width = vectors.shape
    rows = vectors.astype(np.float64)
    mean = np.asarray(rows.mean(axis=0)).ravel()
    if width <= _MAX_DENSE_COVARIANCE:
        product = rows.T @ rows
        covariance = (product if isinstance(product, np.ndarray) else product.toarray()) - n * np.outer(mean, mean)
        _, directions = eigh(covariance, subset_by_index=[width - 1, width - 1])
        return _along(np.asarray(rows @ directions[:, 0]) - mean @ directions[:, 0])
    centred: Any = LinearOperator(
        (n, width),
        matvec=lambda x: rows @ x.ravel() - mean @ x.ravel(),
        rmatvec=lambda y: rows.T @ y.ravel() - mean * y.sum(),
        dtype=np.float64,
    )
    left, _, _ = svds(centred, k=1, v0=np.linspace(1.0, 2.0, min(n, width)))
    return _along(np.asarray(left)[:, 0])


def _fiedler_order(distances: FloatArray) -> IntArray:
    """Ascending along the eigenvector of the second smallest eigenvalue of the similarities' Laplacian."""
    from scipy.linalg import eigh

    n = len(distances)
    if n < 3:
        return np.arange(n)
    similarities = distances.max() - distances
    np.fill_diagonal(similarities, 0.0)
    degrees = similarities.sum(axis=1)
    if n > _MAX_DENSE_EIGENPROBLEM:
        return _along(_fiedler_vector(similarities, degrees))
    _, vectors = eigh(np.diag(degrees) - similarities, subset_by_index=[1, 1])
    return _along(vectors[:, 0])


def _fiedler_vector(similarities: FloatArray, degrees: FloatArray) -> FloatArray:
    """The Fiedler vector by Lanczos iterations; an order needs few digits."""
    from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

    n = len(degrees)
    # The negative Laplacian, with its constant eigenvector moved out of the way.
    operator: Any = LinearOperator(
        (n, n),
        matvec=lambda x: similarities @ x.ravel() - degrees * x.ravel() - 2 * degrees.max() * x.mean(),
        dtype=np.float64,
    )
    start = np.linspace(-1.0, 1.0, n)
    try:
        _, vectors = eigsh(operator, k=1, which="LA", v0=start, tol=1e-3, maxiter=50)
    except ArpackNoConvergence as failure:
        return np.real(failure.eigenvectors[:, 0]) if failure.eigenvectors.size else -degrees
    return np.asarray(vectors)[:, 0]


def _along(component: FloatArray) -> IntArray:
    """The order along a vector with arbitrary sign: the first entry of the largest size is made positive."""
    sign = np.sign(component[np.abs(component).argmax()])
    # Rounded, so that entries that should be equal stay in their given order.
    scale = np.abs(component).max(initial=1e-300)
    return np.argsort(np.round(sign * component / scale, 9), kind="stable")
