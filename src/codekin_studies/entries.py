"""Keys that several kinds of studies share, and what is made of them: samples, learners of splits, codebooks."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np

from codekin.code import Codebook, FloatArray
from codekin.codebooks import CODEBOOKS, REAL_CODEBOOKS
from codekin.data import DATASETS, Dataset, load_dataset
from codekin_studies.configuration import Study
from codekin_studies.engine.schema import (
    BOOLEAN,
    LINE,
    NAME,
    NUMBER,
    POSITIVE,
    TEXT,
    Check,
    Dependency,
    Entries,
    Keys,
    ListOf,
    OneOf,
    Place,
    Rule,
    Variants,
    whole,
)
from codekin_studies.splits.dichotomies import SCALINGS, scaling_of

SEED = whole(0, 2**32 - 1)  # the range of scikit-learn
COUNT = whole(1, 1_000_000)
SEEDS: tuple[str, Check] = ("seeds", ListOf(SEED))

BY_VALIDATION = "cross-validated"
"""In a configuration instead of a value of C: choose it as in the paper."""


@dataclass(frozen=True)
class DataName:
    """The name of a data set."""

    most_classes: int | None = None

    @property
    def wanted(self) -> str:
        return OneOf(self.names).wanted

    @property
    def names(self) -> list[str]:
        """The data sets that have few enough classes."""
        most = self.most_classes
        return [name for name, entry in DATASETS.items() if most is None or entry.n_classes <= most]

    def check(self, value: Any, place: Place) -> None:
        if isinstance(value, str) and value in DATASETS and value not in self.names:
            why = f"with more than {self.most_classes} classes there are too many assignments to see all"
            n_classes = DATASETS[value].n_classes
            raise place.error(f"'{place}' must be {self.wanted}: {why}. Got {value!r} with {n_classes} instead.")
        OneOf(self.names).check(value, place)


SCALING: Mapping[str, Check] = {"scaling": OneOf(SCALINGS)}
"""A key that data sets of dense features may have: how the features are scaled."""

LEARNER_OPTIONS: Mapping[str, tuple[Mapping[str, Check], Mapping[str, Check]]] = {
    "linear_svm": ({"C": POSITIVE}, {}),
    "decision_tree": ({}, {"min_samples_split": whole(2, 1_000_000)}),
    "least_squares": ({"ridge": POSITIVE}, {}),
}
"""The options of each learner of splits: those that it must have, and those that it may have."""


def learner_table(*, may_choose_C: bool = False) -> Variants:  # mathematical notation
    """A table with the name of a learner of splits, and its options.

    With ``may_choose_C``, C may be chosen by cross-validation.
    """

    def table(name: str) -> Keys:
        required, optional = LEARNER_OPTIONS[name]
        if may_choose_C and "C" in required:
            chosen = Rule(f"{BY_VALIDATION!r}", lambda value: value == BY_VALIDATION)
            required = {**required, "C": POSITIVE | chosen}
        return Keys({"name": TEXT, **required}, optional)

    return Variants("name", LEARNER_OPTIONS, table, '{ name = "linear_svm", C = 1.0 }')


MATRIX = Rule("a list of rows, each a list of numbers", lambda value: isinstance(value, list))
_RULES_OF_TYPES = {int: whole(1), float: NUMBER, bool: BOOLEAN}
_MADE_FROM = ("class_distances", "class_moments", "column_trials", "class_tree")
_INJECTED = ("n_codewords", *_MADE_FROM, "rng")
"""Parameters of codebooks that are not options."""


@dataclass(frozen=True)
class CodebookTable:
    """A table with the name of a codebook, its options and, if it is random, a seed.

    ``keys``: what else the table must have. ``class_distances``: which ones a codebook may be made for. ``seed``: the
    key of the seed and its check. ``is_drawn``: the codebook must be random.
    """

    keys: Mapping[str, Check] = field(default_factory=dict)
    class_distances: tuple[str, ...] = ()
    seed: tuple[str, Check] = ("seed", SEED)
    is_drawn: bool = False

    @property
    def wanted(self) -> str:
        return Keys(example='{ codebook = "hadamard" }').wanted

    def check(self, value: Any, place: Place) -> None:
        Variants("codebook", self.names, self.table).check(value, place)

    @property
    def names(self) -> list[str]:
        """The codebooks that can be made here; splits of the classes are signs."""
        return [name for name in CODEBOOKS if name not in REAL_CODEBOOKS and self._can_be_made(name)]

    def _can_be_made(self, name: str) -> bool:
        parameters = _parameters(name)
        needed = [key for key in _MADE_FROM if _is_needed(parameters, key)]
        return set(needed) <= ({"class_distances"} if self.class_distances else set()) and (
            "rng" in parameters or not self.is_drawn
        )

    def table(self, name: str) -> Keys:
        """The table of the codebook of a name."""
        parameters, hints = _parameters(name), get_type_hints(CODEBOOKS[name])
        rules = {key: _rule_of_type(hints[key]) for key in parameters if key not in _INJECTED}
        needed = {key: rule for key, rule in rules.items() if _is_needed(parameters, key)}
        options = Keys(needed, {key: rule for key, rule in rules.items() if key not in needed})
        required: dict[str, Check] = {**self.keys, "codebook": TEXT}
        if "rng" in parameters:
            required |= {self.seed[0]: self.seed[1]}
        if "class_distances" in parameters:
            required |= {"class_distances": OneOf(self.class_distances)}
        return Keys(required | {"options": options}) if needed else Keys(required, {"options": options})


def _parameters(name: str) -> Mapping[str, inspect.Parameter]:
    return inspect.signature(CODEBOOKS[name]).parameters


def _is_needed(parameters: Mapping[str, inspect.Parameter], key: str) -> bool:
    return key in parameters and parameters[key].default is inspect.Parameter.empty


def _rule_of_type(hint: Any) -> Rule:
    """What the value of a parameter of this type must be."""
    rules: list[Rule] = []
    for part in get_args(hint) if get_origin(hint) is not Literal and get_args(hint) else (hint,):
        if part in _RULES_OF_TYPES:
            rules.append(_RULES_OF_TYPES[part])
        elif get_origin(part) is Literal:
            names = get_args(part)
            rules.append(Rule(OneOf(names).wanted, names.__contains__))
    rule = rules[0] if rules else MATRIX
    for other in rules[1:]:
        rule |= other
    return rule


def codebook_entries(*class_distances: str, may_be_empty: bool = False) -> Entries:
    """A list of codebooks with names; ``class_distances``: which ones a codebook may be made for."""
    return Entries(CodebookTable({"name": NAME}, class_distances=class_distances), may_be_empty=may_be_empty)


def data_entries(
    keys: Mapping[str, Check], optional: Mapping[str, Check] | None = None, dependency: Dependency | None = None
) -> Entries:
    """A list of data sets of at most ten classes, some of whose samples may be put aside for testing."""
    name = {"name": DataName(most_classes=10)}
    return Entries(Keys({**name, **keys}, {"n_test": COUNT, **(optional or {})}, dependency))


def study_keys(
    keys: Mapping[str, Check], optional: Mapping[str, Check] | None = None, dependency: Dependency | None = None
) -> Keys:
    """The keys of a kind of study: its own, its name and title and, if it likes, its position in lists."""
    return Keys({"kind": TEXT, "title": LINE, **keys}, {"number": NUMBER, **(optional or {})}, dependency)


def samples_of(study: Study, data: Mapping[str, Any], *options: str, **more: Any) -> dict[str, Any]:
    """The parameters of a task that determine its samples, with some options of the study and some more."""
    given = {name: study.option(name) for name in ("seed", *options)}
    return {"data": data["name"], "n_test": data.get("n_test"), **scaling_of(data), **given, **more}


def placed_data(study: Study, names: Collection[str]) -> Iterator[tuple[Mapping[str, Any], Place]]:
    """The entries of some data sets of a study, and where they are written."""
    for number, data in enumerate(study.option("data")):
        if data["name"] in names:
            yield data, study.place.at("data", number)


TRIAL_SECONDS = 0.1
"""How long to search for a codebook just to check that it can be made."""


def make_codebook(code: Mapping[str, Any], n_classes: int, distances: Mapping[str, FloatArray]) -> Codebook:
    """The codebook that an entry describes.

    ``distances`` maps the names in entries to matrices.
    """
    extra: dict[str, Any] = {}
    if "seed" in code:
        extra["rng"] = code["seed"]
    if "class_distances" in code:
        extra["class_distances"] = distances[code["class_distances"]]
    return CODEBOOKS[code["codebook"]](n_classes, **code.get("options", {}), **extra)


def check_entries(study: Study, data_names: list[str], data_home: Path | None, *, most_bits: int | None = None) -> None:
    """Raise unless the samples of some data sets, and the codebooks for them, are available."""
    for data, place in placed_data(study, data_names):
        check_samples(data, place, data_home)
    for number, code in enumerate(study.option("codebooks")):
        for n_classes in sorted({DATASETS[name].n_classes for name in data_names}):
            check_codebook(code, n_classes, study.place.at("codebooks", number), most_bits=most_bits)


def check_samples(data: Mapping[str, Any], place: Place, data_home: Path | None) -> Dataset:
    """Raise unless a data set has dense features, and test samples or enough samples to set some aside."""
    name, n_test = data["name"], data.get("n_test")
    dataset = load_dataset(name, data_home)
    if not isinstance(dataset.X, np.ndarray):
        has = "texts" if dataset.X is None else "sparse features"
        raise place.at("name").error(f"'{place.at('name')}' must be a data set of dense features. {name!r} has {has}.")
    if n_test is None:
        if dataset.test is None:
            raise place.error(
                f"'{place}' must be a data set with test samples, which {name!r} is not, or say 'n_test'."
            )
        return dataset
    n_samples, n_classes = len(dataset.y), len(np.unique(dataset.y))
    if not n_classes <= n_test <= n_samples - n_classes:
        wanted = f"from {n_classes} to {n_samples - n_classes}, since {name!r} has {n_samples} samples"
        raise place.at("n_test").wrong(f"{wanted} of {n_classes} classes to divide", n_test)
    return dataset


def check_codebook(code: Mapping[str, Any], n_classes: int, place: Place, *, most_bits: int | None = None) -> None:
    """Raise unless a codebook can be made, as far as that is known without class distances."""
    options = dict(code.get("options", {}))
    n_bits = options.get("n_bits", 0)
    if "class_distances" not in code:
        if "time_limit" in inspect.signature(CODEBOOKS[code["codebook"]]).parameters:
            options["time_limit"] = min(options.get("time_limit", TRIAL_SECONDS), TRIAL_SECONDS)
        try:
            codebook = make_codebook({**code, "options": options}, n_classes, {})
        except ValueError as error:
            raise place.error(f"'{place}' cannot be made for {n_classes} classes: {error}") from None
        if codebook.is_ternary:
            rule = "must be a codebook without zeros, since every bit is learned as a split of all classes"
            raise place.error(f"'{place}' {rule}. Got {code['codebook']!r} instead.")
        n_bits = codebook.n_bits
    if most_bits is not None and n_bits > most_bits:
        rule = f"must have at most {most_bits} bits, up to which counts over all assignments are exact"
        raise place.error(f"'{place}' {rule}. It has {n_bits} bits.")
