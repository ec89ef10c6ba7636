"""What codebooks share whose codewords are the paths of a graph: two numbers define them, and their matrix is lazy."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from codekin._system.arrays import frozen
from codekin.code.code import Assignment
from codekin.code.codebook import Codebook
from codekin.code.types import CodingMatrix, IntArray


class RankingConstants(NamedTuple):
    """What suits a re-ranking of the best paths, found on validation samples of several data sets.

    The numbers of candidates per code to try; from how many other candidates a sample's class is separated while class
    vectors are learned, how many codes list these (None means all), and the share of a Newton step; how much larger
    than the smallest loss that of a candidate may be, to try (none means no limit).
    """

    candidate_numbers: tuple[int, ...]
    n_confused: int
    n_confusing_codes: int | None
    rate: float
    loss_gaps: tuple[float, ...] = ()


class GraphCodebook(Codebook):
    """The paths of a graph, whose edges are the bits."""

    ranking_constants: ClassVar[RankingConstants]
    widths_to_try: ClassVar[tuple[int, ...]] = ()
    """The widths besides the default that a search within a budget tries, in this order."""

    def _take(self, given: Any) -> None:
        self.graph = given
        self.n_codewords, self.n_bits, self.width = int(given.n_paths), int(given.n_edges), int(given.width)

    @cached_property
    def matrix(self) -> CodingMatrix:
        return frozen(self.graph.codewords(np.arange(self.graph.n_paths, dtype=np.intp)))

    def codewords(self, indices: ArrayLike) -> CodingMatrix:
        if "matrix" in self.__dict__:
            return super().codewords(indices)
        return np.asarray(self.graph.codewords(np.asarray(indices, dtype=np.intp)))

    def _similar_order(self) -> IntArray:
        """Paths with numbers close to each other share most of their edges."""
        return np.arange(self.n_codewords)

    @cached_property
    def min_distance(self) -> float:
        """The minimum distance between two codewords, in closed form."""
        return float(self.graph.min_distance)

    def constant_bits(self, assignment: Assignment) -> NDArray[np.bool_]:  # noqa: ARG002
        """None count: it is fine if all paths share an edge."""
        return np.zeros(self.n_bits, dtype=bool)

    @property
    def work(self) -> int:
        """The time to learn this code, in units of the time to learn a bit."""
        return self.n_bits

    def least_bytes(self, n_features: int) -> int:  # noqa: ARG002
        """The bytes on disk of a code without any weights."""
        return 0

    def _distance_text(self) -> str:
        return f", minimum distance {self.min_distance:g}"
