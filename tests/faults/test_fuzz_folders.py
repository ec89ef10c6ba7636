"""Corrupted folders and files of codekin are read, or rejected with the library's own error.

Checksums detect accidental changes. ``test_forged_models.py`` covers forgeries with valid checksums.
"""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

from codekin._system.files import json_checksum, sha256
from codekin.data.caching import CacheError, cached_data, open_cache
from codekin.estimators import ECOCClassifier
from codekin.learners import CheckpointError, Checkpoints
from codekin.storage import ModelFolderError, load_assignment, load_model, save_model
from codekin_studies import load_study
from codekin_studies.engine.workspace import Journal, JournalError, Record
from tests.faults.mutations import FEW_EXAMPLES, SOUPS, Refusal, mutated_bytes, mutated_json, value_or_refusal

fuzzed = settings(max_examples=FEW_EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])

ASSIGNMENT = {
    "format": "codekin-assignment",
    "format_version": 1,
    "codebook": {"name": "trellis", "n_codewords": 4, "n_bits": 6, "is_designed": True, "width": 2},
    **{"method": "ordered", "sense": "preserving", "seed": 0, "score": 0.5, "z": 1.0},
    "codeword_of_class": {"a": 0, "b": 1, "c": 2, "d": 3},
}
DENSE = {**ASSIGNMENT, "codebook": {"name": "own", "is_designed": False, "codewords": ["++", "+-", "-+", "--"]}}
STUDY = b"kind = 'bound'\ntitle = 'x'\nseed = 0\nlosses = ['hinge']\n[[data]]\nname = 'yeast'\nn_test = 3\n"

X = sparse.random(30, 12, density=0.4, rng=np.random.default_rng(0), format="csr", dtype=np.float32)
Y = np.arange(30) % 5


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    model = ECOCClassifier(make_pipeline(MaxAbsScaler(), LogisticRegression()), random_state=0, calibrate=None)
    with pytest.warns(UserWarning, match="stored by skops"):
        return save_model(model.fit(X.toarray(), Y), tmp_path_factory.mktemp("saved") / "model")


@pytest.fixture
def scratch(tmp_path):
    """A function: a fresh copy of a folder."""

    def copy(folder):
        shutil.rmtree(tmp_path / "copy", ignore_errors=True)
        return Path(shutil.copytree(folder, tmp_path / "copy"))

    return copy


def sign(folder, description):
    """Write a description with checksums that are right, as far as it has any."""
    for name, facts in (description.get("files") or {}).items() if isinstance(description.get("files"), dict) else ():
        if isinstance(facts, dict) and (folder / name).is_file():
            facts.update(bytes=(folder / name).stat().st_size, sha256=sha256(folder / name))
    description["sha256"] = json_checksum(description)
    return json.dumps(description)


@pytest.mark.parametrize("name", ["model.json", "arrays.safetensors", "learners.skops"])
@fuzzed
@given(data=st.data())
def test_a_model_whose_bytes_have_changed_is_refused(name, data, saved, scratch):
    folder = scratch(saved)
    content = (folder / name).read_bytes()
    changed = data.draw(st.one_of(SOUPS, mutated_bytes([content])))
    (folder / name).write_bytes(changed)
    if changed == content:
        return
    if not isinstance(value_or_refusal(lambda: load_model(folder, trusted=True), ModelFolderError), Refusal):
        assert name == "model.json"
        assert json.loads(changed) == json.loads(content)


@fuzzed
@given(content=st.one_of(SOUPS, st.sampled_from([ASSIGNMENT, DENSE]).flatmap(mutated_json)))
def test_an_assignment_is_read_or_refused(content, tmp_path):
    path = tmp_path / "assignment.json"
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    found = value_or_refusal(lambda: load_assignment(path).for_labels("abcd"), ValueError)
    assert isinstance(found, Refusal) or found.n_classes == 4


@fuzzed
@given(content=st.one_of(SOUPS, mutated_bytes([STUDY])))
def test_a_study_is_read_or_refused(content, tmp_path):
    path = tmp_path / "study.toml"
    path.write_bytes(content)
    study = value_or_refusal(lambda: load_study(str(path)), ValueError)
    assert not isinstance(study, Refusal) or study.startswith(str(path))


@fuzzed
@given(data=st.data())
def test_a_journal_is_read_or_refused(data, tmp_path):
    path = tmp_path / "journal.jsonl"
    path.unlink(missing_ok=True)
    journal = Journal(path)
    for key in ("a", "b"):
        journal.append(Record(key, "k", {"seed": 0}, {"value": 1.5}, ("x",), 0.1, 0.1, {"codekin": "0"}))
    content = path.read_bytes()
    path.write_bytes(data.draw(st.one_of(SOUPS, mutated_bytes([content]))))
    found = value_or_refusal(lambda: Journal(path).records, JournalError)
    if isinstance(found, Refusal):
        assert found.startswith(str(path))
    else:
        # A checksum that is right says that a record is one that was written.
        assert all(journal.records[key] == record for key, record in found.items())


@fuzzed
@given(data=st.data())
def test_a_checkpoint_is_read_or_refused(data, tmp_path):
    folder = tmp_path / "checkpoint"
    shutil.rmtree(folder, ignore_errors=True)
    checkpoints = Checkpoints(folder, resume=True)
    checkpoints.save({"seed": 7}, {"epoch": 2}, {"state": {"weights": np.ones(3)}})
    path = data.draw(st.sampled_from(sorted(folder.iterdir())))
    if path.suffix == ".json" and data.draw(st.booleans()):
        path.write_text(sign(folder, data.draw(mutated_json(json.loads(path.read_text())))))
    else:
        path.write_bytes(data.draw(st.one_of(SOUPS, mutated_bytes([path.read_bytes()]))))

    def read():
        found = checkpoints.found({"seed": 7})
        return None if found is None else found.arrays("state")

    arrays = value_or_refusal(read, CheckpointError)
    assert not isinstance(arrays, Refusal) or str(folder) in arrays


@fuzzed
@given(data=st.data())
def test_a_cache_is_read_or_refused(data, tmp_path):
    source, folder = tmp_path / "a.svm", tmp_path / "cache"
    source.write_bytes(b"0 1:1 3:2\n1 2:1\n")
    shutil.rmtree(folder, ignore_errors=True)
    cached_data(source, folder)
    about = folder / "cache.json"
    description = json.loads(about.read_text())
    how = data.draw(st.sampled_from(["bytes of an array", "bytes of the description", "a forged description"]))
    if how == "bytes of an array":
        path = data.draw(st.sampled_from(sorted(folder.glob("*.npy"))))
        path.write_bytes(data.draw(st.one_of(SOUPS, mutated_bytes([path.read_bytes()]))))
        about.write_text(sign(folder, description))
    elif how == "bytes of the description":
        about.write_bytes(data.draw(mutated_bytes([about.read_bytes()])))
    else:
        about.write_text(sign(folder, data.draw(mutated_json(description))))
    found = value_or_refusal(lambda: open_cache(folder), CacheError)
    if isinstance(found, Refusal):
        assert str(folder) in found
    else:
        found.X.in_memory().check_format(full_check=True)
        assert found.class_index.max() < len(found.classes)
