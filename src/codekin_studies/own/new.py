"""A commented configuration for a file of one's own."""

from __future__ import annotations

import json
from math import factorial
from os.path import relpath
from pathlib import Path

import numpy as np

from codekin.data import DataError
from codekin.data.reading import format_of
from codekin.data.tables import LABEL_NAMES
from codekin_studies.own import samples as own
from codekin_studies.splits.sweeps import MAX_STREAMED

LEAST_TEST, TEST_SHARE = 1000, 0.3
"""With fewer test samples than this, every sample is tested in folds."""


def new_configuration(path: Path, *, folder: Path, label: str | None = None) -> str:
    """The text of a configuration, to be written to a folder, that studies a file, with a comment on every choice.

    ``label`` is the column of the classes; by default one with a usual name, or the last one.
    """
    if not path.exists():
        raise FileNotFoundError(f"There is no file {path}.")
    columns: dict[str, tuple[str, ...]] = {}
    if format_of(path) in ("csv", "tsv", "jsonl", "parquet"):
        columns = own.columns_of(str(path))
        usual = [name for name in columns if name.lower() in LABEL_NAMES]
        label = own.label_column(str(path), columns, label or (usual[0] if len(usual) == 1 else list(columns)[-1]))
    ignored = [name for name, cells in columns.items() if name != label and _names_samples(cells)]
    found = own.read_samples(path, label=label, ignore=ignored)
    if not 3 <= found.n_classes <= MAX_STREAMED:
        what = f"the column {label!r} has" if columns else "it has"
        raise DataError(
            str(path), f"{what} {found.n_classes} classes; all assignments of 3 to {MAX_STREAMED} are looked at."
        )
    counts = np.bincount(found.y)
    n, n_classes = len(found.y), found.n_classes
    n_test = int(TEST_SHARE * n)
    folds = min(5, int(counts.min()))
    if folds < 2:
        rarest = found.class_names[int(counts.argmin())]
        raise DataError(
            str(path), f"its class {rarest!r} has one sample; a study needs two of each to test and to learn."
        )
    if n_test >= LEAST_TEST:
        tested = f'n_test = {n_test}  # so many samples test; or folds = 5, or test_file = "test.csv"'
    else:
        others = f'n_test = {max(n_test, n_classes)}, or test_file = "test.csv"'
        tested = f"folds = {folds}  # every sample tests once; or {others}"
    sizes = f"{counts.min():,} each" if counts.min() == counts.max() else f"{counts.min():,} to {counts.max():,} each"
    notes = [
        f"# {n:,} samples of {found.X.shape[1]} features in {n_classes} classes, {sizes}:",
        f"# {factorial(n_classes):,} assignments of every codebook.",
    ]
    if n_classes > 10:
        notes.append(f"# This takes minutes of processor time per codebook{', some 30' if n_classes == 12 else ''}.")
    few, many = max(int(np.ceil(np.log2(n_classes))) + 2, 4), min(15, max(n_classes, 6))
    bits = [few, many] if many > few else [few]
    described = [
        f"name = {json.dumps(path.stem)}",
        f"file = {json.dumps(relpath(path, folder))}  # relative to this file",
        *([f"label = {json.dumps(label)}  # the column of the classes"] if columns else []),
        *([f"ignore = {json.dumps(ignored)}  # columns that name samples"] if ignored else []),
        '# categories = ["code"]  # columns of numbers that are names',
        tested,
        'scaling = "standard"  # or "largest", "unit_norm", "none"; always by the training samples',
        "# Any classifier of scikit-learn with its parameters, or linear_svm, decision_tree, least_squares.",
        'learner = { name = "sklearn.linear_model.LogisticRegression", C = 1.0 }',
        'confusion = "out_of_fold"  # or "train": where confusion between classes is counted',
        '# distances = "distances.csv"  # your own class distances: a square table with the classes as names',
    ]
    keys = 'name = "dense-{0}"', 'codebook = "dense_random"', "options = {{ n_bits = {0} }}", "seed = 0", ""
    codebooks = ["\n".join(("[[codebooks]]", *keys)).format(n_bits) for n_bits in bits]
    title = json.dumps(f"Every assignment of {path.stem}")
    return "\n".join(
        [
            *notes,
            'kind = "own"',
            f"title = {title}",
            "seed = 0  # of the split, of learners and of everything random",
            "splits_per_task = 64  # a killed run loses no more than these",
            "",
            "[[data]]",
            *described,
            "",
            "# The number of codewords is that of the classes. Up to 15 bits, entries -1 and +1.",
            *codebooks,
            "# Your own codewords, a row of -1 and +1 for each:",
            "# [[codebooks]]",
            '# name = "mine"',
            '# file = "codebook.csv"',
            "",
        ]
    )


def _names_samples(cells: tuple[str, ...]) -> bool:
    """Whether a column has texts that hardly ever repeat."""
    return own.numbers_in(cells) is None and len({*cells} - own.GAPS) > own.MOST_VALUES
