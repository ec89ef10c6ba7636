"""Data sets in folders: sparse ones with a taxonomy, and images.

A sparse folder holds ``train``, ``val`` and ``test`` in svmlight format, ``meta.json``, ``labels.tsv`` (number, name,
title), ``taxonomy.txt`` (node ``k`` is label ``k``) and perhaps ``samples.tsv`` with the texts; all may be compressed.
"""

from __future__ import annotations

import gzip
import json
import tarfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from codekin.classes import ClassTree
from codekin.coding import IntArray
from codekin.datasets.blocks import text_lines
from codekin.datasets.home import existing_folder, first_existing, required_file
from codekin.datasets.options import ReadOptions
from codekin.datasets.reading import read_data
from codekin.datasets.samples import DataError, Dataset, SparseData, Split
from codekin.datasets.taxonomies import read_taxonomy

_SPLIT_NAMES = {"train": "train", "validation": "val", "test": "test"}


def load_sparse_folder(name: str, data_home: str | Path | None = None) -> Dataset:
    """A sparse data set with its taxonomy.

    ``class_names[k]`` is the name of label ``k`` in ``labels.tsv``. A sample whose features were all too rare is a row
    of zeros.
    """
    folder = existing_folder(name, data_home)
    meta = _json(required_file(folder, "meta.json"))
    if not isinstance(meta.get("n_features"), int):
        raise DataError(str(folder / "meta.json"), "'n_features' must be a number.")
    label_rows = _label_rows(required_file(folder, "labels.tsv.gz", "labels.tsv"))
    class_names = tuple(row[1] for row in label_rows)
    texts = _texts(folder)
    splits: dict[str, Any] = {}
    for split, stem in _SPLIT_NAMES.items():
        path = first_existing(folder, f"{stem}.svm.gz", f"{stem}.svm")
        if path is not None:
            splits[split] = _split(path, len(class_names), meta["n_features"], texts.get(stem))
    if "train" not in splits:
        required_file(folder, "train.svm.gz", "train.svm")
    return Dataset(
        name,
        class_names=class_names,
        **splits,
        class_tree=_named_tree(folder, class_names),
        class_titles=tuple(row[-1] for row in label_rows),
        description=str(meta.get("note", "")),
        licence=str(meta.get("licence", "")),
    )


def _label_rows(path: Path) -> list[list[str]]:
    rows = _table(path)
    for k, row in enumerate(rows):
        if row[0] != str(k):
            raise DataError(str(path), f"label {k} belongs here. Got {row[0]!r} instead.", line=k + 1)
    return rows


def _named_tree(folder: Path, class_names: Sequence[str]) -> ClassTree | None:
    """The taxonomy, whose nodes are numbers, with the names of the classes and those that nodes.tsv gives."""
    path = first_existing(folder, "taxonomy.txt.gz", "taxonomy.txt")
    if path is None:
        return None
    tree = read_taxonomy(path, classes=np.arange(len(class_names)))
    names_path = first_existing(folder, "nodes.tsv.gz", "nodes.tsv")
    names = {} if names_path is None else {row[0]: row[1] for row in _table(names_path)}
    names |= {str(k): name for k, name in enumerate(class_names)}
    labels = [names.get(str(label), label) for label in tree.labels or ()]
    return ClassTree(tree.parent, tree.node_of_class, tree.edge_length, labels)


def _split(path: Path, n_classes: int, n_features: int, texts: tuple[str, ...] | None) -> Split:
    data = read_data(path, n_features=n_features, options=ReadOptions(labels="int", index_base=1))
    assert isinstance(data, SparseData)
    y = data.labels.astype(np.intp)
    if int(y.min()) < 0 or int(y.max()) >= n_classes:
        wrong = int(y.min()) if int(y.min()) < 0 else int(y.max())
        raise DataError(str(path), f"label {wrong}, but labels.tsv has {n_classes} labels, numbered from 0.")
    if texts is not None and len(texts) != len(y):
        raise DataError(str(path), f"there are {len(y)} samples, but {len(texts)} texts in samples.tsv.")
    return Split(y, data.X, texts)


def _texts(folder: Path) -> dict[str, tuple[str, ...]]:
    path = first_existing(folder, "samples.tsv.gz", "samples.tsv")
    if path is None:
        return {}
    texts: dict[str, list[str]] = {}
    for row in _table(path, min_columns=4):
        texts.setdefault(row[0], []).append(" ".join(row[3:]))
    return {split: tuple(values) for split, values in texts.items()}


def _table(path: Path, min_columns: int = 2) -> list[list[str]]:
    rows = []
    for number, line in text_lines(path, str(path)):
        row = line.rstrip("\r").split("\t")
        if len(row) < min_columns:
            reason = f"a row has at least {min_columns} columns. Got {len(row)} instead."
            raise DataError(str(path), reason, line=number)
        rows.append(row)
    return rows


def _json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise DataError(str(path), f"this is not JSON ({error}).") from None
    if not isinstance(content, dict):
        raise DataError(str(path), f"an object of names and values is expected. Got {type(content).__name__} instead.")
    return content


def load_clinc150_texts(data_home: str | Path | None = None) -> Dataset:
    """Requests to an assistant and the intent of each: 150 intents in 10 domains, the official split (Larson, 2019).

    The folder ``clinc150_texts`` of the data home holds ``data_full.json`` and ``domains.json``. There are texts and no
    ``X``. Requests that belong to no intent are left out.
    """
    folder = existing_folder("clinc150_texts", data_home)
    samples = _json(required_file(folder, "data_full.json"))
    domains = _json(required_file(folder, "domains.json"))
    names = sorted(intent for intents in domains.values() for intent in intents)
    position = {name: k for k, name in enumerate(names)}
    splits: dict[str, Any] = {}
    for split, stem in _SPLIT_NAMES.items():
        try:
            rows = [(str(text), position[intent]) for text, intent in samples[stem]]
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(str(folder / "data_full.json"), f"not pairs of text and intent ({error!r}).") from None
        splits[split] = Split(np.array([k for _, k in rows], dtype=np.intp), texts=tuple(text for text, _ in rows))
    superclasses = list(domains)
    superclass_of = {intent: number for number, domain in enumerate(superclasses) for intent in domains[domain]}
    tree = _two_level_tree(np.array([superclass_of[name] for name in names], dtype=np.intp), names, superclasses)
    return Dataset(
        "clinc150_texts",
        class_names=tuple(names),
        **splits,
        class_tree=tree,
        description="CLINC150 intents (Larson et al., 2019), without the requests out of scope.",
        licence="CC BY 3.0",
    )


# ----- images -------------------------------------------------------------------------------------------------------


def load_mnist(data_home: str | Path | None = None) -> Dataset:
    """Handwritten digits, 60,000 and 10,000 images of 28 x 28 pixels.

    The folder ``mnist`` of the data home holds ``mnist.npz`` or the four original files. ``X`` is uint8, one row of 784
    pixels per image.
    """
    folder = existing_folder("mnist", data_home)
    if (folder / "mnist.npz").is_file():
        arrays = _npz(folder / "mnist.npz", ("X_train", "y_train", "X_test", "y_test"))
        train, test = (_images(arrays[f"X_{part}"], arrays[f"y_{part}"]) for part in ("train", "test"))
    else:
        names = [(f"{stem}-images-idx3-ubyte.gz", f"{stem}-labels-idx1-ubyte.gz") for stem in ("train", "t10k")]
        train, test = (_images(*(_idx(required_file(folder, name)) for name in pair)) for pair in names)
    return Dataset(
        "mnist",
        train,
        tuple(str(digit) for digit in range(10)),
        test=test,
        description="Handwritten digits (LeCun, Cortes and Burges).",
        licence="CC BY-SA 3.0",
    )


def load_cifar10(data_home: str | Path | None = None) -> Dataset:
    """Small photographs, 50,000 and 10,000 of 32 x 32 pixels in 10 classes.

    The folder ``cifar10`` of the data home holds ``cifar10.npz`` or ``cifar-10-binary.tar.gz``. ``X`` is uint8, one row
    of 3,072 values per image: pixel after pixel, with red, green and blue together.
    """
    folder = existing_folder("cifar10", data_home)
    if (folder / "cifar10.npz").is_file():
        arrays = _npz(folder / "cifar10.npz", ("X_train", "y_train", "X_test", "y_test", "class_names"))
        train, test = (_images(arrays[f"X_{part}"], arrays[f"y_{part}"]) for part in ("train", "test"))
        names = arrays["class_names"].tolist()
    else:
        path = required_file(folder, "cifar-10-binary.tar.gz")
        members = _tar_members(path, [*(f"data_batch_{k}.bin" for k in range(1, 6)), "test_batch.bin", _CIFAR10_NAMES])
        parts = [_cifar_records(members[name], 1, path) for name in sorted(members) if name.startswith("data_batch")]
        train = _images(np.concatenate([part[0] for part in parts]), np.concatenate([part[1][:, 0] for part in parts]))
        pixels, labels = _cifar_records(members["test_batch.bin"], 1, path)
        test = _images(pixels, labels[:, 0])
        names = members[_CIFAR10_NAMES].decode().split()
    return Dataset(
        "cifar10",
        train,
        tuple(names),
        test=test,
        description="Small photographs in 10 classes (Krizhevsky, 2009).",
        licence="not stated; for research",
    )


def load_cifar100_images(data_home: str | Path | None = None) -> Dataset:
    """Small photographs, 50,000 and 10,000 of 32 x 32 pixels in 100 classes and 20 superclasses.

    The folder ``cifar100_images`` of the data home holds ``cifar-100-binary.tar.gz``. ``X`` is that of
    :func:`load_cifar10`.
    """
    path = required_file(existing_folder("cifar100_images", data_home), "cifar-100-binary.tar.gz")
    members = _tar_members(path, ["train.bin", "test.bin", "fine_label_names.txt", "coarse_label_names.txt"])
    names = members["fine_label_names.txt"].decode().split()
    superclasses = members["coarse_label_names.txt"].decode().split()
    pixels, labels = _cifar_records(members["train.bin"], 2, path)
    test_pixels, test_labels = _cifar_records(members["test.bin"], 2, path)
    superclass_of_class = np.zeros(len(names), dtype=np.intp)
    superclass_of_class[labels[:, 1]] = labels[:, 0]
    return Dataset(
        "cifar100_images",
        _images(pixels, labels[:, 1]),
        tuple(names),
        test=_images(test_pixels, test_labels[:, 1]),
        class_tree=_two_level_tree(superclass_of_class, names, superclasses),
        description="Small photographs in 100 classes (Krizhevsky, 2009).",
        licence="not stated; for research",
    )


def load_cifar100(data_home: str | Path | None = None) -> Dataset:
    """CIFAR-100 as 256 features of a pretrained network, with superclasses and vectors of the class names.

    The folder ``cifar100`` of the data home holds ``cifar100_features.npz`` and ``cifar100_class_names.npz``. ``X`` is
    float32. The split is not the official one, so accuracies do not compare with published ones. ``extras`` has
    ``glove_100d`` and ``minilm_384d`` (vectors of the names), and ``human_confusion``.
    """
    folder = existing_folder("cifar100", data_home)
    wanted = ("X_train", "y_train", "X_test", "y_test", "class_names", "superclass_names", "superclass_of_class")
    arrays = _npz(required_file(folder, "cifar100_features.npz"), wanted)
    extras = _npz(
        required_file(folder, "cifar100_class_names.npz"), ("names", "glove_100d", "minilm_384d", "human_confusion")
    )
    names = arrays["class_names"].tolist()
    if extras.pop("names").tolist() != names:
        raise DataError(str(folder / "cifar100_class_names.npz"), "the names are not those of cifar100_features.npz.")
    superclass_of_class = arrays["superclass_of_class"].astype(np.intp)
    return Dataset(
        "cifar100",
        _images(arrays["X_train"].astype(np.float32), arrays["y_train"]),
        tuple(names),
        test=_images(arrays["X_test"].astype(np.float32), arrays["y_test"]),
        class_tree=_two_level_tree(superclass_of_class, names, arrays["superclass_names"].tolist()),
        extras=extras,
        description="256 principal components of EfficientNet-Lite0 features of CIFAR-100.",
        licence="not stated; for research",
    )


_CIFAR10_NAMES = "batches.meta.txt"


def _images(pixels: NDArray[Any], labels: NDArray[Any]) -> Split:
    return Split(labels.astype(np.intp), pixels.reshape(len(pixels), -1))


def _npz(path: Path, names: Sequence[str]) -> dict[str, NDArray[Any]]:
    """Some arrays of an archive; arrays of objects, which could run code, are refused."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            missing = [name for name in names if name not in archive.files]
            if missing:
                raise DataError(str(path), f"the array '{missing[0]}' is missing.")
            return {name: archive[name] for name in names}
    except DataError:
        raise
    except Exception as error:  # damaged archives raise all kinds of errors
        raise DataError(str(path), f"this is not an archive of arrays ({error}).") from None


def _idx(path: Path) -> NDArray[np.uint8]:
    """An array in the format of the MNIST files: two zeros, a type, the number of dimensions, the sizes, the data."""
    try:
        content = gzip.decompress(path.read_bytes())
    except (OSError, EOFError) as error:
        raise DataError(str(path), f"the gzip data is damaged ({error}).") from None
    n_dimensions = content[3] if content[:3] == b"\0\0\x08" else 0
    shape = np.frombuffer(content[4 : 4 + 4 * n_dimensions], dtype=">u4").astype(np.int64)
    if not n_dimensions or len(content) != 4 + 4 * n_dimensions + int(shape.prod(dtype=object)):
        raise DataError(str(path), "this is not an idx file of bytes, or it is cut off.")
    return np.frombuffer(content, np.uint8, offset=4 + 4 * n_dimensions).reshape(shape)


def _tar_members(path: Path, names: Sequence[str]) -> dict[str, bytes]:
    """The contents of some files of an archive, in any of its folders; nothing is written."""
    found: dict[str, bytes] = {}
    try:
        with tarfile.open(path, "r:gz") as archive:
            for member in archive:
                name = member.name.rpartition("/")[2]
                stream = archive.extractfile(member) if name in names and member.isfile() else None
                if stream is not None:
                    found[name] = stream.read()
    except (tarfile.TarError, OSError, EOFError) as error:
        raise DataError(str(path), f"the archive is damaged ({error}).") from None
    missing = [name for name in names if name not in found]
    if missing:
        raise DataError(str(path), f"the file '{missing[0]}' is missing in the archive.")
    return found


def _cifar_records(content: bytes, n_labels: int, path: Path) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Records of label bytes and 3 x 32 x 32 pixels, colour by colour."""
    size = n_labels + 3 * 32 * 32
    if not content or len(content) % size:
        raise DataError(str(path), f"the records must have {size} bytes each. Got {len(content)} bytes in all.")
    records = np.frombuffer(content, np.uint8).reshape(-1, size)
    return records[:, n_labels:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1), records[:, :n_labels]


def _two_level_tree(superclass_of_class: IntArray, names: Sequence[str], superclasses: Sequence[str]) -> ClassTree:
    """Root, superclasses, classes."""
    n_super = len(superclasses)
    parent = np.concatenate([[-1], np.zeros(n_super, dtype=np.intp), 1 + superclass_of_class])
    return ClassTree(parent, 1 + n_super + np.arange(len(names)), labels=[None, *superclasses, *names])
