"""Columns with more than two symbols: margins of the symbols and weights of the columns.

The margin of a symbol is ``log(q p)`` for a predictor with ``q`` symbols: how much more probable than by chance it is.
The margins of a codeword add up to the logarithm of a product of probabilities, and a column that ignores a class adds
nothing, as if by chance.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax, logsumexp
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import _num_samples

from codekin.coding import CodingMatrix, FloatArray, IntArray, Margins

LEAST_PROBABILITY = 1e-3
"""The least probability of a symbol, relative to chance: a forest of a few trees cannot really rule anything out, and
one confident mistake must not outweigh all other columns."""

SMALLEST_WEIGHT, LARGEST_WEIGHT = 0.0, 20.0


def declared_limit(estimator: Any) -> int | None:
    """How many classes a classifier declares it can learn; None if it declares nothing.

    Searched, in this order, in the estimator, the last step of a pipeline and the estimator of a search:
    ``get_inference_config().MAX_NUMBER_OF_CLASSES`` (TabPFN from version 8 on), and the attributes
    ``max_num_classes_``, ``max_num_classes`` and ``max_classes``.
    """
    if hasattr(estimator, "steps"):
        return declared_limit(estimator.steps[-1][1])
    limits = [getattr(estimator, name, None) for name in ("max_num_classes_", "max_num_classes", "max_classes")]
    if hasattr(estimator, "get_inference_config"):
        limits.insert(0, getattr(estimator.get_inference_config(), "MAX_NUMBER_OF_CLASSES", None))
    for limit in limits:
        if isinstance(limit, int | np.integer) and limit >= 2:
            return int(limit)
    inner = getattr(estimator, "estimator", None)
    return None if inner is None or isinstance(inner, str) else declared_limit(inner)


def symbol_margins(predictor: Any, X: Any, known: IntArray, n_symbols: int) -> FloatArray:
    """The margins of all symbols of a column, (n_samples, n_symbols); ``known`` are the symbols of its classes.

    Symbols that the predictor has not seen are as improbable as those that it rules out.
    """
    n_samples, chance = _num_samples(X), 1 / len(known)
    margins = np.full((n_samples, n_symbols), np.log(LEAST_PROBABILITY))
    if len(known) == 1:
        margins[:, known] = 0.0
        return margins
    try:
        probabilities = _probabilities(predictor, X)
    except NotFittedError:
        # partial_fit has not shown this column any sample.
        return np.zeros((n_samples, n_symbols))
    share = LEAST_PROBABILITY * chance
    margins[:, known] = np.log((1 - LEAST_PROBABILITY) * probabilities + share) - np.log(chance)
    return margins


def _probabilities(predictor: Any, X: Any) -> FloatArray:
    """The probabilities of the predictor, or the softmax of its scores if it has none."""
    if hasattr(predictor, "predict_proba"):
        given = np.asarray(predictor.predict_proba(X), dtype=np.float64)
        return np.asarray(given / np.maximum(given.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny))
    scores = np.asarray(predictor.decision_function(X), dtype=np.float64)
    if scores.ndim == 1:
        scores = np.column_stack([np.zeros_like(scores), scores])
    return np.asarray(np.exp(log_softmax(scores, axis=1)))


def column_weights(
    margins: Margins, class_index: IntArray, coding_matrix: CodingMatrix, weights: FloatArray
) -> FloatArray:
    """The weights of the columns that maximise the likelihood of held-out classes; ``margins`` are of held-out samples.

    The probability of a class is proportional to the exponential of its weighted margins, so the loss is convex in the
    weights of the columns. They start at 1 and stay between 0 and 20: they express both how reliable each column is and
    how far the probabilities as a whole can be trusted.
    """
    n_bits = coding_matrix.shape[1]
    by_column = margins.reshape(len(margins), n_bits, -1)
    # The margin of each class in each column, (n_bits, n_samples, n_classes); 0 if the column ignores the class.
    columns = enumerate(coding_matrix.T)
    said = np.stack([by_column[:, j, np.maximum(symbols, 0)] * (symbols >= 0) for j, symbols in columns])
    own = said[:, np.arange(len(margins)), class_index]
    shares = weights / weights.sum()

    def loss_and_gradient(of_column: FloatArray) -> tuple[float, FloatArray]:
        scores = np.einsum("j,jik->ik", of_column, said)
        log_total = logsumexp(scores, axis=1)
        expected = np.einsum("jik,ik->ji", said, np.exp(scores - log_total[:, None]))
        return float(shares @ (log_total - of_column @ own)), (expected - own) @ shares

    bounds = [(SMALLEST_WEIGHT, LARGEST_WEIGHT)] * n_bits
    found = minimize(loss_and_gradient, np.ones(n_bits), jac=True, method="L-BFGS-B", bounds=bounds)
    return np.asarray(found.x)
