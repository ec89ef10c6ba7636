"""Annealing on swaps of codewords, at a cost per swap that does not depend on the number of classes.

With ``vectors[c]`` the codeword ``c`` (next to its absolute value, where bits may be zero), ``S`` and ``T`` the sums of
``vectors`` and of ``g_u vectors`` over all classes, the alignment is, up to a constant,

    ``sum_u linear_u weight_c(u) - <T, S> + spread |S|^2 + R``

where ``linear`` and ``weight`` matter for codewords with different numbers of zeros and ``spread``, half the mean class
distance, for unused codewords.

Vectors of classes: distances are ``g_u + g_v - c <x_u, x_v>``, squared Euclidean ones (``g`` the squares, ``c = 2``) or
minus inner products (``g = 0``, ``c = 1``), and ``R = c / 2 sum_e |V_e|^2``, where ``V_e`` is the sum over classes of
``x_u`` times bit ``e`` of their vectors. A swap takes as many products as there are bits in which two codewords differ.

Trees: distances are path lengths, ``g_u`` is the depth of class ``u`` and ``R = sum_e w_e |S_e|^2``, with ``w_e`` the
length of the edge above node ``e`` and ``S_e`` the sum of the vectors below it, exact in float32 and in any order.
Classes are in depth-first order, nodes in preorder; only nodes above two classes or more are kept.

If the codewords are the paths of a trellis and every path has a class, the alignment is, up to a constant, ``scale
sum_e |V_e|^2 + sum_u pull_u height_c(u)``, ``V_e`` with a sign for edges on the path. Most proposals are rejected. They
are first judged by ``products[u, e] = <x_u, V_e>`` from some swaps ago; only promising ones are computed in full.
"""

import numpy as np

from codekin.kernels.calling import njit
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

    Returns a class and its codeword, and the other class, -1 if there is none, and its codeword. The two codewords are
    the same if there is nothing to swap. ``log_range`` is the logarithm of the number of codewords.
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
    """Simulated annealing on swaps of two codewords; returns the change of the alignment.

    ``points`` are the ``x``, float32, in an order in which neighbours are alike; ``scale`` is ``c / 2``. Changed in
    place: ``bit_sums`` (``V``, float32), ``totals`` and ``offset_totals`` (``S`` and ``T``), both maps between classes
    and codewords (-1 where no class uses one), and ``state`` of the random number generator. ``sign`` is 1 to make the
    alignment large, -1 to make it small. ``cooling`` is the temperature's factor after every proposal. If ``sampled``
    is not empty, nothing is swapped: the absolute gains of the first proposals are written there.
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

    ``edges[p]`` are those of path ``p``, by step, -1 after the last; ``squares`` the squared lengths of the points.
    ``products``, changed in place, is exact at the start, and must be computed again after ``max_swaps`` swaps, which
    end the call. Otherwise as :func:`anneal_vector_swaps`. Returns the change, and the numbers of proposals and swaps.
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


@njit(cache=True, nogil=True)
def fill_node_sums(vectors, parent, node_of_class, codeword_of_class, node_sums):
    """Sum the vectors of the classes below each node, in place."""
    node_sums[:] = 0.0
    for u in range(codeword_of_class.shape[0]):
        add(node_sums[node_of_class[u]], vectors[codeword_of_class[u]], np.float32(1.0))
    for e in range(node_sums.shape[0] - 1, 0, -1):
        add(node_sums[parent[e]], node_sums[e], np.float32(1.0))


@njit(cache=True, nogil=True)
def _swap_gain(
    parent, length, node_of_class, depth, linear, spread, node_sums, depth_sums, difference, square, more_weight, u, v
):
    """By how much the alignment grows when u's vector grows by ``difference`` and v's, if any, shrinks by it."""
    along_total, e, f = dot(difference, node_sums[0]), node_of_class[u], np.int64(-1)
    if v >= 0:
        gain = (linear[u] - linear[v]) * more_weight - (depth[u] - depth[v]) * along_total
        f = node_of_class[v]
    else:
        along_depth = 0.0
        for k in range(difference.shape[0]):
            along_depth += difference[k] * depth_sums[k]
        gain = linear[u] * more_weight + spread * (square + 2.0 * along_total)
        gain -= along_depth + depth[u] * (square + along_total)
    # The later of two nodes in preorder is not above the other one: climb from it until both meet, or to the top.
    while e != f:
        if e > f:
            gain += length[e] * (square + 2.0 * dot(difference, node_sums[e]))
            e = parent[e]
        else:
            gain += length[f] * (square - 2.0 * dot(difference, node_sums[f]))
            f = parent[f]
    return gain


@njit(cache=True, nogil=True)
def anneal_tree_swaps(
    vectors, weight, parent, length, node_of_class, depth, linear, spread, node_sums, depth_sums, codeword_of_class,
    class_of_codeword, sign, temperature, cooling, n_proposals, sampled, state
):  # fmt: skip
    """Simulated annealing on swaps of two codewords, for classes of a tree; as :func:`anneal_vector_swaps`.

    ``parent`` is -1 for node 0, above all classes; ``node_of_class`` the lowest node above each class. ``node_sums``
    (float32) and ``depth_sums`` (``S_e`` and ``T``) are changed in place.
    """
    width, log_range = vectors.shape[1], np.log(np.float64(class_of_codeword.shape[0]))
    difference = np.empty(width, np.float32)
    change = 0.0
    for proposal in range(n_proposals):
        temperature *= cooling
        u, c, v, d = propose_swap(codeword_of_class, class_of_codeword, log_range, state)
        if c == d:
            continue
        square = 0.0
        for k in range(width):
            difference[k] = vectors[d, k] - vectors[c, k]
            square += difference[k] * difference[k]
        gain = _swap_gain(
            parent, length, node_of_class, depth, linear, spread, node_sums, depth_sums, difference, square,
            weight[d] - weight[c], u, v
        )  # fmt: skip
        if sampled.shape[0] > 0:
            sampled[proposal] = abs(gain)
            continue
        if sign * gain < 0.0 and next_uniform(state) >= np.exp(sign * gain / temperature):
            continue
        change += gain
        codeword_of_class[u] = d
        class_of_codeword[d] = u
        class_of_codeword[c] = v
        add(depth_sums, difference, depth[u])
        # Without another class, sums change up to the root, whose parent is -1.
        e, f = node_of_class[u], np.int64(-1)
        if v >= 0:
            codeword_of_class[v] = c
            add(depth_sums, difference, -depth[v])
            f = node_of_class[v]
        while e != f:
            if e > f:
                add(node_sums[e], difference, np.float32(1.0))
                e = parent[e]
            else:
                add(node_sums[f], difference, np.float32(-1.0))
                f = parent[f]
    return change


@njit(cache=True, nogil=True)
def partition_top_down(
    vectors, length, first_class, last_class, first_child, child_first, child_node, codeword_of_class, sign, n_sweeps,
    state
):  # fmt: skip
    """Distribute the codewords of every node among its children, from the root, by swaps that raise the alignment.

    The parts of node ``e`` are ``first_child[e]`` to ``first_child[e + 1] - 1``; ``child_first`` is the first class of
    each, ``child_node`` its node, -1 for a single class. Every class is considered ``n_sweeps`` times per node above
    it. ``codeword_of_class`` is changed in place. Returns the number of swaps that were considered.
    """
    n_nodes, width = length.shape[0], vectors.shape[1]
    n_classes = codeword_of_class.shape[0]
    part_of_class = np.empty(n_classes, np.int64)
    sums = np.zeros((child_first.shape[0], width), np.float32)
    difference = np.empty(width, np.float32)
    n_considered = 0
    for e in range(n_nodes):
        start, stop = first_class[e], last_class[e]
        begin, end = first_child[e], first_child[e + 1]
        if end - begin < 2 or stop - start < 3:
            continue
        part = begin - 1
        for u in range(start, stop):
            if part + 1 < end and child_first[part + 1] == u:
                part += 1
                for k in range(width):
                    sums[part, k] = 0.0
            part_of_class[u] = part
            add(sums[part], vectors[codeword_of_class[u]], np.float32(1.0))
        for _ in range(n_sweeps * (stop - start)):
            u = start + next_below(state, stop - start)
            v = start + next_below(state, stop - start)
            i, j = part_of_class[u], part_of_class[v]
            if i == j:
                continue
            n_considered += 1
            c, d = codeword_of_class[u], codeword_of_class[v]
            square = 0.0
            for k in range(width):
                difference[k] = vectors[d, k] - vectors[c, k]
                square += difference[k] * difference[k]
            gain = 0.0
            if child_node[i] >= 0:
                gain += length[child_node[i]] * (square + 2.0 * dot(difference, sums[i]))
            if child_node[j] >= 0:
                gain += length[child_node[j]] * (square - 2.0 * dot(difference, sums[j]))
            if sign * gain > 0.0:
                codeword_of_class[u], codeword_of_class[v] = d, c
                add(sums[i], difference, np.float32(1.0))
                add(sums[j], difference, np.float32(-1.0))
    return n_considered
