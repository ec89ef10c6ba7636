"""Identifiers of items: a few symbols each, no two alike, whose common prefixes say how similar items are."""

from __future__ import annotations

import csv
import io
import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, diags_array

from codekin._system.files import whole_file
from codekin._system.tables import Listing
from codekin.classes.means import halving_order
from codekin.code import FloatArray, IntArray

MOST_SYMBOLS = 4_096
N_ROUNDS = 10
COSINES_AT_ONCE = 1 << 23


@dataclass(frozen=True, eq=False)
class ItemIdentifiers:
    """The identifiers of some items, and how similar items are that share the first symbols.

    Parameters
    ----------
    symbols : array of shape (n_items, n_columns)
        The identifier of each item, from 0 below ``n_symbols``. No two rows are alike.
    n_symbols : int
        How many symbols there are.
    similarity : array of shape (n_columns,)
        The mean cosine of an item and the others that share its first 0, 1, 2, ... symbols, over the items that share
        them with any.
    n_shared : array of shape (n_columns,)
        With how many others an item shares them on average.
    names : tuple of str, default=()
        What the items are called; their numbers from 1 if there are no names.
    """

    symbols: IntArray
    n_symbols: int
    similarity: FloatArray
    n_shared: FloatArray
    names: tuple[str, ...] = field(default=(), repr=False)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write a line for each item: JSON if the name of the file ends in .jsonl, and CSV otherwise.

        Parameters
        ----------
        path : path
            The file, which appears whole or not at all; an existing one is replaced.

        Returns
        -------
        Path
            The file.
        """
        target, written = Path(path), io.StringIO()
        names = self.names or range(1, len(self.symbols) + 1)
        rows = list(zip(names, self.symbols.tolist(), strict=True))
        if target.suffix == ".jsonl":
            written.writelines(json.dumps({"item": name, "identifier": own}) + "\n" for name, own in rows)
        else:
            writer = csv.writer(written, lineterminator="\n")
            writer.writerow(["item", *(f"symbol_{j + 1}" for j in range(self.symbols.shape[1]))])
            writer.writerows([name, *own] for name, own in rows)
        with whole_file(target) as stream:
            stream.write(written.getvalue().encode("utf-8"))
        return target

    def as_dict(self) -> dict[str, Any]:
        """The sizes and the similarities as plain values for JSON."""
        n_items, n_columns = self.symbols.shape
        sizes = {"n_items": n_items, "n_columns": n_columns, "n_symbols": self.n_symbols}
        return {**sizes, "similarity": self.similarity.tolist(), "n_shared": self.n_shared.tolist()}

    def __str__(self) -> str:
        """A table for the terminal."""
        rows = zip(range(self.symbols.shape[1]), self.similarity, self.n_shared, strict=True)
        title = f"{len(self.symbols):,} items, {self.symbols.shape[1]} symbols each of {self.n_symbols:,}"
        names = ("shared symbols", "mean cosine", "with others")
        return Listing(title, names, [(j, f"{cosine:.3f}", f"{n:,.1f}") for j, cosine, n in rows]).text()


def item_identifiers(
    vectors: Any,
    n_symbols: int = 256,
    *,
    names: tuple[str, ...] = (),
    rng: np.random.Generator | int | None = None,
) -> ItemIdentifiers:
    """Identifiers whose first symbols similar items share, by repeated splits.

    The items are divided into ``n_symbols`` parts of similar items, each part again, and so on. The symbols of an item
    are the numbers of its parts. There are as few columns as can tell all items apart, and no part has more items than
    the further columns can tell apart, so no collision has to be resolved. The parts are those of k-means, which begins
    with equal parts of an order in which neighbours are similar.

    Parameters
    ----------
    vectors : {array-like, sparse matrix} of shape (n_items, n_features)
        The embeddings of the items, at least 2. Only their directions count.
    n_symbols : int, default=256
        How many symbols there are, from 2 to 4,096.
    names : tuple of str, default=()
        What the items are called.
    rng : Generator or int, default=None
        Where the splits begin.

    Returns
    -------
    ItemIdentifiers

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> found = item_identifiers(load_digits().data, 16, rng=0)
    >>> found.symbols.shape, len(np.unique(found.symbols, axis=0))
    ((1797, 3), 1797)
    >>> print(found)
    1,797 items, 3 symbols each of 16
      shared symbols  mean cosine  with others
      0               0.688        1,796.0
      1               0.854        124.0
      2               0.927        7.8
    """
    rows = csr_array(vectors, dtype=np.float64) if hasattr(vectors, "tocsr") else np.asarray(vectors, np.float64)
    if not 2 <= n_symbols <= MOST_SYMBOLS:
        raise ValueError(f"The 'n_symbols' parameter must be from 2 to {MOST_SYMBOLS:,}. Got {n_symbols} instead.")
    if rows.ndim != 2 or rows.shape[0] < 2:
        raise ValueError(f"Identifiers are for a table of at least 2 items. Got one of shape {rows.shape}.")
    if not np.isfinite(rows.data if isinstance(rows, csr_array) else rows).all():
        raise ValueError("The vectors of items must be finite numbers. Got some that are not.")
    if names and len(names) != rows.shape[0]:
        raise ValueError(f"There are {rows.shape[0]:,} items. Got {len(names):,} names.")
    lengths = np.sqrt(np.asarray((rows * rows).sum(axis=1), dtype=np.float64).ravel())
    of_length_one: Any = diags_array(1 / np.where(lengths > 0, lengths, 1)) @ rows
    symbols = _symbols(of_length_one, halving_order(rows, rng), n_symbols)
    return ItemIdentifiers(symbols, n_symbols, *prefix_similarity(rows, symbols), names)


def prefix_similarity(vectors: Any, symbols: IntArray) -> tuple[FloatArray, NDArray[np.float64]]:
    """The mean cosine of items that share their first 0, 1, 2, ... symbols, and how many an item shares them with."""
    lengths = np.sqrt(np.asarray((vectors * vectors).sum(axis=1), dtype=np.float64).ravel())
    scale = 1 / np.where(lengths > 0, lengths, 1)
    n_items, n_columns = symbols.shape
    group, cosines, n_shared = np.zeros(n_items, np.int64), np.zeros(n_columns), np.zeros(n_columns)
    for column in range(n_columns):
        sizes = np.bincount(group)
        members: Any = csr_array((scale, (group, np.arange(n_items))), shape=(len(sizes), n_items))
        sums = members @ vectors
        squares = np.asarray((sums * sums).sum(axis=1)).ravel() - np.bincount(group, (scale * lengths) ** 2)
        is_shared = sizes > 1
        # The mean over the items of a group of their mean cosines is that of its pairs.
        cosines[column] = (squares[is_shared] / (sizes[is_shared] - 1)).sum() / max(sizes[is_shared].sum(), 1)
        n_shared[column] = (sizes * (sizes - 1)).sum() / n_items
        group = np.unique(group * (symbols.max() + 1) + symbols[:, column], return_inverse=True)[1]
    return cosines, n_shared


def _symbols(vectors: Any, order: IntArray, n_symbols: int) -> IntArray:
    """The symbols of items: the numbers of their parts, of parts of these, and so on.

    A part never has more items than the further columns can tell apart.
    """
    n_columns = 1
    while n_symbols**n_columns < len(order):
        n_columns += 1
    symbols = np.zeros((len(order), n_columns), dtype=np.int64)
    waiting = [(order, 0)]
    while waiting:
        rows, column = waiting.pop()
        if len(rows) <= n_symbols:
            symbols[rows, column] = np.arange(len(rows))
            continue
        part = _parts(vectors[rows], n_symbols, n_symbols ** (n_columns - column - 1))
        symbols[rows, column] = part
        waiting += [(rows[part == k], column + 1) for k in np.unique(part).tolist()]
    return symbols


def _parts(vectors: Any, n_parts: int, most: int) -> IntArray:
    """The part of each vector of length one, by k-means that begins with equal parts of their order.

    Parts have at most ``most`` vectors: those that are least alike go to the most similar part with room.
    """
    n = vectors.shape[0]
    part: IntArray = np.arange(n) * n_parts // n
    for _ in range(N_ROUNDS):
        members: Any = csr_array((np.ones(n), (part, np.arange(n))), shape=(n_parts, n))
        sums = members @ vectors
        centres = np.asarray(sums if isinstance(sums, np.ndarray) else sums.toarray())
        centres /= np.maximum(np.linalg.norm(centres, axis=1), 1e-12)[:, None]
        before, part, best = part, np.empty(n, dtype=np.int64), np.empty(n, dtype=np.float32)
        for start in range(0, n, max(COSINES_AT_ONCE // n_parts, 1)):
            some = slice(start, start + max(COSINES_AT_ONCE // n_parts, 1))
            cosines = np.asarray(vectors[some] @ centres.T, dtype=np.float32)
            part[some], best[some] = cosines.argmax(axis=1), cosines.max(axis=1)
        sizes = np.bincount(part, minlength=n_parts)
        for row in np.argsort(best, kind="stable").tolist() if sizes.max() > most else ():
            if sizes[part[row]] > most:
                sizes[part[row]] -= 1
                own = np.asarray(vectors[[row]] @ centres.T)[0]
                part[row] = np.where(sizes < most, own, -np.inf).argmax()
                sizes[part[row]] += 1
        if np.array_equal(before, part):
            break
    return part
