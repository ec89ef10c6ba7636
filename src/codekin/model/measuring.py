"""How good a fitted model is on samples: the losses of its bits, the error bound, the error, calibration."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import nan
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp
from sklearn.utils import _safe_indexing

from codekin._system.stored_rows import StoredRows
from codekin.coding import Code, Codebook, CodingMatrix, FloatArray, IntArray, Margins
from codekin.coding.codebook import is_real
from codekin.decoding import Loss
from codekin.model import Model
from codekin.samples import Samples

MARGINS_PER_BLOCK = 1 << 19
"""How many margins a block has: 4 MB in double precision, of which there are several copies."""
N_BINS = 15
"""Of the confidence, for the expected calibration error."""


def measured(model: Model, loss: Loss, samples: Samples) -> dict[str, Any]:
    """The fields of a report that depend on samples, only the error for a tree; ``loss`` is that of the bits.

    Samples of class -1, which the model does not know, are errors; bits have no losses for them.
    """
    class_index, n_samples = samples.class_index, len(samples.class_index)
    if model.codebook.tree is not None:
        wrong = [model.predict(block) != class_index[rows] for rows, block in _blocks(samples.X, n_samples, 4096)]
        return {"n_measured": n_samples, "error": float(np.concatenate(wrong).mean())}
    total, n_wrong, n_certified = np.zeros(model.n_bits), 0, 0
    step = max(MARGINS_PER_BLOCK // (model.n_bits * model.codebook.n_symbols // 2), 256)
    for rows, block in _blocks(samples.X, n_samples, step):
        margins, known = model.margins(block), np.flatnonzero(class_index[rows] >= 0)
        own = margins if len(known) == len(margins) else margins[known], class_index[rows][known]
        if len(known):
            is_binary = model.codebook.n_symbols == 2
            losses = binary_losses(*own, model.coding_matrix, loss) if is_binary else symbol_losses(*own, model.code)
            total += losses * len(known)
        if model.ranking is not None:
            best = model._ranked.candidates(block, margins, 1, model.ranking)
            n_wrong += int((best.classes[:, 0] != class_index[rows]).sum())
            n_certified += int(best.is_certified.sum())
        else:
            n_wrong += int((model.decoder.decode(margins) != class_index[rows]).sum())
    n_known = int((class_index >= 0).sum())
    bit_losses = total / n_known if n_known else np.zeros(0)
    epsilon = float(bit_losses.mean()) if n_known else nan
    bound = nan if model.decoder.is_learned else multiclass_error_bound(epsilon, model.codebook, loss)
    return {
        "n_measured": n_samples,
        "bit_losses": bit_losses,
        "average_binary_loss": epsilon,
        "error_bound": (bound * n_known + n_samples - n_known) / n_samples,
        "error": n_wrong / n_samples,
        "certified_share": n_certified / n_samples if len(model.members) > 1 else nan,
    }


def _blocks(X: Any, n_samples: int, step: int) -> Iterator[tuple[slice, Any]]:
    """The samples in blocks of about ``step``, with their rows."""
    is_stored = isinstance(X, StoredRows)
    if is_stored:
        step = min(step, X.rows_at_once)
    for start in range(0, n_samples, step):
        rows = slice(start, start + step)
        yield rows, X[rows] if is_stored else _safe_indexing(X, rows)


def binary_losses(
    margins: Margins, class_index: IntArray, coding_matrix: CodingMatrix, loss: Callable[[Any], Any]
) -> FloatArray:
    """The mean loss of each bit over the samples, whose mean is epsilon (Eq. 3); zeros of a codeword cost ``L(0)``.

    That of a real bit is the square of what is missing to its target, which for -1 and +1 is the squared loss.
    """
    if is_real(coding_matrix):
        return np.asarray(np.square(coding_matrix[class_index] - np.asarray(margins, dtype=np.float64)).mean(axis=0))
    return np.asarray(loss(coding_matrix[class_index] * np.asarray(margins, dtype=np.float64)).mean(axis=0))


def symbol_losses(margins: Margins, class_index: IntArray, code: Code) -> FloatArray:
    """The mean of minus the log-probability of each column's true symbol; for ignored classes that of chance.

    Weights of calibrated columns sharpen or flatten their probabilities, which add up to 1 again.
    """
    indicators, shape = code.indicators, (len(margins), code.n_bits, code.n_symbols)
    own = (indicators[class_index] * np.asarray(margins, dtype=np.float64)).reshape(shape).sum(axis=2)
    totals = logsumexp(np.where(indicators.any(axis=0), margins, -np.inf).reshape(shape), axis=2)
    return np.asarray((totals - own).mean(axis=0))


def multiclass_error_bound(average_loss: float, codebook: Codebook, loss: Callable[[Any], Any]) -> float:
    """The bound ``n_bits * epsilon / (rho * L(0))`` on the training error (Eq. 4; Allwein et al. 2000, Theorem 1).

    Here ``rho`` is the minimum distance in which a pair of zeros counts one half; only codewords that classes use
    matter. The bound holds for convex losses (and some others). Above 1 it says nothing; if ``L(0)`` is 0, it is
    infinite.

    For more than two symbols ``L(0)`` is ``log 2``: in a column in which two codewords differ, the probabilities of
    their symbols add up to at most 1, so that one of them has a loss of at least ``log 2``.

    For real codewords it follows from the triangle inequality: margins that are nearer to another codeword than to
    their own are at least half as far from their own as the two codewords are from each other, and the square of that
    half is the distance of the codewords here.
    """
    rho = codebook.min_distance
    if codebook.n_symbols > 2:
        return float(codebook.n_bits * average_loss / (rho * np.log(2)))
    at_zero = float(loss(np.zeros(1))[0])
    if codebook.is_ternary:
        distances = codebook.row_distances(zero_pair=0.5)
        rho = float(distances[~np.eye(len(distances), dtype=bool)].min())
    return codebook.n_bits * average_loss / (rho * at_zero) if at_zero > 0 else float("inf")


def confidence_error(confidence: FloatArray, is_right: NDArray[np.bool_]) -> float:
    """The expected calibration error: the mean difference between confidence and accuracy (Guo et al. 2017).

    Samples are grouped by the probability of their predicted class into bins of equal width.
    """
    bins = np.minimum((confidence * N_BINS).astype(np.intp), N_BINS - 1)
    gaps = np.bincount(bins, weights=confidence - is_right)
    return float(np.abs(gaps).sum() / len(is_right))
