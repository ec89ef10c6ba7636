"""Data sets in folders of the data home: sparse ones with a taxonomy, and those of extreme classification.

A sparse folder holds ``train``, ``val`` and ``test`` in svmlight format, ``meta.json``, ``labels.tsv`` (number, name,
title), ``taxonomy.txt`` (node ``k`` is label ``k``) and perhaps ``samples.tsv`` with the texts; all may be compressed.

The paper's four extreme data sets are large and may not be redistributed; put the published files into the data home.
As in the paper, training samples without features are left out and test samples without features are kept, and the
classes are those of all parts together: a class that occurs in no training sample cannot be predicted well, but it
takes up a codeword.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from codekin.classes import ClassTree
from codekin.code import IntArray
from codekin.data.blocks import text_lines
from codekin.data.class_files import TaxonomyLayout, read_taxonomy
from codekin.data.datasets import DataError, Dataset, SparseData, Split
from codekin.data.options import ReadOptions
from codekin.data.reading import read_data

VARIABLE = "CODEKIN_DATA"
"""The environment variable that names the folder."""


def data_home(given: str | Path | None = None) -> Path:
    """The folder that holds one folder per data set.

    By default that of the environment variable CODEKIN_DATA, otherwise ``codekin`` in the user's cache folder.
    """
    if given is not None:
        return Path(given)
    if os.environ.get(VARIABLE):
        return Path(os.environ[VARIABLE])
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "codekin"


def existing_folder(name: str, given: str | Path | None = None) -> Path:
    """The folder of a data set."""
    folder = data_home(given) / name
    if not folder.is_dir():
        raise FileNotFoundError(
            f"The data set {name!r} is not in {folder.parent}. Give the folder that holds it as data_home, "
            f"or in the environment variable {VARIABLE}."
        )
    return folder


def first_existing(folder: Path, *names: str) -> Path | None:
    """The first of some files that exists."""
    return next((folder / name for name in names if (folder / name).is_file()), None)


def required_file(folder: Path, *names: str) -> Path:
    """The first of some files that exists; an error if there is none."""
    path = first_existing(folder, *names)
    if path is None:
        raise FileNotFoundError(f"{folder}: the file {' or '.join(names)} is missing.")
    return path


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
    path = required_file(folder, "labels.tsv.gz", "labels.tsv")
    label_rows = _table(path)
    for k, row in enumerate(label_rows):
        if row[0] != str(k):
            raise DataError(str(path), f"label {k} belongs here. Got {row[0]!r} instead.", line=k + 1)
    class_names = tuple(row[1] for row in label_rows)
    texts = _texts(folder)
    splits: dict[str, Any] = {}
    for split, stem in _SPLIT_NAMES.items():
        samples = first_existing(folder, f"{stem}.svm.gz", f"{stem}.svm")
        if samples is not None:
            splits[split] = _split(samples, len(class_names), meta["n_features"], texts.get(stem))
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
    for number, line in text_lines(path):
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
    tree = two_level_tree(np.array([superclass_of[name] for name in names], dtype=np.intp), names, superclasses)
    return Dataset(
        "clinc150_texts",
        class_names=tuple(names),
        **splits,
        class_tree=tree,
        description="CLINC150 intents (Larson et al., 2019), without the requests out of scope.",
        licence="CC BY 3.0",
    )


def two_level_tree(superclass_of_class: IntArray, names: Sequence[str], superclasses: Sequence[str]) -> ClassTree:
    """Root, superclasses, classes."""
    n_super = len(superclasses)
    parent = np.concatenate([[-1], np.zeros(n_super, dtype=np.intp), 1 + superclass_of_class])
    return ClassTree(parent, 1 + n_super + np.arange(len(names)), labels=[None, *superclasses, *names])


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
    classes = np.unique(np.concatenate([part.classes for part in parts.values() if part.classes is not None]))
    n_features, splits = max(part.n_features for part in parts.values()), {}
    for split, part in parts.items():
        X = csr_array((part.X.data, part.X.indices, part.X.indptr), shape=(part.n_samples, n_features))
        splits[split] = Split(part.index_among(classes), X)
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
