"""What a codebook or a fitted model is worth: losses of the bits, the error bound, calibration."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from codekin.coding import Codebook, CodingMatrix, FloatArray, IntArray, Margins


def binary_losses(
    margins: Margins, class_index: IntArray, coding_matrix: CodingMatrix, loss: Callable[[Any], Any]
) -> FloatArray:
    """The mean loss of each bit over the samples; zeros of a codeword contribute ``L(0)``.

    Parameters
    ----------
    margins : array of shape (n_samples, n_bits)
    class_index : array of shape (n_samples,)
    coding_matrix : array of shape (n_classes, n_bits)
    loss : callable
        A function of ``z = bit * margin``.

    Returns
    -------
    ndarray of shape (n_bits,)
    """
    return np.asarray(loss(coding_matrix[class_index] * np.asarray(margins, dtype=np.float64)).mean(axis=0))


def average_binary_loss(
    margins: Margins, class_index: IntArray, coding_matrix: CodingMatrix, loss: Callable[[Any], Any]
) -> float:
    """The average binary loss epsilon, the mean of :func:`binary_losses` over the bits (Eq. 3 of the paper).

    Parameters
    ----------
    margins : array of shape (n_samples, n_bits)
    class_index : array of shape (n_samples,)
    coding_matrix : array of shape (n_classes, n_bits)
    loss : callable
        A function of ``z = bit * margin``.

    Returns
    -------
    float
    """
    return float(binary_losses(margins, class_index, coding_matrix, loss).mean())


def multiclass_error_bound(average_loss: float, codebook: Codebook, loss: Callable[[Any], Any]) -> float:
    """The bound ``n_bits * epsilon / (rho * L(0))`` on the training error (Eq. 4; Allwein et al. 2000, Theorem 1).

    Here ``rho`` is the minimum distance in which a pair of zeros counts one half. The bound holds for convex losses
    (and some others); above 1 it says nothing.

    Parameters
    ----------
    average_loss : float
        The average binary loss on the training samples.
    codebook : Codebook
        The codebook; only the codewords that classes use matter.
    loss : callable
        The decoding loss.

    Returns
    -------
    float
        Infinite for a loss with ``L(0) = 0``.
    """
    at_zero = float(loss(np.zeros(1))[0])
    rho = codebook.min_distance
    if codebook.is_ternary:
        distances = codebook.row_distances(zero_pair=0.5)
        rho = float(distances[~np.eye(len(distances), dtype=bool)].min())
    return codebook.n_bits * average_loss / (rho * at_zero) if at_zero > 0 else float("inf")


def expected_calibration_error(probabilities: FloatArray, class_index: IntArray, *, n_bins: int = 15) -> float:
    """How far, on average, the confidence of the predicted class is from its accuracy (Guo et al. 2017).

    Parameters
    ----------
    probabilities : array of shape (n_samples, n_classes)
    class_index : array of shape (n_samples,)
        The true classes.
    n_bins : int, default=15
        Samples are grouped by confidence into bins of equal width.

    Returns
    -------
    float
        Between 0 (calibrated) and 1.

    Examples
    --------
    >>> expected_calibration_error(np.array([[0.8, 0.2], [0.8, 0.2]]), np.array([0, 1]))  # doctest: +ELLIPSIS
    0.3...
    """
    confidence = probabilities.max(axis=1)
    is_right = probabilities.argmax(axis=1) == class_index
    bins = np.minimum((confidence * n_bins).astype(np.intp), n_bins - 1)
    gaps = np.bincount(bins, weights=confidence - is_right, minlength=n_bins)
    return float(np.abs(gaps).sum() / len(class_index))
