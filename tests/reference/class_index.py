"""The best classes of an index by the definition, class by class."""

from __future__ import annotations

import numpy as np


def truncated(vectors, n_entries):
    """The largest entries of each row, of equal ones the first; zero elsewhere."""
    kept = np.zeros_like(vectors)
    for row, own in zip(kept, vectors, strict=True):
        largest = np.argsort(-np.abs(own), kind="stable")[:n_entries]
        row[largest] = own[largest]
    return kept


def best(vectors, X, k):
    """The k classes with the largest sums of positive products, -1 if fewer have one; the smaller of equals first."""
    found = np.full((len(X), k), -1)
    for s, x in enumerate(X):
        scores = np.maximum(vectors * x, 0).sum(axis=1)
        listed = [c for c in np.argsort(-scores, kind="stable") if scores[c] > 0][:k]
        found[s, : len(listed)] = listed
    return found
