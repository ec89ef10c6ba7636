import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from codekin import ECOCClassifier, load_model, save_model


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    return X[order] / 16, y[order]


def fitted(digits, learner=None, n=1_000, **settings):
    X, y = digits
    learner = RidgeClassifier() if learner is None else learner
    return ECOCClassifier(learner, random_state=0, **settings).fit(X[:n], y[:n])


def log_loss(classifier, X, y):
    probabilities = classifier.predict_proba(X)
    return -np.log(np.clip(probabilities[np.arange(len(y)), y], 1e-12, 1)).mean()


@pytest.mark.parametrize("learner", [RidgeClassifier(), LinearSVC(), "softmax"])
def test_few_linear_bits_are_decoded_better_by_what_was_learned(digits, learner):
    X, y = digits[0][1_000:], digits[1][1_000:]
    by_loss, learned = (fitted(digits, learner, n_bits=6, decoding=how) for how in ("loss", "learned"))
    assert learned.score(X, y) > by_loss.score(X, y)
    assert log_loss(learned, X, y) < log_loss(by_loss, X, y)
    assert (by_loss.decoding_, learned.decoding_) == ("loss", "learned")
    np.testing.assert_array_equal(by_loss.bit_margins(X), learned.bit_margins(X))


def test_by_default_linear_bits_learn_their_decoder_and_the_report_says_so(digits):
    classifier = fitted(digits, n_bits=6)
    assert classifier.decoding_ == classifier.report().decoding == "learned"
    assert classifier.report().learned_accuracy > classifier.report().loss_accuracy
    assert "decoding                       learned (held-out accuracy: learned 0." in str(classifier.report())
    # The paper's bound is one on loss-based decoding.
    assert np.isnan(classifier.report(*digits).error_bound)


def test_by_default_trees_and_learners_of_probabilities_are_decoded_by_the_loss(digits):
    for learner in (DecisionTreeClassifier(), "softmax"):
        assert fitted(digits, learner, n_bits=6).decoding_ == "loss"
    for settled in ({"calibrate": "holdout"}, {"loss": "hinge"}):
        assert fitted(digits, n_bits=6, **settled).decoding_ == "loss"


def test_margins_of_trees_are_taken_from_trees_that_have_not_seen_the_samples(digits):
    X, y = digits[0][1_000:], digits[1][1_000:]
    by_loss, learned = (
        fitted(digits, DecisionTreeClassifier(), n_bits=10, decoding=how) for how in ("loss", "learned")
    )
    assert learned.score(X, y) >= by_loss.score(X, y) - 0.01
    assert log_loss(learned, X, y) < log_loss(by_loss, X, y)


@pytest.mark.parametrize("codebook", ["dense_random", "sparse_random", "one_vs_one"])
def test_a_learned_decoder_is_saved_with_its_model(digits, tmp_path, codebook):
    classifier = fitted(digits, codebook=codebook, decoding="learned")
    again = load_model(save_model(classifier, tmp_path / "model"))
    X = digits[0]
    np.testing.assert_array_equal(again.predict(X), classifier.predict(X))
    np.testing.assert_array_equal(again.predict_proba(X), classifier.predict_proba(X))
    assert again.decoding_ == "learned"
    assert str(again.report()) == str(classifier.report())


def test_probabilities_and_predictions_agree(digits):
    classifier, X = fitted(digits, n_bits=8, decoding="learned"), digits[0][:50]
    probabilities = classifier.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    np.testing.assert_array_equal(classifier.classes_[probabilities.argmax(axis=1)], classifier.predict(X))
    labels, best = classifier.top_k_proba(X, 3)
    np.testing.assert_array_equal(labels[:, 0], classifier.predict(X))
    np.testing.assert_allclose(best[:, 0], probabilities.max(axis=1))


def test_the_result_does_not_depend_on_the_number_of_workers(digits):
    one, two = (fitted(digits, n_bits=6, decoding="learned", n_jobs=n_jobs) for n_jobs in (1, 2))
    np.testing.assert_array_equal(one.predict_proba(digits[0]), two.predict_proba(digits[0]))


def test_samples_of_no_weight_teach_the_decoder_nothing(digits):
    X, y = digits[0][:900], digits[1][:900]
    weights = np.r_[np.ones(600), np.zeros(300)]
    classifier = ECOCClassifier(RidgeClassifier(), n_bits=6, decoding="learned", assignment="random", random_state=0)
    noise = np.r_[y[:600], np.roll(y[600:], 1)]
    first, second = (classifier.fit(X, labels, weights).predict(X) for labels in (y, noise))
    np.testing.assert_array_equal(first, second)


def test_classes_that_come_later_leave_the_scores_of_the_others_alone(digits):
    X, y = digits
    old = y < 8
    codebook = np.sign(np.random.default_rng(0).normal(size=(10, 12)))
    classifier = ECOCClassifier(RidgeClassifier(), codebook=codebook, assignment=np.arange(8), decoding="learned")
    classifier.fit(X[old], y[old])
    before = classifier.decision_function(X[:20])
    classifier.add_classes(X[~old], y[~old])
    np.testing.assert_array_equal(classifier.decision_function(X[:20])[:, :8], before)
    assert np.isfinite(classifier.decision_function(X)).all()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"decoding": "learnt"}, "decoding"),
        ({"decoding": "learned", "calibrate": "cv"}, "decoding='learned' needs margins as they are"),
    ],
)
def test_what_does_not_go_together_is_refused(digits, settings, message):
    with pytest.raises(ValueError, match=message):
        fitted(digits, LogisticRegression(), **settings)


def test_few_samples_are_decoded_by_the_loss(digits):
    assert fitted(digits, n=95).decoding_ == "loss"
    assert fitted(digits, n=95, decoding="learned").decoding_ == "learned"


@pytest.mark.parametrize(
    ("learner", "n_bits", "codebook"),
    [
        (LinearSVC(), None, "one_vs_rest"),
        (LinearSVC(), 8, "dense_random"),
        (DecisionTreeClassifier(), None, "dense_random_beside_all_classes"),
    ],
)
def test_by_default_linear_bits_have_a_column_for_each_class_and_the_report_says_why(digits, learner, n_bits, codebook):
    classifier = fitted(digits, learner, n=300, n_bits=n_bits)
    assert classifier.codebook_.name == codebook
    assert ("codebook chosen since" in str(classifier.report())) == (n_bits is None)
    assert "chosen since" not in str(fitted(digits, learner, n=300, codebook="hadamard").report())


@pytest.mark.parametrize(("n_classes", "n_bits"), [(2, 1), (3, 3), (4, 7), (5, 15), (10, 15), (20, 21), (100, 67)])
def test_by_default_there_are_no_more_bits_than_classes_or_fifteen(n_classes, n_bits):
    rng = np.random.default_rng(0)
    y = np.arange(4 * n_classes) % n_classes
    X = rng.normal(size=(n_classes, 3))[y] + 0.1 * rng.normal(size=(len(y), 3))
    assert len(ECOCClassifier(DecisionTreeClassifier(), random_state=0).fit(X, y).estimators_) == n_bits


def test_the_default_is_no_less_accurate_than_one_versus_the_rest(digits):
    X, y = digits
    for learner in (LinearSVC(), LogisticRegression(max_iter=1000)):
        ours = fitted(digits, learner)
        assert len(ours.estimators_) == 10
        assert ours.score(X[1_000:], y[1_000:]) >= learner.fit(X[:1_000], y[:1_000]).score(X[1_000:], y[1_000:]) - 0.005


def test_batches_cannot_teach_a_decoder(digits):
    classifier = ECOCClassifier("arow", decoding="learned")
    with pytest.raises(ValueError, match="partial_fit cannot learn a decoder"):
        classifier.partial_fit(*digits, classes=range(10))
