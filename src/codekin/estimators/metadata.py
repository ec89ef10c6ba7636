"""Which arguments of ``fit`` are passed to the learners of the bits, as in one-vs-rest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import ArrayLike
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, _routing_enabled, process_routing
from sklearn.utils.validation import has_fit_parameter


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
    """What the learner's ``fit`` or ``partial_fit`` gets besides samples; no learner if bits are learned together."""
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
