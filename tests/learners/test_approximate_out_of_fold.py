import numpy as np
import pytest
from scipy import sparse
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier, SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import codekin.learners.without_samples as module
from codekin.code import Assignment, Code, Codebook
from codekin.learners import IndependentBits
from codekin.learners.calibration import out_of_fold_margins
from codekin.learners.without_samples import approximate_out_of_fold_margins
from codekin.samples import Samples

DENSE = Code.of([[1, 1], [1, -1], [-1, 1]])
TERNARY = Code.of([[1, 1, 0], [-1, 0, 1], [0, -1, -1]])
REAL = Code(Codebook([[0.0, 2.5], [1.5, -0.3], [-0.7, 0.0]], is_real=True), Assignment.identity(3))
LEARNERS = [
    LinearSVC(tol=1e-8, max_iter=100_000),
    LinearSVC(C=0.3, intercept_scaling=2.0, class_weight="balanced", tol=1e-8, max_iter=100_000),
    LogisticRegression(tol=1e-8),
    LogisticRegression(C=5.0, fit_intercept=False, class_weight={0: 1.0, 1: 3.0}, tol=1e-8),
    LogisticRegression(solver="liblinear", intercept_scaling=2.0, tol=1e-8),
    RidgeClassifier(),
    RidgeClassifier(alpha=5.0, fit_intercept=False),
    make_pipeline(StandardScaler(), LogisticRegression(tol=1e-8)),
]


def blobs(n_samples=45, n_features=6, weights=None):
    rng = np.random.default_rng(0)
    class_index = np.arange(n_samples) % 3
    X = rng.normal(size=(n_samples, n_features)) + rng.normal(size=(3, n_features))[class_index]
    return Samples(X, class_index, weights)


def learned(estimator, samples, code=DENSE):
    learner = IndependentBits(estimator)
    return learner, learner.fit(samples, code, rng=np.random.default_rng(0))


def found(bits, samples, code=DENSE, n_margins=10**6):
    rng = np.random.default_rng(0)
    margins = approximate_out_of_fold_margins(bits, samples, code, n_margins=n_margins, rng=rng)
    return None if margins is None else margins[:2]


def refitted(learner, samples, code, i):
    without = samples.class_index.copy()
    without[i] = -1
    bits = learner.fit(Samples(samples.X, without, samples.weights), code, rng=np.random.default_rng(0))
    return bits.margins(samples.X[i : i + 1])[0]


@pytest.mark.parametrize("code", [DENSE, TERNARY], ids=["dense", "ternary"])
@pytest.mark.parametrize("estimator", LEARNERS, ids=str)
def test_margins_are_about_those_of_bits_that_are_learned_without_the_sample(estimator, code):
    samples = blobs()
    learner, bits = learned(estimator, samples, code)
    margins, rows = found(bits, samples, code)
    np.testing.assert_array_equal(rows, np.arange(45))
    tried = np.arange(0, 45, 7)
    expected = np.array([refitted(learner, samples, code, i) for i in tried])
    moved = np.abs(bits.margins(samples.X[tried]) - expected).mean()
    assert np.abs(margins[tried] - expected).mean() < 0.4 * moved


@pytest.mark.parametrize(
    ("estimator", "code"),
    [(RidgeClassifier(), DENSE), (Ridge(), REAL), (Ridge(alpha=5.0, fit_intercept=False), REAL)],
    ids=["signs", "numbers", "without intercept"],
)
def test_ridge_is_left_exactly(estimator, code):
    samples = blobs(weights=np.linspace(0.5, 2, 45))
    learner, bits = learned(estimator, samples, code)
    expected = [refitted(learner, samples, code, i) for i in range(45)]
    np.testing.assert_allclose(found(bits, samples, code)[0], expected, atol=1e-9)


@pytest.mark.parametrize("estimator", [LEARNERS[0], LEARNERS[2], LEARNERS[5]], ids=str)
def test_of_few_samples_there_are_also_margins_without_fifths_of_them(estimator):
    samples = blobs(60)
    learner, bits = learned(estimator, samples)
    both = approximate_out_of_fold_margins(bits, samples, DENSE, n_margins=60, rng=np.random.default_rng(0))
    expected, _ = out_of_fold_margins(learner, samples, DENSE, rng=np.random.default_rng(0))
    moved = np.abs(bits.margins(samples.X) - expected).mean()
    assert np.abs(both.by_fifths - expected).mean() < 0.4 * moved
    rng = np.random.default_rng(0)
    assert approximate_out_of_fold_margins(bits, samples, DENSE, n_margins=59, rng=rng).by_fifths is None


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("estimator", [LEARNERS[1], LEARNERS[3], LEARNERS[5], LEARNERS[6]], ids=str)
def test_with_more_features_than_samples_margins_are_as_close(estimator, form):
    samples = blobs(n_features=90)
    learner, bits = learned(estimator, samples, TERNARY)
    margins, _ = found(bits, Samples(form(samples.X), samples.class_index), TERNARY)
    tried = np.arange(0, 45, 7)
    expected = np.array([refitted(learner, samples, TERNARY, i) for i in tried])
    moved = np.abs(bits.margins(samples.X[tried]) - expected).mean()
    is_exact = isinstance(estimator, RidgeClassifier)
    assert np.abs(margins[tried] - expected).mean() < (1e-8 if is_exact else 0.15) * moved


@pytest.mark.parametrize("estimator", LEARNERS[:7], ids=str)
def test_leverages_of_features_and_of_pairs_are_the_same(estimator):
    samples = blobs()
    _, bits = learned(estimator, samples)
    entries = DENSE.coding_matrix[samples.class_index] * 1.0
    lesson = module._LinearLesson.of(samples.X, entries, entries != 0, None, bits.predictors)
    second = lesson.derivatives(lesson.weights)[2][:, 0]
    curved = np.flatnonzero(second)
    by_features, by_pairs = (
        lesson._left_by_features(curved, second[curved]),
        lesson._left_by_pairs(curved, second[curved]),
    )
    np.testing.assert_allclose(by_features, by_pairs, rtol=1e-5)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("estimator", [LEARNERS[0], LEARNERS[2], LEARNERS[5]], ids=str)
def test_with_many_features_a_fifth_of_the_samples_is_left_out_at_a_time(estimator, form, monkeypatch):
    monkeypatch.setattr(module, "MAX_FEATURES", 3)
    monkeypatch.setattr(module, "MAX_WORK", 0)
    samples = blobs(60)
    learner, bits = learned(estimator, samples)
    given = Samples(form(samples.X), samples.class_index)
    margins, rows = found(bits, given)
    expected, _ = out_of_fold_margins(learner, samples, DENSE, rng=np.random.default_rng(0))
    moved = np.abs(bits.margins(samples.X) - expected).mean()
    assert np.abs(margins - expected).mean() < 0.4 * moved
    some, fewer = found(bits, given, n_margins=20)
    assert len(fewer) == 24
    np.testing.assert_allclose(some, margins[np.isin(rows, fewer)], atol=1e-9)


def test_samples_that_a_bit_ignores_and_those_of_no_class_leave_it_as_it_is():
    samples = blobs()
    unknown = Samples(samples.X, np.where(np.arange(45) < 6, -1, samples.class_index))
    _, bits = learned(LogisticRegression(), unknown, TERNARY)
    margins, rows = found(bits, unknown, TERNARY)
    np.testing.assert_array_equal(rows, np.arange(6, 45))
    is_ignored = TERNARY.coding_matrix[unknown.class_index[rows]] == 0
    np.testing.assert_allclose(margins[is_ignored], bits.margins(samples.X)[rows][is_ignored])


def test_a_constant_bit_stays_constant():
    samples = blobs()
    some = Samples(samples.X, np.where(samples.class_index == 2, -1, samples.class_index))
    _, bits = learned(LinearSVC(), some)
    margins, _ = found(bits, some)
    assert len(np.unique(margins[:, 0])) == 1 < len(np.unique(margins[:, 1]))


@pytest.mark.parametrize(
    "estimator",
    [
        DecisionTreeClassifier(),
        SGDClassifier(),
        LinearSVC(loss="hinge"),
        LinearSVC(penalty="l1"),
        LogisticRegression(l1_ratio=1.0, solver="liblinear"),
        make_pipeline(SelectKBest(k=2), LogisticRegression()),
    ],
    ids=str,
)
def test_of_other_learners_nothing_is_known(estimator):
    samples = blobs()
    assert found(learned(estimator, samples)[1], samples) is None
