"""Keys that several kinds of studies share: data sets, learners of splits, codebooks."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args, get_origin, get_type_hints

from codekin.codebooks import CODEBOOKS, REAL_CODEBOOKS
from codekin.datasets import DATASETS
from codekin_studies.engine.schema import (
    BOOLEAN,
    LINE,
    NAME,
    NUMBER,
    POSITIVE,
    TEXT,
    Check,
    ListOf,
    OneOf,
    Place,
    Rule,
    Table,
    Variants,
    whole,
)
from codekin_studies.splits.dichotomies import SCALINGS

SEED = whole(0, 2**32 - 1)  # the range of scikit-learn
COUNT = whole(1, 1_000_000)

HEAD: Mapping[str, Check] = {"kind": TEXT, "title": LINE}
"""Keys that every study must have."""

NUMBERED: Mapping[str, Check] = {"number": NUMBER}
"""Keys that every study may have: its position in lists."""

BY_VALIDATION = "cross-validated"
"""In a configuration instead of a value of C: choose it as in the paper."""


@dataclass(frozen=True)
class DataName:
    """The name of a data set."""

    most_classes: int | None = None

    @property
    def wanted(self) -> str:
        """The names."""
        return OneOf(self.names).wanted

    @property
    def names(self) -> list[str]:
        """The data sets that have few enough classes."""
        most = self.most_classes
        return [name for name, entry in DATASETS.items() if most is None or entry.n_classes <= most]

    def check(self, value: Any, place: Place) -> None:
        """Raise unless there is such a data set, and it has few enough classes."""
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

    def table(name: str) -> Table:
        required, optional = LEARNER_OPTIONS[name]
        if may_choose_C and "C" in required:
            chosen = Rule(f"{BY_VALIDATION!r}", lambda value: value == BY_VALIDATION)
            required = {**required, "C": POSITIVE | chosen}
        return Table({"name": TEXT, **required}, optional)

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
        """That it must be a table, and how it may look."""
        return Table(example='{ codebook = "hadamard" }').wanted

    def check(self, value: Any, place: Place) -> None:
        """Raise unless the table has what its codebook needs, and nothing else."""
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

    def table(self, name: str) -> Table:
        """The table of the codebook of a name."""
        parameters, hints = _parameters(name), get_type_hints(CODEBOOKS[name])
        rules = {key: _rule_of_type(hints[key]) for key in parameters if key not in _INJECTED}
        needed = {key: rule for key, rule in rules.items() if _is_needed(parameters, key)}
        options = Table(needed, {key: rule for key, rule in rules.items() if key not in needed})
        required: dict[str, Check] = {**self.keys, "codebook": TEXT}
        if "rng" in parameters:
            required |= {self.seed[0]: self.seed[1]}
        if "class_distances" in parameters:
            required |= {"class_distances": OneOf(self.class_distances)}
        return Table(required | {"options": options}) if needed else Table(required, {"options": options})


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


CODEBOOK_NAME: Mapping[str, Check] = {"name": NAME}
SEEDS: tuple[str, Check] = ("seeds", ListOf(SEED))
