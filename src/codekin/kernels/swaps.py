"""Annealing on swaps of codewords, with class distances from vectors, for any number of classes.

Class distances are ``A_uv = g_u + g_v - c <x_u, x_v>`` for different classes: squared Euclidean distances (``g`` the
squares, ``c = 2``) or minus inner products (``g = 0``, ``c = 1``). With ``vectors[c]`` the codeword ``c`` (next to its
absolute value, where bits may be zero), ``V_e`` the sum over classes of ``x_u`` times bit ``e`` of their vectors, ``S``
and ``T`` the sums of ``vectors`` and of ``g_u vectors`` over all classes, the alignment is, up to a constant,

    ``sum_u linear_u weight_c(u) - <T, S> + spread |S|^2 + c / 2 sum_e |V_e|^2``

and a swap takes as many products of vectors as there are bits in which the two codewords differ.

If the codewords are the paths of a trellis and every path has a class, the alignment is, up to a constant,

    ``scale sum_e |V_e|^2 + sum_u pull_u height_c(u)``

where ``V_e`` is the sum over classes of ``x_u``, positive if edge ``e`` is on their path and negative otherwise. Two
paths differ in few edges, and most proposals are rejected. They are first judged by ``products[u, e] = <x_u, V_e>``
from some swaps ago, which takes a few additions; only promising ones are computed from the vectors.
"""

import numpy as np

from codekin.kernels.compiling import njit
from codekin.kernels.splitmix import next_below, next_uniform


# Reordering the terms (SIMD) changes nothing if they are integers below 2**24, whose sum is exact in any order, and
# otherwise only the last digits: the reported alignment is computed separately.
@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def dot(x, y):
    """Multiply two float32 vectors."""
    total = np.float32(0.0)
    for k in range(x.shape[0]):
        total += x[k] * y[k]
    return total


@njit(cache=True, nogil=True)
def add(sums, addend, factor):
    """Add a multiple of a vector to ``sums``, in place."""
    for k in range(sums.shape[0]):
        sums[k] += factor * addend[k]


@njit(cache=True, nogil=True)
def propose_swap(codeword_of_class, class_of_codeword, log_range, state):
    """Draw two codewords to swap, most of them near each other among classes or codewords.

    ``codeword_of_class``, ``class_of_codeword``: int64 (n_classes,), (n_codewords,). -1 where no class uses a codeword.
    ``log_range``: the logarithm of the number of codewords.
    ``state``: uint64 (1,), changed in place. Of the random number generator.
    Returns a class and its codeword, and the other class, -1 if there is none, and its codeword. The two codewords are
    the same if there is nothing to swap.
    """
    n_classes, n_codewords = codeword_of_class.shape[0], class_of_codeword.shape[0]
    u = next_below(state, n_classes)
    c = codeword_of_class[u]
    kind = next_uniform(state)
    if kind >= 0.7:
        d = next_below(state, n_codewords)
        return u, c, class_of_codeword[d], d
    hop = np.int64(np.exp(log_range * next_uniform(state)))
    if next_below(state, 2) == 0:
        hop = -hop
    if kind < 0.35:
        v = u + hop
        return (u, c, v, codeword_of_class[v]) if 0 <= v < n_classes else (u, c, u, c)
    d = c + hop
    return (u, c, class_of_codeword[d], d) if 0 <= d < n_codewords else (u, c, u, c)


@njit(cache=True, nogil=True)
def anneal_vector_swaps(
    vectors, weight, points, offset, linear, spread, scale, bit_sums, totals, offset_totals, codeword_of_class,
    class_of_codeword, sign, temperature, cooling, n_proposals, sampled, state
):  # fmt: skip
    """Simulated annealing on swaps of two codewords, most of them near each other among classes or codewords.

    ``vectors``: float32 (n_codewords, width)
    ``weight``: float64 (n_codewords,)
    ``points``: float32 (n_classes, n_dimensions). The vectors ``x`` of the classes, in an order in which neighbours
        are alike.
    ``offset``, ``linear``: float64 (n_classes,). ``g`` and ``linear``.
    ``spread``, ``scale``: ``scale`` is ``c / 2``.
    ``bit_sums``: float32 (width, n_dimensions), changed in place. ``V``.
    ``totals``, ``offset_totals``: float64 (width,), changed in place. ``S`` and ``T``.
    ``codeword_of_class``: int64 (n_classes,), changed in place
    ``class_of_codeword``: int64 (n_codewords,), changed in place. -1 where no class uses the codeword.
    ``sign``: 1 to make the alignment large, -1 to make it small.
    ``temperature``, ``cooling``: the temperature at the start, and its factor after every proposal.
    ``sampled``: float64 (n_sampled,), changed in place. If it is not empty, nothing is swapped: the absolute gains of
        the first proposals are written here.
    ``state``: uint64 (1,), changed in place. Of the random number generator.
    Returns the change of the alignment.
    """
    width, log_range = vectors.shape[1], np.log(np.float64(class_of_codeword.shape[0]))
    step = np.empty(points.shape[1], np.float32)
    difference, differing = np.empty(width), np.empty(width, np.int64)
    change = 0.0
    for proposal in range(n_proposals):
        temperature *= cooling
        u, c, v, d = propose_swap(codeword_of_class, class_of_codeword, log_range, state)
        if c == d:
            continue
        n_differing, square, along_totals, along_offsets = 0, 0.0, 0.0, 0.0
        for k in range(width):
            more = np.float64(vectors[d, k] - vectors[c, k])
            if more != 0.0:
                difference[n_differing] = more
                differing[n_differing] = k
                n_differing += 1
                square += more * more
                along_totals += more * totals[k]
                along_offsets += more * offset_totals[k]
        point = points[u]
        if v >= 0:
            other = points[v]
            for k in range(step.shape[0]):
                step[k] = point[k] - other[k]
            gain = (linear[u] - linear[v]) * (weight[d] - weight[c]) - (offset[u] - offset[v]) * along_totals
        else:
            step[:] = point
            gain = linear[u] * (weight[d] - weight[c]) + spread * (square + 2.0 * along_totals)
            gain -= along_offsets + offset[u] * (square + along_totals)
        along_sums = 0.0
        for k in range(n_differing):
            along_sums += difference[k] * dot(bit_sums[differing[k]], step)
        gain += scale * (2.0 * along_sums + square * dot(step, step))
        if sampled.shape[0] > 0:
            sampled[proposal] = abs(gain)
            continue
        if sign * gain < 0.0 and next_uniform(state) >= np.exp(sign * gain / temperature):
            continue
        change += gain
        codeword_of_class[u] = d
        class_of_codeword[d] = u
        class_of_codeword[c] = v
        moved = offset[u]
        if v >= 0:
            codeword_of_class[v] = c
            moved -= offset[v]
        for k in range(n_differing):
            e = differing[k]
            offset_totals[e] += moved * difference[k]
            if v < 0:
                totals[e] += difference[k]
            add(bit_sums[e], step, np.float32(difference[k]))
    return change


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
    ``max_swaps``: return after this many swaps; the products must then be recomputed.
    All others: as in :func:`anneal_vector_swaps`.
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
