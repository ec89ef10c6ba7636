"""Distances between classes, for tests of codes that are designed from them."""

import numpy as np
from scipy.spatial.distance import pdist, squareform


def groups(n_groups, size):
    """Classes that are 1 apart within a group and 5 apart between groups."""
    group = np.repeat(np.arange(n_groups), size)
    is_together = group[:, None] == group
    return np.where(np.eye(len(group)), 0.0, np.where(is_together, 1.0, 5.0)), is_together


def places(n_classes):
    """Distances between random points in space."""
    return squareform(pdist(np.random.default_rng(n_classes).normal(size=(n_classes, 3))))
