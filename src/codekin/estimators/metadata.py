"""What scikit-learn asks of estimators: metadata for the learners of the bits, rules, attributes, callbacks.

scikit-learn inspects the signature of a bound ``fit`` to see whether an estimator accepts weights
(``has_fit_parameter``), in boosting, bagging and its own checks. For a meta-estimator that depends on the inner one.

Callbacks exist since version 1.9 of scikit-learn. Older versions have none, and
fitting works without them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import wraps
from numbers import Number
from types import MethodType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import is_regressor
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, _routing_enabled, process_routing
from sklearn.utils.validation import _num_samples, has_fit_parameter

from codekin.code import FloatArray, IntArray
from codekin.fitting.setting import Methods, Setting, Table
from codekin.learners import Learner
from codekin.learners.estimators import is_per_sample
from codekin.learners.independent import ConstantBit, OtherSamples
from codekin.learners.linear import LinearBits
from codekin.model import Model

__all__ = [
    "CallbackSupportMixin",
    "begin_callbacks",
    "learner_params",
    "lists_weights_if",
    "router",
    "with_callbacks",
    "with_other_samples",
]

PAIRS, LABELS = "eval_set", ("eval_y", "y_val")
"""Samples with their labels, and labels alone, as XGBoost, LightGBM, CatBoost and scikit-learn call them."""
OF_WEIGHTS = ("eval_sample_weight", "sample_weight_eval_set", "sample_weight_val")
BESIDE = ("eval_X", "X_val", *OF_WEIGHTS, "eval_init_score", "base_margin_eval_set")
"""What belongs to these labels, row by row."""

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:
    if not TYPE_CHECKING:

        class CallbackSupportMixin:
            """Stands in for scikit-learn's class of this name, without any callbacks."""

        def with_callbacks(fit: Callable[..., Any]) -> Callable[..., Any]:
            """Stands in for scikit-learn's decorator of this name: there is nothing to clean up after ``fit``."""
            return fit


def router(owner: Any, learner: Any) -> MetadataRouter:
    """How metadata are passed to the learner; None if bits are learned together, which the owner itself does.

    It is enough that the learner requests weights; the owner needs no request of its own.
    """
    requests = owner._get_metadata_request()
    if learner is None:
        return MetadataRouter(owner=owner).add_self_request(requests)
    mapping = MethodMapping()
    for method in ("fit", "partial_fit"):
        own = getattr(requests, method)
        if own.requests.get("sample_weight", False) is None:
            own.add_request(param="sample_weight", alias=False)
        mapping.add(caller=method, callee=method)
    return MetadataRouter(owner=owner).add_self_request(requests).add(estimator=learner, method_mapping=mapping)


def learner_params(
    owner: Any, learner: Any, method: str, sample_weight: ArrayLike | None, fit_params: Mapping[str, Any]
) -> dict[str, Any]:
    """The arguments of the learner's ``fit`` other than samples and labels; no learner if bits are learned together."""
    given = dict(fit_params) if sample_weight is None else {"sample_weight": sample_weight, **fit_params}
    if not given:
        return {}
    if learner is None:
        if fit_params:
            raise TypeError(f"Bits that are learned together accept only sample weights. Got {sorted(fit_params)}.")
        return given
    if _routing_enabled():
        return dict(process_routing(owner, method, **given).estimator[method])
    if sample_weight is not None and not has_fit_parameter(learner, "sample_weight"):
        raise ValueError(f"The estimator {type(learner).__name__} does not accept sample weights. Got sample_weight.")
    return given


def with_other_samples(
    params: Mapping[str, Any], X: Any, labels: NDArray[Any], class_index: Callable[[Any], IntArray] | None = None
) -> dict[str, Any]:
    """The arguments of the learners' ``fit``, with :class:`OtherSamples` in place of other samples and their labels.

    Learners of bits see sides of classes. So labels of other samples, such as those for early stopping, become those of
    each bit, and whatever belongs to these samples follows. An argument is passed on as it is if it has one entry per
    sample of X, one per feature or no data at all. Anything else is refused, since it could hold labels.

    - ``labels``: those of the training samples.
    - ``class_index``: from labels to their places among these, -1 if there is none; without it, nothing is translated.
    """
    n_columns = X.shape[1] if len(getattr(X, "shape", ())) == 2 else 0
    known, result, sets = set(labels.tolist()), {}, dict[str, list[IntArray]]()
    for name in sorted(params, key=lambda name: name.rpartition("__")[2] in BESIDE):  # labels first
        (step, _, own), value = name.rpartition("__"), params[name]
        if own in (PAIRS, *LABELS, *BESIDE) and value is not None:
            translated = class_index and _translated(name, value, sets.setdefault(step, []), class_index)
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


def _translated(name: str, value: Any, sets: list[IntArray], class_index: Callable[[Any], IntArray]) -> Any:
    """An argument for one set of samples, or several; None if its labels are missing. Adds the classes to ``sets``."""

    def labels_of(labels: Any) -> OtherSamples:
        classes = class_index(labels)
        if (classes < 0).any():
            label = np.asarray(labels)[classes < 0][:1].tolist()[0]
            raise ValueError(f"The label {label!r} in the {name!r} parameter of fit is not among those of y.")
        sets.append(classes)
        return OtherSamples(name, classes)

    def rows_of(values: Any, classes: IntArray) -> OtherSamples | None:
        n_rows = len(classes) if values is None else _num_samples(values)
        if n_rows != len(classes):
            raise ValueError(f"The {name!r} parameter of fit has {n_rows} rows for {len(classes)} labels.")
        return None if values is None else OtherSamples(name, classes, values)

    def pair_of(pair: Any) -> Any:
        if not isinstance(pair, list | tuple) or len(pair) != 2:
            raise ValueError(
                f"The {name!r} parameter of fit must be samples and labels, (X, y), or a list of such pairs, so that "
                f"every bit can get labels of its own. Got {type(pair).__name__}."
            )
        labels = labels_of(pair[1])
        return rows_of(pair[0], labels.class_index), labels

    own, is_sequence = name.rpartition("__")[2], isinstance(value, list | tuple)
    if own == PAIRS:
        is_pair = isinstance(value, tuple) and not all(isinstance(one, tuple) for one in value)
        return type(value)([pair_of(one) for one in value]) if is_sequence and not is_pair else pair_of(value)
    is_several = is_sequence and all(one is None or np.ndim(one) > 0 for one in value)
    if own in LABELS:
        return type(value)([labels_of(one) for one in value]) if is_several else labels_of(value)
    if is_several and len(value) == len(sets):
        return type(value)([rows_of(*one) for one in zip(value, sets, strict=True)])
    return rows_of(value, sets[0]) if sets else None


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
    is_short = len(value) <= n_columns or not any(isinstance(one, Number) for one in value)
    return is_short and all(_is_plain(one, n_columns, labels) for one in value)


def lists_weights_if(takes_weights: Callable[[Any], bool]) -> Callable[[Any], Any]:
    """Remove ``sample_weight`` from the signature of a bound method unless the instance accepts weights.

    The method itself does not change: weights passed anyway cause its own error.
    """
    return lambda method: _WeightSignature(method, takes_weights)


class _WeightSignature:
    """A descriptor for a method whose signature depends on the instance."""

    def __init__(self, method: Callable[..., Any], takes_weights: Callable[[Any], bool]) -> None:
        self.method, self.takes_weights = method, takes_weights
        self.__doc__ = method.__doc__

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self.method
        bound = MethodType(self.method, instance)
        if self.takes_weights(instance):
            return bound

        @wraps(self.method)
        def method(*arguments: Any, **options: Any) -> Any:
            return bound(*arguments, **options)

        full = inspect.signature(bound)
        kept = [parameter for name, parameter in full.parameters.items() if name != "sample_weight"]
        method.__signature__ = full.replace(parameters=kept)  # type: ignore[attr-defined]
        return method


def begin_callbacks(owner: Any, learner: Learner, n_fits: int) -> Any:
    """The callback context of a whole fit, with one task per fitted bit (``n_fits``, folds of calibration included).

    The callbacks are called on behalf of ``owner``. Bits that are learned together have no tasks.
    """
    if not hasattr(owner, "_init_callback_context"):
        return SimpleNamespace(call_on_fit_task_end=lambda **_: None)  # nobody listens
    tasks = getattr(learner, "tasks", None)
    n_tasks = 0 if tasks is None else n_fits
    context = owner._init_callback_context(max_subtasks=n_tasks, sequential_subtasks=False)
    context.call_on_fit_task_begin(estimator=owner)
    has_listeners = getattr(owner, "_skl_callbacks", None) or hasattr(owner, "_parent_callback_ctx")
    if tasks is not None and has_listeners:
        tasks.extend(BitTask(context.subcontext(task_name="bit", task_id=task), owner) for task in range(n_tasks))
    return context


@dataclass(frozen=True, eq=False)
class BitTask:
    """Tells scikit-learn's callbacks that the fit of one bit begins and ends, on behalf of ``owner``."""

    context: Any
    owner: Any

    @contextmanager
    def around(self, estimator: Any) -> Iterator[None]:
        takes_callbacks = hasattr(estimator, "set_callbacks")
        with self.context.propagate_callback_context(estimator) if takes_callbacks else nullcontext():
            self.context.call_on_fit_task_begin(estimator=self.owner)
            yield
        self.context.call_on_fit_task_end(estimator=self.owner)


# ----- the table of settings as scikit-learn's rules --------------------------------------------------------------


class RegressorConstraint(HasMethods):
    """The rule that a parameter may be a regressor."""

    def __init__(self) -> None:
        super().__init__(["fit", "predict"])

    def is_satisfied_by(self, val: Any) -> bool:
        return bool(super().is_satisfied_by(val) and not isinstance(val, type) and is_regressor(val))

    def __str__(self) -> str:
        """What an error says about it."""
        return "a regressor"


def constraints(table: Table) -> dict[str, Any]:
    """The ``_parameter_constraints`` of an estimator."""
    return {name: _constraint(setting) for name, setting in table.items()}


def _constraint(setting: Setting) -> Any:
    numbers, allowed = [], setting.numbers
    if allowed is not None:
        numbers = [Interval(allowed.type, allowed.left, allowed.right, closed=allowed.closed)]
    names = [StrOptions(set(setting.names))] if setting.names else []
    more = [_methods(each) if isinstance(each, Methods) else each for each in setting.more]
    return [*numbers, *more, *names, *([None] if setting.is_optional else [])] or "no_validation"


def _methods(needed: Methods) -> Any:
    return RegressorConstraint() if needed.of_regressor else HasMethods(list(needed.names))


ONE_COLUMN_EACH = ("auto", "one_vs_rest")
"""Codebooks with which each of several labels per sample gets a column of its own."""
ONE_LABEL_ONLY = {"n_bits": None, "class_weight": None, "calibrate": None, "weighted_decoding": False}
"""Parameters of an ECOCClassifier that several labels per sample rule out, and what they are otherwise."""


def check_columns(given: Mapping[str, Any], params: Mapping[str, Any], learner: Any) -> None:
    """Raise unless each of several labels per sample can have a column of its own with these settings."""
    codebook = given["codebook"]
    if not isinstance(codebook, str) or codebook not in ONE_COLUMN_EACH:
        raise ValueError(
            "Each of several labels per sample has a column of its own: 'codebook' must be 'auto' or 'one_vs_rest'. "
            f"Got {codebook!r}."
        )
    for name, usual in (*ONE_LABEL_ONLY.items(), ("decoding", "auto" if given["decoding"] == "auto" else "loss")):
        if given[name] != usual:
            raise ValueError(f"The {name!r} parameter needs one label per sample. Got {given[name]!r} and several.")
    if others := sorted(params.keys() - {"sample_weight"}):
        raise ValueError(f"The argument {others[0]!r} of fit needs one label per sample. Got samples of several.")
    if getattr(learner, "learns_targets", False) or hasattr(learner, "oversample"):
        name = type(getattr(learner, "estimator", learner)).__name__
        raise ValueError(f"The columns of several labels are learned by classifiers, LinearSVM or Softmax. Got {name}.")


# ----- attributes of the learners under the names that scikit-learn's tools look for -------------------------------


class BitAttributes:
    """Weights and importances of features, if the learners of the bits have them, stacked bit by bit."""

    model_: Model

    @property
    def coef_(self) -> FloatArray:
        """The weights of linear bits, of shape (n_bits, n_features); zeros for constant bits."""
        return self._stacked("coef_")

    @property
    def intercept_(self) -> FloatArray:
        """The intercepts of linear bits, of shape (n_bits,)."""
        return self._stacked("intercept_")[:, 0]

    @property
    def feature_importances_(self) -> FloatArray:
        """The mean importance of each feature over the bits that were trained, of shape (n_features,)."""
        importances = self._stacked("feature_importances_")
        is_learned = [not isinstance(predictor, ConstantBit) for predictor in self._predictors()]
        return np.asarray(importances[is_learned].mean(axis=0))

    def _predictors(self) -> list[Any]:
        """The fitted learners, one per bit."""
        bits: Any = self.model_.bits
        return list(getattr(bits, "bits", bits).predictors)

    def _stacked(self, name: str) -> FloatArray:
        """One row per bit; raises AttributeError if a learner has no such attribute."""
        if "model_" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__} has no {name} before it is fitted.")
        bits: Any = self.model_.bits
        if isinstance(bits, LinearBits):
            of_linear = {"coef_": bits.weights.T, "intercept_": bits.bias[:, None]}
            if name in of_linear:
                return np.asarray(of_linear[name], dtype=np.float64)
        if getattr(getattr(bits, "bits", bits), "symbols", None) is not None and name != "feature_importances_":
            raise AttributeError(f"Each column with more than two symbols has its own {name}; see estimators_.")
        if not hasattr(getattr(bits, "bits", bits), "predictors"):
            raise AttributeError(f"The bits of this {type(self).__name__} have no {name}.")
        predictors = self._predictors()
        rows = {bit: _row(one, name) for bit, one in enumerate(predictors) if not isinstance(one, ConstantBit)}
        if not rows:
            raise AttributeError(f"No bit was trained, so there is no {name}.")
        stacked = np.zeros((len(predictors), len(next(iter(rows.values())))))
        for bit, one in enumerate(predictors):
            if bit in rows:
                stacked[bit] = rows[bit]
            elif name == "intercept_":
                stacked[bit] = one.margins(1)
        return stacked


def _row(predictor: Any, name: str) -> FloatArray:
    if not hasattr(predictor, name):
        raise AttributeError(f"The estimator {type(predictor).__name__} has no {name}.")
    value = getattr(predictor, name)
    return np.ravel(value.toarray() if hasattr(value, "toarray") else np.asarray(value, dtype=np.float64))
