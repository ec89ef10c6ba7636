"""Linear support vector machines of all bits of a code, by dual coordinate descent (Hsieh et al., ICML 2008)."""

from __future__ import annotations

import numpy as np

from codekin.kernels.calling import njit

DENSE_SHARE = 4
"""If more than a quarter of the bits change, all of them are written: that needs no list of places."""
LEAST_SAMPLE_WEIGHT = 1e-30
"""Samples of smaller weights are left out: what is added to their squared length would be infinite."""


@njit(cache=True, nogil=True)
def svm_pass(
    indptr, indices, row_values, signs_of_sample, signs, weight_of_sample, order, damping, squared_scale, weights, duals
):
    """Go through the samples in this order and solve for their dual variables, one of each bit, exactly.

    The primal problem of a bit is ``|v|**2 / 2 + sum_i c_i max(0, 1 - y_i <v, z_i>)**2`` with ``c_i = weight_i / (2
    damping)``, where ``z_i`` are the samples with all entries but the last, that of the bias, multiplied by a scale,
    and the weights are ``v`` multiplied by it; samples of weight 0 and bits of sign 0 are left out. ``signs_of_sample``
    is the row of ``signs``, (n_rows, n_bits), with the bits of each sample. ``weights``, (n_features, n_bits), and
    ``duals``, (n_samples, n_bits), are changed in place.
    """
    n_bits = weights.shape[1]
    margins, steps = np.empty(n_bits, np.float32), np.empty(n_bits, np.float32)
    changed, squared = np.empty(n_bits, np.int64), np.float32(squared_scale)
    for sample in order:
        if weight_of_sample[sample] < LEAST_SAMPLE_WEIGHT:
            continue
        added = np.float32(damping / weight_of_sample[sample])
        start, stop = indptr[sample], indptr[sample + 1]
        margins[:] = 0
        square = np.float32(0)
        for q in range(start, stop):
            x, w = row_values[q], weights[indices[q]]
            square += x * x * (squared if q < stop - 1 else np.float32(1))
            for j in range(n_bits):
                margins[j] += x * w[j]
        y, dual, whole = signs[signs_of_sample[sample]], duals[sample], np.float32(1) / (square + added)
        n_changed = 0
        for j in range(n_bits):
            gradient = y[j] * margins[j] - np.float32(1) + dual[j] * added
            found = max(dual[j] - gradient * whole, np.float32(0))
            steps[j] = y[j] * (found - dual[j])
            if steps[j] != 0:
                dual[j] = found
                changed[n_changed] = j
                n_changed += 1
        if n_changed == 0:
            continue
        for q in range(start, stop):
            x, w = row_values[q] * (squared if q < stop - 1 else np.float32(1)), weights[indices[q]]
            if DENSE_SHARE * n_changed > n_bits:
                for j in range(n_bits):
                    w[j] += steps[j] * x
            else:
                for m in range(n_changed):
                    w[changed[m]] += steps[changed[m]] * x
