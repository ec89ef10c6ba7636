"""The possible first swaps of annealing on a trellis, with the alignment computed from all pairs."""

import numpy as np

from tests.reference.qap import SplitMix
from tests.reference.tree_swaps import alignment


def first_swap(class_distances, matrix, path_of_class, *, temperature, cooling, n_proposals, seed):
    """The classes and the number of each proposal that the alignment allows before any swap is made."""
    random = SplitMix(seed)
    n_paths = len(path_of_class)
    before = alignment(class_distances, matrix, path_of_class)
    allowed = []
    for proposal in range(1, n_proposals + 1):
        temperature *= cooling
        u = random.below(n_paths)
        c = path_of_class[u]
        if random.uniform() < 0.5:
            hop = int(np.exp(np.log(n_paths) * random.uniform()))
            d = c - hop if random.below(2) == 0 else c + hop
            if not 0 <= d < n_paths:
                continue
        else:
            d = random.below(n_paths)
        if c == d:
            continue
        v = int(np.flatnonzero(path_of_class == d)[0])
        swapped = np.array(path_of_class)
        swapped[[u, v]] = d, c
        least = temperature * np.log(1 - random.uniform())
        # A difference of rounding is none.
        if alignment(class_distances, matrix, swapped) - before >= least - 1e-6:
            allowed.append((frozenset({u, v}), proposal))
    return allowed
