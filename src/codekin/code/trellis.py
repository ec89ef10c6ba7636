"""The wide trellis of W-LTLS: a graph with exactly K paths, whose codewords have O(log K) bits.

A bit is an edge; a codeword has +1 on the edges of its path and -1 elsewhere. Paths are numbered in depth-first order,
and everything here (widths, path numbers, codewords, distances) is a closed form in the base-``width`` digits of K,
so that no array of size K is made unless it is requested.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import isqrt
from operator import index
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from codekin._system.arrays import frozen
from codekin.code.codebook import Codebook, GraphCodebook
from codekin.code.types import CodingMatrix, IntArray, RankingConstants

MIN_CODEWORD_LIMIT, CODEWORDS_PER_CLASS = 100_000, 10
"""Limits of the number of codewords, in all and per class: a model needs memory even for those without a class."""


class TrellisCodebook(GraphCodebook):
    """The paths of a trellis."""

    kind = "trellis"
    ranking_constants = RankingConstants((10, 20, 50, 100), n_confused=20, n_confusing_codes=None, rate=0.5)
    widths_to_try = (10, 20, 5, 3, 2)
    graph: TrellisGraph
    orders: ClassVar[Mapping[str, str]] = {**GraphCodebook.orders, "online": "samples"}

    @property
    def trellis(self) -> TrellisGraph:
        """The graph."""
        return self.graph

    @property
    def path_edges(self) -> IntArray:
        return self.graph.unrank(np.arange(self.graph.n_paths))

    def check_spare_codewords(self, n_classes: int) -> None:
        """Raise if most codewords would have no class: two numbers define a huge trellis, but not a model."""
        most = max(MIN_CODEWORD_LIMIT, CODEWORDS_PER_CLASS * n_classes)
        if self.n_codewords > most:
            raise ValueError(
                f"A trellis for {n_classes} classes may have {most:,} codewords. Got {self.n_codewords:,}: "
                "most of them would have no class."
            )

    @property
    def is_ternary(self) -> bool:
        """No edge ignores a class."""
        return False


@dataclass(frozen=True)
class TrellisGraph:
    """The graph of W-LTLS with exactly ``n_paths`` paths from its source to its sink.

    With ``K = n_paths``, ``b = width`` and the digits of ``K = sum_i d_i b**i``, ``i = 0..m``, the vertices are a
    source s, ``m`` slices of ``b`` vertices (i, l), ``d_m`` vertices t_j and a sink T. The edges, in the order of the
    codebook's columns:

    1. s -> (0, l);
    2. (i, l) -> (i + 1, l') for i = 0..m-2, l before l';
    3. (m - 1, l) -> t_j, j before l;
    4. t_j -> T;
    5. shortcuts (i, l) -> T for i = 0..m-1 and l < d_i.

    Paths are ranked in depth-first order, where a vertex's successors come in the order of their numbers and the sink
    (the shortcut) last. A similarity-preserving assignment gives the paths to the classes in this order.

    >>> graph = TrellisGraph(n_paths=5, width=2)
    >>> graph.n_edges, graph.min_distance
    (10, 4)
    >>> graph.codewords(np.array([0, 2]))
    array([[ 1, -1,  1, -1, -1, -1,  1, -1,  1, -1],
           [ 1, -1, -1, -1, -1, -1, -1, -1, -1,  1]], dtype=int8)
    """

    n_paths: int
    width: int

    def __post_init__(self) -> None:
        """Check the two numbers that define the graph."""
        self.__dict__.update(n_paths=index(self.n_paths), width=index(self.width))
        if self.n_paths < 2:
            raise ValueError(f"A trellis needs at least 2 codewords. Got {self.n_paths} instead.")
        if not 2 <= self.width <= self.n_paths:
            raise ValueError(
                f"The width of a trellis must be between 2 and its number of codewords, {self.n_paths}. "
                f"Got {self.width} instead."
            )

    @cached_property
    def digits(self) -> IntArray:
        """The digits d_0..d_m of the number of paths in base ``width``, least significant first."""
        digits, rest = [], self.n_paths
        while rest:
            rest, digit = divmod(rest, self.width)
            digits.append(digit)
        return frozen(np.array(digits, dtype=np.intp))

    @property
    def n_slices(self) -> int:
        """The number of slices m, which is log K to the base ``width``, rounded down."""
        return len(self.digits) - 1

    @property
    def n_vertices(self) -> int:
        """The number of vertices: the source is 0, (i, l) is 1 + i b + l, then come the t_j, and the sink is last."""
        return 2 + self.n_slices * self.width + int(self.digits[-1])

    @cached_property
    def n_edges(self) -> int:
        """The number of edges, which is the number of bits of a codeword."""
        b, m = self.width, self.n_slices
        return b + (m - 1) * b**2 + b * int(self.digits[-1]) + int(self.digits.sum())

    @property
    def min_distance(self) -> int:
        """The smallest Hamming distance between two codewords.

        Two paths that part and meet again differ in at least two edges each, except where one of them is a shortcut and
        the other passes one vertex: (i, l) -> (i + 1, l') -> T or (m - 1, l) -> t_j -> T.
        """
        shortcuts = self.digits[:-1] > 0
        return 3 if shortcuts[-1] or (shortcuts[1:] & shortcuts[:-1]).any() else 4

    @cached_property
    def edges(self) -> IntArray:
        """The vertices that each edge leaves and enters, (n_edges, 2)."""
        b, m, top = self.width, self.n_slices, int(self.digits[-1])
        slices = 1 + np.arange(m * b, dtype=np.intp).reshape(m, b)
        ends = 1 + m * b + np.arange(top, dtype=np.intp)
        sink = self.n_vertices - 1
        pairs = [
            _pairs(np.zeros(1, dtype=np.intp), slices[0]),
            *(_pairs(slices[i], slices[i + 1]) for i in range(m - 1)),
            _pairs(ends, slices[-1])[:, ::-1],
            _pairs(ends, np.array([sink])),
            *(_pairs(slices[i, :digit], np.array([sink])) for i, digit in enumerate(self.digits[:-1])),
        ]
        return frozen(np.concatenate(pairs))

    @cached_property
    def edge_offsets(self) -> IntArray:
        """How many paths leave an edge's source by earlier edges, (n_edges,); their sum over a path is its rank."""
        b, m, top = self.width, self.n_slices, int(self.digits[-1])
        # Block l of the T_i paths into slice i starts after l blocks of T_{i+1}, the first d_i of them one larger.
        starts = [self._paths_left(i + 1) * np.arange(b) + np.minimum(np.arange(b), self.digits[i]) for i in range(m)]
        offsets = [
            starts[0],
            *(np.tile(starts[i], b) for i in range(1, m)),
            np.repeat(np.arange(top), b),
            np.zeros(top, dtype=np.intp),
            *(np.full(int(self.digits[i]), self._paths_left(i + 1)) for i in range(m)),
        ]
        return frozen(np.concatenate(offsets).astype(np.intp))

    def unrank(self, ranks: ArrayLike) -> IntArray:
        """The edges of the paths with these ranks, in their order along the path, padded with -1 after a shortcut."""
        rest = np.asarray(ranks, dtype=np.intp)
        if rest.ndim != 1:
            raise ValueError(f"Ranks must be one-dimensional. Got shape {rest.shape} instead.")
        outside = rest[(rest < 0) | (rest >= self.n_paths)]
        if outside.size:
            raise ValueError(f"Ranks must be between 0 and {self.n_paths - 1}. Got {int(outside[0])} instead.")
        b, m = self.width, self.n_slices
        first_end = b + (m - 1) * b**2
        first_final = first_end + b * int(self.digits[-1])
        first_shortcut = first_final + int(self.digits[-1])
        edges = np.full((len(rest), m + 2), -1, dtype=np.intp)
        is_open = np.ones(len(rest), dtype=bool)
        vertex = np.zeros(len(rest), dtype=np.intp)
        for i in range(m):
            onward, digit = self._paths_left(i + 1), int(self.digits[i])
            in_larger = rest < digit * (onward + 1)
            size = np.where(in_larger, onward + 1, onward)
            block, rest = np.divmod(np.where(in_larger, rest, rest - digit * (onward + 1)), size)
            following = np.where(in_larger, block, block + digit)
            first_edge = following if i == 0 else b + (i - 1) * b**2 + vertex * b + following
            edges[is_open, i] = first_edge[is_open]
            stops = is_open & (rest == onward)
            edges[stops, i + 1] = first_shortcut + following[stops]
            first_shortcut += digit
            is_open &= ~stops
            vertex = following
        edges[is_open, m] = first_end + rest[is_open] * b + vertex[is_open]
        edges[is_open, m + 1] = first_final + rest[is_open]
        return edges

    def codewords(self, ranks: ArrayLike) -> CodingMatrix:
        """The codewords of the paths with these ranks: +1 on the edges of the path, -1 elsewhere."""
        edges = self.unrank(ranks)
        codewords = np.full((len(edges), self.n_edges), -1, dtype=np.int8)
        row, step = np.nonzero(edges >= 0)
        codewords[row, edges[row, step]] = 1
        return codewords

    def _paths_left(self, i: int) -> int:
        """T_i, the number of paths from a vertex before slice i through slice i onward."""
        return int(self.n_paths // self.width**i)


def _pairs(first: IntArray, second: IntArray) -> IntArray:
    """All pairs of the two, those of ``first[0]`` before those of ``first[1]``."""
    return np.stack([np.repeat(first, len(second)), np.tile(second, len(first))], axis=1)


def trellis_codebook(n_codewords: int, width: int | Literal["auto"] = 2, *, n_bits: int | None = None) -> Codebook:
    """The paths of a trellis as codewords: W-LTLS of Evron et al. (2018), which is LTLS at width 2.

    With ``K = n_codewords``, ``b = width`` and ``K = sum_i d_i b**i`` for ``i = 0..m``, a codeword has
    ``b + (m - 1) b**2 + b d_m + sum_i d_i`` bits. A wider trellis has more bits and shorter paths: there are more
    predictors to train and to store, each of them is easier to learn, and more errors are corrected.

    Parameters
    ----------
    n_codewords : int
        The number of codewords, at least 2; it need not be a power of ``width``.
    width : int or "auto", default=2
        The number of vertices in a slice of the graph, from 2 to ``n_codewords``. ``"auto"`` is the widest trellis with
        at most ``n_bits`` bits, and at most the square root of ``n_codewords``, beyond which there are more bits than
        codewords.
    n_bits : int, optional
        The most bits a codeword may have.

    Returns
    -------
    Codebook
        Its ``trellis`` is the graph; its matrix is computed on demand.

    References
    ----------
    I. Evron, E. Moroshko and K. Crammer, "Efficient Loss-Based Decoding on Graphs for Extreme Classification",
    NeurIPS 2018.

    Examples
    --------
    >>> trellis_codebook(12_294, 10)
    <Codebook trellis: 12294 codewords x 338 bits, minimum distance 3>
    >>> trellis_codebook(12_294, "auto", n_bits=150).trellis
    TrellisGraph(n_paths=12294, width=5)
    """
    if width != "auto":
        graph = TrellisGraph(n_codewords, width)
        if n_bits is not None and graph.n_edges > n_bits:
            raise ValueError(
                f"A trellis of width {width} for {n_codewords} codewords has {graph.n_edges} bits, but n_bits is "
                f"{n_bits}. Use width='auto' for the widest one that fits."
            )
        return TrellisCodebook(name="trellis", trellis=graph)
    if n_bits is None:
        raise ValueError("width='auto' needs n_bits, the most bits that a codeword may have.")
    graphs = [TrellisGraph(n_codewords, b) for b in range(2, max(2, isqrt(n_codewords)) + 1)]
    fitting = [graph for graph in graphs if graph.n_edges <= n_bits]
    if not fitting:
        narrowest = min(graphs, key=lambda graph: graph.n_edges)
        raise ValueError(
            f"A trellis for {n_codewords} codewords needs at least {narrowest.n_edges} bits "
            f"(width {narrowest.width}), but n_bits is {n_bits}."
        )
    return TrellisCodebook(name="trellis", trellis=fitting[-1])
