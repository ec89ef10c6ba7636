"""Cheapest paths of a trellis, the sum over all its paths, in time linear in its edges, and paths for new classes.

All of them walk from the sink to the source and so add the costs of a path from its last edge to its first. Walking in
this direction a vertex meets its successors in the order of the path ranks, the sink last: keeping the first of equals
keeps the lowest rank. The graph is given by ``width`` and by ``digits``, the base-``width`` digits of the number of
paths; the order of the edges is that of ``codekin.codebooks.TrellisGraph``.

The k cheapest paths are found one after the other. Every vertex has a list of its cheapest paths to the sink, which
grows on demand, and a price for the next path through each of its edges (the recursive enumeration of Jimenez and
Marzal, 1999). To find one more path, the price of the last edge used is renewed, for which the next vertex may have to
find one more path itself, and so on: at most a walk down one path, for any width of the trellis.
"""

from __future__ import annotations

import math

import numpy as np

from codekin.kernels.calling import njit

# Arrays for inner loops are allocated separately: Numba does not know that views of a larger one are contiguous, and
# does not vectorise. Whole-array arithmetic is written as loops: Numba's shape checks take ten times longer to compile.


@njit(cache=True, nogil=True)
def cheapest_paths(costs, width, digits, offsets, ranks, totals, leads):
    """Find the rank and the cost of the cheapest path of each sample, and how much more the second cheapest costs.

    ``costs`` are (n_edges, n_samples): the samples lie beside each other so that the inner loops run over them.
    ``offsets`` are what an edge adds to the rank of a path. All are of the costs' type, which must hold every rank
    exactly.
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
    """Find the largest absolute value of each column."""
    largest[:] = 0
    for i in range(len(values)):
        row = values[i]
        for s in range(len(largest)):
            largest[s] = max(largest[s], row[s], -row[s])


@njit(cache=True, nogil=True)
def log_sum_over_paths(scores, width, digits, log_sums):
    """Compute log sum_paths exp(sum of the scores on the path), by the forward algorithm run from the sink.

    In the log domain throughout, so that nothing overflows and no path is lost.
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


@njit(cache=True, nogil=True)
def k_cheapest_paths(costs, width, digits, offsets, ranks, totals):
    """Find the ranks and the costs of the k cheapest paths of each sample, (n_samples, k), cheapest first."""
    n_ways, edges, enters = ways_onward(width, digits)
    best, rank, length, last, price, place, walk = path_lists(edges, 1, ranks.shape[1])
    for s in range(len(costs)):
        row = costs[s]
        first_paths(row, 0, offsets, n_ways, edges, enters, 0, best, rank, length, last, price, place)
        source = len(n_ways) - 1
        for n in range(ranks.shape[1]):
            if n > 0:
                next_path(row, 0, offsets, n_ways, edges, enters, 0, best, rank, length, last, price, place, walk)
            ranks[s, n], totals[s, n] = rank[source, n], best[source, n]


@njit(cache=True, nogil=True)
def ways_onward(width, digits):
    """Tabulate the edges that leave each vertex, in the order of the path ranks.

    The vertices are numbered so that each comes after those that its edges enter: the sink, the t_j, the slices from
    the last to the first, the source. Returns how many edges leave each, their numbers, and the vertices that they
    enter.
    """
    n_slices = len(digits) - 1
    top = digits[n_slices]
    n_vertices = 2 + top + n_slices * width
    n_ways = np.zeros(n_vertices, np.int64)
    edges, enters = np.zeros((n_vertices, width + 1), np.int64), np.zeros((n_vertices, width + 1), np.int64)
    first_end = width + (n_slices - 1) * width * width
    first_shortcut = first_end + width * top + top
    for i in range(n_slices):
        first_shortcut += digits[i]
    for t in range(top):
        n_ways[1 + t] = 1
        edges[1 + t, 0] = first_end + width * top + t
    # The first vertex of the slice that the edges enter, and how many vertices that has.
    following, n_following = 1, top
    first_vertex = 1 + top
    for i in range(n_slices - 1, -2, -1):
        n_here = width if i >= 0 else 1
        first_shortcut -= digits[i] if i >= 0 else 0
        for v in range(n_here):
            u = first_vertex + v
            for slot in range(n_following):
                if i == n_slices - 1:
                    edges[u, slot] = first_end + slot * width + v
                else:
                    edges[u, slot] = width + i * width * width + v * width + slot if i >= 0 else slot
                enters[u, slot] = following + slot
            n_ways[u] = n_following
            if i >= 0 and v < digits[i]:
                edges[u, n_following] = first_shortcut + v
                n_ways[u] += 1
        following, n_following = first_vertex, n_here
        first_vertex += n_here
    return n_ways, edges, enters


@njit(cache=True, nogil=True)
def path_lists(edges, n_codes, k):
    """Make room for the lists of one sample in several codes: best, rank, length, last, price, place, walk.

    Vertex ``u`` of code ``r`` has row ``r * n_vertices + u``. ``best`` and ``rank`` are the lists: costs, and ranks
    from the vertex on; ``length`` and ``last`` how long a list is and which way its last path goes, -1 when there are
    no more; ``price`` what the next path costs by each way and ``place`` where it is in the list of the vertex that is
    entered, -1 when there is none; ``walk`` room for a way from the source.
    """
    n_vertices, n_slots = edges.shape
    n_rows = n_codes * n_vertices
    return (
        np.empty((n_rows, k)),
        np.empty((n_rows, k), np.int64),
        np.empty(n_rows, np.int64),
        np.empty(n_rows, np.int64),
        np.empty((n_rows, n_slots)),
        np.empty((n_rows, n_slots), np.int64),
        np.empty(n_vertices, np.int64),
    )


# The two functions below take separate arrays: unpacking a tuple for every path would take longer than the path.


@njit(cache=True, nogil=True)
def first_paths(row, first_edge, offsets, n_ways, edges, enters, first_row, best, rank, length, last, price, place):
    """Find the cheapest path of every vertex; that of the source, which is the last one, is the cheapest of all.

    ``row`` has the costs of the edges, those of this code from ``first_edge`` on; its vertices begin at ``first_row``.
    The other arrays are those of :func:`ways_onward` and of :func:`path_lists`, which are changed in place.
    """
    best[first_row, 0], rank[first_row, 0], length[first_row], last[first_row] = 0.0, 0, 1, -1
    for vertex in range(1, len(n_ways)):
        u = first_row + vertex
        for way in range(n_ways[vertex]):
            price[u, way] = best[first_row + enters[vertex, way], 0] + row[first_edge + edges[vertex, way]]
            place[u, way] = 0
        way = _cheapest_way(price, place, u, n_ways[vertex])
        last[u] = way
        best[u, 0] = price[u, way]
        rank[u, 0] = rank[first_row + enters[vertex, way], 0] + offsets[edges[vertex, way]]
        length[u] = 1


@njit(cache=True, nogil=True)
def next_path(row, first_edge, offsets, n_ways, edges, enters, first_row, best, rank, length, last, price, place, walk):
    """Find the source's next path, after :func:`first_paths`; there must be one. The lower rank of equals is first."""
    # Down to the first vertex that can renew its price by itself, and up again.
    depth, vertex = 0, len(n_ways) - 1
    while True:
        walk[depth] = vertex
        way = last[first_row + vertex]
        onward = enters[vertex, way]
        if place[first_row + vertex, way] + 1 < length[first_row + onward] or last[first_row + onward] < 0:
            break
        depth, vertex = depth + 1, onward
    for d in range(depth, -1, -1):
        vertex = walk[d]
        u = first_row + vertex
        way = last[u]
        onward = first_row + enters[vertex, way]
        following = place[u, way] + 1
        if following < length[onward]:
            price[u, way] = best[onward, following] + row[first_edge + edges[vertex, way]]
            place[u, way] = following
        else:
            price[u, way], place[u, way] = np.inf, -1
        way = _cheapest_way(price, place, u, n_ways[vertex])
        last[u] = way
        if way >= 0:
            n = length[u]
            best[u, n] = price[u, way]
            rank[u, n] = rank[first_row + enters[vertex, way], place[u, way]] + offsets[edges[vertex, way]]
            length[u] = n + 1


@njit(cache=True, nogil=True)
def _cheapest_way(price, place, u, n_ways):
    """The way with the lowest price, the first of equals; -1 when there are no more paths."""
    chosen, lowest = -1, np.inf
    for way in range(n_ways):
        if price[u, way] < lowest:
            chosen, lowest = way, price[u, way]
    if chosen < 0:
        # Nothing is left, or prices are NaN: those go in the order of their ranks.
        for way in range(n_ways):
            if place[u, way] >= 0:
                return way
    return chosen


@njit(cache=True, nogil=True)
def assign_online(
    indptr, indices, values, class_index, order, width, digits, offsets, edges_of_path, fallback, k, weights, taken,
    path
):  # fmt: skip
    """Assign paths to the classes of some samples, one sample after the other.

    A class that has no path yet gets the free one with the largest weight among the ``k`` best paths, or else the next
    free one of ``fallback``, all paths in some order. Then, unless the class's path leads all others by 1 or more, its
    edges gain the sample and those of its strongest rival lose it. Samples of class -1 are skipped. ``edges_of_path``
    is padded with -1. ``weights``, ``taken`` and ``path``, that of each class or -1, are changed in place.
    """
    n_ways, edges, enters = ways_onward(width, digits)
    n_paths, n_edges = len(taken), weights.shape[1]
    best, rank, length, last, price, place, walk = path_lists(edges, 1, max(min(k, n_paths), 2))
    source = len(n_ways) - 1
    costs, n_taken, next_fallback = np.empty(n_edges), taken.sum(), 0
    for i in range(len(order)):
        sample = order[i]
        label = class_index[sample]
        if label < 0:
            continue
        costs[:] = 0.0
        for j in range(indptr[sample], indptr[sample + 1]):
            for e in range(n_edges):
                costs[e] -= values[j] * weights[indices[j], e]
        first_paths(costs, 0, offsets, n_ways, edges, enters, 0, best, rank, length, last, price, place)
        n_listed, n_wanted = 1, 2
        if path[label] < 0:
            n_wanted = max(min(n_taken + 2, k, n_paths), 2)
            while path[label] < 0:
                candidate = rank[source, n_listed - 1]
                if not taken[candidate]:
                    path[label] = candidate
                elif n_listed == min(n_wanted, k):
                    while taken[fallback[next_fallback]]:
                        next_fallback += 1
                    path[label] = fallback[next_fallback]
                else:
                    next_path(costs, 0, offsets, n_ways, edges, enters, 0, best, rank, length, last, price, place, walk)
                    n_listed += 1
            taken[path[label]] = True
            n_taken += 1
        own = path[label]
        rival = 0
        if rank[source, 0] == own:
            if n_listed < 2:
                next_path(costs, 0, offsets, n_ways, edges, enters, 0, best, rank, length, last, price, place, walk)
            rival = 1
        own_cost = 0.0
        for step in range(edges_of_path.shape[1]):
            if edges_of_path[own, step] >= 0:
                own_cost += costs[edges_of_path[own, step]]
        if best[source, rival] <= own_cost + 1:
            rival = rank[source, rival]
            for j in range(indptr[sample], indptr[sample + 1]):
                for step in range(edges_of_path.shape[1]):
                    if edges_of_path[own, step] >= 0:
                        weights[indices[j], edges_of_path[own, step]] += values[j]
                    if edges_of_path[rival, step] >= 0:
                        weights[indices[j], edges_of_path[rival, step]] -= values[j]
