"""Exact solutions of quadratic assignment problems ``sum_uv A_uv B_p(u)p(v)``: all permutations, or branch and bound.

All permutations meet in the middle. A permutation is a head, the values of the first half of the rows, and a tail.
Given the head, the objective is its own sum, plus one term per tail row and value, plus a sum within the tail that
depends on the head only through the set of values that it leaves. That last sum is tabulated, so that a permutation
costs as many additions as its tail is long.

Branch and bound uses the Gilmore-Lawler bound. A node of the search tree assigns some rows. Its bound is what the
assigned rows cost, plus the optimum of a linear assignment of the rest: giving value ``j`` to row ``i`` costs its terms
with the assigned rows, and at least the product of the sorted rests of row ``i`` of A and of row ``j`` of B in opposite
orders. The reduced costs of that linear problem bound each child before it is made. The row whose children they raise
most is branched on.

P. Gilmore, "Optimal and suboptimal algorithms for the quadratic assignment problem", SIAM J. 1962; E. Lawler, "The
quadratic assignment problem", Management Science 1963.
"""

import numpy as np

from codekin.kernels.calling import njit


@njit(cache=True, nogil=True)
def fill_tail_sums(a, b, n_head, tails, tail_sums):
    """For every set of values that a head can leave, the sum within the tail for each arrangement of them.

    ``tails`` are the permutations of ``range(n_tail)``, in lexicographic order. Row ``mask`` of ``tail_sums``, (2**n,
    n_arrangements), is filled, where bit ``c`` of ``mask`` says that value ``c`` is left.
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
    """Fill in the objectives of all permutations whose head is one of ``start..stop-1``, in lexicographic order."""
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


@njit(cache=True, nogil=True)
def solve_linear_assignment(cost, n, row_price, column_price, row_of_column):
    """The cheapest assignment of n rows to n columns, by shortest augmenting paths; returns what it costs.

    The other arrays are filled from index 1: ``cost[i, j] >= row_price[i + 1] + column_price[j + 1]``, with equality
    where row ``i`` gets column ``j``, and ``row_of_column``, which is one more than the row.
    """
    row_price[: n + 1], column_price[: n + 1], row_of_column[: n + 1] = 0.0, 0.0, 0
    least, came_from, done = np.empty(n + 1), np.empty(n + 1, np.int64), np.empty(n + 1, np.bool_)
    for i in range(1, n + 1):
        row_of_column[0], column = i, 0
        least[:], done[:] = np.inf, False
        while True:
            done[column] = True
            row = row_of_column[column]
            step, closest = np.inf, 0
            for j in range(1, n + 1):
                if not done[j]:
                    reduced = cost[row - 1, j - 1] - row_price[row] - column_price[j]
                    if reduced < least[j]:
                        least[j] = reduced
                        came_from[j] = column
                    if least[j] < step:
                        step, closest = least[j], j
            for j in range(n + 1):
                if done[j]:
                    row_price[row_of_column[j]] += step
                    column_price[j] -= step
                else:
                    least[j] -= step
            column = closest
            if row_of_column[column] == 0:
                break
        while column != 0:
            previous = came_from[column]
            row_of_column[column] = row_of_column[previous]
            column = previous
    total = 0.0
    for j in range(1, n + 1):
        total += cost[row_of_column[j] - 1, j - 1]
    return total


@njit(cache=True, nogil=True)
def node_bound(a, b, rising_a, falling_b, value_of_row, is_used, rows, values, cost, prices, row_of_column):
    """The Gilmore-Lawler bound of what the unassigned rows cost.

    Row ``i`` of ``rising_a`` has the columns in ascending order of ``a[i]``, that of ``falling_b`` in descending order
    of ``b[i]``; ``value_of_row`` is -1 for an unassigned row. Filled: the unassigned ``rows`` and free ``values``,
    ascending, and ``cost``, ``prices`` and ``row_of_column`` of the linear problem.
    """
    n = a.shape[0]
    m, n_values = 0, 0
    for k in range(n):
        if value_of_row[k] < 0:
            rows[m] = k
            m += 1
        if not is_used[k]:
            values[n_values] = k
            n_values += 1
    if m == 0:
        return 0.0
    rest_a, rest_b = np.empty((m, m)), np.empty((m, m))
    for x in range(m):
        i, j, n_a, n_b = rows[x], values[x], 0, 0
        for k in range(n):
            u, v = rising_a[i, k], falling_b[j, k]
            if value_of_row[u] < 0 and u != i:
                rest_a[x, n_a] = a[i, u]
                n_a += 1
            if not is_used[v] and v != j:
                rest_b[x, n_b] = b[j, v]
                n_b += 1
    for x in range(m):
        i = rows[x]
        for y in range(m):
            j = values[y]
            total = a[i, i] * b[j, j]
            for k in range(m - 1):
                total += rest_a[x, k] * rest_b[y, k]
            cost[x, y] = total
    for u in range(n):
        c = value_of_row[u]
        if c >= 0:
            for x in range(m):
                i = rows[x]
                for y in range(m):
                    cost[x, y] += a[u, i] * b[c, values[y]] + a[i, u] * b[values[y], c]
    return solve_linear_assignment(cost, m, prices[0], prices[1], row_of_column)


@njit(cache=True, nogil=True)
def _first_of_orbits(automorphisms, n_valid, valid, n, first):
    """``first[c]``: the smallest value that the valid automorphisms make equivalent to ``c``."""
    first[:n] = np.arange(n)
    changed = True
    while changed:
        changed = False
        for g in range(n_valid):
            image = automorphisms[valid[g]]
            for c in range(n):
                low = min(first[c], first[image[c]])
                changed |= first[c] != low or first[image[c]] != low
                first[c], first[image[c]] = low, low


@njit(cache=True, nogil=True)
def explore(
    a, b, n_active, rising_a, falling_b, automorphisms, value_of_row, row_at, child_at, bound_at, n_children,
    next_child, fixed_cost, valid_at, n_valid, depth, incumbent, incumbent_objective, step, max_nodes
):  # fmt: skip
    """Continue a depth-first search for a permutation that is better than the incumbent by ``step`` or more.

    Everything from ``value_of_row`` to ``depth`` is the stack of the search, by depth, changed in place; the caller
    allocates it, with -1 in ``value_of_row``, and passes it again to go on. At depth ``d``, ``d`` rows are assigned; -1
    is before the search, -2 when it is over. ``child_at`` and ``bound_at`` have the children by ascending lower bounds,
    ``fixed_cost`` what the assigned rows cost, ``valid_at`` the automorphisms, permutations ``g`` with ``b[g[i], g[j]]
    == b[i, j]``, that fix all assigned values. Rows from ``n_active`` on are zero in ``a``. Returns the number of nodes
    bounded, at most ``max_nodes``.
    """
    n = a.shape[0]
    rows, values, first = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    cost, prices, row_of_column = np.empty((n, n)), np.empty((2, n + 1)), np.empty(n + 1, np.int64)
    is_used = np.zeros(n, np.bool_)
    for u in range(n):
        if value_of_row[u] >= 0:
            is_used[value_of_row[u]] = True
    n_nodes = 0
    d = depth[0]
    is_new = d == -1
    if is_new:
        d = 0
        fixed_cost[0], n_valid[0], valid_at[0] = 0.0, automorphisms.shape[0], np.arange(automorphisms.shape[0])
    while d >= 0:
        if is_new:
            if n_nodes == max_nodes and d > 0:
                # Put the unexplored node back, as the next child of its parent.
                d -= 1
                next_child[d] -= 1
                value_of_row[row_at[d]] = -1
                depth[0] = d
                return n_nodes
            is_new = False
            n_nodes += 1
            n_children[d], next_child[d] = 0, 0
            if d == n_active:
                if fixed_cost[d] <= incumbent_objective[0] - step:
                    incumbent_objective[0], incumbent[:] = fixed_cost[d], value_of_row
            else:
                bound = fixed_cost[d] + node_bound(
                    a, b, rising_a, falling_b, value_of_row, is_used, rows, values, cost, prices, row_of_column
                )
                slack = incumbent_objective[0] - step - bound
                if slack >= 0.0:
                    m = n - d
                    branch, most = -1, -1.0
                    for x in range(m):
                        if rows[x] < n_active:
                            gain = 0.0
                            for y in range(m):
                                gain += min(cost[x, y] - prices[0, x + 1] - prices[1, y + 1], slack)
                            if gain > most:
                                branch, most = x, gain
                    row_at[d] = rows[branch]
                    _first_of_orbits(automorphisms, n_valid[d], valid_at[d], n, first)
                    for y in range(m):
                        below = bound + max(cost[branch, y] - prices[0, branch + 1] - prices[1, y + 1], 0.0)
                        if below <= incumbent_objective[0] - step and first[values[y]] == values[y]:
                            place = n_children[d]
                            while place > 0 and bound_at[d, place - 1] > below:
                                bound_at[d, place] = bound_at[d, place - 1]
                                child_at[d, place] = child_at[d, place - 1]
                                place -= 1
                            bound_at[d, place] = below
                            child_at[d, place] = values[y]
                            n_children[d] += 1
        if next_child[d] < n_children[d] and bound_at[d, next_child[d]] <= incumbent_objective[0] - step:
            i, c = row_at[d], child_at[d, next_child[d]]
            next_child[d] += 1
            total = fixed_cost[d] + a[i, i] * b[c, c]
            for u in range(n):
                if value_of_row[u] >= 0:
                    total += a[u, i] * b[value_of_row[u], c] + a[i, u] * b[c, value_of_row[u]]
            value_of_row[i] = c
            is_used[c] = True
            n_valid[d + 1] = 0
            for g in range(n_valid[d]):
                if automorphisms[valid_at[d, g], c] == c:
                    valid_at[d + 1, n_valid[d + 1]] = valid_at[d, g]
                    n_valid[d + 1] += 1
            d += 1
            fixed_cost[d] = total
            is_new = True
        else:
            d -= 1
            if d >= 0:
                is_used[value_of_row[row_at[d]]] = False
                value_of_row[row_at[d]] = -1
    depth[0] = -2
    return n_nodes


@njit(cache=True, nogil=True)
def find_automorphisms(b, tolerance, max_steps, automorphisms):
    """Find permutations ``g`` with ``b[g[i], g[j]] == b[i, j]`` up to ``tolerance``, by backtracking.

    Fills ``automorphisms``, the identity first, and returns how many were found, perhaps not all: it gives up after
    trying ``max_steps`` images.
    """
    n = b.shape[0]
    image, next_image = np.empty(n, np.int64), np.zeros(n, np.int64)
    is_used = np.zeros(n, np.bool_)
    n_found, i = 0, 0
    for _ in range(max_steps):
        c = next_image[i]
        if c == n:
            i -= 1
            if i < 0:
                break
            is_used[image[i]] = False
            continue
        next_image[i] = c + 1
        if is_used[c] or abs(b[c, c] - b[i, i]) > tolerance:
            continue
        fits = True
        for k in range(i):
            if abs(b[image[k], c] - b[k, i]) > tolerance or abs(b[c, image[k]] - b[i, k]) > tolerance:
                fits = False
                break
        if not fits:
            continue
        image[i] = c
        if i == n - 1:
            automorphisms[n_found] = image
            n_found += 1
            if n_found == automorphisms.shape[0]:
                break
            continue
        is_used[c] = True
        i += 1
        next_image[i] = 0
    return n_found
