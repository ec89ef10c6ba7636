"""The standard streams: closed ones, and terminals, which labels must not control."""

from __future__ import annotations

import os
import re
import sys

import typer

# All control characters except tabs and line ends, which are ours. A label with an escape sequence could move the
# cursor, set the title of the window or type text.
CONTROL_CHARACTERS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def hold_closed_streams() -> None:
    """Open the null device instead of closed standard streams.

    Otherwise the next file that is opened would get a stream's number, and its output. Python has None for a closed
    stream: input and output stay None, so that a command that needs them can report it. Messages to a closed stderr are
    dropped.
    """
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest free number
            os.set_inheritable(descriptor, True)  # our workers need them, too
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115  (for as long as the process runs)


def escaped(text: str) -> str:
    r"""Text with control characters written as ``\u001b``, which is valid in JSON, too."""
    return CONTROL_CHARACTERS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def for_stdout(text: str) -> str:
    """Text as it goes to stdout: as it is to files and pipes, :func:`escaped` to a terminal."""
    return escaped(text) if sys.stdout is not None and sys.stdout.isatty() else text


def show(text: object) -> None:
    """Print a result, :func:`escaped` on a terminal."""
    typer.echo(for_stdout(str(text)))
