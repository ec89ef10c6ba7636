"""Error-correcting output codes in which similar classes get similar codewords.

The names below are imported when they are first used, so that ``import codekin`` is fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from codekin._version import __version__

if TYPE_CHECKING:
    from codekin.classes import ClassTree
    from codekin.code import Assignment, Codebook
    from codekin.deploy.predictor import Predictor
    from codekin.estimators import (
        ECOCClassifier,
        ExtremeClassifier,
        SubclassClassifier,
        TextClassifier,
        TrellisClassifier,
    )
    from codekin.model import Model
    from codekin.storage import load_model, save_model

_HOME = {
    "Assignment": "codekin.code",
    "ClassTree": "codekin.classes",
    "Codebook": "codekin.code",
    "Model": "codekin.model",
    "ECOCClassifier": "codekin.estimators",
    "ExtremeClassifier": "codekin.estimators",
    "Predictor": "codekin.deploy.predictor",
    "SubclassClassifier": "codekin.estimators",
    "TextClassifier": "codekin.estimators",
    "TrellisClassifier": "codekin.estimators",
    "load_model": "codekin.storage",
    "save_model": "codekin.storage",
}

__all__ = [
    "Assignment",
    "ClassTree",
    "Codebook",
    "ECOCClassifier",
    "ExtremeClassifier",
    "Model",
    "Predictor",
    "SubclassClassifier",
    "TextClassifier",
    "TrellisClassifier",
    "__version__",
    "load_model",
    "save_model",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'codekin' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
