"""Codewords of more than two symbols, numbered from 0: one predictor of several classes per column."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from codekin.code.code import Assignment
from codekin.code.codebook import MAX_SYMBOLS, Codebook, first_outside
from codekin.code.geometry import codeword_distances
from codekin.code.types import CodingMatrix, FloatArray, IntArray, Margins


class SymbolCodebook(Codebook):
    """The rows of a matrix with entries from 0 to ``n_symbols - 1``, and -1 where a column ignores a class."""

    kind = "symbols"
    has_log_odds = False
    unit = "column"
    zeros = "ignored"
    ignored = -1
    has_symbol_margins = True
    error_scale = 1.0

    def _checked(self, given: NDArray[Any]) -> CodingMatrix:
        place = first_outside(~np.isin(given, range(-1, self.n_symbols)))
        if place is not None:
            raise ValueError(
                f"The entries of a codebook must be from 0 to {self.n_symbols - 1}, or -1 for classes that a column "
                f"ignores. Got {given[place]} in row {place[0]}, column {place[1]}."
            )
        return np.array(given, dtype=np.int8 if self.n_symbols <= MAX_SYMBOLS else np.int16, order="C")

    def loss_of_margins(self, natural_loss: str) -> str:  # noqa: ARG002
        """Margins are logarithms of probabilities, which are added."""
        return "log_likelihood"

    @classmethod
    def entries_to_tell_apart(cls, column: CodingMatrix) -> IntArray:
        """The symbols of a column, in increasing order."""
        symbols = np.unique(column)
        return np.asarray(symbols[symbols != cls.ignored], dtype=np.intp)

    @classmethod
    def constant_sign(cls, entry: int) -> int:  # noqa: ARG003
        """Symbols have no sign."""
        return 1

    @property
    def parameters(self) -> dict[str, Any]:
        return {"n_symbols": self.n_symbols}

    def constant_bits(self, assignment: Assignment) -> NDArray[np.bool_]:
        """Which columns have a single symbol for all classes that they use."""
        has_symbol = (self.indicators_of(self.coding_matrix(assignment)) > 0).any(axis=0)
        return np.asarray(has_symbol.reshape(self.n_bits, -1).sum(axis=1) < 2)

    @property
    def n_margins(self) -> int:
        """The number of margins of a sample, one per symbol of each column."""
        return self.n_bits * self.n_symbols

    def indicators_of(self, codewords: CodingMatrix) -> CodingMatrix:
        """One column per symbol of each column, in order: 1 if the row has the symbol; all 0 if it has -1."""
        hot = codewords[:, :, None] == np.arange(self.n_symbols)
        return np.asarray(hot.reshape(len(codewords), -1), dtype=np.int8)

    def row_distances(self, *, zero_pair: float = 0.0) -> FloatArray:
        """The number of columns that differ: see :meth:`Codebook.row_distances`."""
        self._check_pairs()
        distances = codeword_distances(self.indicators, self.indicators)
        is_ignored = (self.matrix < 0).astype(np.float64)
        return distances + zero_pair * (is_ignored @ is_ignored.T) if zero_pair else distances

    def _are_used(self, codewords: CodingMatrix) -> NDArray[np.bool_]:
        return np.asarray(codewords >= 0)

    def _canonical(self, matrix: CodingMatrix) -> list[bytes]:
        """The columns as sorted bytes, their symbols numbered in the order of first appearance."""
        columns = []
        for column in matrix.T:
            symbols, first, place = np.unique(column, return_index=True, return_inverse=True)
            first[symbols < 0] = -1  # ignored classes stay ignored and come first
            rank = np.argsort(np.argsort(first)) - int(symbols[0] < 0)
            columns.append(rank[place].astype(np.int16).tobytes())
        return sorted(columns)

    @property
    def column_correlations(self) -> FloatArray:
        """Cramér's V of every two columns, 0 if one of them is constant on the classes they share."""
        shape = self.n_bits, self.n_symbols
        counts = self.indicators.T.astype(np.float64) @ self.indicators
        tables = counts.reshape(*shape, *shape).transpose(0, 2, 1, 3)
        rows, columns = tables.sum(axis=3), tables.sum(axis=2)
        expected = rows[..., :, None] * columns[..., None, :]
        chi = (tables**2 / np.where(expected > 0, expected, 1)).sum(axis=(2, 3)) - 1
        freedom = np.minimum((rows > 0).sum(axis=2), (columns > 0).sum(axis=2)) - 1
        return np.asarray(np.sqrt(np.clip(chi, 0, None) / np.maximum(freedom, 1)) * (freedom > 0), dtype=np.float64)

    @property
    def _symbol_counts(self) -> IntArray:
        return np.asarray(self.indicators.sum(axis=0, dtype=np.intp).reshape(self.n_bits, -1))

    def bit_losses(
        self,
        margins: Margins,
        codewords: CodingMatrix,
        class_index: IntArray,
        loss: Callable[[Any], Any],  # noqa: ARG002
    ) -> FloatArray:
        """The mean of minus the log-probability of each column's true symbol; for ignored classes that of chance.

        Weights of calibrated columns sharpen or flatten their probabilities, which add up to 1 again.
        """
        from scipy.special import logsumexp

        indicators, shape = self.indicators_of(codewords), (len(margins), self.n_bits, self.n_symbols)
        own = (indicators[class_index] * np.asarray(margins, dtype=np.float64)).reshape(shape).sum(axis=2)
        totals = logsumexp(np.where(indicators.any(axis=0), margins, -np.inf).reshape(shape), axis=2)
        return np.asarray((totals - own).mean(axis=0))

    def error_bound(self, average_loss: float, loss: Callable[[Any], Any]) -> float:  # noqa: ARG002
        """The bound on the training error, where ``L(0)`` is ``log 2``."""
        return float(self.n_bits * average_loss / (self.min_distance * np.log(2)))

    def text(self, codeword: ArrayLike) -> str:
        """The numbers of the symbols, a minus sign where the class is ignored."""
        return " ".join("-" if entry < 0 else str(int(entry)) for entry in np.asarray(codeword))

    @classmethod
    def entries(cls, text: str) -> list[Any]:
        return [-1 if symbol == "-" else int(symbol) for symbol in text.split(" ")]

    def _shape_text(self) -> str:
        return f"{super()._shape_text()} of {self.n_symbols} symbols"
