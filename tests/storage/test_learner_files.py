"""Learners stored by skops are loaded only with the user's word, by every function and every command."""

import json
from functools import partial

import numpy as np
import pytest
import typer
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, StandardScaler
from sklearn.svm import SVC
from skops.io import dump

from codekin import Predictor, storage
from codekin._system.files import json_checksum, sha256
from codekin.cli.main import COMMANDS, main
from codekin.estimators import ECOCClassifier
from codekin.learners import LEARNERS
from codekin.storage import ModelFolderError, load_input, load_model, save_model

rng = np.random.default_rng(0)
X, Y = rng.normal(size=(40, 4)), np.arange(40) % 4
SIDES = np.where(Y < 2, 1, 0)
REFUSED = r"learners.skops holds learners stored by skops, .* with trusted=True, on the command line with --trust\."

pytestmark = pytest.mark.filterwarnings("ignore:Learners of type")


def model_of(learner, **options):
    return ECOCClassifier(learner, calibrate=None, random_state=0, **options).fit(X, Y)


@pytest.fixture(scope="module")
def model():
    return model_of(make_pipeline(MaxAbsScaler(), LogisticRegression()))


@pytest.fixture
def folder(model, tmp_path):
    return save_model(model, tmp_path / "model")


def put(folder, learners):
    """Other learners, with checksums that are right."""
    path = folder / "learners.skops"
    dump(learners, path)
    description = json.loads((folder / "model.json").read_text())
    description["files"][path.name] = {"bytes": path.stat().st_size, "sha256": sha256(path)}
    description["sha256"] = json_checksum(description)
    (folder / "model.json").write_text(json.dumps(description))


def writes_beyond_the_heap(_):
    learner = GradientBoostingClassifier(n_estimators=1, max_depth=1)
    learner.fit(np.arange(120.0).reshape(-1, 1), np.arange(120) % 60)
    learner._raw_predict_init = np.float64
    return learner


def reads_out_of_bounds(_):
    learner = SVC(kernel="precomputed").fit(X @ X.T, SIDES)
    learner.shape_fit_, learner.n_features_in_ = (2 * 10**9, 2 * 10**9), 2 * 10**9
    learner.support_ = np.full_like(learner.support_, 2 * 10**9 - 1)
    learner._validate_for_predict = np.float64
    return learner


def reads_a_file(path):
    imputer = SimpleImputer(strategy="constant", fill_value=str(path), missing_values=None)
    words = ColumnTransformer([("words", CountVectorizer(input="filename", vocabulary=["precious"]), 0)])
    return make_pipeline(imputer, words, LogisticRegression())


def takes_long(_):
    return make_pipeline(CountVectorizer(vocabulary=["a", "b"], token_pattern="(a|aa)+$"), LogisticRegression())


def has_no_tags(_):
    learner = LogisticRegression().fit(X, SIDES)
    learner.__sklearn_tags__ = np.float64
    return learner


FORGERIES = [writes_beyond_the_heap, reads_out_of_bounds, reads_a_file, takes_long, has_no_tags]


@pytest.mark.parametrize("forged", FORGERIES)
@pytest.mark.parametrize("version", [1, 7, 8])
def test_forged_learners_are_refused_unread_in_folders_of_every_version(
    forged, version, folder, tmp_path, monkeypatch, capsys
):
    put(folder, [forged(tmp_path / "model.json")] * 20)
    description = json.loads((folder / "model.json").read_text())
    description["format_version"] = version
    description["sha256"] = json_checksum(description)
    (folder / "model.json").write_text(json.dumps(description))

    def read(*_, **__):
        raise AssertionError("skops was called")

    monkeypatch.setattr("skops.io.loads", read)
    monkeypatch.setattr("skops.io.get_untrusted_types", read)
    for load in (load_model, load_input, Predictor.load, partial(load_model, trusted=())):
        with pytest.raises(ModelFolderError, match=REFUSED):
            load(folder)
    assert main(["inspect", str(folder)]) == 2
    assert "--trust." in capsys.readouterr().err


def test_a_server_refuses_learners_without_trust(folder):
    serving = pytest.importorskip("codekin.deploy.serve")
    with pytest.raises(ModelFolderError, match=REFUSED):
        serving.application(folder)
    assert serving.application(folder, trusted=True).predictor.n_classes == 4


def test_learners_are_loaded_by_all_who_give_their_word(folder, model):
    np.testing.assert_array_equal(load_model(folder, trusted=True).predict(X), model.predict(X))
    assert Predictor.load(folder, trusted=True).predict(X[0]) == model.predict(X)[0]
    assert load_input(folder, trusted=True).vectorizer is None


ARGUMENTS = {
    **{"predict": ["samples.svm"], "evaluate": ["samples.svm"], "calibrate": ["samples.svm"], "inspect": []},
    **{"explain": ["samples.svm"], "explore": ["-o", "page.html"], "export": ["page.onnx"], "grow": ["samples.svm"]},
    "serve": ["--port", "0"],
    "suspects": ["samples.svm"],
}


def command_of(name):
    from importlib import import_module

    return typer.main.get_command(import_module(f"codekin.cli.{name}").app)


def test_every_command_that_loads_a_model_takes_the_users_word():
    loading = {name for name in COMMANDS if name not in ("data", "study") for option in command_of(name).params}
    taking = {name for name in loading if any("--trust" in option.opts for option in command_of(name).params)}
    has_model = {name for name in loading if any(option.name == "model" for option in command_of(name).params)}
    assert taking == has_model - {"train"} == ARGUMENTS.keys()


@pytest.mark.parametrize("command", ARGUMENTS)
def test_every_command_refuses_learners_without_the_users_word(command, folder, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = (" ".join(f"{j + 1}:{value:g}" for j, value in enumerate(row)) for row in X)
    (tmp_path / "samples.svm").write_text("".join(f"{label} {row}\n" for label, row in zip(Y, rows, strict=True)))
    before = sorted(tmp_path.rglob("*"))
    assert main([command, str(folder), *ARGUMENTS[command]]) == 2
    error = capsys.readouterr().err
    assert "learners stored by skops" in error
    assert "--trust" in error
    assert sorted(tmp_path.rglob("*")) == before
    if command in ("predict", "evaluate", "calibrate", "inspect", "suspects"):
        assert main([command, str(folder), *ARGUMENTS[command], "--trust"]) == 0


@pytest.mark.parametrize("estimator", ["auto", *LEARNERS])
@pytest.mark.parametrize("code", ["trellis", "tree"])
def test_models_of_the_command_line_need_no_trust(estimator, code, tmp_path, capsys):
    rows = (" ".join(f"{j + 1}:{value:g}" for j, value in enumerate(row)) for row in X)
    samples, folder = tmp_path / "samples.svm", tmp_path / "model"
    samples.write_text("".join(f"{label} {row}\n" for label, row in zip(Y, rows, strict=True)))
    arguments = ["train", str(samples), str(folder), "--quiet", "--estimator", estimator, "--code", code]
    if main(arguments) != 0:
        # Trees are not learned by AROW, and vectors not from sparse samples.
        assert (estimator, code) == ("arow", "tree") or estimator == "vectors"
        return
    assert sorted(path.name for path in folder.iterdir()) == ["arrays.safetensors", "model.json"]
    assert len(load_model(folder).classes_) == 4
    assert main(["predict", str(folder), str(samples)]) == 0


OTHERS = [
    SVC(),
    KNeighborsClassifier(algorithm="kd_tree"),
    GradientBoostingClassifier(n_estimators=2),
    HistGradientBoostingClassifier(max_iter=2),
    make_pipeline(StandardScaler(), SVC()),
    make_pipeline(FunctionTransformer(np.abs), LogisticRegression()),
]


@pytest.mark.parametrize("learner", OTHERS, ids=lambda learner: type(learner).__name__)
def test_saving_warns_of_learners_that_need_trust_and_trust_loads_them(learner, tmp_path):
    classifier = model_of(learner)
    name = type(learner).__name__
    with pytest.warns(UserWarning, match=f"Learners of type {name} .* loading this model will need trusted=True"):
        folder = save_model(classifier, tmp_path / "model")
    with pytest.raises(ModelFolderError, match=REFUSED):
        load_model(folder)
    again = load_model(folder, trusted=True)
    np.testing.assert_array_equal(again.predict_proba(X), classifier.predict_proba(X))


def test_saving_learners_as_arrays_warns_of_nothing(tmp_path, recwarn):
    save_model(model_of(RandomForestClassifier(2)), tmp_path / "model")
    assert not recwarn.list


def test_a_list_of_types_is_that_of_skops(tmp_path):
    folder = save_model(model_of(KNeighborsClassifier(algorithm="kd_tree")), tmp_path / "model")
    names = ["sklearn.neighbors._kd_tree.KDTree", "sklearn.metrics._dist_metrics.EuclideanDistance64"]
    assert len(load_model(folder, trusted=names).predict(X)) == len(X)
    with pytest.raises(ModelFolderError, match="cannot be read by skops: .*EuclideanDistance64"):
        load_model(folder, trusted=names[:1])
    with pytest.raises(TypeError, match="'trusted' must be True or a list of names. Got 'sklearn"):
        load_model(folder, trusted=names[0])


def test_learners_that_changed_since_the_description_was_read_are_refused(folder):
    with pytest.raises(ModelFolderError, match="its checksum does not match"):
        storage.read_learners(folder / "learners.skops", "0" * 64, True)


def test_the_file_is_read_once(folder, model, monkeypatch):
    from skops.io import get_untrusted_types

    def names_and_swap(*, data):
        (folder / "learners.skops").write_bytes(b"another file by now")
        return get_untrusted_types(data=data)

    monkeypatch.setattr("skops.io.get_untrusted_types", names_and_swap)
    checksum = sha256(folder / "learners.skops")
    assert len(storage.read_learners(folder / "learners.skops", checksum, True)) == len(model.estimators_) + 1


@pytest.mark.parametrize("given", [{}, "gini", None])
def test_a_file_that_holds_no_list_of_learners_is_refused(given, folder):
    put(folder, given)
    with pytest.raises(ModelFolderError, match="must hold a list of learners"):
        load_model(folder, trusted=True)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 nothing", b"pickle"])
def test_a_file_that_skops_cannot_read_gets_a_sentence(content, folder):
    path = folder / "learners.skops"
    path.write_bytes(content)
    with pytest.raises(ModelFolderError, match=r"learners.skops cannot be read by skops: .*\.$"):
        storage.read_learners(path, sha256(path), True)


def test_an_old_folder_that_is_trusted_is_saved_anew_without_need_of_trust(tmp_path):
    from pathlib import Path
    from zipfile import ZipFile

    with ZipFile(Path(__file__).with_name("folders_of_version_7.zip")) as archive:
        archive.extractall(tmp_path)
    old = load_model(tmp_path / "ecoc-trees", trusted=True)
    again = load_model(save_model(old, tmp_path / "new"))
    with np.load(tmp_path / "expected.npz") as expected:
        np.testing.assert_array_equal(again.predict_proba(expected["X"]), old.predict_proba(expected["X"]))
