"""Trees of classes in ONNX's operators: the probabilities of all leaves, and which are candidates of a re-ranking."""

from __future__ import annotations

import numpy as np

from codekin.coding import TreeGraph
from codekin.export.onnx_graph import OnnxGraph

LOWEST = -1e300
"""The margin of a child that a node does not have."""


def leaf_losses(graph: OnnxGraph, tree: TreeGraph, f: str) -> str:
    """Minus the logarithms of the probabilities of all leaves, (n_samples, n_leaves), from margins of double precision.

    The margins of each node become a row of a table as wide as the widest node. A softmax along the rows is then one
    within each node.
    """
    first_bits = tree.first_bits
    n_children = np.diff(first_bits)
    widest = int(n_children.max())
    child = np.arange(widest)
    bits = np.where(child < n_children[:, None], first_bits[:-1, None] + child, tree.n_edges)
    table = graph.columns(graph.with_column(f, LOWEST), bits)
    logs = graph("LogSoftmax", table, axis=2)
    flat = graph("Reshape", logs, graph.constant([-1, bits.size], np.int64))
    place = np.append(np.flatnonzero(bits.ravel() < tree.n_edges), bits.size)  # of each bit, and of none: zero
    return str(graph("Neg", graph.path_sums(flat, place[tree.unrank(np.arange(tree.n_paths))])))


def with_others_behind(graph: OnnxGraph, listed: str, final: str, reach: float) -> str:
    """The final losses of listed classes: those out of reach come behind the candidates, their losses raised.

    ``listed``, ``final``: the losses before and after a re-ranking, the smallest of ``listed`` first.
    """
    is_near = graph("LessOrEqual", listed, graph.add(graph.columns(listed, np.zeros(1)), graph.number(reach)))
    far = graph.number(LOWEST)
    worst = graph("ReduceMax", graph("Where", is_near, final, far), axes=[1], keepdims=1)
    following = graph("ReduceMax", graph("Where", is_near, far, graph("Neg", listed)), axes=[1], keepdims=1)
    raised = graph("Relu", graph.add(worst, following))
    others = graph("Max", graph.add(listed, raised), worst)
    return str(graph("Where", is_near, final, others))
