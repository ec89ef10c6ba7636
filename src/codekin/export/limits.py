"""What can be exported: classes of one codeword, candidates of codes only, and how many labels."""

from __future__ import annotations

from typing import Any

from codekin.decoding.minimum_loss import check_k
from codekin.estimators.coded import CodedClassifier


def check_coded(classifier: Any) -> None:
    """Raise unless every class of a classifier has a codeword, and one only."""
    if not isinstance(classifier, CodedClassifier):
        raise TypeError(
            "An ECOCClassifier or a TrellisClassifier can be exported. "
            f"Got an object of type {type(classifier).__name__}."
        )


def check_no_index(model: Any) -> None:
    """Raise if an index lists candidates, which exported models cannot do."""
    if model.ranking is not None and model.ranking.n_indexed:
        raise ValueError(
            "Exported models rescore the candidates of a code. Got one with candidates of an index; "
            "train with candidates='code'."
        )


def check_n_labels(model: Any, k: int) -> None:
    """Raise unless an exported model can return this many labels."""
    check_k(k, model.n_classes)
    if model.ranking is not None and k > model.ranking.n_candidates:
        n = model.ranking.n_candidates
        raise ValueError(f"This model ranks {n} candidates; at most as many labels can be exported. Got {k}.")
