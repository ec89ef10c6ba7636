"""A file of learners creates only listed classes, of consistent parts, from the checked bytes."""

import gzip
import importlib
import io
import json
import sys
import zipfile
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from skops.io import dump

from codekin._system.files import json_checksum, sha256
from codekin.estimators import ECOCClassifier
from codekin.storage import ModelFolderError, learner_files, load_model, save_model
from codekin.storage.trusted_types import LOADERS, is_listed

rng = np.random.default_rng(0)
X, Y = rng.normal(size=(40, 4)), np.arange(40) % 4
SIDES = np.where(Y < 2, 1, -1)
WORDS = [f"class {'abcd'[k]}" for k in Y]


@pytest.fixture(scope="module")
def model():
    return ECOCClassifier(LogisticRegression(), calibrate=None, random_state=0).fit(X, Y)


@pytest.fixture
def folder(model, tmp_path):
    return save_model(model, tmp_path / "model")


def sign(folder):
    description = json.loads((folder / "model.json").read_text())
    path = folder / "learners.skops"
    description["files"][path.name].update(bytes=path.stat().st_size, sha256=sha256(path))
    description["sha256"] = json_checksum(description)
    (folder / "model.json").write_text(json.dumps(description))


def put(folder, learners):
    dump(learners, folder / "learners.skops")
    sign(folder)


def rewrite(folder, change):
    """Change the schema of the learners, and files of the archive, as a forger would."""
    path = folder / "learners.skops"
    with zipfile.ZipFile(path) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    schema = json.loads(files["schema.json"])
    change(schema, files)
    files["schema.json"] = json.dumps(schema).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    sign(folder)


def test_names_that_scikit_learn_merely_imports_empty_no_file(folder, tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("precious")
    function = partial(gzip.GzipFile, str(victim), "wb")
    put(folder, [make_pipeline(FunctionTransformer(function), LogisticRegression())])

    def hide(schema, _):
        text = json.dumps(schema)
        text = text.replace('"functools"', '"sklearn.metrics._scorer"').replace('"gzip"', '"sklearn.datasets._covtype"')
        schema.update(json.loads(text))

    rewrite(folder, hide)
    with pytest.raises(ModelFolderError, match=r"not trusted: sklearn.datasets._covtype.GzipFile, .*_scorer.partial"):
        load_model(folder)
    assert victim.read_text() == "precious"


@pytest.mark.parametrize(
    "name",
    [
        *["sklearn.metrics._scorer.partial", "sklearn.datasets._covtype.GzipFile", "sklearn.utils.fixes.Thread"],
        *["sklearn.preprocessing.FunctionTransformer", "sklearn.linear_model.LogisticRegression"],
        *["sklearn.preprocessing._function_transformer.FunctionTransformer", "sklearn.linear_model._logistic.np"],
    ],
)
@pytest.mark.parametrize("loader", ["ObjectNode", "TypeNode", "PartialNode", "FunctionNode"])
def test_only_listed_classes_are_made_by_the_module_that_defines_them(name, loader, folder):
    def change(schema, _):
        module, _, kind = name.rpartition(".")
        schema["content"][0].update(__class__=kind, __module__=module, __loader__=loader)

    rewrite(folder, change)
    with pytest.raises(ModelFolderError, match=f"not trusted: {name}"):
        load_model(folder)


def test_a_listed_class_is_defined_where_the_list_says_and_calls_nothing():
    for module, names in LOADERS["ObjectNode"].items():
        for name in names:
            kind = getattr(importlib.import_module(module), name)
            assert kind.__module__ == module
            # A loss can be called, and returns a number.
            assert module == "sklearn._loss.loss" or not any("__call__" in vars(base) for base in kind.__mro__)


def test_a_module_that_is_called_like_scikit_learns_losses_is_trusted_only_if_it_holds_them(monkeypatch):
    from sklearn._loss import _loss

    for own, is_trusted in ((_loss, True), (SimpleNamespace(CyHalfBinomialLoss=dict), False)):
        monkeypatch.setitem(sys.modules, "_loss", own)
        assert is_listed("LossNode", "_loss", "CyHalfBinomialLoss") == is_trusted
        assert not is_listed("PartialNode", "_loss", "CyHalfBinomialLoss")
        assert not is_listed("LossNode", "_loss", "CyLossFunction")
    monkeypatch.delitem(sys.modules, "_loss")
    assert not is_listed("LossNode", "_loss", "CyHalfBinomialLoss")


def test_the_bytes_that_were_checked_are_the_ones_that_are_loaded(folder, model, monkeypatch):
    check = learner_files._checked_names

    def check_and_swap(path, content, trusted):
        names = check(path, content, trusted)
        path.write_bytes(b"another file by now")
        return names

    monkeypatch.setattr(learner_files, "_checked_names", check_and_swap)
    np.testing.assert_array_equal(load_model(folder).predict(X), model.predict(X))


def test_learners_that_changed_since_the_description_was_read_are_refused(folder):
    with pytest.raises(ModelFolderError, match="its checksum does not match"):
        learner_files.read_learners(folder / "learners.skops", "0" * 64, ())


@pytest.mark.parametrize("given", [{}, ["gini"], [None], [str]], ids=["no list", "a string", "nothing", "a class"])
def test_a_file_that_holds_no_learners_is_refused(given, folder):
    put(folder, given)
    with pytest.raises(ModelFolderError, match="must hold"):
        load_model(folder)


def tree_with(**changes):
    learner = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, SIDES)
    state = learner.tree_.__getstate__()
    state["nodes"] = state["nodes"].copy()
    for name, (place, value) in changes.items():
        state["nodes"][name][place] = value
    learner.tree_.__setstate__(state)
    return learner


def changed(learner, change, labels=SIDES):
    learner.fit(X, labels)
    change(learner)
    return learner


def set_children(boosting):
    nodes = boosting._predictors[0][0].nodes
    nodes["left"][0] = 0


def set_bin_feature(boosting):
    boosting._predictors[0][0].nodes["feature_idx"][0] = 10**6


def set_tree_feature(forest):
    trees = forest.estimators_ if isinstance(forest.estimators_, list) else forest.estimators_.ravel().tolist()
    state = trees[-1].tree_.__getstate__()
    state["nodes"] = state["nodes"].copy()
    state["nodes"]["feature"][0] = 4
    trees[-1].tree_.__setstate__(state)


def texts_with(column):
    vectorizer = TfidfVectorizer().fit(["cat dog", "dog"])
    vectorizer.vocabulary_["cat"] = column
    return vectorizer


def set_attribute(name, value):
    return lambda learner: setattr(learner, name, value)


FORGED = {
    "a feature beyond the samples": lambda: tree_with(feature=(0, 4)),
    "a feature before the samples": lambda: tree_with(feature=(0, -5)),
    "a child beyond the tree": lambda: tree_with(left_child=(0, 10**9)),
    "a child that is its parent": lambda: tree_with(right_child=(0, 0)),
    "a tree for more features": lambda: changed(DecisionTreeClassifier(), set_attribute("n_features_in_", 2)),
    "a forest": lambda: changed(RandomForestClassifier(2), set_tree_feature),
    "boosted trees": lambda: changed(GradientBoostingClassifier(n_estimators=2), set_tree_feature),
    "a loop of boosted trees": lambda: changed(
        HistGradientBoostingClassifier(max_iter=1, min_samples_leaf=2), set_children
    ),
    "a feature of boosted trees": lambda: changed(
        HistGradientBoostingClassifier(max_iter=1, min_samples_leaf=2), set_bin_feature
    ),
    "vectors of a support vector machine": lambda: changed(
        SVC(), set_attribute("_n_support", np.array([30, 30], np.int32))
    ),
    "too few vectors of four classes": lambda: changed(
        SVC(), set_attribute("_n_support", np.array([9, 9, 9, 9], np.int32)), Y
    ),
    "vectors of more classes": lambda: changed(SVC(), set_attribute("classes_", np.arange(5)), Y),
    "coefficients of two classes for four": lambda: changed(
        SVC(), lambda svc: setattr(svc, "_dual_coef_", svc._dual_coef_[:1].copy()), Y
    ),
    "intercepts of two classes for four": lambda: changed(SVC(), set_attribute("_intercept_", np.zeros(1)), Y),
    "frequencies of two classes for four": lambda: changed(
        GradientBoostingClassifier(n_estimators=2),
        set_attribute("init_", DummyClassifier(strategy="prior").fit(X, SIDES)),
        Y,
    ),
    "a loss of two classes for four": lambda: changed(
        GradientBoostingClassifier(n_estimators=2), lambda own: setattr(own._loss, "is_multiclass", False), Y
    ),
    "trees of two classes for four": lambda: changed(
        GradientBoostingClassifier(n_estimators=2),
        lambda own: setattr(own, "estimators_", own.estimators_[:, :2].copy()),
        Y,
    ),
    "labels of neighbours": lambda: changed(
        KNeighborsClassifier(algorithm="brute"), set_attribute("_y", np.full(40, 10**6))
    ),
    "columns of words": lambda: texts_with(10**6),
    "a pattern of words": lambda: set_and_return(TfidfVectorizer().fit(["a cat"]), "token_pattern", "(a+)+$"),
    "columns of categories": lambda: set_and_return(
        OneHotEncoder().fit([["a"], ["b"], ["c"]]), "_n_features_outs", [1]
    ),
    "a random state": lambda: changed(MLPClassifier((2,), max_iter=1), forged_random_state),
    "a folder for pickles": lambda: set_and_return(make_pipeline(SVC()), "memory", "here"),
    "a class for an estimator": lambda: set_and_return(make_pipeline(SVC()), "steps", [("svc", float)]),
    "steps without names": lambda: set_and_return(make_pipeline(SVC()), "steps", [2.0]),
    "a thousand threads": lambda: set_and_return(SGDClassifier(), "n_jobs", 10**6),
    "a sparse matrix": lambda: changed(SGDClassifier(), forged_coefficients),
}


def set_and_return(learner, name, value):
    setattr(learner, name, value)
    return learner


def forged_random_state(learner):
    state = np.random.RandomState(0)
    described = state.get_state(legacy=False)
    described["state"]["pos"] = 10**6
    state.set_state(described)
    learner._random_state = state


def forged_coefficients(learner):
    learner.sparsify()
    learner.coef_.indices[:] = 10**6


@pytest.mark.filterwarnings("ignore:Stochastic Optimizer")
@pytest.mark.parametrize("what", FORGED)
def test_forged_parts_of_a_learner_are_refused(what, folder):
    put(folder, [FORGED[what]()])
    with pytest.raises(ModelFolderError, match="is not what scikit-learn makes"):
        load_model(folder)


def node_of_tree(schema):
    return next(node for node in learner_files._nodes(schema) if node["__loader__"] == "TreeNode")


def more_outputs(schema, _files):
    node_of_tree(schema)["__reduce__"]["args"]["content"][2].update(content="1000000", __id__=1)


def outputs_by_number(schema, _files):
    """skops takes the first node with a number for all of them."""
    schema["content"].insert(0, {**node_of_tree(schema)["__reduce__"]["args"]["content"][2], "content": "1000000"})


def longer_array(schema, files):
    name = next(node["file"] for node in learner_files._nodes(schema) if node.get("type") == "numpy")
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": "<f8", "fortran_order": False, "shape": (10**12,)})
    files[name] = stream.getvalue()


def many_copies(schema, _files):
    array = next(node for node in learner_files._nodes(schema) if node.get("type") == "numpy")
    schema["content"] += [{**array, "__id__": 10 + k} for k in range(3)]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (more_outputs, "a tree must have one output"),
        (outputs_by_number, "two different nodes have the number"),
        (longer_array, "bytes are not those of an array"),
        (many_copies, "two nodes are made of"),
    ],
)
def test_a_schema_is_taken_at_its_word_only_where_it_can_be(change, reason, folder):
    put(folder, [DecisionTreeClassifier().fit(X, SIDES)])
    rewrite(folder, change)
    with pytest.raises(ModelFolderError, match=reason):
        load_model(folder)


def test_a_sparse_matrix_that_grows_when_it_is_unpacked_is_refused(folder):
    learner = SGDClassifier().fit(X, SIDES).sparsify()
    learner.coef_ = sparse.csr_matrix((1, 1 << 23))
    learner.coef_.indptr = np.zeros(1 << 23, dtype=np.int64)
    put(folder, [learner])
    with pytest.raises(ModelFolderError, match="10 times as large as the file"):
        load_model(folder)


def test_the_caller_can_answer_for_a_class(folder):
    learner = KNeighborsClassifier(algorithm="kd_tree").fit(X, SIDES)
    put(folder, [learner] * 20)
    names = ["sklearn.neighbors._kd_tree.KDTree", "sklearn.metrics._dist_metrics.EuclideanDistance64"]
    with pytest.raises(ModelFolderError, match="not trusted: .*EuclideanDistance64, .*KDTree"):
        load_model(folder)
    assert len(load_model(folder, trusted=names).predict(X)) == len(X)


@pytest.mark.parametrize(
    ("learner", "samples", "reason"),
    [
        (make_pipeline(FunctionTransformer(), DecisionTreeClassifier()), X, "FunctionTransformer"),
        (make_pipeline(TfidfVectorizer(token_pattern="[a-z]+"), LogisticRegression()), WORDS, "TfidfVectorizer"),
    ],
    ids=["a type that is not listed", "content that is refused"],
)
def test_saving_warns_of_learners_that_will_not_be_loaded_without_a_word(learner, samples, reason, tmp_path):
    classifier = ECOCClassifier(learner, codebook="one_vs_rest", assignment="identity").fit(samples, Y)
    with pytest.warns(UserWarning, match=f"load_model will refuse these learners .* trusted=.*{reason}"):
        folder = save_model(classifier, tmp_path / "model")
    with pytest.raises(ModelFolderError, match=reason):
        load_model(folder)


def test_saving_listed_learners_warns_of_nothing(model, tmp_path, recwarn):
    save_model(model, tmp_path / "model")
    assert not recwarn.list


@pytest.mark.parametrize("part", ["nodes", "values"])
def test_a_tree_whose_state_is_a_single_number_is_refused_before_it_is_made(part, tmp_path):
    classifier = ECOCClassifier(DecisionTreeClassifier(max_depth=2), random_state=0).fit(X, Y)
    folder = save_model(classifier, tmp_path / "model")

    def shrink(schema, files):
        (tree,) = [node for node in learner_files._nodes(schema) if node["__loader__"] == "TreeNode"][:1]
        name = tree["content"]["content"][part]["file"]
        stream = io.BytesIO()
        np.save(stream, np.load(io.BytesIO(files[name])).reshape(-1)[0])
        files[name] = stream.getvalue()

    rewrite(folder, shrink)
    with pytest.raises(ModelFolderError, match="the nodes of a tree have the shape"):
        load_model(folder)
