"""scikit-learn's checks of estimators: all of them on five presets, and a share of them on each of the others.

Every check on every preset would take two minutes, mostly for answers that the presets share: how inputs, attributes,
clones and weights are treated. So the others take turns: the presets of a class of estimators together run every check
at least once.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import estimator_checks_generator

from codekin import ECOCClassifier, ExtremeClassifier, SubclassClassifier
from codekin.codebooks import CODEBOOKS, REAL_CODEBOOKS
from codekin.learners import Softmax

SPLITS_ALL = {"min_samples": 1, "max_error": 0.0, "min_gain": 0.0}
LEARNER = LogisticRegression(max_iter=1000)
EQUIVALENT_WEIGHTS = [f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")]

# One preset for each way through the code that the checks can see.
ALL_CHECKS = [
    # What users get without a choice: a linear learner of its own for every bit, and the decoding that suits it.
    ECOCClassifier(random_state=0),
    # Learners that have neither weights of features nor magnitudes, and distances that are learned from the samples.
    ECOCClassifier(DecisionTreeClassifier(), loss="hamming", class_distances="learnability", random_state=0),
    # A learner without decision_function that refuses weights of samples.
    ECOCClassifier(KNeighborsClassifier(), random_state=0),
    # All bits in one pass of an online learner, decoded by shortest paths.
    ExtremeClassifier(random_state=0),
    # A learner in every node of a tree, decoded by beam search.
    ExtremeClassifier(code="tree", random_state=0),
]
SOME_CHECKS = [
    *(
        ECOCClassifier(Ridge() if name in REAL_CODEBOOKS else LEARNER, codebook=name, decoding="loss", random_state=0)
        for name in CODEBOOKS
        if name not in ("given", "reed_solomon", "dense_random")  # of one's own; of many symbols; the default
    ),
    ECOCClassifier(LEARNER, assignment="random", random_state=0),
    ECOCClassifier(LEARNER, n_symbols=3, random_state=0),
    ECOCClassifier(GaussianNB(), codebook="sparse_random", weighted_decoding=True, random_state=0),
    ECOCClassifier(make_pipeline(Normalizer(), LogisticRegression()), random_state=0),
    ECOCClassifier(Ridge(), codebook="eigen_targets", decoding="learned", random_state=0),
    # The checks shift features far from zero, which an online learner without a bias needs more passes for.
    ECOCClassifier(Softmax(n_epochs=20, fit_intercept=True), random_state=0),
    ExtremeClassifier(3, assignment="random", loss="hinge", random_state=0),
    ExtremeClassifier(estimator="softmax", random_state=0),
    ExtremeClassifier(rerank="centroid", random_state=0),
    ExtremeClassifier(rerank="learned", n_codes=2, assignment="random", random_state=0),
    SubclassClassifier(random_state=0),
    SubclassClassifier(RidgeClassifier(), **SPLITS_ALL),
    SubclassClassifier(KNeighborsClassifier()),
    SubclassClassifier(GaussianNB(), **SPLITS_ALL),
]
SHARE = 8
"""A check runs on one in this many of the other presets of a class of estimators that have it, and at least on one."""


def expected_failures(estimator: Any) -> dict[str, str]:
    """The checks that fail by design, with the reason."""
    if isinstance(estimator, SubclassClassifier):
        return {}
    learner = estimator.estimator
    # As with scikit-learn's own online learners: a sample shown once with weight 2 is not a sample shown twice.
    if isinstance(estimator, ExtremeClassifier) or isinstance(learner, Softmax):
        return dict.fromkeys(EQUIVALENT_WEIGHTS, "the order of the samples matters to an online learner")
    if estimator.codebook == "ecoc_one":
        return dict.fromkeys(EQUIVALENT_WEIGHTS, "its columns are tried on folds of the samples")
    if estimator.codebook == "eigen_targets" and estimator.decoding == "learned":
        return dict.fromkeys(EQUIVALENT_WEIGHTS, "a decoder learns from margins without a sample, whose double stays")
    if isinstance(learner, DecisionTreeClassifier):
        # The check sets larger leaves only where the estimator itself has them as a parameter.
        return {"check_class_weight_classifiers": "leaves of one sample ignore weights"}
    if isinstance(learner, KNeighborsClassifier):
        return {"check_class_weight_classifiers": "class weights are weights of samples, which this learner refuses"}
    return {}


def name_of(check: partial) -> str:
    """The name of a check with its settings."""
    named = ",".join(f"{name}={value}" for name, value in check.keywords.items())
    return check.func.__name__ + (f"({named})" if named else "")


def checks_of(estimator: Any) -> dict[str, partial]:
    """All checks that scikit-learn has for an estimator, by name."""
    return {name_of(check): check for _, check in estimator_checks_generator(estimator)}


def turns() -> Iterator[tuple[Any, partial]]:
    """The other presets with the checks whose turn it is on them; checks take turns in the order of their names."""
    for kind in (ECOCClassifier, ExtremeClassifier, SubclassClassifier):
        presets = [(estimator, checks_of(estimator)) for estimator in SOME_CHECKS if isinstance(estimator, kind)]
        for turn, name in enumerate(sorted({name for _, checks in presets for name in checks})):
            having = [(estimator, checks[name]) for estimator, checks in presets if name in checks]
            step = min(SHARE, len(having))
            yield from having[turn % step :: step]


def with_marks(estimator: Any, check: partial) -> Any:
    """A run whose name is that of the estimator and of the check."""
    reason = expected_failures(estimator).get(check.func.__name__)
    marks = [pytest.mark.xfail(reason=reason)] if reason else []
    return pytest.param(estimator, check, marks=marks, id=f"{''.join(str(estimator).split())}-{name_of(check)}")


FULL = [(estimator, check) for estimator in ALL_CHECKS for check in checks_of(estimator).values()]
DEALT = list(turns())


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore:divide by zero")
@pytest.mark.parametrize(("estimator", "check"), [with_marks(*run) for run in (*FULL, *DEALT)])
def test_scikit_learn_finds_nothing_wrong(estimator, check):
    check(estimator)


def test_every_preset_runs_some_checks_and_every_check_runs_on_every_class_of_estimators():
    assert {id(estimator) for estimator, _ in DEALT} == set(map(id, SOME_CHECKS))
    for kind in (ECOCClassifier, ExtremeClassifier, SubclassClassifier):
        every = {name for estimator in SOME_CHECKS if isinstance(estimator, kind) for name in checks_of(estimator)}
        assert every == {name_of(check) for estimator, check in DEALT if isinstance(estimator, kind)}
