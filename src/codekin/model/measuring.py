"""How good a fitted model is on samples: the losses of its bits, the error bound, the error, calibration."""

from __future__ import annotations

from collections.abc import Iterator
from math import nan
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from codekin._system.stored_rows import StoredRows
from codekin.coding import FloatArray
from codekin.decoding import Loss
from codekin.model import Model
from codekin.samples import Samples

MARGINS_PER_BLOCK = 1 << 19
"""How many margins a block has: 4 MB in double precision, of which there are several copies."""
N_BINS = 15
"""Of the confidence, for the expected calibration error."""


def measured(model: Model, loss: Loss, samples: Samples) -> dict[str, Any]:
    """The fields of a report that depend on samples, only the error if margins are lazy; ``loss`` is that of the bits.

    Samples of class -1, which the model does not know, are errors; bits have no losses for them.
    """
    class_index, n_samples = samples.class_index, len(samples.class_index)
    if model.codebook.is_lazy:
        wrong = [model.predict(block) != class_index[rows] for rows, block in _blocks(samples.X, n_samples, 4096)]
        return {"n_measured": n_samples, "error": float(np.concatenate(wrong).mean())}
    total, n_wrong, n_certified = np.zeros(model.n_bits), 0, 0
    step = max(MARGINS_PER_BLOCK // (model.n_bits * model.codebook.n_symbols // 2), 256)
    for rows, block in _blocks(samples.X, n_samples, step):
        margins, known = model.margins(block), np.flatnonzero(class_index[rows] >= 0)
        own = margins if len(known) == len(margins) else margins[known]
        if len(known):
            losses = model.codebook.bit_losses(own, model.coding_matrix, class_index[rows][known], loss)
            total += losses * len(known)
        if model.ranking is not None:
            best = model.ranked.candidates(block, np.split(margins, len(model.members), axis=1), 1, model.ranking)
            n_wrong += int((best.classes[:, 0] != class_index[rows]).sum())
            n_certified += int(best.is_certified.sum())
        else:
            n_wrong += int((model.decoder.decode(margins) != class_index[rows]).sum())
    n_known = int((class_index >= 0).sum())
    bit_losses = total / n_known if n_known else np.zeros(0)
    epsilon = float(bit_losses.mean()) if n_known else nan
    bound = nan if model.decoder.is_learned else model.codebook.error_bound(epsilon, loss)
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


def confidence_error(confidence: FloatArray, is_right: NDArray[np.bool_]) -> float:
    """The expected calibration error: the mean difference between confidence and accuracy (Guo et al. 2017).

    Samples are grouped by the probability of their predicted class into bins of equal width.
    """
    bins = np.minimum((confidence * N_BINS).astype(np.intp), N_BINS - 1)
    gaps = np.bincount(bins, weights=confidence - is_right)
    return float(np.abs(gaps).sum() / len(is_right))
