"""What exported models share: which models can be exported, and how arrays become text inside a page."""

from __future__ import annotations

import base64
import gzip
import json
from typing import Any

from numpy.typing import NDArray

from codekin.decoding import LOSSES
from codekin.decoding.decoder import check_k
from codekin.estimators.base import CodedClassifier
from codekin.estimators.text_predictions import with_features
from codekin.model import Model
from codekin.model.probabilities import check_one_label

Arrays = dict[str, NDArray[Any]]
KINDS = ("i1", "u1", "i2", "u2", "i4", "u4", "f4")
"""The types of arrays, as the script calls them; all others become double precision."""


def exported_model(classifier: Any) -> Model:
    """The model of a fitted classifier; raises if it cannot be exported."""
    classifier, _ = with_features(classifier)
    if not isinstance(classifier, CodedClassifier):
        raise TypeError(
            "An ECOCClassifier, an ExtremeClassifier or a TextClassifier can be exported. "
            f"Got an object of type {type(classifier).__name__}."
        )
    classifier._check_is_fitted()
    model: Model = classifier.model_
    check_one_label(model, "Exported models give")
    if model.ranking is not None and model.ranking.n_indexed:
        raise ValueError(
            "Exported models rescore the candidates of a code. Got one with candidates of an index; "
            "train with candidates='code' (--candidates code)."
        )
    loss = model.decoder.loss
    if LOSSES.get(loss.name) is not loss:
        raise ValueError(f"A loss given as a function cannot be exported. Got {loss.name}.")
    return model


def check_n_labels(model: Model, k: int) -> None:
    """Raise unless an exported model can return this many labels."""
    check_k(k, model.n_classes)
    if model.ranking is not None and k > model.ranking.n_candidates:
        n = model.ranking.n_candidates
        raise ValueError(f"This model ranks {n} candidates; at most as many labels can be exported. Got {k}.")


def packed(description: dict[str, Any], arrays: Arrays) -> str:
    """The description and the arrays, zipped, in letters, which ``unpacked`` of ``engine.js`` reads.

    They are the length of the JSON, the JSON, and the arrays.
    """
    places: dict[str, Any] = {}
    parts: list[bytes] = []
    # Places depend on the length of the JSON, and that on the places: room for both is left at the beginning.
    start = 8 * (len(json.dumps(description)) // 8 + 16 * (len(arrays) + 2))
    offset = start
    for name, array in arrays.items():
        kind = array.dtype.str[1:] if array.dtype.str[1:] in KINDS else "f8"
        places[name] = [kind, offset, array.size]
        content = array.astype(f"<{kind}").tobytes()
        parts.append(content + b"\0" * (-len(content) % 8))
        offset += len(parts[-1])
    text = json.dumps({**description, "arrays": places}).encode()
    head = len(text).to_bytes(4, "little") + text
    whole = head + b"\0" * (start - len(head)) + b"".join(parts)
    return base64.b64encode(gzip.compress(whole, compresslevel=9, mtime=0)).decode()
