"""The objectives ``sum_uv A_uv B_p(u)p(v)`` of all permutations, meeting in the middle.

A permutation is a head, the values of the first half of the rows, and a tail. Given the head, the objective is its own
sum, plus one term per tail row and value, plus a sum within the tail that depends on the head only through the set of
values that it leaves. That last sum is tabulated, so that a permutation costs as many additions as its tail is long.
"""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def fill_tail_sums(a, b, n_head, tails, tail_sums):
    """For every set of values that a head can leave, the sum within the tail for each arrangement of them.

    ``a``, ``b``: float64 (n, n)
    ``tails``: int64 (n_arrangements, n_tail). The permutations of ``range(n_tail)``, in lexicographic order.
    ``tail_sums``: float64 (2**n, n_arrangements), changed in place. Row ``mask``, where bit ``c`` of ``mask`` says
        that value ``c`` is left.
    """
    n = a.shape[0]
    n_tail = n - n_head
    left = np.empty(n_tail, np.int64)
    for mask in range(1 << n):
        size = 0
        for value in range(n):
            if (mask >> value) & 1:
                if size < n_tail:
                    left[size] = value
                size += 1
        if size != n_tail:
            continue
        for t in range(tails.shape[0]):
            total = 0.0
            for i in range(n_tail):
                for j in range(n_tail):
                    total += a[n_head + i, n_head + j] * b[left[tails[t, i]], left[tails[t, j]]]
            tail_sums[mask, t] = total


@njit(cache=True, nogil=True)
def fill_objectives(a, b, n_head, tails, tail_sums, start, stop, objectives):
    """The objectives of all permutations whose head is one of ``start..stop-1``, all in lexicographic order.

    ``a``, ``b``, ``n_head``, ``tails``, ``tail_sums``: as in :func:`fill_tail_sums`.
    ``start``, ``stop``: heads, numbered in lexicographic order.
    ``objectives``: float64 (n!,), changed in place. Only the part that belongs to these heads.
    """
    n = a.shape[0]
    n_tail = n - n_head
    n_arrangements = tails.shape[0]
    head, left = np.empty(n_head, np.int64), np.empty(n, np.int64)
    cross = np.empty((n_tail, n_tail))
    for index in range(start, stop):
        # The digits of the index, in the factorial number system, pick the head's values from those still left.
        for value in range(n):
            left[value] = value
        n_left, block = n, 1
        for u in range(1, n_head):
            block *= n - u
        rest, mask = index, (1 << n) - 1
        for u in range(n_head):
            digit = rest // block
            rest -= digit * block
            head[u] = left[digit]
            mask ^= 1 << left[digit]
            for k in range(digit, n_left - 1):
                left[k] = left[k + 1]
            n_left -= 1
            block //= max(n - u - 1, 1)
        within = 0.0
        for u in range(n_head):
            for v in range(n_head):
                within += a[u, v] * b[head[u], head[v]]
        for i in range(n_tail):
            for c in range(n_tail):
                total = 0.0
                for u in range(n_head):
                    total += a[u, n_head + i] * b[head[u], left[c]] + a[n_head + i, u] * b[left[c], head[u]]
                cross[i, c] = total
        out = objectives[index * n_arrangements : (index + 1) * n_arrangements]
        sums = tail_sums[mask]
        for t in range(n_arrangements):
            total = within + sums[t]
            for i in range(n_tail):
                total += cross[i, tails[t, i]]
            out[t] = total
