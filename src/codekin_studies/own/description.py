"""What a study of one's own data says: its keys, and the files that it names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from codekin.code import Codebook
from codekin.data import DataError
from codekin.data.class_files import read_distances, read_matrix
from codekin_studies import entries
from codekin_studies.configuration import Study, path_of
from codekin_studies.engine.schema import NAME, TEXT, Entries, Keys, ListOf, OneOf, Place, whole
from codekin_studies.own.samples import SCALINGS, OwnSamples, folds_of, read_samples
from codekin_studies.splits import sweeps
from codekin_studies.splits.named import classifier_of, is_named

METRICS = ("confusion", "means", "learnability")
GIVEN = "given"
"""What the class distances of a file are called."""
COUNTED = ("out_of_fold", "train")


class _Learner:
    """A table with the name of a learner of splits and its parameters: one of ours, or a dotted name."""

    wanted = Keys(example='{ name = "sklearn.linear_model.LogisticRegression", C = 1.0 }').wanted

    def check(self, value: Any, place: Place) -> None:
        """Raise unless it is such a table; whether the class exists is checked when the study is run."""
        if isinstance(value, Mapping) and isinstance(value.get("name"), str) and is_named(value["name"]):
            return
        entries.learner_table().check(value, place)


class _Codebook:
    """A table of a codebook by name, or of a file with its codewords."""

    wanted = Keys(example='{ name = "mine", file = "codebook.csv" }').wanted

    def check(self, value: Any, place: Place) -> None:
        """Raise unless it is one of the two."""
        if isinstance(value, Mapping) and "file" in value:
            Keys({"name": NAME, "file": TEXT}).check(value, place)
            return
        entries.CodebookTable({"name": NAME}, class_distances=(*METRICS[:2], GIVEN)).check(value, place)


def _one_way_to_test(data: Mapping[str, Any], place: Place) -> None:
    ways = [name for name in ("n_test", "folds", "test_file") if name in data]
    if len(ways) != 1:
        got = " and ".join(map(repr, ways)) or "none"
        raise place.error(f"'{place}' must say one of 'n_test', 'folds' and 'test_file'. Got {got} instead.")


SCHEMA = entries.study_keys(
    {
        "seed": entries.SEED,
        "splits_per_task": entries.COUNT,
        "data": Entries(
            Keys(
                {"name": NAME, "file": TEXT, "learner": _Learner()},
                {
                    "label": TEXT,
                    "ignore": ListOf(TEXT),
                    "categories": ListOf(TEXT),
                    "scaling": OneOf(SCALINGS),
                    "confusion": OneOf(COUNTED),
                    "distances": TEXT,
                    "n_test": entries.COUNT,
                    "folds": whole(2, 1000),
                    "test_file": TEXT,
                },
                _one_way_to_test,
            )
        ),
        "codebooks": Entries(_Codebook()),
    }
)


def check(study: Study, data_names: list[str], data_home: Path | None) -> None:  # noqa: ARG001
    """Raise unless learners, splits and codebooks are possible."""
    for data, place in entries.placed_data(study, data_names):
        samples, learner = own_samples(study, data), dict(data["learner"])
        name = learner.pop("name")
        if is_named(name):
            try:
                classifier_of(name, learner, study.trusted)
            except ValueError as error:
                raise place.at("learner", "name").error(str(error)) from None
        _check_split(samples, data, place)
        for number, code in enumerate(study.option("codebooks")):
            where = study.place.at("codebooks", number)
            if "file" in code:
                codewords_of(study, code, samples.n_classes, where)
            elif code.get("class_distances") == GIVEN and "distances" not in data:
                raise where.error(f"'{where}' needs class distances, but '{place}' names no file of 'distances'.")
            else:
                entries.check_codebook(code, samples.n_classes, where, most_bits=sweeps.MAX_BITS)


def _check_split(samples: OwnSamples, data: Mapping[str, Any], place: Place) -> None:
    counts, n = np.bincount(samples.y, minlength=samples.n_classes), len(samples.y)
    if not 3 <= samples.n_classes <= sweeps.MAX_STREAMED:
        rule = f"must have 3 to {sweeps.MAX_STREAMED} classes, since all assignments are looked at"
        raise place.at("file").error(f"'{place.at('file')}' {rule}. {data['file']} has {samples.n_classes}.")
    if "folds" in data and counts.min() < data["folds"]:
        rarest = samples.class_names[int(counts.argmin())]
        rule = f"from 2 to {counts.min()}, since the class {rarest!r} has {counts.min()} samples"
        raise place.at("folds").wrong(rule, data["folds"])
    if "n_test" in data and not samples.n_classes <= data["n_test"] <= n - samples.n_classes:
        rule = f"from {samples.n_classes} to {n - samples.n_classes}, since there are {n} samples of "
        raise place.at("n_test").wrong(f"{rule}{samples.n_classes} classes to divide", data["n_test"])
    (learned, _), *_ = folds_of(samples.y, **tested_by(data), n_given=samples.n_given, seed=0)
    if data.get("confusion", COUNTED[0]) == COUNTED[0]:
        fewest = np.bincount(samples.y[learned], minlength=samples.n_classes).min()
        if fewest < 2:
            raise place.error(f"'{place}' needs two training samples of every class, or confusion = \"train\".")


def tested_by(data: Mapping[str, Any]) -> dict[str, Any]:
    """How samples are tested, as arguments of :func:`folds_of`."""
    return {"n_test": data.get("n_test"), "n_folds": data.get("folds")}


def files_of(study: Study, data: Mapping[str, Any]) -> tuple[str, ...]:
    """The paths of the samples, and of the test samples if they have a file of their own."""
    return tuple(str(path_of(study, data[key])) for key in ("file", "test_file") if key in data)


def own_samples(study: Study, data: Mapping[str, Any]) -> OwnSamples:
    """The samples of an entry of the data."""
    columns = {key: data[key] for key in ("label", "ignore", "categories") if key in data}
    return samples_of_files(files_of(study, data), columns)


def samples_of_files(files: Sequence[str], columns: Mapping[str, Any]) -> OwnSamples:
    """The samples of a file, with those of a second one behind them."""
    train = read_samples(Path(files[0]), **columns)
    if len(files) == 1:
        return train
    return train.followed_by(read_samples(Path(files[1]), **columns), files[1])


def given_distances(study: Study, data: Mapping[str, Any]) -> list[list[float]]:
    """The distances of a file, in the order of the classes."""
    file = str(path_of(study, data["distances"]))
    given, names = read_distances(file)
    classes = own_samples(study, data).class_names
    if sorted(names) != sorted(classes):
        raise DataError(file, f"its classes are {', '.join(names)}; those of {data['file']} are {', '.join(classes)}.")
    order = [names.index(name) for name in classes]
    return [[float(value) for value in row] for row in given.matrix()[np.ix_(order, order)]]


def codewords_of(study: Study, code: Mapping[str, Any], n_classes: int, place: Place) -> list[list[int]]:
    """The codewords of a file: rows of -1 and +1, one per class, in any order."""
    file = str(path_of(study, code["file"]))
    matrix = read_matrix(file)[0]
    if not (np.abs(matrix) == 1).all():
        raise DataError(file, "a codebook has entries -1 and +1 only, since every bit is a split of all classes.")
    if len(matrix) != n_classes or matrix.shape[1] > sweeps.MAX_BITS:
        rule = f"a row for each of the {n_classes} classes and at most {sweeps.MAX_BITS} columns"
        raise place.error(f"{code['file']} must have {rule}. It has {matrix.shape[0]} x {matrix.shape[1]} entries.")
    try:
        Codebook(matrix.astype(np.int8))
    except ValueError as error:
        raise DataError(file, str(error)) from None
    return [[int(entry) for entry in row] for row in matrix]
