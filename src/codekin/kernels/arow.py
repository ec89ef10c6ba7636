"""One pass of AROW over the rows of a sparse matrix, for all bits at once.

The state of a feature is a row of weights and a row of variances, [n_features, 2, n_bits]: a non-zero of the data
touches one contiguous piece of memory for any number of bits. With averaging there is a third row: the sum of the
changes of the weights, each multiplied by the number of steps before it. Divided by the number of all steps it is the
difference of the last weights and their average.
"""

from __future__ import annotations

import numpy as np

from codekin.kernels.calling import njit

WEIGHT, VARIANCE, LATENESS = 0, 1, 2


# Divisors are at least r > 0: without Python's zero check the loop over the bits is vectorised.
@njit(cache=True, nogil=True, error_model="numpy")
def arow_pass(indptr, indices, values, class_of_sample, codewords, r_of_sample, order, n_steps, state, first, last):
    """Learn bits ``first`` to ``last - 1`` from the samples in the given order.

    With ``y`` the bit of the sample's class, ``s = w.x`` and ``v = sum variance x**2``, if ``y s < 1`` then ``beta = 1
    / (v + r)``, ``alpha = (1 - y s) beta``, ``w += alpha y variance x`` and ``variance -= beta variance**2 x**2``
    (Crammer, Kulesza and Dredze 2009, with a diagonal covariance). A bit that is zero does not learn from the sample.
    All sums run over a sample's non-zeros in their order, so that no bit's result depends on the others.

    The samples are compressed sparse rows, without duplicates; ``r_of_sample`` is r divided by the sample's weight. A
    number in ``order`` from ``n_samples`` on means that sample for its positive bits only. ``n_steps`` were made
    before, for averaging. ``state``, float32 (n_features, 2 or 3, n_bits), is changed in place; concurrent calls may
    learn disjoint bits.
    """
    n_samples = len(class_of_sample)
    n_bits = last - first
    one = np.float32(1)
    # The margins, then alpha * y; the confidences, then beta.
    step, shrinkage = np.empty(n_bits, np.float32), np.empty(n_bits, np.float32)
    for t in range(len(order)):
        lateness = np.float32(n_steps + t)
        sample = order[t] % n_samples
        start, stop = indptr[sample], indptr[sample + 1]
        codeword = codewords[class_of_sample[sample], first:last]
        r = r_of_sample[sample]
        if order[t] >= n_samples:
            for j in range(n_bits):
                if codeword[j] > 0:
                    _learn_positive(indices[start:stop], values[start:stop], r, lateness, state, first + j)
            continue

        step[:] = 0
        shrinkage[:] = 0
        # Four non-zeros at a time: a quarter of the memory traffic for the two sums.
        p = start
        while p + 4 <= stop:
            x0, x1, x2, x3 = values[p], values[p + 1], values[p + 2], values[p + 3]
            q0, q1, q2, q3 = x0 * x0, x1 * x1, x2 * x2, x3 * x3
            f0, f1, f2, f3 = indices[p], indices[p + 1], indices[p + 2], indices[p + 3]
            w0, v0 = state[f0, WEIGHT, first:last], state[f0, VARIANCE, first:last]
            w1, v1 = state[f1, WEIGHT, first:last], state[f1, VARIANCE, first:last]
            w2, v2 = state[f2, WEIGHT, first:last], state[f2, VARIANCE, first:last]
            w3, v3 = state[f3, WEIGHT, first:last], state[f3, VARIANCE, first:last]
            # Two loops instead of one: fewer arrays for LLVM to tell apart, which helps short rows.
            for j in range(n_bits):
                step[j] = (((step[j] + x0 * w0[j]) + x1 * w1[j]) + x2 * w2[j]) + x3 * w3[j]
            for j in range(n_bits):
                shrinkage[j] = (((shrinkage[j] + q0 * v0[j]) + q1 * v1[j]) + q2 * v2[j]) + q3 * v3[j]
            p += 4
        while p < stop:
            x0, q0 = values[p], values[p] * values[p]
            w0, v0 = state[indices[p], WEIGHT, first:last], state[indices[p], VARIANCE, first:last]
            for j in range(n_bits):
                step[j] += x0 * w0[j]
                shrinkage[j] += q0 * v0[j]
            p += 1

        for j in range(n_bits):
            y = np.float32(codeword[j])
            gap = one - y * step[j]
            # No branches. y * y is 0 for a bit that ignores the class: neither weights nor variances move then.
            beta = y * y * np.float32(gap > 0) / (shrinkage[j] + r)
            step[j] = y * (gap * beta)
            shrinkage[j] = beta

        for p in range(start, stop):
            x0 = values[p]
            w0, v0 = state[indices[p], WEIGHT, first:last], state[indices[p], VARIANCE, first:last]
            if state.shape[1] > LATENESS:
                u0 = state[indices[p], LATENESS, first:last]
                for j in range(n_bits):
                    u0[j] += lateness * (step[j] * (v0[j] * x0))
            for j in range(n_bits):
                reach = v0[j] * x0
                w0[j] += step[j] * reach
                v0[j] -= shrinkage[j] * (reach * reach)


@njit(cache=True, nogil=True)
def _learn_positive(features, values, r, lateness, state, bit):
    """The same step for one bit whose label is +1."""
    margin, confidence = np.float32(0), np.float32(0)
    for p in range(len(features)):
        x = values[p]
        margin += x * state[features[p], WEIGHT, bit]
        confidence += x * x * state[features[p], VARIANCE, bit]
    gap = np.float32(1) - margin
    if gap <= 0:
        return
    beta = np.float32(1) / (confidence + r)
    for p in range(len(features)):
        reach = state[features[p], VARIANCE, bit] * values[p]
        change = gap * beta * reach
        if state.shape[1] > LATENESS:
            state[features[p], LATENESS, bit] += lateness * change
        state[features[p], WEIGHT, bit] += change
        state[features[p], VARIANCE, bit] -= beta * (reach * reach)


@njit(cache=True, nogil=True)
def gather_weights(state):
    """Move the rows of weights to the front of the state's memory, overwriting it."""
    n_features, _, n_bits = state.shape
    flat = state.reshape(-1)
    for f in range(n_features):
        # Nothing unread is overwritten: row f goes to where row f / n_rows was.
        for j in range(n_bits):
            flat[f * n_bits + j] = state[f, WEIGHT, j]
