"""No file that codekin reads can run code: a pickle that would create a folder is tried wherever a file is read."""

import io
import json
import os
import pickle
import zipfile
from functools import partial

import joblib
import numpy as np
import pytest
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import SVC

from codekin._system.arrays import write_arrays
from codekin._system.files import json_checksum, sha256
from codekin.cli.main import main
from codekin.data.caching import CacheError, cached_data, open_cache
from codekin.estimators import ECOCClassifier
from codekin.learners import CheckpointError, Checkpoints
from codekin.storage import ModelFolderError, load_model, save_model
from codekin_studies.engine.workspace import Journal, Task, Workspace

GOOD = b"0 1:1 2:0.5\n1 2:1\n2 3:1\n"


class MakesFolder:
    """Whoever unpickles it makes a folder."""

    def __init__(self, folder):
        self.folder = str(folder)

    def __reduce__(self):
        return os.mkdir, (self.folder,)


@pytest.fixture
def marker(tmp_path):
    """The folder that a hostile file would make; it must not be there in the end."""
    path = tmp_path / "this was executed"
    yield path
    assert not path.exists()


def hostile_array(marker):
    """A .npy file that holds Python objects."""
    stream = io.BytesIO()
    np.save(stream, np.array([MakesFolder(marker)], dtype=object), allow_pickle=True)
    return stream.getvalue()


def hostile_archive(marker):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name in ("indices", "indptr", "data", "format", "shape", "labels"):
            archive.writestr(f"{name}.npy", hostile_array(marker))
    return stream.getvalue()


def hostile_joblib(marker):
    stream = io.BytesIO()
    joblib.dump(MakesFolder(marker), stream)
    return stream.getvalue()


PAYLOADS = {
    "a pickle": lambda marker: pickle.dumps(MakesFolder(marker)),
    "an old pickle": lambda marker: pickle.dumps(MakesFolder(marker), protocol=0),
    "a joblib file": hostile_joblib,
    "an array of objects": hostile_array,
    "an archive of objects": hostile_archive,
}


@pytest.fixture(params=PAYLOADS)
def payload(request, marker):
    return PAYLOADS[request.param](marker)


def test_the_files_are_hostile_indeed(tmp_path):
    folder = tmp_path / "made"
    pickle.loads(PAYLOADS["a pickle"](folder))
    assert folder.exists()
    folder.rmdir()
    np.load(io.BytesIO(hostile_array(folder)), allow_pickle=True)
    assert folder.exists()


@pytest.mark.parametrize(
    "arguments",
    [
        *[("train", f"hostile{suffix}", "model") for suffix in ("", ".svm", ".svm.gz", ".xmc", ".vw", ".npz", ".tsv")],
        ("train", "good.svm", "model", "--taxonomy", "hostile"),
        ("train", "good.svm", "model", "--assignment", "hostile"),
        ("train", "good.svm", "model", "--validation", "hostile"),
        ("train", "hostile.svm", "model", "--cache", "cache"),
        ("assign", "--distances", "hostile"),
        ("assign", "--taxonomy", "hostile"),
        ("assign", "--data", "hostile"),
        ("assign", "--taxonomy", "good.txt", "--codebook", "hostile"),
        ("study", "run", "hostile", "--no-report"),
        ("data", "convert", "hostile", "new.tsv"),
    ],
    ids=" ".join,
)
def test_a_hostile_input_is_refused(arguments, payload, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "good.svm").write_bytes(GOOD)
    (tmp_path / "good.txt").write_bytes(b"r 0\nr 1\nr 2\n")
    for argument in arguments:
        if argument.startswith("hostile"):
            (tmp_path / argument).write_bytes(payload)
    assert main(list(arguments)) == 2
    assert capsys.readouterr().err.splitlines()[-1].startswith("codekin: ")


@pytest.fixture(scope="module")
def model():
    X, y = np.random.default_rng(0).normal(size=(40, 4)), np.arange(40) % 4
    return ECOCClassifier(SVC(), random_state=0).fit(X, y)


def signed(folder, **changes):
    """Write the checksums of a model folder anew."""
    description = json.loads((folder / "model.json").read_text()) | changes
    for name, facts in description["files"].items():
        facts.update(bytes=(folder / name).stat().st_size, sha256=sha256(folder / name))
    description["sha256"] = json_checksum(description)
    (folder / "model.json").write_text(json.dumps(description))


@pytest.mark.filterwarnings("ignore:Learners of type SVC are stored by skops")
@pytest.mark.parametrize("name", ["model.json", "arrays.safetensors", "learners.skops"])
def test_a_hostile_file_in_a_model_is_refused(name, payload, model, tmp_path):
    folder = save_model(model, tmp_path / "model")
    (folder / name).write_bytes(payload)
    if name != "model.json":
        signed(folder)
    with pytest.raises(ModelFolderError, match=name):
        load_model(folder, trusted=True)


@pytest.mark.filterwarnings("ignore:Learners of type SVC are stored by skops")
@pytest.mark.parametrize(
    "make", [lambda at: partial(os.mkdir, at), lambda at: FunctionTransformer(os.mkdir, kw_args={"path": at})]
)
def test_functions_in_a_skops_file_are_refused(make, model, marker, tmp_path):
    from skops.io import dump

    folder = save_model(model, tmp_path / "model")
    dump([make(str(marker))], folder / "learners.skops")
    signed(folder)
    with pytest.raises(ModelFolderError, match="with trusted=True"):
        load_model(folder)
    with pytest.raises(ModelFolderError, match="cannot be read by skops: .*mkdir"):
        load_model(folder, trusted=["sklearn.svm._classes.SVC"])


def test_a_hostile_file_in_a_checkpoint_is_refused(payload, tmp_path):
    checkpoints = Checkpoints(tmp_path / "checkpoint", resume=True)
    checkpoints.save({"seed": 1}, {"epoch": 1}, {"state": {"weights": np.ones(3)}})
    about = tmp_path / "checkpoint" / "checkpoint.json"
    (state,) = about.parent.glob("*.safetensors")
    state.write_bytes(payload)
    description = json.loads(about.read_text())
    description["files"]["state"].update(bytes=state.stat().st_size, sha256=sha256(state))
    about.write_text(json.dumps({**description, "sha256": json_checksum(description)}))
    with pytest.raises(CheckpointError):
        checkpoints.found({"seed": 1}).arrays("state")
    about.write_bytes(payload)
    with pytest.raises(CheckpointError):
        checkpoints.found({"seed": 1})


@pytest.mark.parametrize("name", ["row_ends", "features", "values", "class_index", "labels"])
def test_a_hostile_file_in_a_cache_is_refused(name, payload, tmp_path):
    (tmp_path / "a.svm").write_bytes(GOOD)
    cached_data(tmp_path / "a.svm", tmp_path / "cache")
    (tmp_path / "cache" / f"{name}.npy").write_bytes(payload)
    about = tmp_path / "cache" / "cache.json"
    description = json.loads(about.read_text())
    path = tmp_path / "cache" / f"{name}.npy"
    description["files"][path.name].update(bytes=path.stat().st_size, sha256=sha256(path))
    about.write_text(json.dumps({**description, "sha256": json_checksum(description)}))
    with pytest.raises(CacheError):
        open_cache(tmp_path / "cache")


def test_a_hostile_file_in_a_study_is_refused(payload, tmp_path):
    workspace, task = Workspace(tmp_path), Task("a", {})
    (tmp_path / "arrays").mkdir()
    workspace.array_path(task.key, "x").write_bytes(payload)
    with pytest.raises(ValueError, match="is not a readable .npy file"):
        workspace.load(task, "x")
    (tmp_path / "journal.jsonl").write_bytes(payload + b"\n")
    with pytest.raises(ValueError, match="line 1"):
        Journal(tmp_path / "journal.jsonl")


def test_arrays_are_written_as_bytes_and_never_as_objects(tmp_path):
    with pytest.raises(KeyError):
        write_arrays(tmp_path / "file", {"a": np.array([None])})
    assert not list(tmp_path.iterdir())
