"""Estimators reject impossible parameters in one sentence, with the remedy."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.sparse import csr_array, csr_matrix
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.multiclass import OutputCodeClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.naive_bayes import BernoulliNB, GaussianNB
from sklearn.pipeline import make_pipeline

from codekin import ECOCClassifier, ExtremeClassifier, SubclassClassifier, save_model
from codekin._system.messages import ALIASES, near_name, suggestion
from codekin.assignments import assign
from codekin.classes import DenseDistances
from codekin.code import Codebook
from codekin.codebooks import CODEBOOKS, REAL_CODEBOOKS
from codekin.data import TextVectorizer
from codekin.data.model_input import ModelInput
from codekin.decoding.losses import get_loss

X = np.random.default_rng(0).normal(size=(40, 3)) + np.repeat(np.arange(4), 10)[:, None]
y = np.repeat(["ant", "bee", "cat", "dog"], 10)


def complaint(classifier, kind=ValueError):
    with pytest.raises(kind) as caught:
        classifier.fit(X, y)
    return str(caught.value)


@pytest.mark.parametrize(
    ("parameter", "given", "meant"),
    [
        ("codebook", "ovr", "one_vs_rest"),
        ("codebook", "OvO", "one_vs_one"),
        ("codebook", "one-vs-rest", "one_vs_rest"),
        ("codebook", "dense", "dense_random"),
        ("assignment", "preserve", "preserving"),
        ("assignment", "brekaing", "breaking"),
        ("class_distances", "learnabilty", "learnability"),
        ("class_distances", "euclidean", "means"),
        ("loss", "hing", "hinge"),
        ("loss", "log_loss", "logistic"),
        ("loss", "Auto", "auto"),
    ],
)
def test_errors_about_names_suggest_the_near_name(parameter, given, meant):
    said = complaint(ECOCClassifier(**{parameter: given}))
    assert said.startswith(f"The '{parameter}' parameter must be one of [")
    assert said.endswith(f"Got {given!r} instead. Did you mean {meant!r}?")


def test_a_codebook_given_as_assignment_is_recognised():
    assert complaint(ECOCClassifier(assignment="ovr")).endswith("Did you mean codebook='one_vs_rest'?")


@pytest.mark.parametrize("classifier", [ECOCClassifier(loss="hing"), ExtremeClassifier(loss="hing")], ids=str)
def test_auto_is_among_the_losses_that_an_error_lists(classifier):
    assert "one of ['auto', 'exponential', 'hamming', 'hinge'," in complaint(classifier)


def test_auto_is_among_the_assignments_of_a_trellis():
    said = complaint(ExtremeClassifier(assignment="autom"))
    assert "one of ['auto', 'preserving'," in said
    assert "'halving'" in said
    assert said.endswith("Did you mean 'auto'?")


def test_an_assignment_for_trees_only_is_said_to_be_one():
    said = complaint(ECOCClassifier(assignment="halving"))
    assert said.endswith("Got 'halving' instead. 'halving' is for a tree, a code of ExtremeClassifier.")


def test_functions_of_the_library_suggest_names_too():
    with pytest.raises(ValueError, match=r"Got 'hing' instead. Did you mean 'hinge'\?"):
        get_loss("hing")
    with pytest.raises(ValueError, match=r"Got 'taboo'. Did you mean 'tabu'\?"):
        assign(Codebook([[1, 1], [1, -1]]), [[0, 1], [1, 0]], "taboo")


def test_every_alias_stands_for_a_name_that_nobody_else_has():
    assert all(near_name(alias, ["x", name]) == name for alias, name in ALIASES.items())
    assert not set(ALIASES) & set(CODEBOOKS)
    assert suggestion(None, ["auto"]) == suggestion("entirely different", ["auto"]) == ""


@pytest.mark.parametrize(
    ("parameter", "given", "expected"),
    [
        ("codebook", None, "a function, a Codebook or a matrix. Got None instead."),
        ("codebook", {}, "Got an object of type dict instead."),
        ("codebook", "given", "Got 'given' instead. Pass the matrix itself: codebook=matrix."),
        (
            "codebook",
            lambda: None,
            "optionally n_bits, n_symbols, rng, class_distances, class_moments, column_trials and class_tree",
        ),
        ("codebook", CODEBOOKS["given"], "Got given: missing a required argument: 'matrix'."),
        ("assignment", None, "a function, an Assignment or an array. Got None instead."),
        ("assignment", {"ant": 0}, "Got an object of type dict instead."),
        ("assignment", "given", "Pass the assignment itself: for each class the row of its codeword."),
        ("class_distances", None, "a callable or a ClassDistances object. Got None instead."),
        (
            "class_distances",
            {"ant": 1},
            "type dict instead. Give a matrix whose rows and columns follow the sorted labels.",
        ),
        (
            "class_distances",
            lambda: None,
            "takes X and the class indices. Got <lambda>: too many positional arguments.",
        ),
        ("class_distances", DenseDistances, "takes X and the class indices. Got DenseDistances: too many"),
        (
            "class_distances",
            lambda X, y: None,
            "must return a matrix, a class tree or a ClassDistances object. Got None",
        ),
        ("class_distances", [["a", "b"]], "Class distances must be a square matrix of numbers."),
        ("class_distances", np.eye(3) - np.eye(3), "between 3 classes, but the labels have 4"),
    ],
    ids=lambda value: value[:30] if isinstance(value, str) else type(value).__name__,
)
def test_what_can_be_no_choice_is_named_in_one_sentence(parameter, given, expected):
    # With all 7 bits that 4 classes can have, distances decide nothing.
    said = complaint(ECOCClassifier(n_bits=4 if parameter == "class_distances" else None, **{parameter: given}))
    assert expected in said
    assert "\n" not in said


def test_a_function_may_return_the_matrix_of_a_codebook():
    classifier = ECOCClassifier(RidgeClassifier(), codebook=lambda n_classes: 2 * np.eye(n_classes) - 1).fit(X, y)
    assert classifier.coding_matrix_.shape == (4, 4)


@pytest.mark.parametrize("classifier", [ECOCClassifier(), ExtremeClassifier()], ids=str)
def test_saving_an_unfitted_classifier_says_that_it_is_not_fitted(classifier, tmp_path):
    with pytest.raises(NotFittedError, match="is not fitted yet"):
        save_model(classifier, tmp_path / "model")
    with pytest.raises(TypeError, match=r"saves an ECOCClassifier, .* Got an object of type RidgeClassifier"):
        save_model(RidgeClassifier(), tmp_path / "model")
    assert not (tmp_path / "model").exists()


# ----- codebooks that tell nothing ----------------------------------------------------------------------------------


def test_a_codebook_of_zeros_and_ones_is_refused_with_the_remedy():
    book = OutputCodeClassifier(GaussianNB(), code_size=3, random_state=0).fit(X, y).code_book_
    assert set(np.unique(book)) == {0, 1}
    said = complaint(ECOCClassifier(GaussianNB(), codebook=book))
    assert "must have both signs, since a bit ignores classes where it is 0. Got only [0, 1]." in said
    assert said.endswith("Write a matrix of 0 and 1 as 2 * matrix - 1.")
    remedied = ECOCClassifier(GaussianNB(), codebook=2 * book - 1, assignment="identity").fit(X, y)
    assert remedied.score(X, y) > 0.7


@pytest.mark.filterwarnings("error")
def test_the_codebook_of_an_output_code_with_margins_is_taken_as_it_is():
    book = OutputCodeClassifier(LogisticRegression(), code_size=2, random_state=1).fit(X, y).code_book_
    book = book[:, (book != book[0]).any(axis=0)]
    assert set(np.unique(book)) == {-1, 1}
    assert ECOCClassifier(codebook=book).fit(X, y).score(X, y) > 0.7


@pytest.mark.parametrize("column", [[1, 1, 1, 1], [-1, -1, -1, -1], [0, 1, 0, 1], [0, 0, 0, 0]], ids=str)
def test_a_bit_that_tells_no_classes_apart_is_a_warning(column):
    book = np.column_stack([2 * np.eye(4) - 1, column])
    with pytest.warns(UserWarning, match="1 of the 5 bits of this given codebook tell no classes apart.* bit 4"):
        ECOCClassifier(RidgeClassifier(), codebook=book).fit(X, y)


def test_a_bit_that_only_unused_codewords_vary_is_a_warning():
    book = np.column_stack([np.vstack([2 * np.eye(4) - 1, [[1, 1, 1, 1]]]), [1, 1, 1, 1, -1]])
    with pytest.warns(UserWarning, match="tell no classes apart"):
        ECOCClassifier(RidgeClassifier(), codebook=book, assignment=np.arange(4)).fit(X, y)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("codebook", sorted(set(CODEBOOKS) - {"given", "optimised", "reed_solomon"}))
@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_codebooks_that_are_made_for_the_classes_have_no_such_bits(codebook, n_classes):
    if codebook == "hexj" and n_classes == 2:
        n_classes = 4
    few = y < y[10 * (n_classes - 1)] + "z"
    learner = Ridge() if codebook in REAL_CODEBOOKS else RidgeClassifier()
    matrix = ECOCClassifier(learner, codebook=codebook, random_state=0).fit(X[few], y[few]).coding_matrix_
    # All paths of a small trellis may share an edge.
    assert codebook == "trellis" or (np.ptp(matrix, axis=0) > 0).all()


# ----- weights of classes --------------------------------------------------------------------------------------------

WEIGHTED = [
    LogisticRegression(),
    make_pipeline(RidgeClassifier()),
    "softmax",
]


@pytest.mark.parametrize("estimator", WEIGHTED, ids=str)
@pytest.mark.parametrize("class_weight", ["balanced", {"bee": 7, "dog": 0.25}], ids=str)
@pytest.mark.parametrize("own", [None, np.linspace(0.5, 2, 40)], ids=["unweighted", "weighted"])
def test_class_weights_are_sample_weights_by_class(estimator, class_weight, own):
    kept = np.r_[0:10, 10:14, 20:30, 30:37]
    samples, labels, own = X[kept], y[kept], None if own is None else own[kept]
    by_class = {"ant": 1, "bee": 7, "cat": 1, "dog": 0.25}
    if class_weight == "balanced":
        by_class = {label: 31 / (4 * n) for label, n in zip(*np.unique(labels, return_counts=True), strict=True)}
    by_hand = np.array([by_class[label] for label in labels]) * (1 if own is None else own)
    name = "ridgeclassifier__sample_weight" if hasattr(estimator, "steps") else "sample_weight"
    parts = {"codebook": "one_vs_rest", "class_distances": "means", "random_state": 0}
    got = ECOCClassifier(estimator, class_weight=class_weight, **parts)
    got.fit(samples, labels, **({} if own is None else {name: own}))
    expected = ECOCClassifier(estimator, **parts).fit(samples, labels, **{name: by_hand})
    np.testing.assert_array_equal(got.bit_margins(X), expected.bit_margins(X))
    plain = ECOCClassifier(estimator, **parts).fit(samples, labels)
    assert not np.allclose(plain.bit_margins(X), expected.bit_margins(X))


def test_class_weights_count_in_distances_and_in_further_batches():
    class_weight, by_hand = {"bee": 50}, np.where(y == "bee", 50.0, 1.0)
    settings = {"random_state": 0, "n_bits": 6}
    got = ECOCClassifier(class_weight=class_weight, **settings).fit(X, y)
    expected = ECOCClassifier(**settings).fit(X, y, sample_weight=by_hand)
    np.testing.assert_array_equal(got.class_distances_.matrix(), expected.class_distances_.matrix())
    np.testing.assert_array_equal(got.coding_matrix_, expected.coding_matrix_)
    from sklearn.linear_model import SGDClassifier

    got = ECOCClassifier(SGDClassifier(), class_weight=class_weight, **settings).partial_fit(X, y, np.unique(y))
    expected = ECOCClassifier(SGDClassifier(), **settings).partial_fit(X, y, np.unique(y), sample_weight=by_hand)
    np.testing.assert_array_equal(got.bit_margins(X), expected.bit_margins(X))
    with pytest.raises(ValueError, match="partial_fit does not know how often a label will occur"):
        ECOCClassifier(SGDClassifier(), class_weight="balanced").partial_fit(X, y, np.unique(y))


@pytest.mark.parametrize(
    ("class_weight", "expected"),
    [
        ({"bees": 2}, "has a weight for 'bees', which is not among the labels. Did you mean 'bee'?"),
        ({"bee": -1}, "must give weights from 0 to 1e+15. Got -1 for the label 'bee'."),
        ({"bee": np.nan}, "Got nan for the label 'bee'."),
        ({"bee": "much"}, "Got 'much' for the label 'bee'."),
        ("balance", "The 'class_weight' parameter of ECOCClassifier must be"),
    ],
    ids=str,
)
def test_wrong_class_weights_are_named(class_weight, expected):
    assert expected in complaint(ECOCClassifier(class_weight=class_weight))


def test_class_weights_need_a_learner_that_takes_weights():
    from sklearn.neighbors import KNeighborsClassifier

    said = complaint(ECOCClassifier(KNeighborsClassifier(), class_weight="balanced"))
    assert said.endswith("needs a learner that takes sample weights. KNeighborsClassifier takes none.")


@pytest.mark.parametrize("wrap", [lambda learner: learner, make_pipeline], ids=["alone", "in a pipeline"])
def test_weights_by_label_in_the_learner_are_refused_with_the_remedy(wrap):
    said = complaint(ECOCClassifier(wrap(LogisticRegression(class_weight={"ant": 1, "bee": 2}))))
    assert re.search(r"class_weight=\{'ant': 1, 'bee': 2\} has labels, but a bit has two sides", said)
    assert said.endswith("Use ECOCClassifier(class_weight=...) instead.")
    ECOCClassifier(wrap(LogisticRegression(class_weight="balanced"))).fit(X, y)


@pytest.mark.parametrize(
    ("classifier", "nothing"),
    [
        (ECOCClassifier(), csr_array((40, 3))),
        (ECOCClassifier(), pd.DataFrame(index=range(40))),
        (ECOCClassifier(BernoulliNB()), csr_matrix((40, 3))),
        (ExtremeClassifier(), csr_array((40, 3))),
        (ExtremeClassifier(max_model_bytes=10**6), csr_matrix((40, 3))),
    ],
    ids=lambda given: str(given) if hasattr(given, "fit") else type(given).__name__,
)
def test_nothing_is_learned_from_samples_without_features(classifier, nothing):
    said = "Nothing can be learned from samples without features. All rows of X are empty."
    with pytest.raises(ValueError, match=said):
        clone(classifier).fit(nothing, y)
    if hasattr(classifier, "partial_fit"):
        with pytest.raises(ValueError, match=said):
            clone(classifier).partial_fit(nothing, y, classes=np.unique(y))


@pytest.mark.parametrize("classifier", [ECOCClassifier(), ExtremeClassifier()], ids=str)
def test_one_feature_of_one_sample_is_enough(classifier):
    few = csr_array((np.ones(1), ([7], [2])), shape=(40, 3))
    assert set(classifier.fit(few, y).predict(few)) <= set(y)


BAD_LOSSES = {
    "raises TypeError": lambda z, margin: z,
    "returns nan": lambda z: np.where(z > 0, np.nan, z),
    r"returns shape \(\) for \(2, 2\)": lambda z: float(np.maximum(0, -z).mean()),
    r"returns shape \(2,\) for": lambda z: z.sum(axis=1),
    "raises ZeroDivisionError": lambda z: z / (1 // 0),
}


@pytest.mark.parametrize("classifier", [ECOCClassifier, ExtremeClassifier])
@pytest.mark.parametrize("fault", BAD_LOSSES)
def test_a_function_that_is_no_loss_is_refused_with_the_rule(classifier, fault):
    with pytest.raises(ValueError, match=f"takes one array, z = bit . margin, and returns as .* which {fault}"):
        classifier(loss=BAD_LOSSES[fault]).fit(X, y)


def test_several_labels_per_sample_are_refused_with_a_way_out():
    table, classifier = (y[:, None] == np.unique(y)).astype(int), SubclassClassifier()
    given = [table, table.tolist(), pd.DataFrame(table), sparse.csr_array(table), [["a", "b"]] * 20 + [["c"]] * 20]
    for labels in given:
        with pytest.raises(ValueError, match="y must have one label per sample. Got several; .* MultiOutput"):
            classifier.fit(X, labels)
    fitted = MultiOutputClassifier(classifier).fit(X, table)
    assert fitted.predict(X).shape == table.shape


@pytest.mark.parametrize("classifier", [ECOCClassifier(), ExtremeClassifier(), SubclassClassifier()], ids=repr)
@pytest.mark.parametrize("other", [3, None, 2.5, np.nan])
@pytest.mark.parametrize("made", [list, lambda y: np.array(y, dtype=object), lambda y: pd.Series(y, dtype=object)])
def test_text_next_to_other_labels_is_refused(classifier, other, made):
    mixed = made([other if label == y[0] else "b" for label in y])
    with pytest.raises(ValueError, match=f"Labels must be all text or all numbers. Got 'b' and {other}"):
        classifier.fit(X, mixed)


@pytest.mark.parametrize("given", [{"width": LogisticRegression()}, {"estimator": LogisticRegression()}], ids=repr)
def test_a_trellis_names_the_classifier_for_other_estimators(given):
    message = r"learns its bits with \['arow', 'softmax', 'svm', 'vectors'\] or another.*ECOCClassifier\(Logistic"
    with pytest.raises(ValueError, match=message):
        ExtremeClassifier(**given).fit(X, y)


@pytest.mark.parametrize("vectorizer", [TfidfVectorizer(), TextVectorizer()], ids=["scikit-learn", "not fitted"])
def test_only_fitted_vectorizers_of_codekin_can_be_stored(vectorizer):
    with pytest.raises(TypeError, match=r"must be a fitted one of codekin: TextVectorizer\(\).fit\(texts\). Got T"):
        ModelInput(vectorizer)
