"""Adding classes later: each gets the free codeword that fits its samples best, and nothing else changes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from codekin.code import Code, FloatArray, IntArray, Margins
from codekin.decoding import Loss
from codekin.model import FittedCode, Model


def grown(model: Model, margins: Margins, new_class: IntArray, places: IntArray, loss: Loss) -> Model:
    """The model with free codewords for new classes; the bits stay as they are.

    - ``margins``, ``new_class``: samples of the new classes, which are numbered from 0.
    - ``places``: the class that each one of the grown model was before; new ones follow the old ones.
    """
    codebook, decoder = model.codebook, model.decoder
    codebook.check_growth()
    codewords = best_free_codewords(model.code, margins, new_class, loss)
    codeword_of_class = np.concatenate([model.assignment.codeword_of_class, codewords])[places]
    code = Code(codebook, replace(model.assignment, codeword_of_class=codeword_of_class))
    own: Any = decoder
    if decoder.is_learned:
        grown_code = FittedCode(
            code, model.bits, own.with_codewords(codebook.indicators_at(codewords)).in_order(places)
        )
    else:
        is_weighted = getattr(own, "is_weighted", False)
        grown_code = FittedCode.of(code, model.bits, decoder.loss, is_weighted=is_weighted)
    return Model((grown_code,), temperature=model.temperature)


def best_free_codewords(code: Code, margins: Margins, new_class: IntArray, loss: Loss) -> IntArray:
    """A free codeword for each new class, such that the sum of the classes' mean decoding losses is minimal.

    Each row of ``margins`` is a sample of one of the new classes, which ``new_class`` numbers from 0.
    """
    codebook, free, n_new = code.codebook, code.free_codewords, int(new_class.max()) + 1
    if len(free) < n_new:
        needs = (
            "1 new class needs a free codeword" if n_new == 1 else f"{n_new} new classes need as many free codewords"
        )
        raise ValueError(
            f"{needs}. Got {len(free)} among the {codebook.n_codewords} of the codebook. "
            "Train again with more reserved codewords."
        )
    costs = _mean_losses(codebook.indicators_at(free).astype(np.float64), margins, new_class, loss)
    return free[linear_sum_assignment(costs)[1]]


def _mean_losses(codewords: FloatArray, margins: Margins, new_class: IntArray, loss: Loss) -> FloatArray:
    """The mean loss of each codeword over the samples of each new class: per bit there are three losses to average."""
    counts = np.bincount(new_class)
    means = []
    for bit in (1.0, -1.0):
        total = np.zeros((len(counts), margins.shape[1]))
        np.add.at(total, new_class, loss(bit * margins.astype(np.float64)))
        means.append(total / counts[:, None])
    of_zeros = float(loss(np.zeros(1))[0]) * (codewords == 0).sum(axis=1)
    positive, negative = (codewords > 0).astype(np.float64), (codewords < 0).astype(np.float64)
    return np.asarray(means[0] @ positive.T + means[1] @ negative.T + of_zeros)
