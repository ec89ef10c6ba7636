"""Learners of scikit-learn as JSON and arrays, which are data where another library's objects would be code.

A learner of the table below is stored as the name of its class, its parameters and the arrays that it predicts with.
Learners that differ in their numbers alone are of one kind; their arrays are stored together, one after the other. A
learner is restored by its constructor, and nothing but what is listed here is set.

Decision trees are arrays of nodes, one tree after the other. Compiled code of scikit-learn follows children and
features without checking them, and trusts the depth of a tree. So every node is checked here, and the depth computed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import import_module
from inspect import signature
from itertools import pairwise
from reprlib import repr as shortened
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.preprocessing import LabelBinarizer
from sklearn.tree._tree import NODE_DTYPE, Tree

from codekin._system.arrays import Arrays, as_narrow, check_counts, check_indices
from codekin.states.values import PLAIN, Json, checked, restored_params, typed

LEAF = -1
_FIELDS = "left_child right_child feature threshold impurity n_node_samples weighted_n_node_samples missing_go_to_left"
NODE_FIELDS = tuple(_FIELDS.split())
TREE_ARRAYS = (*NODE_FIELDS, "n_nodes", "value")

Shapes = Mapping[str, tuple[str, ...]]
"""Maps attributes to the shapes that they may have: f features, c classes, r rows of weights, one for
two classes; s the same, but no axis for two classes. Regressors have neither."""

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
    """The numbers of features and classes, if these are arrays of ``n_learners`` learners; nodes are checked later."""
    name, shapes, n_classes = kind["class"], STORED[kind["class"]][1], None
    n_features = checked(kind["n_features"], "n_features", n=1)
    if issubclass(_class_of(name), ClassifierMixin):
        n_classes = checked(kind["n_classes"], "n_classes", n=2)
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
        names = np.array(checked(kind["feature_names"], "feature_names", "texts", n_features), dtype=object)
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


def arrays_of_trees(learner: Any) -> Arrays:
    """The nodes of a tree, or of the trees of a forest, and how many each has."""
    is_forest = hasattr(learner, "estimators_")
    if not is_forest and not hasattr(learner, "tree_"):
        raise ValueError("this learner has no tree.")
    trees = [each.tree_ for each in learner.estimators_] if is_forest else [learner.tree_]
    if NODE_DTYPE.names != NODE_FIELDS or learner.n_outputs_ != 1:
        raise ValueError("these trees have something else than the fields that are checked here.")
    nodes = np.concatenate([tree.__getstate__()["nodes"] for tree in trees])
    own: Arrays = {name: nodes[name] for name in NODE_FIELDS}
    own["value"] = np.concatenate([tree.value[:, 0] for tree in trees])
    own["n_nodes"] = np.array([tree.node_count for tree in trees])
    return own | ({"n_trees": np.array([len(trees)])} if is_forest else {})


def planted(learners: list[Any], own: Arrays, n_features: int, n_classes: int | None) -> list[Any]:
    """Give learners their trees; returns the learners and the trees of forests."""
    trees = _trees(own, n_features, n_classes or 1)
    counts, owners = own.get("n_trees", np.ones(len(learners), dtype=np.int8)), learners
    check_counts(counts, len(trees), "the numbers of trees")
    if len(counts) != len(learners) or not counts.all():
        raise ValueError(f"each of {len(learners)} learners needs a tree.")
    if "n_trees" in own:
        for forest, n_trees in zip(learners, counts.tolist(), strict=True):
            params = {name: getattr(forest, name) for name in forest.estimator_params}
            forest.estimators_ = [type(forest.estimator)(**params) for _ in range(n_trees)]
        owners = [tree for forest in learners for tree in forest.estimators_]
    for owner, tree in zip(owners, trees, strict=True):
        owner.tree_ = tree
    for each in [*learners, *owners]:
        each.n_outputs_ = 1
        if n_classes is not None:
            each.n_classes_ = n_classes
    return [*learners, *owners]


def _trees(own: Arrays, n_features: int, n_values: int) -> list[Any]:
    """The trees of checked nodes, each of which gives ``n_values`` numbers."""
    n_nodes, value, nodes = own["n_nodes"], typed(own["value"], "value", "float64", 2), own["left_child"]
    check_counts(n_nodes, len(nodes), "the numbers of nodes")
    for name in NODE_FIELDS:
        kinds = "iu" if NODE_DTYPE[name].kind in "iu" else "f"
        if own[name].shape != nodes.shape or own[name].dtype.kind not in kinds:
            raise ValueError(f"the nodes of trees have '{name}' of shape {own[name].shape}, type {own[name].dtype}.")
    if value.shape != (len(nodes), n_values) or not n_nodes.all():
        raise ValueError(f"every tree needs nodes, and each node {n_values} values. Got values of shape {value.shape}.")
    ends = np.cumsum(n_nodes, dtype=np.int64)
    depth = _depths(own, ends, n_features)
    nodes = np.zeros(len(nodes), dtype=NODE_DTYPE)
    for name in NODE_FIELDS:
        nodes[name] = own[name]
    trees = []
    for start, end in pairwise([0, *ends.tolist()]):
        tree = Tree(n_features, np.array([n_values], dtype=np.intp), 1)
        state = {"max_depth": int(depth[start:end].max()), "node_count": end - start, "nodes": nodes[start:end]}
        tree.__setstate__({**state, "values": np.ascontiguousarray(value[start:end, np.newaxis])})
        trees.append(tree)
    return trees


def _depths(own: Arrays, ends: NDArray[np.int64], n_features: int) -> NDArray[np.int64]:
    """The depth of each node, if every node but the first of a tree is the child of one node before it."""
    n_nodes = np.diff(ends, prepend=0)
    parents = np.flatnonzero(own["left_child"] != LEAF)
    if not np.array_equal(parents, np.flatnonzero(own["right_child"] != LEAF)):
        raise ValueError("a node of a tree has one child.")
    check_indices(own["feature"][parents], n_features, "the features of nodes")
    if np.isnan(own["threshold"][parents]).any():
        raise ValueError("the thresholds of nodes must be numbers.")
    roots, tree = ends - n_nodes, np.repeat(np.arange(len(ends)), n_nodes)
    places = []
    for side in ("left_child", "right_child"):
        check_indices(own[side][parents], len(tree), "the children of nodes")
        places.append(own[side][parents].astype(np.int64) + roots[tree[parents]])
    children, above = np.concatenate(places), np.concatenate([parents, parents])
    others = np.delete(np.arange(len(tree)), roots)
    if (
        not np.array_equal(np.sort(children), others)
        or (children <= above).any()
        or (tree[children] != tree[above]).any()
    ):
        raise ValueError("every node of a tree but the first must be the child of one node before it.")
    # Twice as far up in each step, until all are at a root.
    ancestor = np.arange(len(tree))
    ancestor[children] = above
    depth: NDArray[np.int64] = (ancestor != np.arange(len(tree))).astype(np.int64)
    while depth[ancestor].any():
        depth, ancestor = depth + depth[ancestor], ancestor[ancestor]
    return depth
