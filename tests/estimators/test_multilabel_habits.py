"""scikit-learn's own tests of one-vs-rest with several labels per sample, run with ECOCClassifier in its place.

The functions are those of ``sklearn.tests.test_multiclass``; nothing of them is copied. Different, with the reason:

- Regressors as learners are refused: a learner of columns is a classifier.
- ``predict_proba`` always exists, since held-out samples turn all margins into probabilities.
- Labels that all samples or none have are learned without a warning, as probable as such a share of samples allows.
- Probabilities are calibrated, so that 0.5 is not where naive Bayes puts it: precision and recall are others.
"""

from functools import partial

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tests import test_multiclass

from codekin import ECOCClassifier

CONTAINERS = [
    container
    for form in ("CSR", "CSC", "COO", "DOK", "LIL")
    for container in getattr(test_multiclass, f"{form}_CONTAINERS")
]
RUNS = [
    *(("test_ovr_fit_predict_sparse", {"sparse_container": container}) for container in CONTAINERS),
    ("test_ovr_multilabel_decision_function", {}),
]
DIFFERENT = {
    "test_ovr_multilabel": "learned by classifiers, LinearSVM or Softmax. Got LinearRegression",
    "test_ovr_multiclass": "which classifiers learn. Got LinearRegression, a regressor",
    "test_ovr_multilabel_predict_proba": "learned by classifiers, LinearSVM or Softmax. Got SVR",
    "test_ovr_always_present": "DID NOT WARN",
    "test_ovr_multilabel_dataset": "not almost equal",
}
"""What each of the others fails with."""


@pytest.fixture
def in_its_place(monkeypatch):
    own = partial(ECOCClassifier, codebook="one_vs_rest", random_state=0)
    monkeypatch.setattr(test_multiclass, "OneVsRestClassifier", own)


def name_of(run):
    return "-".join([run[0], *(own.__name__ for own in run[1].values())])


@pytest.mark.parametrize("run", RUNS, ids=name_of)
@pytest.mark.usefixtures("in_its_place")
def test_what_holds_of_one_vs_rest_holds_here(run):
    getattr(test_multiclass, run[0])(**run[1])


def test_eleven_of_sixteen_are_run_and_the_others_are_known():
    several = {name for name in vars(test_multiclass) if "multilabel" in name and name.startswith("test_ovr")}
    assert several <= {name for name, _ in RUNS} | DIFFERENT.keys()
    assert (len(RUNS), len(DIFFERENT)) == (11, 5)


@pytest.mark.parametrize("name", DIFFERENT)
@pytest.mark.usefixtures("in_its_place")
def test_what_is_different_is_different_as_described(name):
    with pytest.raises((AssertionError, ValueError, pytest.fail.Exception), match=DIFFERENT[name]):
        getattr(test_multiclass, name)()


def test_labels_of_all_samples_are_predicted_for_all_and_those_of_none_for_none():
    X = np.repeat([0.0, 1.0], 50)[:, None]
    Y = np.column_stack([X[:, 0], np.ones(100), np.zeros(100)]).astype(int)
    classifier = ECOCClassifier(LogisticRegression(), random_state=0).fit(X, Y)
    np.testing.assert_array_equal(classifier.predict(X), Y)
    probabilities = classifier.predict_proba(X)
    assert probabilities[:, 1].min() > 0.8 > 0.2 > probabilities[:, 2].max()
