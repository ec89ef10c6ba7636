"""The paper's extreme data sets, on small files of the same form."""

import gzip

import numpy as np
import pytest

from codekin.code.trellis import TrellisGraph
from codekin.data import DATASETS, DataError, load_dataset
from codekin.data.stored_sets import load_lshtc2
from codekin_studies import load_study
from codekin_studies.configuration import data_among, paper_numbers


@pytest.fixture
def pd_sparse(tmp_path):
    for name in ("aloi.bin", "LSHTC1"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / f"{name}.train").write_text("33 1:1 4:1\n41 2:1\n50\n33 3:0.5\n")
        (folder / f"{name}.heldout").write_text("41 2:1\n50 1:1\n")
        (folder / f"{name}.test").write_text("41 9:1\n33\n")
    return tmp_path


@pytest.mark.parametrize("name", ["aloi.bin", "LSHTC1"])
def test_empty_training_rows_are_left_out_and_empty_test_rows_are_kept(pd_sparse, name):
    data = load_dataset(name, pd_sparse)
    assert data.class_names == ("33", "41", "50")
    assert data.y.tolist() == [0, 1, 0]
    assert data.X.shape == (3, 9)
    assert data.test.X.shape == (2, 9)
    assert data.test.X.indptr.tolist() == [0, 1, 1]
    assert data.test.y.tolist() == [1, 0]


def test_a_class_without_training_samples_is_a_class(pd_sparse):
    assert load_dataset("aloi.bin", pd_sparse).validation.y.tolist() == [1, 2]


def one_sample_per_class(folder, name, n_classes):
    """Files in which every class has one sample, in one of the parts."""
    folder.mkdir()
    lines = [f"{7 * k + 3} {k % 50 + 1}:1" for k in range(n_classes)]
    if name == "LSHTC2":
        (folder / "train.txt").write_text("\n".join(lines))
    elif name == "ODP":
        for part, own in (("train", lines[::2]), ("test", lines[1::2])):
            text = "\n".join(line.replace(" ", " | ") for line in own)
            (folder / f"odp_{part}.vw").write_text(text)
    else:
        for part, own in (("train", lines[::2]), ("heldout", lines[1::4]), ("test", lines[3::4])):
            (folder / f"{name}.{part}").write_text("\n".join(own))


@pytest.mark.parametrize("name", ["aloi.bin", "LSHTC1", "LSHTC2", "ODP"])
def test_all_classes_of_all_parts_have_codewords_of_the_papers_length(tmp_path, name):
    one_sample_per_class(tmp_path / name, name, DATASETS[name].n_classes)
    data = load_dataset(name, tmp_path)
    assert data.n_classes == DATASETS[name].n_classes
    assert len(np.unique(data.y)) < data.n_classes
    (entry,) = data_among(load_study("extreme"), [name])
    bits = [TrellisGraph(data.n_classes, width).n_edges for width in entry["widths"]]
    printed = {int(code) for _, own, code, quantity in paper_numbers() if own == name and quantity == "preserving"}
    assert set(bits) == printed
    assert len(bits) == len(printed) == (3 if name == "ODP" else 5)


def test_the_taxonomy_of_lshtc1_is_a_list_of_paths(pd_sparse):
    (pd_sparse / "LSHTC1" / "cat_hier.txt").write_text("1 2 33\n1 3 41\n1 3 50\n4 60\n")
    tree = load_dataset("LSHTC1", pd_sparse).class_tree
    assert tree.class_labels == ("33", "41", "50")
    assert tree.path_length(0, 1) == 4
    assert tree.path_length(1, 2) == 2
    (pd_sparse / "LSHTC1" / "cat_hier.txt").write_text("1 2 33\n")
    with pytest.raises(DataError, match="cat_hier.txt: 2 classes are not in the taxonomy, the first of them '41'"):
        load_dataset("LSHTC1", pd_sparse)


def test_zipped_files_are_found_too(pd_sparse):
    path = pd_sparse / "aloi.bin" / "aloi.bin.test"
    path.with_name("aloi.bin.test.gz").write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()
    assert len(load_dataset("aloi.bin", pd_sparse).test) == 2
    path.with_name("aloi.bin.test.gz").unlink()
    with pytest.raises(FileNotFoundError, match="aloi.bin.test or aloi.bin.test.gz is missing"):
        load_dataset("aloi.bin", pd_sparse)


@pytest.fixture
def lshtc2(tmp_path):
    folder = tmp_path / "LSHTC2"
    folder.mkdir()
    lines = [f"{k % 5} {k + 3}:2 {k % 3 + 1}:1" for k in range(1_000)]
    lines += ["1,2 5:1", "3, 4 6:1"]
    (folder / "train.txt").write_text("\n".join(lines))
    (folder / "cat_hier.txt").write_text("9 0\n9 1\n9 8\n8 2\n8 3\n8 4\n")
    return tmp_path


def test_lshtc2_keeps_samples_of_one_label_and_splits_them_as_the_paper_does(lshtc2):
    data = load_dataset("LSHTC2", lshtc2)
    sizes = {name: len(split) for name, split in data.splits.items()}
    assert sizes == {"train": 859, "validation": 39, "test": 102}
    assert data.class_names == ("0", "1", "2", "3", "4")
    assert data.class_tree.path_length([0, 0], [1, 2]).tolist() == [2, 3]
    total = sum(split.X.sum() for split in data.splits.values())
    assert total == 3 * 1_000


def test_the_split_of_lshtc2_follows_its_seed(lshtc2):
    first, same, other = (load_lshtc2(lshtc2, seed=seed) for seed in (0, 0, 1))
    assert np.array_equal(first.y, same.y)
    assert (first.X != same.X).nnz == 0
    assert (first.X != other.X).nnz > 0


def test_odp_is_read_from_vowpal_wabbit_lines(tmp_path):
    folder = tmp_path / "ODP"
    folder.mkdir()
    (folder / "odp_train.vw.gz").write_bytes(gzip.compress(b"7 | 3:1 10:2\n9 |\n7 | 4\n8 | 0 3\n"))
    (folder / "odp_test.vw.gz").write_bytes(gzip.compress(b"8 | 12:1\n9 | 3\n7 |\n"))
    data = load_dataset("ODP", tmp_path)
    assert data.class_names == ("7", "8", "9")
    assert data.X.shape == (3, 13)
    assert data.test.X.shape == (3, 13)
    assert data.y.tolist() == [0, 0, 1]
    assert data.test.y.tolist() == [1, 2, 0]


def test_named_features_of_odp_are_hashed_alike_in_both_files(tmp_path):
    folder = tmp_path / "ODP"
    folder.mkdir()
    (folder / "odp_train.vw").write_bytes(b"7 |b cat dog\n8 |b cow\n")
    (folder / "odp_test.vw").write_bytes(b"8 |b 3\n7 |b cat dog\n")
    data = load_dataset("ODP", tmp_path)
    assert data.X.shape[1] == 2**20
    assert data.test.X.indices[1:].tolist() == data.X.indices[:2].tolist()
