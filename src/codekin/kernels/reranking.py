"""From path costs to the final ranking of a sample's candidates.

Class vectors are compressed rows: the entries of class ``c`` are ``scales[c] * steps[j]`` on ``features[j]`` for ``j``
from ``indptr[c]`` to ``indptr[c + 1]``, whose features increase. A sample's row is spread over an array of all features
while its candidates are scored, so that a score costs one look per entry of the class.

If classes have many entries and samples few features, it is faster to add up only the entries on a sample's features,
which are also listed by feature and give the scores of all classes. So candidates are scored one by one until that has
taken as long as the sums by feature would, which are then computed. Both methods add the same numbers in the same
order, so that scores are the same to the last bit.
"""

from __future__ import annotations

import math

import numpy as np

from codekin.kernels.calling import njit
from codekin.kernels.paths import first_paths, next_path, path_lists, ways_onward
from codekin.kernels.ranking import insert_row

ROUNDING_UP = 1 + 1e-4
"""Dot products are added up in single precision."""
WALKED_MEANWHILE = 4
"""How many entries of a class are scanned in the time for one entry listed by feature."""
SCANNED_MEANWHILE = 2
"""How many entries of a class are scanned in the time for halving the places where a feature can be."""


@njit(cache=True, nogil=True)
def rank_candidates(
    costs, trellis, of_paths, rows, vectors, by_feature, reach, n_features, weight, indexed, n_candidates, n_listed,
    classes, losses, scores, bounds
):  # fmt: skip
    """Rank the candidates of each sample: the union of given classes and the members' cheapest paths, rescored.

    The loss of a candidate is the sum of its path costs over the members; for given classes and those among the first
    ``n_candidates`` of a member, minus ``weight`` times the dot product of the sample and the class vector. Further
    listed classes follow behind them in their own order, their losses raised as far as necessary. The lists end early
    if no class that is not on them can still be among the ``n_out`` best (Fagin's threshold).

    ``costs``: float (n_samples, n_codes, n_edges + 1). The last column is zero.
    ``trellis``: (width, digits, offsets), the graph of all members.
    ``of_paths``: (class_of_path, path_of_class, edges_of_path), the last one filled up with ``n_edges``; the second and
        third may be empty when there is one member and no class is given.
    ``vectors``: (indptr, features, steps, scales); empty if there are none.
    ``by_feature``: (indptr, classes, steps, turns), the same entries by feature, and to which of the four sums of
        ``_walked`` each belongs. Empty to walk over the entries of every candidate.
    ``reach``: the largest and the smallest entry of all vectors on each feature, and the length of the longest vector.
    ``indexed``: int (n_samples, n). Classes that are candidates whatever their paths cost, each once; -1 for none.
    ``classes``, ``losses``, ``scores``: (n_samples, n_out). Receive the best classes, -1 where there are no more.
    ``bounds``: receives the smallest sum of path costs of a candidate, and one that no other class is below.
    """
    # One member lists no class twice.
    n_paths = of_paths[0].shape[1] if costs.shape[1] > 1 or indexed.shape[1] > 0 else 0
    room = scoring_room(n_features, len(vectors[3]) if len(by_feature[0]) > 0 else 0, n_paths)
    rank_candidates_in(
        room, costs, trellis, of_paths, rows, vectors, by_feature, reach, weight, indexed, n_candidates, n_listed,
        classes, losses, scores, bounds
    )  # fmt: skip


@njit(cache=True, nogil=True)
def scoring_room(n_features, n_classes, n_paths):
    """Make room for scoring samples one after the other: spread, sums, summed_for, listed_for, clock.

    ``spread`` is zero except while a sample is scored. A class has four sums, the number of the sample that they were
    made for, and of the one that it was last listed for; ``clock`` counts samples.
    """
    return (
        np.zeros(n_features, np.float32),
        np.empty((n_classes, 4), np.float32),
        np.zeros(n_classes, np.int64),
        np.zeros(n_paths, np.int64),
        np.zeros(1, np.int64),
    )


@njit(cache=True, nogil=True)
def rank_candidates_in(
    room, costs, trellis, of_paths, rows, vectors, by_feature, reach, weight, indexed, n_candidates, n_listed, classes,
    losses, scores, bounds
):  # fmt: skip
    """Do what :func:`rank_candidates` does, in the room of :func:`scoring_room`: for single samples, half the time."""
    spread, sums, summed_for, listed_for, clock = room
    width, digits, offsets = trellis
    class_of_path, path_of_class, edges_of_path = of_paths
    row_indptr, row_indices, row_values = rows
    vector_indptr, features, steps, scales = vectors
    highest, lowest, longest = reach
    n_samples, n_codes, n_columns = costs.shape
    n_out = classes.shape[1]
    has_vectors, has_lists = len(vector_indptr) > 0, len(by_feature[0]) > 0
    n_indexed = indexed.shape[1]
    may_repeat = n_codes > 1 or n_indexed > 0

    n_ways, edges, enters = ways_onward(width, digits)
    n_vertices = len(n_ways)
    best, rank, length, last, price, place, walk = path_lists(edges, n_codes, n_listed)
    own = np.empty(longest_row(row_indptr), row_indices.dtype)
    others, other_costs = np.empty(n_codes * n_listed, np.int64), np.empty(n_codes * n_listed)

    for s in range(n_samples):
        clock[0] += 1
        now = clock[0]
        row = costs[s].reshape(-1)
        # No dot product exceeds the sum of the largest products on each feature, nor the product of the lengths.
        by_largest, squares = 0.0, 0.0
        n_own, n_worthwhile, n_walked = 0, 0, 0
        if has_vectors:
            for q in range(row_indptr[s], row_indptr[s + 1]):
                feature, x = row_indices[q], row_values[q]
                spread[feature] += x
                by_largest += x * (highest[feature] if x > 0 else lowest[feature])
                squares += x * x
            if has_lists:
                n_own = distinct_features(row_indices, row_indptr[s], row_indptr[s + 1], own)
                n_worthwhile = WALKED_MEANWHILE * n_entries_on(own, n_own, by_feature[0])
        ceiling = ROUNDING_UP * min(by_largest, longest * math.sqrt(squares))
        n_kept, n_others = np.int64(0), 0  # insert_row is compiled once, for one type of numbers
        least, worst, outside = np.inf, -np.inf, 0.0
        # Round -1 has the given classes, each later one the next path of every member.
        for n in range(-1 if n_indexed > 0 else 0, n_listed):
            outside = 0.0
            for r in range(n_codes if n >= 0 else n_indexed):
                cost, c = 0.0, np.int64(0)
                if n >= 0:
                    first_edge, first_row = r * n_columns, r * n_vertices
                    if n == 0:
                        first_paths(
                            row, first_edge, offsets, n_ways, edges, enters, first_row, best, rank, length, last, price,
                            place
                        )  # fmt: skip
                    else:
                        next_path(
                            row, first_edge, offsets, n_ways, edges, enters, first_row, best, rank, length, last, price,
                            place, walk
                        )  # fmt: skip
                    source = first_row + n_vertices - 1
                    cost = best[source, n]
                    outside += cost
                    c = np.int64(class_of_path[r, rank[source, n]])
                elif indexed[s, r] < 0:
                    break
                else:
                    c = np.int64(indexed[s, r])
                if may_repeat:
                    if listed_for[c] == now:
                        continue
                    listed_for[c] = now
                if n_codes > 1 or n < 0:
                    cost = _total_cost(row, n_columns, path_of_class, edges_of_path, c)
                least = min(least, cost)
                if n >= n_candidates:
                    others[n_others], other_costs[n_others] = c, cost
                    n_others += 1
                    continue
                score = 0.0
                if has_vectors:
                    start, stop = vector_indptr[c], vector_indptr[c + 1]
                    n_before, n_walked = n_walked, n_walked + stop - start
                    if has_lists and n_walked > n_worthwhile:
                        if n_before <= n_worthwhile:
                            _add_up(spread, own, n_own, *by_feature, now, sums, summed_for)
                        score = _summed(sums, summed_for, c, now)
                    else:
                        score = _walked(spread, features, steps, start, stop)
                    score *= scales[c]
                loss = cost - weight * score
                worst = max(worst, loss)
                n_kept = insert_row(s, n_kept, c, loss, score, classes, losses, scores)
            if n_kept < n_out or n < 0:
                continue
            if n + 1 >= n_candidates or outside - weight * ceiling >= losses[s, n_out - 1]:
                break
        bounds[s, 0], bounds[s, 1] = least, outside
        if has_vectors:
            for q in range(row_indptr[s], row_indptr[s + 1]):
                spread[row_indices[q]] = 0
        if n_kept < n_out:
            following = np.inf
            for p in range(n_others):
                following = min(following, other_costs[p])
            raised = max(0.0, worst - following)
            for p in range(n_others):
                # Rounding must not move it among the candidates.
                loss = max(other_costs[p] + raised, worst)
                n_kept = insert_row(s, n_kept, others[p], loss, 0.0, classes, losses, scores)
        for p in range(n_kept, n_out):
            classes[s, p], losses[s, p], scores[s, p] = -1, np.inf, 0.0


@njit(cache=True, nogil=True)
def _total_cost(row, n_columns, path_of_class, edges_of_path, c):
    """Sum the costs on the paths of a class over the members."""
    total = 0.0
    for member in range(path_of_class.shape[0]):
        path = path_of_class[member, c]
        # From the last edge to the first, as the lists add: the same numbers to the last bit.
        along = 0.0
        for step in range(edges_of_path.shape[1] - 1, -1, -1):
            along += row[member * n_columns + edges_of_path[path, step]]
        total += along
    return total


@njit(cache=True, nogil=True)
def longest_row(indptr):
    """Give the number of entries of the longest row."""
    longest = 0
    for s in range(len(indptr) - 1):
        longest = max(longest, indptr[s + 1] - indptr[s])
    return longest


@njit(cache=True, nogil=True)
def distinct_features(indices, start, stop, own):
    """Write the features of a row to ``own``, each once and in increasing order, and return how many there are."""
    n, is_increasing = stop - start, True
    for q in range(n):
        own[q] = indices[start + q]
        is_increasing = is_increasing and (q == 0 or own[q - 1] < own[q])
    if is_increasing:
        return n
    own[:n].sort()
    n_distinct = 1
    for q in range(1, n):
        if own[q] != own[q - 1]:
            own[n_distinct] = own[q]
            n_distinct += 1
    return n_distinct


@njit(cache=True, nogil=True)
def n_entries_on(own, n_own, indptr):
    """Count the entries of all classes on the features of a sample."""
    n = 0
    for q in range(n_own):
        n += indptr[own[q] + 1] - indptr[own[q]]
    return n


@njit(cache=True, nogil=True)
def work_of_lookups(n_own, n_entries):
    """Say how many entries of a class are scanned while a sample's features are looked up among so many of them."""
    n_halvings = 1
    while n_entries > 1:
        n_entries >>= 1
        n_halvings += 1
    return SCANNED_MEANWHILE * n_own * n_halvings


@njit(cache=True, nogil=True)
def place_of(feature, features, start, stop):
    """Find the first of the increasing features from ``start`` on that is not smaller than one of a sample."""
    while start < stop:
        middle = (start + stop) >> 1
        if features[middle] < feature:
            start = middle + 1
        else:
            stop = middle
    return start


@njit(cache=True, nogil=True)
def _walked(spread, features, steps, start, stop):
    """Sum the sample's entries times the class's steps; four sums that do not wait for each other.

    The entries of the class belong to the four sums in turn, those after the last full round to the first one.
    """
    a, b, c, d = np.float32(0), np.float32(0), np.float32(0), np.float32(0)
    j = start
    while j + 4 <= stop:
        a += spread[features[j]] * steps[j]
        b += spread[features[j + 1]] * steps[j + 1]
        c += spread[features[j + 2]] * steps[j + 2]
        d += spread[features[j + 3]] * steps[j + 3]
        j += 4
    while j < stop:
        a += spread[features[j]] * steps[j]
        j += 1
    return np.float64((a + b) + (c + d))


@njit(cache=True, nogil=True)
def _looked_up(spread, own, n_own, features, steps, start, stop):
    """Make the same four sums from the places of the sample's features, which increase; all others would add zero."""
    a, b, c, d = np.float32(0), np.float32(0), np.float32(0), np.float32(0)
    j, whole = start, start + ((stop - start) & ~3)
    for q in range(n_own):
        j = place_of(own[q], features, j, stop)
        if j == stop:
            break
        if features[j] != own[q]:
            continue
        turn = (j - start) & 3 if j < whole else 0
        if turn == 0:
            a += spread[features[j]] * steps[j]
        elif turn == 1:
            b += spread[features[j]] * steps[j]
        elif turn == 2:
            c += spread[features[j]] * steps[j]
        else:
            d += spread[features[j]] * steps[j]
    return np.float64((a + b) + (c + d))


@njit(cache=True, nogil=True)
def _add_up(spread, own, n_own, indptr, classes, steps, turns, now, sums, summed_for):
    """Make the four sums of ``_walked`` for all classes at once; what that adds on other features is zero."""
    for q in range(n_own):
        x = spread[own[q]]
        for j in range(indptr[own[q]], indptr[own[q] + 1]):
            c = classes[j]
            if summed_for[c] != now:
                summed_for[c] = now
                sums[c, 0], sums[c, 1], sums[c, 2], sums[c, 3] = 0, 0, 0, 0
            sums[c, turns[j]] += x * steps[j]


@njit(cache=True, nogil=True)
def _summed(sums, summed_for, c, now):
    """Give the sum of a class's four sums; zero if it has no entry on the sample's features."""
    if summed_for[c] != now:
        return 0.0
    return np.float64((sums[c, 0] + sums[c, 1]) + (sums[c, 2] + sums[c, 3]))


@njit(cache=True, nogil=True)
def score_classes(rows, vectors, by_feature, n_features, classes, scores):
    """Take the dot products of each sample and the vectors of some classes, (n_samples, n); 0 where the class is -1.

    ``rows``, ``vectors`` and ``by_feature`` are as in :func:`rank_candidates`.
    """
    room = scoring_room(n_features, len(vectors[3]) if len(by_feature[0]) > 0 else 0, 0)
    score_classes_in(room, rows, vectors, by_feature, classes, scores)


@njit(cache=True, nogil=True)
def score_classes_in(room, rows, vectors, by_feature, classes, scores):
    """Do what :func:`score_classes` does, in the room of :func:`scoring_room`."""
    spread, sums, summed_for, _, clock = room
    row_indptr, row_indices, row_values = rows
    vector_indptr, features, steps, scales = vectors
    has_lists = len(by_feature[0]) > 0
    own = np.empty(longest_row(row_indptr), row_indices.dtype)
    for s in range(classes.shape[0]):
        clock[0] += 1
        now = clock[0]
        for q in range(row_indptr[s], row_indptr[s + 1]):
            spread[row_indices[q]] += row_values[q]
        n_walked, n_own = 0, distinct_features(row_indices, row_indptr[s], row_indptr[s + 1], own)
        for p in range(classes.shape[1]):
            if classes[s, p] >= 0:
                n_entries = vector_indptr[classes[s, p] + 1] - vector_indptr[classes[s, p]]
                n_walked += min(n_entries, work_of_lookups(n_own, n_entries))
        is_walked = not has_lists or n_walked <= WALKED_MEANWHILE * n_entries_on(own, n_own, by_feature[0])
        if not is_walked:
            _add_up(spread, own, n_own, *by_feature, now, sums, summed_for)
        for p in range(classes.shape[1]):
            c = classes[s, p]
            scores[s, p] = 0.0
            if c < 0:
                continue
            if not is_walked:
                scores[s, p] = scales[c] * _summed(sums, summed_for, c, now)
                continue
            start, stop = vector_indptr[c], vector_indptr[c + 1]
            if work_of_lookups(n_own, stop - start) < stop - start:
                scores[s, p] = scales[c] * _looked_up(spread, own, n_own, features, steps, start, stop)
            else:
                scores[s, p] = scales[c] * _walked(spread, features, steps, start, stop)
        for q in range(row_indptr[s], row_indptr[s + 1]):
            spread[row_indices[q]] = 0
