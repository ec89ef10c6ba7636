"""Decoding one sample and one class at a time."""

import numpy as np


def class_losses(margins, coding_matrix, loss, is_weighted=False):
    """The total loss of every class, by definition."""
    losses = np.zeros((len(margins), len(coding_matrix)))
    for i, f in enumerate(margins):
        for y, codeword in enumerate(coding_matrix):
            terms = [
                float(np.asarray(loss(np.array([bit * value])))[0]) for bit, value in zip(codeword, f, strict=True)
            ]
            if is_weighted:
                used = [term for term, bit in zip(terms, codeword, strict=True) if bit]
                losses[i, y] = sum(used) / max(len(used), 1)
            else:
                losses[i, y] = sum(terms)
    return losses


def hamming_nearest(margins, coding_matrix):
    """The lowest class with the fewest wrong bits, where a zero on either side is half wrong."""
    nearest = []
    for f in margins:
        costs = [
            sum(
                0.5 if bit == 0 or value == 0 else float((value > 0) != (bit > 0))
                for bit, value in zip(row, f, strict=True)
            )
            for row in coding_matrix
        ]
        nearest.append(costs.index(min(costs)))
    return np.array(nearest)


def k_smallest(costs, k):
    """Indices of the k smallest entries of each row, the lower index first among equals."""
    return np.argsort(costs, axis=1, kind="stable")[:, :k]
