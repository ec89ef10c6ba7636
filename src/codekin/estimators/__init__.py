"""scikit-learn estimators: validate, choose the parts, delegate to the model."""

from codekin.estimators.ecoc import ECOCClassifier
from codekin.estimators.report import FitReport
from codekin.estimators.trellis import TrellisClassifier

__all__ = ["ECOCClassifier", "FitReport", "TrellisClassifier"]
