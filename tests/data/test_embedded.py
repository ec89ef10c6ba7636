import gzip
import importlib.util
import tomllib
from importlib import resources

import numpy as np
import pytest
from tests.conftest import ROOT

from codekin.data import load_dataset
from codekin.data.embedded import load_digits_dataset, load_icd10cm, load_yeast

DATA = ROOT / "src" / "codekin" / "data" / "files"


def test_yeast_is_the_file_of_the_repository():
    yeast = load_yeast()
    assert yeast.X.shape == (1484, 8)
    assert yeast.X[0].tolist() == [0.58, 0.61, 0.47, 0.13, 0.50, 0.00, 0.48, 0.22]
    assert dict(zip(yeast.class_names, np.bincount(yeast.y).tolist(), strict=True)) == {
        **{"CYT": 463, "NUC": 429, "MIT": 244, "ME3": 163, "ME2": 51, "ME1": 44, "EXC": 35, "VAC": 30},
        **{"POX": 20, "ERL": 5},
    }
    assert yeast.licence == "CC BY 4.0"
    assert len(yeast.feature_names) == 8


def test_digits_are_those_of_scikit_learn():
    digits = load_digits_dataset()
    assert digits.X.shape == (1797, 64)
    assert digits.class_names == tuple("0123456789")


def test_diagnoses_have_texts_categories_and_a_taxonomy():
    icd = load_icd10cm()
    assert {name: len(split) for name, split in icd.splits.items()} == {
        "train": 14709,
        "validation": 1961,
        "test": 2941,
    }
    assert icd.n_classes == icd.class_tree.n_classes == 374
    assert icd.class_tree.class_labels == icd.class_names
    assert np.bincount(icd.y, minlength=374).min() >= 20
    assert all(len(split.texts) == len(split) for split in icd.splits.values())
    assert min(split.y.min() for split in icd.splits.values()) == 0


def test_categories_of_one_chapter_are_closer_than_others():
    icd = load_icd10cm()
    gout, arthritis, migraine = (icd.class_names.index(code) for code in ("M10", "M11", "G43"))
    assert icd.class_tree.path_length(gout, arthritis) < icd.class_tree.path_length(gout, migraine)


def test_the_embedded_diagnoses_are_those_of_the_fixed_features(shared_data):
    small = load_dataset("icd10cm_small", shared_data("icd10cm_small").parent)
    icd = load_icd10cm()
    for name, split in icd.splits.items():
        other = small.splits[name]
        assert [icd.class_names[k] for k in split.y] == [small.class_names[k] for k in other.y]
        assert [" ".join(text.split()) for text in other.texts] == list(split.texts)


def test_the_embedded_files_are_made_again_from_their_sources(shared_data, tmp_path):
    sources = shared_data("icd10cm_small").parent
    spec = importlib.util.spec_from_file_location("make_embedded_data", ROOT / "tools" / "make_embedded_data.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.main(sources, tmp_path)
    for path in sorted(tmp_path.iterdir()):
        made, embedded = path.read_bytes(), (DATA / path.name).read_bytes()
        # Other versions of zlib may pack the same content differently.
        assert made == embedded or gzip.decompress(made) == gzip.decompress(embedded)


def test_everything_embedded_is_packed_small_and_credited():
    names = {item.name for item in (resources.files("codekin.data") / "files").iterdir()}
    assert sum(path.stat().st_size for path in DATA.iterdir()) < 1_000_000
    readme = (DATA / "README.md").read_text()
    assert "CC BY 4.0" in readme
    assert "public domain" in readme
    assert {"yeast.data", "icd10cm_train.tsv.gz", "README.md"} <= names
    patterns = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]["codekin"]
    assert "data/files/*" in patterns


@pytest.mark.parametrize("load", [load_yeast, load_digits_dataset, load_icd10cm])
def test_loading_twice_gives_the_same(load):
    first, second = load(), load()
    assert np.array_equal(first.y, second.y)
    assert first.class_names == second.class_names
    assert first.texts == second.texts
