"""Files about classes: taxonomies, matrices of class distances, and codebooks; errors name the file and the line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from codekin._system.messages import shortened
from codekin.classes import ClassTree, DenseDistances
from codekin.code import FloatArray
from codekin.data.blocks import Source, source_name, text_lines
from codekin.data.datasets import DataError

TaxonomyLayout = Literal["edges", "paths"]


def read_taxonomy(
    source: Source, *, classes: Sequence[Any] | np.ndarray[Any, Any] | None = None, layout: TaxonomyLayout = "edges"
) -> ClassTree:
    r"""The class tree in a taxonomy file.

    Parameters
    ----------
    source : path, "-" or binary stream
        The file in UTF-8, plain or compressed with gzip. Names are separated by spaces or, in lines with a tab, by
        tabs, so that names may contain spaces. Blank lines and lines that begin with ``#`` are skipped. Children keep
        their order; several trees are joined under an unnamed root.
    classes : array-like of shape (n_classes,), optional
        ``classes[k]`` is the label of class ``k`` and the name of its node. Branches without any class are removed. By
        default, the classes are the leaves in sorted order.
    layout : {"edges", "paths"}, default="edges"
        What a line holds: a parent and its child, or all names on the path from the root to a leaf.

    Returns
    -------
    ClassTree

    Examples
    --------
    >>> import io
    >>> tree = read_taxonomy(io.BytesIO(b"thing animal\nthing ship\nanimal dog\nanimal cat\n"))
    >>> tree.class_labels
    ('cat', 'dog', 'ship')
    >>> tree.path_length(0, 2)
    array(3.)
    """
    if layout not in ("edges", "paths"):
        raise ValueError(f"'layout' must be 'edges' or 'paths'. Got {layout!r} instead.")
    name = source_name(source)
    parent_of: dict[str, str] = {}
    lines: list[int] = []  # those of the edges in parent_of, in the same order
    alone: list[str] = []
    for line, fields in _lines(source):
        if len(fields) != 2 and layout == "edges":
            raise DataError(name, f"a line holds a parent and a child. Got {len(fields)} names instead.", line=line)
        if "" in fields:
            raise DataError(name, "there is nothing between two tabs where a name should be.", line=line)
        if len(fields) == 1:
            alone.append(fields[0])
        for parent, child in pairwise(fields):
            if parent == child:
                raise DataError(name, f"{shortened(child)!r} cannot be its own parent.", line=line)
            known = parent_of.setdefault(child, parent)
            if len(lines) < len(parent_of):
                lines.append(line)
            elif known != parent or layout == "edges":
                first = dict(zip(parent_of, lines, strict=True))[child]
                reason = f"{shortened(child)!r} has a second parent, {shortened(parent)!r}; "
                reason += f"in line {first} it is below {shortened(known)!r}."
                reason = f"this edge is already in line {first}." if known == parent else reason
                raise DataError(name, reason, line=line)
    _check_no_cycle(parent_of, lines, name)
    tops = dict.fromkeys(node for node in (*parent_of.values(), *alone) if node not in parent_of)
    top_edges = [] if len(tops) == 1 else [(None, node) for node in tops]
    edges = [*top_edges, *((parent, child) for child, parent in parent_of.items())]
    if not edges:
        raise DataError(name, "there are no edges in it.")
    if classes is None:
        return ClassTree.from_edges(edges)
    wanted = [str(label) for label in np.asarray(classes).tolist()]
    missing = [label for label in wanted if label not in parent_of and label not in tops]
    if missing:
        example = repr(shortened(missing[0]))
        many = f"{len(missing)} classes are not in the taxonomy, the first of them {example}."
        raise DataError(name, f"class {example} is not in the taxonomy." if len(missing) == 1 else many)
    tree = ClassTree.from_edges(edges, classes=wanted)
    leaves = (parent_of.keys() | tops.keys()) - set(parent_of.values())
    return tree if leaves <= set(wanted) else tree.restricted_to(np.arange(tree.n_classes))


def _lines(source: Source) -> Iterator[tuple[int, list[str]]]:
    """The number and the names of each line that has any."""
    for number, line in text_lines(source):
        # Only ASCII whitespace separates: other whitespace may be part of a name.
        content = line.strip(" \t\r")
        if content and content[0] != "#":
            tabbed = "\t" in content
            fields = content.split("\t" if tabbed else " ")
            yield number, [f.strip(" \r") for f in fields] if tabbed else [f for f in fields if f]


def _check_no_cycle(parent_of: dict[str, str], lines: list[int], name: str) -> None:
    is_safe: set[str] = set()
    for node in parent_of:
        way: dict[str, None] = {}
        at = node
        while at in parent_of and at not in is_safe:
            if at in way:
                line_of_child = dict(zip(parent_of, lines, strict=True))
                cycle = list(way)[list(way).index(at) :]
                last = max(cycle, key=lambda member: line_of_child[member])
                start = cycle.index(last)
                names = [shortened(member) for member in cycle[start:] + cycle[:start]]
                shown = [*(names if len(names) <= 5 else [*names[:2], "...", *names[-2:]]), names[0]]
                raise DataError(name, f"this edge closes a cycle: {' below '.join(shown)}.", line=line_of_child[last])
            way[at] = None
            at = parent_of[at]
        is_safe.update(way)


def read_matrix(source: Source) -> tuple[FloatArray, tuple[str, ...] | None]:
    r"""A matrix of numbers, and the labels of its rows if the file has them.

    The file is in UTF-8, plain or compressed with gzip. The entries of a row are separated by commas, tabs or spaces,
    whichever the first row has. If the first entry of the first row is not a number, the row holds the labels of the
    columns, after an arbitrary first entry, and every further row begins with its label, as pandas writes it. Blank
    rows, and rows that begin with ``#``, are skipped.

    >>> import io
    >>> read_matrix(io.BytesIO(b",cat,dog\ncat,0,1.5\ndog,1.5,0\n"))
    (array([[0. , 1.5],
           [1.5, 0. ]]), ('cat', 'dog'))
    """
    matrix, labels, _ = _table(source, source_name(source))
    return matrix, labels


def read_distances(source: Source) -> tuple[DenseDistances, tuple[str, ...]]:
    r"""A matrix of class distances, and the labels of the classes.

    The file has the format of :func:`read_matrix`. If it has labels, those of rows and columns must be the same in the
    same order; if it has none, the classes are called 0, 1, ...

    >>> import io
    >>> read_distances(io.BytesIO(b"0 2\n2 0\n"))[1]
    ('0', '1')
    """
    name = source_name(source)
    matrix, labels, columns = _table(source, name)
    try:
        distances = DenseDistances(matrix)
    except ValueError as error:
        raise DataError(name, str(error)) from error
    if labels is None:
        return distances, tuple(str(k) for k in range(len(matrix)))
    if labels != columns:
        k = next(k for k, pair in enumerate(zip(labels, columns or (), strict=True)) if pair[0] != pair[1])
        raise DataError(
            name,
            f"rows and columns must be the same classes in the same order. Row {k + 1} is {shortened(labels[k])!r}, "
            f"column {k + 1} is {shortened((columns or ())[k])!r}.",
        )
    return distances, labels


def _table(source: Source, name: str) -> tuple[FloatArray, tuple[str, ...] | None, tuple[str, ...] | None]:
    """The numbers, the labels of the rows and those of the columns."""
    rows: list[list[float]] = []
    labels: list[str] = []
    columns: list[str] | None = None
    separator: str | None = None
    n_entries = 0
    for line, text in text_lines(source):
        if not text.strip() or text.startswith("#"):
            continue
        if not n_entries:
            separator = next((mark for mark in (",", "\t") if mark in text), None)
        fields = [field.strip() for field in text.strip("\r\n ").split(separator)]
        if not n_entries:
            n_entries = len(fields)
            if not _is_number(fields[0]):
                columns = fields[1:]
                continue
        if len(fields) != n_entries:
            raise DataError(name, f"{len(fields)} entries, but the rows before have {n_entries}.", line=line)
        if columns is not None:
            labels.append(fields.pop(0))
        wrong = next((field for field in fields if not _is_number(field)), None)
        if wrong is not None:
            raise DataError(name, f"{shortened(wrong)!r} is not a number.", line=line)
        rows.append([float(field) for field in fields])
    if not rows:
        raise DataError(name, "there are no rows in it.")
    if len(set(labels)) < len(labels):
        twice = next(label for label in labels if labels.count(label) > 1)
        raise DataError(name, f"the label {shortened(twice)!r} is given to two rows.")
    if columns is None:
        return np.array(rows), None, None
    return np.array(rows), tuple(labels), tuple(columns)


def _is_number(field: str) -> bool:
    return re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", field) is not None
