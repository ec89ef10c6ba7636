"""What codebooks share whose codewords are the paths of a graph: two numbers define them, and their matrix is lazy."""

from __future__ import annotations

from functools import cached_property
from operator import index
from typing import Any, ClassVar, NamedTuple, Protocol, cast

import numpy as np
from numpy.typing import ArrayLike

from codekin._system.arrays import frozen
from codekin.coding.code import Code
from codekin.coding.codebook import Codebook
from codekin.coding.types import CodingMatrix, IntArray


class Graph(Protocol):
    """A graph whose paths from its source to its sink are numbered."""

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


class RankingConstants(NamedTuple):
    """What suits a re-ranking of the best paths, found on validation samples of several data sets.

    - ``candidate_numbers``: the numbers of candidates per code to try.
    - ``n_confused``: from how many other candidates a sample's class is separated while class vectors are learned.
    - ``n_confusing_codes``: how many codes list these; None means all.
    - ``rate``: the share of a Newton step while class vectors are learned.
    - ``reaches``: how much larger than the smallest loss that of a candidate may be, to try; empty means without limit.
    """

    candidate_numbers: tuple[int, ...]
    n_confused: int
    n_confusing_codes: int | None
    rate: float
    reaches: tuple[float, ...] = ()


class GraphCodebook(Codebook):
    """The paths of a graph, whose edges are the bits."""

    is_in_order = True
    graph: Graph
    ranking_constants: ClassVar[RankingConstants]

    def _take(self, given: Any) -> None:
        self.graph = given
        self.width = int(given.width)

    @cached_property
    def matrix(self) -> CodingMatrix:
        """The codewords as rows, (n_codewords, n_bits), read-only."""
        return frozen(self.graph.codewords(np.arange(self.graph.n_paths, dtype=np.intp)))

    @property
    def n_codewords(self) -> int:
        """The number of codewords."""
        return self.graph.n_paths

    @property
    def n_bits(self) -> int:
        """The number of edges."""
        return self.graph.n_edges

    def codewords(self, indices: ArrayLike) -> CodingMatrix:
        """The codewords at ``indices``, without computing the others."""
        if "matrix" in self.__dict__:
            return super().codewords(indices)
        return self.graph.codewords(np.asarray(indices, dtype=np.intp))

    @cached_property
    def min_distance(self) -> float:
        """The minimum distance between two codewords, in closed form."""
        return float(self.graph.min_distance)

    def _distance_text(self) -> str:
        return f", minimum distance {self.min_distance:g}"


def graph_of(code: Code) -> Any:
    """The graph whose paths are the codewords of a code."""
    return cast("GraphCodebook", code.codebook).graph


def settle_size(graph: Any, what: str) -> None:
    """Make the two sizes of a frozen graph integers; an error if it has too few paths."""
    for name in ("n_paths", "width"):
        object.__setattr__(graph, name, index(getattr(graph, name)))
    if graph.n_paths < 2:
        raise ValueError(f"A {what} needs at least 2 codewords. Got {graph.n_paths} instead.")
