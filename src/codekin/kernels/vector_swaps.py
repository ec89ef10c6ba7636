"""Annealing on swaps of codewords, with class distances from vectors, for any number of classes.

Class distances are ``A_uv = g_u + g_v - c <x_u, x_v>`` for different classes: squared Euclidean distances (``g`` the
squares, ``c = 2``) or minus inner products (``g = 0``, ``c = 1``). With ``vectors[c]`` the codeword ``c`` (beside its
absolute value, where bits may be zero), ``V_e`` the sum over classes of ``x_u`` times bit ``e`` of their vectors, ``S``
and ``T`` the sums of ``vectors`` and of ``g_u vectors`` over all classes, the alignment is, up to a constant,

    ``sum_u linear_u weight_c(u) - <T, S> + spread |S|^2 + c / 2 sum_e |V_e|^2``

and a swap takes as many products of vectors as there are bits in which the two codewords differ.
"""

import numpy as np
from numba import njit

from codekin.kernels.splitmix import next_below, next_uniform
from codekin.kernels.swapping import add, dot


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
    n_classes, n_codewords, width = codeword_of_class.shape[0], class_of_codeword.shape[0], vectors.shape[1]
    step = np.empty(points.shape[1], np.float32)
    difference, differing = np.empty(width), np.empty(width, np.int64)
    log_range = np.log(np.float64(n_codewords))
    change = 0.0
    for proposal in range(n_proposals):
        temperature *= cooling
        u = next_below(state, n_classes)
        c = codeword_of_class[u]
        kind = next_uniform(state)
        if kind < 0.7:
            hop = np.int64(np.exp(log_range * next_uniform(state)))
            if next_below(state, 2) == 0:
                hop = -hop
            if kind < 0.35:
                v = u + hop
                if v < 0 or v >= n_classes:
                    continue
                d = codeword_of_class[v]
            else:
                d = c + hop
                if d < 0 or d >= n_codewords:
                    continue
                v = class_of_codeword[d]
        else:
            d = next_below(state, n_codewords)
            v = class_of_codeword[d]
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
