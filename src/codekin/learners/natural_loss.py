"""Which decoding loss matches what a scikit-learn classifier minimises."""

from __future__ import annotations

from typing import Any

from sklearn.linear_model._base import LinearClassifierMixin

LOSS_OF_LEARNER = {
    "LogisticRegression": "logistic",
    "LogisticRegressionCV": "logistic",
    "LinearDiscriminantAnalysis": "logistic",
    "QuadraticDiscriminantAnalysis": "logistic",
    "HistGradientBoostingClassifier": "logistic",
    "LGBMClassifier": "logistic",
    "RidgeClassifier": "squared",
    "RidgeClassifierCV": "squared",
    "AdaBoostClassifier": "exponential",
}
"""Maps names of learners to decoding losses."""

LOSS_OF_PARAMETER = {
    "log_loss": "logistic",
    "modified_huber": "squared_hinge",
    "exponential": "exponential",
    "squared_error": "squared",
}
"""Maps ``loss`` parameters of learners to decoding losses; margins of any other loss are treated like an SVM's."""


def natural_loss(estimator: Any) -> str:
    """The decoding loss that matches what a learner minimises.

    Log-odds are decoded by the logistic loss: learners with probabilities only, logistic regression, discriminant
    analysis, gradient boosting, LightGBM, and any learner whose ``loss`` parameter says so. Ridge classifiers are
    decoded by the squared loss, AdaBoost by the exponential one. All other margins are treated like an SVM's: hinge. A
    pipeline is judged by its last step, a search or a bag by its estimator.

    >>> from sklearn.calibration import CalibratedClassifierCV
    >>> from sklearn.svm import LinearSVC
    >>> natural_loss(LinearSVC()), natural_loss(CalibratedClassifierCV(LinearSVC()))
    ('hinge', 'logistic')
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sklearn.linear_model import LogisticRegression
    >>> natural_loss(make_pipeline(StandardScaler(), LogisticRegression()))
    'logistic'
    """
    if not hasattr(estimator, "decision_function"):
        return "logistic"
    if hasattr(estimator, "steps"):
        return natural_loss(estimator.steps[-1][1])
    if type(estimator).__name__ not in LOSS_OF_LEARNER and getattr(estimator, "estimator", None) is not None:
        return natural_loss(estimator.estimator)
    by_parameter = LOSS_OF_PARAMETER.get(str(getattr(estimator, "loss", None)), "hinge")
    return LOSS_OF_LEARNER.get(type(estimator).__name__, by_parameter)


def learns_linearly(estimator: Any) -> bool:
    """Whether a learner's margins will be linear in the features that its last step sees.

    >>> from sklearn.svm import SVC, LinearSVC
    >>> learns_linearly(LinearSVC()), learns_linearly(SVC())
    (True, False)
    """
    if hasattr(estimator, "steps"):
        return learns_linearly(estimator.steps[-1][1])
    if hasattr(estimator, "estimator") and hasattr(estimator, "cv"):
        return learns_linearly(estimator.estimator)
    return isinstance(estimator, LinearClassifierMixin) or hasattr(estimator, "decoding_loss")
