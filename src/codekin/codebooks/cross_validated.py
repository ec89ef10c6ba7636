"""Columns chosen by how well the learner itself does on every one of them."""

from __future__ import annotations

import numpy as np

from codekin.classes.trials import ColumnTrials
from codekin.codebooks.complete import binary_columns
from codekin.codebooks.random import dense_random
from codekin.codebooks.sizes import (
    DENSE_BITS_PER_DOUBLING,
    checked_n_bits,
    checked_n_codewords,
    default_n_bits,
    n_binary_columns,
)
from codekin.coding import Codebook, FloatArray, IntArray

MAX_CROSS_VALIDATED = 12
"""With 12 codewords 2,047 columns are learned; each further one doubles them."""

N_STARTS = 10
UNSEPARATED = 1e3
"""What a pair that no column separates costs; all others together cost less than 1."""


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
    exchanged as long as that lowers it, from several random codebooks.

    Parameters
    ----------
    n_codewords : int
        The number of codewords ``K``, from 2 to 12; row ``k`` is for class ``k``.
    n_bits : int, optional
        The number of bits; by default ``10 log2 K``, rounded up, but not more than the ``2**(K - 1) - 1`` different
        columns that there are.
    column_trials : ColumnTrials
        What the learner makes of columns; :class:`codekin.ECOCClassifier` fills it in.
    rng : numpy.random.Generator or int, optional
        For the starts.

    Returns
    -------
    Codebook

    Notes
    -----
    Bai et al. (2016) maximise the separability of the codewords plus a term for the accuracy of the columns, with the
    best features for each column. Their abstract does not give the criterion, and we could not read the paper; this one
    has no weight to choose. Features are those of the learner. :func:`learnable` trains nothing; it is for linear bits.

    References
    ----------
    X. Bai et al., "Learning ECOC Code Matrix for Multiclass Classification with Application to Glaucoma Diagnosis",
    Journal of Medical Systems 40(4), 2016.
    """
    n_codewords = checked_n_codewords(n_codewords, codebook="cross_validated", at_most=MAX_CROSS_VALIDATED)
    n_columns = n_binary_columns(n_codewords)
    default = default_n_bits(n_codewords, DENSE_BITS_PER_DOUBLING, n_columns=n_columns)
    n_bits = checked_n_bits(n_bits, n_codewords, n_columns=n_columns, default=default)
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
