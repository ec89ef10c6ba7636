"""How many symbols the columns of a code have, and what that requires of other settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from codekin.coding import Codebook
from codekin.coding.codebook import MAX_SYMBOLS
from codekin.fitting.rules import SYMBOL_RULES, check_rules
from codekin.learners.symbols import declared_limit


def chosen_symbols(settings: Mapping[str, Any], classifier: Any, learner: Any, n_classes: int) -> int:
    """How many symbols a column may have, from the parameters of an estimator.

    - ``classifier``: learns single columns, and may declare a limit; None if bits are learned jointly.
    - ``learner``: learns all columns.
    """
    n_symbols = _most_symbols(settings["codebook"], settings["n_symbols"], classifier, n_classes)
    if n_symbols > 2:
        check_rules(SYMBOL_RULES, {**settings, "n_symbols": n_symbols, "learner": learner})
    return n_symbols


def _most_symbols(codebook: Any, limit: int | None, classifier: Any, n_classes: int) -> int:
    if isinstance(codebook, Codebook):
        if limit is not None and codebook.n_symbols > limit:
            raise ValueError(f"The given codebook has {codebook.n_symbols} symbols. Got n_symbols={limit}.")
        return codebook.n_symbols
    if not (isinstance(codebook, str) or callable(codebook)):
        # A given matrix has two symbols by default.
        return limit or 2
    if limit is None:
        limit = min(declared_limit(classifier) or 2, MAX_SYMBOLS)
    return max(min(limit, n_classes), 2)
