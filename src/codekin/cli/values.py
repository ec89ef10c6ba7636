"""Parsers for values on the command line; errors name the option."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Literal

import typer

from codekin._system.memory import in_bytes
from codekin._system.names import suggestion


def one_of(choices: Iterable[str]) -> Callable[[str], str]:
    """Accepts the names of a table."""
    names = list(choices)

    def parse(text: str) -> str:
        if text not in names:
            hint = suggestion(text, names)
            raise typer.BadParameter(f"must be one of {', '.join(names)}. Got {text!r} instead.{hint}")
        return text

    return parse


def named(names: Iterable[str], help: str, *declarations: str, **settings: Any) -> Any:
    """An option whose value is one of some names."""
    return typer.Option(*declarations, parser=one_of(names), metavar="NAME", help=help, **settings)


def size(text: str) -> int:
    """A number of bytes, with or without a unit."""
    try:
        n_bytes = in_bytes(str(text))
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    if n_bytes < 1:
        raise typer.BadParameter(f"a size must be at least one byte. Got {text!r} instead.")
    return n_bytes


def whole_or_auto(least: int) -> Callable[[str], int | Literal["auto"]]:
    """Accepts whole numbers from one on, and "auto"."""

    def parse(text: str) -> int | Literal["auto"]:
        """A whole number, or "auto"."""
        if text == "auto":
            return "auto"
        if not str(text).isdecimal() or int(text) < least:
            raise typer.BadParameter(f"must be 'auto' or a whole number of at least {least}. Got {text!r} instead.")
        return int(text)

    return parse


trellis_width, count_or_auto = whole_or_auto(2), whole_or_auto(1)


def positive_number(text: str) -> float:
    """A number above 0."""
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 < number < float("inf"):
        raise typer.BadParameter(f"must be a number above 0. Got {text!r} instead.")
    return number


def share_or_none(text: str) -> float | Literal["auto"] | None:
    """A share below 1, "none" or "auto"."""
    if text in ("auto", "none"):
        return "auto" if text == "auto" else None
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share < 1:
        raise typer.BadParameter(f"must be 'auto', 'none' or a number from 0 to 1. Got {text!r} instead.")
    return share


def two_numbers(text: str) -> tuple[int, int]:
    """From and to, separated by a comma or a hyphen; a single number means both."""
    parts = str(text).replace("-", ",").split(",")
    low, high = (int(parts[k]) if parts[k].isdecimal() else 0 for k in (0, -1))
    if len(parts) > 2 or not 1 <= low <= high:
        raise typer.BadParameter(
            f"must be one or two whole numbers from 1 on, the smaller one first, like 1,2. Got {text!r} instead."
        )
    return low, high
