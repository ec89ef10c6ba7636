"""The expected calibration error, bin by bin."""

import numpy as np


def expected_calibration_error(probabilities, class_index, n_bins=15):
    """The mean difference between confidence and accuracy in bins of equal width, weighted by their samples."""
    confidence, is_right = probabilities.max(axis=1), probabilities.argmax(axis=1) == class_index
    total = 0.0
    for number in range(n_bins):
        is_last = number == n_bins - 1
        inside = (confidence >= number / n_bins) & ((confidence < (number + 1) / n_bins) | is_last)
        if inside.any():
            total += inside.sum() * abs(confidence[inside].mean() - is_right[inside].mean())
    return total / np.size(class_index)
