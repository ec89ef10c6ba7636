"""What a codebook needs to know about the graph whose paths are its codewords; see ``codekin.codebooks``."""

from __future__ import annotations

from typing import Protocol

from numpy.typing import ArrayLike

from codekin.coding.types import CodingMatrix, IntArray


class Graph(Protocol):
    """What a codebook needs to know about either."""

    @property
    def n_paths(self) -> int: ...
    @property
    def n_edges(self) -> int: ...
    @property
    def width(self) -> int: ...
    @property
    def min_distance(self) -> int: ...
    def unrank(self, ranks: ArrayLike) -> IntArray: ...
    def codewords(self, ranks: ArrayLike) -> CodingMatrix: ...


class Trellis(Graph, Protocol):
    """What a codebook needs to know about a trellis."""

    @property
    def digits(self) -> IntArray: ...
    @property
    def edge_offsets(self) -> IntArray: ...


class Tree(Graph, Protocol):
    """What a codebook needs to know about a tree of classes."""

    @property
    def n_nodes(self) -> int: ...
    @property
    def depth(self) -> int: ...
    @property
    def spans(self) -> IntArray: ...
    @property
    def first_bits(self) -> IntArray: ...
    @property
    def bit_starts(self) -> IntArray: ...
    @property
    def children(self) -> IntArray: ...
