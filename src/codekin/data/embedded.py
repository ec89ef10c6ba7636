"""Data sets that need no files of their own: embedded ones, and synthetic ones whose classes have a known tree."""

from __future__ import annotations

from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from codekin.classes import ClassTree
from codekin.code import IntArray
from codekin.data.class_files import read_taxonomy
from codekin.data.datasets import Dataset, Split, TextData
from codekin.data.options import ReadOptions
from codekin.data.reading import read_data

_YEAST_FEATURES = ("mcg", "gvh", "alm", "mit", "erl", "pox", "vac", "nuc")
_YEAST_TITLES = {
    "CYT": "cytosolic or cytoskeletal",
    "ERL": "endoplasmic reticulum lumen",
    "EXC": "extracellular",
    "ME1": "membrane protein, cleaved signal",
    "ME2": "membrane protein, uncleaved signal",
    "ME3": "membrane protein, no N-terminal signal",
    "MIT": "mitochondrial",
    "NUC": "nuclear",
    "POX": "peroxisomal",
    "VAC": "vacuolar",
}


def load_yeast() -> Dataset:
    """Where in the cell a yeast protein is found: 1,484 proteins, 8 features, 10 classes of very different size.

    Without a given split; ``X`` is float64.

    >>> yeast = load_yeast()
    >>> np.bincount(yeast.y)
    array([463,   5,  35,  44,  51, 163, 244, 429,  20,  30])
    """
    rows = [line.split() for line in (_data() / "yeast.data").read_text("ascii").splitlines()]
    class_names = tuple(sorted({row[-1] for row in rows}))
    y = np.array([class_names.index(row[-1]) for row in rows], dtype=np.intp)
    X = np.array([row[1:-1] for row in rows], dtype=np.float64)
    return Dataset(
        "yeast",
        Split(y, X),
        class_names,
        feature_names=_YEAST_FEATURES,
        class_titles=tuple(_YEAST_TITLES[name] for name in class_names),
        description="Protein localization sites in yeast (Horton and Nakai, 1996; UCI Machine Learning Repository).",
        licence="CC BY 4.0",
    )


def load_digits_dataset() -> Dataset:
    """Handwritten digits, 1,797 images of 8 x 8 pixels: the test part of UCI's set, as scikit-learn ships it.

    Without a given split; ``X`` is float64, from 0 to 16.

    >>> load_digits_dataset()
    <Dataset digits: 10 classes, 1797 training samples>
    """
    from sklearn.datasets import load_digits

    digits = load_digits()
    return Dataset(
        "digits",
        Split(digits.target.astype(np.intp), digits.data),
        tuple(str(name) for name in digits.target_names),
        feature_names=tuple(digits.feature_names),
        description="Optical recognition of handwritten digits (Alpaydin and Kaynak, 1998; UCI, by scikit-learn).",
        licence="CC BY 4.0",
    )


def load_icd10cm() -> Dataset:
    """Text of a diagnosis to its ICD-10-CM category: 19,611 texts, 374 categories, with the taxonomy.

    All three splits have ``texts`` and no ``X``; :func:`codekin.data.vectorized` converts them to features.

    >>> icd = load_icd10cm()
    >>> icd
    <Dataset icd10cm: 374 classes, 14709 training samples, 1961 validation samples, 2941 test samples>
    >>> icd.texts[1], icd.class_names[icd.y[1]], icd.class_titles[icd.y[1]]
    ('Tuberculosis of spine', 'A18', 'Tuberculosis of other organs')
    """
    read = {name: _texts(f"icd10cm_{name}.tsv.gz") for name in ("train", "validation", "test")}
    classes = read["train"].classes
    assert classes is not None
    class_names = tuple(classes.tolist())
    splits: Any = {name: Split(data.index_among(classes), texts=data.texts) for name, data in read.items()}
    titles = _texts("icd10cm_titles.tsv.gz")
    title_of = dict(zip(titles.labels.tolist(), titles.texts, strict=True))
    with (_data() / "icd10cm_taxonomy.tsv.gz").open("rb") as stream:
        class_tree = read_taxonomy(stream, classes=class_names)
    return Dataset(
        "icd10cm",
        class_names=class_names,
        **splits,
        class_tree=class_tree,
        class_titles=tuple(title_of[name] for name in class_names),
        description="Diagnoses and their categories in ICD-10-CM (April 2026; US NCHS and CMS).",
        licence="public domain",
    )


def _data() -> Traversable:
    return resources.files("codekin.data") / "files"


def _texts(name: str) -> TextData:
    with (_data() / name).open("rb") as stream:
        data = read_data(stream, "tsv", options=ReadOptions(labels="str"))
    assert isinstance(data, TextData)
    return data


def make_sparse_topics(
    n_classes: int = 64,
    n_samples: int = 4_000,
    *,
    n_features: int = 5_000,
    branching: int = 4,
    words_per_sample: int = 12,
    rng: np.random.Generator | int | None = None,
) -> Dataset:
    """Sparse rows like those of text, whose classes share words with their neighbours in a tree.

    Every node of the tree has its own words. A sample draws its words from the nodes on the path from the root to its
    class, and one word in four from anywhere.

    Parameters
    ----------
    n_classes : int, default=64
        The number of classes.
    n_samples : int, default=4_000
        The number of training samples, and of test samples.
    n_features : int, default=5_000
        The number of words.
    branching : int, default=4
        The most children of an inner node.
    words_per_sample : int, default=12
        How many words are drawn for a sample; words drawn twice count once.
    rng : Generator or int, optional
        The source of randomness.

    Returns
    -------
    Dataset
        ``X`` is a csr_array of float32 with rows of length one. Class numbers are shuffled, so that their order says
        nothing about the tree.

    Examples
    --------
    >>> topics = make_sparse_topics(32, 500, rng=0)
    >>> topics.X.shape, topics.class_tree.n_classes
    ((500, 5000), 32)
    """
    rng = np.random.default_rng(rng)
    parent, node_of_class = _random_labelled_tree(n_classes, branching, rng)
    words_of_node = rng.integers(n_features, size=(len(parent), max(4, words_per_sample // 2)))
    depth = np.zeros(len(parent), dtype=np.intp)
    for node in range(1, len(parent)):
        depth[node] = depth[parent[node]] + 1
    splits = []
    for _ in range(2):
        y = rng.permutation(np.arange(n_samples, dtype=np.intp) % n_classes)
        # For each word, climb a random number of steps from the class towards the root.
        nodes = np.repeat(node_of_class[y][:, None], words_per_sample, axis=1)
        n_steps = rng.integers(depth[nodes] + 1)
        for step in range(int(depth.max())):
            nodes = np.where(step < n_steps, parent[nodes], nodes)
        words = words_of_node[nodes, rng.integers(words_of_node.shape[1], size=nodes.shape)]
        is_noise = rng.random(nodes.shape) < 0.25
        words = np.where(is_noise, rng.integers(n_features, size=nodes.shape), words)
        splits.append(Split(y, _unit_rows(words, n_features)))
    return Dataset(
        "topics",
        splits[0],
        tuple(map(str, range(n_classes))),
        test=splits[1],
        class_tree=ClassTree(parent, node_of_class),
        description="Made up.",
        licence="none needed",
    )


def _random_labelled_tree(n_classes: int, branching: int, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
    """A balanced tree with parents before children, and the leaf of each class."""
    if n_classes < 2:
        raise ValueError(f"'n_classes' must be at least 2. Got {n_classes} instead.")
    if branching < 2:
        raise ValueError(f"'branching' must be at least 2. Got {branching} instead.")
    parent, leaves = [-1], []
    pending = [(0, n_classes)]
    for node, size in pending:
        if size == 1:
            leaves.append(node)
            continue
        for part in np.diff(np.linspace(0, size, min(branching, size) + 1).astype(int)).tolist():
            pending.append((len(parent), part))
            parent.append(node)
    return np.array(parent, dtype=np.intp), rng.permutation(leaves)


def _unit_rows(words: IntArray, n_features: int) -> csr_array:
    n_samples, n_words = words.shape
    rows = np.repeat(np.arange(n_samples), n_words)
    X = csr_array((np.ones(words.size, np.float32), (rows, words.ravel())), shape=(n_samples, n_features))
    X.sum_duplicates()
    n_in_row = np.diff(X.indptr)
    X.data = np.repeat(1 / np.sqrt(n_in_row), n_in_row).astype(np.float32)
    return X
