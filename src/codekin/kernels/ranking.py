"""The k best of every row, kept while the columns arrive in blocks."""

from numba import njit


@njit(cache=True, nogil=True)
def keep_smallest(costs, first_class, best_costs, best_classes):
    """Merge a block of costs into the k smallest so far, each row ascending; equal costs keep the lower class first.

    ``costs``: float (n_samples, n_block). Costs of the classes ``first_class, first_class + 1, ...``, all above the
        classes seen before.
    ``first_class``: the class of the block's first column.
    ``best_costs``: float (n_samples, k), changed in place. Start with infinities.
    ``best_classes``: int64 (n_samples, k), changed in place
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
