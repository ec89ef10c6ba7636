"""Data sets of images: MNIST and CIFAR, as their authors distribute them or as arrays."""

from __future__ import annotations

import gzip
import tarfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from codekin.data.datasets import DataError, Dataset, Split
from codekin.data.stored_sets import existing_folder, required_file, two_level_tree


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
        class_tree=two_level_tree(superclass_of_class, names, superclasses),
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
        class_tree=two_level_tree(superclass_of_class, names, arrays["superclass_names"].tolist()),
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
