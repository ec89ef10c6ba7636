"""Several codes and their re-ranking as JSON and arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from codekin._system.arrays import Arrays
from codekin._system.index_arrays import check_counts, check_indices
from codekin.model import Member, Model
from codekin.model.class_vectors import ClassVectors, features_of_gaps
from codekin.model.reranking import Reranking
from codekin.storage.files import Json
from codekin.storage.parts import describe_member, restore_member
from codekin.storage.values import positive_number, typed, whole_number


def describe_ranking(model: Model, arrays: Arrays, learners: list[Any]) -> Json:
    """The parts of a ranked model besides its first code; arrays of other codes are prefixed with their number."""
    assert model.ranking is not None
    members: list[Json] = []
    for number, member in enumerate(model.members[1:], start=1):
        own: Arrays = {}
        members.append(describe_member(member, own, learners))
        arrays.update({f"member_{number}_{name}": array for name, array in own.items()})
    reranking = model.ranking
    description: Json = {
        "members": members,
        "n_candidates": reranking.n_candidates,
        "weight": reranking.weight,
        "temperature": reranking.temperature,
    }
    if np.isfinite(reranking.reach):
        description["reach"] = reranking.reach
    if reranking.n_indexed:
        description["index"] = {"n_candidates": reranking.n_indexed, "n_entries": reranking.n_entries}
    vectors = reranking.vectors
    if vectors is not None:
        arrays.update({f"vector_{name}": array for name, array in vectors.to_arrays().items()})
        description["vectors"] = {"n_features": vectors.n_features}
    return description


def restore_ranking(first: Member, description: Json, arrays: Arrays, learners: list[Any]) -> Model:
    """A ranked model from its first member and the description of the others."""
    members = [first]
    for number, member in enumerate(description["members"], start=1):
        prefix = f"member_{number}_"
        own = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
        members.append(restore_member(member, own, learners))
    vectors = _restore_vectors(description["vectors"], arrays) if "vectors" in description else None
    index = description.get("index", {"n_candidates": 0, "n_entries": 0})
    reranking = Reranking(
        whole_number(description["n_candidates"], "n_candidates", smallest=1),
        vectors,
        float(description["weight"]),
        positive_number(description["temperature"], "temperature"),
        positive_number(description["reach"], "reach") if "reach" in description else np.inf,
        *(whole_number(index[name], name) for name in ("n_candidates", "n_entries")),
    )
    return Model(tuple(members), reranking)


def _restore_vectors(description: Json, arrays: Arrays) -> ClassVectors:
    lengths, steps, scales = (arrays[f"vector_{name}"] for name in ("lengths", "steps", "scales"))
    n_features = whole_number(description["n_features"], "n_features")
    check_counts(lengths, len(steps), "the lengths of class vectors")
    if typed(scales, "vector_scales", "float32").shape != lengths.shape:
        raise ValueError(f"{len(lengths)} class vectors need as many scales. Got {len(scales)}.")
    has_gaps = "vector_gaps" in arrays
    features = typed(arrays["vector_gaps"], "vector_gaps", "uint16") if has_gaps else arrays["vector_features"]
    if typed(steps, "vector_steps", "int8").shape != features.shape:
        raise ValueError(f"class vectors of {len(features)} features need as many steps. Got {len(steps)}.")
    indptr = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    if has_gaps:
        features = features_of_gaps(lengths.astype(np.int64), features)
    check_indices(features, n_features, "the features of class vectors")
    if has_gaps:
        is_entry = steps != 0  # not the bridge over a wide gap
        indptr = np.concatenate([[0], np.cumsum(is_entry)])[indptr]
        features, steps = features[is_entry], steps[is_entry]
    # Copies: the kernels would be compiled a second time for read-only arrays.
    return ClassVectors(indptr, np.array(features), np.array(steps), np.array(scales), n_features)
