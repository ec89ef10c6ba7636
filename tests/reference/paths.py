"""Cheapest paths by trying every path of the trellis."""

from __future__ import annotations

import numpy as np

from tests.reference.trellis import trellis_paths


def path_total(costs_of_path: np.ndarray) -> float:
    """The sum from the last edge to the first, in the order in which the kernels add."""
    total = costs_of_path[-1]
    for cost in costs_of_path[-2::-1]:
        total = total + cost
    return total


def all_path_totals(costs: np.ndarray, n_paths: int, width: int) -> np.ndarray:
    """(n_samples, n_paths), in the order of the ranks."""
    paths = trellis_paths(n_paths, width)
    return np.array([[path_total(row[path]) for path in paths] for row in costs])


def k_cheapest(costs: np.ndarray, n_paths: int, width: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Ranks and totals of the k cheapest paths; the lower rank first among equals."""
    totals = all_path_totals(costs, n_paths, width)
    ranks = np.argsort(totals, axis=1, kind="stable")[:, :k]
    return ranks, np.take_along_axis(totals, ranks, axis=1)


def log_sum(scores: np.ndarray, n_paths: int, width: int) -> np.ndarray:
    """log sum_paths exp(score of the path)."""
    totals = all_path_totals(scores, n_paths, width)
    largest = totals.max(axis=1)
    return largest + np.log(np.exp(totals - largest[:, None]).sum(axis=1))
