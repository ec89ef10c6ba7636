"""A part of the classes with all of their samples: a small problem that is as hard as the whole.

The classes are neighbours of a few drawn ones by their means, since distant classes are too easy to separate, and hide
what a choice is worth.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from codekin.coding import IntArray
from codekin.model.class_vectors import centroids
from codekin.samples import Samples

N_NEIGHBOURHOODS = 16
LEAST_SAMPLES, MOST_SAMPLES = 15_000, 50_000
"""A quarter of all samples, but no fewer and no more than these, where there are as many."""
LEAST_CLASSES = 200
"""Fewer classes than these, or than there are, would not need a tree; then there are fewer samples of each."""
HELD_OUT_SHARE = 0.25
SEED = 0
"""The part is the same for all seeds of a fit, so that they make the same choices."""


class Part(NamedTuple):
    """The classes of a part, and its samples: those to learn from, and those that judge; classes are renumbered."""

    classes: IntArray
    taught: Samples
    judges: Samples


def part_of_classes(samples: Samples, n_classes: int) -> Part:
    """Classes that hold about a quarter of the samples; a quarter of those is held out for validation.

    Every class keeps at least one sample to learn from. All classes if there are few samples or few classes. Raises
    MemoryError if samples are on disk and the means of their classes do not fit into memory.
    """
    rng = np.random.default_rng(SEED)
    some = some_classes(samples, n_classes, rng)
    rows = np.flatnonzero(some[samples.class_index])
    if len(rows) > 2 * MOST_SAMPLES:
        rows = np.sort(rng.permutation(rows)[:MOST_SAMPLES])
    part = samples.at(rows).in_memory()
    # Rows on disk may be fewer in memory, so classes are numbered afterwards.
    classes, class_index = np.unique(part.class_index, return_inverse=True)
    part = Samples(part.X, class_index, part.weights)
    is_held = held_out(class_index, rng)
    return Part(classes, part.at(np.flatnonzero(~is_held)), part.at(np.flatnonzero(is_held)))


def some_classes(samples: Samples, n_classes: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Which classes are in a part: the nearest neighbours of drawn ones, until there are enough samples."""
    n_samples = len(samples)
    n_wanted = min(max(n_samples // 4, LEAST_SAMPLES), MOST_SAMPLES)
    is_chosen = np.zeros(n_classes, dtype=bool)
    if n_wanted >= n_samples:
        is_chosen[samples.class_index] = True
        return is_chosen
    sizes = np.bincount(samples.class_index, minlength=n_classes)
    means = centroids(samples.X, samples.class_index, n_classes=n_classes, sample_weight=samples.weights)
    drawn = rng.permutation(np.flatnonzero(sizes))[:N_NEIGHBOURHOODS]
    similar = (means[drawn] @ means.T).toarray()
    nearest = np.argsort(-similar, axis=1, kind="stable").T
    # In the order of their ranks in any neighbourhood.
    classes, first = np.unique(nearest, return_index=True)
    classes = classes[np.argsort(first, kind="stable")]
    n_enough = int(np.searchsorted(np.cumsum(sizes[classes]), n_wanted)) + 1
    is_chosen[classes[: max(n_enough, LEAST_CLASSES)]] = True
    return is_chosen


def held_out(class_index: IntArray, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Which samples judge: about a quarter; every class keeps one."""
    is_held: NDArray[np.bool_] = rng.random(len(class_index)) < HELD_OUT_SHARE
    is_held[np.unique(class_index, return_index=True)[1]] = False
    return is_held
