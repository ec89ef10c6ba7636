"""Balanced 2-means, one set at a time."""

import numpy as np


def split_order(vectors, members, n_iterations):
    """The members in the order that halving them again and again leaves them in."""
    if len(members) <= 2:
        return members
    half = (len(members) + 1) // 2

    def farthest(row):
        return members[int(np.argmin([vectors[member] @ vectors[row] for member in members]))]

    first = farthest(members[0])
    direction = vectors[first] - vectors[farthest(first)]
    previous = None
    for iteration in range(n_iterations + 1):
        ranks = np.argsort([-(vectors[member] @ direction) for member in members], kind="stable")
        chosen = set(ranks[:half].tolist())
        if chosen == previous or iteration == n_iterations:
            break
        previous = chosen
        inside = np.mean([vectors[members[i]] for i in sorted(chosen)], axis=0)
        outside = np.mean([vectors[members[i]] for i in range(len(members)) if i not in chosen], axis=0)
        direction = inside - outside
    ordered = [members[i] for i in ranks]
    return split_order(vectors, ordered[:half], n_iterations) + split_order(vectors, ordered[half:], n_iterations)
