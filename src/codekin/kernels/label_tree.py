"""Trees of classes: a softmax over the children of each node, learned from its own samples, and the search for leaves.

Weights are stored in chunks, each with those of one feature in one node; the chunks of a feature are in the order of
their nodes. A search looks at few nodes, and in each at the chunks of the sample's features.
"""

from __future__ import annotations

import math

import numpy as np

from codekin.kernels.calling import MOST_AHEAD, PER_LINE, njit, prefetch

WEIGHT, CURVATURE = 0, 1
ONCE = -2
"""Instead of a number: one sample has the feature. One less if more samples have it."""
MOST_ALONE = 8
"""Of how many different values of a sample features are merged."""
FAR = 8.0
"""A search that has enough does not follow nodes ``exp(8)`` times less probable than the best of their level."""
LOG2_E = np.float32(1.4426950408889634)
LEAST_POWER = np.float32(-126.0)
EXPONENT_BIAS, MANTISSA_BITS = np.int32(127), np.int32(23)
C0, C1, C2 = np.float32(0.99999994), np.float32(0.69315308), np.float32(0.24015361)
C3, C4, C5 = np.float32(0.055826318), np.float32(0.0089893397), np.float32(0.0018775767)
"""The best polynomial for 2**x between 0 and 1, to seven digits."""


@njit(cache=True, nogil=True)
def exponentials(scores, powers, as_floats, out):
    """Write ``exp(score - largest score)`` into ``out``, in single precision; return the largest and the sum.

    ``powers`` is room, and ``as_floats`` the same memory read as floats.
    """
    n = len(out)
    # Four at a time: each waits for the one before it.
    m0, m1, m2, m3 = scores[0], scores[0], scores[0], scores[0]
    whole_rounds = n & ~3
    for j in range(0, whole_rounds, 4):
        m0, m1 = max(m0, scores[j]), max(m1, scores[j + 1])
        m2, m3 = max(m2, scores[j + 2]), max(m3, scores[j + 3])
    for j in range(whole_rounds, n):
        m0 = max(m0, scores[j])
    largest = max(m0, m1, m2, m3)
    for j in range(n):
        power = max((scores[j] - largest) * LOG2_E, LEAST_POWER)
        whole = np.floor(power)
        x = power - whole
        out[j] = ((((C5 * x + C4) * x + C3) * x + C2) * x + C1) * x + C0
        powers[j] = (np.int32(whole) + EXPONENT_BIAS) << MANTISSA_BITS
    for j in range(n):
        out[j] *= as_floats[j]
    t0, t1, t2, t3 = np.float32(0), np.float32(0), np.float32(0), np.float32(0)
    for j in range(0, whole_rounds, 4):
        t0, t1, t2, t3 = t0 + out[j], t1 + out[j + 1], t2 + out[j + 2], t3 + out[j + 3]
    for j in range(whole_rounds, n):
        t0 += out[j]
    return largest, (t0 + t1) + (t2 + t3)


@njit(cache=True, nogil=True)
def node_rows(rows, wanted, number_of_feature, merges, indptr, local, values):
    """Copy the samples of a node, with numbers of its own for their features; return the features and their numbers.

    The features are in the order in which they occur. If ``merges``, features that only one sample has, with the same
    value, share a number, since they would learn the same: in texts most features of most nodes do. All but the first
    of them appear in the row as ``-1 - number``. ``wanted`` are the rows of the node's samples; ``number_of_feature``
    is room, -1 everywhere and again afterwards.
    """
    row_indptr, row_indices, row_values = rows
    features = np.empty(min(len(local), len(number_of_feature)), np.int32)
    numbers = np.empty(len(features), np.int32)
    values_alone, numbers_alone = np.empty(MOST_ALONE, np.float32), np.empty(MOST_ALONE, np.int32)
    if merges:
        for i in wanted:
            for q in range(row_indptr[i], row_indptr[i + 1]):
                seen = number_of_feature[row_indices[q]]
                number_of_feature[row_indices[q]] = ONCE if seen == -1 else ONCE - 1
    n, n_numbers, m = 0, 0, 0
    for i in range(len(wanted)):
        indptr[i] = m
        n_alone = 0
        for q in range(row_indptr[wanted[i]], row_indptr[wanted[i] + 1]):
            feature, x = row_indices[q], row_values[q]
            number = np.int64(number_of_feature[feature])
            local[m], values[m] = number, x
            if number < 0:
                is_alone, number = number == ONCE, n_numbers
                if is_alone:
                    for p in range(n_alone):
                        if values_alone[p] == x:
                            number = np.int64(numbers_alone[p])
                            break
                local[m] = number
                if number < n_numbers:
                    local[m] = -1 - number
                elif is_alone and n_alone < MOST_ALONE:
                    values_alone[n_alone], numbers_alone[n_alone] = x, number
                    n_alone += 1
                n_numbers = max(n_numbers, number + 1)
                number_of_feature[feature], features[n], numbers[n] = number, feature, number
                n += 1
            m += 1
    indptr[len(wanted)] = m
    for q in range(n):
        number_of_feature[features[q]] = -1
    return features[:n].copy(), numbers[:n].copy()


@njit(cache=True, nogil=True)
def node_softmax_pass(indptr, local, values, child_of_sample, weight_of_sample, order, step, state):
    """Learn from the samples of one node in the given order: a softmax over its children.

    With ``p`` the softmax of the margins and ``y`` 1 for the sample's child and 0 otherwise, ``curvature += p (1 - p)
    x**2`` and then ``w -= step (p - y) x / curvature``. The samples are compressed sparse rows, with the node's own
    numbers of features from :func:`node_rows`; ``state``, float32 (n_numbers, 2, n_children), is changed in place.
    """
    n_children = state.shape[2]
    margins, shares = np.empty(n_children, np.float32), np.empty(n_children, np.float32)
    steps, growths = np.empty(n_children, np.float32), np.empty(n_children, np.float32)
    powers = np.empty(n_children, np.int32)
    as_floats = powers.view(np.float32)
    flat, n_of_number = state.reshape(-1), 2 * n_children
    for place in range(len(order)):
        if place + 1 < len(order):
            for q in range(indptr[order[place + 1]], indptr[order[place + 1] + 1]):
                number = local[q] if local[q] >= 0 else -1 - local[q]
                for line in range(number * n_of_number, (number + 1) * n_of_number, PER_LINE):
                    prefetch(flat, line)
        sample = order[place]
        start, stop = indptr[sample], indptr[sample + 1]
        margins[:] = 0
        for q in range(start, stop):
            number = local[q] if local[q] >= 0 else -1 - local[q]
            x, w = values[q], state[number, WEIGHT]
            for j in range(n_children):
                margins[j] += x * w[j]
        _, total = exponentials(margins, powers, as_floats, shares)
        weight = np.float32(weight_of_sample[sample])
        of_gradient, scale = weight * np.float32(step), np.float32(1) / total
        for j in range(n_children):
            share = shares[j] * scale
            steps[j] = of_gradient * share
            growths[j] = weight * (share * (np.float32(1) - share))
        steps[child_of_sample[sample]] -= of_gradient
        for q in range(start, stop):
            if local[q] < 0:
                continue  # the first feature with this number makes the step
            x = values[q]
            square = x * x
            w, g = state[local[q], WEIGHT], state[local[q], CURVATURE]
            for j in range(n_children):
                g[j] += growths[j] * square
                w[j] -= steps[j] * x / g[j]


@njit(cache=True, nogil=True)
def _logarithms(margins, score, is_logistic, powers, as_floats, shares):
    """Return what is added to a margin to make it the logarithm of a probability, below a node with this one.

    Margins of logistic regressions are first replaced by the logarithms of their own probabilities.
    """
    if is_logistic:
        for j in range(len(margins)):
            small = math.log1p(math.exp(-abs(np.float64(margins[j]))))
            margins[j] = min(margins[j], np.float32(0)) - np.float32(small)
        return score
    largest, total = exponentials(margins, powers, as_floats, shares)
    return score - np.float64(largest) - math.log(max(np.float64(total), 1.0))


@njit(cache=True, nogil=True)
def large_weights(state, numbers, thresholds, with_curvatures):
    """The weights of a node that are larger than its features' thresholds, perhaps with their curvatures.

    ``numbers`` says which of the states is that of each feature. Returns how many each feature has, of which children
    they are, how large, and the curvatures.
    """
    n_features, n_children = len(numbers), state.shape[2]
    counts = np.zeros(n_features, np.int64)
    for f in range(n_features):
        w = state[numbers[f], WEIGHT]
        for j in range(n_children):
            counts[f] += abs(w[j]) > thresholds[f]
    n_kept = counts.sum()
    children, weights, curvatures = (
        np.empty(n_kept, np.int32),
        np.empty(n_kept, np.float32),
        np.empty(n_kept if with_curvatures else 0, np.float32),
    )
    n = 0
    for f in range(n_features):
        if counts[f] > 0:
            own = state[numbers[f]]
            for j in range(n_children):
                if abs(own[WEIGHT, j]) > thresholds[f]:
                    children[n], weights[n] = j, own[WEIGHT, j]
                    if with_curvatures:
                        curvatures[n] = own[CURVATURE, j]
                    n += 1
    return counts, children, weights, curvatures


@njit(cache=True, nogil=True)
def put_chunks(values, lengths, starts, out):
    """Copy chunks of values, which follow each other, to where they begin in ``out``."""
    n = 0
    for chunk in range(len(lengths)):
        for place in range(starts[chunk], starts[chunk] + lengths[chunk]):
            out[place] = values[n]
            n += 1


@njit(cache=True, nogil=True)
def _first_chunk(chunk_nodes, low, high, node):
    """The position of a node's chunk among those of a feature, or where it would be."""
    while low < high:
        middle = (low + high) >> 1
        if chunk_nodes[middle] < node:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True, nogil=True)
def _node_margins(features, values, node, n_nodes, first_bit, weights, scale, margins):
    """Add up the margins of a node's children for one sample, divided by the temperature."""
    chunk_indptr, chunk_nodes, chunk_starts, children, entries, bias = weights
    for j in range(len(margins)):
        margins[j] = bias[first_bit + j]
    for q in range(len(features)):
        feature, x = features[q], values[q]
        start, stop = chunk_indptr[feature], chunk_indptr[feature + 1]
        # The nodes of a feature increase, so that at most ``node`` are before this one; many leave few places.
        low, high = max(start, stop - (n_nodes - node)), min(stop, start + node + 1)
        chunk = _first_chunk(chunk_nodes, low, high, node)
        if chunk < stop and chunk_nodes[chunk] == node:
            first, last = chunk_starts[chunk], chunk_starts[chunk + 1]
            if last - first == len(margins):
                row = entries[first:last]
                for j in range(len(margins)):
                    margins[j] += x * row[j]
            else:
                for m in range(first, last):
                    margins[children[m]] += x * entries[m]
    if scale != np.float32(1):
        for j in range(len(margins)):
            margins[j] *= scale


@njit(cache=True, nogil=True)
def _insert(item, score, n, items, scores):
    """Put an item into a list that is sorted by falling scores, if it is good enough; return the new length."""
    if n < len(items):
        n += 1
    elif score <= scores[n - 1]:
        return n
    place = n - 1
    while place > 0 and scores[place - 1] < score:
        items[place], scores[place] = items[place - 1], scores[place - 1]
        place -= 1
    items[place], scores[place] = item, score
    return n


@njit(cache=True, nogil=True)
def search_leaves(rows, tree, weights, beam, scale, reach, leaves, log_probabilities):
    """Find the most probable leaves of each sample by a beam search from the root down.

    At each level the ``beam`` most probable nodes are followed, unless they are far less probable than the best and
    there are enough others. The probability of a leaf is the product of those of the children on the path to it.

    ``tree`` is (first_bits, children, is_logistic): where the bits of each node begin, the node below each bit, or
    minus one minus the leaf, and whether children have probabilities of their own instead of a softmax over them.
    ``weights`` are (chunk_indptr, chunk_nodes, chunk_starts, children, entries, bias): where the chunks
    of each feature begin, of which nodes they are, where their entries begin, of which children these are, their
    values, and what is added for each bit. A chunk as long as its node has children has them all, in order. Margins are
    multiplied by ``scale``. Leaves whose log-probability is further than ``reach`` below that of the best are left out:
    -1 and minus infinity.
    """
    indptr, indices, values = rows
    first_bits, below, is_logistic = tree
    chunk_indptr, chunk_nodes, chunk_starts, _, entries, _ = weights
    widest = 0
    for node in range(len(first_bits) - 1):
        widest = max(widest, first_bits[node + 1] - first_bits[node])
    margins, shares, powers = np.empty(widest, np.float32), np.empty(widest, np.float32), np.empty(widest, np.int32)
    as_floats = powers.view(np.float32)
    n_wanted = leaves.shape[1]
    nodes, scores = np.empty(beam, np.int64), np.empty(beam)
    next_nodes, next_scores = np.empty(beam, np.int64), np.empty(beam)
    for i in range(len(indptr) - 1):
        features, own = indices[indptr[i] : indptr[i + 1]], values[indptr[i] : indptr[i + 1]]
        # The root's weights, and where those of the next sample are.
        for q in range(indptr[i], indptr[i + 1]):
            first = chunk_starts[chunk_indptr[indices[q]]]
            for line in range(first, first + min(first_bits[1], MOST_AHEAD), PER_LINE):
                prefetch(entries, line)
        if i + 2 < len(indptr):
            for q in range(indptr[i + 1], indptr[i + 2]):
                prefetch(chunk_nodes, chunk_indptr[indices[q]])
                prefetch(chunk_starts, chunk_indptr[indices[q]])
        nodes[0], scores[0] = 0, 0.0
        n_nodes, n_leaves = 1, 0
        while n_nodes > 0:
            n_next = 0
            for p in range(n_nodes):
                # No leaf below is more probable than its node.
                if n_leaves == n_wanted and scores[p] <= log_probabilities[i, n_leaves - 1]:
                    break
                if n_leaves > 0 and scores[p] < log_probabilities[i, 0] - reach:
                    break
                if scores[p] < scores[0] - FAR and (n_leaves == n_wanted or n_next == beam):
                    break
                node = nodes[p]
                first = first_bits[node]
                n = first_bits[node + 1] - first
                _node_margins(features, own, node, len(first_bits) - 1, first, weights, scale, margins[:n])
                rest = _logarithms(margins[:n], scores[p], is_logistic, powers[:n], as_floats[:n], shares[:n])
                # A node has either leaves as children or nodes.
                if below[first] >= 0:
                    for j in range(n):
                        score = np.float64(margins[j]) + rest
                        if n_next < beam or score > next_scores[beam - 1]:
                            n_next = _insert(below[first + j], score, n_next, next_nodes, next_scores)
                    continue
                own_leaves, own_logs = leaves[i], log_probabilities[i]
                lowest = own_logs[0] - reach if n_leaves > 0 else -np.inf
                for j in range(n):
                    score = np.float64(margins[j]) + rest
                    if score >= lowest and (n_leaves < n_wanted or score > own_logs[n_wanted - 1]):
                        n_leaves = _insert(-1 - below[first + j], score, n_leaves, own_leaves, own_logs)
                        lowest = own_logs[0] - reach
            n_nodes = n_next
            nodes[:n_next], scores[:n_next] = next_nodes[:n_next], next_scores[:n_next]
        while n_leaves > 1 and log_probabilities[i, n_leaves - 1] < log_probabilities[i, 0] - reach:
            n_leaves -= 1
        leaves[i, n_leaves:], log_probabilities[i, n_leaves:] = -1, -np.inf


@njit(cache=True, nogil=True)
def leaf_probabilities(rows, tree, weights, scale, node_of_bit, paths, leaves, log_probabilities):
    """Compute the logarithms of the probabilities of given leaves; minus infinity for leaf -1.

    ``paths``, (n_leaves, depth), are the bits on the path to each leaf, padded with -1; otherwise as
    :func:`search_leaves`.
    """
    indptr, indices, values = rows
    first_bits, _, is_logistic = tree
    n_bits = len(node_of_bit)
    # Nodes that several leaves of a sample share are computed once.
    reckoned_for, logs = np.full(len(first_bits) - 1, -1, np.int64), np.empty(n_bits)
    margins, shares, powers = np.empty(n_bits, np.float32), np.empty(n_bits, np.float32), np.empty(n_bits, np.int32)
    as_floats = powers.view(np.float32)
    for i in range(len(indptr) - 1):
        features, own = indices[indptr[i] : indptr[i + 1]], values[indptr[i] : indptr[i + 1]]
        for k in range(leaves.shape[1]):
            leaf = leaves[i, k]
            if leaf < 0:
                log_probabilities[i, k] = -np.inf
                continue
            total_score = 0.0
            for bit in paths[leaf]:
                if bit < 0:
                    break
                node = node_of_bit[bit]
                first = first_bits[node]
                if reckoned_for[node] != i:
                    n = first_bits[node + 1] - first
                    _node_margins(features, own, node, len(first_bits) - 1, first, weights, scale, margins[:n])
                    rest = _logarithms(margins[:n], 0.0, is_logistic, powers[:n], as_floats[:n], shares[:n])
                    for j in range(n):
                        logs[first + j] = np.float64(margins[j]) + rest
                    reckoned_for[node] = i
                total_score += logs[bit]
            log_probabilities[i, k] = total_score
