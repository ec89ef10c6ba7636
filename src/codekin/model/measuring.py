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
    """The fields of a report that depend on samples; only the error if margins are lazy. ``loss`` is the bits' own."""
    class_index, n_samples = samples.class_index, len(samples.class_index)
    if model.codebook.is_lazy:
        wrong = [model.predict(block) != class_index[rows] for rows, block in _blocks(samples.X, n_samples, 4096)]
        return {"n_measured": n_samples, "error": float(np.concatenate(wrong).mean())}
    total, n_wrong, n_certified = np.zeros(model.n_bits), 0, 0
    step = max(MARGINS_PER_BLOCK // (model.n_bits * model.codebook.n_symbols // 2), 256)
    for rows, block in _blocks(samples.X, n_samples, step):
        margins = model.margins(block)
        total += model.codebook.bit_losses(margins, model.coding_matrix, class_index[rows], loss) * len(margins)
        if model.ranking is not None:
            best = model.ranked.candidates(block, np.split(margins, len(model.members), axis=1), 1, model.ranking)
            n_wrong += int((best.classes[:, 0] != class_index[rows]).sum())
            n_certified += int(best.is_certified.sum())
        else:
            n_wrong += int((model.decoder.decode(margins) != class_index[rows]).sum())
    bit_losses = total / n_samples
    epsilon = float(bit_losses.mean())
    return {
        "n_measured": n_samples,
        "bit_losses": bit_losses,
        "average_binary_loss": epsilon,
        "error_bound": nan if model.decoder.is_learned else model.codebook.error_bound(epsilon, loss),
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
