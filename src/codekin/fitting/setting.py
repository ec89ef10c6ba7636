"""What a row of the table of settings is, and how its values are checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, NamedTuple

from sklearn.base import is_regressor
from sklearn.utils._param_validation import HasMethods, StrOptions

AUTO = "auto"
CODE, LEARNING = "The code", "Learning"


def is_auto(value: Any) -> bool:
    """Whether the value of a setting is "auto"; it may also be an array."""
    return isinstance(value, str) and value == AUTO


class Need(NamedTuple):
    """What a setting needs: without it the setting would have no effect, so it is rejected.

    In ``what``, ``{width}`` is the name of a setting as its user writes it, ``{width.given}`` its name and value and
    ``{width.value}`` its value. ``is_met`` takes the values of all settings. ``kind`` is the kind of codebook that has
    this need; all kinds have it if it is empty.
    """

    what: str
    is_met: Callable[[Any], bool]
    kind: str = ""


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
    numbers: Any = None
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

    @property
    def constraint(self) -> Any:
        """The constraint in scikit-learn's terms."""
        numbers = [] if self.numbers is None else [self.numbers]
        names = [StrOptions(set(self.names))] if self.names else []
        every = [*numbers, *self.more, *names, *([None] if self.is_optional else [])]
        return every or "no_validation"


class RegressorConstraint(HasMethods):  # type: ignore[misc]  # scikit-learn has no types
    """The rule of scikit-learn's parameter validation that a parameter may be a regressor."""

    def __init__(self) -> None:
        super().__init__(["fit", "predict"])

    def is_satisfied_by(self, val: Any) -> bool:
        """Whether it is a regressor."""
        return bool(super().is_satisfied_by(val) and not isinstance(val, type) and is_regressor(val))

    def __str__(self) -> str:
        """What an error says about it."""
        return "a regressor"


Table = Mapping[str, Setting]


def table_of(*settings: Setting) -> Table:
    """The settings by name."""
    return {setting.name: setting for setting in settings}


def constraints(table: Table) -> dict[str, Any]:
    """The ``_parameter_constraints`` of an estimator, in scikit-learn's terms."""
    return {name: setting.constraint for name, setting in table.items()}


class Spelled(NamedTuple):
    """A setting as its user writes it, alone and with its value, and the value."""

    name: str
    given: str
    value: Any

    def __format__(self, _: str) -> str:
        """The name."""
        return self.name


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
