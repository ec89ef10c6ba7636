"""Annealing on a tree with the alignment computed from all pairs, for the same proposals as the kernel's."""

import numpy as np

from codekin.code.geometry import codeword_distances
from tests.reference.qap import SplitMix


def alignment(class_distances, matrix, codeword_of_class):
    """The sum of centred class distances times codeword distances."""
    n = len(class_distances)
    mean = class_distances.sum() / (n * (n - 1))
    centred = (class_distances - mean) * (1 - np.eye(n))
    used = matrix[codeword_of_class]
    return float((centred * codeword_distances(used, used)).sum())


def anneal(class_distances, matrix, codeword_of_class, *, sign, temperature, cooling, n_proposals, seed):
    """Classes must be in depth-first order."""
    random = SplitMix(seed)
    n_classes, n_codewords = len(class_distances), len(matrix)
    codeword_of_class = np.array(codeword_of_class)
    for _ in range(n_proposals):
        temperature *= cooling
        u = random.below(n_classes)
        kind = random.uniform()
        proposed = codeword_of_class.copy()
        if kind < 0.7:
            hop = int(np.exp(np.log(n_codewords) * random.uniform()))
            if random.below(2) == 0:
                hop = -hop
            if kind < 0.35:
                if not 0 <= u + hop < n_classes:
                    continue
                d = codeword_of_class[u + hop]
            else:
                d = codeword_of_class[u] + hop
                if not 0 <= d < n_codewords:
                    continue
        else:
            d = random.below(n_codewords)
        if d == codeword_of_class[u]:
            continue
        proposed[codeword_of_class == d] = codeword_of_class[u]
        proposed[u] = d
        gain = alignment(class_distances, matrix, proposed) - alignment(class_distances, matrix, codeword_of_class)
        # What makes no difference is accepted; a difference of rounding is none.
        if abs(gain) > 1e-9 and sign * gain < 0 and random.uniform() >= np.exp(sign * gain / temperature):
            continue
        codeword_of_class = proposed
    return codeword_of_class
