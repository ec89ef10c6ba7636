"""Annealing on swaps of the paths of a trellis, with class distances from vectors and a class on every path.

As in :mod:`codekin.kernels.vector_swaps`, but every path has a class, so the alignment is, up to a constant,

    ``scale sum_e |V_e|^2 + sum_u pull_u height_c(u)``

where ``V_e`` is the sum over classes of ``x_u``, positive if edge ``e`` is on their path and negative otherwise. Two
paths differ in few edges, and most proposals are rejected. They are first judged by ``products[u, e] = <x_u, V_e>``
from some swaps ago, which takes a few additions; only promising ones are computed from the vectors.
"""

import numpy as np
from numba import njit

from codekin.kernels.splitmix import next_below, next_uniform
from codekin.kernels.swapping import add, dot


@njit(cache=True, nogil=True)
def anneal_path_swaps(
    edges, points, squares, pull, height, scale, edge_sums, products, path_of_class, class_of_path, sign, temperature,
    cooling, n_proposals, max_swaps, sampled, state
):  # fmt: skip
    """Simulated annealing on swaps of two paths, half of them near each other in the order of the paths.

    ``edges``: int64 (n_paths, n_steps). The edges of each path, those that two paths may share at the same step; -1
        after the last.
    ``points``: float32 (n_paths, n_dimensions). The vectors ``x`` of the classes.
    ``squares``: float64 (n_paths,). Their squared lengths.
    ``pull``, ``height``: float64 (n_paths,). By class and by path.
    ``edge_sums``: float32 (n_edges, n_dimensions), changed in place. ``V``.
    ``products``: float32 (n_paths, n_edges), changed in place. ``points @ edge_sums.T``, exact at the start; what a
        swap does to the two classes themselves is kept up.
    ``path_of_class``, ``class_of_path``: int64 (n_paths,), changed in place. Inverse to each other.
    ``sign``: 1 to make the alignment large, -1 to make it small.
    ``temperature``, ``cooling``: the temperature at the start, and its factor after every proposal.
    ``max_swaps``: return after this many swaps; the products must then be recomputed.
    ``sampled``: float64 (n_sampled,), changed in place. If it is not empty, nothing is swapped: the absolute gains of
        the first proposals are written here.
    ``state``: uint64 (1,), changed in place. Of the random number generator.
    Returns the change of the alignment, and how many proposals were made and accepted.
    """
    n_paths, n_steps = edges.shape
    step = np.empty(points.shape[1], np.float32)
    differing, side = np.empty(2 * n_steps, np.int64), np.empty(2 * n_steps, np.float32)
    log_range = np.log(np.float64(n_paths))
    change, n_swaps, proposal = 0.0, 0, 0
    while proposal < n_proposals and n_swaps < max_swaps:
        proposal += 1
        temperature *= cooling
        u = next_below(state, n_paths)
        c = path_of_class[u]
        if next_uniform(state) < 0.5:
            hop = np.int64(np.exp(log_range * next_uniform(state)))
            d = c - hop if next_below(state, 2) == 0 else c + hop
            if d < 0 or d >= n_paths:
                continue
        else:
            d = next_below(state, n_paths)
        if c == d:
            continue
        v = class_of_path[d]
        n_differing, along = 0, 0.0
        for i in range(n_steps):
            left, entered = edges[c, i], edges[d, i]
            if left == entered:
                continue
            if entered >= 0:
                differing[n_differing], side[n_differing] = entered, 1.0
                n_differing += 1
                along += products[u, entered] - products[v, entered]
            if left >= 0:
                differing[n_differing], side[n_differing] = left, -1.0
                n_differing += 1
                along -= products[u, left] - products[v, left]
        pulled = (pull[u] - pull[v]) * (height[d] - height[c])
        is_sample = sampled.shape[0] > 0
        least = 0.0
        if not is_sample:
            least = temperature * np.log(1.0 - next_uniform(state))
            # An upper bound that ignores what the two classes have in common.
            square = squares[u] + squares[v] if sign > 0.0 else 0.0
            if sign * (4.0 * scale * (along + n_differing * square) + pulled) < least:
                continue
        point, other = points[u], points[v]
        for k in range(step.shape[0]):
            step[k] = point[k] - other[k]
        along = 0.0
        for k in range(n_differing):
            along += side[k] * dot(edge_sums[differing[k]], step)
        square = np.float64(dot(step, step))
        gain = 4.0 * scale * (along + n_differing * square) + pulled
        if is_sample:
            sampled[proposal - 1] = abs(gain)
            continue
        if sign * gain < least:
            continue
        n_swaps += 1
        change += gain
        path_of_class[u], path_of_class[v] = d, c
        class_of_path[d], class_of_path[c] = u, v
        shared = 0.5 * (squares[u] + squares[v] - square)
        for k in range(n_differing):
            e, twice = differing[k], np.float32(2.0) * side[k]
            add(edge_sums[e], step, twice)
            products[u, e] += twice * (squares[u] - shared)
            products[v, e] += twice * (shared - squares[v])
    return change, proposal, n_swaps
