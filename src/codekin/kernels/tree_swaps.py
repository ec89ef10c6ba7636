"""Searches for assignments to the classes of a tree, at a cost per swap that does not depend on their number.

Classes are numbered in the depth-first order of their tree, so that those below a node are consecutive, and nodes in
preorder, so that a parent's number is lower than its children's. Only nodes above two classes or more are kept. With
``vectors[c]`` the codeword ``c`` (beside its absolute value, where bits may be zero), ``w_e`` the length of the edge
above node ``e``, ``S_e`` the sum of the vectors below it, ``h_u`` the depth of class ``u``, ``S`` and ``T`` the sums of
``vectors`` and of ``h_u vectors`` over all classes, the alignment is, up to a constant,

    ``sum_u linear_u weight_c(u) - <T, S> + spread |S|^2 + sum_e w_e |S_e|^2``

where ``linear`` and ``weight`` matter for codewords with different numbers of zeros and ``spread``, half the mean class
distance, for unused codewords. Sums of vectors are sums of small integers, exact in float32 and in any order.
"""

import numpy as np

from codekin.kernels.compiling import njit
from codekin.kernels.splitmix import next_below, next_uniform
from codekin.kernels.swaps import add, dot, propose_swap


@njit(cache=True, nogil=True)
def fill_node_sums(vectors, parent, node_of_class, codeword_of_class, node_sums):
    """Sum the vectors of the classes below each node, in place."""
    for e in range(node_sums.shape[0]):
        for k in range(node_sums.shape[1]):
            node_sums[e, k] = 0.0
    for u in range(codeword_of_class.shape[0]):
        sums, vector = node_sums[node_of_class[u]], vectors[codeword_of_class[u]]
        for k in range(vector.shape[0]):
            sums[k] += vector[k]
    for e in range(node_sums.shape[0] - 1, 0, -1):
        sums, above = node_sums[e], node_sums[parent[e]]
        for k in range(sums.shape[0]):
            above[k] += sums[k]


@njit(cache=True, nogil=True)
def _swap_gain(parent, length, node_of_class, depth, linear, node_sums, difference, square, more_weight, u, v):
    """By how much the alignment grows when u's vector grows by ``difference`` and v's shrinks by it."""
    gain = (linear[u] - linear[v]) * more_weight - (depth[u] - depth[v]) * dot(difference, node_sums[0])
    e, f = node_of_class[u], node_of_class[v]
    # The later of two nodes in preorder is not above the other one: climb from it until both meet.
    while e != f:
        if e > f:
            gain += length[e] * (square + 2.0 * dot(difference, node_sums[e]))
            e = parent[e]
        else:
            gain += length[f] * (square - 2.0 * dot(difference, node_sums[f]))
            f = parent[f]
    return gain


@njit(cache=True, nogil=True)
def _exchange_gain(
    parent, length, node_of_class, depth, linear, spread, node_sums, depth_sums, difference, square, more_weight, u
):
    """By how much the alignment grows when u's vector grows by ``difference``, and no other's changes."""
    along_total = dot(difference, node_sums[0])
    along_depth = 0.0
    for k in range(difference.shape[0]):
        along_depth += difference[k] * depth_sums[k]
    gain = linear[u] * more_weight + spread * (square + 2.0 * along_total)
    gain -= along_depth + depth[u] * (square + along_total)
    e = node_of_class[u]
    while e >= 0:
        gain += length[e] * (square + 2.0 * dot(difference, node_sums[e]))
        e = parent[e]
    return gain


@njit(cache=True, nogil=True)
def anneal_tree_swaps(
    vectors, weight, parent, length, node_of_class, depth, linear, spread, node_sums, depth_sums, codeword_of_class,
    class_of_codeword, sign, temperature, cooling, n_proposals, sampled, state
):  # fmt: skip
    """Simulated annealing on swaps of two codewords, most of them near each other in the tree or among the codewords.

    ``vectors``: float32 (n_codewords, width)
    ``weight``: float64 (n_codewords,)
    ``parent``: int64 (n_nodes,). In preorder; -1 for node 0, which is above all classes.
    ``length``: float64 (n_nodes,)
    ``node_of_class``: int64 (n_classes,). The lowest node above each class.
    ``depth``, ``linear``: float64 (n_classes,)
    ``node_sums``: float32 (n_nodes, width), changed in place
    ``depth_sums``: float64 (width,), changed in place
    ``codeword_of_class``: int64 (n_classes,), changed in place
    ``class_of_codeword``: int64 (n_codewords,), changed in place. -1 where no class uses the codeword.
    All others: as in :func:`codekin.kernels.swaps.anneal_vector_swaps`.
    Returns the change of the alignment.
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
        more_weight = weight[d] - weight[c]
        if v >= 0:
            gain = _swap_gain(
                parent, length, node_of_class, depth, linear, node_sums, difference, square, more_weight, u, v
            )
        else:
            gain = _exchange_gain(
                parent, length, node_of_class, depth, linear, spread, node_sums, depth_sums, difference, square,
                more_weight, u
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
        if v >= 0:
            codeword_of_class[v] = c
            add(depth_sums, difference, -depth[v])
            e, f = node_of_class[u], node_of_class[v]
            while e != f:
                if e > f:
                    add(node_sums[e], difference, np.float32(1.0))
                    e = parent[e]
                else:
                    add(node_sums[f], difference, np.float32(-1.0))
                    f = parent[f]
        else:
            e = node_of_class[u]
            while e >= 0:
                add(node_sums[e], difference, np.float32(1.0))
                e = parent[e]
    return change


@njit(cache=True, nogil=True)
def partition_top_down(
    vectors, length, first_class, last_class, first_child, child_first, child_node, codeword_of_class, sign, n_sweeps,
    state
):  # fmt: skip
    """Distribute the codewords of every node among its children, from the root, by swaps that raise the alignment.

    ``vectors``: float32 (n_codewords, width)
    ``length``: float64 (n_nodes,)
    ``first_class``, ``last_class``: int64 (n_nodes,). The classes below a node are ``first_class..last_class - 1``.
    ``first_child``: int64 (n_nodes + 1,). The parts of node ``e`` are ``first_child[e]..first_child[e + 1] - 1``.
    ``child_first``: int64 (n_parts,). The first class of each part.
    ``child_node``: int64 (n_parts,). The node of a part; -1 for a single class.
    ``codeword_of_class``: int64 (n_classes,), changed in place
    ``sign``: 1 to make the alignment large, -1 to make it small.
    ``n_sweeps``: how often every class is considered, per node above it.
    ``state``: uint64 (1,), changed in place
    Returns the number of swaps that were considered.
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
