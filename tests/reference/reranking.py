"""Ranking and learning by the definitions, class by class."""

from __future__ import annotations

import numpy as np


def ranked(costs, class_of_path, vectors, X, weight, n_candidates, n_out):
    """The classes of each sample, best first, and their losses: sums of path costs minus weighted dot products.

    ``costs[r][s, path]`` is what a path costs member ``r`` for sample ``s``. Only classes that are among the first
    ``n_candidates`` of some member are ranked; missing ones are -1.
    """
    n_samples, n_paths = costs[0].shape
    classes, losses = np.full((n_samples, n_out), -1), np.full((n_samples, n_out), np.inf)
    for s in range(n_samples):
        union, totals = [], np.zeros(n_paths)
        for member, order in zip(costs, class_of_path, strict=True):
            for path in range(n_paths):
                totals[order[path]] += member[s, path]
        lists = [order[np.argsort(m[s], kind="stable")] for m, order in zip(costs, class_of_path, strict=True)]
        for n in range(n_candidates):
            union += [c for c in dict.fromkeys(classes_of[n] for classes_of in lists) if c not in union]
        final = np.array([totals[c] - weight * float(vectors[c] @ X[s]) for c in union])
        best = np.argsort(final, kind="stable")[:n_out]
        classes[s, : len(best)], losses[s, : len(best)] = np.array(union)[best], final[best]
    return classes, losses


def scores(rows, vectors, classes):
    """The dot products of each sample and the vectors of some classes, 0 for class -1; features may come twice."""
    indptr, features, values = rows
    products = np.zeros(classes.shape)
    for s, named in enumerate(classes):
        x = np.zeros(vectors.shape[1])
        for q in range(indptr[s], indptr[s + 1]):
            x[features[q]] += values[q]
        products[s] = [0.0 if c < 0 else float(vectors[c] @ x) for c in named]
    return products


def learned(order, X, class_index, sample_weight, candidates, values, support, rate, first_curvature, least_gradient):
    """One pass of softmax regression over each sample's class and its candidates; dense values, changed in place."""
    curvature = np.full(values.shape, first_curvature)
    for i in order:
        compared = [class_index[i], *(c for c in candidates[i] if c >= 0 and c != class_index[i])]
        scores = np.array([values[c] @ X[i] for c in compared])
        shares = np.exp(scores - scores.max())
        shares /= shares.sum()
        for p, (c, share) in enumerate(zip(compared, shares, strict=True)):
            gradient = sample_weight[i] * (share - (p == 0))
            if abs(gradient) < least_gradient:
                continue
            here = support[c] & (X[i] != 0)
            curvature[c, here] += sample_weight[i] * share * (1 - share) * X[i, here] ** 2
            values[c, here] -= rate * gradient * X[i, here] / curvature[c, here]


def entries_on(feature, indptr, features, steps) -> list[tuple[int, int, int, int]]:
    """The entries on a feature, class by class: class, place, step, and which of the four sums it belongs to."""
    found = []
    for c, (start, stop) in enumerate(zip(indptr[:-1].tolist(), indptr[1:].tolist(), strict=True)):
        n_in_rounds = (stop - start) // 4 * 4
        for place in range(start, stop):
            if features[place] == feature:
                turn = (place - start) % 4 if place - start < n_in_rounds else 0
                found.append((c, place, int(steps[place]), turn))
    return found


def entries(order, rows, class_index, candidates, vectors):
    """For each sample, its class and candidates, and the places and the sample's values of their common features."""
    (row_ends, row_features, row_values), (ends, features) = rows, vectors
    found = []
    for i in order:
        own = slice(row_ends[i], row_ends[i + 1])
        values = dict(zip(row_features[own].tolist(), row_values[own].tolist(), strict=True))
        compared = list(dict.fromkeys([int(class_index[i]), *(int(c) for c in candidates[i] if c >= 0)]))
        on_sample = [
            [(j, values[int(features[j])]) for j in range(ends[c], ends[c + 1]) if values.get(int(features[j]), 0) != 0]
            for c in compared
        ]
        found.append((compared, on_sample))
    return found
