"""scikit-learn estimators: validate, choose the parts, delegate to the model.

They are imported when they are first used, since their fits and predictions need no scikit-learn.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from codekin.fitting.report import FitReport, TrainingReport

if TYPE_CHECKING:
    from codekin.estimators.ecoc import ECOCClassifier
    from codekin.estimators.extreme import ExtremeClassifier, TrellisClassifier
    from codekin.estimators.kinship import KinshipOrder
    from codekin.estimators.subclasses import SubclassClassifier
    from codekin.estimators.suspects import SuspectedLabels, suspected_labels
    from codekin.estimators.text import TextClassifier

_HOME = {
    "ECOCClassifier": "ecoc",
    "ExtremeClassifier": "extreme",
    "KinshipOrder": "kinship",
    "SubclassClassifier": "subclasses",
    "SuspectedLabels": "suspects",
    "TextClassifier": "text",
    "TrellisClassifier": "extreme",
    "suspected_labels": "suspects",
}

__all__ = [
    "ECOCClassifier",
    "ExtremeClassifier",
    "FitReport",
    "KinshipOrder",
    "SubclassClassifier",
    "SuspectedLabels",
    "TextClassifier",
    "TrainingReport",
    "TrellisClassifier",
    "suspected_labels",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"codekin.estimators.{_HOME[name]}"), name)
    raise AttributeError(f"module 'codekin.estimators' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
