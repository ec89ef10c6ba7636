import json
import pickle
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import (
    ElasticNet,
    Lasso,
    LinearRegression,
    LogisticRegression,
    Ridge,
    RidgeClassifier,
    RidgeCV,
    SGDClassifier,
    SGDRegressor,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC, LinearSVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeRegressor

from codekin._system.files import json_checksum
from codekin.code import Assignment, Code
from codekin.codebooks.designs.spectral import random_projection
from codekin.data import TextVectorizer
from codekin.estimators import ECOCClassifier, ExtremeClassifier, TrellisClassifier
from codekin.learners import AROW, Softmax
from codekin.model import FittedCode, Model
from codekin.storage import ModelFolderError, ModelInput, load_input, load_model, save_model


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:250] / 16, y[:250]


@pytest.fixture
def saved_by_skops(digits, tmp_path):
    with pytest.warns(UserWarning, match="stored by skops"):
        return save_model(ECOCClassifier(SVC(), n_bits=6, random_state=0).fit(*digits), tmp_path / "model")


@pytest.fixture
def saved(digits, tmp_path):
    classifier = ECOCClassifier(RidgeClassifier(), n_bits=6, random_state=0).fit(*digits)
    return save_model(classifier, tmp_path / "model")


LEARNERS = [
    None,
    LinearSVC(),
    LogisticRegression(max_iter=1000),
    RidgeClassifier(),
    SGDClassifier(),
    SVC(),
    DecisionTreeClassifier(),
    RandomForestClassifier(3),
    GradientBoostingClassifier(n_estimators=2),
    HistGradientBoostingClassifier(max_iter=2),
    GaussianNB(),
    KNeighborsClassifier(),
    make_pipeline(StandardScaler(), LinearSVC()),
]


@pytest.mark.filterwarnings("ignore:Learners of type")
@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: type(learner).__name__)
@pytest.mark.parametrize("calibrate", [None, "holdout"])
def test_a_round_trip_is_exact_for_every_family_of_learners(learner, calibrate, digits, tmp_path):
    X, y = digits
    classifier = ECOCClassifier(learner, n_bits=5, calibrate=calibrate, random_state=0).fit(X, y)
    again = load_model(save_model(classifier, tmp_path / "model"), trusted=True)
    np.testing.assert_array_equal(again.bit_margins(X), classifier.bit_margins(X))
    np.testing.assert_array_equal(again.predict(X), classifier.predict(X))
    np.testing.assert_array_equal(again.predict_proba(X), classifier.predict_proba(X))
    np.testing.assert_array_equal(again.top_k(X, 3)[0], classifier.top_k(X, 3)[0])
    assert str(again.report()) == str(classifier.report())
    assert repr(again.assignment_) == repr(classifier.assignment_)
    assert again.get_params()["n_bits"] == 5


REGRESSORS = [
    Ridge(),
    RidgeCV(),
    LinearRegression(),
    Lasso(0.01),
    ElasticNet(0.01),
    SGDRegressor(),
    LinearSVR(max_iter=10_000),
    DecisionTreeRegressor(),
    ExtraTreeRegressor(),
    RandomForestRegressor(3),
    ExtraTreesRegressor(3),
    MLPRegressor(hidden_layer_sizes=4, max_iter=5),
    make_pipeline(StandardScaler(), Ridge()),
]


@pytest.mark.filterwarnings("ignore:Learners of type", "ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("learner", REGRESSORS, ids=lambda learner: type(learner).__name__)
@pytest.mark.parametrize("decoding", ["loss", "learned"])
def test_a_round_trip_is_exact_for_every_family_of_regressors(learner, decoding, digits, tmp_path):
    X, y = digits
    classifier = ECOCClassifier(learner, codebook="random_projection", n_bits=5, decoding=decoding, random_state=0)
    again = load_model(save_model(classifier.fit(X, y), tmp_path / "model"), trusted=True)
    assert again.codebook_.is_real
    np.testing.assert_array_equal(again.codebook_.matrix, classifier.codebook_.matrix)
    np.testing.assert_array_equal(again.bit_margins(X), classifier.bit_margins(X))
    np.testing.assert_array_equal(again.predict(X), classifier.predict(X))
    np.testing.assert_array_equal(again.predict_proba(X), classifier.predict_proba(X))
    assert again.decoding_ == decoding
    assert str(again.report()) == str(classifier.report())


@pytest.mark.parametrize(
    ("codebook", "learner", "change", "reason"),
    [
        ("random_projection", Ridge(), {"is_real": False}, "must be -1, 0 or"),
        ("dense_random", RidgeClassifier(), {"is_real": True}, "type float64"),
    ],
)
def test_a_folder_whose_codewords_are_not_of_the_kind_it_says_is_refused(
    codebook, learner, change, reason, digits, tmp_path
):
    classifier = ECOCClassifier(learner, codebook=codebook, n_bits=5, random_state=0).fit(*digits)
    folder = save_model(classifier, tmp_path / "model")
    description = json.loads((folder / "model.json").read_text())
    description["codebook"] |= change
    description["sha256"] = json_checksum(description)
    (folder / "model.json").write_text(json.dumps(description))
    with pytest.raises(ModelFolderError, match=reason):
        load_model(folder)


def test_real_codewords_with_the_classifiers_of_another_model_are_refused(digits, tmp_path):
    signs = ECOCClassifier(RidgeClassifier(), codebook="dense_random", n_bits=5, decoding="loss", random_state=0)
    real = Code(random_projection(10, 5, rng=0), Assignment.identity(10))
    forged = FittedCode.of(real, signs.fit(*digits).model_.bits, "squared")
    with pytest.raises(ModelFolderError, match="real codewords need regressors"):
        load_model(save_model(Model((forged,)), tmp_path / "model"))


@pytest.mark.parametrize(
    "labels",
    [np.arange(10) * 10, np.array(list("abcdefghij")), np.array(list("abcdefghij"), dtype=object), np.arange(10) / 4],
)
def test_labels_come_back_as_they_were(labels, digits, tmp_path):
    X, y = digits
    y = labels[y]
    if labels.dtype.kind == "f":
        y = y * 4  # classification targets must be whole numbers
    classifier = ECOCClassifier(RidgeClassifier(), n_bits=5, random_state=0).fit(X, y)
    again = load_model(save_model(classifier, tmp_path / "model"))
    np.testing.assert_array_equal(again.classes_, classifier.classes_)
    assert again.classes_.dtype == classifier.classes_.dtype


@pytest.mark.parametrize(
    "learner", ["auto", "arow", "softmax", AROW(fit_intercept=True, average=True), Softmax(fit_intercept=True)]
)
def test_a_round_trip_of_a_trellis_is_exact(learner, digits, tmp_path):
    X, y = digits
    classifier = ExtremeClassifier(3, estimator=learner, random_state=0)
    classifier.fit(X[:150], y[:150], validation=(X[150:], y[150:]))
    again = load_model(save_model(classifier, tmp_path / "model"))
    np.testing.assert_array_equal(again.bit_margins(X), classifier.bit_margins(X))
    np.testing.assert_array_equal(again.top_k_proba(X, 3)[1], classifier.top_k_proba(X, 3)[1])
    assert again.codebook_.trellis == classifier.codebook_.trellis
    assert not (tmp_path / "model" / "learners.skops").exists()
    assert type(again.learner_) is type(classifier.learner_)
    if not isinstance(learner, str):
        assert again.estimator.fit_intercept
    else:
        assert again.estimator == learner
    assert again.partial_fit(X, y).score(X, y) > 0.5


@pytest.mark.parametrize("precision", ["float16", "int8"])
@pytest.mark.parametrize("prune", [None, 0.3])
def test_a_round_trip_of_narrow_weights_is_exact_and_small(precision, prune, digits, tmp_path):
    X, y = digits
    sizes = {}
    for kept in ("float32", precision):
        classifier = ExtremeClassifier(3, precision=kept, prune=prune, random_state=0)
        classifier.fit(X[:150], y[:150], validation=(X[150:], y[150:]))
        again = load_model(save_model(classifier, tmp_path / kept))
        np.testing.assert_array_equal(again.bit_margins(X), classifier.bit_margins(X))
        assert again.model_.bits.precision == again.precision == kept
        sizes[kept] = (tmp_path / kept / "arrays.safetensors").stat().st_size
    assert sizes[precision] < sizes["float32"]
    assert again.partial_fit(X, y).score(X, y) > 0.5


def test_folders_of_the_first_version_are_read(digits, tmp_path):
    X, y = digits
    classifier = ExtremeClassifier(3, estimator=AROW(r=2), random_state=0).fit(X, y)
    folder = save_model(classifier, tmp_path / "model")
    description = json.loads((folder / "model.json").read_text())
    description["format_version"] = 1
    description["classifier"]["kind"] = "TrellisClassifier"  # its name at the time
    del description["classifier"]["report"]["n_codes"]
    del description["classifier"]["learner"], description["classifier"]["is_learner_given"]
    del description["classifier"]["params"]["precision"]
    description["classifier"]["arow"] = {"r": 2}
    for name in ("learner", "nll", "nll_before", "ece", "ece_before"):
        del description["classifier"]["report"][name]
    description["sha256"] = json_checksum(description)
    (folder / "model.json").write_text(json.dumps(description))
    again = load_model(folder)
    np.testing.assert_array_equal(again.predict(X), classifier.predict(X))
    assert (again.estimator.r, again.learner_.r) == (2, 2)


def test_a_vectorizer_and_a_class_tree_travel_with_the_model(tmp_path):
    texts = ["red apple", "green apple", "blue sky", "grey sky", "fast car", "slow car"]
    vectorizer = TextVectorizer().fit(texts)
    X, y = vectorizer.transform(texts), ["fruit", "fruit", "weather", "weather", "traffic", "traffic"]
    edges = [("all", "nature"), ("all", "traffic"), ("nature", "fruit"), ("nature", "weather")]
    classifier = ExtremeClassifier(taxonomy=edges, random_state=0).fit(X, y)
    folder = save_model(classifier, tmp_path / "model", model_input=ModelInput(vectorizer, {"index_base": 1}))
    again = load_input(folder)
    assert again.encoding == {"index_base": 1}
    assert (again.vectorizer.transform(texts) != X).nnz == 0
    tree = load_model(folder).class_distances_.tree
    assert tree.path_length(0, 2) == classifier.class_distances_.tree.path_length(0, 2)
    assert load_input(save_model(classifier, tmp_path / "bare")).vectorizer is None


def test_a_pruned_model_is_smaller_and_comes_back_exactly(digits, tmp_path):
    X, y = digits
    model = ExtremeClassifier(3, random_state=0).fit(X, y).model_
    pruned = Model((replace(model.first, bits=model.bits.sparse(0.05)),))
    again = load_model(save_model(pruned, tmp_path / "model"))
    np.testing.assert_array_equal(again.margins(X), pruned.margins(X))


def test_a_model_without_an_estimator_around_it(digits, tmp_path):
    X, y = digits
    model = ECOCClassifier(RidgeClassifier(), n_bits=5, random_state=0).fit(X, y).model_
    again = load_model(save_model(model, tmp_path / "model"))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_a_loaded_classifier_can_be_fitted_again(saved, digits):
    X, y = digits
    again = load_model(saved).fit(X, y)
    assert again.score(X, y) > 0.5


@pytest.mark.parametrize("kind", [ECOCClassifier, ExtremeClassifier, TrellisClassifier])
def test_every_classifier_comes_back_as_what_it_was(kind, digits, tmp_path):
    X, y = digits
    classifier = kind(random_state=0).fit(X, y)
    again = load_model(save_model(classifier, tmp_path / "model"))
    assert type(again) is kind
    np.testing.assert_array_equal(again.predict(X), classifier.predict(X))


def test_arrays_are_memory_mapped(saved):
    matrix = load_model(saved).codebook_.matrix
    assert matrix is not None
    from codekin._system.arrays import read_arrays

    arrays = read_arrays(saved / "arrays.safetensors")
    assert all(isinstance(array.base, np.memmap) or isinstance(array, np.memmap) for array in arrays.values())


def test_saving_again_replaces_a_model_and_nothing_else(saved, digits, tmp_path):
    X, y = digits
    classifier = ECOCClassifier(RidgeClassifier(), n_bits=7, random_state=1).fit(X, y)
    save_model(classifier, saved)
    assert load_model(saved).codebook_.n_bits == 7
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "mine.txt").write_text("keep")
    with pytest.raises(FileExistsError, match="is not a model folder"):
        save_model(classifier, tmp_path / "notes")
    assert (tmp_path / "notes" / "mine.txt").read_text() == "keep"


def test_a_model_is_not_saved_where_other_files_lie_beside_one(saved, digits):
    X, y = digits
    classifier = ECOCClassifier(RidgeClassifier(), n_bits=7, random_state=1).fit(X, y)
    (saved / "notes.txt").write_text("keep")
    (saved / "pictures").mkdir()
    before = load_model(saved).predict(X)
    with pytest.raises(FileExistsError, match=r"model holds notes\.txt and 1 more besides a model"):
        save_model(classifier, saved)
    assert (saved / "notes.txt").read_text() == "keep"
    assert (load_model(saved).predict(X) == before).all()


def test_a_failed_save_leaves_the_old_model_and_no_debris(saved, digits, tmp_path, monkeypatch):
    X, y = digits
    classifier = ECOCClassifier(RidgeClassifier(), n_bits=7, random_state=1).fit(X, y)

    def fail(*args, **kwargs):
        raise OSError("No space left on device")

    monkeypatch.setattr("codekin.storage.write_arrays", fail)
    with pytest.raises(OSError, match="No space left"):
        save_model(classifier, saved)
    assert load_model(saved).codebook_.n_bits == 6
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


@pytest.mark.parametrize("name", ["model.json", "arrays.safetensors", "learners.skops"])
@pytest.mark.parametrize("harm", ["missing", "truncated", "empty", "flipped", "foreign"])
def test_a_harmed_folder_gets_one_clear_sentence(name, harm, saved_by_skops):
    saved = saved_by_skops
    path = saved / name
    content = path.read_bytes()
    if harm == "missing":
        path.unlink()
    elif harm == "truncated":
        path.write_bytes(content[: len(content) // 2])
    elif harm == "empty":
        path.write_bytes(b"")
    elif harm == "flipped":
        middle = len(content) // 2
        path.write_bytes(content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :])
    else:
        path.write_bytes(b"PK\x03\x04 something else altogether")
    with pytest.raises(ModelFolderError, match=name):
        load_model(saved)


def rewritten(saved, **changes):
    """The description with changes and a checksum that fits them, as a forger would make it."""
    from codekin._system.files import json_checksum

    path = saved / "model.json"
    description = {**json.loads(path.read_text()), **changes}
    description["sha256"] = json_checksum(description)
    path.write_text(json.dumps(description))


def test_an_edited_description_is_noticed(saved):
    path = saved / "model.json"
    path.write_text(path.read_text().replace('"squared"', '"hinge"'))
    with pytest.raises(ModelFolderError, match="model.json was changed after it was written"):
        load_model(saved)


def test_a_later_format_and_a_missing_part_are_named(saved):
    rewritten(saved, format_version=99)
    with pytest.raises(ModelFolderError, match="format version 99; codekin .* reads versions 1 to 9"):
        load_model(saved)
    rewritten(saved, format_version=1, bits={})
    with pytest.raises(ModelFolderError, match="missing or misplaced"):
        load_model(saved)


def test_a_folder_that_is_no_model(tmp_path):
    with pytest.raises(ModelFolderError, match="has no model.json"):
        load_model(tmp_path)


class Hostile:
    def __reduce__(self):
        return (print, ("hacked",))


def test_a_pickle_in_the_place_of_a_file_is_not_executed(saved_by_skops, capsys):
    saved = saved_by_skops
    for name in ("learners.skops", "arrays.safetensors", "model.json"):
        harmed = (saved / name).read_bytes()
        (saved / name).write_bytes(pickle.dumps(Hostile()))
        with pytest.raises(ModelFolderError, match=name):
            load_model(saved, trusted=True)
        (saved / name).write_bytes(harmed)
    assert "hacked" not in capsys.readouterr().out


def test_a_loss_given_as_a_function_cannot_be_saved(digits, tmp_path):
    X, y = digits
    classifier = ECOCClassifier(RidgeClassifier(), n_bits=5, decoding="loss", loss=lambda z: np.maximum(0, 1 - z))
    classifier.fit(X, y)
    with pytest.raises(ValueError, match="loss given as a function cannot be saved"):
        save_model(classifier, tmp_path / "model")
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize("options", [{"rerank": "learned"}, {"n_codes": 3}, {"rerank": "centroid", "n_codes": 2}])
def test_codes_and_their_reranking_come_back_to_the_last_bit(options, digits, tmp_path):
    X, y = digits
    classifier = ExtremeClassifier(random_state=0, **options).fit(X, y)
    again = load_model(save_model(classifier, tmp_path / "model"))
    np.testing.assert_array_equal(again.decision_function(X), classifier.decision_function(X))
    np.testing.assert_array_equal(again.predict(X), classifier.predict(X))
    for mine, theirs in zip(again.top_k_proba(X, 4), classifier.top_k_proba(X, 4), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert str(again.report()) == str(classifier.report())
    assert {name: again.get_params()[name] for name in options} == options
    bare = load_model(save_model(classifier.model_, tmp_path / "bare"))
    np.testing.assert_array_equal(bare.predict(X), classifier.model_.predict(X))


@pytest.mark.parametrize("is_weighted", [False, True])
def test_a_model_alone_keeps_its_probabilities(is_weighted, digits, tmp_path):
    X, y = digits
    options = {"codebook": "one_vs_one", "weighted_decoding": is_weighted, "decoding": "loss"}
    model = ECOCClassifier(LinearSVC(), **options, random_state=0).fit(X, y).model_.with_temperature(1.7)
    again = load_model(save_model(model, tmp_path / "model"))
    np.testing.assert_array_equal(again.proba(X), model.proba(X))
    assert not np.allclose(replace(model, probability_decoder=None).proba(X), model.proba(X))
    assert not np.allclose(model.with_temperature(1.0).proba(X), model.proba(X))


def test_a_ranking_with_a_missing_part_is_named(digits, tmp_path):
    folder = save_model(ExtremeClassifier(rerank="centroid", random_state=0).fit(*digits), tmp_path / "model")
    from codekin._system.files import json_checksum

    description = json.loads((folder / "model.json").read_text())
    del description["ranking"]["weight"]
    description["sha256"] = json_checksum(description)
    (folder / "model.json").write_text(json.dumps(description))
    with pytest.raises(ModelFolderError, match="a part of the model is missing or misplaced"):
        load_model(folder)
