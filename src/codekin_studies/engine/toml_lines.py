"""The line of a key in a TOML file, which Python's parser does not give."""

from __future__ import annotations

import re
from collections.abc import Iterator

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
