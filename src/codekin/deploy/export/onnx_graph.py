"""A small builder of ONNX graphs, and the losses of all classes in ONNX's operators, by the kind of the code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from codekin.code.tree import TreeGraph
from codekin.decoding.learned import FARTHEST, SUM_DIGITS, WEIGHT_DIGITS

OPSET, IR_VERSION = 17, 8
"""Old enough for the runtimes of several years."""
DOUBLE, FLOAT, INT32 = 11, 1, 6
"""ONNX's numbers of the types."""
LOWEST = -1e300
"""The margin of a child that a node does not have."""


class OnnxGraph:
    """Nodes and constants; every method returns the name of a value."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, value: Any, dtype: Any = None) -> str:
        """An array that is stored in the model."""
        from onnx import numpy_helper

        array = np.ascontiguousarray(np.asarray(value, dtype=dtype)) if np.ndim(value) else np.asarray(value, dtype)
        name = f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def number(self, value: float) -> str:
        """A double-precision number."""
        return self.constant(value, np.float64)

    def __call__(self, operator: str, *inputs: str, n: int = 1, **attributes: Any) -> Any:
        """The output, or the outputs, of an operator."""
        from onnx import helper

        names = [f"{operator.lower()}_{len(self.nodes)}_{i}" for i in range(n)]
        self.nodes.append(helper.make_node(operator, inputs, names, **attributes))
        return names[0] if n == 1 else names

    def add(self, a: str, b: str) -> str:
        """``a + b``."""
        return str(self("Add", a, b))

    def times(self, a: str, factor: float) -> str:
        """``factor * a``."""
        return a if factor == 1 else str(self("Mul", a, self.number(factor)))

    def clipped(self, a: str, limit: float) -> str:
        """``a`` between ``-limit`` and ``limit``."""
        return str(self("Min", self("Max", a, self.number(-limit)), self.number(limit)))

    def total(self, a: str) -> str:
        """The sum of each row, as a column."""
        return str(self("ReduceSum", a, self.constant([1], np.int64), keepdims=1))

    def columns(self, a: str, which: NDArray[Any] | str) -> str:
        """Columns of ``a``: the same for all rows if ``which`` is an array, each row's own if it is a value."""
        if isinstance(which, str):
            return str(self("GatherElements", a, which, axis=1))
        return str(self("Gather", a, self.constant(which, np.int64), axis=1))

    def with_column(self, a: str, value: float) -> str:
        """``a`` with one more column, which holds a finite value."""
        nothing = self("Mul", self.columns(a, np.zeros(1)), self.number(0.0))
        return str(self("Concat", a, self.add(nothing, self.number(value)), axis=1))

    def path_sums(self, a: str, columns: NDArray[Any]) -> str:
        """The sums of some columns of ``a``: sum ``i`` is that of ``columns[i]``, one more than the last being zero."""
        padded, sums = self.with_column(a, 0.0), ""
        for column in columns.T:
            own = self.columns(padded, column)
            sums = self.add(sums, own) if sums else own
        return sums

    def rounded(self, a: str, n_digits: int) -> str:
        """Rows rounded to binary digits of their largest number, so that sums of them are exact in any order."""
        largest = self("Max", self("ReduceMax", self("Abs", a), axes=[1], keepdims=1), self.number(1e-300))
        exponent = self("Ceil", self("Div", self("Log", largest), self.number(float(np.log(2)))))
        step = self("Pow", self.number(2.0), self("Sub", exponent, self.number(n_digits)))
        return str(self("Mul", self("Round", self("Div", a, step)), step))

    def best(self, losses: str, k: int) -> tuple[str, str]:
        """The k smallest losses of each row and their columns; the lower column first among equals."""
        values, places = self("TopK", losses, self.constant([k], np.int64), n=2, axis=1, largest=0, sorted=1)
        return str(values), str(places)

    def leaf_losses(self, tree: TreeGraph, f: str) -> str:
        """Minus the log-probabilities of all leaves, (n_samples, n_leaves), from margins of double precision.

        The margins of each node become a row of a table as wide as the widest node, along which the softmax is taken.
        """
        first_bits, n_children = tree.first_bits, np.diff(tree.first_bits)
        child = np.arange(int(n_children.max()))
        bits = np.where(child < n_children[:, None], first_bits[:-1, None] + child, tree.n_edges)
        table = self.columns(self.with_column(f, LOWEST), bits)
        logs = self("LogSoftmax", table, axis=2)
        flat = self("Reshape", logs, self.constant([-1, bits.size], np.int64))
        place = np.append(np.flatnonzero(bits.ravel() < tree.n_edges), bits.size)  # of each bit, and of none: zero
        return str(self("Neg", self.path_sums(flat, place[tree.unrank(np.arange(tree.n_paths))])))

    def with_others_behind(self, listed: str, final: str, max_loss_gap: float) -> str:
        """The final losses of listed classes: those out of reach come behind the candidates, their losses raised.

        ``listed``, ``final``: the losses before and after a re-ranking, the smallest of ``listed`` first.
        """
        is_near = self("LessOrEqual", listed, self.add(self.columns(listed, np.zeros(1)), self.number(max_loss_gap)))
        far = self.number(LOWEST)
        worst = self("ReduceMax", self("Where", is_near, final, far), axes=[1], keepdims=1)
        following = self("ReduceMax", self("Where", is_near, far, self("Neg", listed)), axes=[1], keepdims=1)
        raised = self("Relu", self.add(worst, following))
        others = self("Max", self.add(listed, raised), worst)
        return str(self("Where", is_near, final, others))


Formula = Callable[[OnnxGraph, str], str]


def _hinge(g: OnnxGraph, z: str) -> str:
    return str(g("Relu", g("Sub", g.number(1.0), z)))


def _logistic(g: OnnxGraph, z: str) -> str:
    rest = g("Log", g.add(g.number(1.0), g("Exp", g("Neg", g("Abs", z)))))
    return g.add(g("Relu", g("Neg", z)), rest)


def _exponential_agreement(g: OnnxGraph, f: str) -> str:
    growth = g("Exp", g.clipped(f, 20.0))
    return g.times(g("Sub", growth, g("Reciprocal", growth)), 0.5)


def _squared_hinge_agreement(g: OnnxGraph, f: str) -> str:
    beyond = g("Sub", f, g.clipped(f, 1.0))
    return g.add(g.times(f, 2.0), g.times(g("Mul", beyond, g("Abs", beyond)), 0.5))


def _square(g: OnnxGraph, a: str) -> str:
    return str(g("Mul", a, a))


LOSSES_OF: dict[str, tuple[Formula, Formula]] = {
    "hinge": (_hinge, lambda g, f: g.times(g.add(f, g.clipped(f, 1.0)), 0.5)),
    "squared_hinge": (lambda g, z: _square(g, _hinge(g, z)), _squared_hinge_agreement),
    "exponential": (lambda g, z: str(g("Exp", g("Neg", g.clipped(z, 20.0)))), _exponential_agreement),
    "logistic": (_logistic, lambda g, f: g.times(f, 0.5)),
    "squared": (lambda g, z: _square(g, g("Sub", g.number(1.0), z)), lambda g, f: g.times(f, 2.0)),
    "linear": (lambda g, z: g.times(g("Sub", g.number(1.0), z), 0.5), lambda g, f: g.times(f, 0.5)),
    "log_likelihood": (lambda g, z: str(g("Neg", z)), lambda _, f: f),
    "hamming": (
        lambda g, z: g.times(g("Sub", g.number(1.0), g("Sign", z)), 0.5),
        lambda g, f: g.times(g("Sign", f), 0.5),
    ),
}
"""For every decoding loss, the loss and the evidence of a margin: :mod:`codekin.decoding.losses`."""


@dataclass(frozen=True, eq=False)
class ClassLosses:
    """The losses of all classes in a graph, one column each.

    - ``classes``: the class of each column; earlier columns win ties.
    - ``losses``: up to ``constant``, which is the same for all classes of a sample.
    - ``logs``: the logarithms of the probabilities.
    - ``max_loss_gap``: how much larger than the smallest loss that of a candidate for re-ranking may be.
    """

    classes: NDArray[Any]
    losses: str
    logs: str
    constant: str | None = None
    max_loss_gap: float = np.inf


def _of_leaves(graph: OnnxGraph, model: Any, f: str) -> ClassLosses:
    """The losses of all leaves of a tree."""
    losses = graph.leaf_losses(model.codebook.tree, f)
    logs = graph("Neg", graph.leaf_losses(model.codebook.tree, graph.times(f, 1 / model.temperature)))
    max_loss_gap = np.inf if model.ranking is None else model.ranking.max_loss_gap
    return ClassLosses(_by_codeword(model), losses, logs, max_loss_gap=max_loss_gap)


def _of_paths(graph: OnnxGraph, model: Any, f: str) -> ClassLosses:
    """The losses of all paths of a trellis that have a class."""
    trellis, classes = model.codebook.trellis, _by_codeword(model)
    edges = trellis.unrank(model.assignment.codeword_of_class[classes])

    def losses_under(decoder: Any) -> str:
        lengths = graph.times(LOSSES_OF[decoder.loss.name][1](graph, f), -2.0)
        # From the last edge to the first, as codekin adds them.
        return graph.path_sums(lengths, np.where(edges < 0, trellis.n_edges, edges)[:, ::-1])

    losses = losses_under(model.decoder)
    others = losses if model.probability_decoder is None else losses_under(model.probability_decoder)
    logs = graph("LogSoftmax", graph.times(others, -1 / model.temperature), axis=1)
    constant = graph.total(LOSSES_OF[model.decoder.loss.name][0](graph, graph("Neg", f)))
    return ClassLosses(classes, losses, logs, constant)


def _by_codeword(model: Any) -> NDArray[np.intp]:
    """The classes in the order of their paths, by which ties are broken."""
    return np.argsort(model.assignment.codeword_of_class, kind="stable")


def _of_signs(graph: OnnxGraph, model: Any, f: str) -> ClassLosses:
    """The losses of the rows of a coding matrix."""
    losses, constant = _matrix_losses(graph, model.decoder, f)
    others, _ = _matrix_losses(graph, model.probability_decoder or model.decoder, f)
    logs = graph("LogSoftmax", graph("Neg", others), axis=1)
    return ClassLosses(np.arange(model.n_classes), losses, logs, constant)


def _of_targets(graph: OnnxGraph, model: Any, f: str) -> ClassLosses:
    """The squared distances to real codewords."""
    return _of_scores(graph, model, model.decoder.linear, f, graph.total(graph("Mul", f, f)))


def of_learned_decoder(graph: OnnxGraph, model: Any, f: str) -> ClassLosses:
    """Losses under weights that a decoder has learned, whatever the code."""
    return _of_scores(graph, model, model.decoder, f)


def _of_scores(graph: OnnxGraph, model: Any, scored: Any, f: str, constant: str | None = None) -> ClassLosses:
    """The losses that are minus linear scores of the evidence of the bits, whose weights ``scored`` has."""
    scores = _linear_scores(graph, scored, LOSSES_OF[model.decoder.loss.name][1](graph, f))
    logs = graph("LogSoftmax", scores, axis=1)
    return ClassLosses(np.arange(model.n_classes), graph("Neg", scores), logs, constant)


WRITERS: dict[str, Callable[[OnnxGraph, Any, str], ClassLosses] | str] = {
    "signs": _of_signs,
    "symbols": "Only codes of two symbols can be exported to ONNX.",
    "targets": _of_targets,
    "trellis": _of_paths,
    "tree": _of_leaves,
}
"""Maps the kind of a codebook to what adds the losses of a model to a graph, from the name of its margins."""


def _linear_scores(graph: OnnxGraph, decoder: Any, values: str) -> str:
    """The scores of all classes under some weights."""
    scores = graph.add(_exact_product(graph, values, decoder.weights), graph.constant(decoder.biases))
    products = decoder.products
    if products is None:
        return scores
    standard = graph("Div", graph("Sub", values, graph.constant(products.means)), graph.constant(products.scales))
    near = graph.clipped(standard, FARTHEST)
    first, second = np.triu_indices(len(products.means))
    pairs = graph("Mul", graph.columns(near, first), graph.columns(near, second))
    return graph.add(scores, _exact_product(graph, pairs, products.weights))


def _exact_product(graph: OnnxGraph, values: str, weights: NDArray[np.float64]) -> str:
    n_digits = SUM_DIGITS - WEIGHT_DIGITS - int(weights.shape[1]).bit_length()
    return str(graph("MatMul", graph.rounded(values, n_digits), graph.constant(weights.T)))


def _matrix_losses(graph: OnnxGraph, decoder: Any, f: str) -> tuple[str, str]:
    """The losses of all classes up to a constant of the sample, and that constant."""
    loss, agreement = LOSSES_OF[decoder.loss.name]
    bits = decoder.coding_matrix.astype(np.float64)
    is_ternary = bool((bits == 0).any())
    even = graph.times(graph.add(loss(graph, f), loss(graph, graph("Neg", f))), 0.5)
    left, factor = agreement(graph, f), -bits.T
    n_used = np.maximum((bits != 0).sum(axis=1), 1).astype(np.float64)
    if is_ternary:
        left, factor = graph("Concat", left, even, axis=1), np.vstack([factor, np.abs(bits.T)])
    every = graph("MatMul", graph.rounded(left, SUM_DIGITS - (len(factor) - 1).bit_length()), graph.constant(factor))
    if decoder.is_weighted:
        every = graph("Div", every, graph.constant(n_used))
    elif is_ternary:
        zeros = (bits == 0).sum(axis=1) * float(decoder.loss(np.zeros(1))[0])
        every = graph.add(every, graph.constant(zeros))
    constant = graph.times(graph.total(even), 0.0 if is_ternary else 1 / bits.shape[1] if decoder.is_weighted else 1.0)
    return every, constant
