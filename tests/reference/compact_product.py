"""Products with narrow weights, one weight at a time."""

from __future__ import annotations

import numpy as np


def times_bytes(X: np.ndarray, row_of_feature, weights: np.ndarray, scales: np.ndarray) -> np.ndarray:
    product = np.zeros((len(X), weights.shape[1]), dtype=np.float32)
    for i, f in zip(*np.nonzero(X), strict=True):
        row = row_of_feature[f]
        product[i] += (X[i, f] * scales[row]) * weights[row].astype(np.float32)
    return product


def times_halves(X: np.ndarray, row_of_feature, weights: np.ndarray) -> np.ndarray:
    product = np.zeros((len(X), weights.shape[1]), dtype=np.float32)
    for i, f in zip(*np.nonzero(X), strict=True):
        product[i] += X[i, f] * weights[row_of_feature[f]].astype(np.float32)
    return product


def times_gapped(X: np.ndarray, indptr, gaps, places, table, scales, n_bits: int) -> np.ndarray:
    product = np.zeros((len(X), n_bits), dtype=np.float32)
    for i, f in zip(*np.nonzero(X), strict=True):
        bit = 0
        for q in range(indptr[f], indptr[f + 1]):
            bit += int(gaps[q])
            product[i, bit] += (X[i, f] * scales[f]) * table[places[q]]
    return product
