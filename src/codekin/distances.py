"""How far apart classes are, as values that can be summed against codewords without making a K x K matrix.

Three implementations share one interface: a matrix, path lengths in a tree, and Euclidean distances between vectors.
Whatever a search or a score needs of the class distances ``A`` follows from two operations on them, the row sums and
the quadratic form ``Q(M) = sum_uv A_uv <M_u, M_v>``. With ``r_u`` the number of non-zero bits of codeword ``M_u``, the
distance between two codewords is ``(r_u + r_v - <M_u, M_v> - <|M_u|, |M_v|>) / 2``, and so

    ``F = sum_uv A_uv D_uv = sum_u r_u sum_v A_uv - (Q(M) + Q(|M|)) / 2``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol, cast, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from codekin.class_trees import ClassTree
from codekin.coding import MAX_DENSE_CODEWORDS, CodingMatrix, FloatArray, IntArray

MAX_DENSE_CLASSES = MAX_DENSE_CODEWORDS
"""No matrix of all pairs of classes is made for more classes than this, unless somebody brings one."""

_BLOCK_ENTRIES = 4_000_000
"""How many distances are held at once where they are not all made."""


@dataclass(frozen=True)
class DistanceMoments:
    """The sums over all ordered pairs of classes that the spread of random assignments depends on.

    Parameters
    ----------
    total : float
        The sum of all distances.
    sum_of_squares : float
        The sum of their squares, the squared Frobenius norm.
    sum_of_squared_row_sums : float
        The sum over classes of the squared sum of their distances.
    """

    total: float
    sum_of_squares: float
    sum_of_squared_row_sums: float


@runtime_checkable
class ClassDistances(Protocol):
    """What scores and searches ask of class distances; symmetric, with a zero diagonal."""

    @property
    def n_classes(self) -> int:
        """How many classes there are."""

    @property
    def tree(self) -> ClassTree | None:
        """The tree whose path lengths these are, if there is one."""

    def matrix(self) -> FloatArray:
        """All distances, (n_classes, n_classes); refused where they would be too many."""

    def between(self, u: ArrayLike, v: ArrayLike) -> FloatArray:
        """The distances between classes ``u`` and ``v``, arrays that broadcast against each other."""

    def row_sums(self) -> FloatArray:
        """The sum of the distances of each class to all others, (n_classes,)."""

    def moments(self) -> DistanceMoments:
        """The sums over all pairs, exactly."""

    def inner_product(self, coding_matrix: ArrayLike) -> float:
        """The sum over all ordered pairs of class distance times codeword distance."""


class DenseDistances:
    """Class distances given as a matrix.

    Parameters
    ----------
    matrix : array-like of shape (n_classes, n_classes)
        Symmetric, finite, with a zero diagonal.
    signed : bool, default=False
        Whether entries may be negative, as those of a learnability matrix are.
    tree : ClassTree, optional
        A tree to which the distances belong though they are not its path lengths; searches may start from its order.

    Examples
    --------
    >>> distances = DenseDistances([[0, 1, 2], [1, 0, 2], [2, 2, 0]])
    >>> distances.moments()
    DistanceMoments(total=10.0, sum_of_squares=18.0, sum_of_squared_row_sums=34.0)
    >>> distances.inner_product([[1, 1], [1, -1], [-1, -1]])
    14.0
    """

    def __init__(self, matrix: ArrayLike, *, signed: bool = False, tree: ClassTree | None = None) -> None:
        self._matrix = _checked_matrix(matrix, signed)
        self.signed = signed
        if tree is not None and tree.n_classes != len(self._matrix):
            raise ValueError(f"The tree has {tree.n_classes} classes, the matrix {len(self._matrix)}.")
        self.tree = tree

    @property
    def n_classes(self) -> int:
        """How many classes there are."""
        return len(self._matrix)

    def matrix(self) -> FloatArray:
        """The matrix, read-only."""
        return self._matrix

    def between(self, u: ArrayLike, v: ArrayLike) -> FloatArray:
        """The distances between classes ``u`` and ``v``, arrays that broadcast against each other."""
        return np.asarray(self._matrix[np.asarray(u, dtype=np.intp), np.asarray(v, dtype=np.intp)])

    def row_sums(self) -> FloatArray:
        """The sum of the distances of each class to all others."""
        return self._row_sums

    def moments(self) -> DistanceMoments:
        """The sums over all pairs."""
        return self._moments

    def inner_product(self, coding_matrix: ArrayLike) -> float:
        """The sum over all ordered pairs of class distance times codeword distance."""
        return _inner_product(coding_matrix, self._row_sums, self._quadratic_form)

    def _quadratic_form(self, matrix: CodingMatrix) -> float:
        M = matrix.astype(np.float64)
        return float(np.vdot(M, self._matrix @ M))

    @cached_property
    def _row_sums(self) -> FloatArray:
        return np.asarray(self._matrix.sum(axis=1))

    @cached_property
    def _moments(self) -> DistanceMoments:
        return _moments(self._row_sums, float(np.vdot(self._matrix, self._matrix)))

    def __repr__(self) -> str:
        """One line."""
        return f"<DenseDistances: {self.n_classes} classes{', signed' if self.signed else ''}>"


class TreeDistances:
    """Path lengths in a class tree, in closed form: time and memory grow with the tree, not with pairs of classes.

    With ``w_e`` the length of the edge above a node, ``h_u`` the depth of class ``u`` and ``S_e`` the sum of the rows
    of ``M`` below the edge, ``A_uv = h_u + h_v - 2 sum of w_e over the edges above both``, so

        ``Q(M) = 2 <sum_u h_u M_u, sum_u M_u> - 2 sum_e w_e |S_e|^2``.

    Parameters
    ----------
    tree : ClassTree
        The tree.

    Examples
    --------
    >>> distances = TreeDistances(ClassTree.from_nested([["a", "b"], ["c"]]))
    >>> distances.matrix()
    array([[0., 2., 4.],
           [2., 0., 4.],
           [4., 4., 0.]])
    """

    def __init__(self, tree: ClassTree) -> None:
        self.tree: ClassTree = tree

    @property
    def n_classes(self) -> int:
        """How many classes there are."""
        return self.tree.n_classes

    def matrix(self) -> FloatArray:
        """All path lengths; refused for more than 5,000 classes."""
        _refuse_too_many(self.n_classes)
        return self._matrix

    def between(self, u: ArrayLike, v: ArrayLike) -> FloatArray:
        """The path lengths between classes ``u`` and ``v``, arrays that broadcast against each other."""
        return self.tree.path_length(u, v)

    def row_sums(self) -> FloatArray:
        """The sum of the path lengths from each class to all others."""
        return self._row_sums

    def moments(self) -> DistanceMoments:
        """The sums over all pairs, from sums over edges."""
        return self._moments

    def inner_product(self, coding_matrix: ArrayLike) -> float:
        """The sum over all ordered pairs of class distance times codeword distance."""
        return _inner_product(coding_matrix, self._row_sums, self._quadratic_form)

    @cached_property
    def _class_depth(self) -> FloatArray:
        return self.tree.depth[self.tree.node_of_class]

    @cached_property
    def _shared_edges(self) -> _SharedEdges:
        """The edges above two classes or more, those above the same classes taken together."""
        tree = self.tree
        start, stop = tree.class_spans.T
        is_shared = (stop - start > 1) & (tree.edge_length > 0)
        key, group = np.unique(start[is_shared] * (self.n_classes + 1) + stop[is_shared], return_inverse=True)
        length = np.bincount(group, weights=tree.edge_length[is_shared], minlength=len(key)).astype(np.float64)
        start, stop = np.divmod(key, self.n_classes + 1)
        return _SharedEdges(start, stop, length)

    @cached_property
    def _own_length(self) -> FloatArray:
        """The length of the edges that are above one class only, by class."""
        start, stop = self.tree.class_spans.T
        is_own = stop - start == 1
        by_rank = np.bincount(start[is_own], weights=self.tree.edge_length[is_own], minlength=self.n_classes)
        length = np.empty(self.n_classes)
        length[self.tree.class_order()] = by_rank
        return length

    def _quadratic_form(self, matrix: CodingMatrix) -> float:
        edges, order = self._shared_edges, self.tree.class_order()
        depth, own_length = self._class_depth[order], self._own_length[order]
        form = 0.0
        # A few bits at a time, so that the running sums of 100,000 classes stay small.
        width = max(1, _BLOCK_ENTRIES // self.n_classes)
        for start in range(0, matrix.shape[1], width):
            M = matrix[order, start : start + width].astype(np.float64)
            running = np.zeros((len(M) + 1, M.shape[1]))
            np.cumsum(M, axis=0, out=running[1:])
            below = running[edges.stop] - running[edges.start]
            shared = edges.length @ np.einsum("eb,eb->e", below, below) + own_length @ np.einsum("ub,ub->u", M, M)
            form += 2 * float((depth @ M) @ running[-1]) - 2 * float(shared)
        return form

    @cached_property
    def _row_sums(self) -> FloatArray:
        tree, depth = self.tree, self._class_depth
        # The edges above u, each as often as there are classes below it: a depth with other edge lengths.
        n_below = tree.class_spans[:, 1] - tree.class_spans[:, 0]
        shared = ClassTree(tree.parent, tree.node_of_class, tree.edge_length * n_below).depth[tree.node_of_class]
        return np.asarray(self.n_classes * depth + depth.sum() - 2 * shared)

    @cached_property
    def _moments(self) -> DistanceMoments:
        tree, depth, n_classes = self.tree, self._class_depth, self.n_classes
        spans = tree.class_spans
        n_below = (spans[:, 1] - spans[:, 0]).astype(np.float64)
        running = np.concatenate([[0.0], np.cumsum(depth[tree.class_order()])])
        depth_below = running[spans[:, 1]] - running[spans[:, 0]]
        squared_rise = tree.depth**2 - np.where(tree.parent >= 0, tree.depth[tree.parent], 0.0) ** 2
        sum_of_squares = (
            2 * n_classes * (depth @ depth)
            + 2 * depth.sum() ** 2
            - 8 * float(np.sum(tree.edge_length * depth_below * n_below))
            + 4 * float(np.sum(n_below**2 * squared_rise))
        )
        return _moments(self._row_sums, float(sum_of_squares))

    @cached_property
    def _matrix(self) -> FloatArray:
        tree = self.tree
        order, depth, parting = tree.class_order(), self._class_depth, tree.parting_depths()
        by_rank = np.zeros((self.n_classes, self.n_classes))
        for rank in range(self.n_classes - 1):
            by_rank[rank, rank + 1 :] = np.minimum.accumulate(parting[rank:])
        by_rank = depth[order][:, None] + depth[order][None, :] - 2 * (by_rank + by_rank.T)
        matrix = np.empty_like(by_rank)
        matrix[np.ix_(order, order)] = by_rank
        np.fill_diagonal(matrix, 0.0)
        matrix.flags.writeable = False
        return matrix

    def __repr__(self) -> str:
        """One line."""
        return f"<TreeDistances: {self.n_classes} classes, {self.tree.n_nodes} nodes>"


class EmbeddingDistances:
    """Euclidean distances between vectors, one per class.

    Squared distances have a closed form. Without the square the sums go through blocks of distances, never more than
    some millions at a time; their time grows with the number of pairs.

    Parameters
    ----------
    vectors : array-like or sparse matrix of shape (n_classes, n_dimensions)
        The vectors.
    squared : bool, default=False
        Take the squares of the distances.

    Examples
    --------
    >>> EmbeddingDistances([[0, 0], [3, 4]]).matrix()
    array([[0., 5.],
           [5., 0.]])
    """

    tree: ClassTree | None = None

    def __init__(self, vectors: Any, *, squared: bool = False) -> None:
        self.vectors = _checked_vectors(vectors)
        self.squared = squared

    @property
    def n_classes(self) -> int:
        """How many classes there are."""
        return int(self.vectors.shape[0])

    def matrix(self) -> FloatArray:
        """All distances; refused for more than 5,000 classes."""
        _refuse_too_many(self.n_classes)
        return self._matrix

    def between(self, u: ArrayLike, v: ArrayLike) -> FloatArray:
        """The distances between classes ``u`` and ``v``, arrays that broadcast against each other."""
        first, second = np.broadcast_arrays(np.asarray(u, dtype=np.intp), np.asarray(v, dtype=np.intp))
        differences = self._centred[first.ravel()] - self._centred[second.ravel()]
        squares = _row_squares(differences).reshape(first.shape)
        return squares if self.squared else np.sqrt(squares)

    def row_sums(self) -> FloatArray:
        """The sum of the distances of each class to all others."""
        return self._sums[0]

    def moments(self) -> DistanceMoments:
        """The sums over all pairs."""
        return _moments(*self._sums)

    def inner_product(self, coding_matrix: ArrayLike) -> float:
        """The sum over all ordered pairs of class distance times codeword distance."""
        form = self._squared_form if self.squared else self._blockwise_form
        return _inner_product(coding_matrix, self._sums[0], form)

    @cached_property
    def _centred(self) -> Any:
        """The vectors, moved to their mean where that does not fill zeros: distances stay, rounding shrinks."""
        return self.vectors if _is_sparse(self.vectors) else self.vectors - self.vectors.mean(axis=0)

    @cached_property
    def _squares(self) -> FloatArray:
        return _row_squares(self._centred)

    @cached_property
    def _sums(self) -> tuple[FloatArray, float]:
        """Row sums and sum of squares."""
        if self.squared:
            x, q, n_classes = self._centred, self._squares, self.n_classes
            total = np.asarray(x.sum(axis=0)).ravel()
            row_sums = n_classes * q + q.sum() - 2 * np.asarray(x @ total).ravel()
            weighted = np.asarray(x.T @ q).ravel()
            gram = x.T @ x if x.shape[1] <= n_classes else x @ x.T
            gram_squares = float((gram.multiply(gram) if _is_sparse(gram) else gram * gram).sum())
            squares = 2 * n_classes * (q @ q) + 2 * q.sum() ** 2 - 8 * float(weighted @ total) + 4 * gram_squares
            return row_sums, float(squares)
        row_sums, squares = np.zeros(self.n_classes), 0.0
        for rows, columns, block in self._blocks():
            row_sums[rows] += block.sum(axis=1)
            squares += float(np.vdot(block, block)) * (1 if rows == columns else 2)
            if rows != columns:
                row_sums[columns] += block.sum(axis=0)
        return row_sums, squares

    def _squared_form(self, matrix: CodingMatrix) -> float:
        M = matrix.astype(np.float64)
        return 2 * float((self._squares @ M) @ M.sum(axis=0)) - 2 * float(np.sum(np.asarray(self._centred.T @ M) ** 2))

    def _blockwise_form(self, matrix: CodingMatrix) -> float:
        M = matrix.astype(np.float64)
        return sum(
            float(np.vdot(M[rows], block @ M[columns])) * (1 if rows == columns else 2)
            for rows, columns, block in self._blocks()
        )

    def _blocks(self) -> Iterator[tuple[slice, slice, FloatArray]]:
        """Blocks of distances on and above the diagonal."""
        if self.n_classes <= MAX_DENSE_CLASSES:
            everything = slice(0, self.n_classes)
            yield everything, everything, self._matrix
            return
        width = int(_BLOCK_ENTRIES**0.5)
        slices = [slice(start, min(start + width, self.n_classes)) for start in range(0, self.n_classes, width)]
        for i, rows in enumerate(slices):
            for columns in slices[i:]:
                yield rows, columns, self._block(rows, columns)

    def _block(self, rows: slice, columns: slice) -> FloatArray:
        x, q = self._centred, self._squares
        products = x[rows] @ x[columns].T
        if _is_sparse(products):
            products = products.toarray()
        scale = q[rows, None] + q[None, columns]
        squares = scale - 2 * products
        # Where two vectors nearly agree, the difference of large numbers has lost its digits: subtract first.
        i, j = np.nonzero(squares <= 1e-5 * scale)
        for start in range(0, len(i), 100_000):
            near = slice(start, start + 100_000)
            squares[i[near], j[near]] = _row_squares(x[rows][i[near]] - x[columns][j[near]])
        return np.asarray(squares if self.squared else np.sqrt(squares, out=squares))

    @cached_property
    def _matrix(self) -> FloatArray:
        everything = slice(0, self.n_classes)
        matrix = self._block(everything, everything)
        matrix = (matrix + matrix.T) / 2
        np.fill_diagonal(matrix, 0.0)
        matrix.flags.writeable = False
        return matrix

    def __repr__(self) -> str:
        """One line."""
        kind = "squared Euclidean" if self.squared else "Euclidean"
        return f"<EmbeddingDistances: {self.n_classes} classes, {kind} in {self.vectors.shape[1]} dimensions>"


def as_class_distances(value: ClassDistances | ClassTree | ArrayLike) -> ClassDistances:
    """Class distances from whatever can stand for them.

    Parameters
    ----------
    value : ClassDistances, ClassTree or array-like of shape (n_classes, n_classes)
        A tree stands for its path lengths; a matrix is checked.

    Returns
    -------
    ClassDistances

    Examples
    --------
    >>> as_class_distances([[0, 1], [1, 0]])
    <DenseDistances: 2 classes>
    """
    if isinstance(value, ClassTree):
        return TreeDistances(value)
    if isinstance(value, ClassDistances):
        return value
    return DenseDistances(value)


class _SharedEdges(NamedTuple):
    """Edge ``e`` has length ``length[e]`` and the classes ``start[e]:stop[e]`` of the depth-first order below it."""

    start: IntArray
    stop: IntArray
    length: FloatArray


def _inner_product(coding_matrix: ArrayLike, row_sums: FloatArray, form: Callable[[CodingMatrix], float]) -> float:
    given = np.asarray(coding_matrix)
    if given.ndim != 2 or len(given) != len(row_sums):
        raise ValueError(f"The coding matrix needs one row per class, {len(row_sums)}. Got shape {given.shape}.")
    M = given.astype(np.int8)
    used = np.abs(M)
    if used.max(initial=0) > 1 or (given.dtype != np.int8 and not np.array_equal(given, M)):
        raise ValueError("The entries of a coding matrix must be -1, 0 or +1. Got another value.")
    if used.all():
        # No zeros: every row of |M| is ones, and its form is the sum of all distances, once per bit.
        return float(M.shape[1] * row_sums.sum() - form(M)) / 2
    n_used = used.sum(axis=1, dtype=np.float64)
    return float(n_used @ row_sums - (form(M) + form(used)) / 2)


def _moments(row_sums: FloatArray, sum_of_squares: float) -> DistanceMoments:
    return DistanceMoments(float(row_sums.sum()), sum_of_squares, float(row_sums @ row_sums))


def _is_sparse(x: Any) -> bool:
    return bool(sparse.issparse(x))


def _row_squares(x: Any) -> FloatArray:
    if _is_sparse(x):
        return np.asarray(x.multiply(x).sum(axis=1), dtype=np.float64).ravel()
    return np.asarray(np.einsum("ij,ij->i", x, x))


def _refuse_too_many(n_classes: int) -> None:
    if n_classes > MAX_DENSE_CLASSES:
        raise ValueError(
            f"Distances between all pairs of {n_classes} classes would take {n_classes**2 * 8 / 2**30:.1f} GiB; "
            f"they are made for at most {MAX_DENSE_CLASSES} classes."
        )


def _checked_matrix(matrix: ArrayLike, signed: bool) -> FloatArray:
    given = np.array(matrix, dtype=np.float64)
    if given.ndim != 2 or given.shape[0] != given.shape[1] or not len(given):
        raise ValueError(f"Class distances must be a square matrix. Got shape {given.shape}.")
    if not np.isfinite(given).all():
        u, v = _first(~np.isfinite(given))
        raise ValueError(f"Class distances must be finite. Got {given[u, v]} between classes {u} and {v}.")
    tolerance = 1e-8 * float(np.abs(given).max())
    is_lopsided = np.abs(given - given.T) > tolerance
    if is_lopsided.any():
        u, v = _first(is_lopsided)
        raise ValueError(
            f"Class distances must be symmetric. Got {given[u, v]:g} from class {u} to {v}, and {given[v, u]:g} back."
        )
    is_off = np.abs(np.diagonal(given)) > tolerance
    if is_off.any():
        u = int(is_off.argmax())
        raise ValueError(f"The distance of a class to itself must be 0. Got {given[u, u]:g} for class {u}.")
    given = (given + given.T) / 2
    np.fill_diagonal(given, 0.0)
    if not signed and given.min() < 0:
        u, v = _first(given < 0)
        raise ValueError(
            f"Class distances must not be negative. Got {given[u, v]:g} between classes {u} and {v}. "
            "Use DenseDistances(..., signed=True) for a matrix such as the learnability matrix."
        )
    given.flags.writeable = False
    return given


def _first(is_wrong: Any) -> tuple[int, int]:
    u, v = np.argwhere(is_wrong)[0]
    return int(u), int(v)


def _checked_vectors(vectors: Any) -> Any:
    checked: Any
    if _is_sparse(vectors):
        checked = sparse.csr_array(cast(Any, vectors)).astype(np.float64)
        values = checked.data
    else:
        checked = values = np.array(cast(ArrayLike, vectors), dtype=np.float64)
    if checked.ndim != 2 or 0 in checked.shape:
        raise ValueError(f"Class vectors must be a matrix with one row per class. Got shape {checked.shape}.")
    if not np.isfinite(values).all():
        raise ValueError("Class vectors must be finite. Got a value that is not.")
    values.flags.writeable = False
    return checked
