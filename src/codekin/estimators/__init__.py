"""scikit-learn estimators: validate, choose the parts, delegate to the model."""

from codekin.estimators.ecoc import ECOCClassifier
from codekin.estimators.extreme import ExtremeClassifier
from codekin.estimators.subclasses import SubclassClassifier
from codekin.estimators.text import TextClassifier
from codekin.estimators.trellis import TrellisClassifier
from codekin.fitting.report import FitReport, TrainingReport

__all__ = [
    "ECOCClassifier",
    "ExtremeClassifier",
    "FitReport",
    "SubclassClassifier",
    "TextClassifier",
    "TrainingReport",
    "TrellisClassifier",
]
