"""What a model makes of samples whose classes are known, some of them at a time."""

from __future__ import annotations

from collections.abc import Iterator
from math import nan
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from codekin._system.stored_rows import StoredRows
from codekin.decoding import Loss
from codekin.measures import binary_losses, multiclass_error_bound, symbol_losses
from codekin.model import Model
from codekin.samples import Samples

MARGINS_PER_BLOCK = 1 << 19
"""How many margins are held at once: four megabytes, some times over."""


def measured(model: Model, loss: Loss, samples: Samples) -> dict[str, Any]:
    """The fields of a report that depend on samples; ``loss`` is that of the bits. Of a tree only the error is told."""
    class_index, n_samples = samples.class_index, len(samples.class_index)
    if model.codebook.tree is not None:
        wrong = [model.predict(block) != class_index[rows] for rows, block in _blocks(samples.X, n_samples, 4096)]
        return {"n_measured": n_samples, "error": float(np.concatenate(wrong).mean())}
    total, n_wrong, n_certified = np.zeros(model.n_bits), 0, 0
    step = max(MARGINS_PER_BLOCK // (model.n_bits * model.codebook.n_symbols // 2), 256)
    for rows, block in _blocks(samples.X, n_samples, step):
        margins = model.margins(block)
        if model.codebook.n_symbols == 2:
            losses = binary_losses(margins, class_index[rows], model.coding_matrix, loss)
        else:
            losses = symbol_losses(margins, class_index[rows], model.code)
        total += losses * len(margins)
        if model.ranking is not None:
            best = model._ranked.candidates(block, margins, 1, model.ranking)
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
        "error_bound": nan if model.decoder.is_learned else multiclass_error_bound(epsilon, model.codebook, loss),
        "error": n_wrong / n_samples,
        "certified_share": n_certified / n_samples if len(model.members) > 1 else nan,
    }


def _blocks(X: Any, n_samples: int, step: int) -> Iterator[tuple[slice, Any]]:
    """Some samples after the others, and which they are."""
    is_stored = isinstance(X, StoredRows)
    if is_stored:
        step = min(step, X.rows_at_once)
    for start in range(0, n_samples, step):
        rows = slice(start, start + step)
        yield rows, X[rows] if is_stored else _safe_indexing(X, rows)
