"""The codebook for "auto", depending on the kind of bits and the number of classes."""

from __future__ import annotations

from typing import NamedTuple

from codekin.codebooks.sizes import DENSE_BITS_PER_DOUBLING, default_n_bits, n_binary_columns
from codekin.learners import Learner
from codekin.learners.natural_loss import learns_linearly

MAX_COLUMNS = 1_000
"""With more classes, one column per class takes too long for its gain."""


FEW_COLUMNS = 15
"""The least number of dense columns; more than this and more than one per class rarely pay."""


class CodeDefault(NamedTuple):
    """A codebook, the number of bits if it leaves the choice, and the reason, empty if there was no choice."""

    codebook: str
    n_bits: int | None
    reason: str


def default_code(learner: Learner, n_classes: int, n_bits: int | None = None, n_symbols: int = 2) -> CodeDefault:
    """The default code.

    For linear bits, one column per class with a learned decoder is rarely behind any other code of the same length
    (``benchmarks/predictors.py``). Other bits gain from dense columns, each a different problem to learn: as many as
    classes, but at least 15 and at most those of Allwein et al. (2000).
    """
    if n_symbols > 2:
        return _default_of_symbols(learner, n_classes, n_bits, n_symbols)
    if n_bits is not None or n_classes == 2:
        return CodeDefault("dense_random", n_bits, "")
    is_linear = learns_linearly(getattr(learner, "estimator", learner))
    if is_linear and n_classes <= MAX_COLUMNS:
        return CodeDefault("one_vs_rest", None, f"the bits are linear, the classes at most {MAX_COLUMNS:,}")
    if is_linear:
        return CodeDefault("dense_random", None, f"the classes are more than {MAX_COLUMNS:,}")
    n_columns = n_binary_columns(n_classes) if n_classes <= FEW_COLUMNS else n_classes
    most = default_n_bits(n_classes, DENSE_BITS_PER_DOUBLING, n_columns=n_columns)
    return CodeDefault("dense_random", min(max(n_classes, FEW_COLUMNS), most), "the bits are not linear")


def _default_of_symbols(learner: Learner, n_classes: int, n_bits: int | None, n_symbols: int) -> CodeDefault:
    """Several classes against the rest for linear learners, if the number of columns allows it.

    A linear learner separates one class from all others better than a set of dissimilar classes from other sets; trees
    gain from columns that all classes share (``benchmarks/many_classes.py``).
    """
    n_columns = -(-n_classes // (n_symbols - 1))
    if n_classes <= n_symbols or not learns_linearly(getattr(learner, "estimator", learner)):
        return CodeDefault("dense_random", n_bits, "")
    if n_bits not in (None, n_columns) or n_columns > MAX_COLUMNS:
        return CodeDefault("dense_random", n_bits, "")
    reason = f"the columns are linear, and {n_columns} of them have a symbol for every class"
    return CodeDefault("one_vs_rest", None, reason)
