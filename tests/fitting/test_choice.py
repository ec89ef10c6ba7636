"""Whether the default of ECOCClassifier takes a code, and what it is without one."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.tree import DecisionTreeClassifier

from codekin import ECOCClassifier, load_model, save_model
from codekin.code import Assignment, Code
from codekin.codebooks.symbols import single_column
from codekin.decoding import fit_decoder
from codekin.learners.estimators import LEAST_PROBABILITY


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:600] / 16, np.array(list("abcdefghij"))[y[:600]], X[600:] / 16, np.array(list("abcdefghij"))[y[600:]]


def test_neighbours_without_a_code_predict_what_they_predict_alone(digits):
    X, y, X_test, _ = digits
    classifier = ECOCClassifier(KNeighborsClassifier(), random_state=0).fit(X, y)
    alone = KNeighborsClassifier().fit(X, y)
    np.testing.assert_array_equal(classifier.predict(X_test), alone.predict(X_test))
    assert classifier.coding_matrix_.shape == (10, 1)
    assert len(classifier.estimators_) == 1
    assert "no code: the learner as it is" in str(classifier.report())
    assert "held-out samples right" in classifier.report().codebook_reason


def test_a_single_column_of_all_classes_has_the_probabilities_of_its_learner(digits):
    X, y, X_test, _ = digits
    classifier = ECOCClassifier(GaussianNB(), n_symbols=10).fit(X, y)
    np.testing.assert_allclose(
        classifier.predict_proba(X_test), GaussianNB().fit(X, y).predict_proba(X_test), rtol=1e-4, atol=1e-12
    )


def test_naive_bayes_is_better_and_surer_than_alone(digits):
    X, y, X_test, truth = digits
    classifier, alone = (one.fit(X, y) for one in (ECOCClassifier(GaussianNB(), random_state=0), GaussianNB()))
    assert classifier.score(X_test, truth) > alone.score(X_test, truth) + 0.01
    own = (truth[:, None] == alone.classes_).astype(bool)
    ours, theirs = (-np.log(np.clip(one.predict_proba(X_test)[own], 1e-15, 1)).mean() for one in (classifier, alone))
    assert ours < theirs / 2


def test_trees_get_dense_columns_beside_one_of_all_classes(digits):
    X, y, X_test, truth = digits
    classifier = ECOCClassifier(DecisionTreeClassifier(random_state=0), random_state=0).fit(X, y)
    matrix = classifier.coding_matrix_
    assert matrix.shape == (10, 12)
    np.testing.assert_array_equal(np.sort(matrix[:, 0]), np.arange(10))
    assert matrix[:, 1:].max() == 1
    assert classifier.decoding_ == "learned"
    assert classifier.score(X_test, truth) > DecisionTreeClassifier(random_state=0).fit(X, y).score(X_test, truth)


@pytest.mark.parametrize("learner", [RandomForestClassifier(5, random_state=0), MLPClassifier(8, max_iter=20)])
def test_forests_and_networks_get_one_vs_rest_beside_a_column_of_all_classes(digits, learner):
    X, y, X_test, _ = digits
    classifier = ECOCClassifier(learner.set_params(random_state=0), random_state=0).fit(X, y)
    alone, rest = clone(learner).fit(X, y), OneVsRestClassifier(clone(learner)).fit(X, y)
    theirs = np.column_stack([one.predict_proba(X_test)[:, 1] for one in rest.estimators_])
    least = LEAST_PROBABILITY
    own = np.log((1 - least) * alone.predict_proba(X_test) + least / 10)
    pairs = [np.log((1 - least) * p + least / 2) for p in (theirs, 1 - theirs)]
    scores = own / 2 + (pairs[0] - pairs[1]) / 3
    expected = np.exp(scores - scores.max(axis=1, keepdims=True))
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(classifier.predict_proba(X_test), expected, rtol=1e-3, atol=1e-6)
    assert "several fits of this learner are better than one" in classifier.report().codebook_reason


def test_with_many_classes_forests_get_no_column_beside_that_of_all():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(60), 8)
    X = rng.normal(size=(60, 5))[y] + 0.3 * rng.normal(size=(480, 5))
    classifier = ECOCClassifier(RandomForestClassifier(3, random_state=0), random_state=0).fit(X, y)
    assert not classifier.codebook_.name.startswith("one_vs_rest_beside")


def test_boosting_is_left_as_it_is_where_columns_are_not_ahead(digits):
    X, y, X_test, _ = digits
    X, X_test, y = X[:, :4], X_test[:, :4], np.roll(y, 1)
    learner = GradientBoostingClassifier(n_estimators=2, max_depth=1, random_state=0)
    classifier = ECOCClassifier(learner, random_state=0).fit(X, y)
    assert "no code: the learner as it is" in str(classifier.report())
    np.testing.assert_array_equal(classifier.predict(X_test), clone(learner).fit(X, y).predict(X_test))


def test_discriminants_of_features_that_determine_each_other_get_one_vs_rest():
    rng = np.random.default_rng(0)
    levels = rng.integers(3, size=(800, 4))
    y = np.where(levels[:, 0] == 0, 0, 1 + (levels[:, 1] + levels[:, 2] > 2))
    y[rng.random(800) < 0.1 * (y > 0)] = 3
    X = np.eye(3)[levels].reshape(800, 12)
    classifier = ECOCClassifier(LinearDiscriminantAnalysis(), random_state=0).fit(X[:500], y[:500])
    alone = LinearDiscriminantAnalysis().fit(X[:500], y[:500])
    assert classifier.score(X[500:], y[500:]) > alone.score(X[500:], y[500:]) - 0.02


@pytest.mark.parametrize("seed", range(3))
def test_discriminants_of_few_samples_do_not_get_the_temperature_of_even_fewer(seed):
    rng, y = np.random.default_rng(seed), np.arange(1_500) % 6
    X = 0.9 * rng.normal(size=(6, 30))[y] + rng.normal(size=(1_500, 30))
    classifier = ECOCClassifier(LinearDiscriminantAnalysis(), random_state=0).fit(X[:300], y[:300])
    alone = LinearDiscriminantAnalysis().fit(X[:300], y[:300])
    ours, theirs = (log_loss(y[300:], each.predict_proba(X[300:])) for each in (classifier, alone))
    assert ours < 1.05 * theirs


@pytest.mark.parametrize(
    "given",
    [
        {"n_bits": 9},
        {"codebook": "dense_random"},
        {"decoding": "loss"},
        {"loss": "hinge"},
        {"assignment": "random"},
        {"class_distances": "means"},
        {"calibrate": "holdout"},
    ],
)
def test_a_given_code_is_not_left_out(digits, given):
    X, y, *_ = digits
    assert ECOCClassifier(GaussianNB(), random_state=0, **given).fit(X, y).coding_matrix_.shape[1] > 1


def test_linear_learners_and_learners_with_weights_of_sides_get_a_code(digits):
    X, y, *_ = digits
    linear = ECOCClassifier(LogisticRegression(max_iter=1000), random_state=0).fit(X, y)
    assert linear.codebook_.name == "one_vs_rest"
    with_sides = RandomForestClassifier(3, class_weight={0: 1, 1: 2}, random_state=0)
    assert ECOCClassifier(with_sides, random_state=0).fit(X, y).codebook_.name == "dense_random"


class BinaryForest(RandomForestClassifier):
    """Refuses more than two classes without saying so beforehand."""

    def fit(self, X, y, sample_weight=None):
        if len(np.unique(y)) > 2:
            raise ValueError("two classes")
        return super().fit(X, y, sample_weight)


def test_a_learner_that_refuses_several_classes_gets_a_code(digits):
    X, y, *_ = digits
    assert ECOCClassifier(BinaryForest(3, random_state=0), random_state=0).fit(X, y).codebook_.name == "dense_random"


def test_samples_without_weight_change_nothing(digits):
    X, y, X_test, _ = digits
    weights = np.ones(700)
    weights[600:] = 0
    more = np.vstack([X, X_test[:100]]), np.append(y, np.roll(y, 1)[:100])
    classifiers = [
        ECOCClassifier(GaussianNB(), random_state=0).fit(X, y, np.ones(600)),
        ECOCClassifier(GaussianNB(), random_state=0).fit(*more, weights),
    ]
    first, second = (one.predict_proba(X_test) for one in classifiers)
    np.testing.assert_allclose(first.argmax(axis=1), second.argmax(axis=1))


def test_the_choice_is_the_same_for_a_seed_and_any_number_of_workers(digits):
    X, y, X_test, _ = digits
    forest = RandomForestClassifier(5)
    first, second = (ECOCClassifier(forest, random_state=3, n_jobs=n).fit(X, y) for n in (1, 2))
    np.testing.assert_array_equal(first.predict_proba(X_test), second.predict_proba(X_test))
    assert first.report().codebook_reason == second.report().codebook_reason


def test_a_model_without_a_code_is_saved_and_loaded(digits, tmp_path):
    X, y, X_test, _ = digits
    classifier = ECOCClassifier(GaussianNB(), random_state=0).fit(X, y)
    loaded = load_model(save_model(classifier, tmp_path / "model"), trusted=True)
    np.testing.assert_array_equal(loaded.predict_proba(X_test), classifier.predict_proba(X_test))
    assert str(loaded.report()) == str(classifier.report())


def test_more_than_127_classes_need_no_code():
    rng = np.random.default_rng(0)
    means, y = 3 * rng.normal(size=(200, 12)), np.repeat(np.arange(200), 10)
    X = means[y] + rng.normal(size=(2000, 12))
    classifier = ECOCClassifier(GaussianNB(), random_state=0).fit(X, y)
    assert classifier.coding_matrix_.max() == 199
    assert classifier.score(X, y) >= GaussianNB().fit(X, y).score(X, y) - 0.01


def test_the_decoder_of_infinite_strength_keeps_the_order_of_the_classes():
    rng = np.random.default_rng(0)
    classes = rng.integers(4, size=300)
    margins = np.log(rng.dirichlet(np.ones(4), size=300)) + 2 * np.eye(4)[classes]
    code = Code(single_column(4), Assignment(np.arange(4)))
    scaled = fit_decoder(margins, classes, code, loss="log_likelihood", rng=0).scaled()
    np.testing.assert_array_equal(scaled.decoder.decode(margins), margins.argmax(axis=1))
    assert scaled.chosen == 0
