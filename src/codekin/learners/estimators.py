"""What codekin knows about scikit-learn's estimators: the loss that suits them, their margins, how to clone them.

The margin of a bit is what ``decision_function`` says, or the log-odds. The margin of a symbol is ``log(q p)`` for a
predictor with ``q`` symbols: how much more probable than by chance it is. The margins of a codeword add up to the
logarithm of a product of probabilities, and a column that ignores a class adds nothing, as if by chance.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from codekin._system.rows import n_samples_in
from codekin.code import FloatArray, IntArray

LOG_ODDS_LIMIT = 20.0
"""Probabilities of 0 and 1 become log-odds of this size instead of infinite ones."""

LARGEST_LOG_ODDS = 100.0
"""Log-odds of learners are at most this far from zero. Discriminant analysis of features that determine each other, as
indicators of a category do, may give 1e29, and 1e13 for other samples: no decoder could weigh them."""

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
    return isinstance(estimator, linear_types()[0]) or hasattr(estimator, "decoding_loss")


def linear_types() -> tuple[Any, ...]:
    """What scikit-learn's linear classifiers are derived from, then its linear regressors."""
    from sklearn.linear_model import SGDRegressor
    from sklearn.linear_model._base import LinearClassifierMixin, LinearModel

    return LinearClassifierMixin, LinearModel, SGDRegressor


def describes_classes(estimator: Any) -> bool:
    """Whether a learner describes each class on its own.

    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> describes_classes(GaussianNB()), describes_classes(KNeighborsClassifier())
    (True, False)
    """
    from sklearn.naive_bayes import CategoricalNB, GaussianNB, _BaseDiscreteNB

    return isinstance(last_step(estimator), GaussianNB | CategoricalNB | _BaseDiscreteNB)


def is_tree(estimator: Any) -> bool:
    """Whether a learner is a single tree, which errs differently on every column."""
    from sklearn.tree import BaseDecisionTree

    return isinstance(last_step(estimator), BaseDecisionTree)


MOST_WEIGHTS, MOST_SCORES = 10**6, 5 * 10**6
"""With more weights, the solver of all classes at once takes long, and with more scores of samples much memory."""


def learns_at_once(estimator: Any, X: Any, n_classes: int) -> bool:
    """Whether one fit of all classes gives the bits of one-vs-rest, or better ones."""
    from sklearn.linear_model import RidgeClassifier
    from sklearn.svm import LinearSVC

    shape: tuple[int, ...] = getattr(X, "shape", ())
    last = last_step(estimator)
    if len(shape) != 2 or n_classes * shape[1] > MOST_WEIGHTS or n_classes * shape[0] > MOST_SCORES:
        return False
    is_machine = type(last) is LinearSVC and last.multi_class == "ovr"
    is_known = way_of_learning(estimator) == "jointly" or is_machine or type(last) is RidgeClassifier
    return is_known and last.class_weight is None


def way_of_learning(estimator: Any) -> str:
    """What a learner makes of sets of classes.

    - "linear": it is linear, and decoders weigh its bits.
    - "jointly": it is, and a logistic regression that learns all classes at once.
    - "classes": sets are no better than classes, since it votes, or describes each class on its own.
    - "varied": several fits together are better than one, as of trees, forests, bags and networks.
    - "sets": they may be.

    >>> from sklearn.svm import SVC, LinearSVC
    >>> from sklearn.naive_bayes import GaussianNB
    >>> way_of_learning(LinearSVC()), way_of_learning(GaussianNB()), way_of_learning(SVC())
    ('linear', 'classes', 'sets')
    >>> from sklearn.linear_model import LogisticRegression
    >>> way_of_learning(LogisticRegression()), way_of_learning(LogisticRegression(solver="liblinear"))
    ('jointly', 'linear')
    """
    from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
    from sklearn.ensemble import BaggingClassifier, ExtraTreesClassifier, RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.neighbors import KNeighborsClassifier, RadiusNeighborsClassifier
    from sklearn.neural_network import MLPClassifier

    last = last_step(estimator)
    if describes_classes(last) or isinstance(last, KNeighborsClassifier | RadiusNeighborsClassifier):
        return "classes"
    if is_tree(last) or isinstance(last, RandomForestClassifier | ExtraTreesClassifier):
        return "varied"
    if isinstance(last, BaggingClassifier | MLPClassifier):
        return "varied"
    if type(last) is LogisticRegression and last.solver != "liblinear":
        is_joint = getattr(last, "multi_class", "deprecated") in ("deprecated", "auto", "multinomial")
        return "jointly" if is_joint else "linear"
    is_discriminant = isinstance(last, LinearDiscriminantAnalysis | QuadraticDiscriminantAnalysis)
    return "linear" if learns_linearly(estimator) and not is_discriminant else "sets"


def last_step(estimator: Any) -> Any:
    """The last step of a pipeline, or the learner itself."""
    return estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator


LEAST_PROBABILITY = 1e-3
"""The least probability of a symbol, relative to chance: a forest of a few trees cannot really rule anything out, and
one confident mistake must not outweigh all other columns."""


def declared_limit(estimator: Any) -> int | None:
    """How many classes a classifier declares it can learn; None if it declares nothing.

    Searched, in this order, in the estimator, the last step of a pipeline and the estimator of a search:
    ``get_inference_config().MAX_NUMBER_OF_CLASSES`` (TabPFN from version 8 on), and the attributes
    ``max_num_classes_``, ``max_num_classes`` and ``max_classes``.
    """
    if hasattr(estimator, "steps"):
        return declared_limit(estimator.steps[-1][1])
    limits = [getattr(estimator, name, None) for name in ("max_num_classes_", "max_num_classes", "max_classes")]
    if hasattr(estimator, "get_inference_config"):
        limits.insert(0, getattr(estimator.get_inference_config(), "MAX_NUMBER_OF_CLASSES", None))
    for limit in limits:
        if isinstance(limit, int | np.integer) and limit >= 2:
            return int(limit)
    inner = getattr(estimator, "estimator", None)
    return None if inner is None or isinstance(inner, str) else declared_limit(inner)


LEAST_OF_ONE = float(np.finfo(np.float64).eps)
"""The same of a single column, whose probabilities are those of its predictor."""


def symbol_margins(
    predictor: Any, X: Any, known: IntArray, n_symbols: int, least: float = LEAST_PROBABILITY
) -> FloatArray:
    """The margins of all symbols of a column, (n_samples, n_symbols); ``known`` are the symbols of its classes.

    Symbols that the predictor has not seen are as improbable as those that it rules out: ``least``, relative to chance.
    """
    from sklearn.exceptions import NotFittedError

    n_samples, chance = n_samples_in(X), 1 / len(known)
    margins = np.full((n_samples, n_symbols), np.log(least))
    if len(known) == 1:
        margins[:, known] = 0.0
        return margins
    try:
        probabilities = _probabilities(predictor, X)
    except NotFittedError:
        # partial_fit has not shown this column any sample.
        return np.zeros((n_samples, n_symbols))
    margins[:, known] = np.log((1 - least) * probabilities + least * chance) - np.log(chance)
    return margins


def _probabilities(predictor: Any, X: Any) -> FloatArray:
    """The probabilities of the predictor, or the softmax of its scores if it has none."""
    from scipy.special import log_softmax

    if hasattr(predictor, "predict_proba"):
        given = np.asarray(predictor.predict_proba(X), dtype=np.float64)
        return np.asarray(given / np.maximum(given.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny))
    scores = np.asarray(predictor.decision_function(X), dtype=np.float64)
    if scores.ndim == 1:
        scores = np.column_stack([np.zeros_like(scores), scores])
    return np.asarray(np.exp(log_softmax(scores, axis=1)))


def seeded(estimator: Any, seed: int) -> Any:
    """A clone of the estimator whose random states are set from the seed if they are None."""
    from sklearn.base import clone

    copy = clone(estimator)
    stream = np.random.default_rng(seed)
    to_set = {
        key: int(stream.integers(np.iinfo(np.int32).max))
        for key, value in sorted(copy.get_params(deep=True).items())
        if (key == "random_state" or key.endswith("__random_state")) and value is None
    }
    return copy.set_params(**to_set) if to_set else copy


def is_plain_linear(predictor: Any) -> bool:
    """Whether the margin is X @ coef_.T + intercept_ and nothing else."""
    if not hasattr(predictor, "coef_"):
        return False
    classifiers, *regressors = linear_types()
    if isinstance(predictor, classifiers):
        return getattr(type(predictor), "decision_function", None) is classifiers.decision_function
    # Some versions of scikit-learn's regressors override predict to call the one that they inherit; others' may differ.
    return isinstance(predictor, tuple(regressors)) and type(predictor).__module__.startswith("sklearn.")


def is_per_sample(value: Any, n_samples: int) -> bool:
    """Whether an argument of ``fit`` has one entry per sample."""
    return (
        (hasattr(value, "__len__") or hasattr(value, "shape"))
        and not isinstance(value, str | bytes | dict)
        and ((value.shape[0] if hasattr(value, "shape") and value.shape else len(value)) == n_samples)
    )


def bit_margins(predictor: Any, X: Any) -> FloatArray:
    """The margins of one bit: scores, log-odds, or what a regressor predicts."""
    from sklearn.exceptions import NotFittedError

    try:
        if hasattr(predictor, "decision_function"):
            scores = np.asarray(predictor.decision_function(X), dtype=np.float64).reshape(n_samples_in(X))
            are_log_odds = natural_loss(predictor) == "logistic"
            return np.clip(scores, -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS) if are_log_odds else scores
        if not hasattr(predictor, "predict_proba"):  # a regressor
            return np.asarray(predictor.predict(X), dtype=np.float64).reshape(n_samples_in(X))
        probability = np.asarray(predictor.predict_proba(X))[:, 1]
    except NotFittedError:
        # partial_fit has not shown this bit a sample of either side.
        return np.zeros(n_samples_in(X))
    with np.errstate(divide="ignore"):
        log_odds = np.log(probability) - np.log1p(-probability)
    return np.asarray(np.clip(log_odds, -LOG_ODDS_LIMIT, LOG_ODDS_LIMIT), dtype=np.float64)
