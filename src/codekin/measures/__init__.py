"""How good predictions are: of one label per sample, of several, and from which probability on labels are predicted."""

from codekin.measures.label_sets import LabelEvaluation, label_evaluation
from codekin.measures.predictions import ClassErrors, Evaluation, PredictionMeasures, prediction_measures
from codekin.measures.thresholds import label_thresholds

__all__ = [
    "ClassErrors",
    "Evaluation",
    "LabelEvaluation",
    "PredictionMeasures",
    "label_evaluation",
    "label_thresholds",
    "prediction_measures",
]
