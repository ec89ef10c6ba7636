"""Which codebook "auto" stands for: by the kind of bits and the number of classes."""

from __future__ import annotations

from typing import NamedTuple

from codekin.learners import Learner
from codekin.learners.natural_loss import learns_linearly

MAX_COLUMNS = 200
"""For more classes than this, one column a class takes longer than it is worth."""


class CodeDefault(NamedTuple):
    """A codebook and why; no reason where there was no choice."""

    codebook: str
    reason: str


def default_code(learner: Learner, n_classes: int, n_bits: int | None = None, n_symbols: int = 2) -> CodeDefault:
    """The code that is taken where the user leaves it open.

    One column a class loses nothing with linear bits, and under a learned decoder it is rarely behind any other code of
    as many bits (``benchmarks/predictors.py``). Others gain by dense columns, each another problem to learn: the more,
    the better.
    """
    if n_bits is not None or n_classes == 2 or n_symbols > 2:
        return CodeDefault("dense_random", "")
    if not learns_linearly(getattr(learner, "estimator", learner)):
        return CodeDefault("dense_random", "the bits are not linear")
    if n_classes > MAX_COLUMNS:
        return CodeDefault("dense_random", f"the classes are more than {MAX_COLUMNS}")
    return CodeDefault("one_vs_rest", f"the bits are linear, the classes at most {MAX_COLUMNS}")
