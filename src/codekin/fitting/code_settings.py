"""The plan of a classifier with any code: its parameters, checked, with all automatic choices made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from codekin.codebooks.sizes import DENSE_BITS_PER_DOUBLING, default_n_bits, n_binary_columns
from codekin.coding import Codebook
from codekin.coding.codebook import MAX_SYMBOLS
from codekin.fitting.checked_choices import check_assignment_choice, check_distances_choice, check_loss_choice
from codekin.fitting.plan import Plan, Seed
from codekin.fitting.rules import CODE_RULES, SYMBOL_RULES, check_rules
from codekin.learners import Learner
from codekin.learners.natural_loss import learns_linearly
from codekin.learners.symbols import declared_limit

MAX_COLUMNS = 1_000
"""With more classes, one column per class takes too long for its gain."""
FEW_COLUMNS = 15
"""The least number of dense columns; more than this and more than one per class rarely pay."""


def code_plan(settings: Mapping[str, Any], classifier: Any, learner: Learner, n_classes: int, seed: Seed) -> Plan:
    """All settings of a fit, from the parameters of a :class:`codekin.ECOCClassifier`, which documents them.

    - ``classifier``: learns single columns; None if bits are learned jointly.
    - ``learner``: learns all columns.
    """
    check_loss_choice(settings["loss"])
    check_distances_choice(settings["class_distances"])
    check_assignment_choice(settings["assignment"])
    check_rules(CODE_RULES, {**settings, "learner": learner})
    n_symbols = _chosen_symbols(settings, classifier, learner, n_classes)
    codebook, n_bits, reason = settings["codebook"], settings["n_bits"], ""
    if isinstance(codebook, str) and codebook == "auto":
        codebook, n_bits, reason = default_code(learner, n_classes, n_bits, n_symbols)
    decoding = settings["decoding"]
    is_loss_open = isinstance(settings["loss"], str) and settings["loss"] == "auto"
    if decoding == "auto" and not (is_loss_open and settings["calibrate"] is None and n_symbols == 2):
        decoding = "loss"  # a given loss and calibration are for it
    kept = ("class_distances", "assignment", "loss", "weighted_decoding", "calibrate")
    return Plan(
        n_classes=n_classes,
        codebook=codebook,
        n_bits=n_bits,
        n_symbols=n_symbols,
        reason=reason,
        learner=learner,
        seed=seed,
        decoding=decoding,
        **{name: settings[name] for name in kept},
    )


def _chosen_symbols(settings: Mapping[str, Any], classifier: Any, learner: Any, n_classes: int) -> int:
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
