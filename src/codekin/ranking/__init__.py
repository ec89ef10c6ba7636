"""From a code's best candidates to the final ranking."""

from codekin.ranking.learned import learned_vectors
from codekin.ranking.reranking import CANDIDATE_NUMBERS, TOLERANCE, Reranking, best_weight
from codekin.ranking.vectors import ClassVectors, centroid_vectors

__all__ = [
    "CANDIDATE_NUMBERS",
    "TOLERANCE",
    "ClassVectors",
    "Reranking",
    "best_weight",
    "centroid_vectors",
    "learned_vectors",
]
