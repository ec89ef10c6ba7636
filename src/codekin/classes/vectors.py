"""Class distances from vectors, one per class, given as such or found by the words of the classes' names.

They are Euclidean distances, or minus inner products.
"""

from __future__ import annotations

import gzip
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import IO, Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from codekin._system.arrays import frozen
from codekin._system.rows import is_sparse
from codekin.classes._tree_arrays import listed
from codekin.classes.interface import MAX_DENSE_CLASSES, ClassDistances, PartialDistances, SummedDistances
from codekin.code import CodingMatrix, FloatArray

_BLOCK_ENTRIES = 4_000_000
"""How many distances are in memory at once if not all are."""


def embedding_distances(
    vectors: ArrayLike | Mapping[str, ArrayLike] | str | Path | Callable[[list[str]], ArrayLike],
    *,
    names: Sequence[str] | None = None,
    normalize: bool = False,
    squared: bool = False,
    missing: Literal["error", "mean"] = "error",
) -> ClassDistances:
    """Euclidean distances between vectors of the classes, or of their names (App. E of Evron et al., 2023).

    Names say a lot about classes before any sample is seen, though not what a learner will find hard. Words that are
    used in similar ways have similar vectors.

    Parameters
    ----------
    vectors : array-like or sparse matrix of shape (n_classes, n_dimensions), mapping, path or callable
        A vector for each class; or a source of vectors for names: a mapping from words to vectors, a file of word
        vectors (text of GloVe, word2vec or fastText, ``.gz`` too; it is read once, and only what is needed is kept), or
        a function that takes the list of names and returns a vector for each, such as the ``encode`` method of a
        sentence transformer.
    names : sequence of str, optional
        ``names[k]`` is the name of class ``k``. A name of several words that is not in a mapping or file itself gets
        the mean of their vectors.
    normalize : bool, default=False
        Scale the vectors to length 1, so that only their directions count.
    squared : bool, default=False
        Take the squares of the distances; at more than 5,000 classes their sums are much faster. With ``normalize``
        they are twice the cosine distances.
    missing : {"error", "mean"}, default="error"
        What to do about names without a vector: raise, or warn and put these classes at the mean distance.

    Returns
    -------
    ClassDistances

    Examples
    --------
    >>> words = {"house": [0.0, 0.0], "cat": [3.0, 4.0], "dog": [3.0, 5.0]}
    >>> embedding_distances(words, names=["house cat", "dog", "cat"]).matrix().round(2)
    array([[0.  , 3.35, 2.5 ],
           [3.35, 0.  , 1.  ],
           [2.5 , 1.  , 0.  ]])
    """
    if missing not in ("error", "mean"):
        raise ValueError(f"'missing' must be 'error' or 'mean'. Got {missing!r} instead.")
    rows: Any = vectors
    unknown: list[str] = []
    if isinstance(vectors, (Mapping, str, Path)) or callable(vectors):
        if names is None:
            raise ValueError("Vectors are looked up by the names of the classes. Give them as 'names'.")
        rows, unknown = (vectors(list(names)), []) if callable(vectors) else name_vectors(names, vectors)
    rows = sparse.csr_array(cast(Any, rows)) if sparse.issparse(rows) else np.asarray(rows, dtype=np.float64)
    if names is not None and rows.shape[:1] != (len(names),):
        raise ValueError(f"There must be one vector per name, {len(names)}. Got shape {rows.shape}.")
    if not unknown:
        return EmbeddingDistances(_unit_length(rows) if normalize else rows, squared=squared)
    shown = listed(unknown, 5)
    if missing == "error" or len(unknown) == len(rows):
        raise ValueError(
            f"{len(unknown)} of {len(rows)} names have no vector: {shown}. Rename them, or use missing='mean'."
        )
    warnings.warn(
        f"{len(unknown)} of {len(rows)} names have no vector and are put at the mean distance: {shown}.", stacklevel=2
    )
    known = np.flatnonzero(~np.isnan(rows).any(axis=1))
    distances = EmbeddingDistances(_unit_length(rows[known]) if normalize else rows[known], squared=squared)
    return PartialDistances(distances, known, n_classes=len(rows))


def _unit_length(rows: Any) -> Any:
    """Rows of length 1; those of length 0 stay."""
    squares = np.asarray((rows * rows).sum(axis=1), dtype=np.float64).ravel()
    return sparse.diags_array(1 / np.sqrt(np.where(squares > 0, squares, 1.0))) @ rows


def read_word_vectors(path: str | Path, words: Iterable[str]) -> dict[str, FloatArray]:
    """The vectors of some words in a file of word vectors.

    Parameters
    ----------
    path : str or Path
        A text file with a word and its numbers on each line, as GloVe, word2vec and fastText (``.vec``) write them,
        with or without a first line of two counts; compressed if its name ends in ``.gz``.
    words : iterable of str
        The words to look for, in exactly this spelling.

    Returns
    -------
    dict
        Maps each word that was found to its vector; the first one if a word occurs twice.
    """
    source = Path(path)
    wanted = {word.encode(): word for word in words}
    found: dict[str, FloatArray] = {}
    n_dimensions = 0
    with cast("IO[bytes]", gzip.open(source, "rb") if source.suffix == ".gz" else source.open("rb")) as file:
        for number, line in enumerate(file, start=1):
            if number == 1:
                fields = line.split()
                if len(fields) < 2 or b"\0" in line:
                    expected = "a word and its numbers were expected, in text; binary files must be converted"
                    raise ValueError(f"{source}, line 1: {expected}.")
                n_dimensions = len(fields) - 1
                if n_dimensions == 1 and fields[0].isdigit() and fields[1].isdigit():
                    n_dimensions = int(fields[1])
                    continue
            # Most lines end here, so their numbers are not parsed before.
            word = wanted.get(line.split(None, 1)[0] if line.strip() else b"")
            if word is None or word in found:
                continue
            numbers = line.split()[1:]
            if len(numbers) > n_dimensions:
                continue  # a phrase of several words that begins with this one
            try:
                vector = np.array(numbers, dtype=np.float64)
            except ValueError:
                raise ValueError(
                    f"{source}, line {number}: something in the vector of {word!r} is not a number."
                ) from None
            if len(vector) < n_dimensions:
                wrong = f"the vector of {word!r} has {len(vector)} numbers; {n_dimensions} expected"
                raise ValueError(f"{source}, line {number}: {wrong}.")
            found[word] = vector
            if len(found) == len(wanted):
                break
    return found


def name_vectors(names: Sequence[str], vectors: Mapping[str, ArrayLike] | str | Path) -> tuple[FloatArray, list[str]]:
    """A vector for each name: that of the name as one word, or else the mean of the vectors of its words.

    Names are looked up as they are and in lower, capitalised and upper case, also with their words joined by
    underscores. Words without a vector are left out of a mean. The second result lists the names without a vector,
    whose rows are NaN.

    >>> name_vectors(["aquarium_fish", "yeti"], {"aquarium": [0, 2], "fish": [2, 0], "cat": [1, 3]})
    (array([[ 1.,  1.],
           [nan, nan]]), ['yeti'])
    """
    # For each name what to look up: first as one word, then its words; each in its spellings, best first.
    ways = [[[_spellings(name)], [_spellings(word) for word in words_of(name)]] for name in names]
    known: Mapping[str, Any] = vectors if isinstance(vectors, Mapping) else {}
    if not isinstance(vectors, Mapping):
        known = read_word_vectors(vectors, {text for way in ways for words in way for word in words for text in word})
    rows: list[FloatArray | None] = []
    for way in ways:
        found = ([next((known[text] for text in word if text in known), None) for word in words] for words in way)
        parts = next(filter(None, ([part for part in parts if part is not None] for parts in found)), None)
        rows.append(None if parts is None else np.mean(np.asarray(parts, dtype=np.float64), axis=0))
    n_dimensions = next((len(row) for row in rows if row is not None), 0)
    nothing = np.full(n_dimensions, np.nan)
    matrix = np.array([nothing if row is None else row for row in rows]).reshape(len(rows), n_dimensions)
    return matrix, [name for name, row in zip(names, rows, strict=True) if row is None]


def words_of(name: str) -> list[str]:
    """The words of a name, at spaces, underscores, hyphens and other signs."""
    return re.findall(r"[^\W_]+", name)


def _spellings(name: str) -> list[str]:
    """Spellings of a name as one word, best first."""
    forms = (name, "_".join(words_of(name)))
    return list(dict.fromkeys(case(form) for case in (str, str.lower, str.capitalize, str.upper) for form in forms))


class EmbeddingDistances(SummedDistances):
    """Euclidean distances between vectors, one per class.

    Sums of squared distances have a closed form. Without the square they are computed in blocks of some millions of
    distances; the time grows with the number of pairs.

    >>> EmbeddingDistances([[0, 0], [3, 4]]).matrix()
    array([[0., 5.],
           [5., 0.]])
    """

    def __init__(self, vectors: Any, *, squared: bool = False) -> None:
        self.vectors = _checked_vectors(vectors)
        self.squared = squared

    @property
    def n_classes(self) -> int:
        return int(self.vectors.shape[0])

    def between(self, u: ArrayLike, v: ArrayLike) -> FloatArray:
        first, second = np.broadcast_arrays(np.asarray(u, dtype=np.intp), np.asarray(v, dtype=np.intp))
        differences = self._centred[first.ravel()] - self._centred[second.ravel()]
        squares = _row_squares(differences).reshape(first.shape)
        return squares if self.squared else np.sqrt(squares)

    @property
    def _row_sums(self) -> FloatArray:
        return self._sums[0]

    @property
    def _sum_of_squares(self) -> float:
        return self._sums[1]

    def _quadratic_form(self, matrix: CodingMatrix) -> float:
        M = matrix.astype(np.float64)
        if self.squared:
            apart = float((self._squares @ M) @ M.sum(axis=0))
            return 2 * apart - 2 * float(np.sum(np.asarray(self._centred.T @ M) ** 2))
        return sum(
            float(np.vdot(M[rows], block @ M[columns])) * (1 if rows == columns else 2)
            for rows, columns, block in self._blocks()
        )

    @cached_property
    def _centred(self) -> Any:
        """The vectors, centred unless that fills in zeros: the distances are the same, with less rounding."""
        return self.vectors if is_sparse(self.vectors) else self.vectors - self.vectors.mean(axis=0)

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
            squares = 2 * n_classes * (q @ q) + 2 * q.sum() ** 2 - 8 * (weighted @ total) + 4 * self._gram_squares
            return row_sums, float(squares)
        row_sums, squares = np.zeros(self.n_classes), 0.0
        for rows, columns, block in self._blocks():
            row_sums[rows] += block.sum(axis=1)
            squares += float(np.vdot(block, block)) * (1 if rows == columns else 2)
            if rows != columns:
                row_sums[columns] += block.sum(axis=0)
        return row_sums, squares

    @property
    def _gram_squares(self) -> float:
        """The sum of the squared inner products of all pairs of vectors."""
        x = self._centred
        if not is_sparse(x) and x.shape[1] <= min(self.n_classes, MAX_DENSE_CLASSES):
            return float(np.sum((x.T @ x) ** 2))
        step = max(1, _BLOCK_ENTRIES // self.n_classes)
        products = (x[start : start + step] @ x.T for start in range(0, self.n_classes, step))
        return sum(float(np.sum((block.data if is_sparse(block) else block) ** 2)) for block in products)

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
        if is_sparse(products):
            products = products.toarray()
        scale = q[rows, None] + q[None, columns]
        squares = scale - 2 * products
        # If two vectors are nearly equal, a difference of large numbers is inexact: subtract first.
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
        return frozen(matrix)

    def __repr__(self) -> str:
        kind = "squared Euclidean" if self.squared else "Euclidean"
        return f"<EmbeddingDistances: {self.n_classes} classes, {kind} in {self.vectors.shape[1]} dimensions>"


def _checked_vectors(vectors: Any) -> Any:
    checked: Any
    if is_sparse(vectors):
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


def _row_squares(x: Any) -> FloatArray:
    if is_sparse(x):
        return np.asarray(x.multiply(x).sum(axis=1), dtype=np.float64).ravel()
    return np.asarray(np.einsum("ij,ij->i", x, x))


class ProductDistances(SummedDistances):
    """``A_uv = -<f_u, f_v>`` for different classes ``u`` and ``v``, in closed form for any number of classes.

    These are the off-diagonal entries of a learnability matrix; its diagonal does not matter. Time and memory of all
    sums grow with the number of entries of ``factors``, (n_classes, n_factors), float32 or float64.

    >>> ProductDistances([[1, 0], [1, 2], [0, -3]]).matrix()
    array([[ 0., -1.,  0.],
           [-1.,  0.,  6.],
           [ 0.,  6.,  0.]])
    """

    def __init__(self, factors: ArrayLike) -> None:
        given = np.array(factors)
        given = given if given.dtype == np.float32 else given.astype(np.float64)
        if given.ndim != 2 or not len(given):
            raise ValueError(f"Factors must be a matrix with one row per class. Got shape {given.shape}.")
        if not np.isfinite(given).all():
            raise ValueError("Factors must be finite. Got a value that is not.")
        self.factors: NDArray[np.floating] = frozen(given)

    @property
    def n_classes(self) -> int:
        return len(self.factors)

    def between(self, u: ArrayLike, v: ArrayLike) -> FloatArray:
        first, second = np.broadcast_arrays(np.asarray(u, dtype=np.intp), np.asarray(v, dtype=np.intp))
        products = np.einsum("...f,...f->...", self.factors[first], self.factors[second], dtype=np.float64)
        return np.where(first == second, 0.0, 0.0 - products)

    def _quadratic_form(self, matrix: CodingMatrix) -> float:
        M = matrix.astype(self.factors.dtype)
        lengths = np.einsum("ub,ub->u", M, M, dtype=np.float64)
        return float(self._squares @ lengths - np.sum((self.factors.T @ M).astype(np.float64) ** 2))

    @cached_property
    def _squares(self) -> FloatArray:
        return np.asarray(np.einsum("uf,uf->u", self.factors, self.factors, dtype=np.float64))

    @cached_property
    def _row_sums(self) -> FloatArray:
        total = self.factors.sum(axis=0, dtype=np.float64).astype(self.factors.dtype)
        return np.asarray(self._squares - self.factors @ total)

    @property
    def _sum_of_squares(self) -> float:
        gram = (self.factors.T @ self.factors).astype(np.float64)
        return float(np.sum(gram * gram) - self._squares @ self._squares)

    @cached_property
    def _matrix(self) -> FloatArray:
        factors = self.factors.astype(np.float64)
        matrix = 0.0 - factors @ factors.T
        np.fill_diagonal(matrix, 0.0)
        return frozen(matrix)

    def __repr__(self) -> str:
        return f"<ProductDistances: {self.n_classes} classes, signed, {self.factors.shape[1]} factors>"
