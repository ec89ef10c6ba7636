"""The paper's four extreme data sets, in the formats in which they are published.

They are large and may not be redistributed; put the files into the data home. As in the paper, training
samples without features are left out and test samples without features are kept, and the classes are those of all
parts together: a class that occurs in no training sample cannot be predicted well, but it takes up a codeword.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from codekin.coding import IntArray
from codekin.datasets.home import existing_folder, first_existing, required_file
from codekin.datasets.options import ReadOptions
from codekin.datasets.reading import read_data
from codekin.datasets.samples import Dataset, LabelArray, SparseData, Split
from codekin.datasets.taxonomies import TaxonomyLayout, read_taxonomy

# Of the 384,200 single-label samples of LSHTC2 the paper keeps 15,000 for validation and 39,200 for testing.
LSHTC2_VALIDATION_SHARE = 15_000 / 384_200
LSHTC2_TEST_SHARE = 39_200 / 384_200


def load_aloi_bin(data_home: str | Path | None = None) -> Dataset:
    """aloi.bin: 1,000 objects, photographs as random binning features (Rocha and Goldenstein, 2013).

    The folder ``aloi.bin`` of the data home holds PD-Sparse's ``aloi.bin.train``, ``.heldout`` and ``.test``.
    """
    description = "aloi.bin, K=1,000 (Rocha and Goldenstein, 2013), from the PD-Sparse repository."
    return _from_pd_sparse("aloi.bin", data_home, description)


def load_lshtc1(data_home: str | Path | None = None) -> Dataset:
    """LSHTC1 (Dmoz 2010): 12,294 classes of web pages (Partalas et al., 2015).

    The folder ``LSHTC1`` of the data home holds PD-Sparse's ``LSHTC1.train``, ``.heldout`` and ``.test``, and for the
    taxonomy the challenge's ``cat_hier.txt``: one line per leaf, the path to it from the top. Without it the class tree
    is None.
    """
    description = "LSHTC1, K=12,294 (Partalas et al., 2015), from the PD-Sparse repository."
    return _from_pd_sparse("LSHTC1", data_home, description, taxonomy_layout="paths")


def load_lshtc2(data_home: str | Path | None = None, *, seed: int = 0) -> Dataset:
    """LSHTC2 (Dmoz 2011): 27,840 classes of web pages; samples with several labels are left out, as in the paper.

    The folder ``LSHTC2`` of the data home holds the challenge's ``train.txt``, and ``cat_hier.txt``
    (lines ``parent child``) for the taxonomy; without it the class tree is None. The split is random: 3.9% of the
    samples for validation and 10.2% for testing, the paper's shares.
    """
    folder = existing_folder("LSHTC2", data_home)
    path = required_file(folder, "train.txt", "train.txt.gz")
    data = _sparse(path, None, ReadOptions(labels="int", multilabel="drop", feature_order="any"), "svmlight")
    shuffled = np.random.default_rng(seed).permutation(data.n_samples)
    n_validation = round(data.n_samples * LSHTC2_VALIDATION_SHARE)
    n_test = round(data.n_samples * LSHTC2_TEST_SHARE)
    rows = {
        "validation": np.sort(shuffled[:n_validation]),
        "test": np.sort(shuffled[n_validation : n_validation + n_test]),
        "train": np.sort(shuffled[n_validation + n_test :]),
    }
    parts = {name: _rows_of(data, chosen) for name, chosen in rows.items()}
    description = "LSHTC2, K=27,840 (Partalas et al., 2015), samples of one label only."
    return _assembled("LSHTC2", parts, description, _taxonomy_file(folder), "edges")


def load_odp(data_home: str | Path | None = None) -> Dataset:
    """ODP: 104,136 classes of web pages (Bennett and Nguyen, 2009), in Vowpal Wabbit format.

    The folder ``ODP`` of the data home holds ``odp_train.vw.gz`` and ``odp_test.vw.gz``.
    """
    folder = existing_folder("ODP", data_home)
    train = _sparse(required_file(folder, "odp_train.vw.gz", "odp_train.vw"), None, ReadOptions(), "vw")
    options = ReadOptions(hash_bits=train.encoding["hash_bits"])
    n_features = train.n_features if train.encoding["hash_bits"] else None
    test = _sparse(required_file(folder, "odp_test.vw.gz", "odp_test.vw"), n_features, options, "vw")
    description = "ODP, K=104,136 (Bennett and Nguyen, 2009), from the Vowpal Wabbit repository."
    return _assembled("ODP", {"train": train, "test": test}, description, None, "edges")


def _from_pd_sparse(
    name: str, data_home: str | Path | None, description: str, taxonomy_layout: TaxonomyLayout = "edges"
) -> Dataset:
    folder = existing_folder(name, data_home)
    train = _sparse(required_file(folder, f"{name}.train", f"{name}.train.gz"), None, ReadOptions(), "svmlight")
    options = ReadOptions(index_base=0 if train.encoding["index_base"] == 0 else 1)
    parts = {"train": train}
    for split, stem in (("validation", "heldout"), ("test", "test")):
        parts[split] = _sparse(required_file(folder, f"{name}.{stem}", f"{name}.{stem}.gz"), None, options, "svmlight")
    return _assembled(name, parts, description, _taxonomy_file(folder), taxonomy_layout)


def _sparse(path: Path, n_features: int | None, options: ReadOptions, format: str) -> SparseData:
    data = read_data(path, format, n_features=n_features, options=options)
    assert isinstance(data, SparseData)
    return data


def _taxonomy_file(folder: Path) -> Path | None:
    return first_existing(folder, "cat_hier.txt", "cat_hier.txt.gz", "taxonomy.txt", "taxonomy.txt.gz")


def _rows_of(data: SparseData, rows: IntArray) -> SparseData:
    """Some of the samples, with only those classes that occur among them."""
    assert data.classes is not None
    assert data.class_index is not None
    present, class_index = np.unique(data.class_index[rows], return_inverse=True)
    return SparseData(data.X[rows], class_index, data.classes[present])


def _all_classes(parts: Iterable[SparseData]) -> LabelArray:
    """The classes that occur in some part, in sorted order."""
    return np.unique(np.concatenate([part.classes for part in parts if part.classes is not None]))


def _assembled(
    name: str,
    parts: Mapping[str, SparseData],
    description: str,
    taxonomy: Path | None,
    layout: TaxonomyLayout,
) -> Dataset:
    """The classes are those of all samples, of training samples only those that have features."""
    has_features = np.flatnonzero(np.diff(parts["train"].X.indptr) > 0)
    parts = {**parts, "train": _rows_of(parts["train"], has_features)}
    classes = _all_classes(parts.values())
    n_features = max(part.n_features for part in parts.values())
    splits = {split: Split(part.index_among(classes), _widened(part.X, n_features)) for split, part in parts.items()}
    return Dataset(
        name,
        splits["train"],
        tuple(str(label) for label in classes.tolist()),
        validation=splits.get("validation"),
        test=splits.get("test"),
        class_tree=None if taxonomy is None else read_taxonomy(taxonomy, classes=classes, layout=layout),
        description=description,
        licence="see the source",
    )


def _widened(X: csr_array, n_features: int) -> csr_array:
    return csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], n_features))
