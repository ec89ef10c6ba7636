"""Designs from trials of the learner: the best of all columns, and columns for confused classes. Experimental."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from codekin.classes.samples import ColumnTrials
from codekin.code import Codebook, CodingMatrix, FloatArray, IntArray, Margins
from codekin.codebooks.classic import (
    binary_columns,
    checked_n_bits,
    checked_n_codewords,
    dense_n_bits,
    fewest_bits,
    n_binary_columns,
    n_ternary_columns,
)
from codekin.codebooks.designs.columns import column_key
from codekin.codebooks.random import dense_random

MAX_CROSS_VALIDATED = 12
"""With 12 codewords 2,047 columns are learned; each further one doubles them."""
N_STARTS = 10
UNSEPARATED = 1e3
"""What a pair that no column separates costs; all others together cost less than 1."""
MAX_ECOC_ONE = 30
"""Every column takes up to ``K**2`` trials."""


def cross_validated(
    n_codewords: int,
    n_bits: int | None = None,
    *,
    column_trials: ColumnTrials,
    rng: np.random.Generator | int | None = None,
) -> Codebook:
    r"""Every column is learned and cross-validated, and those are chosen that are accurate and keep classes apart.

    With the errors :math:`e_c` of the columns on samples that they did not learn from, the chosen ones minimise

    .. math:: \sum_{u < v} \sqrt{\pi_u \pi_v} \prod_{c : M_{uc} \ne M_{vc}} 2 \sqrt{e_c (1 - e_c)},

    a bound on how often classes of frequency :math:`\pi` would be confused if bits erred independently. Columns are
    exchanged as long as that lowers it, from several random codebooks. :func:`learnable` trains nothing; it is for
    linear bits. Bai et al. maximise separability plus a term for accuracy, with the best features for each column.
    Their abstract does not give the criterion, and we could not read the paper; this one has no weight to choose.

    X. Bai et al., "Learning ECOC Code Matrix for Multiclass Classification with Application to Glaucoma Diagnosis",
    Journal of Medical Systems 40(4), 2016.
    """
    n_codewords = checked_n_codewords(n_codewords, codebook="cross_validated", at_most=MAX_CROSS_VALIDATED)
    n_bits = dense_n_bits(n_bits, n_codewords)
    columns = binary_columns(n_codewords)
    frequency = np.zeros(n_codewords)
    np.add.at(frequency, column_trials.class_index, column_trials.weights)
    chosen = chosen_columns(columns, column_trials.errors(columns), frequency, n_bits, np.random.default_rng(rng))
    return Codebook(columns[:, np.sort(chosen)], name="cross_validated", is_designed=True)


def chosen_columns(
    columns: np.ndarray, errors: FloatArray, frequency: FloatArray, n_bits: int, rng: np.random.Generator
) -> IntArray:
    """The numbers of the best columns that were found; ``columns`` are all there are, in the order of their numbers."""
    first, second = np.triu_indices(len(columns), k=1)
    is_apart = columns[first] != columns[second]
    logs = np.where(is_apart, np.log(2 * np.sqrt(errors * (1 - errors))), 0.0)
    weight = np.sqrt(frequency[first] * frequency[second])
    weight = weight / weight.sum() if weight.any() else np.ones(len(first))
    if n_bits == columns.shape[1]:
        return np.arange(n_bits)
    best, lowest = np.arange(n_bits), np.inf
    for _ in range(N_STARTS):
        start = dense_random(len(columns), n_bits, n_draws=1, rng=rng).matrix
        found, bound = _exchanged(is_apart, logs, weight, _numbers(start, columns))
        if bound < lowest * (1 - 1e-9):
            best, lowest = found, bound
    return best


def _numbers(matrix: np.ndarray, columns: np.ndarray) -> IntArray:
    """Where the columns of a matrix, or their complements, are among all columns, which begin with +1."""
    place = {column.tobytes(): number for number, column in enumerate(np.ascontiguousarray(columns.T))}
    return np.array([place[column.tobytes()] for column in np.ascontiguousarray((matrix * matrix[0]).T)])


def _exchanged(is_apart: np.ndarray, logs: FloatArray, weight: FloatArray, chosen: IntArray) -> tuple[IntArray, float]:
    """Exchange one column after the other for the best other one, until no exchange lowers the bound."""
    chosen, bound = chosen.copy(), np.inf
    while True:
        before = bound
        for place in range(len(chosen)):
            others = np.delete(chosen, place)
            counts = is_apart[:, others].sum(axis=1)[:, None] + is_apart
            factors = weight[:, None] * np.exp(logs[:, others].sum(axis=1)[:, None] + logs)
            bounds = np.where(counts > 0, factors, UNSEPARATED).sum(axis=0)
            bounds[others] = np.inf
            best = int(bounds.argmin())
            if bounds[best] < bounds[chosen[place]] * (1 - 1e-9):
                chosen[place] = best
            bound = float(bounds[chosen[place]])
        if not bound < before * (1 - 1e-9):
            return chosen, bound


def ecoc_one(
    n_codewords: int,
    n_bits: int | None = None,
    *,
    column_trials: ColumnTrials,
    rng: np.random.Generator | int | None = None,
) -> Codebook:
    r"""A short code, to which columns are added that separate the classes it confuses most. Decode it with weights.

    The start is the shortest random code. Then, on samples that the columns did not learn from, the pair of classes
    that is confused most often gets a column of its own: the pair on its two sides, and every other class on the side
    on which it reduces the error of the whole code, or on none. Classes are added, and taken away again, one at a time,
    as long as that helps. Columns count by :math:`\tfrac12 \log((1 - e) / e)`, where ``e`` is their error.

    There are as many bits as classes by default, and at most 30 classes. Every added column takes dozens of trials.
    Pujol et al. extend any code, their own tree (:func:`decoc`) among others, until the error is low enough.

    O. Pujol, S. Escalera and P. Radeva, "An Incremental Node Embedding Technique for Error Correcting Output Codes",
    Pattern Recognition 41(2), 2008.
    """
    n_codewords = checked_n_codewords(n_codewords, codebook="ecoc_one", at_most=MAX_ECOC_ONE)
    n_columns = n_ternary_columns(n_codewords)
    n_bits = checked_n_bits(n_bits, n_codewords, n_columns=n_columns, default=min(n_codewords, n_columns))
    n_first = min(fewest_bits(n_codewords), n_binary_columns(n_codewords))
    ensemble = Ensemble.of(column_trials, dense_random(n_codewords, n_first, rng=rng).matrix)
    while ensemble.matrix.shape[1] < n_bits:
        ensemble = ensemble.extended()
    return Codebook(ensemble.matrix, name="ecoc_one", is_designed=True)


@dataclass(frozen=True, eq=False)
class Ensemble:
    """A code with its margins for the samples, and the distance of every sample to every codeword."""

    trials: ColumnTrials
    matrix: CodingMatrix
    distances: FloatArray  # (n_samples, n_classes)

    @classmethod
    def of(cls, trials: ColumnTrials, matrix: CodingMatrix) -> Ensemble:
        """The ensemble of some columns."""
        return cls(trials, matrix, _distances(trials, matrix, trials.margins(matrix)).sum(axis=2))

    def errors(self, added: FloatArray) -> FloatArray:
        """The share of samples that are wrong with one more column, for each of some columns."""
        totals = self.distances[:, :, None] + added
        is_wrong = totals.argmin(axis=1) != self.trials.class_index[:, None]
        return np.asarray(self.trials.weights @ is_wrong / self.trials.weights.sum())

    def extended(self) -> Ensemble:
        """The ensemble with one more column, for the most confused pair that has one which is not there yet."""
        for pair in self._confused_pairs():
            grown = self._column_for(*pair)
            if grown is not None:
                column, added = grown
                return Ensemble(self.trials, np.column_stack([self.matrix, column]), self.distances + added)
        raise AssertionError("all columns are there")

    def _confused_pairs(self) -> Iterator[tuple[int, int]]:
        n_classes = len(self.matrix)
        confused = np.zeros((n_classes, n_classes))
        np.add.at(confused, (self.trials.class_index, self.distances.argmin(axis=1)), self.trials.weights)
        first, second = np.triu_indices(n_classes, k=1)
        for pair in np.argsort(-(confused + confused.T)[first, second], kind="stable"):
            yield int(first[pair]), int(second[pair])

    def _column_for(self, first: int, second: int) -> tuple[CodingMatrix, FloatArray] | None:
        """The best column with two classes on its two sides, by floating search; None if all are there already."""
        column: CodingMatrix = np.zeros(len(self.matrix), dtype=np.int8)
        column[first], column[second] = 1, -1
        known = {column_key(one) for one in self.matrix.T}
        candidates, reached = [column], np.inf
        lowest, best = np.inf, None
        while candidates:
            columns = np.column_stack(candidates)
            added = _distances(self.trials, columns, self.trials.margins(columns))
            errors = self.errors(added)
            for place, error in enumerate(errors):
                if error < lowest and column_key(candidates[place]) not in known:
                    lowest, best = float(error), (candidates[place], added[:, :, place])
            place = int(errors.argmin())
            if not errors[place] < reached:
                break
            reached = float(errors[place])
            candidates = list(_neighbours(candidates[place], (first, second)))
        return best


def _neighbours(column: CodingMatrix, fixed: tuple[int, int]) -> Iterator[CodingMatrix]:
    """Columns with one class more, on either side, or one less."""
    for k in range(len(column)):
        if k not in fixed:
            for sign in (1, -1) if column[k] == 0 else (0,):
                changed = column.copy()
                changed[k] = sign
                yield changed


def _distances(trials: ColumnTrials, columns: CodingMatrix, margins: Margins) -> FloatArray:
    """The weighted squared difference of each sample's margins and the entries, (n_samples, n_classes, n_columns)."""
    errors = trials.errors(columns, margins)
    weight = np.maximum(np.log((1 - errors) / errors) / 2, 0.0)
    sides = np.clip(margins, -1, 1)[:, None, :]
    return np.asarray(weight * np.abs(columns) * (sides - columns) ** 2)
