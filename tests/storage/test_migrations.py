"""Folders written by earlier versions still load and make the same predictions.

``folders_of_version_2.zip`` holds a folder of every kind of model, written by the last version before the format
changed, with samples and the models' predictions; ``folders_of_version_5.zip`` one of every kind of code and ranking,
from before candidates of an index; ``folders_of_version_6.zip`` one of every kind of bits and decoders of a coding
matrix, and one with an index, from before real codewords; ``folders_of_version_7.zip`` one of every kind of learners
and of what is around them, from before learners were arrays. Those with learners are loaded only with trust.
"""

import json
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pytest
from scipy import sparse

from codekin import Predictor
from codekin.storage import ModelFolderError, load_saved

ARCHIVE = Path(__file__).with_name("folders_of_version_2.zip")
KINDS = sorted({name.partition("/")[0] for name in ZipFile(ARCHIVE).namelist() if "/" in name})


ARCHIVE_5 = Path(__file__).with_name("folders_of_version_5.zip")
KINDS_5 = sorted({name.partition("/")[0] for name in ZipFile(ARCHIVE_5).namelist() if "/" in name})

ARCHIVE_6 = Path(__file__).with_name("folders_of_version_6.zip")
KINDS_6 = ("ecoc", "ecoc-learned", "ecoc-softmax", "ecoc-symbols", "trellis-index")

ARCHIVE_7 = Path(__file__).with_name("folders_of_version_7.zip")
KINDS_7 = ("ecoc-linear", "ecoc-real", "ecoc-softmax", "ecoc-svc", "ecoc-trees", "subclasses", "trellis")


def loaded(folder):
    """The content of a folder; learners only with trust."""
    if not (folder / "learners.skops").exists():
        return load_saved(folder)
    with pytest.raises(ModelFolderError, match="trusted=True"):
        load_saved(folder)
    return load_saved(folder, trusted=True)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("old")
    with ZipFile(ARCHIVE) as archive:
        archive.extractall(folder)
    return folder


@pytest.fixture(scope="module")
def expected(home):
    with np.load(home / "expected.npz") as arrays:
        return dict(arrays)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.InconsistentVersionWarning")
@pytest.mark.parametrize("kind", KINDS)
def test_a_folder_of_version_2_predicts_what_it_predicted(kind, home, expected):
    saved = loaded(home / kind)
    if kind.startswith("ecoc"):
        X = expected["X"]
    elif kind == "trellis-text":
        X = saved.model_input.vectorizer.transform(expected["texts"].tolist())
    else:
        shape = expected["X"].shape
        X = sparse.csr_array((expected["S_data"], expected["S_indices"], expected["S_indptr"]), shape=shape)
    assert saved.model.predict(X).astype(str).tolist() == expected[f"{kind}.predictions"].tolist()
    probabilities = saved.model.predict_proba(X[:10])
    np.testing.assert_allclose(probabilities, expected[f"{kind}.probabilities"], rtol=1e-5, atol=1e-7)
    assert saved.model.report().n_classes == 12


def test_an_old_model_of_texts_still_leaves_out_words_of_one_character(home, expected):
    saved, texts = load_saved(home / "trellis-text"), expected["texts"].tolist()
    vectorizer = saved.model_input.vectorizer
    more = vectorizer.transform([f"x {text} 1" for text in texts])
    assert vectorizer.version == 1
    assert (more != vectorizer.transform(texts)).nnz == 0
    assert saved.model.predict(more).astype(str).tolist() == expected["trellis-text.predictions"].tolist()
    labels = [Predictor.load(home / "trellis-text").predict(f"x {text} 1") for text in texts]
    assert [str(label) for label in labels] == expected["trellis-text.predictions"].tolist()


def test_the_archive_has_a_folder_of_every_kind():
    assert len(KINDS) == 13


@pytest.mark.parametrize("kind", KINDS_5)
def test_a_folder_of_version_5_predicts_what_it_predicted(kind, tmp_path):
    with ZipFile(ARCHIVE_5) as archive:
        archive.extractall(tmp_path)
    with np.load(tmp_path / "expected.npz") as arrays:
        expected = dict(arrays)
    shape = len(expected["S_indptr"]) - 1, int(expected["n_features"])
    X = sparse.csr_array((expected["S_data"], expected["S_indices"], expected["S_indptr"]), shape=shape)
    assert json.loads((tmp_path / kind / "model.json").read_text())["format_version"] == 5
    model = loaded(tmp_path / kind).model
    assert model.predict(X).astype(str).tolist() == expected[f"{kind}.predictions"].tolist()
    np.testing.assert_allclose(model.predict_proba(X[:10]), expected[f"{kind}.probabilities"], rtol=1e-5, atol=1e-7)
    assert model.candidates == "auto"


def test_the_archive_of_version_5_has_every_kind_of_code_and_ranking():
    assert {code + kind for code in ("tree", "trellis") for kind in ("", "-members", "-ranked")} == set(KINDS_5)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.InconsistentVersionWarning")
@pytest.mark.parametrize("kind", KINDS_6)
def test_a_folder_of_version_6_predicts_what_it_predicted(kind, tmp_path):
    with ZipFile(ARCHIVE_6) as archive:
        archive.extractall(tmp_path)
    with np.load(tmp_path / "expected.npz") as arrays:
        expected = dict(arrays)
    X = sparse.csr_array(expected["X"]) if kind.startswith("trellis") else expected["X"]
    assert json.loads((tmp_path / kind / "model.json").read_text())["format_version"] == 6
    model = loaded(tmp_path / kind).model
    assert model.predict(X).astype(str).tolist() == expected[f"{kind}.predictions"].tolist()
    np.testing.assert_allclose(model.predict_proba(X[:10]), expected[f"{kind}.probabilities"], rtol=1e-5, atol=1e-7)
    assert not model.codebook_.is_real


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.InconsistentVersionWarning")
@pytest.mark.parametrize("kind", KINDS_7)
def test_a_folder_of_version_7_predicts_what_it_predicted(kind, tmp_path):
    with ZipFile(ARCHIVE_7) as archive:
        archive.extractall(tmp_path)
    with np.load(tmp_path / "expected.npz") as arrays:
        expected = dict(arrays)
    X = sparse.csr_array(expected["S"]) if kind == "trellis" else expected["X"]
    assert json.loads((tmp_path / kind / "model.json").read_text())["format_version"] == 7
    model = loaded(tmp_path / kind).model
    assert model.predict(X).astype(str).tolist() == expected[f"{kind}.predictions"].tolist()
    np.testing.assert_allclose(model.predict_proba(X[:10]), expected[f"{kind}.probabilities"], rtol=1e-5, atol=1e-7)
