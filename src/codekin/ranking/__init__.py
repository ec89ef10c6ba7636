"""From a code's best candidates to the final ranking."""

from codekin.ranking.reranking import Reranking

__all__ = ["Reranking"]
