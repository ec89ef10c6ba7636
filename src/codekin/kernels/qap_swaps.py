"""Swap searches for the quadratic assignment problem: minimise ``sum_uv A_uv B_p(u)p(v)`` over permutations ``p``.

The matrices come as stacks of layers that are each symmetric or each antisymmetric (a symmetric problem has one layer;
any other is the sum of its two parts), so that rows serve as columns. ``b`` is kept physically permuted: all loops run
along rows. Besides ``order``, the permutation itself, a search may keep

``products[i]`` = ``a[i] @ b[i].T``, and ``deltas[u, v]`` for ``u < v``, the change of the objective when ``u`` and
``v`` exchange what they are assigned. A swap of ``r`` and ``s``, with ``x = a[r] - a[s]`` and ``y = b[s] - b[r]`` from
before it, adds the outer product ``x y'`` to ``products``, whose columns ``r`` and ``s`` then change places, and takes
``2 (x_u - x_v) (y_u - y_v)`` from ``deltas[u, v]`` for ``u`` and ``v`` outside ``{r, s}``. Time per swap: O(n^2),
where the deltas from scratch take O(n^3).

Rows of ``a`` from ``n_active`` on are zero: they hold unused values, and are not swapped among themselves.
"""

import numpy as np

from codekin.kernels.calling import njit
from codekin.kernels.splitmix import next_below, next_pair, next_uniform


# Reordering and fusing the terms of this sum makes it twice as fast (SIMD). It changes at most the last digit of a real
# delta; searches recompute what they return, and sums of integers are the same in any order.
@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _difference_product(a_r, a_s, b_s, b_r):
    total = a_r.dtype.type(0)  # sums stay in single precision, which is twice as fast
    for k in range(a_r.shape[0]):
        total += (a_r[k] - a_s[k]) * (b_s[k] - b_r[k])
    return total


# As above: reordered for SIMD.
@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def _product(x, y):
    total = 0.0
    for k in range(x.shape[0]):
        total += x[k] * y[k]
    return total


@njit(cache=True, nogil=True)
def fill_products(a, b, products):
    """Compute ``products`` in place: ``a[i] @ b[i].T`` for every layer, without BLAS threads."""
    for i in range(a.shape[0]):
        for u in range(a.shape[1]):
            for v in range(a.shape[1]):
                products[i, u, v] = _product(a[i, u], b[i, v])


@njit(cache=True, nogil=True)
def _pair_terms(a, b, r, s):
    """What the four entries among ``r`` and ``s`` contribute to the delta beyond twice the product over all k."""
    at_r = (a[r, r] - a[s, r]) * (b[s, r] - b[r, r])
    at_s = (a[r, s] - a[s, s]) * (b[s, s] - b[r, s])
    within = (a[r, r] - a[s, s]) * (b[s, s] - b[r, r]) + (a[r, s] - a[s, r]) * (b[s, r] - b[r, s])
    return within - 2.0 * (at_r + at_s)


@njit(cache=True, nogil=True)
def swap_delta(a, b, r, s):
    """The change of the objective when ``r`` and ``s`` are swapped, in O(n)."""
    delta = 0.0
    for i in range(a.shape[0]):
        delta += 2.0 * _difference_product(a[i, r], a[i, s], b[i, s], b[i, r]) + _pair_terms(a[i], b[i], r, s)
    return delta


@njit(cache=True, nogil=True)
def _delta_from_products(a, b, products, r, s):
    delta = 0.0
    for i in range(a.shape[0]):
        c = products[i]
        delta += 2.0 * (c[r, s] + c[s, r] - c[r, r] - c[s, s]) + _pair_terms(a[i], b[i], r, s)
    return delta


@njit(cache=True, nogil=True)
def fill_deltas(a, b, products, n_active, deltas):
    """Compute ``deltas`` above the diagonal, in place, from ``products``."""
    n = deltas.shape[0]
    for r in range(min(n_active, n - 1)):
        for s in range(r + 1, n):
            deltas[r, s] = _delta_from_products(a, b, products, r, s)


@njit(cache=True, nogil=True)
def _permute(b, order, r, s):
    for i in range(b.shape[0]):
        layer = b[i]
        for k in range(layer.shape[1]):
            layer[r, k], layer[s, k] = layer[s, k], layer[r, k]
        for k in range(layer.shape[0]):
            layer[k, r], layer[k, s] = layer[k, s], layer[k, r]
    order[r], order[s] = order[s], order[r]


@njit(cache=True, nogil=True)
def _add_outer(product, x, y):
    for u in range(product.shape[0]):
        row, x_u = product[u], x[u]
        for v in range(product.shape[1]):
            row[v] += x_u * y[v]


@njit(cache=True, nogil=True)
def _swap(a, b, products, deltas, n_rows, order, r, s, x, y):
    """Swap and update everything, except that ``deltas`` still lack layer 0's change, ``x[0]`` and ``y[0]``.

    That one is left to the next pass over all deltas, which reads them anyway. The rows and columns of ``r`` and ``s``
    are new already; the pending change is added to them beforehand so that the pass takes it off again.
    """
    n = deltas.shape[0]
    for i in range(a.shape[0]):
        for k in range(n):
            x[i, k] = a[i, r, k] - a[i, s, k]
            y[i, k] = b[i, s, k] - b[i, r, k]
        product = products[i]
        _add_outer(product, x[i], y[i])
        for k in range(n):
            product[k, r], product[k, s] = product[k, s], product[k, r]
    for i in range(1, a.shape[0]):
        for u in range(n_rows):
            row, x_u, y_u = deltas[u], x[i, u], y[i, u]
            for v in range(u + 1, n):
                row[v] -= 2.0 * (x_u - x[i, v]) * (y_u - y[i, v])
    _permute(b, order, r, s)
    for w in (r, s):
        for k in range(min(w, n_rows)):
            pending = 2.0 * (x[0, k] - x[0, w]) * (y[0, k] - y[0, w])
            deltas[k, w] = _delta_from_products(a, b, products, k, w) + pending
        for k in range(w + 1, n if w < n_rows else 0):
            pending = 2.0 * (x[0, k] - x[0, w]) * (y[0, k] - y[0, w])
            deltas[w, k] = _delta_from_products(a, b, products, w, k) + pending


@njit(cache=True, nogil=True)
def _update_row(row, x, y, x_u, y_u):
    """Apply the pending change to one row of deltas; return its least entry."""
    least = np.inf
    for v in range(row.shape[0]):
        delta = row[v] - 2.0 * (x_u - x[v]) * (y_u - y[v])
        row[v] = delta
        least = min(least, delta)
    return least


@njit(cache=True, nogil=True)
def descend(a, b, products, deltas, n_active, order, improvement, max_moves, trace):
    """Steepest descent: make the best swap until none improves the objective by more than ``improvement``.

    All arrays but ``a`` are changed in place, and as in the module's description on entry and on return; ``trace``
    receives the delta of each move. Returns the number of moves; ``max_moves`` if it stopped before a local optimum was
    certain.
    """
    n = deltas.shape[0]
    n_rows = min(n_active, n - 1)
    x, y = np.zeros((a.shape[0], n)), np.zeros((a.shape[0], n))
    n_moves = 0
    while True:
        best, best_row = np.inf, 0
        for u in range(n_rows):
            least = _update_row(deltas[u, u + 1 :], x[0, u + 1 :], y[0, u + 1 :], x[0, u], y[0, u])
            if least < best:
                best, best_row = least, u
        if n_moves == max_moves or best >= -improvement:
            return n_moves
        r = best_row
        s = r + 1
        while deltas[r, s] != best:
            s += 1
        trace[n_moves] = best
        n_moves += 1
        _swap(a, b, products, deltas, n_rows, order, r, s, x, y)


@njit(cache=True, nogil=True)
def tabu_moves(
    a, b, products, deltas, n_active, order, banned_until, move_banned_until, objective, best_order, improvement, clock,
    n_moves, tenure, patience, state
):  # fmt: skip
    """Robust tabu search (Taillard, 1991): the best swap that is not tabu, whether it improves or not.

    Having left a place, ``u`` may not return to it for a random number of moves, ``tenure`` times the cube of a uniform
    variate. A swap is tabu while both of its ends are. It is made nevertheless if it leads to a new best objective, and
    it is made first if it has been possible for more than ``patience`` moves: that drives the search to new regions.

    Arrays are changed in place. ``banned_until[u, c]`` is the move at which ``u`` may be assigned ``c`` again,
    ``move_banned_until[u, v]`` for ``u < v`` the smaller of the two that a swap needs; ``clock`` has the number of
    moves and the best objective so far, that of ``best_order``. Otherwise as :func:`descend`. Returns the objective of
    ``order``.
    """
    n = deltas.shape[0]
    n_rows = min(n_active, n - 1)
    x, y = np.zeros((a.shape[0], n)), np.zeros((a.shape[0], n))
    now, best_objective = np.int64(clock[0]), clock[1]
    oldest = np.int64(-(2**62))  # no move became possible before this one
    for _ in range(n_moves):
        now += 1
        least, least_row = np.inf, -1
        free, free_row = np.inf, -1
        for u in range(n_rows):
            row = deltas[u, u + 1 :]
            in_row = _update_row(row, x[0, u + 1 :], y[0, u + 1 :], x[0, u], y[0, u])
            if in_row < least:
                least, least_row = in_row, u
            if in_row < free:
                banned = move_banned_until[u, u + 1 :]
                for v in range(row.shape[0]):
                    if row[v] < free and banned[v] < now:
                        free, free_row = row[v], u
        stale, stale_row = np.inf, -1
        if oldest < now - patience:
            oldest = now
            for u in range(n_rows):
                for v in range(u + 1, n):
                    banned_here = move_banned_until[u, v]
                    oldest = min(oldest, banned_here)
                    if banned_here < now - patience and deltas[u, v] < stale:
                        stale, stale_row = deltas[u, v], u
        if objective + least < best_objective - improvement:
            r, delta, deadline = least_row, least, np.int64(2**62)
        elif stale_row >= 0:
            r, delta, deadline = stale_row, stale, now - patience
        elif free_row >= 0:
            r, delta, deadline = free_row, free, now
        else:
            r = next_below(state, n_rows)
            delta, deadline = deltas[r, r + 1 + next_below(state, n - r - 1)], np.int64(2**62)
        s = r + 1
        while deltas[r, s] != delta or move_banned_until[r, s] >= deadline:
            s += 1
        banned_until[r, order[r]] = now + 1 + np.int64(tenure * next_uniform(state) ** 3)
        banned_until[s, order[s]] = now + 1 + np.int64(tenure * next_uniform(state) ** 3)
        _swap(a, b, products, deltas, n_rows, order, r, s, x, y)
        for w in (r, s):
            for k in range(n):
                if k != w and min(k, w) < n_rows:
                    since = min(banned_until[k, order[w]], banned_until[w, order[k]])
                    move_banned_until[min(k, w), max(k, w)] = since
                    oldest = min(oldest, since)
        objective += delta
        if objective < best_objective - improvement:
            best_objective = objective
            for k in range(n):
                best_order[k] = order[k]
    for u in range(n_rows):
        _update_row(deltas[u, u + 1 :], x[0, u + 1 :], y[0, u + 1 :], x[0, u], y[0, u])
    clock[0], clock[1] = now, best_objective
    return objective


@njit(cache=True, nogil=True)
def mean_absolute_delta(a, b, n_active, n_samples, state):
    """The mean of ``|delta|`` over random swaps: the scale of temperatures."""
    n = a.shape[1]
    total = 0.0
    for _ in range(n_samples):
        r, s = next_pair(state, n)
        if r >= n_active:
            r = next_below(state, n_active)
        total += abs(swap_delta(a, b, r, s))
    return total / n_samples


@njit(cache=True, nogil=True)
def anneal_moves(a, b, n_active, order, pair, temperature, cooling, n_proposals, state):
    """Simulated annealing with proposals in turn (Connolly, 1990), each in O(n); returns the change of the objective.

    ``b``, ``order``, ``state`` and ``pair``, the next swap to propose, are changed in place.
    """
    n = order.shape[0]
    n_rows = min(n_active, n - 1)
    r, s = pair
    change = 0.0
    for _ in range(n_proposals):
        delta = swap_delta(a, b, r, s)
        if delta <= 0.0 or next_uniform(state) < np.exp(-delta / temperature):
            _permute(b, order, r, s)
            change += delta
        temperature *= cooling
        s += 1
        if s == n:
            r += 1
            if r == n_rows:
                r = 0
            s = r + 1
    pair[0], pair[1] = r, s
    return change


@njit(cache=True, nogil=True)
def anneal_near_moves(a, b, n_active, order, place, temperature, cooling, n_proposals, state):
    """Simulated annealing if there are too many swaps to propose them all, and neighbours are similar.

    Three quarters of the proposals swap rows, or values, whose numbers differ little: by a factor of two as often as by
    the next one. ``place`` is the inverse of ``order``; otherwise as :func:`anneal_moves`.
    """
    n = order.shape[0]
    log_range = np.log(np.float64(n))
    change = 0.0
    for _ in range(n_proposals):
        temperature *= cooling
        r = next_below(state, n_active)
        kind = next_uniform(state)
        if kind < 0.75:
            hop = np.int64(np.exp(log_range * next_uniform(state)))
            if next_below(state, 2) == 0:
                hop = -hop
            if kind < 0.375:
                s = r + hop
                if s < 0 or s >= n_active:
                    continue
            else:
                value = order[r] + hop
                if value < 0 or value >= n:
                    continue
                s = place[value]
        else:
            s = next_below(state, n)
        if r == s:
            continue
        delta = swap_delta(a, b, r, s)
        if delta <= 0.0 or next_uniform(state) < np.exp(-delta / temperature):
            _permute(b, order, r, s)
            place[order[r]], place[order[s]] = r, s
            change += delta
    return change
