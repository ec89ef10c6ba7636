"""A small builder of ONNX graphs, and trees of classes and the decoding losses in ONNX's operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from codekin.coding.tree import TreeGraph

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

    def with_others_behind(self, listed: str, final: str, reach: float) -> str:
        """The final losses of listed classes: those out of reach come behind the candidates, their losses raised.

        ``listed``, ``final``: the losses before and after a re-ranking, the smallest of ``listed`` first.
        """
        is_near = self("LessOrEqual", listed, self.add(self.columns(listed, np.zeros(1)), self.number(reach)))
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
