"""All data sets by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from codekin.datasets.embedded import load_digits_dataset, load_icd10cm, load_yeast
from codekin.datasets.extreme import load_aloi_bin, load_lshtc1, load_lshtc2, load_odp
from codekin.datasets.fetching import SOURCES
from codekin.datasets.folders import (
    load_cifar10,
    load_cifar100,
    load_cifar100_images,
    load_clinc150_texts,
    load_mnist,
    load_sparse_folder,
)
from codekin.datasets.home import data_home as home_folder
from codekin.datasets.samples import Dataset


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
        """Whether :func:`codekin.datasets.fetch` can download it."""
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
