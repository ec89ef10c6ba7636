"""How good predictions are: of one label per sample, of several, class by class, and from which probability on."""

from codekin.measures.by_class import ClassErrors, ClassReport, class_report
from codekin.measures.label_sets import LabelEvaluation, label_evaluation
from codekin.measures.predictions import Evaluation, PredictionMeasures, prediction_measures
from codekin.measures.thresholds import label_thresholds

__all__ = [
    "ClassErrors",
    "ClassReport",
    "Evaluation",
    "LabelEvaluation",
    "PredictionMeasures",
    "class_report",
    "label_evaluation",
    "label_thresholds",
    "prediction_measures",
]
