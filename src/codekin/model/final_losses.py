"""The loss that a class is ranked by, for one class per sample, without those of all others where that is possible."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from codekin.coding import FloatArray, IntArray
from codekin.model import Model
from codekin.samples import rows_at

NUMBERS_AT_ONCE = 1 << 20
"""How many losses are held at once where those of all classes are needed."""


def final_losses(model: Model, X: Any, class_index: IntArray) -> tuple[FloatArray, FloatArray, NDArray[np.bool_]]:
    """The loss that one class per sample is ranked by, how far it is raised, and whether a re-ranking rescored it."""
    n_samples = len(class_index)
    losses, raised, is_candidate = np.empty(n_samples), np.zeros(n_samples), np.zeros(n_samples, dtype=bool)
    others = np.arange(n_samples)
    if model.ranking is not None:
        margins, ranked = model.lazy_margins(X), model.ranked
        best = ranked.rescored(X, margins, model.ranking)
        found, place = np.nonzero(best.classes == class_index[:, None])
        losses[found] = best.losses[found, place] + ranked.constant_losses(margins)[found, 0]
        is_candidate[found] = True
        others = np.flatnonzero(~is_candidate)
    step = max(NUMBERS_AT_ONCE // max(model.n_classes, model.n_bits), 1)
    for start in range(0, len(others), step):
        rows = others[start : start + step]
        wanted, some = class_index[rows][:, None], rows_at(X, rows)
        losses[rows] = _code_losses(model, some, wanted)
        if model.ranking is not None:
            every = ranked.class_losses(some, model.lazy_margins(some), model.ranking)
            final = np.take_along_axis(every, wanted, axis=1)[:, 0]
            losses[rows], raised[rows] = final, final - losses[rows]
    return losses, raised, is_candidate


def _code_losses(model: Model, X: Any, wanted: IntArray) -> FloatArray:
    """The decoding losses of one class per sample, added over the members; ``wanted`` has shape (n_samples, 1)."""
    parts = zip(model.members, model.lazy_margins(X), strict=True)
    losses = [member.decoder.losses_of(margins, wanted)[:, 0] for member, margins in parts]
    return np.asarray(sum(losses, np.zeros(len(wanted))))
