"""Groups of classes as answers: the nodes of a taxonomy, where no single class is sure, and in prediction sets.

The probability of a node is the sum of those of its classes, so that of a node is never below that of a node below it.
A sample is answered with the smallest group that is probable enough. A prediction set takes the probable classes one
by one, the most probable first; whenever these are more than a few nodes, the two neighbours whose common node adds the
fewest classes become that node. A longer list of classes has a set of nodes that holds the shorter one's, so the score
of a true class, that of the class with which the set first holds it, can be calibrated as without a taxonomy.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from codekin._system.rows import n_samples_in
from codekin.classes import ClassTree
from codekin.code import FloatArray, IntArray
from codekin.model.model import NUMBERS_AT_ONCE, Model
from codekin.progress import report
from codekin.samples import rows_at

MOST_NODES = 3
"""Of a prediction set."""
N_NAMED = 3
"""How many of its classes name a group without a name."""


class ClassGroup(str):
    """Several classes as one answer, called by the name of their node.

    Parameters
    ----------
    name : str
        What it is called.
    labels : ndarray
        The labels of its classes.
    """

    labels: NDArray[Any]

    def __new__(cls, name: str, labels: NDArray[Any]) -> ClassGroup:
        """The name as text that knows its labels."""
        group = super().__new__(cls, name)
        group.labels = labels
        return group

    def __reduce__(self) -> Any:
        """As a name and its labels."""
        return ClassGroup, (str(self), self.labels)


@dataclass(frozen=True, eq=False)
class AnswerTree:
    """A taxonomy whose nodes are answers; every class has a leaf of its own.

    Answers are numbered: first the classes, then the nodes; -1 is none, as is the node of all classes.
    """

    tree: ClassTree
    labels: NDArray[Any] = field(repr=False)

    @classmethod
    def of(cls, tree: ClassTree, class_labels: NDArray[Any]) -> AnswerTree:
        """From any class tree: a class on an inner node gets a leaf below it."""
        is_inner = np.isin(tree.node_of_class, tree.parent)
        n_nodes, n_new = tree.n_nodes, int(is_inner.sum())
        node_of_class = tree.node_of_class.copy()
        node_of_class[is_inner] = np.arange(n_nodes, n_nodes + n_new)
        parent = np.concatenate([tree.parent, tree.node_of_class[is_inner]])
        labels = (None,) * n_nodes if tree.labels is None else tree.labels
        return cls(ClassTree(parent, node_of_class, None, (*labels, *(None,) * n_new)), class_labels)

    @classmethod
    def of_model(cls, model: Model, labels: NDArray[Any]) -> AnswerTree:
        """From the order of the classes in the code, in which similar ones are neighbours: halved again and again."""
        if model.codebook.kind not in ("tree", "trellis"):
            raise ValueError(
                "The taxonomy 'model' needs a code on a tree or a trellis, which has an order of the classes. "
                "Got a model with another code; give a taxonomy."
            )
        order = np.argsort(model.assignment.codeword_of_class, kind="stable")
        parent, spans, node_of_class = [-1], [(0, len(order))], np.empty(len(order), dtype=np.intp)
        for node, (start, stop) in enumerate(spans):  # which grows
            if stop - start == 1:
                node_of_class[order[start]] = node
                continue
            parent += [node, node]
            spans += [(start, (start + stop) // 2), ((start + stop) // 2, stop)]
        return cls(ClassTree(parent, node_of_class), labels)

    @classmethod
    def of_prefixes(cls, labels: NDArray[Any]) -> AnswerTree:
        """From labels such as the codes of the ICD, whose first letters are groups."""
        names = [str(label) for label in labels.tolist()]
        ordered = sorted(names)
        n_shared = [next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
                    for a, b in pairwise(ordered)]  # fmt: skip
        groups = dict.fromkeys(name[:k] for name, n in zip(ordered, n_shared, strict=False) for k in range(n + 1))
        node = {group: number for number, group in enumerate(sorted({"", *groups}))}
        parent = [-1 if not group else node[group[:-1]] for group in node]
        above = [max(k for k in range(len(name) + 1) if name[:k] in node) for name in names]
        parent += [node[name[:k]] for name, k in zip(names, above, strict=True)]
        called = [f"{group}..." if group else None for group in node]
        return cls(ClassTree(parent, np.arange(len(node), len(parent)), None, [*called, *names]), labels)

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return self.tree.n_classes

    @cached_property
    def spans(self) -> list[tuple[int, int]]:
        """The places of each node's classes in depth-first order."""
        return [(start, stop) for start, stop in self.tree.class_spans.tolist()]

    @cached_property
    def _by_size(self) -> IntArray:
        """The nodes with some but not all classes, the smallest first; of equal ones, the deepest."""
        sizes, position = np.diff(self.tree.class_spans, axis=1)[:, 0], np.argsort(self.tree.preorder)
        order = np.lexsort((-position, sizes))
        return np.asarray(order[(sizes[order] > 0) & (sizes[order] < self.n_classes)])

    @cached_property
    def names(self) -> NDArray[Any]:
        """What each answer is called, and last None: labels and groups of them."""
        labels = self.labels
        ordered, known = labels[self.tree.class_order()], {str(label) for label in labels.tolist()}
        names: list[Any] = labels.tolist()
        for (start, stop), given in zip(self.spans, self.tree.labels or [None] * self.tree.n_nodes, strict=True):
            own = ordered[start:stop]
            name = "" if given is None else " ".join(str(given).split())
            if not name:
                first = ", ".join(" ".join(str(label).split()) for label in own[:N_NAMED].tolist())
                name = f"{first} and {len(own) - N_NAMED:,} more" if len(own) > N_NAMED else first
            names.append(ClassGroup(f"{name} and below" if name in known else name, own))
        every = np.empty(len(names) + 1, dtype=object)
        every[:-1] = names
        return every

    def sure(self, model: Model, X: Any, least: FloatArray) -> tuple[IntArray, FloatArray]:
        """The smallest sure groups, (n_samples, n_least), for each probability that counts as sure; and how sure."""
        nodes, order = self._by_size, self.tree.class_order()
        start, stop = self.tree.class_spans[nodes].T
        as_answer = np.where(stop - start == 1, order[start], self.n_classes + nodes)
        found = np.full((n_samples_in(X), len(least)), -1, dtype=np.intp)
        probabilities = np.zeros(found.shape)
        for first, logs in _blocks(model, X):
            # Differences of rounded running sums are as ordered as the sums themselves.
            sums = np.cumsum(np.exp(logs[:, order]), axis=1)
            sums = np.concatenate([np.zeros((len(sums), 1)), sums], axis=1)
            for row, of_places in enumerate(sums, first):
                shares = np.minimum(of_places[stop] - of_places[start], 1.0)
                enough = np.flatnonzero(shares >= least.min())
                if len(enough):
                    own, sizes = shares[enough], (stop - start)[enough]
                    by_rank = np.lexsort((-own, sizes))
                    is_sure = own[by_rank] >= least[:, None]
                    place = enough[by_rank[is_sure.argmax(axis=1)]]
                    is_any = is_sure.any(axis=1)
                    found[row] = np.where(is_any, as_answer[place], -1)
                    probabilities[row] = np.where(is_any, shares[place], 0)
        return found, probabilities

    def holds(self, answers: IntArray, class_index: IntArray) -> NDArray[np.bool_]:
        """Whether answers, of any shape (n_samples, ...), hold the class of their sample; that may be -1."""
        place = np.append(np.argsort(self.tree.class_order()), -1)[class_index]
        place = place.reshape(len(class_index), *[1] * (answers.ndim - 1))
        node = np.where(answers < self.n_classes, self.tree.node_of_class[np.minimum(answers, self.n_classes - 1)],
                        answers - self.n_classes)  # fmt: skip
        start, stop = np.moveaxis(self.tree.class_spans[node], -1, 0)
        return np.asarray((answers >= 0) & (start <= place) & (place < stop))

    def scores(self, model: Model, X: Any, class_index: IntArray) -> FloatArray:
        """The log-probability of the class with which each sample's set first holds the true class."""
        place = np.append(np.argsort(self.tree.class_order()), -1)[class_index]
        found = np.full(len(class_index), -np.inf)
        for first, logs in _blocks(model, X):
            for row, own in enumerate(logs, first):
                if class_index[row] < 0:
                    continue
                listed = np.flatnonzero(own >= own[class_index[row]])
                listed = listed[np.argsort(-own[listed], kind="stable")]
                for number, nodes in self._covers(listed):
                    if any(start <= place[row] < stop for start, stop, _ in nodes):
                        found[row] = own[listed[number]]
                        break
        return found

    def sets(self, model: Model, X: Any, largest: np.float32) -> Iterator[IntArray]:
        """The answers that hold the classes with scores up to the largest, at least the best one; best first."""
        order = self.tree.class_order()
        for _, logs in _blocks(model, X):
            for own in logs:
                listed = np.flatnonzero((-own).astype(np.float32) <= largest)
                listed = listed[np.argsort(-own[listed], kind="stable")] if len(listed) else own.argmax(keepdims=True)
                *_, (_, nodes) = self._covers(listed)
                shares = [-np.exp(own[order[start:stop]]).sum() for start, stop, _ in nodes]
                answers = [order[start] if stop - start == 1 else self.n_classes + node for start, stop, node in nodes]
                yield np.array(answers)[np.argsort(shares, kind="stable")]

    def _covers(self, listed: IntArray) -> Iterator[tuple[int, list[tuple[int, int, int]]]]:
        """Sets of nodes that hold more and more of the listed classes: the number of the last class, and the nodes."""
        spans, parent, node_of_class = self.spans, self.tree.parent, self.tree.node_of_class
        places, left = np.argsort(self.tree.class_order())[listed], np.arange(len(listed))
        nodes: list[tuple[int, int, int]] = []
        while len(left):
            node = int(node_of_class[listed[left[0]]])
            insort(nodes, (*spans[node], node))
            while len(nodes) > MOST_NODES:
                joined = []
                for one, other in pairwise(nodes):
                    node = one[2]
                    while spans[node][1] < other[1]:
                        node = int(parent[node])
                    start, stop = spans[node]
                    n_held = sum(end - begin for begin, end, _ in nodes if start <= begin and end <= stop)
                    joined.append((stop - start - n_held, start, stop, node))
                _, start, stop, node = min(joined)
                nodes = [each for each in nodes if each[1] <= start or each[0] >= stop]
                insort(nodes, (start, stop, node))
            yield int(left[0]), nodes
            is_held = np.zeros(len(left), dtype=bool)
            for start, stop, _ in nodes:
                is_held |= (places[left] >= start) & (places[left] < stop)
            left = left[~is_held]


def _blocks(model: Model, X: Any) -> Iterator[tuple[int, FloatArray]]:
    """The log-probabilities of all classes for some samples at a time, and the number of the first of these."""
    n_samples, at_once = n_samples_in(X), max(NUMBERS_AT_ONCE // model.n_classes, 1)
    for start in range(0, n_samples, at_once):
        report("adding up probabilities", start, n_samples, unit="samples")
        yield start, model.log_proba(rows_at(X, np.arange(start, min(start + at_once, n_samples))))
