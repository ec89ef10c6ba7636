"""One pass over samples that gives each new class the best free path of a trellis, while the edges are learned."""

from __future__ import annotations

import numpy as np

from codekin.kernels.compiling import njit
from codekin.kernels.paths import first_paths, next_path, path_lists, ways_onward


@njit(cache=True, nogil=True)
def assign_online(
    indptr,
    indices,
    values,
    class_index,
    order,
    width,
    digits,
    offsets,
    edges_of_path,
    fallback,
    k,
    weights,
    taken,
    path,
):
    """Assign paths to the classes of some samples, one sample after the other.

    A class that has no path yet gets the free one with the largest weight among the ``k`` best paths, or else the next
    free one of ``fallback``. Then, unless the class's path leads all others by 1 or more, its edges gain the sample and
    those of its strongest rival lose it.

    ``indptr``, ``indices``, ``values``: the samples as sparse rows
    ``class_index``: int (n_samples,). -1 for samples to skip.
    ``order``: int (n_samples,). In which the samples are seen.
    ``width``, ``digits``, ``offsets``: as for :func:`codekin.kernels.paths.k_cheapest_paths`.
    ``edges_of_path``: int (n_paths, n_steps). Padded with -1.
    ``fallback``: int (n_paths,). All paths in some order.
    ``weights``: float32 (n_features, n_edges), changed in place
    ``taken``: bool (n_paths,), changed in place
    ``path``: int (n_classes,), changed in place. The path of each class, -1 for none.
    """
    n_ways, edges, enters = ways_onward(width, digits)
    n_paths, n_edges = len(taken), weights.shape[1]
    best, rank, length, last, price, place, walk = path_lists(edges, 1, max(min(k, n_paths), 2))
    source = len(n_ways) - 1
    costs = np.empty(n_edges)
    n_taken = 0
    for p in range(n_paths):
        n_taken += taken[p]
    next_fallback = 0
    for i in range(len(order)):
        sample = order[i]
        label = class_index[sample]
        if label < 0:
            continue
        for e in range(n_edges):
            costs[e] = 0.0
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
