"""The best classes of every row: the k smallest costs, and the final ranking of classes that several trees list."""

from __future__ import annotations

import numpy as np

from codekin.kernels.calling import njit


@njit(cache=True, nogil=True)
def keep_smallest(costs, first_class, best_costs, best_classes):
    """Merge a block of costs into the k smallest so far, each row ascending; equal costs keep the lower class first.

    The columns are the classes from ``first_class`` on, above all seen before. ``best_costs``, infinite at the start,
    and ``best_classes`` are changed in place.
    """
    n_samples, n_block = costs.shape
    k = best_costs.shape[1]
    for i in range(n_samples):
        worst = best_costs[i, k - 1]
        for j in range(n_block):
            cost = costs[i, j]
            if cost < worst:
                place = k - 1
                while place > 0 and best_costs[i, place - 1] > cost:
                    best_costs[i, place] = best_costs[i, place - 1]
                    best_classes[i, place] = best_classes[i, place - 1]
                    place -= 1
                best_costs[i, place] = cost
                best_classes[i, place] = first_class + j
                worst = best_costs[i, k - 1]


@njit(cache=True, nogil=True)
def merge_lists(listed, losses, is_candidate, n_each, merged, known, is_merged_candidate):
    """Put each class that trees list once on a common list; return the length of the longest.

    The lists of the trees, of length ``n_each``, follow each other; class -1 where there are no more. ``merged``
    receives the classes in the order in which they are first listed, -1 behind them; ``known``, (n_trees, n_samples,
    n), their losses, NaN where a tree does not list one; ``is_merged_candidate`` whether some tree has the class among
    its candidates.
    """
    longest = 0
    for s in range(listed.shape[0]):
        n = 0
        for p in range(listed.shape[1]):
            c = listed[s, p]
            if c < 0:
                continue
            place = 0
            while place < n and merged[s, place] != c:
                place += 1
            if place == n:
                merged[s, n], is_merged_candidate[s, n] = c, False
                known[:, s, n] = np.nan
                n += 1
            known[p // n_each, s, place] = losses[s, p]
            is_merged_candidate[s, place] |= is_candidate[s, p]
        merged[s, n:], is_merged_candidate[s, n:], known[:, s, n:] = -1, False, np.nan
        longest = max(longest, n)
    return longest


@njit(cache=True, nogil=True)
def rank_listed(listed, losses, is_candidate, weight, scores, classes, final_losses, final_scores):
    """Rank the classes of each list: candidates by ``loss - weight * score``, behind them the others by their losses.

    The losses of the others are raised as far as necessary. The last three arrays receive the best, of equal ones the
    first listed; -1, infinity and 0 if there are fewer.
    """
    n_out = classes.shape[1]
    for s in range(listed.shape[0]):
        n, worst, following = 0, -np.inf, np.inf
        for p in range(listed.shape[1]):
            if listed[s, p] >= 0 and is_candidate[s, p]:
                loss = losses[s, p] - weight * scores[s, p]
                worst = max(worst, loss)
                n = insert_row(s, n, listed[s, p], loss, scores[s, p], classes, final_losses, final_scores)
            elif listed[s, p] >= 0:
                following = min(following, losses[s, p])
        if n < n_out and following < np.inf:
            raised = max(worst - following, 0.0)
            for p in range(listed.shape[1]):
                if listed[s, p] >= 0 and not is_candidate[s, p]:
                    # Rounding must not move it among the candidates.
                    loss = max(losses[s, p] + raised, worst)
                    n = insert_row(s, n, listed[s, p], loss, scores[s, p], classes, final_losses, final_scores)
        classes[s, n:], final_losses[s, n:], final_scores[s, n:] = -1, np.inf, 0.0


@njit(cache=True, nogil=True)
def insert_row(s, n, c, loss, score, classes, losses, scores):
    """Put a class into a sample's sorted row, behind those of the same loss, if there is room; return its length."""
    if n < classes.shape[1]:
        n += 1
    elif loss >= losses[s, n - 1]:
        return n
    place = n - 1
    while place > 0 and losses[s, place - 1] > loss:
        classes[s, place], losses[s, place] = classes[s, place - 1], losses[s, place - 1]
        scores[s, place] = scores[s, place - 1]
        place -= 1
    classes[s, place], losses[s, place], scores[s, place] = c, loss, score
    return n
