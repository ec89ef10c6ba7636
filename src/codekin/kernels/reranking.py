"""From path costs to the final ranking of a sample's candidates, and the learning of the vectors that rescore them.

Class vectors are compressed rows: the entries of class ``c`` are ``scales[c] * steps[j]`` on ``features[j]`` for ``j``
from ``indptr[c]`` to ``indptr[c + 1]``. A sample's row is spread over an array of all features while its candidates are
scored, so that a score costs one look per entry of the class.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from codekin.kernels.path_lists import first_paths, next_path, path_lists, ways_onward

ROUNDING_UP = 1 + 1e-4
"""Dot products are added up in single precision."""
LEAST_GRADIENT = 1e-3
"""Candidates less probable than this teach nothing worth the time."""


@njit(cache=True, nogil=True)
def rank_candidates(
    costs,
    trellis,
    of_paths,
    rows,
    vectors,
    reach,
    n_features,
    weight,
    n_candidates,
    n_listed,
    classes,
    losses,
    scores,
    bounds,
):
    """Rank the candidates of each sample: the union of the members' cheapest paths, rescored with class vectors.

    The loss of a candidate is the sum of its path costs over the members; for those among the first ``n_candidates`` of
    a member, minus ``weight`` times the dot product of the sample and the class vector. Further listed classes follow
    behind them in their own order, their losses raised as far as that takes. The lists end early when no class that is
    not on them can still be among the ``n_out`` best (Fagin's threshold).

    Parameters
    ----------
    costs : float array of shape (n_samples, n_members, n_edges + 1)
        The last column is zero.
    trellis : tuple (width, digits, offsets)
        The graph of all members.
    of_paths : tuple (class_of_path, path_of_class, edges_of_path)
        Integer arrays of shapes (n_members, n_paths), (n_members, n_paths) and (n_paths, n_slices + 2), the last one
        filled up with ``n_edges``; the second and third may be empty when there is one member.
    rows : tuple (indptr, indices, values)
        The samples, compressed.
    vectors : tuple (indptr, features, steps, scales)
        The class vectors, compressed; empty if there are none.
    reach : tuple (highest, lowest, longest)
        The largest and the smallest entry of all vectors on each feature, and the length of the longest vector.
    n_features : int
    weight : float
    n_candidates, n_listed : int
        How many paths of each member are rescored, and how many are listed, at least as many.
    classes, losses, scores : arrays of shape (n_samples, n_out)
        Receive the best classes, -1 where there are no more; their losses; their dot products.
    bounds : array of shape (n_samples, 2)
        Receives the smallest sum of path costs among the candidates, and one that no class outside them is below.
    """
    width, digits, offsets = trellis
    class_of_path, path_of_class, edges_of_path = of_paths
    row_indptr, row_indices, row_values = rows
    vector_indptr, features, steps, scales = vectors
    highest, lowest, longest = reach
    n_samples, n_members, n_columns = costs.shape
    n_out = classes.shape[1]
    has_vectors = len(vector_indptr) > 0

    n_ways, edges, enters = ways_onward(width, digits)
    n_vertices = len(n_ways)
    best, rank, length, last, price, place, walk = path_lists(edges, n_members, n_listed)
    spread = np.zeros(n_features, np.float32)
    # The sample that a class was last listed for. One member lists no class twice.
    listed_for = np.full(class_of_path.shape[1] if n_members > 1 else 0, -1, np.int32)
    others, other_costs = np.empty(n_members * n_listed, np.int64), np.empty(n_members * n_listed)

    for s in range(n_samples):
        row = costs[s].reshape(-1)
        # No dot product exceeds the sum of the largest products on each feature, nor the product of the lengths.
        by_feature, squares = 0.0, 0.0
        if has_vectors:
            for q in range(row_indptr[s], row_indptr[s + 1]):
                feature, x = row_indices[q], row_values[q]
                spread[feature] += x
                by_feature += x * (highest[feature] if x > 0 else lowest[feature])
                squares += x * x
        ceiling = ROUNDING_UP * min(by_feature, longest * math.sqrt(squares))
        n_kept, n_others = 0, 0
        least, worst, outside = np.inf, -np.inf, 0.0
        for n in range(n_listed):
            outside = 0.0
            for r in range(n_members):
                first_edge, first_row = r * n_columns, r * n_vertices
                if n == 0:
                    first_paths(
                        row,
                        first_edge,
                        offsets,
                        n_ways,
                        edges,
                        enters,
                        first_row,
                        best,
                        rank,
                        length,
                        last,
                        price,
                        place,
                    )
                else:
                    next_path(
                        row,
                        first_edge,
                        offsets,
                        n_ways,
                        edges,
                        enters,
                        first_row,
                        best,
                        rank,
                        length,
                        last,
                        price,
                        place,
                        walk,
                    )
                source = first_row + n_vertices - 1
                cost = best[source, n]
                outside += cost
                c = class_of_path[r, rank[source, n]]
                if n_members > 1:
                    if listed_for[c] == s:
                        continue
                    listed_for[c] = s
                    cost = 0.0
                    for member in range(n_members):
                        path = path_of_class[member, c]
                        # From the last edge to the first, as the lists add: the same numbers to the last bit.
                        along = 0.0
                        for step in range(edges_of_path.shape[1] - 1, -1, -1):
                            along += row[member * n_columns + edges_of_path[path, step]]
                        cost += along
                least = min(least, cost)
                if n >= n_candidates:
                    others[n_others], other_costs[n_others] = c, cost
                    n_others += 1
                    continue
                score = 0.0
                if has_vectors:
                    score = scales[c] * _dot(spread, features, steps, vector_indptr[c], vector_indptr[c + 1])
                loss = cost - weight * score
                worst = max(worst, loss)
                n_kept = _keep(classes, losses, scores, s, n_kept, c, loss, score)
            if n_kept == n_out and outside - weight * ceiling >= losses[s, n_out - 1]:
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
                # Rounding must not bring it back among the candidates.
                loss = max(other_costs[p] + raised, worst)
                n_kept = _keep(classes, losses, scores, s, n_kept, others[p], loss, 0.0)
        for p in range(n_kept, n_out):
            classes[s, p], losses[s, p], scores[s, p] = -1, np.inf, 0.0


@njit(cache=True, nogil=True)
def _dot(spread, features, steps, start, stop):
    """Sum the sample's entries times the class's steps; four sums that do not wait for each other."""
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
def _keep(classes, losses, scores, s, n_kept, c, loss, score):
    """Insert into a sample's sorted list, after its equals, and return its new length."""
    n_out = classes.shape[1]
    if n_kept == n_out:
        if loss >= losses[s, n_kept - 1]:
            return n_kept
        n_kept -= 1
    place = n_kept
    while place > 0 and losses[s, place - 1] > loss:
        classes[s, place] = classes[s, place - 1]
        losses[s, place] = losses[s, place - 1]
        scores[s, place] = scores[s, place - 1]
        place -= 1
    classes[s, place], losses[s, place], scores[s, place] = c, loss, score
    return n_kept + 1


@njit(cache=True, nogil=True)
def score_classes(rows, vectors, n_features, classes, scores):
    """Take the dot products of each sample and the vectors of some classes.

    Parameters
    ----------
    rows : tuple (indptr, indices, values)
        The samples, compressed.
    vectors : tuple (indptr, features, steps, scales)
        The class vectors, compressed.
    n_features : int
    classes : int array of shape (n_samples, n)
        Which classes; -1 for none.
    scores : float array of shape (n_samples, n)
        Receives the dot products, 0 where there is no class.
    """
    row_indptr, row_indices, row_values = rows
    vector_indptr, features, steps, scales = vectors
    spread = np.zeros(n_features, np.float32)
    for s in range(classes.shape[0]):
        for q in range(row_indptr[s], row_indptr[s + 1]):
            spread[row_indices[q]] += row_values[q]
        for p in range(classes.shape[1]):
            c = classes[s, p]
            scores[s, p] = 0.0
            if c >= 0:
                scores[s, p] = scales[c] * _dot(spread, features, steps, vector_indptr[c], vector_indptr[c + 1])
        for q in range(row_indptr[s], row_indptr[s + 1]):
            spread[row_indices[q]] = 0


@njit(cache=True, nogil=True)
def learn_vectors(order, rows, class_index, sample_weight, candidates, vectors, curvature, n_features, rate):
    """Make one pass of softmax regression over each sample's class and its candidates.

    With ``p`` the softmax of the dot products, the entry of class ``c`` on a feature of value ``x`` moves by
    ``-rate * (p_c - [c is the sample's class]) x / G`` after ``G += p_c (1 - p_c) x**2``: Newton's step with the
    curvature seen so far, entry by entry.

    Parameters
    ----------
    order : int array
        The samples in the order in which they are shown.
    rows : tuple (indptr, indices, values)
        The samples, compressed.
    class_index : int array of shape (n_samples,)
    sample_weight : float array of shape (n_samples,)
    candidates : int array of shape (n_samples, n_candidates)
        Classes to tell the sample's class from; -1 where there are fewer. The class itself may be among them.
    vectors : tuple (indptr, features, values)
        The class vectors, compressed; the values are changed in place.
    curvature : float32 array, changed in place
        G, one for each value.
    n_features : int
    rate : float
    """
    row_indptr, row_indices, row_values = rows
    indptr, features, values = vectors
    spread = np.zeros(n_features, np.float32)
    compared, scores = np.empty(candidates.shape[1] + 1, np.int64), np.empty(candidates.shape[1] + 1)
    for i in order:
        for q in range(row_indptr[i], row_indptr[i + 1]):
            spread[row_indices[q]] += row_values[q]
        compared[0] = class_index[i]
        n = 1
        for p in range(candidates.shape[1]):
            if candidates[i, p] >= 0 and candidates[i, p] != class_index[i]:
                compared[n] = candidates[i, p]
                n += 1
        largest = -np.inf
        for p in range(n):
            score = 0.0
            for j in range(indptr[compared[p]], indptr[compared[p] + 1]):
                score += spread[features[j]] * values[j]
            scores[p] = score
            largest = max(largest, score)
        total = 0.0
        for p in range(n):
            scores[p] = math.exp(scores[p] - largest)
            total += scores[p]
        for p in range(n):
            share = scores[p] / total
            gradient = sample_weight[i] * (share - (p == 0))
            if abs(gradient) < LEAST_GRADIENT:
                continue
            bend = sample_weight[i] * share * (1 - share)
            for j in range(indptr[compared[p]], indptr[compared[p] + 1]):
                x = spread[features[j]]
                if x != 0:
                    curvature[j] += bend * x * x
                    values[j] -= rate * gradient * x / curvature[j]
        for q in range(row_indptr[i], row_indptr[i + 1]):
            spread[row_indices[q]] = 0
