"""What a configuration may contain, as tables of keys with checks, and errors that name file, line, key and value.

A configuration is checked as a whole before anything is run: every key is known and every value is valid.

pydantic, msgspec and cattrs check the output of a parser, which has no line numbers, so their errors name a path of
keys but neither file nor line; finding the line is the hard part, and would still be needed (``line_of``). What a
table may contain is read from the tables of codebooks and data sets during the check; models would have to be built for
each name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import Any, Protocol

MAX_SHOWN = 60
"""How many characters of a wrong value an error shows."""


@dataclass(frozen=True)
class Place:
    """Where in a configuration a value is.

    ``source`` is the file as the user named it, ``text`` its content; ``path`` has the keys that lead to the value, and
    its positions in lists.

    >>> str(Place("small.toml").at("data", 1, "learner", "C"))
    'data[1].learner.C'
    """

    source: str
    text: str = field(default="", repr=False)
    path: tuple[Key, ...] = ()

    def at(self, *keys: Key) -> Place:
        """A place further inside."""
        return replace(self, path=(*self.path, *keys))

    def __str__(self) -> str:
        """The path, as Python would write it."""
        return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in self.path).lstrip(".")

    def error(self, reason: str) -> ValueError:
        """The error with the file, the line and this reason, a sentence."""
        line = line_of(self.text, self.path)
        return ValueError(f"{self.source}{'' if line is None else f', line {line}'}: {reason}")

    def wrong(self, wanted: str, value: Any) -> ValueError:
        """The error about an invalid value."""
        return self.error(f"'{self}' must be {wanted}. Got {_shown(value)} instead.")


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}..."


class Check(Protocol):
    """Says what a value must be, and raises if it is not."""

    @property
    def wanted(self) -> str:
        """What the value must be, as the rest of the sentence "It must be ..."."""

    def check(self, value: Any, place: Place) -> None:
        """Raise a ValueError that names the place, unless the value is right."""


@dataclass(frozen=True)
class Rule:
    """A value that a function checks."""

    wanted: str
    holds: Callable[[Any], Any]

    def check(self, value: Any, place: Place) -> None:
        if not self.holds(value):
            raise place.wrong(self.wanted, value)

    def __or__(self, other: Rule) -> Rule:
        """The rule that one of two rules holds."""
        return Rule(f"{self.wanted} or {other.wanted}", lambda value: self.holds(value) or other.holds(value))


def is_whole(value: Any) -> bool:
    """Whether a value is a 64-bit integer, as in TOML; not true or false."""
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**63


def whole(least: int, most: int | None = None) -> Rule:
    """A whole number between two others, or from one on."""
    bounds = f"of at least {least}" if most is None else f"from {least} to {most}"
    return Rule(f"a whole number {bounds}", lambda value: is_whole(value) and least <= value <= (most or value))


def _is_number(value: Any) -> bool:
    return is_whole(value) or (isinstance(value, float) and isfinite(value))


NUMBER = Rule("a finite number", _is_number)
POSITIVE = Rule("a number above 0", lambda value: _is_number(value) and value > 0)
NOT_NEGATIVE = Rule("a number of at least 0", lambda value: _is_number(value) and value >= 0)
TEXT = Rule("a text in quotes", lambda value: isinstance(value, str))
LINE = Rule("a line of text in quotes", lambda value: isinstance(value, str) and value.isprintable() and value.strip())
NAME = Rule(
    "a name of letters, digits, spaces, dots, hyphens and underscores",  # names of figures begin with it
    lambda value: isinstance(value, str) and re.fullmatch(r"\w[\w .-]*", value) is not None,
)
BOOLEAN = Rule("true or false", lambda value: isinstance(value, bool))


@dataclass(frozen=True)
class OneOf:
    """One of some names. The names may change between two checks."""

    names: Collection[str]

    @property
    def wanted(self) -> str:
        quoted = [f"{name!r}" for name in self.names]
        return quoted[0] if len(quoted) == 1 else f"one of {', '.join(quoted)}"

    def check(self, value: Any, place: Place) -> None:
        if not isinstance(value, str) or value not in self.names:
            raise place.wrong(self.wanted, value)


@dataclass(frozen=True)
class ListOf:
    """A list of distinct values that all have to be right.

    ``length`` is how many there must be, which may then be equal; by default one or more.
    """

    item: Check
    length: int | None = None

    @property
    def wanted(self) -> str:
        return f"a list of {'one or more values' if self.length is None else self.length}, each {self.item.wanted}"

    def check(self, value: Any, place: Place) -> None:
        if not isinstance(value, list) or len(value) != (self.length or len(value) or 1):
            raise place.wrong(self.wanted, value)
        for number, item in enumerate(value):
            self.item.check(item, place.at(number))
            if self.length is None and item in value[:number]:
                raise place.at(number).error(f"'{place.at(number)}' must not be in the list twice. Got {_shown(item)}.")


Dependency = Callable[[Mapping[str, Any], Place], None]
"""Takes a table whose keys are right individually; raises if they do not fit together."""


@dataclass(frozen=True)
class Keys:
    """A table with some keys and no others.

    It must have the keys in ``required`` and may have those in ``optional``. ``dependency`` checks what else must hold;
    ``example`` shows how it may look.
    """

    required: Mapping[str, Check] = field(default_factory=dict)
    optional: Mapping[str, Check] = field(default_factory=dict)
    dependency: Dependency | None = None
    example: str = ""

    @property
    def wanted(self) -> str:
        return f"a table, for example {self.example}" if self.example else "a table"

    def check(self, value: Any, place: Place) -> None:
        if not isinstance(value, Mapping):
            raise place.wrong(self.wanted, value)
        checks = {**self.required, **self.optional}
        for key in value:
            if key not in checks:
                known = f"The keys here are {', '.join(checks)}." if checks else "There are no keys here."
                raise place.at(key).error(f"'{place.at(key)}' is not known. {known}")
        for key, content in value.items():
            checks[key].check(content, place.at(key))
        for key, check in self.required.items():
            if key not in value:
                raise place.error(f"'{place.at(key)}' is missing. It must be {check.wanted}.")
        if self.dependency is not None:
            self.dependency(value, place)


@dataclass(frozen=True)
class Variants:
    """A table whose other keys depend on the name given by one of them.

    ``table`` takes the name and returns the table, which has ``key``, too.
    """

    key: str
    names: Collection[str]
    table: Callable[[str], Keys]
    example: str = ""

    @property
    def wanted(self) -> str:
        return Keys(example=self.example).wanted

    def check(self, value: Any, place: Place) -> None:
        if not isinstance(value, Mapping):
            raise place.wrong(self.wanted, value)
        named = OneOf(self.names)
        if self.key not in value:
            raise place.error(f"'{place.at(self.key)}' is missing. It must be {named.wanted}.")
        named.check(value[self.key], place.at(self.key))
        self.table(value[self.key]).check(value, place)


@dataclass(frozen=True)
class Entries:
    """A list of tables, no two of which may be equal in all of the keys ``known_by``."""

    entry: Check
    known_by: tuple[tuple[str, ...], ...] = (("name",),)
    may_be_empty: bool = False

    @property
    def wanted(self) -> str:
        return "a list of tables" if self.may_be_empty else "a list of one or more tables"

    def check(self, value: Any, place: Place) -> None:
        if not isinstance(value, list) or not (value or self.may_be_empty):
            raise place.wrong(f"{self.wanted}, [[{place}]]", value)
        seen: dict[tuple[Any, ...], int] = {}
        for number, entry in enumerate(value):
            self.entry.check(entry, place.at(number))
            identity = tuple(_inside(entry, path) for path in self.known_by)
            if identity in seen:
                keys = " or ".join(f"'{'.'.join(path)}'" for path in self.known_by)
                shown = ", ".join(map(_shown, identity))
                other = place.at(seen[identity])
                raise place.at(number).error(f"'{place.at(number)}' must differ from '{other}' in {keys}. Got {shown}.")
            seen[identity] = number


def _inside(entry: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        entry = entry[key]
    return entry


Key = str | int

_HEADER = re.compile(r"\s*(\[\[?)\s*([\w.-]+)\s*\]\]?\s*(?:#.*)?$")
_ASSIGNMENT = re.compile(r"\s*([\w.-]+)\s*=")


def line_of(text: str, path: tuple[Key, ...]) -> int | None:
    r"""The line, from 1, of a key in a TOML file, or of the table around it; None if it is not obvious.

    >>> line_of("seed = 0\n[[data]]\nname = 'a'\n[[data]]\nname = 'b'", ("data", 1, "name"))
    5
    """
    if '"""' in text or "'''" in text:  # whose lines may look like keys
        return None
    found, length = None, 0
    for number, here in enumerate(_paths_of_lines(text), start=1):
        if length < len(here) <= len(path) and path[: len(here)] == here:
            found, length = number, len(here)
    return found


def _paths_of_lines(text: str) -> Iterator[tuple[Key, ...]]:
    """The path of what begins in each line; empty for other lines."""
    table: tuple[Key, ...] = ()
    n_entries: dict[tuple[Key, ...], int] = {}

    def entered(path: tuple[Key, ...]) -> tuple[Key, ...]:
        """The path of a table, or of the last of several."""
        return (*path, n_entries[path] - 1) if path in n_entries else path

    for line in text.split("\n"):
        header, assignment = _HEADER.match(line), _ASSIGNMENT.match(line)
        if header:
            *outer, name = header[2].split(".")
            table = ()
            for key in outer:
                table = entered((*table, key))
            table = (*table, name)
            if header[1] == "[[":
                n_entries[table] = n_entries.get(table, 0) + 1
            table = entered(table)
            yield table
        else:
            yield (*table, *assignment[1].split(".")) if assignment else ()
