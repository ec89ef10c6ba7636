"""Checks of learners from a file: the indices that compiled code of scikit-learn follows without checking.

In a forged file the child of a tree's node, or the feature that it reads, may be any number. Each check here is for a
class whose predictions run such code; all other classes of :mod:`codekin.storage.trusted_types` compute with NumPy,
which checks bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from codekin._system.index_arrays import check_compressed, check_indices

MAX_JOBS = 1024
MERSENNE_PLACES = 624
WORDS = r"(?u)\b\w\w+\b"
"""The default word pattern of vectorizers. Others can take forever on some texts."""

HOLDERS = {"steps", "transformer_list", "transformers", "transformers_", "estimator", "estimator_", "estimators"}
"""The attributes of learners that hold other estimators."""

NAMED = {"steps": 2, "transformer_list": 2, "transformers": 3, "transformers_": 3, "estimators": 2}
"""Those that are lists of tuples of so many items, the first of them a name."""


def check_learners(learners: Any, trusted: Sequence[str] = ()) -> None:
    """Raise if a learner or one of its parts would let compiled code read beyond an array; trusted ones pass."""
    for item in _parts(learners):
        name = f"{type(item).__module__}.{type(item).__qualname__}"
        if name in trusted:
            continue
        try:
            _check(item)
        except Exception as error:  # a forged learner may lack anything
            reason = " ".join(str(error).split()).rstrip(".")
            raise ValueError(f"a {type(item).__name__} is not what scikit-learn makes ({reason})") from error


def _check(item: Any) -> None:
    if sparse.issparse(item):
        _check_sparse(item)
        return
    attributes = getattr(item, "__dict__", {})
    if isinstance(attributes.get("memory"), str):
        _refuse("it would keep files")
    n_jobs = attributes.get("n_jobs")
    if n_jobs is not None and not (isinstance(n_jobs, int) and abs(n_jobs) <= MAX_JOBS):
        _refuse(f"n_jobs is {n_jobs!r}")
    for name in HOLDERS & attributes.keys():
        if any(isinstance(held, type) for held in _flat(attributes[name])):
            _refuse(f"{name} holds a class where an estimator belongs")
        if name in NAMED and not _are_named(attributes[name], NAMED[name]):
            _refuse(f"{name} is no list of names and estimators")
    check = CHECKS.get(type(item).__name__)
    if check is not None and not _is_unfitted(item):
        check(item)


def _are_named(items: Any, length: int) -> bool:
    is_list = isinstance(items, list | tuple)
    return is_list and all(
        isinstance(item, list | tuple) and len(item) == length and isinstance(item[0], str) for item in items
    )


def _flat(value: Any) -> Iterator[Any]:
    """The items of nested lists and tuples."""
    if isinstance(value, list | tuple):
        for item in value:
            yield from _flat(item)
    else:
        yield value


def _is_unfitted(item: Any) -> bool:
    """Whether scikit-learn itself refuses to predict with an estimator."""
    return hasattr(item, "get_params") and not any(key.endswith("_") for key in vars(item) if key[:2] != "__")


def _parts(learners: Any) -> Iterator[Any]:
    """All parts of learners, each once."""
    to_do, seen = [learners], set[int]()
    while to_do:
        item = to_do.pop()
        if id(item) in seen or isinstance(item, str | bytes | int | float | type(None)):
            continue
        seen.add(id(item))
        if isinstance(item, dict):
            to_do.extend(item.values())
        elif isinstance(item, list | tuple | set):
            to_do.extend(item)
        elif isinstance(item, np.ndarray):
            to_do.extend(item.ravel().tolist() if item.dtype == object else ())
        else:
            yield item
            to_do.extend(getattr(item, "__dict__", {}).values())


def _check_sparse(matrix: Any) -> None:
    if matrix.format not in ("csr", "csc"):
        _refuse(f"its format is {matrix.format}")
    n_major, n_minor = matrix.shape if matrix.format == "csr" else matrix.shape[::-1]
    check_compressed(matrix.indptr, matrix.indices, len(matrix.data), n_major, n_minor)


def _check_tree_owner(owner: Any) -> None:
    tree = owner.tree_
    n_nodes, n_features = int(tree.node_count), _n_features(owner)
    # Before the tree is used: this number determines the length of its arrays.
    if not 0 < n_nodes <= int(tree.capacity):
        _refuse(f"it has {n_nodes} nodes in the place of {int(tree.capacity)}")
    if int(tree.n_features) != n_features:
        _refuse(f"its tree is for {int(tree.n_features)} features, not for {n_features}")
    is_leaf = np.asarray(tree.children_left) == -1
    _check_nodes(is_leaf, tree.children_left, tree.children_right, tree.feature, n_features)


def _check_nodes(
    is_leaf: NDArray[np.bool_], left: NDArray[Any], right: NDArray[Any], features: NDArray[Any], n_features: int
) -> None:
    """Every child must come after its parent, so that every path ends, and every feature must exist."""
    parents = np.flatnonzero(~is_leaf)
    for children in (np.asarray(left)[parents], np.asarray(right)[parents]):
        if not ((children > parents) & (children < len(is_leaf))).all():
            _refuse("a child of a node does not come after it")
    check_indices(np.asarray(features)[parents], n_features, "the feature of a node")


def _check_forest(forest: Any) -> None:
    """Forests check the samples once, for their first tree."""
    for tree in np.ravel(np.asarray(forest.estimators_, dtype=object)):
        if _n_features(tree) != _n_features(forest):
            _refuse(f"a tree is for {_n_features(tree)} features, not for {_n_features(forest)}")


def _check_gradient_boosting(boosting: Any) -> None:
    _check_forest(boosting)
    shape, n_classes = np.shape(boosting.estimators_), len(boosting.classes_)
    n_columns = 1 if n_classes == 2 else n_classes
    if len(shape) != 2 or shape[1] != n_columns or boosting.n_trees_per_iteration_ != n_columns:
        _refuse(f"its trees have the shape {shape}")
    if n_columns > 1 and boosting.init_ != "zero":
        # Trees add to what it predicts, in place.
        first = boosting.init_
        if type(first).__name__ != "DummyClassifier" or first._strategy != "prior" or not boosting._loss.is_multiclass:
            _refuse("it starts from something else than frequencies")
        if first.predict_proba(np.zeros((1, _n_features(boosting)))).shape != (1, n_columns):
            _refuse(f"it does not start from {n_columns} frequencies")
    if any(type(tree).__name__ != "DecisionTreeRegressor" for tree in boosting.estimators_.ravel()):
        _refuse("it is made of other things than trees")
    if any(tree.tree_.value.shape[1:] != (1, 1) for tree in boosting.estimators_.ravel()):
        _refuse("a tree gives more than a number")


def _check_hist_gradient_boosting(boosting: Any) -> None:
    n_features = _n_features(boosting)
    if getattr(boosting, "_in_fit", False) or getattr(boosting, "_preprocessor", None) is not None:
        _refuse("it has categories, or was not fitted to its end")
    if len(boosting._bin_mapper.is_categorical_) != n_features or np.any(boosting._bin_mapper.is_categorical_):
        _refuse("it has categories")
    for predictor in (each for of_iteration in boosting._predictors for each in of_iteration):
        nodes = predictor.nodes
        if nodes.ndim != 1 or not len(nodes) or nodes["is_categorical"].any():
            _refuse("a tree has no nodes, or nodes for categories")
        left, right = nodes["left"].astype(np.int64), nodes["right"].astype(np.int64)
        _check_nodes(nodes["is_leaf"].astype(bool), left, right, nodes["feature_idx"], n_features)


def _check_svc(svc: Any) -> None:
    vectors, counts, own = svc.support_vectors_, np.asarray(svc._n_support), svc._dual_coef_
    n_vectors, n_classes = len(svc.support_), len(svc.classes_)
    n_pairs = n_classes * (n_classes - 1) // 2
    if not isinstance(svc.kernel, str):
        _refuse(f"its kernel is {svc.kernel!r}")
    # A precomputed kernel has a column for each training sample, and no vectors.
    shape, n_fitted = (n_vectors, _n_features(svc)), svc.shape_fit_[1]
    if svc.kernel == "precomputed":
        shape, n_fitted = (0, 0), svc.shape_fit_[0]
    if vectors.shape != shape or n_fitted != _n_features(svc):
        _refuse(f"its vectors have the shape {vectors.shape}")
    if n_classes < 2 or counts.shape != (n_classes,) or counts.min() < 0 or sum(counts.tolist()) != n_vectors:
        _refuse(f"there are {counts.tolist()} vectors of its {n_classes} classes, not {n_vectors} in all")
    is_sparse = bool(svc._sparse)
    if sparse.issparse(vectors) != is_sparse or sparse.issparse(own) != is_sparse:
        _refuse("its vectors are sparse in part")
    n_own = len(own.data) if is_sparse else own.size
    if own.shape != (n_classes - 1, n_vectors) or n_own != (n_classes - 1) * n_vectors:
        _refuse("its coefficients do not fit its vectors")
    if np.shape(svc._intercept_) != (n_pairs,):
        _refuse("its intercepts do not fit its classes")
    if np.size(svc._probA) not in (0, n_pairs) or np.size(svc._probA) != np.size(svc._probB):
        _refuse("its probabilities do not fit its classes")
    check_indices(np.asarray(svc.support_), int(svc.shape_fit_[0]), "a vector")


def _check_neighbors(neighbors: Any) -> None:
    samples, labels = neighbors._fit_X, np.asarray(neighbors._y)
    if samples.ndim != 2 or samples.shape[1] != _n_features(neighbors) or labels.shape != (samples.shape[0],):
        _refuse(f"its samples have the shape {samples.shape}, its labels {labels.shape}")
    if neighbors.n_samples_fit_ != len(labels) or set(neighbors.metric_params or {}) - {"p"}:
        _refuse("it has other samples, or a distance with parameters")
    check_indices(labels, len(neighbors.classes_), "a label")


def _check_words(vectorizer: Any) -> None:
    if vectorizer.token_pattern not in (WORDS, None):
        _refuse(f"its words are {vectorizer.token_pattern!r}")
    columns = sorted(vectorizer.vocabulary_.values())
    if columns != list(range(len(columns))):
        _refuse("its words have no columns")


def _check_one_hot(encoder: Any) -> None:
    dropped = encoder._drop_idx_after_grouping
    if encoder._infrequent_enabled:
        _refuse("it puts rare categories together")
    for place, categories in enumerate(encoder.categories_):
        numbers = categories[: len(categories) - 1] if categories.dtype.kind == "f" else categories
        if categories.ndim != 1 or (categories.dtype.kind in "biuf" and (numbers[1:] <= numbers[:-1]).any()):
            _refuse("its categories are not sorted")
        if dropped is not None and dropped[place] is not None and not 0 <= dropped[place] < len(categories):
            _refuse("it leaves a category out that is not there")
    if list(encoder._n_features_outs) != list(encoder._compute_n_features_outs()):
        _refuse("its categories have other columns")


def _check_random_state(state: Any) -> None:
    if not 0 <= state.get_state(legacy=False)["state"]["pos"] <= MERSENNE_PLACES:
        _refuse("it reads beyond its numbers")


def _check_generator(generator: Any) -> None:
    if type(generator.bit_generator).__name__ != "PCG64":
        _refuse(f"it is made of {type(generator.bit_generator).__name__}")


def _n_features(estimator: Any) -> int:
    """The number of features that the estimator checks; without this number it checks nothing."""
    n_features = estimator.n_features_in_
    if not isinstance(n_features, int | np.integer) or isinstance(n_features, bool):
        _refuse(f"n_features_in_ is {n_features!r}")
    return int(n_features)


def _refuse(reason: str) -> None:
    raise ValueError(reason)


CHECKS: dict[str, Callable[[Any], None]] = {
    "DecisionTreeClassifier": _check_tree_owner,
    "DecisionTreeRegressor": _check_tree_owner,
    "ExtraTreeClassifier": _check_tree_owner,
    "ExtraTreeRegressor": _check_tree_owner,
    "RandomForestClassifier": _check_forest,
    "ExtraTreesClassifier": _check_forest,
    "RandomForestRegressor": _check_forest,
    "ExtraTreesRegressor": _check_forest,
    "GradientBoostingClassifier": _check_gradient_boosting,
    "HistGradientBoostingClassifier": _check_hist_gradient_boosting,
    "SVC": _check_svc,
    "NuSVC": _check_svc,
    "KNeighborsClassifier": _check_neighbors,
    "CountVectorizer": _check_words,
    "TfidfVectorizer": _check_words,
    "OneHotEncoder": _check_one_hot,
    "RandomState": _check_random_state,
    "Generator": _check_generator,
}
"""The name of a class -> its check."""
