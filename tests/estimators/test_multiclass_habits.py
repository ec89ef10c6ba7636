"""scikit-learn's tests of one-vs-rest, one-vs-one and output codes, applied to ECOCClassifier.

Left out, and why:

- Several labels per sample: see ``test_multilabel_habits``.
- ``pairwise_indices_``: the coding matrix tells which samples a bit was trained on.
- Regressors as learners: as with OutputCodeClassifier, a learner must be a classifier.

Different, with a test each:

- ``predict_proba`` always exists, since all margins have a softmax, and its rows sum to one, even if no bit ever says
  yes.
- Margins at which the loss is flat, such as those beyond 1 under the hinge loss, count the same; the linear loss
  tells them apart.
- A constant target is an error, as in one-vs-one; one-vs-rest predicts it.
- ``decision_function`` of a one-vs-one code is minus the decoding loss; votes are the Hamming loss.
- Messages of ``partial_fit`` name the unknown label instead of listing all.
"""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression, Perceptron, SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils import check_array, get_tags
from sklearn.utils._mocking import CheckingClassifier

from codekin import ECOCClassifier

CODEBOOKS = ["one_vs_rest", "one_vs_one", "dense_random"]

MEALS = np.array([[0, 0, 5], [0, 5, 0], [3, 0, 0], [0, 0, 6], [6, 0, 0]])
"""Each feature stands for one label."""


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    return X[order], y[order]


def ecoc(learner, codebook="dense_random", **options):
    return ECOCClassifier(learner, codebook=codebook, random_state=0, **options)


class Undecided(BaseEstimator):
    """Has nothing to say, and keeps no classes."""

    def fit(self, X, y):
        return self

    def decision_function(self, X):
        return np.zeros(len(X))


class Naysayer(ClassifierMixin, BaseEstimator):
    """Is certain that every sample is on the side of 0."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return np.tile([1.0, 0.0], (len(X), 1))


# Targets


@pytest.mark.parametrize("codebook", CODEBOOKS)
def test_predicting_needs_a_fit(codebook):
    with pytest.raises(NotFittedError):
        ecoc(LinearSVC(), codebook).predict([])


@pytest.mark.parametrize("y", [[[1, 2], [3, 1]], [[1.5, 2.4], [3.1, 0.8]]])
def test_a_matrix_of_targets_is_refused(y):
    with pytest.raises(ValueError, match="Got a table of other values; scikit-learn's MultiOutputClassifier"):
        ecoc(MultinomialNB()).fit([[1, 0], [0, 1]], np.array(y))


@pytest.mark.parametrize("codebook", CODEBOOKS)
def test_continuous_targets_are_refused(codebook, iris):
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        ecoc(LinearSVC(), codebook).fit(iris[0], iris[0][:, 0])


@pytest.mark.parametrize("codebook", CODEBOOKS)
@pytest.mark.parametrize("label", [0, 1, "a"])
def test_a_constant_target_is_an_error_that_names_it(codebook, label):
    with pytest.raises(ValueError, match=f"at least 2 classes. Got 1 class: \\[{label!r}\\]"):
        ecoc(LogisticRegression(), codebook).fit(np.ones((10, 2)), np.full(10, label))


@pytest.mark.parametrize("codebook", CODEBOOKS)
def test_labels_may_be_text(codebook):
    y = np.array(["a", "b", "c", "d"])
    np.testing.assert_array_equal(ecoc(LinearSVC(), codebook).fit(np.eye(4), y).predict(np.eye(4)), y)


@pytest.mark.parametrize("codebook", CODEBOOKS)
def test_lists_give_what_arrays_give(codebook, iris):
    X, y = iris
    from_arrays = ecoc(LinearSVC(), codebook).fit(X, y).predict(X)
    from_lists = ecoc(LinearSVC(), codebook).fit(X.tolist(), y.tolist()).predict(X.tolist())
    np.testing.assert_array_equal(from_lists, from_arrays)


# Learners


@pytest.mark.parametrize("learner", [LinearSVC(), MultinomialNB(), SVC()])
@pytest.mark.parametrize("codebook", CODEBOOKS)
def test_there_is_a_learner_for_every_bit_whether_it_has_margins_or_probabilities(learner, codebook, iris):
    classifier = ecoc(learner, codebook).fit(*iris)
    assert len(classifier.estimators_) == classifier.coding_matrix_.shape[1] == 3
    assert classifier.score(*iris) > 0.65


def test_a_code_of_one_bit_per_class_is_as_accurate_as_the_learners_own_one_vs_rest(iris):
    own = LinearSVC(random_state=0).fit(*iris)
    ours = ecoc(LinearSVC(random_state=0), "one_vs_rest", loss="linear", decoding="loss").fit(*iris)
    assert ours.score(*iris) == own.score(*iris)


@pytest.mark.parametrize("learner", [DecisionTreeRegressor(), LinearRegression()])
def test_a_regressor_is_no_learner_of_signs(learner, iris):
    with pytest.raises(ValueError, match=f"Got {type(learner).__name__}, a regressor; use a classifier"):
        ecoc(learner).fit(*iris)


@pytest.mark.parametrize("learner", [MultinomialNB(), LinearSVC(random_state=0), LogisticRegression()])
@pytest.mark.parametrize("codebook", CODEBOOKS)
def test_three_labels_that_features_stand_for_are_told_apart(learner, codebook):
    classifier = ecoc(learner, codebook).fit(MEALS, ["eggs", "spam", "ham", "eggs", "ham"])
    assert set(classifier.classes_) == {"eggs", "ham", "spam"}
    assert classifier.predict([[0, 0, 4]]) == ["eggs"]


@pytest.mark.parametrize("learner", [MultinomialNB(), LinearSVC(random_state=0), LogisticRegression()])
@pytest.mark.parametrize("codebook", CODEBOOKS)
def test_two_labels_have_one_decision_and_two_probabilities(learner, codebook):
    classifier = ecoc(learner, codebook).fit(MEALS, ["eggs", "spam", "spam", "eggs", "spam"])
    assert classifier.predict([[0, 0, 4]]) == ["eggs"]
    decisions = classifier.decision_function(MEALS)
    assert decisions.shape == (5,)
    np.testing.assert_array_equal(decisions > 0, classifier.predict(MEALS) == "spam")
    probabilities = classifier.predict_proba(MEALS)
    assert probabilities.shape == (5, 2)
    np.testing.assert_array_equal(classifier.classes_[probabilities.argmax(axis=1)], classifier.predict(MEALS))


@pytest.mark.parametrize("codebook", CODEBOOKS)
def test_two_classes_are_told_apart_as_the_learner_alone_does(codebook):
    X, y = load_breast_cancer(return_X_y=True)
    X, y = X[:200], y[:200]
    neighbours = KNeighborsClassifier(n_neighbors=8, weights="distance")
    np.testing.assert_array_equal(ecoc(neighbours, codebook).fit(X, y).predict(X), neighbours.fit(X, y).predict(X))


@pytest.mark.parametrize("codebook", CODEBOOKS)
def test_a_pipeline_of_one_step_is_as_good_as_the_step(codebook, iris):
    X, y = iris
    alone = ecoc(DecisionTreeClassifier(max_depth=2), codebook).fit(X, y)
    piped = ecoc(Pipeline([("tree", DecisionTreeClassifier(max_depth=2))]), codebook).fit(X, y)
    np.testing.assert_array_equal(piped.predict(X), alone.predict(X))


@pytest.mark.parametrize("codebook", CODEBOOKS)
def test_a_search_sets_parameters_of_the_learner(codebook, iris):
    choices = [0.1, 0.5, 0.8]
    search = GridSearchCV(ecoc(LinearSVC(), codebook), {"estimator__C": choices}, cv=3).fit(*iris)
    assert search.best_estimator_.estimators_[0].C in choices


# Probabilities, decisions and ties


def test_probabilities_sum_to_one_and_the_largest_is_predicted(iris):
    X, y = iris
    classifier = ecoc(MultinomialNB()).fit(X[:80], y[:80])
    probabilities = classifier.predict_proba(X[80:])
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    np.testing.assert_array_equal(probabilities.argmax(axis=1), classifier.predict(X[80:]))


def test_learners_without_probabilities_have_some_here(iris):
    assert not hasattr(LinearSVC(), "predict_proba")
    assert ecoc(LinearSVC()).fit(*iris).predict_proba(iris[0]).shape == (150, 3)


@pytest.mark.parametrize("codebook", CODEBOOKS)
def test_probabilities_sum_to_one_where_no_bit_ever_says_yes(codebook, iris):
    probabilities = ecoc(Naysayer(), codebook).fit(*iris).predict_proba(iris[0])
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)


@pytest.mark.parametrize("learner", [Undecided(), Naysayer(), SVC()])
@pytest.mark.parametrize("codebook", CODEBOOKS)
def test_the_prediction_is_the_first_of_the_best_decisions(learner, codebook):
    X, y = np.zeros((4, 1)), np.arange(4)
    classifier = ecoc(learner, codebook).fit(X, y)
    np.testing.assert_array_equal(classifier.predict(X), classifier.decision_function(X).argmax(axis=1))


def test_votes_are_the_hamming_loss_of_a_one_vs_one_code(iris):
    X, y = iris
    classifier = ecoc(LinearSVC(), "one_vs_one", loss="hamming").fit(X, y)
    decisions = classifier.decision_function(X)
    votes = np.zeros((150, 3))
    for bit, estimator in enumerate(classifier.estimators_):
        side = np.where(estimator.predict(X) == 1, 1, -1)
        for k in range(3):
            votes[:, k] += side == classifier.coding_matrix_[k, bit]
    np.testing.assert_allclose(decisions - decisions[:, :1], votes - votes[:, :1])


def test_margins_settle_most_ties_between_votes(iris):
    classifier = ecoc(LinearSVC(), "one_vs_one", loss="linear").fit(*iris)
    decisions = classifier.decision_function(iris[0])
    np.testing.assert_array_equal(decisions.argmax(axis=1), classifier.predict(iris[0]))
    assert min(len(np.unique(column)) for column in decisions.T) > 140


@pytest.mark.parametrize("shift", [0, 1, 2])
def test_a_tie_between_votes_is_not_for_the_first_label_to_win(shift):
    X, y = np.array([[1, 2], [2, 1], [-2, 1], [-2, -1]]), np.array([2, 0, 1, 2])
    learner = Perceptron(shuffle=False, max_iter=4, tol=None)
    usual = ecoc(learner, "one_vs_one", loss="linear").fit(X, y).predict(X)
    shifted = ecoc(learner, "one_vs_one", loss="linear").fit(X, (y + shift) % 3).predict(X)
    np.testing.assert_array_equal(shifted, (usual + shift) % 3)


# Batches


@pytest.mark.parametrize("codebook", ["one_vs_rest", "one_vs_one"])
@pytest.mark.parametrize("first", [100, 60])
def test_counts_learned_in_two_batches_are_those_of_one(codebook, first):
    X, y = load_iris(return_X_y=True)  # in the order of the classes, so that the first batch lacks one
    batches = ecoc(MultinomialNB(), codebook).partial_fit(X[:first], y[:first], np.unique(y))
    batches.partial_fit(X[first:], y[first:])
    assert len(batches.estimators_) == 3
    np.testing.assert_array_equal(batches.predict(X), ecoc(MultinomialNB(), codebook).fit(X, y).predict(X))


def test_a_batch_may_lack_classes():
    rng = np.random.default_rng(0)
    X, y = rng.random((14, 2)), np.array([1, 1, 2, 3, 3, 0, 0, 4, 4, 4, 4, 4, 2, 2])
    learner = SGDClassifier(max_iter=1, tol=None, shuffle=False, random_state=0)
    classifier = ecoc(learner, "one_vs_one").partial_fit(X[:7], y[:7], np.arange(5))
    assert set(classifier.predict(X)) <= set(range(5))
    classifier.partial_fit(X[7:], y[7:])
    whole = ecoc(learner, "one_vs_one").fit(X, y)
    assert len(classifier.estimators_) == len(whole.estimators_) == 10


def test_a_label_that_was_not_announced_is_named():
    X, y = np.eye(4), np.array([0, 1, 2, 3])
    classifier = ecoc(MultinomialNB()).partial_fit(X, y, np.arange(4))
    with pytest.raises(ValueError, match="The label 5 is not among the 4 classes of the model"):
        classifier.partial_fit(X, [0, 1, 2, 5])
    with pytest.raises(ValueError, match="The label 5 is not among the 4 classes of the model"):
        ecoc(MultinomialNB()).partial_fit(X, [0, 1, 2, 5], np.arange(4))


def test_batches_need_a_learner_of_batches_and_the_error_says_which_has_none(iris):
    with pytest.raises(AttributeError, match="This 'ECOCClassifier' has no attribute 'partial_fit'") as raised:
        ecoc(LogisticRegression()).partial_fit(*iris)
    assert "'LogisticRegression' object has no attribute 'partial_fit'" in str(raised.value.__cause__)


# Samples that are the learner's business


@pytest.mark.parametrize("container", [sparse.csc_matrix, sparse.csc_array])
def test_whether_samples_may_be_sparse_is_for_the_learner_to_say(container, iris):
    X, y = iris
    dense_only = CheckingClassifier(check_X=check_array, check_X_params={"accept_sparse": False})
    with pytest.raises(TypeError, match="Sparse data was passed"):
        ecoc(dense_only).fit(container(X), y)
    classifier = ecoc(dense_only).fit(X, y)
    with pytest.raises(TypeError, match="Sparse data was passed"):
        classifier.predict(container(X))
    assert ecoc(LinearSVC()).fit(container(X), y).score(container(X), y) > 0.8


@pytest.mark.parametrize("codebook", CODEBOOKS)
def test_a_kernel_has_a_feature_for_every_sample_that_a_bit_learned_from(codebook, iris):
    X, y = iris
    X, y = X[1:], y[1:]
    counts = np.bincount(y)
    assert get_tags(ecoc(SVC(kernel="precomputed"), codebook)).input_tags.pairwise
    assert not get_tags(ecoc(SVC(), codebook)).input_tags.pairwise
    plain = ecoc(SVC(kernel="linear"), codebook).fit(X, y)
    assert plain.n_features_in_ == 4
    assert {estimator.n_features_in_ for estimator in plain.estimators_} == {4}
    kernel = ecoc(SVC(kernel="precomputed"), codebook).fit(X @ X.T, y)
    assert kernel.n_features_in_ == 149
    learned_from = [int(counts[column != 0].sum()) for column in kernel.coding_matrix_.T]
    assert [estimator.n_features_in_ for estimator in kernel.estimators_] == learned_from
