"""TrellisClassifier: the paper's preset of an ExtremeClassifier."""

from __future__ import annotations

import inspect
import warnings
from typing import Any, Literal

from codekin.estimators.extreme import ExtremeClassifier

PRESET = {"code": "trellis", "rerank": None}
"""The defaults that differ from those of :class:`ExtremeClassifier`."""


def _preset_signature() -> inspect.Signature:
    of_extreme = inspect.signature(ExtremeClassifier.__init__)
    own = [each.replace(default=PRESET.get(name, each.default)) for name, each in of_extreme.parameters.items()]
    return of_extreme.replace(parameters=own)


class TrellisClassifier(ExtremeClassifier):
    """W-LTLS as published: the paths of a trellis are the codewords, and the classes are not re-ranked.

    The parameters and attributes are those of :class:`ExtremeClassifier`, with two other defaults: ``code="trellis"``
    and ``rerank=None``. This was also the name of :class:`ExtremeClassifier`, so trees and re-rankings still work, with
    a warning.

    References
    ----------
    Evron, Moroshko, Crammer. Efficient Loss-Based Decoding on Graphs for Extreme Classification. NeurIPS 2018.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> classifier = TrellisClassifier(width=3, random_state=0).fit(X[:900] / 16, y[:900])
    >>> bool(classifier.score(X[900:] / 16, y[900:]) > 0.75)
    True
    """

    _kind = "TrellisClassifier"

    def __init__(self, width: int | Literal["auto"] = "auto", **settings: Any) -> None:
        super().__init__(width, **{**PRESET, **settings})

    __init__.__signature__ = _preset_signature()  # type: ignore[attr-defined]  # scikit-learn reads it

    def _validate_params(self) -> None:
        super()._validate_params()
        if self.code != "trellis" or self.rerank is not None:
            warnings.warn(
                f"TrellisClassifier is for trellises without re-ranking. With code={self.code!r} and "
                f"rerank={self.rerank!r}, use ExtremeClassifier.",
                FutureWarning,
                stacklevel=3,
            )
