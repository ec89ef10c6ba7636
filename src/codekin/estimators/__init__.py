"""scikit-learn estimators: validate, choose the parts, delegate to the model."""

from codekin.estimators.ecoc import ECOCClassifier
from codekin.estimators.subclasses import SubclassClassifier
from codekin.estimators.trellis import TrellisClassifier
from codekin.fitting.report import FitReport

__all__ = ["ECOCClassifier", "FitReport", "SubclassClassifier", "TrellisClassifier"]
