"""The k cheapest paths of a trellis, one after the other.

Every vertex has a list of its cheapest paths to the sink, which grows on demand, and a price for the next path through
each of its edges (the recursive enumeration of Jimenez and Marzal, 1999). To find one more path, the price of the last
edge used is renewed, for which the next vertex may have to find one more path itself, and so on: at most a walk down
one path, for any width of the trellis. Costs are added from a path's last edge to its first, as in
``codekin.kernels.paths``, which has the same order of edges and of equal paths.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def k_cheapest_paths(costs, width, digits, offsets, ranks, totals):
    """Find the k cheapest paths of each sample, cheapest first.

    ``costs``: (n_samples, n_edges)
    ``digits``: (n_slices + 1,)
    ``offsets``: (n_edges,). What an edge adds to the rank of a path.
    ``ranks``, ``totals``: (n_samples, k). Receive the ranks and the costs; k is at most the number of paths.
    """
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
    the last to the first, the source.

    ``digits``: (n_slices + 1,)
    Returns ``n_ways`` int (n_vertices,): how many edges leave a vertex.
    ``edges``, ``enters`` int (n_vertices, width + 1): their numbers, and the vertices that they enter.
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
    """Make room for the lists of one sample in several codes on the same trellis.

    ``edges``: int (n_vertices, width + 1). From :func:`ways_onward`.
    ``n_codes``: vertex ``u`` of code ``r`` has row ``r * n_vertices + u`` of all arrays.
    ``k``: the most paths that will be asked for.
    Returns ``best``, ``rank`` (n_codes * n_vertices, k): the lists: costs, and ranks from the vertex on.
    ``length``, ``last`` int (n_codes * n_vertices,): how long a list is, and which way its last path goes; -1
        when there are no more paths.
    ``price`` (n_codes * n_vertices, width + 1): what the next path costs by each way.
    ``place`` int (n_codes * n_vertices, width + 1): where that path is in the list of the vertex that is
        entered; -1 when there is none.
    ``walk`` int (n_vertices,): room for a way from the source.
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

    ``row``: the costs of the edges, those of this code from ``first_edge`` on.
    ``offsets``: (n_edges,). What an edge adds to the rank of a path.
    ``n_ways``, ``edges``, ``enters``: from :func:`ways_onward`.
    ``first_row``: where this code's vertices begin in the lists.
    ``best``, ``rank``, ``length``, ``last``, ``price``, ``place``: arrays, changed in place. From :func:`path_lists`.
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
    """Find the source's next path; there must be one. Of equal paths the lower rank comes first.

    ``row``, ``first_edge``, ``offsets``, ``n_ways``, ``edges``, ``enters``, ``first_row``: as for :func:`first_paths`,
        which comes first.
    ``best``, ``rank``, ``length``, ``last``, ``price``, ``place``: arrays, changed in place
    ``walk``: int, overwritten. From :func:`path_lists`.
    """
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
