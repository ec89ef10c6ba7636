"""The command ``codekin``: what its commands share, and the list of them.

Results go to stdout, progress and errors to stderr. The exit code is 0 when all went well, 1 when the work could not
be done and 2 when the command was not understood. An error is one sentence; ``--debug`` shows where it came from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import typer

from codekin._version import __version__
from codekin.cli.demo import demo

EXIT_FAILED = 1

# What a user can mend: a wrong value, a file that is not there, a package that is not installed.
EXPECTED_ERRORS = (ValueError, OSError, LookupError, ImportError, MemoryError)

app = typer.Typer(
    name="codekin",
    help="Multiclass classification by error-correcting output codes in which similar classes get similar codewords.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command()(demo)


@dataclass
class Session:
    """What the options before the command say."""

    debug: bool = False


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments after the name of the program; by default those of the process.

    Returns
    -------
    int
        The exit code.
    """
    session = Session()
    try:
        app(args=None if argv is None else list(argv), prog_name="codekin", obj=session)
    except SystemExit as leaving:  # how typer ends, also when all went well
        return leaving.code if isinstance(leaving.code, int) else 0
    except Exception as error:
        if session.debug:
            raise
        typer.echo(f"codekin: {_sentence(error)}", err=True)
        return EXIT_FAILED
    return 0


def _sentence(error: Exception) -> str:
    text = str(error) or type(error).__name__
    if isinstance(error, EXPECTED_ERRORS):
        return text
    return f"{type(error).__name__}: {text.rstrip('.')}. This is a defect of codekin; codekin --debug shows where."


def _show_version(is_wanted: bool) -> None:
    if is_wanted:
        typer.echo(f"codekin {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    context: typer.Context,
    debug: Annotated[bool, typer.Option("--debug", help="Show where an error arose.")] = False,
    version: Annotated[  # noqa: ARG001
        bool, typer.Option("--version", help="Show the version and leave.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    context.obj.debug = debug
