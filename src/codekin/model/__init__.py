"""The fitted model: what predictions, storage, export and explanations know."""

from codekin.model.model import FittedCode, Model
from codekin.model.reranking import Candidates

__all__ = ["Candidates", "FittedCode", "Model"]
