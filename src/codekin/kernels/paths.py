"""Cheapest paths of a trellis, and the sum over all its paths, in time linear in its edges.

All of them walk from the sink to the source and so add the costs of a path from its last edge to its first. Walking in
this direction a vertex meets its successors in the order of the path ranks, the sink last: keeping the first of equals
keeps the lowest rank. The graph is given by ``width`` and by ``digits``, the base-``width`` digits of the number of
paths; the order of the edges is that of ``codekin.codebooks.TrellisGraph``.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

# Arrays for inner loops are allocated separately: Numba does not know that views of a larger one are contiguous, and
# does not vectorise. Whole-array arithmetic is written as loops: Numba's shape checks take ten times longer to compile.


@njit(cache=True, nogil=True)
def cheapest_paths(costs, width, digits, offsets, ranks, totals, leads):
    """Find the cheapest path of each sample.

    ``costs``: float (n_edges, n_samples). The samples lie beside each other so that the inner loops run over them.
    ``digits``: int (n_slices + 1,)
    ``offsets``: (n_edges,). What an edge adds to the rank of a path. Of the costs' type, which must hold every rank
        exactly.
    ``ranks``, ``totals``, ``leads``: (n_samples,), of the costs' type. Receive the rank and the cost of the cheapest
        path, and how much more the second cheapest costs.
    """
    n_edges, n_samples = costs.shape
    n_slices = len(digits) - 1
    top = digits[n_slices]
    first_end = width + (n_slices - 1) * width * width
    first_final = first_end + width * top
    first_shortcut = n_edges

    # From each vertex of a slice to the sink: the cost of the best path, that of the second best, the best one's rank.
    best = np.empty((width, n_samples), costs.dtype)
    second, rank = np.empty_like(best), np.empty_like(best)
    before_best, before_second, before_rank = np.empty_like(best), np.empty_like(best), np.empty_like(best)
    # The end of a path: nothing more to pay, no second path, and a rank.
    nothing, never, its_rank = np.empty_like(totals), np.empty_like(totals), np.empty_like(totals)
    nothing[:] = 0
    never[:] = np.inf

    for v in range(width):
        best[v], second[v], rank[v] = np.inf, np.inf, 0
        for t in range(top):
            its_rank[:] = t
            to_sink, length = costs[first_final + t], costs[first_end + t * width + v]
            _offer(best[v], second[v], rank[v], to_sink, never, its_rank, length)

    for i in range(n_slices - 1, -1, -1):
        first_shortcut -= digits[i]
        for v in range(digits[i]):
            its_rank[:] = offsets[first_shortcut + v]
            _offer(best[v], second[v], rank[v], nothing, never, its_rank, costs[first_shortcut + v])
        n_before = width if i > 0 else 1
        first_edge = width + (i - 1) * width * width if i > 0 else 0
        for v in range(width):
            for s in range(n_samples):
                rank[v, s] += offsets[first_edge + v]
        for u in range(n_before):
            before_best[u], before_second[u], before_rank[u] = np.inf, np.inf, 0
            for v in range(width):
                length = costs[first_edge + u * width + v]
                _offer(before_best[u], before_second[u], before_rank[u], best[v], second[v], rank[v], length)
        best, before_best = before_best, best
        second, before_second = before_second, second
        rank, before_rank = before_rank, rank

    for s in range(n_samples):
        ranks[s], totals[s], leads[s] = rank[0, s], best[0, s], second[0, s] - best[0, s]


@njit(cache=True, nogil=True)
def _offer(best, second, rank, onward, onward_second, onward_rank, length):
    """Update a vertex of each sample with the two best paths through a successor at distance ``length``."""
    for s in range(len(best)):
        former = best[s]
        cost = onward[s] + length[s]
        # Arithmetic with a float rank: LLVM turns a conditional expression into an unpredictable branch, and the loop
        # takes seven times as long.
        rank[s] += (onward_rank[s] - rank[s]) * (cost < former)
        second[s] = min(second[s], onward_second[s] + length[s], max(former, cost))
        best[s] = min(former, cost)


@njit(cache=True, nogil=True)
def largest_sizes(values, largest):
    """Find the largest absolute value of each column.

    ``values``: (n_rows, n_columns)
    ``largest``: (n_columns,). Receives the result.
    """
    largest[:] = 0
    for i in range(len(values)):
        row = values[i]
        for s in range(len(largest)):
            largest[s] = max(largest[s], row[s], -row[s])


@njit(cache=True, nogil=True)
def log_sum_over_paths(scores, width, digits, log_sums):
    """Compute log sum_paths exp(sum of the scores on the path), by the forward algorithm run from the sink.

    In the log domain throughout, so that nothing overflows and no path is lost.

    ``scores``: (n_samples, n_edges). Finite.
    ``digits``: (n_slices + 1,)
    ``log_sums``: (n_samples,). Receives the result.
    """
    n_samples, n_edges = scores.shape
    n_slices = len(digits) - 1
    top = digits[n_slices]
    first_end = width + (n_slices - 1) * width * width
    first_final = first_end + width * top
    onward, before = np.empty(width), np.empty(width)
    # Room for the terms of one vertex: as many as it has successors.
    terms = np.empty(max(width, top))

    for s in range(n_samples):
        row = scores[s]
        first_shortcut = n_edges
        for v in range(width):
            for t in range(top):
                terms[t] = row[first_final + t] + row[first_end + t * width + v]
            onward[v] = _log_sum_exp(terms[:top])
        for i in range(n_slices - 1, -1, -1):
            first_shortcut -= digits[i]
            for v in range(digits[i]):
                terms[0] = onward[v]
                terms[1] = row[first_shortcut + v]
                onward[v] = _log_sum_exp(terms[:2])
            n_before = width if i > 0 else 1
            for u in range(n_before):
                first_edge = width + (i - 1) * width * width + u * width if i > 0 else 0
                for v in range(width):
                    terms[v] = onward[v] + row[first_edge + v]
                before[u] = _log_sum_exp(terms[:width])
            onward, before = before, onward
        log_sums[s] = onward[0]


@njit(cache=True, nogil=True)
def _log_sum_exp(terms):
    largest = terms[0]
    for term in terms:
        largest = max(largest, term)
    total = 0.0
    for term in terms:
        total += math.exp(term - largest)
    return largest + math.log(total)
