"""The plan of a classifier with any code: its parameters, checked, with all automatic choices made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from codekin.fitting.checked_choices import check_assignment_choice, check_distances_choice, check_loss_choice
from codekin.fitting.code_defaults import default_code
from codekin.fitting.plan import Plan, Seed
from codekin.fitting.rules import CODE_RULES, check_rules
from codekin.fitting.symbol_choice import chosen_symbols
from codekin.learners import Learner


def code_plan(settings: Mapping[str, Any], classifier: Any, learner: Learner, n_classes: int, seed: Seed) -> Plan:
    """All settings of a fit, from the parameters of a :class:`codekin.ECOCClassifier`, which documents them.

    - ``classifier``: learns single columns; None if bits are learned jointly.
    - ``learner``: learns all columns.
    """
    check_loss_choice(settings["loss"])
    check_distances_choice(settings["class_distances"])
    check_assignment_choice(settings["assignment"])
    check_rules(CODE_RULES, {**settings, "learner": learner})
    n_symbols = chosen_symbols(settings, classifier, learner, n_classes)
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
