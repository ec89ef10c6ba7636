"""The embedded data sets: two in the package, one in scikit-learn."""

from __future__ import annotations

from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any

import numpy as np

from codekin.datasets.options import ReadOptions
from codekin.datasets.reading import read_data
from codekin.datasets.samples import Dataset, Split, TextData
from codekin.datasets.taxonomies import read_taxonomy

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

    All three splits have ``texts`` and no ``X``; :func:`codekin.datasets.vectorized` converts them to features.

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
    return resources.files("codekin.datasets") / "data"


def _texts(name: str) -> TextData:
    with (_data() / name).open("rb") as stream:
        data = read_data(stream, "tsv", options=ReadOptions(labels="str"))
    assert isinstance(data, TextData)
    return data
