"""The trellis edge by edge, its paths one by one: what the closed forms must agree with."""

from __future__ import annotations

import numpy as np


def digits_of(number: int, base: int) -> list[int]:
    """Least significant first."""
    return [number] if number < base else [number % base, *digits_of(number // base, base)]


def trellis_edges(n_paths: int, width: int) -> list[tuple[object, object]]:
    """Pairs of vertex names in the order of the codebook's columns."""
    *low, top = digits_of(n_paths, width)
    m = len(low)
    vertices = range(width)
    return [
        *(("source", (0, v)) for v in vertices),
        *(((i, v), (i + 1, w)) for i in range(m - 1) for v in vertices for w in vertices),
        *(((m - 1, v), f"t{j}") for j in range(top) for v in vertices),
        *((f"t{j}", "sink") for j in range(top)),
        *(((i, v), "sink") for i in range(m) for v in range(low[i])),
    ]


def trellis_paths(n_paths: int, width: int) -> list[list[int]]:
    """Every path as a list of edge numbers, depth first; a vertex's way straight to the sink comes last."""
    edges = trellis_edges(n_paths, width)
    leaving: dict[object, list[int]] = {}
    for number, (tail, _) in enumerate(edges):
        leaving.setdefault(tail, []).append(number)

    def paths_from(vertex: object) -> list[list[int]]:
        if vertex == "sink":
            return [[]]
        return [[edge, *rest] for edge in leaving[vertex] for rest in paths_from(edges[edge][1])]

    return paths_from("source")


def trellis_matrix(n_paths: int, width: int) -> np.ndarray:
    """The codebook: +1 on the edges of a path, -1 elsewhere."""
    matrix = np.full((n_paths, len(trellis_edges(n_paths, width))), -1, dtype=np.int8)
    for rank, path in enumerate(trellis_paths(n_paths, width)):
        matrix[rank, path] = 1
    return matrix
