"""What users pass to estimators: samples, labels and weights, to learn from or held out, and taxonomies.

The learner decides what X may be. The shape of numeric arrays is checked. Everything else, such as data frames, text
and arrays of objects, is passed on unchanged; if the learner does not accept it, it raises its own error.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sized
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from codekin._system.arrays import MAX_SINGLE, check_single_precision, check_weights, largest_magnitude
from codekin._system.messages import suggestion
from codekin._system.rows import StoredRows
from codekin.classes import ClassTree
from codekin.code import FloatArray, IntArray
from codekin.samples import EncodedLabels, EncodedLabelSets, Samples

FLOATS = [np.float32, np.float64, np.float16]
"""The types of numbers that are not converted to the first of them."""
SIDES = {0, 1}
"""The labels of the two sides of a bit, as learners see them."""


def label_array(y: Any) -> Any:
    """Labels as a plain array of numbers, booleans or text, as scikit-learn expects; unchanged if they are one already.

    Nullable and Arrow series, arrays of variable-length text and objects that are all of one type are converted. Raises
    ValueError if there are several labels per sample, or text next to something else.
    """
    labels = y.to_numpy() if hasattr(y, "to_numpy") else y
    is_array = isinstance(labels, np.ndarray)
    if is_array and labels.dtype.kind == "T":
        return np.array(labels.tolist())
    listed = labels.ravel().tolist() if is_array and labels.dtype.kind == "O" else labels
    listed = listed if isinstance(listed, list | tuple) else []
    if (getattr(labels, "ndim", 1) == 2 and labels.shape[1] > 1) or any(
        isinstance(label, list | tuple | set | np.ndarray) and len(label) != 1 for label in listed
    ):
        raise ValueError(
            "y must have one label per sample. Got several; scikit-learn's MultiOutputClassifier fits a classifier for "
            "each column of a table of labels."
        )
    kinds, examples = {type(label) for label in listed}, {isinstance(label, str): label for label in listed}
    if len(examples) == 2:
        raise ValueError(f"Labels must be all text or all numbers. Got {examples[True]!r} and {examples[False]!r}.")
    if is_array and len(kinds) == 1 and kinds <= {bool, int, float, np.bool_, np.int64, np.float64}:
        return labels.astype(kinds.pop())
    return labels


def validated(owner: Any, X: Any, y: Any = "no_validation", *, learner: Any, reset: bool) -> tuple[Any, Any]:
    """X as it is passed to the learner, and y.

    With ``reset`` the owner stores the number and names of features, otherwise they are compared. ``learner`` is None
    if bits are learned together; X must then be numeric.
    """
    from sklearn.utils import check_consistent_length, column_or_1d
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import validate_data

    has_labels = not (isinstance(y, str) and y == "no_validation")
    y = label_array(y) if has_labels else y
    numbers = X if learner is None else _as_array_of_numbers(X)
    if numbers is None:
        validate_data(owner, X, y, reset=reset, skip_check_array=True)
        if not has_labels:
            return X, None
        check_consistent_length(X, y)
        checked, labels = X, column_or_1d(y, warn=True)
    elif not has_labels:
        return validate_data(owner, numbers, reset=reset, **_array_rules(learner)), None
    else:
        checked, labels = validate_data(owner, numbers, y, reset=reset, **_array_rules(learner))
    check_classification_targets(labels)
    return checked, labels


def _as_array_of_numbers(X: Any) -> Any:
    """X as an array or a sparse matrix; None unless it is numeric."""
    if sparse.issparse(X):
        return X
    if hasattr(X, "columns") or hasattr(X, "to_numpy"):
        return None
    try:
        array = np.asarray(X)
    except ValueError:  # lists of unequal lengths
        return None
    return array if array.dtype.kind in "biufc" else None


def _array_rules(learner: Any) -> dict[str, Any]:
    if learner is None:
        return {"accept_sparse": "csr"}
    from sklearn.linear_model import SGDRegressor
    from sklearn.linear_model._base import LinearClassifierMixin, LinearModel
    from sklearn.utils import get_tags

    if isinstance(learner, (LinearClassifierMixin, LinearModel, SGDRegressor)):
        # Margins of linear learners are computed without calling them, so their rules are applied here.
        return {"accept_sparse": ["csr", "csc"] if get_tags(learner).input_tags.sparse else False}
    return {"accept_sparse": ["csr", "csc"], "ensure_all_finite": False, "allow_nd": True}


def with_learner_tags(tags: Any, learner: Any) -> Any:
    """The tags, changed in place, of an estimator that accepts what its learner accepts.

    ``learner`` is None if bits are learned together, from dense or sparse numbers.
    """
    if learner is None:
        tags.input_tags.sparse = True
        return tags
    from sklearn.utils import get_tags

    of_learner = get_tags(learner)
    # A pipeline knows whether all of its steps accept sparse input, but nothing else about the first one.
    tags.input_tags = get_tags(first_step(learner)).input_tags
    tags.input_tags.sparse = of_learner.input_tags.sparse
    if of_learner.classifier_tags is not None:
        tags.classifier_tags.poor_score = of_learner.classifier_tags.poor_score
    return tags


def first_step(learner: Any) -> Any:
    """The estimator that gets X first: the first step of a pipeline, also inside a search."""
    if hasattr(learner, "steps"):
        return next((first_step(step) for _, step in learner.steps if step not in (None, "passthrough")), learner)
    is_search = hasattr(learner, "estimator") and hasattr(learner, "cv")
    return first_step(learner.estimator) if is_search else learner


def innermost(classifier: Any) -> Any:
    """The classifier that learns from the features: that of the bits, if it is wrapped."""
    wrapped = getattr(classifier, "estimator", None)
    return innermost(wrapped) if hasattr(wrapped, "fit") else classifier


def training_samples(owner: Any, X: Any, y: Any, sample_weight: ArrayLike | None) -> Samples:
    """Samples in memory or on disk, of labels that have some weight; sets the owner's labels and number of features."""
    sets = EncodedLabelSets.of(y)
    y = y if sets is None else EncodedLabels(sets.classes, np.zeros(len(sets), dtype=np.intp))
    if isinstance(X, StoredRows):
        owner.n_features_in_ = X.shape[1]
        if X.shape[0] != len(y):
            raise ValueError(f"There are {X.shape[0]} samples on disk. Got {len(y)} labels.")
    else:
        given = y.class_index if isinstance(y, EncodedLabels) else label_array(y)
        X, given = validated_numbers(owner, X, given, reset=True)
        y = y if isinstance(y, EncodedLabels) else given
    check_single_precision(X, is_to_learn_from=True)
    if sets is not None:
        if not sets.indicator.nnz:
            raise ValueError(f"No label can be learned. None of the {len(sets)} samples has any.")
        owner._take_sets(sets)
        return Samples.of_sets(X, sets.indicator, checked_weights(sample_weight, X))
    if isinstance(y, EncodedLabels):
        owner.classes_, class_index = y.classes, y.class_index
    else:
        from sklearn.utils.multiclass import check_classification_targets

        check_classification_targets(y)
        owner.classes_, class_index = np.unique(y, return_inverse=True)
    samples = Samples(X, class_index, checked_weights(sample_weight, X))
    owner.classes_, class_index = _with_weight(owner.classes_, class_index, samples.weights)
    if class_index is samples.class_index:
        return samples
    return Samples(X, class_index, samples.weights).at(np.flatnonzero(class_index >= 0))


def validated_numbers(owner: Any, X: Any, y: Any = "no_validation", *, reset: bool) -> tuple[Any, Any]:
    """Numbers as a model takes them, and y, as :func:`validated` by scikit-learn.

    Without it where it would change nothing: what was read from a file, or made of texts, need not be checked again.
    """
    is_index = isinstance(y, np.ndarray) and y.dtype.kind in "iu" and y.ndim == 1
    if _is_matrix(X) and not hasattr(owner, "feature_names_in_"):
        if reset and is_index and len(y) == X.shape[0]:
            owner.n_features_in_ = X.shape[1]
            return X, y
        if not reset and X.shape[1] == owner.n_features_in_:
            return X, None
    from sklearn.utils.validation import validate_data

    found = validate_data(owner, X, y, accept_sparse="csr", dtype=FLOATS, reset=reset)
    return (found, None) if isinstance(y, str) else found


def _is_matrix(X: Any) -> bool:
    """Whether samples are a matrix of finite numbers that needs no conversion."""
    is_matrix = type(X) is np.ndarray or isinstance(X, sparse.csr_matrix | sparse.csr_array)
    return is_matrix and X.ndim == 2 and X.dtype in FLOATS and min(X.shape) > 0 and np.isfinite(largest_magnitude(X))


def as_class_tree(taxonomy: Any, labels: NDArray[Any]) -> ClassTree:
    """The class tree whose class ``k`` is ``labels[k]``, from any form of taxonomy.

    Names of leaves are compared with the labels as text, so that 7 and "7" are the same. If they do not match, the
    labels 0, 1, ... are the class indices of a ClassTree.
    """
    names = [str(label) for label in labels.tolist()]
    if isinstance(taxonomy, ClassTree):
        return _tree_of_labels(taxonomy, names)
    if isinstance(taxonomy, Mapping):
        return _tree_of_labels(ClassTree.from_nested(taxonomy), names)
    edges = list(taxonomy.edges) if hasattr(taxonomy, "edges") else taxonomy
    rule = "The 'taxonomy' parameter must be a ClassTree, (parent, child) pairs, a nested dict or a networkx graph."
    if isinstance(edges, str) or not isinstance(edges, Iterable):
        raise ValueError(f"{rule} Got {edges!r} instead.")
    edges = list(edges)
    for edge in edges:
        if isinstance(edge, str) or not isinstance(edge, Sized) or len(edge) != 2:
            raise ValueError(f"{rule} Got {edge!r} instead of a pair.")
    return ClassTree.from_edges([(str(parent), str(child)) for parent, child in edges], classes=names)


def _tree_of_labels(tree: ClassTree, names: list[str]) -> ClassTree:
    leaves = None if tree.class_labels is None else [str(label) for label in tree.class_labels]
    place = {leaf: k for k, leaf in enumerate(leaves or [])}
    missing = [name for name in names if name not in place]
    if not missing:
        return tree if leaves == names else tree.restricted_to(np.array([place[name] for name in names], dtype=np.intp))
    if names == [str(k) for k in range(tree.n_classes)]:
        return tree
    raise ValueError(
        f"The taxonomy of {tree.n_classes} class{'es' * (tree.n_classes > 1)} has no leaf for {len(missing)} of the "
        f"{len(names)} labels, {missing[0]!r} among them."
    )


def checked_weights(sample_weight: ArrayLike | None, X: Any) -> FloatArray | None:
    """The weights as an array, one per sample; None stays None."""
    if sample_weight is None:
        return None
    from sklearn.utils.validation import _check_sample_weight

    weights = np.asarray(_check_sample_weight(sample_weight, X))
    check_weights(weights)
    return weights


def _with_weight(
    labels: NDArray[Any], class_index: IntArray, weights: FloatArray | None
) -> tuple[NDArray[Any], IntArray]:
    """The labels except those with samples but no weight, and the places among them; samples of others get -1."""
    if weights is None:
        return labels, class_index
    sizes, of_class = (np.bincount(class_index, each, minlength=len(labels)) for each in (None, weights))
    is_kept = (of_class > 0) | (sizes == 0)
    places = np.where(is_kept, np.cumsum(is_kept) - 1, -1)
    return (labels, class_index) if is_kept.all() else (labels[is_kept], places[class_index])


def weights_by_class(choice: Any, labels: NDArray[Any], class_index: IntArray) -> FloatArray:
    """The weight of each sample according to its class.

    "balanced" gives all classes the same total weight, as in scikit-learn: each weight is the number of samples divided
    by the number of classes and by the samples of its class. Labels that are missing in a mapping have the weight 1.

    Examples
    --------
    >>> weights_by_class("balanced", np.array(["cat", "dog"]), np.array([0, 0, 0, 1]))
    array([0.66666667, 0.66666667, 0.66666667, 2.        ])
    >>> weights_by_class({"dog": 5}, np.array(["cat", "dog"]), np.array([0, 1]))
    array([1., 5.])
    """
    if isinstance(choice, str):
        counts = np.bincount(class_index, minlength=len(labels))
        return np.asarray(len(class_index) / (len(labels) * counts[class_index]), dtype=np.float64)
    place = {label: k for k, label in enumerate(labels.tolist())}
    of_class = np.ones(len(labels))
    for label, weight in choice.items():
        if label not in place:
            raise ValueError(
                f"The 'class_weight' parameter has a weight for {label!r}, which is not among the labels."
                f"{suggestion(label, [name for name in place if isinstance(name, str)])}"
            )
        if not isinstance(weight, Real) or not 0 <= float(weight) <= MAX_SINGLE:
            raise ValueError(
                f"The 'class_weight' parameter must give weights from 0 to {MAX_SINGLE:g}. "
                f"Got {weight!r} for the label {label!r}."
            )
        of_class[place[label]] = weight
    return of_class[class_index]


def labels_and_weights(
    owner: Any, X: Any, y: Any, sample_weight: Any, *, params: Mapping[str, Any], learner: Any
) -> tuple[IntArray, FloatArray | None, dict[str, Any]]:
    """The class of each sample, -1 if its label has no weight, then as :func:`with_class_weight`; sets the labels."""
    owner.classes_, class_index = np.unique(y, return_inverse=True)
    weights, params = with_class_weight(owner, X, class_index, sample_weight, params=params, learner=learner)
    owner.classes_, class_index = _with_weight(owner.classes_, class_index, weights)
    return class_index, weights, params


def with_class_weight(
    owner: Any, X: Any, class_index: IntArray, sample_weight: Any, *, params: Mapping[str, Any], learner: Any
) -> tuple[FloatArray | None, dict[str, Any]]:
    """Checked sample weights and the arguments of the learner's ``fit``, both times the owner's ``class_weight``.

    ``learner`` is None if bits are learned together. It must have no weights by label.
    """
    of_learner: Mapping[str, Any] = learner.get_params(deep=True) if hasattr(learner, "get_params") else {}
    for name, value in of_learner.items():
        if name.split("__")[-1] == "class_weight" and isinstance(value, Mapping) and not set(value) <= SIDES:
            raise ValueError(
                f"The learner's {name}={value!r} has labels, but a bit has two sides, 0 and 1. "
                "Use ECOCClassifier(class_weight=...) instead."
            )
    weights = checked_weights(params.get("sample_weight", sample_weight), X)
    if owner.class_weight is None:
        return weights, dict(params)
    name = "sample_weight" if learner is None else _weight_parameter(learner)
    by_class = weights_by_class(owner.class_weight, owner.classes_, class_index)
    both = {**params, name: np.asarray(params.get(name, 1.0)) * by_class}
    return by_class if weights is None else weights * by_class, both


def _weight_parameter(learner: Any) -> str:
    """The name of the sample weights in a learner's ``fit``; for a pipeline, in that of its last step."""
    from sklearn.utils.metadata_routing import _routing_enabled
    from sklearn.utils.validation import has_fit_parameter

    if has_fit_parameter(learner, "sample_weight"):
        return "sample_weight"
    if hasattr(learner, "steps") and has_fit_parameter(learner.steps[-1][1], "sample_weight"):
        return "sample_weight" if _routing_enabled() else f"{learner.steps[-1][0]}__sample_weight"
    raise ValueError(
        f"The 'class_weight' parameter needs a learner that takes sample weights. {type(learner).__name__} takes none."
    )


def check_weights_by_label(classifier: Any) -> None:
    """Raise if a classifier, or the last step of a pipeline, has weights by label: it will learn numbers of parts."""
    last = classifier.steps[-1][1] if hasattr(classifier, "steps") else classifier
    weights = getattr(last, "class_weight", None)
    if isinstance(weights, Mapping):
        raise ValueError(
            f"The estimator's class_weight={dict(weights)!r} has labels, but the estimator learns parts of classes, "
            "which are numbered. Use sample_weight instead."
        )
