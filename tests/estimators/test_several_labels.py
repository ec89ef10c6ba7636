"""Several labels per sample: what is learned, predicted and stored."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import f1_score
from sklearn.model_selection import cross_val_predict
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from codekin import ECOCClassifier, ExtremeClassifier, Predictor, TextClassifier, load_model, save_model
from codekin.deploy.export import export_onnx
from codekin.samples import EncodedLabelSets, Samples

N_LABELS, N_FEATURES = 12, 60
NAMES = np.array([f"label {k:02}" for k in range(N_LABELS)])
KINDS = {
    "machines": {},
    "tree": {"code": "tree", "width": 2, "estimator": "softmax", "rerank": None},
    "tree of machines": {"code": "tree", "width": 2, "estimator": "svm"},
    "ranked tree": {"code": "tree", "width": 2, "estimator": "softmax", "rerank": "learned"},
    "two trees": {"code": "tree", "width": 2, "estimator": "softmax", "rerank": None, "n_codes": 2},
    "trellis": {"code": "trellis", "width": 3},
    "narrow trellis": {"code": "trellis", "width": 2, "rerank": "centroid"},
    "trellises": {"code": "trellis", "width": 3, "n_codes": 2},
}


def made(n_samples=800, seed=0):
    """Samples with one to three labels, each with two features of its own beside noise, and a few without any."""
    rng = np.random.default_rng(seed)
    Y = np.zeros((n_samples, N_LABELS), dtype=int)
    for row, n in zip(Y, rng.integers(0, 4, size=n_samples), strict=True):
        row[rng.choice(N_LABELS, size=n, replace=False)] = 1
    X = (rng.random((n_samples, N_FEATURES)) < 0.05).astype(float)
    for copy in range(2):
        X[:, copy * N_LABELS : (copy + 1) * N_LABELS] += Y * (rng.random(Y.shape) < 0.9)
    return sparse.csr_array(X), Y


X, Y = made()
X_TEST, Y_TEST = made(300, seed=1)


def fitted(kind, y=Y, **more):
    return ExtremeClassifier(**KINDS[kind], random_state=0).fit(X, y, **more)


@pytest.fixture(scope="module", params=KINDS)
def classifier(request):
    return fitted(request.param)


def test_predictions_are_the_labels(classifier):
    predicted = classifier.predict(X_TEST)
    assert isinstance(predicted, np.ndarray)  # as the labels
    assert predicted.shape == Y_TEST.shape
    hits = (predicted * Y_TEST).sum()
    assert 2 * hits / (predicted.sum() + Y_TEST.sum()) > 0.65


def test_the_most_probable_labels_are_right_first(classifier):
    top, probabilities = classifier.top_k_proba(X_TEST, 3)
    has_some = Y_TEST.any(axis=1)
    assert np.take_along_axis(Y_TEST, top, axis=1)[has_some, 0].mean() > 0.9
    assert (np.diff(probabilities, axis=1) <= 0).all()
    np.testing.assert_array_equal(top, classifier.top_k(X_TEST, 3)[0])


def test_marginal_probabilities_are_calibrated_and_do_not_add_up_to_one(classifier):
    top, p = classifier.top_k_proba(X_TEST, 5)
    is_label, cell = np.take_along_axis(Y_TEST, top, axis=1), np.minimum((p * 5).astype(int), 4)
    errors = [(cell == c).mean() * abs(p[cell == c].mean() - is_label[cell == c].mean()) for c in np.unique(cell)]
    assert sum(errors) < 0.08
    assert np.ptp(p.sum(axis=1)) > 1


def test_all_probabilities_are_those_of_the_list_and_predictions_are_those_from_one_half_on(classifier):
    matrix = classifier.predict_proba(X_TEST)
    top, p = classifier.top_k_proba(X_TEST, N_LABELS)
    np.testing.assert_allclose(np.take_along_axis(matrix, top, axis=1), p, atol=1e-3)
    np.testing.assert_array_equal(classifier.predict(X_TEST), sparse_from(top, p >= 0.5))


def sparse_from(top, is_wanted):
    found = np.zeros((len(top), N_LABELS), dtype=int)
    np.put_along_axis(found, top, is_wanted.astype(int), axis=1)
    return found


@pytest.mark.parametrize("thresholds", [[0.5], np.linspace(0, 1.1, N_LABELS)], ids=["one", "each"])
def test_decisions_are_above_zero_where_a_label_is_predicted_and_keep_the_order(classifier, thresholds):
    model, every = classifier.model_, classifier.decision_function(X_TEST)
    other = clone(classifier)
    other.__dict__.update(classifier.__dict__)
    other.model_ = replace(model, marginals=replace(model.marginals, thresholds=np.asarray(thresholds)))
    found = other.decision_function(X_TEST)
    np.testing.assert_array_equal(found > 0, other.predict(X_TEST))
    has_features = np.diff(X_TEST.indptr) > 0
    assert all(
        (np.diff(own[np.argsort(one, kind="stable")]) >= 0).all()
        for own, one in zip(found.T[:, has_features], every.T[:, has_features], strict=True)
    )


def test_a_saved_model_gives_the_same_answers(classifier, tmp_path):
    save_model(classifier, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    for one, other in zip(classifier.top_k_proba(X_TEST, 4), loaded.top_k_proba(X_TEST, 4), strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(classifier.predict(X_TEST), loaded.predict(X_TEST))


def test_a_predictor_gives_the_list_of_labels(classifier):
    predictor, predicted = Predictor(classifier), classifier.predict(X_TEST)
    for i in range(20):
        row = sparse.csr_array(X_TEST[[i]])
        assert predictor.predict(row) == np.flatnonzero(predicted[i]).tolist()
        assert predictor.top_k(row, 3)[0] == classifier.top_k(row, 3)[0][0].tolist()


def test_explanations_add_up_to_the_score(classifier):
    explanation = classifier.explain(X_TEST[:20])
    parts = np.asarray(explanation.contributions.sum(axis=1)).ravel() + explanation.bias
    scores = -classifier.top_k(X_TEST[:20], 1)[1][:, 0]
    np.testing.assert_allclose(parts + sum(explanation.other.values()), scores, atol=1e-6)
    assert np.abs(explanation.other["rounding"]).max() < 0.02


def test_the_error_of_a_report_is_how_often_the_best_label_is_wrong(classifier):
    report = classifier.report(X_TEST, Y_TEST)
    top = classifier.top_k(X_TEST, 1)[0]
    assert report.error == pytest.approx(1 - np.take_along_axis(Y_TEST, top, axis=1).mean())


@pytest.mark.parametrize(
    "form", [sparse.csr_array, np.ndarray.tolist, lambda y: [set(np.flatnonzero(row)) | set() for row in y]]
)
def test_the_form_of_the_labels_changes_nothing(form):
    one, other = fitted("machines"), fitted("machines", form(Y))
    np.testing.assert_array_equal(one.predict_proba(X_TEST), other.predict_proba(X_TEST))


def test_names_of_labels_are_those_of_the_lists():
    names = np.array([f"label {k:02}" for k in range(N_LABELS)])
    classifier = fitted("machines", [names[row.astype(bool)].tolist() for row in Y])
    assert classifier.classes_.tolist() == names.tolist()
    assert (classifier.top_k(X_TEST, 1)[0] == names[fitted("machines").top_k(X_TEST, 1)[0]]).all()


@pytest.mark.parametrize("kind", ["machines", "tree"])
def test_validation_samples_give_the_probabilities(kind):
    classifier = fitted(kind, validation=(X_TEST, [np.flatnonzero(row).tolist() for row in Y_TEST]))
    assert abs(classifier.predict_proba(X_TEST).mean() - Y_TEST.mean()) < 0.01


@pytest.mark.parametrize("kind", ["machines", "tree", "trellis"])
def test_a_sample_of_weight_two_is_two_samples_to_marginal_models(kind):
    rows = np.arange(0, 800, 3)
    weights = np.ones(800)
    weights[rows] = 3
    weighted = fitted(kind, sample_weight=weights)
    assert np.abs(weighted.predict_proba(X_TEST) - fitted(kind).predict_proba(X_TEST)).max() > 0.01


def test_a_label_without_samples_is_improbable_but_has_a_column():
    none = Y.copy()
    none[:, 4] = 0
    classifier = fitted("machines", none)
    assert classifier.predict(X_TEST).shape == Y_TEST.shape
    assert classifier.predict(X_TEST)[:, 4].sum() == 0


def test_workers_and_a_clone_change_nothing():
    own = clone(fitted("tree")).set_params(n_jobs=2).fit(X, Y)
    np.testing.assert_array_equal(own.predict_proba(X_TEST), fitted("tree").predict_proba(X_TEST))


def test_samples_without_features_get_the_frequencies():
    nothing = sparse.csr_array((1, N_FEATURES))
    np.testing.assert_allclose(fitted("machines").predict_proba(nothing)[0], Y.mean(axis=0), atol=1e-6)


def test_thresholds_decide_what_is_predicted():
    classifier = fitted("machines")
    model = classifier.model_
    few = replace(model.marginals, thresholds=np.linspace(0, 1, N_LABELS))
    classifier.model_ = replace(model, marginals=few)
    expected = classifier.predict_proba(X_TEST) >= few.thresholds
    np.testing.assert_array_equal(classifier.predict(X_TEST), expected)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (
            lambda own: own.calibrate_sets(X, Y.argmax(axis=1)),
            "Prediction sets are for samples of one label per sample",
        ),
        (lambda own: own.predict_sets(X), "Prediction sets are for samples of one label per sample"),
        (lambda own: own.explore(), "The explorer shows models of one label per sample. Got a model of several."),
        (lambda own: export_onnx(own, "x.onnx"), "Exported models give one label per sample. Got a model of several."),
        (lambda own: own.add_classes(X, ["a"] * 800), "Classes are added with one label per sample"),
        (lambda own: own.partial_fit(X, Y), "one label per sample"),
        (lambda own: fitted("machines", np.zeros_like(Y)), "No label can be learned. None of the 800 samples has any."),
        (lambda own: ECOCClassifier(codebook="dense_random").fit(X, Y), "'codebook' must be 'auto' or 'one_vs_rest'"),
        (lambda own: ECOCClassifier(n_bits=9).fit(X, Y), "The 'n_bits' parameter needs one label per sample. Got 9"),
        (lambda own: ECOCClassifier(decoding="learned").fit(X, Y), "The 'decoding' parameter needs one label"),
        (lambda own: ECOCClassifier(class_weight="balanced").fit(X, Y), "The 'class_weight' parameter needs one label"),
        (lambda own: ECOCClassifier("arow").fit(X, Y), "learned by classifiers, LinearSVM or Softmax. Got AROW."),
        (lambda own: ECOCClassifier(Ridge()).fit(X, Y), "learned by classifiers, LinearSVM or Softmax. Got Ridge."),
        (
            lambda own: ExtremeClassifier(estimator=replace(own.learner_, class_weight="balanced")).fit(X, Y),
            "The 'class_weight' parameter of LinearSVM needs one label per sample",
        ),
    ],
    ids=range(14),
)
def test_what_takes_one_label_says_so(ask, message):
    with pytest.raises((ValueError, AttributeError), match=re.escape(message)):
        ask(fitted("machines"))


def test_one_sample_for_each_label_shares_the_weight():
    samples = Samples.of_sets(X, EncodedLabelSets.of(Y).indicator)
    each = samples.of_each_label()
    assert len(each) == Y.sum()
    np.testing.assert_allclose(
        np.bincount(each.class_index, each.weights), (Y / np.maximum(Y.sum(axis=1), 1)[:, None]).sum(axis=0)
    )
    assert (Y[np.arange(800), samples.class_index] == Y.any(axis=1)).all()


def test_is_label_agrees_with_looking_into_the_table():
    samples = Samples.of_sets(X, EncodedLabelSets.of(Y).indicator)
    asked = np.random.default_rng(0).integers(-1, N_LABELS, size=(800, 7))
    expected = np.where(asked >= 0, np.take_along_axis(Y, np.maximum(asked, 0), axis=1), 0) == 1
    np.testing.assert_array_equal(samples.is_label(asked), expected)


@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csr_matrix, lambda y: [np.flatnonzero(row) for row in y]])
def test_labels_that_are_not_a_dense_table_are_predicted_as_a_sparse_one(form, tmp_path):
    classifier = fitted("machines", form(Y))
    predicted = classifier.predict(X_TEST)
    assert isinstance(predicted, sparse.csr_array)
    np.testing.assert_array_equal(predicted.toarray(), fitted("machines").predict(X_TEST))
    save_model(classifier, tmp_path / "model")
    assert isinstance(load_model(tmp_path / "model").predict(X_TEST), sparse.csr_array)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, lambda y: [np.flatnonzero(row).tolist() for row in y]])
def test_the_score_is_the_share_of_sets_that_are_exactly_right(form):
    classifier = fitted("machines", form(Y))
    expected = (fitted("machines").predict(X_TEST) == Y_TEST).all(axis=1)
    assert 0 < classifier.score(X_TEST, form(Y_TEST)) == expected.mean() < 1
    lists = [[*np.flatnonzero(row).tolist(), *([99] if i < 150 else [])] for i, row in enumerate(Y_TEST)]
    assert classifier.score(X_TEST, lists) == expected[150:].sum() / 300
    weights = np.arange(300)
    assert classifier.score(X_TEST, form(Y_TEST), weights) == pytest.approx(np.average(expected, weights=weights))


def test_rows_of_a_table_are_scored_by_the_order_of_its_columns():
    classifier = fitted("machines", pd.DataFrame(Y, columns=NAMES[::-1]))
    assert classifier.score(X_TEST, Y_TEST.tolist()) == classifier.score(X_TEST, Y_TEST) > 0
    with pytest.raises(ValueError, match="different numbers of labels"):
        classifier.score(X_TEST, Y_TEST[:, :5].tolist())


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (["sport"] * 300, "None of the 300 samples has a label that the model knows."),
        ([[], ["sport"]] * 150, "None of the 300 samples has a label that the model knows."),
        ([[]] * 300, "None of the 300 samples has a label that the model knows."),
        (NAMES[0], "There are 300 samples. Got labels of 1."),
        ([NAMES[0]] * 200, "There are 300 samples. Got labels of 200."),
    ],
)
def test_thresholds_need_a_known_label_and_the_labels_of_all_samples(y, message):
    classifier = fitted("machines", named(Y))
    with pytest.raises(ValueError, match=message):
        classifier.choose_thresholds(X_TEST, y)
    assert classifier.model_.marginals.thresholds.tolist() == [0.5]


def test_a_plain_array_of_labels_has_one_label_per_sample():
    classifier, first = fitted("machines", named(Y)), NAMES[Y_TEST.argmax(axis=1)]
    for y in (first, first.tolist(), pd.Series(first), [[label] for label in first]):
        found = classifier.choose_thresholds(X_TEST, y).model_.marginals.thresholds
        expected = classifier.choose_thresholds(X_TEST, [{label} for label in first]).model_.marginals.thresholds
        assert found.tolist() == expected.tolist()
        assert np.isfinite(found).all()


# ----- orders of leaves ----------------------------------------------------------------------------------------------


def in_groups(n_samples=600, seed=0):
    """Samples with three of the four labels of a group, k, k + 4, k + 8 and k + 12, each with a feature of its own."""
    rng = np.random.default_rng(seed)
    Y = np.zeros((n_samples, 16), dtype=int)
    for row, group in zip(Y, rng.integers(4, size=n_samples), strict=True):
        row[rng.choice(4, size=3, replace=False) * 4 + group] = 1
    return sparse.csr_array(Y + 0.1 * rng.random(Y.shape)), Y


@pytest.mark.parametrize("name", ["cooccurrence", "mixed"])
def test_an_order_by_cooccurrence_puts_labels_that_occur_together_below_the_same_nodes(name):
    X, Y = in_groups()
    halves = {}
    for order in (name, "random"):
        fitted = [
            ExtremeClassifier(2, code="tree", estimator="svm", assignment=order, random_state=seed).fit(X, Y)
            for seed in range(4)
        ]
        assert {each.assignment_.method for each in fitted} == {order}
        leaves = np.array([each.assignment_.codeword_of_class for each in fitted]).reshape(4, 4, 4)
        halves[order] = (np.ptp(leaves // 8, axis=1) == 0).mean()
    assert halves[name] >= 0.75 > halves["random"]


def test_cooccurrences_agree_with_counting_pairs():
    samples = Samples.of_sets(X, EncodedLabelSets.of(Y).indicator, np.arange(len(Y)) % 3)
    expected = np.zeros((N_LABELS, N_LABELS))
    for row, weight in zip(Y, samples.weights, strict=True):
        expected += weight * np.outer(row, row) / max(row.sum(), 1)
    np.testing.assert_allclose(samples._cooccurrences().toarray(), expected)


@pytest.mark.parametrize("name", ["cooccurrence", "mixed"])
def test_an_order_by_cooccurrence_needs_several_labels(name):
    with pytest.raises(ValueError, match="by co-occurrence needs several labels per sample. Got one label each"):
        ExtremeClassifier(code="tree", assignment=name).fit(X, Y.argmax(axis=1))


# ----- columns ------------------------------------------------------------------------------------------------------

LEARNERS = {"logistic": LogisticRegression(), "machine": LinearSVC(), "tree": DecisionTreeClassifier(), "svm": "svm"}


@pytest.mark.parametrize("learner", LEARNERS.values(), ids=LEARNERS)
def test_a_column_for_each_label_is_learned_by_any_classifier(learner, tmp_path):
    classifier = ECOCClassifier(learner, random_state=0).fit(X, Y)
    assert f1_score(Y_TEST, classifier.predict(X_TEST), average="micro") > 0.75
    p = classifier.predict_proba(X_TEST)
    order = np.argsort(-classifier.decision_function(X_TEST), axis=1, kind="stable")
    assert (np.diff(np.take_along_axis(p, order, axis=1), axis=1) <= 0).all()
    save_model(classifier, tmp_path / "model")
    np.testing.assert_array_equal(load_model(tmp_path / "model").predict_proba(X_TEST), p)


def test_columns_are_those_of_one_vs_rest():
    classifier = ECOCClassifier(LinearSVC(random_state=0), random_state=0).fit(X, Y)
    others = OneVsRestClassifier(LinearSVC(random_state=0)).fit(X, Y)
    filled = X_TEST[np.diff(X_TEST.indptr) > 0]  # others get the frequencies
    np.testing.assert_allclose(classifier.bit_margins(filled), others.decision_function(filled), atol=1e-6)


def test_folds_of_scikit_learn_and_tables_of_pandas(tmp_path):
    table = pd.DataFrame(Y, columns=NAMES[::-1])
    found = cross_val_predict(ECOCClassifier(LinearSVC(), random_state=0), X, table, cv=3)
    assert f1_score(Y, found, average="micro") > 0.75
    sparse_found = cross_val_predict(ECOCClassifier(LinearSVC(), random_state=0), X, sparse.csr_matrix(Y), cv=3)
    np.testing.assert_array_equal(sparse_found.toarray(), found)
    classifier = ECOCClassifier(LinearSVC()).fit(X, table)
    assert classifier.classes_.tolist() == NAMES[::-1].tolist()
    assert classifier.top_k(X_TEST, 1)[0][0, 0] in NAMES
    assert classifier.score(X_TEST, Y_TEST) == (classifier.predict(X_TEST) == Y_TEST).all(axis=1).mean()


# ----- texts ---------------------------------------------------------------------------------------------------------

WORDS = np.array([f"word{k:02}" for k in range(N_LABELS)])


def texts_of(table, seed=2):
    rng = np.random.default_rng(seed)
    others = [f"noise{n}" for n in range(60)]
    return [" ".join([*WORDS[row.astype(bool)], *rng.choice(others, size=5)]) for row in table]


def named(table):
    return [NAMES[row.astype(bool)].tolist() for row in table]


@pytest.fixture(scope="module")
def of_texts():
    return TextClassifier(random_state=0).fit(texts_of(Y), named(Y), validation=0.2)


def test_texts_get_their_labels(of_texts):
    predicted = of_texts.predict(texts_of(Y_TEST, seed=3)).toarray()
    assert (predicted == Y_TEST).mean() > 0.97
    best, p = of_texts.top_k_proba(texts_of(Y_TEST[:1], seed=3), 2)
    assert best.shape == p.shape == (1, 2)


def test_an_evaluation_of_texts_has_the_measures_of_several_labels(of_texts):
    found = of_texts.evaluate(texts_of(Y_TEST, seed=3), [[*own, "unknown"] for own in named(Y_TEST)])
    assert found.precision_at[1] > 0.7
    assert found.n_unknown == 1
    assert found.micro_f1 > 0.75
    assert found.calibration_error < 0.1
    report = of_texts.report()
    assert report.as_dict()["evaluation"]["precision_at"][1] > 0.7
    assert "precision at 1, 3, 5" in str(report)


def test_a_loaded_classifier_of_texts_gives_the_same_answers(of_texts, tmp_path):
    of_texts.save(tmp_path / "model")
    loaded, texts = TextClassifier.load(tmp_path / "model"), texts_of(Y_TEST, seed=3)
    np.testing.assert_array_equal(of_texts.predict_proba(texts), loaded.predict_proba(texts))
    predictor = Predictor.load(tmp_path / "model")
    assert predictor.predict(texts[0]) == NAMES[of_texts.predict(texts[:1]).toarray()[0].astype(bool)].tolist()


def test_features_of_texts_are_tried_with_all_labels():
    many, table = [], made(2400, seed=4)[1]
    many = texts_of(table)
    classifier = TextClassifier(random_state=0, max_model_bytes=100_000).fit(many, named(table))
    assert classifier.report().n_bytes <= 100_000
    assert (classifier.predict(texts_of(Y_TEST, seed=3)).toarray() == Y_TEST).mean() > 0.95


def test_batches_of_texts_have_one_label_each():
    with pytest.raises((ValueError, AttributeError), match="one label per sample"):
        TextClassifier().partial_fit(texts_of(Y), named(Y), classes=NAMES)
