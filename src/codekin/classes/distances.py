"""How far apart classes are.

Functions that compute distances from data (``CLASS_DISTANCES_FROM_DATA``) take
``(X, class_index, *, n_classes=None, sample_weight=None, rng=None, ...)``; the others in ``CLASS_DISTANCES`` have their
own arguments. All return a :class:`codekin.classes.ClassDistances`.
"""

from collections.abc import Callable
from typing import Any

from codekin.classes import ClassDistances
from codekin.classes.confusion import confusion_distances, learned_confusion_distances
from codekin.classes.learnability import learnability_distances, learnability_matrix
from codekin.classes.means import clustering_distances, mean_distances, splitting_distances
from codekin.classes.tree_distances import taxonomy_distances
from codekin.classes.vectors import embedding_distances, read_word_vectors

CLASS_DISTANCES_FROM_DATA: dict[str, Callable[..., ClassDistances]] = {
    "means": mean_distances,
    "confusion": learned_confusion_distances,
    "learnability": learnability_distances,
    "clustering": clustering_distances,
    "splitting": splitting_distances,
}
"""Those computed from samples and their classes."""

CLASS_DISTANCES: dict[str, Callable[..., Any]] = CLASS_DISTANCES_FROM_DATA | {
    "embeddings": embedding_distances,
    "taxonomy": taxonomy_distances,
}
"""All of them, by name."""

__all__ = [
    "CLASS_DISTANCES",
    "clustering_distances",
    "confusion_distances",
    "embedding_distances",
    "learnability_distances",
    "learnability_matrix",
    "learned_confusion_distances",
    "mean_distances",
    "read_word_vectors",
    "splitting_distances",
    "taxonomy_distances",
]
