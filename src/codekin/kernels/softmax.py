"""One pass of the multiclass logistic loss over the rows of a sparse matrix: all classes compete, all bits learn.

The score of a class is that of its codeword. On a trellis the sums over all classes are made by the forward-backward
algorithm in time linear in the edges; for any other coding matrix, by going through its rows. The state of a feature is
a row of weights beside a row of curvatures, [n_features, 2, n_bits], the layout of AROW.

Divisors are sums and curvatures, which are positive: without Python's zero check (``error_model="numpy"``) the compiler
vectorises the loops, and a step is limited only by memory.
"""

from __future__ import annotations

import numpy as np

from codekin.kernels.calling import njit

LARGEST = 87.0
"""Beyond plus or minus this, single precision has no exponential."""
LOG2_E = np.float32(1.4426950408889634)
LN2_HIGH, LN2_LOW = np.float32(0.693359375), np.float32(-2.12194440e-4)
"""The natural logarithm of 2 in two parts, the first of few digits: their products with whole numbers are exact."""
ROUNDER = np.float32(1.5 * 2**23)
"""Added to a number it leaves the nearest whole number in the last bits."""
EXPONENT_OF_ONE = np.int32(127)
ROUNDER_BITS = np.int32(0x4B400000)
A, B, C, D, E, F = (np.float32(c) for c in (1.9875691e-4, 1.3981999e-3, 8.3334519e-3, 4.1665796e-2, 0.16666666, 0.5))
"""Of the polynomial for ``exp`` between plus and minus half of ln 2 (Moshier's Cephes library)."""
ONE = np.float32(1)


@njit(cache=True, nogil=True, error_model="numpy")
def exponentials(scores, shift, limit, powers, found):
    """Compute ``exp(score - shift)`` with a relative error below 2e-7; arguments beyond the limit are clipped.

    ``powers`` is room for float32; ``found``, float64, receives the exponentials. ``limit`` is at most :data:`LARGEST`.
    """
    low, high, less = np.float32(-limit), np.float32(limit), np.float32(shift)
    bits = powers.view(np.int32)
    for j in range(len(scores)):
        x = min(max(scores[j] - less, low), high)
        powers[j] = x * LOG2_E + ROUNDER
        n = powers[j] - ROUNDER
        r = (x - n * LN2_HIGH) - n * LN2_LOW
        found[j] = ((((((A * r + B) * r + C) * r + D) * r + E) * r + F) * (r * r) + r) + ONE
    # 2**n has n, and the exponent of 1, in the bits of its exponent.
    for j in range(len(scores)):
        bits[j] = (bits[j] - (ROUNDER_BITS - EXPONENT_OF_ONE)) << 23
    for j in range(len(scores)):
        found[j] *= powers[j]


WEIGHT, CURVATURE = 0, 1
NEGLIGIBLE = 1e-12
"""A class with a smaller share does not change a sum in single precision."""


@njit(cache=True, nogil=True, error_model="numpy")
def trellis_softmax_pass(
    indptr, indices, values, class_of_sample, edges_of_class, weight_of_sample, order, width, digits, step, limit, state
):
    """Learn from the samples in the given order, with the paths of a trellis as classes.

    With ``p`` the share of the paths over an edge in ``sum_paths exp(sum of the margins on the path)``, and ``y`` 1 if
    the path of the sample's class has the edge and 0 otherwise, ``curvature += p (1 - p) x**2`` and then ``w -= step (p
    - y) x / curvature``: a share of a diagonal Newton step.

    The samples are compressed sparse rows, without duplicates; float32 values. ``edges_of_class`` is filled up with -1;
    ``weight_of_sample`` multiplies gradient and curvature; margins beyond ``limit`` are clipped. ``state``, float32
    (n_features, 2, n_bits), is changed in place.
    """
    n_bits = state.shape[2]
    margins, powers, steps, growths = _rows_of(n_bits)
    marginals, curvatures = np.empty(n_bits), np.empty(n_bits)
    growth, onward, reach = np.empty(n_bits), np.empty((len(digits) - 1, width)), np.empty((len(digits) - 1, width))
    for t in range(len(order)):
        sample = order[t]
        start, stop = indptr[sample], indptr[sample + 1]
        _margins_of(indices[start:stop], values[start:stop], state, margins)
        exponentials(margins, 0.0, limit, powers, growth)
        edge_marginals(growth, width, digits, onward, reach, marginals)
        for e in range(n_bits):
            curvatures[e] = marginals[e] * (1 - marginals[e])
        for e in edges_of_class[class_of_sample[sample]]:
            if e >= 0:
                marginals[e] -= 1
        _scale_steps(weight_of_sample[sample], step, marginals, curvatures, steps, growths)
        _descend(indices[start:stop], values[start:stop], steps, growths, state)


@njit(cache=True, nogil=True, error_model="numpy")
def _rows_of(n_bits):
    """Make room for four numbers of single precision for each bit."""
    rows = np.empty((4, n_bits), np.float32)
    return rows[0], rows[1], rows[2], rows[3]


@njit(cache=True, nogil=True, error_model="numpy")
def _margins_of(features, values, state, margins):
    """Add up the margins of one sample, four non-zeros at a time."""
    n_bits = len(margins)
    margins[:] = 0
    p, stop = 0, len(features)
    while p + 4 <= stop:
        x0, x1, x2, x3 = values[p], values[p + 1], values[p + 2], values[p + 3]
        w0, w1 = state[features[p], WEIGHT], state[features[p + 1], WEIGHT]
        w2, w3 = state[features[p + 2], WEIGHT], state[features[p + 3], WEIGHT]
        for j in range(n_bits):
            margins[j] = (((margins[j] + x0 * w0[j]) + x1 * w1[j]) + x2 * w2[j]) + x3 * w3[j]
        p += 4
    while p < stop:
        x0, w0 = values[p], state[features[p], WEIGHT]
        for j in range(n_bits):
            margins[j] += x0 * w0[j]
        p += 1


@njit(cache=True, nogil=True, error_model="numpy")
def edge_marginals(growth, width, digits, onward, reach, marginals):
    """Compute how much of the sum of ``exp(path score)`` over all paths runs over each edge, as a share of it.

    ``growth`` are the exponentials of the scores of the edges; ``onward`` and ``reach``, (n_slices, width), room for
    the sums over all ways from a vertex to the sink, and from the source to it; ``marginals`` receives the shares.
    """
    n_edges = len(growth)
    n_slices = len(digits) - 1
    top = digits[n_slices]
    first_end = width + (n_slices - 1) * width * width
    first_final = first_end + width * top

    first_shortcut = n_edges
    for i in range(n_slices - 1, -1, -1):
        first_shortcut -= digits[i]
        ways = onward[i]
        ways[:] = 0
        for v in range(digits[i]):
            ways[v] = growth[first_shortcut + v]
        if i == n_slices - 1:
            for t in range(top):
                final, first_edge = growth[first_final + t], first_end + t * width
                for v in range(width):
                    ways[v] += growth[first_edge + v] * final
        else:
            for v in range(width):
                first_edge = width + i * width * width + v * width
                for u in range(width):
                    ways[v] += growth[first_edge + u] * onward[i + 1, u]

    total = 0.0
    for v in range(width):
        total += growth[v] * onward[0, v]
    for v in range(width):
        reach[0, v] = growth[v] / total
        marginals[v] = reach[0, v] * onward[0, v]
    for i in range(n_slices):
        for v in range(digits[i]):
            marginals[first_shortcut + v] = reach[i, v] * growth[first_shortcut + v]
        first_shortcut += digits[i]
        if i == n_slices - 1:
            for t in range(top):
                final, first_edge = growth[first_final + t], first_end + t * width
                over = 0.0
                for v in range(width):
                    marginals[first_edge + v] = reach[i, v] * growth[first_edge + v] * final
                    over += marginals[first_edge + v]
                marginals[first_final + t] = over
        else:
            reach[i + 1, :] = 0
            for v in range(width):
                first_edge = width + i * width * width + v * width
                for u in range(width):
                    way = reach[i, v] * growth[first_edge + u]
                    reach[i + 1, u] += way
                    marginals[first_edge + u] = way * onward[i + 1, u]


@njit(cache=True, nogil=True, error_model="numpy")
def dense_softmax_pass(indptr, indices, values, class_of_sample, codewords, bits, weight_of_sample, order, step, state):
    """Learn from the samples in the given order, with the rows of any coding matrix as classes.

    The score of a class is half the product of its codeword ``c`` and the margins, which on a trellis is the sum over
    its path, up to a constant. With ``p`` the softmax of the scores and the mean and the variance of ``c / 2`` under
    ``p``, ``curvature += variance x**2`` and then ``w -= step (mean - c_y / 2) x / curvature``. ``bits`` are the
    codewords, float32, transposed; otherwise as :func:`trellis_softmax_pass`.
    """
    n_classes, n_bits = codewords.shape
    margins, steps, growths, _ = _rows_of(n_bits)
    scores, powers, shares = np.empty(n_classes, np.float32), np.empty(n_classes, np.float32), np.empty(n_classes)
    gradient, curvatures = np.empty(n_bits), np.empty(n_bits)
    for t in range(len(order)):
        sample = order[t]
        start, stop = indptr[sample], indptr[sample + 1]
        _margins_of(indices[start:stop], values[start:stop], state, margins)
        scores[:] = 0
        for j in range(n_bits):
            half, bit = margins[j] / np.float32(2), bits[j]
            for k in range(n_classes):
                scores[k] += half * bit[k]
        _moments_of(scores, codewords, powers, shares, gradient, curvatures)
        codeword = codewords[class_of_sample[sample]]
        for j in range(n_bits):
            gradient[j] -= codeword[j] / 2
        _scale_steps(weight_of_sample[sample], step, gradient, curvatures, steps, growths)
        _descend(indices[start:stop], values[start:stop], steps, growths, state)


@njit(cache=True, nogil=True, error_model="numpy")
def flat_softmax_pass(indptr, indices, values, class_of_sample, bit_of_class, weight_of_sample, order, step, state):
    """Learn from the samples in the given order, with a bit of its own for each class.

    With ``p`` the softmax of the margins and ``y`` 1 for the bit of the sample's class and 0 otherwise, ``curvature +=
    p (1 - p) x**2`` and then ``w -= step (p - y) x / curvature``: what :func:`dense_softmax_pass` does with one-vs-rest
    codewords, in time linear in the classes.
    """
    n_bits = state.shape[2]
    margins, powers, steps, growths = _rows_of(n_bits)
    shares, curvatures = np.empty(n_bits), np.empty(n_bits)
    for t in range(len(order)):
        sample = order[t]
        start, stop = indptr[sample], indptr[sample + 1]
        _margins_of(indices[start:stop], values[start:stop], state, margins)
        exponentials(margins, margins.max(), LARGEST, powers, shares)
        total = shares.sum()
        for j in range(n_bits):
            shares[j] /= total
            curvatures[j] = shares[j] * (1 - shares[j])
        shares[bit_of_class[class_of_sample[sample]]] -= 1
        _scale_steps(weight_of_sample[sample], step, shares, curvatures, steps, growths)
        _descend(indices[start:stop], values[start:stop], steps, growths, state)


@njit(cache=True, nogil=True, error_model="numpy")
def _moments_of(scores, codewords, powers, shares, mean, variance):
    """Compute the mean and the variance of half a codeword under the softmax of the scores."""
    exponentials(scores, scores.max(), LARGEST, powers, shares)
    total = shares.sum()
    mean[:] = 0
    variance[:] = 0
    for k in range(len(scores)):
        share = shares[k] / total
        if share > NEGLIGIBLE:
            codeword = codewords[k]
            for j in range(len(mean)):
                mean[j] += share * (codeword[j] / 2)
                variance[j] += share * (codeword[j] * codeword[j] / 4)
    for j in range(len(mean)):
        variance[j] = max(variance[j] - mean[j] * mean[j], 0.0)


@njit(cache=True, nogil=True, error_model="numpy")
def _scale_steps(weight, step, gradient, curvatures, steps, growths):
    """Turn the gradient and the curvatures of a sample of this weight into what its features are changed by."""
    for j in range(len(gradient)):
        steps[j] = weight * step * gradient[j]
        growths[j] = weight * curvatures[j]


@njit(cache=True, nogil=True, error_model="numpy")
def _descend(features, values, steps, growths, state):
    """Add the curvature of one sample to its features, then step down its gradient."""
    for p in range(len(features)):
        x = values[p]
        square = x * x
        w0, g0 = state[features[p], WEIGHT], state[features[p], CURVATURE]
        for j in range(len(steps)):
            g0[j] += growths[j] * square
            w0[j] -= steps[j] * x / g0[j]
