import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_digits
from sklearn.linear_model import RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

from codekin import load_model, save_model
from codekin.classes import DenseDistances
from codekin.code import Assignment
from codekin.codebooks import one_vs_rest
from codekin.estimators import ECOCClassifier, ExtremeClassifier, FitReport
from codekin.fitting.report import fit_report
from codekin.states import migrated


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:600] / 16, y[:600]


class CountingClassifier(ClassifierMixin, BaseEstimator):
    """Counts the rows that all of its clones were asked to predict."""

    n_predicted = 0

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, X):
        CountingClassifier.n_predicted += len(X)
        return np.asarray(X)[:, 0] - 0.5


def test_report_speaks_the_papers_language(digits):
    X, y = digits
    classifier = ECOCClassifier(LinearSVC(), n_bits=12, decoding="loss", random_state=0).fit(X, y)
    report = classifier.report(X, y)
    margins = classifier.bit_margins(X)
    epsilon = np.maximum(0, 1 - classifier.coding_matrix_[y] * margins).mean()
    assert report.average_binary_loss == pytest.approx(epsilon)
    assert report.error_bound == pytest.approx(12 * epsilon / classifier.codebook_.min_distance)
    assert report.error == pytest.approx(1 - classifier.score(X, y))
    assert report.error <= report.error_bound
    assert report.standard_deviations_below_random > 2
    assert report.n_measured == 600
    assert "average binary loss" in str(report)


def test_fit_predicts_nothing_and_a_report_each_sample_once(digits, monkeypatch):
    monkeypatch.setattr("codekin.fitting.report.MARGINS_PER_BLOCK", 1)  # blocks of 256 rows
    frame = pd.DataFrame(digits[0])
    CountingClassifier.n_predicted = 0
    classifier = ECOCClassifier(CountingClassifier(), n_bits=12, random_state=0).fit(frame, digits[1])
    classifier.report()
    assert CountingClassifier.n_predicted == 0
    measured = classifier.report(frame, digits[1])
    assert CountingClassifier.n_predicted == 12 * len(frame)
    assert classifier.report() is measured
    assert CountingClassifier.n_predicted == 12 * len(frame)


@pytest.mark.parametrize("classifier", [ECOCClassifier(RidgeClassifier(), n_bits=12), ExtremeClassifier()])
def test_a_new_fit_forgets_what_was_measured(classifier, digits):
    classifier.set_params(random_state=0).fit(*digits)
    code = str(classifier.report())
    assert "not measured" in code
    assert str(classifier.report(*digits)) != code
    assert str(classifier.fit(*digits).report()) == code


def test_what_was_measured_is_saved_with_the_model(digits, tmp_path):
    X, y = digits
    classifier = ECOCClassifier(GaussianNB(), n_bits=12, random_state=0).fit(X, y)
    measured = classifier.report(X[:100], y[:100])
    again = load_model(save_model(classifier, tmp_path / "model"))
    assert again.report().as_dict() == measured.as_dict()
    assert again.report(X, y).as_dict() == classifier.report(X, y).as_dict()


def test_reports_of_earlier_folders_are_read(digits):
    stored = ECOCClassifier(GaussianNB(), n_bits=12, random_state=0).fit(*digits).report(*digits).as_dict()
    del stored["n_measured"]
    stored["training_error"] = error = stored.pop("error")
    description = {"format_version": 1, "classifier": {"kind": "ECOCClassifier", "report": stored}}
    report = FitReport.from_dict(migrated(description)["classifier"]["report"])
    assert f"error                          {error:.4f}" in str(report)


def test_samples_come_with_their_labels(digits):
    classifier = ECOCClassifier(GaussianNB(), n_bits=12, random_state=0).fit(*digits)
    with pytest.raises(ValueError, match="needs samples and their labels, or neither. Got no y"):
        classifier.report(digits[0])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        classifier.report(digits[0][:2], [7])


def test_a_report_says_what_was_asked_for_and_what_found_it(digits):
    classifier = ECOCClassifier(GaussianNB(), n_bits=12, random_state=0).fit(*digits)
    assert "preserving (exhaustive) assignment" in str(classifier.report())
    assert repr(classifier.assignment_) == "<Assignment preserving (exhaustive): 10 classes>"
    by_name = ECOCClassifier(GaussianNB(), n_bits=12, assignment="greedy", random_state=0).fit(*digits)
    assert ", greedy assignment" in str(by_name.report())
    ordered = ExtremeClassifier(assignment="preserving", random_state=0).fit(*digits)
    assert "preserving (ordered) assignment" in str(ordered.report())
    learnable = ExtremeClassifier(assignment="learnability", random_state=0).fit(*digits)
    assert learnable.report().assignment.startswith("learnability (")


def test_a_bound_that_bounds_nothing_is_not_printed(digits):
    report = ECOCClassifier(LinearSVC(), n_bits=12, random_state=0).fit(*digits).report(*digits)
    values = report.as_dict()
    assert "bound on the error" in str(FitReport.from_dict({**values, "error_bound": 0.999}))
    for bound in (1.0, 4.6430, None):
        shown = str(FitReport.from_dict({**values, "error_bound": bound}))
        assert "bound" not in shown
        assert "says nothing" not in shown


def test_one_thing_is_not_called_several():
    assert "2 classes, 1 bit:" in str(ECOCClassifier(GaussianNB(), n_bits=1).fit([[0], [1]], [0, 1]).report())
    assert repr(Assignment([0])) == "<Assignment given: 1 class>"
    assert repr(one_vs_rest(2)).startswith("<Codebook one_vs_rest: 2 codewords x ")


def test_the_score_of_an_equidistant_code_is_said_to_be_the_same_for_every_assignment(digits):
    X, y = digits
    equidistant = one_vs_rest(10)
    classifier = ECOCClassifier(GaussianNB(), codebook=equidistant, assignment="greedy", random_state=0).fit(X, y)
    report = fit_report(classifier.model_, classifier.loss_, DenseDistances(1 - np.eye(10)), {})
    assert np.isnan(report.standard_deviations_below_random)
    assert "the same for every assignment" in str(report)
    assert "standard deviations" not in str(report)


@pytest.mark.parametrize(
    "classifier",
    [ECOCClassifier(GaussianNB(), n_bits=12), ECOCClassifier(GaussianNB(), n_symbols=4), ExtremeClassifier(),
     ExtremeClassifier(code="tree")],
    ids=["bits", "symbols", "trellis", "tree"],
)  # fmt: skip
def test_unknown_labels_are_errors_without_losses_as_in_evaluate(classifier, digits):
    X, y = digits
    classifier.set_params(random_state=0).fit(X, y)
    known = classifier.report(X[:100], y[:100])
    half = classifier.report(np.vstack([X[:100], X[:100]]), np.r_[y[:100], np.full(100, 77)])
    assert half.error == pytest.approx((known.error + 1) / 2)
    np.testing.assert_allclose(half.bit_losses, known.bit_losses)
    if not np.isnan(known.error_bound):
        assert half.error_bound == pytest.approx((known.error_bound + 1) / 2)
    nobody = classifier.report(X[:100], np.full(100, 77))
    assert nobody.error == 1
    assert "error                          1.0000 on 100 samples" in str(nobody)
