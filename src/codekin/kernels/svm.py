"""Linear support vector machines of all bits of a code, by dual coordinate descent (Hsieh et al., ICML 2008)."""

from __future__ import annotations

import numpy as np

from codekin.kernels.compiling import njit

DENSE_SHARE = 4
"""If more than a quarter of the bits change, all of them are written: that needs no list of places."""


@njit(cache=True, nogil=True)
def svm_pass(indptr, indices, row_values, signs_of_sample, signs, weight_of_sample, order, damping, weights, duals):
    """Go through the samples in this order and solve for their dual variables, one of each bit, exactly.

    The primal problem of a bit is ``|w|**2 / 2 + sum_i c_i max(0, 1 - y_i <w, x_i>)**2`` with ``c_i = weight_i / (2
    damping)``; samples of weight 0 and bits of sign 0 are left out. ``signs_of_sample`` is the row of ``signs``,
    (n_rows, n_bits), with the bits of each sample. ``weights``, (n_features, n_bits), and ``duals``, (n_samples,
    n_bits), are changed in place.
    """
    n_bits = weights.shape[1]
    margins, steps = np.empty(n_bits, np.float32), np.empty(n_bits, np.float32)
    changed = np.empty(n_bits, np.int64)
    for sample in order:
        if weight_of_sample[sample] <= 0:
            continue
        added = np.float32(damping / weight_of_sample[sample])
        start, stop = indptr[sample], indptr[sample + 1]
        margins[:] = 0
        square = np.float32(0)
        for q in range(start, stop):
            x, w = row_values[q], weights[indices[q]]
            square += x * x
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
        if DENSE_SHARE * n_changed > n_bits:
            for q in range(start, stop):
                x, w = row_values[q], weights[indices[q]]
                for j in range(n_bits):
                    w[j] += steps[j] * x
        elif n_changed > 0:
            for q in range(start, stop):
                x, w = row_values[q], weights[indices[q]]
                for m in range(n_changed):
                    w[changed[m]] += steps[changed[m]] * x
