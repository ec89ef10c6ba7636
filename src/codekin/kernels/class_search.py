"""Class vectors of dense samples: a pass of softmax over a few classes of each sample, and the choice of the best ones.

Sums of products are of integers below ``2**24`` where exactness matters, in single precision: they are the same in any
order, which is why the compiler may reorder them.
"""

from __future__ import annotations

import numpy as np

from codekin.kernels.calling import njit

LEAST_STEP = np.float32(1e-4)
"""Classes whose probability is nearer to what it should be are left as they are."""
PER_GROUP, GROUPS_PER_WANTED, HALVINGS = 16, 4, 12
"""The largest score is taken of groups of so many classes, but of several groups for each class that is wanted."""


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})  # only rounding depends on the order of a sum
def _dot(vector, row):
    total = np.float32(0)
    for f in range(len(row)):
        total += vector[f] * row[f]
    return total


@njit(cache=True, nogil=True)
def _dot_of_integers(vector, row):
    total = np.int32(0)
    for f in range(len(row)):
        # Numba would widen products and sums to 64 bits, which takes twice as long.
        total = np.int32(total + np.int32(np.int32(vector[f]) * np.int32(row[f])))
    return total


@njit(cache=True, nogil=True)
def class_softmax_pass(rows, class_of_row, weights, candidates, steps, of_bias, vectors, bias):
    """Make a gradient step for each row: softmax over its class and its candidates.

    With ``p`` the softmax of ``vectors @ x + bias`` over these classes and ``y`` 1 for the own one and 0 otherwise,
    ``vector -= step (p - y) x`` and ``bias -= of_bias step (p - y)``. ``candidates``, (n_rows, n), are distinct, or
    repeated, or -1; ``vectors``, (n_classes, n_features), and ``bias`` are changed in place.
    """
    n_listed = candidates.shape[1]
    classes, scores = np.empty(n_listed + 1, np.int64), np.empty(n_listed + 1, np.float32)
    last_row = np.full(len(bias), -1, np.int64)
    for i in range(len(rows)):
        x, own = rows[i], class_of_row[i]
        classes[0], n = own, 1
        last_row[own] = i
        for j in range(n_listed):
            k = candidates[i, j]
            if k >= 0 and last_row[k] != i:
                last_row[k] = i
                classes[n] = k
                n += 1
        largest = np.float32(-np.inf)
        for j in range(n):
            scores[j] = _dot(vectors[classes[j]], x) + bias[classes[j]]
            largest = max(largest, scores[j])
        total = np.float32(0)
        for j in range(n):
            scores[j] = np.exp(scores[j] - largest)
            total += scores[j]
        step = np.float32(steps[i] * weights[i])
        for j in range(n):
            excess = scores[j] / total - np.float32(j == 0)
            if abs(excess) < LEAST_STEP:
                continue
            change, vector = step * excess, vectors[classes[j]]
            for f in range(len(x)):
                vector[f] -= change * x[f]
            bias[classes[j]] -= np.float32(of_bias) * change


@njit(cache=True, nogil=True)
def _chosen(scores, n_wanted, gap, greatest, places):
    """Write the places of the ``n_wanted`` largest scores, or a few more, into ``places``; return how many.

    Those further than ``gap`` below the largest are left out. The range of the largest scores of small groups is halved
    until about as many as wanted are above, so that nothing is sorted.
    """
    n = len(scores)
    n_groups = min(max(n // PER_GROUP, GROUPS_PER_WANTED * n_wanted), n)
    largest = greatest[:n_groups]
    largest[:] = scores[:n_groups]
    for start in range(n_groups, n, n_groups):
        part = scores[start : min(start + n_groups, n)]
        for j in range(len(part)):
            largest[j] = part[j] if part[j] > largest[j] else largest[j]
    least, high = largest[0], largest[0]
    for j in range(n_groups):
        least = largest[j] if largest[j] < least else least
        high = largest[j] if largest[j] > high else high
    least = max(least, high - gap)
    middle = least
    for _ in range(HALVINGS):
        n_above = 0
        for j in range(n_groups):
            n_above += largest[j] >= middle
        if n_above >= n_wanted:
            least = middle
        elif middle > least:
            high = middle
        if n_above <= n_wanted + n_wanted // 4 and least == middle:
            break
        middle = np.float32(0.5) * (least + high)
    n_found = 0
    for j in range(n_groups):
        if largest[j] >= least:
            for place in range(j, n, n_groups):
                if scores[place] >= least:
                    places[n_found] = place
                    n_found += 1
    return n_found


@njit(cache=True, nogil=True)
def _best_of(row, unit, classes, vectors, scales, bias, best, best_scores):
    """The best of some classes by their exact scores, largest first; the first class of equal ones; -1 behind them."""
    n_best, n_found = len(best), 0
    best[:], best_scores[:] = -1, -np.inf
    for k in classes:
        score = np.float32(_dot_of_integers(vectors[k], row)) * (scales[k] * unit) + bias[k]
        place = min(n_found, n_best)
        while place > 0 and (
            score > best_scores[place - 1] or (score == best_scores[place - 1] and k < best[place - 1])
        ):
            if place < n_best:
                best[place], best_scores[place] = best[place - 1], best_scores[place - 1]
            place -= 1
        if place < n_best:
            best[place], best_scores[place] = k, score
            n_found = min(n_found + 1, n_best)


@njit(cache=True, nogil=True)
def best_classes(scores, offsets, per_unit, n_rescored, gap, rows, units, vectors, scales, bias, best, best_scores):
    """The classes with the largest exact scores among the ``n_rescored`` with the largest rough ones.

    ``scores``, (n_rows, n_classes), are rough and changed in place: ``offsets / per_unit`` of each row is added. Those
    further than ``gap / per_unit`` below the largest are left out. The exact ones are ``units * scales * (vectors @
    row) + bias``; ``rows`` are int16, ``vectors`` int8.
    """
    n_classes = scores.shape[1]
    greatest, places = np.empty(n_classes, np.float32), np.empty(n_classes, np.int32)
    for i in range(len(rows)):
        factor, own = np.float32(1) / per_unit[i], scores[i]
        for k in range(n_classes):
            own[k] += factor * offsets[k]
        n = _chosen(own, n_rescored, factor * np.float32(gap), greatest, places)
        _best_of(rows[i], units[i], places[:n], vectors, scales, bias, best[i], best_scores[i])


@njit(cache=True, nogil=True)
def best_in_cells(
    cell_scores, n_cells, starts, members, sketches, offsets, sketched_rows, per_unit, n_rescored, gap, rows, units,
    vectors, scales, bias, best, best_scores,
):  # fmt: skip
    """The same among the members of each row's ``n_cells`` best cells, or a few more, whose rough scores are made here.

    The members of a cell are ``members[starts[c] : starts[c + 1]]``, and no class is in two; ``sketches``, int8, and
    ``offsets`` are in the order of ``members``, ``sketched_rows`` are int16.
    """
    n_members = len(members)
    greatest, cells = np.empty(max(n_members, len(starts)), np.float32), np.empty(len(starts), np.int32)
    rough, listed = np.empty(n_members, np.float32), np.empty(n_members, np.int32)
    places = np.empty(n_members, np.int32)
    for i in range(len(rows)):
        row, factor, n = sketched_rows[i], np.float32(1) / per_unit[i], 0
        n_searched = _chosen(cell_scores[i], n_cells, np.float32(np.inf), greatest, cells)
        for cell in cells[:n_searched]:
            for j in range(starts[cell], starts[cell + 1]):
                listed[n] = members[j]
                rough[n] = np.float32(_dot_of_integers(sketches[j], row)) + factor * offsets[j]
                n += 1
        n_chosen = 0
        if n > 0:
            n_chosen = _chosen(rough[:n], n_rescored, factor * np.float32(gap), greatest, places)
        for j in range(n_chosen):
            places[j] = listed[places[j]]
        _best_of(rows[i], units[i], places[:n_chosen], vectors, scales, bias, best[i], best_scores[i])
