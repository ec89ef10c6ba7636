"""All data sets by name, and the sources from which some can be downloaded, with a checksum for every file."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from codekin._system.files import folder_for, sha256, whole_file
from codekin.data.datasets import Dataset
from codekin.data.embedded import load_digits_dataset, load_icd10cm, load_yeast
from codekin.data.image_sets import load_cifar10, load_cifar100, load_cifar100_images, load_mnist
from codekin.data.stored_sets import data_home as home_folder
from codekin.data.stored_sets import (
    load_aloi_bin,
    load_clinc150_texts,
    load_lshtc1,
    load_lshtc2,
    load_odp,
    load_sparse_folder,
)

Progress = Callable[[str, int, int | None], None]
"""Called with the name of a file, the bytes so far, and the total bytes if known."""

_BLOCK_BYTES = 1 << 18


@dataclass(frozen=True)
class RemoteFile:
    """A file on the internet and its checksum. By default its name is the last part of the URL."""

    url: str
    sha256: str
    name: str = ""

    @property
    def file_name(self) -> str:
        """Its name in the data home."""
        return self.name or urlsplit(self.url).path.rpartition("/")[2]


@dataclass(frozen=True)
class RemoteSource:
    """Where a data set can be downloaded, and under which terms."""

    files: tuple[RemoteFile, ...]
    licence: str


def _source(licence: str, address: str, files: Mapping[str, str]) -> RemoteSource:
    """The files at one address, by name, with the SHA-256 that each must have."""
    return RemoteSource(tuple(RemoteFile(f"{address}/{name}", sha) for name, sha in files.items()), licence)


SOURCES: dict[str, RemoteSource] = {
    "yeast": _source(
        "CC BY 4.0",
        "https://archive.ics.uci.edu/ml/machine-learning-databases/yeast",
        {"yeast.data": "7cf61776fc04f527f93bf57a327b863893a1225d82df02d457e8950173218258"},
    ),
    "mnist": _source(
        "CC BY-SA 3.0",
        "https://storage.googleapis.com/cvdf-datasets/mnist",
        {
            "train-images-idx3-ubyte.gz": "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
            "train-labels-idx1-ubyte.gz": "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
            "t10k-images-idx3-ubyte.gz": "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
            "t10k-labels-idx1-ubyte.gz": "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
        },
    ),
    "cifar10": _source(
        "not stated; for research",
        "https://www.cs.toronto.edu/~kriz",
        {"cifar-10-binary.tar.gz": "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd"},
    ),
    "cifar100_images": _source(
        "not stated; for research",
        "https://www.cs.toronto.edu/~kriz",
        {"cifar-100-binary.tar.gz": "58a81ae192c23a4be8b1804d68e518ed807d710a4eb253b1f2a199162a40d8ec"},
    ),
    "clinc150_texts": _source(
        "CC BY 3.0",
        "https://raw.githubusercontent.com/clinc/oos-eval/828f8093932c8fe6ca7936c3d2e52903b1c523de/data",
        {
            "data_full.json": "36923c3705a59e08fe9c3883d8bc2dd966ef93e22cb78ac41171782a698d56e0",
            "domains.json": "b947b579d3b8e74b06f93b01083d8efaff2888b43a3e362533bd88a6e1211b3a",
        },
    ),
}
"""The data sets that can be downloaded."""


def fetch(
    name: str,
    data_home: str | Path | None = None,
    *,
    sources: dict[str, RemoteSource] | None = None,
    progress: Progress | None = None,
    timeout: float = 30.0,
) -> Path:
    """Download a data set into the data home; complete files that exist already are kept.

    Parameters
    ----------
    name : str
        A name from ``SOURCES``.
    data_home : path, optional
        The folder that holds one folder per data set; by default that of the variable CODEKIN_DATA, or
        ``codekin`` in the user's cache folder.
    sources : dict, optional
        Where data sets are; by default ``SOURCES``.
    progress : callable, optional
        Called with the name of a file, the bytes so far, and the total bytes if known.
    timeout : float, default=30.0
        The most seconds to wait for an answer of the source.

    Returns
    -------
    Path
        The folder of the data set.
    """
    known = SOURCES if sources is None else sources
    if name not in known:
        raise ValueError(f"The data sets that can be downloaded are {', '.join(sorted(known))}. Got {name!r} instead.")
    folder = home_folder(data_home) / name
    with folder_for(folder):  # an empty folder would look like a data set
        for file in known[name].files:
            target = folder / file.file_name
            if not target.is_file() or sha256(target) != file.sha256:
                _download(file, target, progress, timeout)
    return folder


def _download(file: RemoteFile, target: Path, progress: Progress | None, timeout: float) -> None:
    import http.client  # these load a package for encrypted connections
    import urllib.error
    import urllib.request

    digest = hashlib.sha256()
    n_read = 0
    try:
        with urllib.request.urlopen(file.url, timeout=timeout) as answer, whole_file(target) as stream:
            length = answer.headers.get("Content-Length")
            n_bytes = int(length) if length and length.isdigit() else None
            while block := answer.read(_BLOCK_BYTES):
                stream.write(block)
                digest.update(block)
                n_read += len(block)
                if progress is not None:
                    progress(file.file_name, n_read, n_bytes)
            if n_bytes is not None and n_read < n_bytes:
                raise ConnectionError(f"it ended after {n_read} of {n_bytes} bytes")
            if digest.hexdigest() != file.sha256:
                raise ValueError(
                    f"{file.url} is not the file it should be: its SHA-256 is {digest.hexdigest()}, "
                    f"not {file.sha256}. Nothing was kept."
                )
    except urllib.error.HTTPError as error:
        raise ConnectionError(
            f"{file.url} cannot be downloaded: the server says {error.code} {error.reason}."
        ) from None
    except (urllib.error.URLError, http.client.HTTPException, TimeoutError, ConnectionError) as error:
        reason = getattr(error, "reason", error)
        raise ConnectionError(f"{file.url} cannot be downloaded: {reason}.") from None


@dataclass(frozen=True)
class DatasetEntry:
    """A data set known by name; ``folder`` is its folder in the data home, None if it is embedded."""

    load: Callable[[str | Path | None], Dataset]
    n_classes: int
    summary: str
    folder: str | None = None

    @property
    def is_embedded(self) -> bool:
        """Whether it needs no files in the data home."""
        return self.folder is None

    @property
    def can_be_fetched(self) -> bool:
        """Whether :func:`codekin.data.fetch` can download it."""
        return self.folder in SOURCES

    def is_available(self, data_home: str | Path | None = None) -> bool:
        """Whether it can be loaded now."""
        return self.folder is None or (home_folder(data_home) / self.folder).is_dir()


def _embedded(load: Callable[[], Dataset], n_classes: int, summary: str) -> DatasetEntry:
    return DatasetEntry(lambda _: load(), n_classes, summary)


def _sparse(name: str, n_classes: int, summary: str) -> DatasetEntry:
    return DatasetEntry(partial(load_sparse_folder, name), n_classes, summary, name)


DATASETS: dict[str, DatasetEntry] = {
    "yeast": _embedded(load_yeast, 10, "where in the cell a yeast protein is found"),
    "digits": _embedded(load_digits_dataset, 10, "handwritten digits of 8 x 8 pixels"),
    "icd10cm": _embedded(load_icd10cm, 374, "text of a diagnosis to its ICD-10-CM category"),
    "mnist": DatasetEntry(load_mnist, 10, "handwritten digits of 28 x 28 pixels", "mnist"),
    "cifar10": DatasetEntry(load_cifar10, 10, "photographs of 32 x 32 pixels", "cifar10"),
    "cifar100": DatasetEntry(load_cifar100, 100, "photographs as 256 features of a network", "cifar100"),
    "cifar100_images": DatasetEntry(load_cifar100_images, 100, "photographs of 32 x 32 pixels", "cifar100_images"),
    "clinc150": _sparse("clinc150", 150, "requests to an assistant, as words, to intents"),
    "clinc150_texts": DatasetEntry(load_clinc150_texts, 150, "the same as texts", "clinc150_texts"),
    "icd10cm_small": _sparse("icd10cm_small", 374, "the embedded icd10cm with fixed features"),
    "icd10cm_category": _sparse("icd10cm_category", 1_532, "diagnoses to all ICD-10-CM categories"),
    "wordnet_hypernym": _sparse("wordnet_hypernym", 12_582, "words and glosses to what they are kinds of"),
    "debian_dirs100k": _sparse("debian_dirs100k", 102_673, "file names to directories"),
    "aloi.bin": DatasetEntry(load_aloi_bin, 1_000, "photographs of objects (in the paper)", "aloi.bin"),
    "LSHTC1": DatasetEntry(load_lshtc1, 12_294, "web pages of Dmoz 2010 (in the paper)", "LSHTC1"),
    "LSHTC2": DatasetEntry(load_lshtc2, 27_840, "web pages of Dmoz 2011 (in the paper)", "LSHTC2"),
    "ODP": DatasetEntry(load_odp, 104_136, "web pages of the Open Directory (in the paper)", "ODP"),
}
"""The data sets by name."""


def load_dataset(name: str, data_home: str | Path | None = None) -> Dataset:
    """A data set by its name.

    Parameters
    ----------
    name : str
        A name from ``DATASETS``.
    data_home : path, optional
        The folder that holds one folder per data set. By default that of the environment variable CODEKIN_DATA,
        otherwise ``codekin`` in the user's cache folder.

    Returns
    -------
    Dataset

    Examples
    --------
    >>> load_dataset("digits")
    <Dataset digits: 10 classes, 1797 training samples>
    """
    if name not in DATASETS:
        raise ValueError(f"The data sets are {', '.join(DATASETS)}. Got {name!r} instead.")
    entry = DATASETS[name]
    if entry.can_be_fetched and not entry.is_available(data_home):
        home = home_folder(data_home)
        raise FileNotFoundError(
            f"The data set {name!r} is not in {home}. Download it with `codekin data fetch {name}`, give the folder "
            "that holds it as data_home, or name that folder in the environment variable CODEKIN_DATA."
        )
    return entry.load(data_home)
