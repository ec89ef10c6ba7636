"""What a trellis classifier takes on disk, reckoned before it is saved: never less than the folder, and little more."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from codekin._system.arrays import as_narrow
from codekin.classes import ClassDistances
from codekin.learners.compact import CompactLinearBits
from codekin.learners.linear import SparseLinearBits

BYTES_PER_BIT = 24
"""Of the description: the loss of a bit in the report."""
BYTES_PER_TRIAL = 256
BYTES_PER_MEMBER = 1_024
BYTES_BESIDES = 3_072
"""Of the description and the header of the arrays, besides what follows from the shape of the model."""


def reckoned_bytes(classifier: Any, n_trials: int = 0) -> int:
    """What a fitted classifier takes on disk: not less than ``codekin.storage.stored_bytes`` of it.

    Parameters
    ----------
    classifier : TrellisClassifier
    n_trials : int, default=0
        How many trials its report will tell of.

    Returns
    -------
    int
    """
    members, ranking = classifier.model_.members, classifier.model_.ranking
    arrays = sum(bytes_of_bits(member.bits) for member in members)
    if ranking is not None and ranking.vectors is not None:
        arrays += sum(array.nbytes for array in ranking.vectors.to_arrays().values())
    arrays += bytes_of_tree(classifier.class_distances_)
    besides = bytes_besides_weights(classifier.model_.n_bits, len(members), len(classifier.classes_))
    return arrays + besides + fixed_bytes(classifier) + BYTES_PER_TRIAL * n_trials


def bytes_besides_weights(n_bits: int, n_members: int, n_classes: int) -> int:
    """What codes take besides their weights and what :func:`fixed_bytes` counts for one of them.

    Parameters
    ----------
    n_bits : int
        Of all members.
    n_members, n_classes : int

    Returns
    -------
    int
    """
    return BYTES_PER_BIT * n_bits + (n_members - 1) * (BYTES_PER_MEMBER + _bytes_of_order(n_classes))


def fixed_bytes(classifier: Any) -> int:
    """What it takes whatever its bits are: labels, the assignment and the rest of the description.

    Parameters
    ----------
    classifier : TrellisClassifier
        Whose labels are known.

    Returns
    -------
    int
    """
    labels: NDArray[Any] = classifier.classes_
    of_labels = labels.nbytes if labels.dtype.kind in "biuf" else _json_bytes(labels.tolist())
    names = _json_bytes(getattr(classifier, "feature_names_in_", np.zeros(0)).tolist())
    class_weight = getattr(getattr(classifier, "learner_", classifier.learner), "class_weight", None)
    weights = 0 if class_weight is None or isinstance(class_weight, str) else BYTES_PER_BIT * len(labels)
    return of_labels + _bytes_of_order(len(labels), classifier.n_spare) + names + weights + BYTES_BESIDES


def _bytes_of_order(n_classes: int, n_spare: int = 0) -> int:
    return n_classes * as_narrow(np.array([n_classes + n_spare])).itemsize


def _json_bytes(value: Any) -> int:
    return len(json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode(errors="backslashreplace"))


def bytes_of_tree(class_distances: ClassDistances | None) -> int:
    """What the class tree takes on disk, if there is one.

    Parameters
    ----------
    class_distances : ClassDistances or None

    Returns
    -------
    int
    """
    if class_distances is None or class_distances.tree is None:
        return 0
    tree = class_distances.tree
    lengths = tree.edge_length.nbytes if (tree.edge_length[tree.parent != -1] != 1).any() else 0
    return as_narrow(tree.parent).nbytes + as_narrow(tree.node_of_class).nbytes + lengths


def bytes_of_bits(bits: Any) -> int:
    """What the weights of a code take on disk: some of their arrays need not be stored.

    Parameters
    ----------
    bits : FittedBits

    Returns
    -------
    int
    """
    if isinstance(bits, CompactLinearBits):
        return bits.nbytes - bits.row_of_feature.nbytes + -(-bits.n_features // 8)
    if isinstance(bits, SparseLinearBits):
        places = bits.weights.indices, bits.weights.indptr
        return bits.weights.data.nbytes + bits.bias.nbytes + sum(as_narrow(array).nbytes for array in places)
    return int(getattr(bits, "nbytes", 0))
