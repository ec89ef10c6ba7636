"""Codes from trees of classes: a ternary bit for each inner node, or columns that cut the tree at several levels.

Classes that are not below a node are zero in its bit: its learner never sees them. A tree of K classes has K - 1 bits,
and any two classes are separated by exactly one bit that was trained on both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from math import lgamma, log
from typing import Literal

import numpy as np

from codekin._system.messages import counted
from codekin.classes import ClassTree
from codekin.code import Codebook, CodingMatrix, IntArray
from codekin.codebooks.classic import check_parameter, checked_n_bits, checked_n_codewords, fewest_bits

Group = tuple[IntArray, int]
"""Classes that are not split yet, and the node of the class tree above them, or -1."""
Split = tuple[IntArray, IntArray]
MAX_SHUFFLES = 100
"""How often the children of the tree's nodes are shuffled to find a new column."""


def decoc(n_codewords: int, *, class_tree: ClassTree) -> Codebook:
    """One bit per inner node of a class tree, +1 on its left, -1 on its right and 0 elsewhere.

    The discriminant code of Pujol et al. (2006), for a tree that was given or found by clustering instead of by their
    search. A node with more than two children is cut in two as evenly as its children allow.

    Parameters
    ----------
    n_codewords : int
        The number of codewords, at least 2; row ``k`` is for class ``k``.
    class_tree : ClassTree
        A tree of that many classes.

    Returns
    -------
    Codebook
        ``n_codewords - 1`` bits, from the root down.

    References
    ----------
    O. Pujol, P. Radeva and J. Vitrià, "Discriminant ECOC: A Heuristic Method for Application Dependent Design of Error
    Correcting Output Codes", IEEE TPAMI 28(6), 2006.

    Examples
    --------
    >>> tree = ClassTree.from_nested([["cat", "dog"], ["ship"]])
    >>> decoc(3, class_tree=tree).matrix.tolist()
    [[1, 1], [1, -1], [-1, 0]]
    """
    n_codewords = checked_n_codewords(n_codewords, codebook="decoc")
    _check_n_classes(class_tree, n_codewords)
    return Codebook(_as_columns(class_tree.splits(), n_codewords), name="decoc", is_designed=True)


def nested_dichotomies(
    n_codewords: int,
    *,
    split: Literal["random", "balanced"] = "random",
    n_trees: int = 1,
    class_tree: ClassTree | None = None,
    rng: np.random.Generator | int | None = None,
) -> Codebook:
    """One bit per inner node of a random binary tree of the classes, or of several such trees side by side.

    Parameters
    ----------
    n_codewords : int
        The number of codewords, at least 2.
    split : {"random", "balanced"}, default="random"
        With ``"random"`` all binary trees are equally likely (Frank and Kramer, 2004); ``"balanced"`` puts equally many
        classes, up to one, on both sides of every node (Dong et al., 2005), so that no class is far from the root.
    n_trees : int, default=1
        The number of trees. A split that several of them share becomes only one bit.
    class_tree : ClassTree, optional
        Only draw trees that are consistent with this one: classes below one of its nodes stay together, and nodes with
        more than two children are split at random. Row ``k`` is then for class ``k``.
    rng : numpy.random.Generator, int or None, default=None
        The source of randomness, or a seed for one.

    Returns
    -------
    Codebook
        ``n_codewords - 1`` bits for each tree, without repetitions.

    References
    ----------
    E. Frank and S. Kramer, "Ensembles of Nested Dichotomies for Multi-Class Problems", ICML 2004.

    L. Dong, E. Frank and S. Kramer, "Ensembles of Balanced Nested Dichotomies for Multi-class Problems", PKDD 2005.

    Examples
    --------
    >>> nested_dichotomies(8, split="balanced", rng=0)
    <Codebook nested_dichotomies: 8 codewords x 7 bits, minimum distance 1, 57% zeros>
    >>> nested_dichotomies(8, n_trees=5, rng=0)
    <Codebook nested_dichotomies: 8 codewords x 34 bits, minimum distance 8.5, 44% zeros>
    """
    n_codewords = checked_n_codewords(n_codewords, codebook="nested_dichotomies")
    is_known = split in ("random", "balanced")
    check_parameter("nested_dichotomies", "split", split, is_known, "'random' or 'balanced'")
    check_parameter("nested_dichotomies", "n_trees", n_trees, n_trees >= 1, "at least 1")
    if class_tree is not None:
        _check_n_classes(class_tree, n_codewords)
        if n_trees > 1 and class_tree.is_binary:
            raise ValueError(
                f"A binary class tree has only one nested dichotomy: {n_trees} trees would be the same. Use n_trees=1."
            )
    generator = np.random.default_rng(rng)
    # For m leaves, the logarithm of (2m - 3)!! / m!: binary trees of m leaves, per order of the leaves.
    leaves = range(1, n_codewords + 1)
    log_counts = np.array([0.0, *(lgamma(2 * m - 1) - lgamma(m) - (m - 1) * log(2) - lgamma(m + 1) for m in leaves)])

    def left_size(n_groups: int) -> int:
        if split == "balanced":  # half of the groups; the odd one goes to either side
            return int(n_groups // 2 + (n_groups % 2) * generator.integers(2))
        left = np.arange(1, n_groups)
        log_weights = log_counts[left] + log_counts[n_groups - left]
        weights = np.exp(log_weights - log_weights.max())
        return int(generator.choice(left, p=weights / weights.sum()))

    trees = [_random_splits(n_codewords, class_tree, left_size, generator) for _ in range(n_trees)]
    return Codebook(_of_trees(trees, n_codewords), name="nested_dichotomies", is_designed=class_tree is not None)


def ordered_dichotomies(
    n_codewords: int, *, n_trees: int = 1, rng: np.random.Generator | int | None = None
) -> Codebook:
    """Nested dichotomies of ordered classes: every node cuts a range of consecutive classes in two at a random place.

    A split that several of ``n_trees`` trees share becomes only one bit. Hühn and Hüllermeier compare learners on the
    true order of the classes and on random orders: such splits use the order, and the more so the weaker the learner.

    J. C. Hühn and E. Hüllermeier, "Is an Ordinal Class Structure Useful in Classifier Learning?", International Journal
    of Data Mining, Modelling and Management 1(1), 2008.

    >>> ordered_dichotomies(4, rng=0).matrix.tolist()
    [[1, 1, 1], [1, 1, -1], [1, -1, 0], [-1, 0, 0]]
    """
    n_codewords = checked_n_codewords(n_codewords, codebook="ordered_dichotomies")
    check_parameter("ordered_dichotomies", "n_trees", n_trees, n_trees >= 1, "at least 1")
    rng = np.random.default_rng(rng)
    trees = [_ordered_splits(n_codewords, rng) for _ in range(n_trees)]
    return Codebook(_of_trees(trees, n_codewords), name="ordered_dichotomies", is_designed=True)


def _ordered_splits(n_codewords: int, rng: np.random.Generator) -> Iterator[Split]:
    """Cut ranges of classes, the left part before the right one, until every class is on its own."""
    pending = [np.arange(n_codewords)]
    while pending:
        classes = pending.pop()
        if len(classes) > 1:
            left, right = np.split(classes, [int(rng.integers(1, len(classes)))])
            yield left, right
            pending += [right, left]


def _check_n_classes(class_tree: ClassTree, n_codewords: int) -> None:
    if class_tree.n_classes != n_codewords:
        raise ValueError(
            f"A class tree of {n_codewords} classes is needed. Got one with {class_tree.n_classes} classes."
        )


def _as_columns(splits: Iterable[Split], n_codewords: int) -> CodingMatrix:
    matrix = np.zeros((n_codewords, n_codewords - 1), dtype=np.int8)
    for bit, (left, right) in enumerate(splits):
        matrix[left, bit] = 1
        matrix[right, bit] = -1
    return matrix


def _random_splits(
    n_codewords: int, class_tree: ClassTree | None, left_size: Callable[[int], int], rng: np.random.Generator
) -> Iterator[Split]:
    """Split the groups at random, then the classes of each group, until every class is on its own."""
    start: list[Group] = [(np.arange(n_codewords), class_tree.root if class_tree is not None else -1)]
    pending = [start]
    while pending:
        groups = pending.pop()
        if len(groups) > 1:
            shuffled = [groups[i] for i in rng.permutation(len(groups))]
            cut = left_size(len(groups))
            left, right = shuffled[:cut], shuffled[cut:]
            yield np.concatenate([classes for classes, _ in left]), np.concatenate([classes for classes, _ in right])
            pending += [right, left]
        elif len(groups[0][0]) > 1:
            pending.append(_groups_within(groups[0], class_tree))


def _groups_within(group: Group, class_tree: ClassTree | None) -> list[Group]:
    classes, node = group
    if class_tree is None:
        return [(classes[i : i + 1], -1) for i in range(len(classes))]
    below = [(class_tree.classes_below(child), int(child)) for child in class_tree.children(node)]
    own = np.flatnonzero(class_tree.node_of_class == node)
    return [(own, -1)] * len(own) + [group for group in below if len(group[0])]


def _of_trees(trees: Iterable[Iterable[Split]], n_codewords: int) -> CodingMatrix:
    """Each column of some trees once, in the order of first appearance, with +1 as its first entry that is not zero."""
    matrix = np.concatenate([_as_columns(splits, n_codewords) for splits in trees], axis=1)
    first_used = (matrix != 0).argmax(axis=0)
    canonical = matrix * matrix[first_used, np.arange(matrix.shape[1])]
    kept = {column.tobytes(): bit for bit, column in reversed(list(enumerate(canonical.T)))}
    return np.asarray(canonical[:, sorted(kept.values())])


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
    That is the default number of columns; further ones start again with an order in which the children of every node
    are shuffled.

    >>> tree = ClassTree.from_nested([["cat", "dog", "fox"], ["bus", "car", "ship"]])
    >>> tree_levels(6, n_symbols=3, class_tree=tree).matrix[[2, 3, 4, 0, 1, 5]].tolist()  # cat, dog, fox, bus, ...
    [[0, 0], [0, 1], [1, 2], [1, 0], [2, 1], [2, 2]]
    """
    n_codewords = checked_n_codewords(n_codewords, codebook="tree_levels")
    _check_n_classes(class_tree, n_codewords)
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
    return Codebook.of_symbols(matrix, n_symbols, name="tree_levels", is_designed=True)


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
