"""Codes from class trees that are cut at several levels: classes that are close in the tree share symbols."""

from __future__ import annotations

import numpy as np

from codekin._system.wording import counted
from codekin.classes import ClassTree
from codekin.codebooks.sizes import checked_n_bits, checked_n_codewords, fewest_bits
from codekin.coding import Codebook, IntArray

MAX_SHUFFLES = 100
"""How often the children of the tree's nodes are shuffled to find a new column."""


def tree_levels(
    n_codewords: int,
    n_bits: int | None = None,
    *,
    n_symbols: int = 2,
    class_tree: ClassTree,
    rng: np.random.Generator | int | None = None,
) -> Codebook:
    """The depth-first order of a class tree, cut recursively into as many parts as there are symbols.

    The first column cuts the order into ``q`` equal parts, the second cuts every part into ``q`` parts, and so on; the
    last one numbers the classes of each of the smallest parts. Siblings share the symbols of all columns but the last.
    Further columns start again with an order in which the children of every node are shuffled.

    Parameters
    ----------
    n_codewords : int
        The number of codewords, at least 2; row ``k`` is for class ``k``.
    n_bits : int, optional
        The number of columns; by default as many as are needed to tell the classes apart.
    n_symbols : int, default=2
        The number of symbols of each column, at most 127.
    class_tree : ClassTree
        A tree of that many classes.
    rng : numpy.random.Generator, int or None, default=None
        The source of randomness for the shuffles, or a seed for one.

    Returns
    -------
    Codebook

    Examples
    --------
    >>> tree = ClassTree.from_nested([["cat", "dog", "fox"], ["bus", "car", "ship"]])
    >>> tree_levels(6, n_symbols=3, class_tree=tree).matrix[[2, 3, 4, 0, 1, 5]].tolist()  # cat, dog, fox, bus, ...
    [[0, 0], [0, 1], [1, 2], [1, 0], [2, 1], [2, 2]]
    """
    n_codewords = checked_n_codewords(n_codewords, codebook="tree_levels")
    if class_tree.n_classes != n_codewords:
        raise ValueError(
            f"A class tree of {n_codewords} classes is needed. Got one with {class_tree.n_classes} classes."
        )
    n_symbols = max(min(n_symbols, n_codewords), 2)
    n_levels = fewest_bits(n_codewords, n_symbols)
    n_bits = checked_n_bits(n_levels if n_bits is None else n_bits, n_codewords, n_columns=None, n_symbols=n_symbols)
    generator = np.random.default_rng(rng)
    levels = _cut(class_tree.class_order(), n_levels, n_symbols)
    columns, seen = list(levels), {_partition(level) for level in levels}
    for attempt in range(MAX_SHUFFLES * n_bits):
        if len(columns) == n_bits:
            break
        column = _cut(class_tree.class_order(generator), n_levels, n_symbols)[attempt % n_levels]
        if _partition(column) not in seen:
            columns.append(column)
            seen.add(_partition(column))
    else:
        raise ValueError(
            f"This class tree gives {counted(len(columns), 'different column')} of {n_symbols} symbols. "
            f"Got n_bits={n_bits}."
        )
    matrix = np.stack(columns, axis=1)
    return Codebook(
        matrix if n_symbols > 2 else 2 * matrix - 1, name="tree_levels", is_designed=True, n_symbols=n_symbols
    )


def _cut(class_order: IntArray, n_levels: int, n_symbols: int) -> list[IntArray]:
    """The symbols of all classes at every level, from the top."""
    n_classes = len(class_order)
    place = np.empty(n_classes, dtype=np.intp)
    place[class_order] = np.arange(n_classes)
    above = [place * n_symbols**level // n_classes % n_symbols for level in range(1, n_levels)]
    # The smallest parts have at most as many classes as there are symbols; number them in order.
    return [*above, place % n_symbols]


def _partition(column: IntArray) -> bytes:
    """A column up to the names of its symbols: for each class the first one with the same symbol."""
    _, first, symbol = np.unique(column, return_index=True, return_inverse=True)
    return first[symbol].tobytes()
