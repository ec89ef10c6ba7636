"""A data set as files that the command line, and other programs, can read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from scipy.sparse import csr_array

from codekin._system.disk import folder_for
from codekin._system.files import followed, whole_file
from codekin._system.folders import whole_files, whole_folder
from codekin.classes import ClassTree
from codekin.datasets.samples import Data, Dataset, SparseData, Split, TextData
from codekin.datasets.writing import write_data
from codekin.progress import tell

UNKNOWN_LABEL = "?"
"""The label of test samples whose class has no training samples."""


def export_dataset(dataset: Dataset, folder: str | Path) -> list[Path]:
    r"""Write the splits of a data set and its taxonomy; if not all of them can be written, none is.

    Features are written in svmlight format, texts as lines of label and text. The folder is created if necessary. It
    gets ``train.svm`` (or ``train.tsv``), ``validation.svm`` and ``test.svm`` if the data set has them, and
    ``taxonomy.txt`` if it has a class tree.

    >>> import tempfile
    >>> from codekin.datasets import load_dataset
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     files = export_dataset(load_dataset("icd10cm"), folder)
    ...     [path.name for path in files], files[-1].read_text().splitlines()[0]
    (['train.tsv', 'validation.tsv', 'test.tsv', 'taxonomy.txt'], 'ICD-10-CM\tchapter 1')
    """
    target = followed(folder)
    names = []
    with folder_for(target.parent), whole_files(target) if target.is_dir() else whole_folder(target) as unfinished:
        for split_name, split in dataset.splits.items():
            names.append(f"{split_name}.{'svm' if split.X is not None else 'tsv'}")
            tell(f"writing {target / names[-1]}")
            write_data(unfinished / names[-1], _data(split, dataset.class_names))
        if dataset.class_tree is not None:
            names.append("taxonomy.txt")
            with whole_file(unfinished / names[-1]) as stream:
                stream.write("".join(_edges(dataset.class_tree, dataset.class_names)).encode())
    return [Path(folder) / name for name in names]


def _data(split: Split, class_names: Sequence[str]) -> Data:
    # -1, a class without training samples, is the last one here.
    classes = np.array([*class_names, UNKNOWN_LABEL])
    if split.X is not None:
        return SparseData(csr_array(split.X, dtype=np.float32), split.y, classes)
    return TextData(split.texts or (), split.y, classes)


def _edges(tree: ClassTree, class_names: Sequence[str]) -> list[str]:
    """A line for each edge, from the root down; every node gets a unique name."""
    given = [None if label is None else str(label) for label in tree.labels or [None] * tree.n_nodes]
    name_of_class = dict(zip(tree.node_of_class.tolist(), class_names, strict=True))
    n_uses = Counter([*(given[node] for node in range(tree.n_nodes) if node not in name_of_class), *class_names])

    def name(node: int) -> str:
        label = given[node]
        return name_of_class.get(node) or (label if label and n_uses[label] == 1 else f"node {node}")

    return [
        f"{name(parent)}\t{name(node)}\n" for node in tree.preorder.tolist() if (parent := int(tree.parent[node])) >= 0
    ]
