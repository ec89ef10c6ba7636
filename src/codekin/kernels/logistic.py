"""Logistic regressions for the children of a node, which several labels of a sample may be below."""

from __future__ import annotations

import numpy as np

from codekin.kernels.calling import njit
from codekin.kernels.label_tree import (
    C0,
    C1,
    C2,
    C3,
    C4,
    C5,
    CURVATURE,
    EXPONENT_BIAS,
    LEAST_POWER,
    LOG2_E,
    MANTISSA_BITS,
    WEIGHT,
)


@njit(cache=True, nogil=True)
def logistics(margins, powers, as_floats, out):
    """Write ``exp(-|margin|)`` into ``out``, then the probabilities ``1 / (1 + exp(-margin))``, in single precision."""
    n = len(out)
    for j in range(n):
        power = max(-abs(margins[j]) * LOG2_E, LEAST_POWER)
        whole = np.floor(power)
        x = power - whole
        out[j] = ((((C5 * x + C4) * x + C3) * x + C2) * x + C1) * x + C0
        powers[j] = (np.int32(whole) + EXPONENT_BIAS) << MANTISSA_BITS
    for j in range(n):
        small = out[j] * as_floats[j]
        out[j] = (np.float32(1) if margins[j] > 0 else small) / (np.float32(1) + small)


@njit(cache=True, nogil=True)
def node_logistic_pass(indptr, local, values, set_of_sample, sets, weight_of_sample, order, step, state):
    """Learn from the samples of one node in the given order: a logistic regression for each of its children.

    A sample is below several children: those where its row of ``sets``, (n_sets, n_children), is 1. With ``p`` the
    probabilities of the children and ``y`` that row, the steps are those of
    :func:`codekin.kernels.label_tree.node_softmax_pass`.
    """
    n_children = state.shape[2]
    margins, shares = np.empty(n_children, np.float32), np.empty(n_children, np.float32)
    steps, growths = np.empty(n_children, np.float32), np.empty(n_children, np.float32)
    powers = np.empty(n_children, np.int32)
    as_floats = powers.view(np.float32)
    for sample in order:
        start, stop = indptr[sample], indptr[sample + 1]
        margins[:] = 0
        for q in range(start, stop):
            number = local[q] if local[q] >= 0 else -1 - local[q]
            x, w = values[q], state[number, WEIGHT]
            for j in range(n_children):
                margins[j] += x * w[j]
        logistics(margins, powers, as_floats, shares)
        weight, own = np.float32(weight_of_sample[sample]), sets[set_of_sample[sample]]
        of_gradient = weight * np.float32(step)
        for j in range(n_children):
            steps[j] = of_gradient * (shares[j] - np.float32(own[j]))
            growths[j] = weight * (shares[j] * (np.float32(1) - shares[j]))
        for q in range(start, stop):
            if local[q] < 0:
                continue
            x = values[q]
            square = x * x
            w, g = state[local[q], WEIGHT], state[local[q], CURVATURE]
            for j in range(n_children):
                g[j] += growths[j] * square
                w[j] -= steps[j] * x / g[j]
