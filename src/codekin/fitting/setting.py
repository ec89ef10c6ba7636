"""What a row of the table of settings is, and how the values of settings are checked."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Literal, NamedTuple

from codekin._system.messages import Need, Spelled, near_name, suggestion
from codekin.assignments import AssignmentResult
from codekin.assignments.policy import ASSIGNMENTS
from codekin.classes import ClassDistances, ClassTree
from codekin.classes.distances import CLASS_DISTANCES, CLASS_DISTANCES_FROM_DATA
from codekin.code import KINDS, Assignment, Codebook
from codekin.codebooks import CODEBOOKS
from codekin.decoding import LOSSES
from codekin.decoding.losses import get_loss

AUTO = "auto"
CODE, LEARNING = "The code", "Learning"
EVERY_CODE = ("tree", "trellis")
_NAMES = {
    code: [*KINDS[code].orders, *(sorted(ASSIGNMENTS) if KINDS[code].takes_searches else ())] for code in EVERY_CODE
}
ASSIGNMENT_CHOICES: Mapping[str, tuple[str, ...]] = {
    name: tuple(code for code in EVERY_CODE if name in _NAMES[code]) for names in _NAMES.values() for name in names
}
"""All names of the ``assignment`` parameter of estimators, and the codes they are for; "trellis" is any codebook but a
tree."""


def is_auto(value: Any) -> bool:
    """Whether the value of a setting is "auto"; it may also be an array."""
    return isinstance(value, str) and value == AUTO


@dataclass(frozen=True)
class Numbers:
    """Numbers of a kind from ``left`` to ``right``, which is None if there is no limit; ``closed`` sides belong."""

    type: type
    left: float
    right: float | None
    closed: Literal["left", "both", "neither"]

    def __contains__(self, number: Any) -> bool:
        is_low = number < self.left or (number == self.left and self.closed == "neither")
        is_high = self.right is not None and (number > self.right or (number == self.right and self.closed != "both"))
        return isinstance(number, self.type) and not (is_low or is_high)


class Methods(NamedTuple):
    """What has these methods; a regressor, if ``of_regressor``."""

    names: tuple[str, ...]
    of_regressor: bool = False


@dataclass(frozen=True)
class Setting:
    """A row of the table.

    - ``help``: what it is for, in a sentence in which ``{width}`` is the name of another setting.
    - ``names``, ``numbers``, ``more``: what it may be; ``is_optional`` if it may be None.
    - ``check``: raises if a value is wrong in a way that these cannot express.
    - ``auto``: what "auto" is, in words.
    - ``follows``: the value that other settings imply, "auto" if they imply none.
    - ``resolve``: what "auto" is for the samples of a fit; without it, fitting decides.
    - ``section``, ``metavar``, ``is_size``: how the command line shows and reads it.
    """

    name: str
    default: Any
    help: str
    names: tuple[str, ...] = ()
    numbers: Numbers | None = None
    more: tuple[Any, ...] = ()
    is_optional: bool = False
    check: Callable[[Any], None] | None = None
    auto: str = ""
    follows: Callable[[Any], Any] | None = None
    resolve: Callable[[Any], Any] | None = None
    needs: tuple[Need, ...] = ()
    section: str = CODE
    metavar: str = ""
    is_size: bool = False


Table = Mapping[str, Setting]


def table_of(*settings: Setting) -> Table:
    """The settings by name."""
    return {setting.name: setting for setting in settings}


def in_python(name: str, value: Any) -> Spelled:
    """A parameter of a function or an estimator."""
    return Spelled(name, f"{name}={value!r}", value)


def check_settings(
    table: Table,
    values: Mapping[str, Any],
    spelled: Callable[[str, Any], Spelled] = in_python,
    *,
    kind: str = "",
) -> None:
    """Raise if a setting is wrong, or lacks what it needs.

    - ``values``: the values of all settings, and of all else that is named in their needs.
    - ``spelled``: from the name and the value of a setting to how its user writes it.
    - ``kind``: of the codebook, if that is known.
    """
    rows = [setting for name, setting in table.items() if name in values]
    for setting in rows:
        if setting.check is not None:
            setting.check(values[setting.name])
    every = SimpleNamespace(**values)
    for setting in rows:
        for need in setting.needs:
            if need.kind in ("", kind) and not need.is_met(every):
                names = {name: spelled(name, value) for name, value in values.items()}
                raise ValueError(f"{names[setting.name].given} needs {need.what.format(**names)}.")


# ----- choices that are a name from a table or the object itself ------------------------------------------------------


def check_codebook_choice(choice: Any) -> None:
    """Raise if the ``codebook`` parameter of an estimator is not valid."""
    names = sorted(set(CODEBOOKS) - {"given"})
    if isinstance(choice, str):
        if choice in (AUTO, *names):
            return
    elif isinstance(choice, Codebook) or callable(choice) or is_array_like(choice):
        return
    is_given = isinstance(choice, str) and choice == "given"
    hint = " Pass the matrix itself: codebook=matrix." if is_given else suggestion(choice, names)
    raise ValueError(
        f"The 'codebook' parameter must be one of {names}, a function, a Codebook or a matrix. "
        f"Got {shown(choice)} instead.{hint}"
    )


def codes_of(assignment: Any) -> tuple[str, ...]:
    """The codes that the ``assignment`` parameter of an estimator is for."""
    return ASSIGNMENT_CHOICES.get(assignment, EVERY_CODE) if isinstance(assignment, str) else EVERY_CODE


def check_assignment_choice(
    choice: Any, *, more_names: tuple[str, ...] = (), codes: tuple[str, ...] = ("trellis",)
) -> None:
    """Raise if the ``assignment`` parameter of an estimator is not valid.

    - ``more_names``: names that the estimator accepts besides those in ``ASSIGNMENT_CHOICES``.
    - ``codes``: what the code may be.
    """
    names = [*more_names, *(name for name, own in ASSIGNMENT_CHOICES.items() if set(own) & set(codes))]
    if isinstance(choice, str):
        if choice in names:
            return
        codebook = near_name(choice, CODEBOOKS)
        if choice == "given":
            hint = " Pass the assignment itself: for each class the row of its codeword."
        elif near_name(choice, names) is None and codebook is not None:
            hint = f" Did you mean codebook={codebook!r}?"
        elif choice in ASSIGNMENT_CHOICES:
            hint = f" {choice!r} is for a {codes_of(choice)[0]}, a code of ExtremeClassifier."
        else:
            hint = suggestion(choice, names)
    elif isinstance(choice, Assignment | AssignmentResult) or callable(choice) or is_array_like(choice):
        return
    else:
        hint = ""
    raise ValueError(
        f"The 'assignment' parameter must be one of {names}, a function, an Assignment or an array. "
        f"Got {shown(choice)} instead.{hint}"
    )


def check_loss_choice(choice: Any) -> None:
    """Raise if the ``loss`` parameter of an estimator is an unknown name, or a function that is no loss."""
    if callable(choice):
        get_loss(choice)
    names = ["auto", *sorted(LOSSES)]
    if isinstance(choice, str) and choice not in names:
        raise ValueError(
            f"The 'loss' parameter must be one of {names} or a callable. Got {choice!r} instead."
            f"{suggestion(choice, names)}"
        )


def check_distances_choice(choice: Any) -> None:
    """Raise if the ``class_distances`` parameter of an estimator is not valid."""
    names = list(CLASS_DISTANCES_FROM_DATA)
    if are_distances(choice) or (isinstance(choice, str) and choice in names):
        return
    if callable(choice):
        missing = missing_arguments(choice, [0, 0], {})
        if missing:
            name = shown(choice)
            raise ValueError(
                f"A function given as 'class_distances' takes X and the class indices. Got {name}: {missing}."
            )
        return
    hint = suggestion(choice, names)
    if isinstance(choice, dict):
        hint = " Give a matrix whose rows and columns follow the sorted labels."
    elif isinstance(choice, str) and choice in CLASS_DISTANCES:
        hint = f" Make it first: class_distances={choice}(...)."
    raise ValueError(
        f"The 'class_distances' parameter must be one of {names}, a matrix, a class tree, a callable or a "
        f"ClassDistances object. Got {shown(choice)} instead.{hint}"
    )


def are_distances(choice: Any) -> bool:
    """Whether these are distances, and not a name or a function."""
    # A class has the attributes of its instances, and a protocol checks only these.
    return not isinstance(choice, type) and (isinstance(choice, ClassDistances | ClassTree) or is_array_like(choice))


def is_array_like(choice: Any) -> bool:
    """Whether NumPy can convert it to an array; not for None and dicts, which become a single object."""
    return isinstance(choice, list | tuple) or hasattr(choice, "__array__")


def missing_arguments(function: Callable[..., Any], given: Sequence[Any], named: Mapping[str, Any]) -> str:
    """Why a function cannot be called with these arguments; empty if it can, or if its signature is unknown."""
    try:
        inspect.signature(function).bind(*given, **named)
    except TypeError as error:
        return str(error)
    except ValueError:
        return ""
    return ""


def shown(choice: Any) -> str:
    """A wrong value as shown in an error."""
    if choice is None or isinstance(choice, str | int | float):
        return repr(choice)
    if callable(choice):
        return str(getattr(choice, "__name__", type(choice).__name__))
    return f"an object of type {type(choice).__name__}"
