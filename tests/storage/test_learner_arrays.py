"""Learners of scikit-learn that are stored as arrays: they come back exactly, and forged ones are refused."""

import json

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import ClassifierMixin
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifierCV, SGDClassifier
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from tests.storage.test_forged_folders import description_of, refused, sign, with_arrays

from codekin._system.arrays import read_arrays, write_arrays
from codekin.estimators import ECOCClassifier
from codekin.learners.independent import EstimatorBits
from codekin.states.learners import NOT_STORED, STORED, _class_of
from codekin.storage import ModelFolderError, load_model, save_model

METHODS = ("predict", "decision_function", "predict_proba", "apply")
QUICK = {"max_iter": 50, "n_estimators": 3, "cv": 2, "Cs": 2, "alphas": 5}
CASES = [
    (name, columns)
    for name in STORED
    for columns in (("bits", "symbols") if issubclass(_class_of(name), ClassifierMixin) else ("real",))
]


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:150] / 16, y[:150]


def learner_of(name, **params):
    make = _class_of(name)
    quick = {key: value for key, value in QUICK.items() if key in make().get_params() and not name.startswith("Ridge")}
    return make(**{**quick, **params})


def fitted(learner, columns, X, y):
    given = {
        "bits": {"n_bits": 5},
        "symbols": {"n_symbols": 4, "n_bits": 3},
        "real": {"codebook": "random_projection", "n_bits": 5},
    }[columns]
    return ECOCClassifier(learner, **given, assignment="random", decoding="loss", random_state=0).fit(X, y)


pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore:The max_iter was reached"),
    pytest.mark.filterwarnings("ignore:Objective did not converge"),
]


@pytest.mark.parametrize(("name", "columns"), CASES)
@pytest.mark.parametrize("kind", ["dense", "sparse", "float32"])
def test_every_learner_of_the_table_comes_back_to_the_last_bit_without_trust(name, columns, kind, digits, tmp_path):
    X, y = digits
    if kind == "sparse" and name in ("GaussianNB", "LinearDiscriminantAnalysis"):
        pytest.skip("it takes dense samples only")
    X = {"dense": X, "sparse": sparse.csr_matrix(X), "float32": X.astype(np.float32)}[kind]
    classifier = fitted(learner_of(name), columns, X, y)
    folder = save_model(classifier, tmp_path / "model")
    assert sorted(path.name for path in folder.iterdir()) == ["arrays.safetensors", "model.json"]
    again = load_model(folder)
    np.testing.assert_array_equal(again.predict_proba(X), classifier.predict_proba(X))
    assert again.estimator.get_params() == classifier.estimator.get_params()
    for mine, theirs in zip(again.estimators_, classifier.estimators_, strict=True):
        assert mine.get_params() == theirs.get_params()
        for method in METHODS:
            assert hasattr(mine, method) == hasattr(theirs, method)
            if hasattr(mine, method):
                np.testing.assert_array_equal(getattr(mine, method)(X), getattr(theirs, method)(X))
        if hasattr(theirs, "feature_importances_"):
            np.testing.assert_array_equal(mine.feature_importances_, theirs.feature_importances_)
        if hasattr(theirs, "decision_path"):
            paths = [one.decision_path(X) for one in (mine, theirs)]
            first, second = (path[0] if isinstance(path, tuple) else path for path in paths)
            assert (first != second).nnz == 0


@pytest.mark.parametrize("name", STORED)
def test_a_loaded_classifier_is_fitted_again_to_the_same_one(name, digits, tmp_path):
    X, y = digits
    columns = "bits" if issubclass(_class_of(name), ClassifierMixin) else "real"
    classifier = fitted(learner_of(name), columns, X, y)
    again = load_model(save_model(classifier, tmp_path / "model")).fit(X, y)
    np.testing.assert_array_equal(again.bit_margins(X), classifier.bit_margins(X))


@pytest.mark.parametrize(
    "learner",
    [SGDClassifier(), Perceptron(), GaussianNB(), MultinomialNB()],
    ids=str,
)
@pytest.mark.parametrize("options", [{"n_bits": 5}, {"n_symbols": 4, "n_bits": 3}], ids=["bits", "symbols"])
def test_learning_goes_on_where_it_was(learner, options, digits, tmp_path):
    X, y = digits
    classifier = ECOCClassifier(learner, **options, assignment="random", calibrate=None, random_state=0)
    classifier.partial_fit(X[:80], y[:80], classes=np.unique(y))
    folder = save_model(classifier, tmp_path / "model")
    again = load_model(folder)
    again._rng = classifier._rng
    for one in (classifier, again):
        one.partial_fit(X[80:], y[80:])
    np.testing.assert_array_equal(again.bit_margins(X), classifier.bit_margins(X))


def test_a_bit_that_has_seen_nothing_yet_is_stored_too(digits, tmp_path):
    X, y = digits
    options = {"codebook": "one_vs_one", "assignment": "identity", "calibrate": None, "random_state": 0}
    classifier = ECOCClassifier(SGDClassifier(), **options)
    classifier.partial_fit(X[y < 3], y[y < 3], classes=np.arange(10))
    again = load_model(save_model(classifier, tmp_path / "model"))
    assert not all(hasattr(learner, "coef_") for learner in again.estimators_)
    np.testing.assert_array_equal(again.bit_margins(X), classifier.bit_margins(X))


@pytest.mark.parametrize("learner", [LogisticRegression(), RandomForestClassifier(2)], ids=str)
def test_learners_know_the_names_of_features(learner, digits, tmp_path, recwarn):
    pandas = pytest.importorskip("pandas")
    X, y = digits
    frame = pandas.DataFrame(X[:, :20], columns=[f"pixel {k}" for k in range(20)])
    classifier = fitted(learner, "symbols", frame, y)
    again = load_model(save_model(classifier, tmp_path / "model"))
    np.testing.assert_array_equal(again.predict_proba(frame), classifier.predict_proba(frame))
    assert not [one for one in recwarn if "feature names" in str(one.message)]


def test_parameters_come_back_except_for_those_of_the_machine(digits, tmp_path):
    params = {"n_estimators": 2, "max_depth": 3, "criterion": "entropy", "max_features": np.float64(0.5)}
    classifier = fitted(RandomForestClassifier(**params, n_jobs=2, verbose=0, warm_start=True), "bits", *digits)
    again = load_model(save_model(classifier, tmp_path / "model"))
    assert again.estimator.get_params() == {**classifier.estimator.get_params(), "n_jobs": None}
    assert {"n_jobs", "verbose"} == NOT_STORED
    assert again.estimators_[0].estimators_[0].criterion == "entropy"


def sparsified(classifier):
    for learner in classifier.model_.bits.predictors:
        learner.sparsify()


class Mine(LinearSVC):
    """Whose methods nobody knows."""


def labelled(classifier):
    for learner in classifier.model_.bits.predictors:
        learner.classes_ = np.array([-1, 1])


OTHERS = {
    "a parameter that is no number": (LogisticRegression(class_weight={0: 1, 1: 2}), None),
    "a list of numbers": (RidgeClassifierCV(alphas=[0.1, 1]), None),
    "a parameter that is not finite": (LinearSVC(), lambda own: own.estimator.set_params(C=np.inf)),
    "averaged weights": (SGDClassifier(average=True), None),
    "a random state with a memory": (LinearSVC(random_state=np.random.RandomState(0)), None),
    "a class of the same family": (Mine(), None),
    "sparse weights": (SGDClassifier(), sparsified),
    "other classes than 0 and 1": (LinearSVC(), labelled),
}


@pytest.mark.parametrize("what", OTHERS)
def test_what_arrays_cannot_say_is_stored_by_skops(what, digits, tmp_path):
    X, y = digits
    learner, change = OTHERS[what]
    classifier = fitted(learner, "bits", X, y)
    if change is not None:
        change(classifier)
    with pytest.warns(UserWarning, match=f"Learners of type {type(learner).__name__} are stored by skops"):
        folder = save_model(classifier, tmp_path / "model")
    again = load_model(folder, trusted=True)
    np.testing.assert_array_equal(again.predict(X), classifier.predict(X))


@pytest.fixture(scope="module")
def models(digits):
    X, y = digits
    X = X[:, 10:20]
    return {
        "trees": fitted(DecisionTreeClassifier(max_depth=3), "bits", X, y),
        "forest": fitted(RandomForestClassifier(2, max_depth=2), "symbols", X, y),
        "linear": fitted(LinearSVC(), "bits", X, y),
        "bayes": fitted(GaussianNB(), "symbols", X, y),
    }


@pytest.fixture
def folder_of(models, tmp_path):
    return lambda name: save_model(models[name], tmp_path / name)


def entry(name, place, value):
    def change(arrays):
        arrays[name] = arrays[name].astype(np.int64) if arrays[name].dtype.kind in "iu" else arrays[name]
        arrays[name].flat[place] = value

    return change


def replaced(name, make):
    return lambda arrays: arrays.update({name: make(arrays[name])})


def without(name):
    return lambda arrays: arrays.pop(name)


def swapped_subtrees(arrays):
    """Both children of the first node are the same one."""
    entry("learner_0_right_child", 0, int(arrays["learner_0_left_child"][0]))(arrays)


NOT_A_TREE = "every node of a tree but the first must be the child of one node before it"
FORGED = [
    ("trees", entry("learner_0_feature", 0, 10), "the features of nodes must be from 0 to 9"),
    ("trees", entry("learner_0_feature", 0, -2), "the features of nodes must be from 0 to 9"),
    ("trees", entry("learner_0_left_child", 0, 10**9), "the children of nodes must be from 0"),
    ("trees", entry("learner_0_left_child", 0, -2), "the children of nodes must be from 0"),
    ("trees", entry("learner_0_left_child", 0, -1), "a node of a tree has one child"),
    ("trees", entry("learner_0_left_child", 0, 0), NOT_A_TREE),
    ("trees", swapped_subtrees, NOT_A_TREE),
    ("trees", entry("learner_0_threshold", 0, np.nan), "thresholds of nodes must be numbers"),
    ("trees", entry("learner_0_n_nodes", 0, 1), "the numbers of nodes must add up to"),
    ("trees", replaced("learner_0_n_nodes", lambda counts: np.array([counts.sum()])), NOT_A_TREE),
    ("trees", replaced("learner_0_n_nodes", lambda counts: np.append(counts, 0)), "every tree needs nodes"),
    ("trees", replaced("learner_0_value", lambda value: value[:, :1]), "each node 2 values"),
    ("trees", replaced("learner_0_value", lambda value: value[:-1]), "each node 2 values"),
    ("trees", replaced("learner_0_value", lambda value: value.astype(np.float32)), "type float64"),
    ("trees", replaced("learner_0_feature", lambda one: one.astype(np.float64)), "have 'feature' of shape"),
    ("trees", replaced("learner_0_threshold", lambda one: one[:-1]), "have 'threshold' of shape"),
    ("trees", without("learner_0_impurity"), "has the arrays"),
    ("trees", replaced("learner_0_random_state", lambda seeds: seeds[1:]), "5 learners need as many random states"),
    ("trees", entry("learner_0_random_state", 0, -1), "random states must be from 0"),
    ("trees", lambda arrays: arrays.update(learner_0_n_trees=np.ones(5, np.int8)), "has the arrays"),
    ("trees", lambda arrays: arrays.update(learner_1_coef_=np.ones((1, 10))), "has the arrays|KeyError|n_features"),
    ("forest", entry("learner_0_n_trees", 0, 1), "the numbers of trees must add up to"),
    ("forest", replaced("learner_0_n_trees", lambda counts: np.append(counts, 0)), "learners needs a tree"),
    ("linear", replaced("learner_0_coef_", lambda coef: coef[..., :-1]), "cannot have the shape"),
    ("linear", replaced("learner_0_coef_", lambda coef: coef.astype(np.int64)), "type int64"),
    ("linear", replaced("learner_0_intercept_", lambda one: one[1:]), "cannot have the shape"),
    ("linear", without("learner_0_coef_"), "has the arrays"),
    ("linear", lambda arrays: arrays.update(learner_0__predict_proba_lr=np.ones(5)), "has the arrays"),
    ("linear", lambda arrays: arrays.update(learner_0_classes_=np.arange(2)), "has the arrays"),
    ("linear", entry("learner_kinds", 0, 7), "the kinds of learners must be from 0"),
    ("linear", replaced("learner_kinds", lambda kinds: kinds[1:]), "cannot have the shape|random states"),
    ("bayes", replaced("learner_0_theta_", lambda one: one[:, 1:]), "cannot have the shape"),
]


@pytest.mark.parametrize(("model", "change", "reason"), FORGED)
def test_forged_arrays_of_learners_are_refused(model, change, reason, folder_of):
    folder = folder_of(model)
    with_arrays(folder, change)
    with pytest.raises(ModelFolderError, match=reason):
        load_model(folder)
    refused(folder)


FORGED_KINDS = [
    ("trees", {"class": "SVC"}, "missing or misplaced"),
    ("trees", {"class": "os.system"}, "missing or misplaced"),
    ("trees", {"class": ["DecisionTreeClassifier"]}, "missing or misplaced"),
    ("trees", {"class": "ExtraTreesClassifier"}, "missing or misplaced|has the arrays"),
    ("trees", {"params": {"max_depth": -1}}, "The 'max_depth' parameter of DecisionTreeClassifier must be"),
    ("trees", {"params": {"tree_": 1}}, "unexpected keyword argument 'tree_'"),
    ("trees", {"params": {"class_weight": {"0": 1}}}, "the parameter 'class_weight' must be a name or a number"),
    ("trees", {"n_classes": 10**15}, "each node 1000000000000000 values"),
    ("trees", {"n_classes": 1}, "'n_classes' must be an integer, at least 2"),
    ("trees", {"n_features": 1}, "the features of nodes must be from 0 to 0"),
    ("trees", {"n_features": 10**30}, "missing or misplaced"),
    ("trees", {"n_features": None}, "'n_features' must be an integer"),
    ("trees", {"feature_names": ["a"]}, "'feature_names' must be a list of 10 texts"),
    ("linear", {"params": {"C": -1.0}}, "The 'C' parameter of LinearSVC must be"),
    ("linear", {"params": {"loss": "os.system"}}, "The 'loss' parameter of LinearSVC must be"),
    ("linear", {"n_classes": 10**15}, "cannot have the shape"),
    ("linear", {"n_features": 10**15}, "cannot have the shape"),
    ("linear", {"by_column": ["coef_"]}, "cannot have the shape"),
    ("linear", {"by_column": 1}, "missing or misplaced"),
]


@pytest.mark.parametrize(("model", "change", "reason"), FORGED_KINDS)
def test_forged_kinds_of_learners_are_refused(model, change, reason, folder_of):
    folder = folder_of(model)
    description = description_of(folder)
    description["learners"][0].update(change)
    sign(folder, description)
    with pytest.raises(ModelFolderError, match=reason):
        load_model(folder)


@pytest.mark.parametrize("kinds", [None, 7, "x", {}, [], [None], [[]], {"class": "LinearSVC"}])
def test_kinds_that_are_none_are_refused(kinds, folder_of):
    folder = folder_of("linear")
    sign(folder, {**description_of(folder), "learners": kinds})
    refused(folder)


def test_no_file_says_how_many_threads_to_use(folder_of):
    folder = folder_of("forest")
    description = description_of(folder)
    for kind in description["learners"]:
        kind["params"].update(n_jobs=10**6, verbose=10**6)
    sign(folder, description)
    again = load_model(folder)
    assert {(one.n_jobs, one.verbose) for one in again.estimators_} == {(None, 0)}


@pytest.mark.parametrize("model", ["trees", "forest"])
def test_every_other_number_in_a_node_is_refused_or_leads_to_a_leaf(model, models, digits, tmp_path):
    folder = save_model(models[model], tmp_path / "model")
    path, X = folder / "arrays.safetensors", digits[0][:20, 10:20]
    original = {name: np.array(array) for name, array in read_arrays(path).items()}
    n_refused = n_tried = 0
    for name in ("left_child", "right_child", "feature", "n_nodes"):
        array = original[f"learner_0_{name}"].astype(np.int64)
        for place in range(len(array)):
            for value in {-(2**63), -3, -2, -1, 0, 1, array[place] + 1, len(array) - 1, len(array), 2**31, 2**63 - 1}:
                forged = array.copy()
                forged[place] = value
                write_arrays(path, {**original, f"learner_0_{name}": forged})
                sign(folder, json.loads((folder / "model.json").read_text()))
                n_tried += 1
                try:
                    again = load_model(folder)
                except ModelFolderError:
                    n_refused += 1
                    continue
                assert len(again.predict(X)) == len(X)
                for learner in again.estimators_:
                    learner.decision_path(X)
    assert 0 < n_refused < n_tried


def test_bits_of_different_learners_are_stored_together(models, digits, tmp_path):
    from dataclasses import replace

    from codekin.model import Model

    X = digits[0][:, 10:20]
    model = models["trees"].model_
    mixed = [*model.bits.predictors[:3], *models["linear"].model_.bits.predictors[3:]]
    both = Model((replace(model.first, bits=EstimatorBits(mixed)),))
    again = load_model(save_model(both, tmp_path / "model"))
    np.testing.assert_array_equal(again.margins(X), both.margins(X))
    assert [type(one).__name__ for one in again.bits.predictors] == [type(one).__name__ for one in mixed]
