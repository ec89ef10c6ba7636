"""Learners of scikit-learn as JSON and arrays, which are data where another library's objects would be code.

A learner of the table below is stored as the name of its class, its parameters and the arrays that it predicts with.
Learners that differ in their numbers alone are of one kind; their arrays are stored together, one after the other. A
learner is restored by its constructor, and nothing but what is listed here is set.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import import_module
from inspect import signature
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.preprocessing import LabelBinarizer

from codekin._system.arrays import Arrays, as_narrow
from codekin._system.index_arrays import check_indices
from codekin.storage.classifier_parts import PLAIN, restored_params
from codekin.storage.files import Json
from codekin.storage.learner_trees import TREE_ARRAYS, arrays_of_trees, planted
from codekin.storage.values import shortened, texts, whole_number

Shapes = Mapping[str, tuple[str, ...]]
"""Maps attributes to the shapes that they may have: f features, c classes, r rows of weights, of which two classes have
one; s the same, but no axis for two classes. Regressors have neither."""

_LINEAR: Shapes = {"coef_": ("rf", "sf"), "intercept_": ("r", "", "1")}
_STEPPED: Shapes = {**_LINEAR, "t_": ("",)}
_COUNTED: Shapes = {
    **{"class_count_": ("c",), "class_log_prior_": ("c",), "feature_count_": ("cf",), "feature_log_prob_": ("cf",)},
}
_GAUSSIAN: Shapes = {
    **{"class_count_": ("c",), "class_prior_": ("c",), "epsilon_": ("",), "theta_": ("cf",), "var_": ("cf",)},
}
_TREES: Shapes = dict.fromkeys(TREE_ARRAYS, ())
_FORESTS: Shapes = {**_TREES, "n_trees": ()}

STORED: dict[str, tuple[str, Shapes]] = {
    name: (f"sklearn.{module}", shapes)
    for module, shapes, names in (
        ("svm", _LINEAR, "LinearSVC LinearSVR"),
        ("linear_model", _LINEAR, "LogisticRegression LogisticRegressionCV RidgeClassifier RidgeClassifierCV"),
        ("linear_model", _LINEAR, "LinearRegression Ridge RidgeCV Lasso LassoCV ElasticNet ElasticNetCV"),
        ("linear_model", _STEPPED, "SGDClassifier SGDRegressor Perceptron PassiveAggressiveClassifier"),
        ("discriminant_analysis", _LINEAR, "LinearDiscriminantAnalysis"),
        ("naive_bayes", _GAUSSIAN, "GaussianNB"),
        ("naive_bayes", _COUNTED, "BernoulliNB MultinomialNB"),
        ("naive_bayes", {**_COUNTED, "feature_all_": ("f",)}, "ComplementNB"),
        ("tree", _TREES, "DecisionTreeClassifier DecisionTreeRegressor ExtraTreeClassifier ExtraTreeRegressor"),
        ("ensemble", _FORESTS, "RandomForestClassifier RandomForestRegressor ExtraTreesClassifier ExtraTreesRegressor"),
    )
    for name in names.split()
}
"""The names of the classes, with the modules that have them and the arrays that they predict with."""

NOT_STORED = {"n_jobs", "verbose"}
"""Parameters that say nothing about a model."""


def describe_learners(learners: list[Any], arrays: Arrays) -> list[Json] | None:
    """The kinds of learners; their arrays are added to the given ones. None if a learner cannot be stored like this."""
    kinds: dict[str, tuple[int, Json, list[Arrays]]] = {}
    numbers = []
    for learner in learners:
        try:
            kind, own = _described(learner)
            rows = {name: (array.dtype.str, array.shape[1:]) for name, array in own.items()}
            key = json.dumps([kind, rows], allow_nan=False)
        except ValueError:
            return None
        number, _, parts = kinds.setdefault(key, (len(kinds), kind, []))
        numbers.append(number)
        parts.append(own)
    arrays["learner_kinds"] = as_narrow(np.array(numbers))
    for number, _, parts in kinds.values():
        for name in parts[0]:
            array = np.concatenate([part[name] for part in parts])
            arrays[f"learner_{number}_{name}"] = as_narrow(array) if array.dtype.kind in "iu" else array
    return [kind for _, kind, _ in kinds.values()]


def restore_learners(kinds: Any, arrays: Arrays) -> list[Any]:
    """What :func:`describe_learners` described."""
    numbers = arrays["learner_kinds"]
    check_indices(numbers, len(kinds), "the kinds of learners")
    learners: dict[int, Any] = {}
    for number, kind in enumerate(kinds):
        places, prefix = np.flatnonzero(numbers == number).tolist(), f"learner_{number}_"
        own = {name.removeprefix(prefix): np.array(array) for name, array in arrays.items() if name.startswith(prefix)}
        begun = _begun(kind, own.pop("random_state", None), len(places))
        _set_fitted(kind, begun, own)
        learners.update(zip(places, begun, strict=True))
    return [learners[place] for place in range(len(numbers))]


def _described(learner: Any) -> tuple[Json, Arrays]:
    """The kind of a learner, and its arrays, to be continued along their first axes by those of others.

    Raises ValueError if it is not in the table, or has more to it than what is stored.
    """
    name = type(learner).__name__
    if name not in STORED or type(learner) is not _class_of(name) or getattr(learner, "average", False):
        raise ValueError(name)  # those that average their weights have several of them
    kind: Json = {"class": name, "params": _changed_params(learner)}
    seed = kind["params"].pop("random_state", None)
    seeds = {} if seed is None else {"random_state": np.array([seed])}
    if not hasattr(learner, "n_features_in_"):
        return kind, seeds
    kind["n_features"] = int(learner.n_features_in_)
    if isinstance(learner, ClassifierMixin):
        kind["n_classes"] = len(learner.classes_)
        if not np.array_equal(learner.classes_, np.arange(len(learner.classes_))):
            raise ValueError(learner.classes_)
    if hasattr(learner, "feature_names_in_"):
        kind["feature_names"] = learner.feature_names_in_.tolist()
    _, shapes = STORED[name]
    own = arrays_of_trees(learner) if "n_nodes" in shapes else _attributes(learner, shapes, kind)
    _checked_sizes(kind, own, 1)
    return kind, seeds | own


def _changed_params(learner: Any) -> Json:
    """The parameters that are not those of a new learner."""
    params = {}
    for name, parameter in signature(type(learner)).parameters.items():
        value, default = getattr(learner, name), parameter.default
        value = value.item() if isinstance(value, np.generic) else value
        if name in NOT_STORED or value is default or (type(value) is type(default) and value == default):
            continue
        if not isinstance(value, PLAIN):
            raise ValueError(name)
        params[name] = value
    return params


def _attributes(learner: Any, shapes: Shapes, kind: Json) -> Arrays:
    """The arrays of a learner, each in its own order: weights in another one may give other last digits."""
    given = {name: value for name in shapes if (value := vars(learner).get(name)) is not None}
    own = {name: np.asarray(value)[np.newaxis] for name, value in given.items()}
    by_column = [name for name, array in own.items() if array.ndim == 3 and not array[0].flags.c_contiguous]
    if by_column:
        kind["by_column"] = by_column
    return own | {name: own[name].swapaxes(1, 2) for name in by_column}


def _begun(kind: Json, seeds: Any, n_learners: int) -> list[Any]:
    """New learners of a kind, not yet fitted."""
    make = _class_of(kind["class"])
    params = {name: value for name, value in restored_params(kind).items() if name not in NOT_STORED}
    each: list[Json] = [{}] * n_learners
    if seeds is not None:
        check_indices(seeds, 2**32, "random states")
        each = [{"random_state": seed} for seed in seeds.tolist()]
    learners = [make(**params, **seed) for seed in each]
    for learner in learners[:1]:  # the others have the same parameters
        learner._validate_params()
    if len(learners) != n_learners:
        raise ValueError(f"{n_learners} learners need as many random states. Got {len(learners)}.")
    return learners


def _checked_sizes(kind: Json, own: Arrays, n_learners: int) -> tuple[int, int | None]:
    """The numbers of features and classes, if these are the arrays of so many learners; nodes are checked later."""
    name, shapes, n_classes = kind["class"], STORED[kind["class"]][1], None
    n_features = whole_number(kind["n_features"], "n_features", smallest=1)
    if issubclass(_class_of(name), ClassifierMixin):
        n_classes = whole_number(kind["n_classes"], "n_classes", smallest=2)
    if own.keys() != shapes.keys():
        raise ValueError(f"a {name} has the arrays {sorted(shapes)}. Got {shortened(sorted(own))}.")
    of_two = {"r": 1, "s": None} if n_classes == 2 else dict.fromkeys("rs", n_classes)
    sizes = {"f": n_features, "c": n_classes, "1": 1, **of_two}
    for attribute, array in own.items():
        allowed = {tuple(sizes[size] for size in shape if sizes[size]) for shape in shapes[attribute]}
        shape = array.shape[:0:-1] if attribute in kind.get("by_column", ()) else array.shape[1:]
        is_right = array.dtype.name in ("float32", "float64") and len(array) == n_learners and shape in allowed
        if allowed and not is_right:
            what = f"'{attribute}' of {n_learners} {name} with {n_features} features"
            raise ValueError(f"{what} cannot have the shape {array.shape} and the type {array.dtype}.")
    return n_features, n_classes


def _set_fitted(kind: Json, learners: list[Any], own: Arrays) -> None:
    """Set what fitting sets and predictions need."""
    if "n_features" not in kind and not own:
        return
    n_features, n_classes = _checked_sizes(kind, own, len(learners))
    if "feature_names" in kind:
        names = np.array(texts(kind["feature_names"], "feature_names", n_features), dtype=object)
        for learner in learners:
            learner.feature_names_in_ = names
    if "n_nodes" in own:
        learners = planted(learners, own, n_features, n_classes)
    for attribute, array in own.items() if "n_nodes" not in own else ():
        for learner, value in zip(learners, array, strict=True):
            setattr(learner, attribute, value.T if attribute in kind.get("by_column", ()) else value)
    for learner in learners:
        learner.n_features_in_ = n_features
        if n_classes is not None and type(learner).__name__.startswith("RidgeClassifier"):
            learner._label_binarizer = LabelBinarizer(neg_label=-1).fit(np.arange(n_classes))
        if n_classes is not None and not hasattr(type(learner), "classes_"):  # in some versions that of the binarizer
            learner.classes_ = np.arange(n_classes)


def _class_of(name: str) -> Any:
    return getattr(import_module(STORED[name][0]), name)
