"""Arguments of ``fit`` that hold other samples than X, such as those for early stopping.

Learners of bits see sides of classes, not labels. So the labels of other samples become those of each bit, and whatever
belongs to these samples follows. An argument is passed on as it is if it has one entry per sample of X, one per feature
or no data at all. Anything else is refused: a bit that is judged by labels it does not know would go unnoticed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _num_samples

from codekin.coding import IntArray
from codekin.learners.independent import OtherSamples, is_per_sample

PAIRS, LABELS = "eval_set", ("eval_y", "y_val")
"""Samples with their labels, and labels alone, as XGBoost, LightGBM, CatBoost and scikit-learn call them."""
BESIDE = (
    *("eval_X", "eval_sample_weight", "sample_weight_eval_set", "eval_init_score", "base_margin_eval_set"),
    *("X_val", "sample_weight_val"),
)
"""What belongs to these labels, row by row."""

ClassIndex = Callable[[Any], IntArray]


def with_other_samples(
    params: Mapping[str, Any], X: Any, labels: NDArray[Any], class_index: ClassIndex | None = None
) -> dict[str, Any]:
    """The arguments of the learners' ``fit``, with :class:`OtherSamples` in place of other samples and their labels.

    - ``labels``: those of the training samples.
    - ``class_index``: from labels to their places among these, -1 if there is none; without it, nothing is translated.
    """
    n_columns = X.shape[1] if len(getattr(X, "shape", ())) == 2 else 0
    known, result, others = set(labels.tolist()), {}, dict[str, _Others]()
    for name in sorted(params, key=lambda name: _step(name)[1] in BESIDE):  # labels first
        (prefix, own), value = _step(name), params[name]
        of_step = others.setdefault(prefix, _Others(class_index))
        if own in (PAIRS, *LABELS, *BESIDE) and value is not None:
            translated = None if class_index is None else of_step.translated(name, value)
        else:
            is_of_samples = own == "sample_weight" or is_per_sample(value, _num_samples(X))
            translated = value if is_of_samples or _is_plain(value, n_columns, known) else None
        if translated is None and value is not None:
            remedy = "" if class_index is None else f". Pass other samples as {PAIRS!r}, or as 'X_val' and 'y_val'"
            raise ValueError(
                f"The {name!r} parameter of fit holds data other than one entry per sample of X, and its labels cannot "
                f"become those that the estimator learns{remedy}."
            )
        result[name] = translated
    return result


@dataclass
class _Others:
    """The sets of other samples for one step of a pipeline, or for the estimator itself."""

    class_index: ClassIndex | None
    sets: list[IntArray] = field(default_factory=list)

    def translated(self, name: str, value: Any) -> Any:
        """One argument, for one set or a sequence of several; None if it belongs to labels that are not there."""
        own, is_sequence = _step(name)[1], isinstance(value, list | tuple)
        if own == PAIRS:
            is_pair = isinstance(value, tuple) and not all(isinstance(one, tuple) for one in value)
            return _each(is_sequence and not is_pair, value, lambda _, pair: self._pair(name, pair))
        is_several = is_sequence and all(one is None or np.ndim(one) > 0 for one in value)
        if own in LABELS:
            return _each(is_several, value, lambda _, labels: self._labels(name, labels))
        if not self.sets:
            return None
        is_several = is_several and len(value) == len(self.sets)
        return _each(is_several, value, lambda i, values: self._beside(name, values, self.sets[i]))

    def _pair(self, name: str, pair: Any) -> Any:
        if not isinstance(pair, list | tuple) or len(pair) != 2:
            raise ValueError(
                f"The {name!r} parameter of fit must be samples and their labels, (X, y), or a list of such pairs. "
                f"Got {type(pair).__name__}, whose labels cannot become those of each bit."
            )
        labels = self._labels(name, pair[1])
        return self._beside(name, pair[0], labels.class_index), labels

    def _labels(self, name: str, labels: Any) -> OtherSamples:
        assert self.class_index is not None
        found = self.class_index(labels)
        if (found < 0).any():
            label = np.asarray(labels)[found < 0][:1].tolist()[0]
            raise ValueError(f"The label {label!r} in the {name!r} parameter of fit is not among those of y.")
        self.sets.append(found)
        return OtherSamples(name, found)

    def _beside(self, name: str, values: Any, classes: IntArray) -> OtherSamples | None:
        if values is None:
            return None
        if _num_samples(values) != len(classes):
            raise ValueError(
                f"The {name!r} parameter of fit has {_num_samples(values)} rows for {len(classes)} labels."
            )
        return OtherSamples(name, classes, values)


def _step(name: str) -> tuple[str, str]:
    """The step of a pipeline that an argument is for, and its name there."""
    prefix, _, own = name.rpartition("__")
    return prefix, own


def _each(is_several: bool, value: Any, made: Callable[[int, Any], Any]) -> Any:
    return type(value)([made(i, one) for i, one in enumerate(value)]) if is_several else made(0, value)


def _is_plain(value: Any, n_columns: int, labels: set[Any]) -> bool:
    """Whether a value holds no data beyond one entry per feature: a number, a name, a function, or a few of them."""
    if isinstance(value, str | bytes) or callable(value) or hasattr(value, "fit"):
        return True
    if isinstance(value, Mapping):
        return not labels & set(value) and all(_is_plain(one, n_columns, labels) for one in value.values())
    if hasattr(value, "shape"):
        return tuple(value.shape) in ((), (1,), (n_columns,), (1, n_columns))
    if not isinstance(value, Collection):
        return not hasattr(value, "__array__")
    if all(isinstance(one, str) for one in value):
        return not value or not set(value) <= labels
    return len(value) <= max(n_columns, 1) and all(_is_plain(one, n_columns, labels) for one in value)
