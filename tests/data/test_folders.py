import gzip
import io
import json
import struct
import tarfile

import numpy as np
import pytest

from codekin.data import DataError, load_dataset


def write(path, text):
    content = text.encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)


@pytest.fixture
def sparse_home(tmp_path):
    folder = tmp_path / "clinc150"
    folder.mkdir()
    write(folder / "meta.json", json.dumps({"n_features": 5, "note": "made up", "licence": "none"}))
    write(folder / "labels.tsv.gz", "0\tyes\tmeta\n1\tpay\twork\n2\tno\tmeta\n")
    write(folder / "nodes.tsv.gz", "0\tyes\n1\tpay\n2\tno\n3\troot\n4\tdomain:meta\n")
    write(folder / "taxonomy.txt.gz", "3 4\n4 0\n4 2\n3 1\n")
    write(folder / "train.svm.gz", "0 1:1 5:1\n2 2:1\n1\n")
    write(folder / "val.svm.gz", "1 3:1\n")
    write(folder / "test.svm.gz", "2\n0 4:0.5\n")
    texts = ["train\t0\ta\tyes sir", "train\t2\tb\tno\tsir", "train\t1\tc\tpay", "val\t1\td\tpaid"]
    write(folder / "samples.tsv.gz", "\n".join([*texts, "test\t2\te\tnope", "test\t0\tf\tyep\n"]))
    return tmp_path


def test_a_sparse_folder_has_splits_names_texts_and_a_tree(sparse_home):
    data = load_dataset("clinc150", sparse_home)
    assert {name: split.X.shape for name, split in data.splits.items()} == {
        "train": (3, 5),
        "validation": (1, 5),
        "test": (2, 5),
    }
    assert data.y.tolist() == [0, 2, 1]
    assert data.class_names == ("yes", "pay", "no")
    assert data.texts == ("yes sir", "no sir", "pay")
    assert data.class_tree.class_labels == data.class_names
    assert set(data.class_tree.labels) == {"root", "domain:meta", "yes", "pay", "no"}
    assert data.class_tree.path_length([0, 0], [2, 1]).tolist() == [2, 3]
    assert data.licence == "none"


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("train.svm.gz", "0 1:1\n7 1:1\n", "label 7, but labels.tsv has 3 labels, numbered from 0"),
        ("train.svm.gz", "0 1:1\n1 6:1\n", "line 2: feature index 6, but there are 5 features"),
        ("train.svm.gz", "0 0:1\n", "line 1: feature index 0, but the first feature has index 1"),
        ("val.svm.gz", "1 3:1\n1 3:1\n", "there are 2 samples, but 1 texts in samples.tsv"),
        ("labels.tsv.gz", "0\tyes\n1\n", "labels.tsv.gz, line 2: a row has at least 2 columns. Got 1"),
        ("labels.tsv.gz", "0\tyes\n2\tno\n1\tpay\n", "labels.tsv.gz, line 2: label 1 belongs here. Got '2'"),
        ("meta.json", "{", "meta.json: this is not JSON"),
        ("meta.json", "[]", "an object of names and values is expected. Got list"),
        ("meta.json", "{}", "'n_features' must be a number"),
        ("taxonomy.txt.gz", "3 0\n3 1\n", "class '2' is not in the taxonomy"),
    ],
)
def test_what_does_not_fit_together_is_named(sparse_home, name, text, sentence):
    write(sparse_home / "clinc150" / name, text)
    with pytest.raises(DataError) as caught:
        load_dataset("clinc150", sparse_home)
    assert sentence in str(caught.value)


@pytest.mark.parametrize("name", ["train.svm.gz", "meta.json", "labels.tsv.gz"])
def test_a_missing_file_is_named(sparse_home, name):
    (sparse_home / "clinc150" / name).unlink()
    with pytest.raises(FileNotFoundError, match=name.removesuffix(".gz")):
        load_dataset("clinc150", sparse_home)


def idx(array):
    header = struct.pack(f">BBBB{array.ndim}I", 0, 0, 8, array.ndim, *array.shape)
    return gzip.compress(header + array.astype(np.uint8).tobytes())


def test_mnist_is_read_from_its_original_files(tmp_path, rng):
    images, labels = rng.integers(256, size=(4, 28, 28)), np.array([3, 1, 4, 1])
    (tmp_path / "mnist").mkdir()
    for stem, count in (("train", 4), ("t10k", 2)):
        (tmp_path / "mnist" / f"{stem}-images-idx3-ubyte.gz").write_bytes(idx(images[:count]))
        (tmp_path / "mnist" / f"{stem}-labels-idx1-ubyte.gz").write_bytes(idx(labels[:count]))
    mnist = load_dataset("mnist", tmp_path)
    assert np.array_equal(mnist.X, images.reshape(4, -1))
    assert mnist.test.y.tolist() == [3, 1]
    (tmp_path / "mnist" / "train-images-idx3-ubyte.gz").write_bytes(gzip.compress(b"\0\0\x08\x03" + b"\1" * 20))
    with pytest.raises(DataError, match="not an idx file of bytes, or it is cut off"):
        load_dataset("mnist", tmp_path)
    (tmp_path / "mnist" / "train-images-idx3-ubyte.gz").write_bytes(b"\1" * 20)
    with pytest.raises(DataError, match="the gzip data is damaged"):
        load_dataset("mnist", tmp_path)


def tar(path, members):
    with tarfile.open(path, "w:gz") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(f"folder/{name}")
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))


def records(pixels, *labels):
    by_colour = pixels.transpose(0, 3, 1, 2).reshape(len(pixels), -1)
    return np.column_stack([*labels, by_colour]).astype(np.uint8).tobytes()


def test_cifar10_is_read_from_its_binary_archive_or_from_arrays(tmp_path, rng):
    (tmp_path / "cifar10").mkdir()
    pixels, labels = rng.integers(256, size=(6, 32, 32, 3)), np.arange(6)
    members = {f"data_batch_{k + 1}.bin": records(pixels[[k]], labels[[k]]) for k in range(5)}
    members |= {"test_batch.bin": records(pixels[[5]], labels[[5]]), "batches.meta.txt": b"airplane\nautomobile\n\n"}
    tar(tmp_path / "cifar10" / "cifar-10-binary.tar.gz", members)
    cifar = load_dataset("cifar10", tmp_path)
    assert np.array_equal(cifar.X, pixels[:5].reshape(5, -1))
    assert cifar.y.tolist() == [0, 1, 2, 3, 4]
    assert cifar.class_names == ("airplane", "automobile")
    np.savez(
        tmp_path / "cifar10" / "cifar10.npz",
        **{"X_train": pixels[:5], "y_train": labels[:5], "X_test": pixels[5:], "y_test": labels[5:]},
        class_names=np.array(["airplane", "automobile"]),
    )
    again = load_dataset("cifar10", tmp_path)
    assert np.array_equal(again.X, cifar.X)
    assert np.array_equal(again.test.y, cifar.test.y)


def test_cifar100_images_have_a_tree_of_superclasses(tmp_path, rng):
    (tmp_path / "cifar100_images").mkdir()
    pixels, fine, coarse = rng.integers(256, size=(3, 32, 32, 3)), np.array([2, 0, 1]), np.array([1, 0, 0])
    members = {
        "train.bin": records(pixels, coarse, fine),
        "test.bin": records(pixels[:1], coarse[:1], fine[:1]),
        "fine_label_names.txt": b"apple\npear\ntrain\n",
        "coarse_label_names.txt": b"fruit\nvehicle\n",
    }
    path = tmp_path / "cifar100_images" / "cifar-100-binary.tar.gz"
    tar(path, members)
    cifar = load_dataset("cifar100_images", tmp_path)
    assert cifar.y.tolist() == [2, 0, 1]
    assert cifar.class_tree.path_length([0, 0], [1, 2]).tolist() == [2, 4]
    tar(path, members | {"train.bin": b"123"})
    with pytest.raises(DataError, match="the records must have 3074 bytes each. Got 3 bytes"):
        load_dataset("cifar100_images", tmp_path)
    del members["test.bin"]
    tar(path, members)
    with pytest.raises(DataError, match="'test.bin' is missing in the archive"):
        load_dataset("cifar100_images", tmp_path)
    path.write_bytes(b"no archive")
    with pytest.raises(DataError, match="the archive is damaged"):
        load_dataset("cifar100_images", tmp_path)


def test_arrays_of_objects_are_refused(tmp_path):
    (tmp_path / "mnist").mkdir()
    np.savez(
        tmp_path / "mnist" / "mnist.npz",
        **{name: np.array([{}], dtype=object) for name in ("X_train", "y_train", "X_test", "y_test")},
    )
    with pytest.raises(DataError, match="this is not an archive of arrays"):
        load_dataset("mnist", tmp_path)
    np.savez(tmp_path / "mnist" / "mnist.npz", X_train=np.zeros(3))
    with pytest.raises(DataError, match="the array 'y_train' is missing"):
        load_dataset("mnist", tmp_path)


def test_intents_are_read_as_texts(tmp_path):
    folder = tmp_path / "clinc150_texts"
    folder.mkdir()
    samples = {
        "train": [["pay me", "pay"], ["hello", "greet"]],
        "val": [["hi", "greet"]],
        "test": [],
        "oos_test": [["?", "oos"]],
    }
    write(folder / "data_full.json", json.dumps(samples))
    write(folder / "domains.json", json.dumps({"work": ["pay"], "talk": ["greet", "bye"]}))
    clinc = load_dataset("clinc150_texts", tmp_path)
    assert clinc.class_names == ("bye", "greet", "pay")
    assert clinc.texts == ("pay me", "hello")
    assert clinc.y.tolist() == [2, 1]
    assert clinc.class_tree.path_length([0, 0], [1, 2]).tolist() == [2, 4]
    write(folder / "data_full.json", json.dumps(samples | {"test": [["where", "elsewhere"]]}))
    with pytest.raises(DataError, match="not pairs of text and intent"):
        load_dataset("clinc150_texts", tmp_path)


def test_real_folders_are_read(shared_data):
    home = shared_data("clinc150").parent
    clinc = load_dataset("clinc150", home)
    assert {name: len(split) for name, split in clinc.splits.items()} == {
        "train": 15000,
        "validation": 3000,
        "test": 4500,
    }
    assert clinc.train.X.shape == (15000, 12124)
    cifar = load_dataset("cifar100", home)
    assert cifar.X.shape == (50000, 256)
    assert cifar.class_tree.n_nodes == 121
    assert cifar.extras["glove_100d"].shape == (100, 100)
