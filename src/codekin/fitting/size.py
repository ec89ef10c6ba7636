"""The size of a classifier on a trellis on disk: exact once it is fitted, an upper bound before."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np

from codekin._system.arrays import Arrays, as_narrow
from codekin.classes import ClassDistances
from codekin.fitting.fit_facts import Fit
from codekin.fitting.report import code_report
from codekin.fitting.trellis_settings import TrellisSettings
from codekin.storage import bytes_of_parts
from codekin.storage.classifier_parts import ClassifierParts, tree_arrays
from codekin.storage.parts import describe_bits

BYTES_PER_BIT = 24
"""The loss of a bit in the report."""
BYTES_PER_TRIAL = 256
BYTES_PER_MEMBER = 1_024
BYTES_BESIDES = 4_096
"""The description and the header of the arrays, besides what follows from the shape of the model."""
WIDEST = -2.2250738585072014e-308
"""No number has more characters."""


def bytes_of_fit(fit: Fit, parts: ClassifierParts, n_trials: int = 0) -> int:
    """What a fitted classifier takes on disk at most, with a report on all bits and ``n_trials`` trials."""
    report = code_report(fit.model, fit.loss, None, budget="x" * 64).as_dict()
    widest = {name: WIDEST if value is None or isinstance(value, float) else value for name, value in report.items()}
    n_bits = 0 if fit.plan.has_tree else fit.model.n_bits  # whose losses may be measured
    widest |= {"bit_losses": [WIDEST] * n_bits, "trials": ["x" * BYTES_PER_TRIAL] * n_trials}
    whole = replace(
        parts,
        report=widest,
        learner=fit.learner,
        temperature=WIDEST,
        class_tree=None if fit.class_distances is None else fit.class_distances.tree,
        plan=fit.plan.as_dict(),
    )
    return bytes_of_parts(fit.model, whole)


def bytes_besides_weights(n_bits: int, n_members: int, n_classes: int) -> int:
    """What codes take besides their weights and the :func:`fixed_bytes` of a single code."""
    return BYTES_PER_BIT * n_bits + (n_members - 1) * (BYTES_PER_MEMBER + _bytes_of_order(n_classes))


def fixed_bytes(parts: ClassifierParts, settings: TrellisSettings) -> int:
    """What a classifier takes regardless of its bits: labels, the assignment and the rest of the description."""
    labels = parts.labels
    of_labels = labels.nbytes if labels.dtype.kind in "biuf" else _json_bytes(labels.tolist())
    names = [] if parts.feature_names is None else [str(name) for name in parts.feature_names]
    class_weight = getattr(settings.learner, "class_weight", None)
    weights = 0 if class_weight is None or isinstance(class_weight, str) else BYTES_PER_BIT * len(labels)
    order = _bytes_of_order(len(labels), settings.n_spare)
    return of_labels + order + _json_bytes(names) + weights + BYTES_BESIDES


def _bytes_of_order(n_classes: int, n_spare: int = 0) -> int:
    return n_classes * as_narrow(np.array([n_classes + n_spare])).itemsize


def _json_bytes(value: Any) -> int:
    return len(json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode(errors="backslashreplace"))


def bytes_of_tree(class_distances: ClassDistances | None) -> int:
    """What the class tree takes on disk, if there is one."""
    tree = None if class_distances is None else class_distances.tree
    return 0 if tree is None else sum(array.nbytes for array in tree_arrays(tree).values())


def bytes_of_bits(bits: Any) -> int:
    """What the weights of a code take on disk."""
    arrays: Arrays = {}
    describe_bits(bits, arrays, [])
    return sum(array.nbytes for array in arrays.values())
