import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from codekin.code import Code
from codekin.learners import AROW, IndependentBits
from codekin.learners.calibration import out_of_fold_margins
from codekin.learners.without_samples import has_enough_samples
from codekin.samples import Samples

ONE_VS_REST = Code.of(2 * np.eye(3, dtype=np.int8) - 1)
ONE_VS_ONE = Code.of([[1, 1, 0], [-1, 0, 1], [0, -1, -1]])


def noise(n_samples=240, n_features=4):
    return Samples(np.random.default_rng(0).normal(size=(n_samples, n_features)), np.arange(n_samples) % 3)


def test_unseen_margins_of_noise_know_nothing_where_seen_ones_know_all():
    samples, learner = noise(), IndependentBits(DecisionTreeClassifier())
    signs = ONE_VS_REST.coding_matrix[samples.class_index]
    seen = learner.fit(samples, ONE_VS_REST, rng=np.random.default_rng(0)).margins(samples.X)
    unseen, rows = out_of_fold_margins(learner, samples, ONE_VS_REST, rng=np.random.default_rng(0))
    assert (seen * signs > 0).all()
    assert (unseen * signs > 0).mean() < 0.7
    np.testing.assert_array_equal(rows, np.arange(240))


def test_no_more_folds_are_learned_than_it_takes():
    class Counting:
        n_fits = 0

        def fit(self, samples, code, *, rng):
            self.n_fits += 1
            return IndependentBits(LogisticRegression()).fit(samples, code, rng=rng)

    learner, samples = Counting(), noise(120)
    margins, rows = out_of_fold_margins(learner, samples, ONE_VS_REST, n_margins=30, rng=np.random.default_rng(0))
    assert learner.n_fits == 2
    assert 30 <= len(margins) == len(rows) < 60


@pytest.mark.parametrize(
    ("estimator", "suffices"),
    [
        (LinearSVC(), True),
        (make_pipeline(StandardScaler(), LogisticRegression()), True),
        (make_pipeline(LinearDiscriminantAnalysis(), LogisticRegression()), False),
        (make_pipeline(StandardScaler(), DecisionTreeClassifier()), False),
        (DecisionTreeClassifier(max_depth=1), False),
    ],
)
def test_linear_bits_of_many_samples_need_no_folds(estimator, suffices):
    samples = noise()
    bits = IndependentBits(estimator).fit(samples, ONE_VS_REST, rng=np.random.default_rng(0))
    assert has_enough_samples(bits, samples, ONE_VS_REST) is suffices


@pytest.mark.parametrize(("code", "n_samples"), [(ONE_VS_REST, 81), (ONE_VS_ONE, 120)])
def test_every_bit_must_have_seen_twenty_samples_for_each_feature(code, n_samples):
    for n, expected in ((n_samples, True), (n_samples - 3, False)):
        samples = noise(n)
        bits = IndependentBits(LinearSVC()).fit(samples, code, rng=np.random.default_rng(0))
        assert has_enough_samples(bits, samples, code) is expected


def test_features_that_were_not_selected_count():
    samples = noise(120, n_features=40)
    estimator = make_pipeline(SelectKBest(k=2), LogisticRegression())
    bits = IndependentBits(estimator).fit(samples, ONE_VS_REST, rng=np.random.default_rng(0))
    assert not has_enough_samples(bits, samples, ONE_VS_REST)


def test_samples_without_weight_do_not_count():
    samples = noise(81)
    bits = IndependentBits(LinearSVC()).fit(samples, ONE_VS_REST, rng=np.random.default_rng(0))
    weighted = Samples(samples.X, samples.class_index, np.r_[0.0, 0.0, np.ones(79)])
    assert not has_enough_samples(bits, weighted, ONE_VS_REST)


def test_the_bits_of_online_learners_are_linear_too():
    samples = noise()
    bits = AROW().fit(samples, ONE_VS_REST, rng=np.random.default_rng(0))
    assert has_enough_samples(bits, samples, ONE_VS_REST)
