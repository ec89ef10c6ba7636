import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.neighbors import NearestCentroid
from tests.fitting.open_settings import open_settings
from tests.reference.calibration import expected_calibration_error

from codekin.classes import ClassTree
from codekin.codebooks import trellis_codebook
from codekin.data import make_sparse_topics
from codekin.estimators import ExtremeClassifier
from codekin.estimators.inputs import as_class_tree
from codekin.fitting.defaults import AutoLearner
from codekin.learners import AROW, Softmax


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X / 16, y


def test_auto_is_arow_at_width_two_and_softmax_above(digits):
    X, y = digits
    choices = {width: ExtremeClassifier(width, random_state=0).fit(X[:300], y[:300]) for width in (2, 3)}
    assert isinstance(choices[2].learner_, AROW)
    assert isinstance(choices[3].learner_, Softmax)
    assert [choices[width].loss_.name for width in (2, 3)] == ["exponential", "logistic"]
    by_name = ExtremeClassifier(3, estimator="softmax", random_state=0).fit(X[:300], y[:300])
    np.testing.assert_array_equal(choices[3].bit_margins(X), by_name.bit_margins(X))
    assert "softmax learner" in str(by_name.report())


def test_probabilities_of_softmax_are_those_it_was_trained_for(digits):
    X, y = digits
    classifier = ExtremeClassifier(4, estimator=Softmax(n_epochs=20), random_state=0).fit(X[:900], y[:900])
    scores = classifier.bit_margins(X[900:]) @ classifier.codebook_.coding_matrix(classifier.assignment_).T / 2
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    np.testing.assert_allclose(
        classifier.predict_proba(X[900:]), shares / shares.sum(axis=1, keepdims=True), rtol=1e-4, atol=1e-6
    )


@pytest.mark.parametrize("learner", ["arow", "softmax"])
def test_the_report_says_what_the_temperature_was_worth(digits, learner):
    X, y = digits
    held_out = X[500:900], y[500:900]
    classifier = ExtremeClassifier(3, estimator=learner, random_state=0).fit(X[:500], y[:500], validation=held_out)
    report, shares = classifier.report(), classifier.predict_proba(held_out[0])
    own = np.arange(400), held_out[1]
    assert report.nll == pytest.approx(-np.log(shares[own]).mean(), abs=1e-9)
    assert report.ece == pytest.approx(expected_calibration_error(shares, held_out[1]), abs=1e-9)
    classifier.model_ = classifier.model_.with_temperature(1.0)
    shares = classifier.predict_proba(held_out[0])
    assert report.nll_before == pytest.approx(-np.log(shares[own]).mean(), abs=1e-9)
    assert report.ece_before == pytest.approx(expected_calibration_error(shares, held_out[1]), abs=1e-9)
    assert report.nll <= report.nll_before
    np.testing.assert_allclose(classifier.log_proba(*held_out), np.log(shares[own]))
    assert classifier.log_proba(held_out[0][:2], [99, 0])[0] == -np.inf


def test_wider_trellises_learn_digits_better(digits):
    X, y = digits
    scores = [
        ExtremeClassifier(width, random_state=0).fit(X[:900], y[:900]).score(X[900:], y[900:]) for width in (2, 5, 10)
    ]
    assert scores[0] > 0.7
    assert scores[2] > scores[0]


def test_probabilities_of_the_best_are_exactly_normalised(digits):
    X, y = digits
    classifier = ExtremeClassifier(3, random_state=0).fit(X[:500], y[:500], validation=(X[500:900], y[500:900]))
    everything = classifier.predict_proba(X[900:])
    np.testing.assert_allclose(everything.sum(axis=1), 1)
    labels, best = classifier.top_k_proba(X[900:], 3)
    np.testing.assert_allclose(best, np.take_along_axis(everything, labels, axis=1))
    np.testing.assert_array_equal(labels[:, 0], classifier.predict(X[900:]))
    assert (np.diff(best, axis=1) <= 1e-12).all()


def test_the_temperature_makes_held_out_classes_more_likely(digits):
    X, y = digits
    with_validation = ExtremeClassifier(random_state=0).fit(X[:500], y[:500], validation=(X[500:900], y[500:900]))
    probabilities = with_validation.predict_proba(X[500:900])
    chosen = -np.log(probabilities[np.arange(400), y[500:900]]).mean()
    with_validation.model_ = with_validation.model_.with_temperature(1.0)
    raw = with_validation.predict_proba(X[500:900])
    assert chosen < -np.log(raw[np.arange(400), y[500:900]]).mean()


def test_a_taxonomy_may_come_in_any_form(digits):
    X, y = digits
    names = np.array([f"digit {k}" for k in range(10)])
    edges = [("root", "round"), ("root", "straight")]
    edges += [("round" if k in (0, 3, 6, 8, 9) else "straight", f"digit {k}") for k in range(10)]
    nested = {
        "round": [f"digit {k}" for k in (0, 3, 6, 8, 9)],
        "straight": [f"digit {k}" for k in (1, 2, 4, 5, 7)],
    }
    tree = ClassTree.from_edges(edges)
    orders = []
    for taxonomy in (edges, nested, tree):
        classifier = ExtremeClassifier(2, taxonomy=taxonomy, random_state=0).fit(X[:400], names[y[:400]])
        orders.append(classifier.assignment_.codeword_of_class)
        assert classifier.class_distances_.tree.n_classes == 10
    np.testing.assert_array_equal(orders[0], orders[1])
    np.testing.assert_array_equal(orders[0], orders[2])
    assert orders[0].tolist() == [0, 5, 6, 1, 7, 8, 2, 9, 3, 4]


def test_labels_and_taxonomy_that_do_not_fit_are_named(digits):
    X, y = digits
    with pytest.raises(ValueError, match="label|class"):
        ExtremeClassifier(taxonomy=[("root", "a"), ("root", "b")]).fit(X, y)
    with pytest.raises(ValueError, match="no leaf for 10 of the 10 labels, '0' among them"):
        ExtremeClassifier(taxonomy=ClassTree.from_edges([("root", "a"), ("root", "b")])).fit(X, y)


def test_numbers_are_names_too():
    tree = as_class_tree([(10, 1), (10, 2), (10, 3)], np.array([3, 1, 2]))
    assert tree.class_order().tolist() == [1, 2, 0]
    same = as_class_tree(ClassTree.from_nested([["x", "y"], "z"]), np.array([0, 1, 2]))
    assert same.n_classes == 3


@pytest.fixture(scope="module")
def topics():
    return make_sparse_topics(128, 2000, words_per_sample=8, rng=0)


@pytest.mark.parametrize("is_given", [True, False])
def test_preserving_beats_random_where_similar_classes_share_words(topics, is_given):
    scores = {}
    for assignment in ("random", "preserving"):
        tree = topics.class_tree if is_given else None
        classifier = ExtremeClassifier(2, assignment=assignment, rerank=None, taxonomy=tree)
        models = [clone(classifier).set_params(random_state=seed).fit(topics.X, topics.y) for seed in range(4)]
        scores[assignment] = np.mean([model.score(topics.test.X, topics.test.y) for model in models])
    assert scores["preserving"] > scores["random"] + 0.02


def test_the_automatic_width_is_ten_or_the_widest_within_the_bits(topics):
    wide, narrow = (
        ExtremeClassifier(code="trellis", max_bits=n_bits, rerank=None, random_state=0).fit(topics.X, topics.y)
        for n_bits in (None, 100)
    )
    assert wide.codebook_.trellis.width == 10
    assert 60 < narrow.codebook_.n_bits <= 100 < wide.codebook_.n_bits


@pytest.mark.parametrize(("share", "width"), [(1.0, 10), (0.9, 5), (0.3, 2), (0.0001, 2)])
def test_the_automatic_width_fits_into_the_memory_that_is_allowed(share, width):
    n_classes, n_features = 1_000, 5_000
    limit = share * 8 * n_features * trellis_codebook(n_classes, 10).n_bits
    learner = AutoLearner(AROW(max_memory=int(limit) + 1), Softmax(max_memory=int(limit) + 1))
    assert open_settings(n_classes, sparse.csr_array((3, n_features)), estimator=learner).width == width


def test_the_default_is_better_than_class_means(digits):
    X, y = digits
    held = slice(900, None)
    nearest = NearestCentroid().fit(X[:900], y[:900]).score(X[held], y[held])
    assert ExtremeClassifier(random_state=0).fit(X[:900], y[:900]).score(X[held], y[held]) > nearest + 0.01


def test_validation_stops_early_and_epochs_are_reported(digits):
    X, y = digits
    reports = []
    ExtremeClassifier(estimator=AROW(n_epochs=20), random_state=0).fit(
        X[:300], y[:300], validation=(X[300:600], y[300:600]), on_epoch=reports.append
    )
    assert 3 <= len(reports) < 20
    assert all(0 <= report.score <= 1 for report in reports)


def test_validation_labels_that_were_never_seen_are_errors(digits):
    X, y = digits
    with pytest.warns(UserWarning, match="of the 50 validation samples have labels that no training sample has, 5 for"):
        classifier = ExtremeClassifier(random_state=0).fit(X[y < 5], y[y < 5], validation=(X[:50], y[:50]))
    assert np.isfinite(classifier.temperature_)


@pytest.mark.parametrize(
    ("validation", "message"),
    [
        (lambda X, y: (X, y + 100), "None of the 20 validation samples has a label of the training samples. Got 100,"),
        (lambda X, y: (X, y.astype(str)), "None of the 20 validation samples has a label .* Got '0', for example"),
        (lambda X, _: (X,), r"'validation' parameter must be two values, samples and labels: \(X, y\). Got 1 values"),
        (lambda X, _: X, "'validation' parameter must be two values, .* Got ndarray"),
        (lambda X, y: (X, y[:5]), "There are 20 validation samples. Got 5 labels"),
    ],
    ids=["other labels", "labels of another type", "no labels", "no tuple", "too few labels"],
)
def test_validation_samples_that_can_choose_nothing_are_refused(digits, validation, message):
    X, y = digits
    with pytest.raises(ValueError, match=message):
        ExtremeClassifier().fit(X, y, validation=validation(X[:20], y[:20]))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"time_limit": 5}, "time_limit=5 needs a budget"),
        ({"width": 3, "max_bits": 40}, "max_bits=40 needs an automatic width, which it chooses. Got width=3"),
        (
            {"estimator": 3},
            r"'estimator' parameter must be one of \['auto', 'arow', 'softmax', 'svm', 'vectors'\] or .* Got 3 instead",
        ),
        ({"taxonomy": {"root": "a"}}, "The taxonomy of 1 class has no leaf for 10 of the 10 labels, '0' among them"),
        ({"taxonomy": 3}, "The 'taxonomy' parameter must be a ClassTree, .* Got 3 instead"),
        ({"taxonomy": "tree.txt"}, "The 'taxonomy' parameter must be a ClassTree, .* Got 'tree.txt' instead"),
        ({"taxonomy": [("root", "0"), "01"]}, "Got '01' instead of a pair"),
        (
            {"assignment": "best"},
            r"'assignment' parameter must be one of \['auto', 'preserving', 'breaking', .* 'halving',",
        ),
    ],
    ids=str,
)
def test_settings_that_would_have_no_effect_or_no_meaning_are_refused(digits, settings, message):
    X, y = digits
    with pytest.raises(ValueError, match=message) as error:
        ExtremeClassifier(**settings).fit(X, y)
    assert str(error.value).count("'random'") <= 1


def test_a_given_order_within_a_budget_means_a_single_code(digits):
    X, y = digits
    classifier = ExtremeClassifier(2, assignment=np.arange(10)[::-1], max_model_bytes=1_000_000, random_state=0)
    classifier.fit(X[:300], y[:300])
    assert {trial.recipe.n_codes for trial in classifier.trials_} == {1}
    assert classifier.assignment_.codeword_of_class.tolist() == list(range(10))[::-1]


def test_a_label_that_partial_fit_does_not_know_is_shown_as_it_is(digits):
    X, y = digits
    classifier = ExtremeClassifier(random_state=0).fit(X[y < 2], y[y < 2])
    with pytest.raises(
        ValueError, match="The label 2 is not among the 2 classes of the model; use add_classes to give reserved"
    ):
        classifier.partial_fit(X[y == 2], y[y == 2])


def test_partial_fit_learns_batch_by_batch(digits):
    X, y = digits
    classifier = ExtremeClassifier(5, random_state=0)
    for start in range(0, 1200, 200):
        classifier.partial_fit(X[start : start + 200], y[start : start + 200], classes=range(10))
    assert classifier.score(X[1200:], y[1200:]) > 0.75
    fitted = ExtremeClassifier(5, random_state=0).fit(X[:400], y[:400])
    before = fitted.score(X[1200:], y[1200:])
    assert fitted.partial_fit(X[400:1200], y[400:1200]).score(X[1200:], y[1200:]) > before - 0.02
    with pytest.raises(ValueError, match="label .*99.* is not among the 10 classes"):
        classifier.partial_fit(X[:2], [99, 1])
    with pytest.raises(ValueError, match="needs the 'classes'"):
        clone(classifier).partial_fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"width": 1}, "width"),
        ({"estimator": "arrow"}, "'estimator' parameter must be one of"),
        ({"assignment": "best"}, "'assignment' parameter must be one of"),
        ({"loss": "hinges"}, "'loss' parameter must be one of"),
    ],
)
def test_a_bad_choice_is_named(parameters, message, digits):
    with pytest.raises(ValueError, match=message):
        ExtremeClassifier(**parameters).fit(*digits)


def test_pruning_drops_weights_within_the_loss_that_is_allowed():
    data = make_sparse_topics(32, 600, n_features=500, rng=0)
    X, y = data.train.X, data.train.y
    held_out = data.test.X, data.test.y
    full, pruned = (
        ExtremeClassifier(prune=prune, random_state=0).fit(X, y, validation=held_out) for prune in (None, 0.02)
    )
    assert pruned.model_.bits.nbytes < full.model_.bits.nbytes
    assert pruned.score(*held_out) >= full.score(*held_out) - 0.02
    with pytest.raises(ValueError, match="needs validation samples"):
        ExtremeClassifier(prune=0.02).fit(X, y)


@pytest.fixture(scope="module")
def many_topics():
    """More classes than are searched as a matrix."""
    return make_sparse_topics(250, 2_000, n_features=600, rng=0)


@pytest.mark.parametrize("has_taxonomy", [True, False])
def test_learnability_finds_paths_whose_bits_are_learned_better(many_topics, has_taxonomy):
    taxonomy = many_topics.class_tree if has_taxonomy else None
    options = {"code": "trellis", "taxonomy": taxonomy, "random_state": 0}
    found = ExtremeClassifier(assignment="learnability", **options).fit(many_topics.X, many_topics.y)
    ordered = ExtremeClassifier(assignment="preserving", **options).fit(many_topics.X, many_topics.y)
    assert found.assignment_result_.method == "vector_swaps"
    losses = [one.report(many_topics.X, many_topics.y).average_binary_loss for one in (found, ordered)]
    assert losses[0] < losses[1]
    again = ExtremeClassifier(assignment="learnability", **options).fit(many_topics.X, many_topics.y)
    np.testing.assert_array_equal(found.assignment_.codeword_of_class, again.assignment_.codeword_of_class)


def test_other_seeds_find_other_paths_that_are_as_good(many_topics):
    results = [
        ExtremeClassifier(code="trellis", assignment="learnability", taxonomy=many_topics.class_tree, random_state=seed)
        .fit(many_topics.X, many_topics.y)
        .assignment_result_
        for seed in range(2)
    ]
    assert (results[0].codeword_of_class != results[1].codeword_of_class).mean() > 0.5
    assert results[0].z == pytest.approx(results[1].z, rel=0.05)


def test_learnability_of_few_classes_is_searched_as_a_matrix(digits):
    X, y = digits
    classifier = ExtremeClassifier(assignment="learnability", random_state=0).fit(X[:900], y[:900])
    assert classifier.assignment_result_.is_optimal
    assert classifier.score(X[900:], y[900:]) > 0.75


def test_compressed_rows_are_checked_without_scikit_learn_and_still_checked():
    data = make_sparse_topics(8, 100, n_features=60, rng=0)
    classifier = ExtremeClassifier(random_state=0).fit(data.train.X, data.train.y)
    X = data.test.X.copy()
    np.testing.assert_array_equal(classifier.predict(X), classifier.predict(X.tocoo()))
    with pytest.raises(ValueError, match="59 features"):
        classifier.predict(X[:, 1:])
    with pytest.raises(ValueError, match="minimum of 1 is required"):
        classifier.predict(X[:0])
    X.data[3] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        classifier.predict(X)
