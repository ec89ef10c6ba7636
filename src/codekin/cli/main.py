"""The command ``codekin``: its commands and what they share.

Results go to stdout, progress and errors to stderr. The exit code is 0 on success, 1 if the work could not be done, 2
if the command or its input was wrong, and 130 or 143 after an interruption (Ctrl-C) or SIGTERM. An error is one
sentence; ``--debug`` shows the traceback.
"""

from __future__ import annotations

import errno
import os
import re
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.models import CommandFunctionType as Command

from codekin._version import __version__
from codekin.cli.display import escaped, starting

M_MMAP_THRESHOLD = -3
"""In malloc.h. What arrays below it leave behind, up to 32 MB of each, is otherwise never given back."""
EXIT_FAILED, EXIT_WRONG = 1, 2
EXIT_INTERRUPTED, EXIT_TERMINATED = 130, 143
"""As in shells: 128 plus the number of the signal."""

# The user's input is wrong: a value, a file that does not exist or cannot be read, a name that is taken.
WRONG_INPUT = (ValueError, FileNotFoundError, FileExistsError, NotADirectoryError, IsADirectoryError, PermissionError)
# A name cannot be that of a file, for which Python has no exception class.
WRONG_PLACE = (errno.EROFS, errno.ENAMETOOLONG, errno.ELOOP)
# The input is right, but the work cannot be done: no connection, no space, no memory, a missing package.
EXPECTED_FAILURES = (OSError, MemoryError, ImportError)

RENAMED = {
    "train": {
        "--budget": "--max-model-bytes",
        "--learner": "--estimator",
        "--members": "--n-codes",
        "--n-bits": "--max-bits",
        "--n-members": "--n-codes",
        "--n-spare": "--n-reserved",
        "--spare": "--n-reserved",
    }
}
"""Old names of options, before they were named like the parameters of the estimators."""

MAX_NAME = 300
"""How many characters of a file's name are shown."""

# Clearer or more consistent words for some system errors.
REASONS = {
    errno.ENOENT: "there is no such file or folder.",
    errno.EACCES: "permission is denied.",
    errno.EPERM: "permission is denied.",
    errno.EROFS: "the file system is read-only.",
    errno.ENOSPC: "no space is left on the disk.",
    errno.EDQUOT: "the disk quota is used up.",
    errno.EFBIG: "the file would be larger than this process may write (ulimit -f).",
    errno.EISDIR: "this is a folder, not a file.",
    errno.ENOTDIR: "a part of this path is a file, not a folder.",
    errno.ENAMETOOLONG: "this name is too long for the file system.",
    errno.ELOOP: "symbolic links lead in a circle.",
}

COMMANDS = {
    "train": "Learn to classify from samples, and save the model.",
    "grow": "Train a model on further samples, also of classes that it has not seen.",
    "predict": "Predict the classes of samples.",
    "calibrate": "Calibrate the prediction sets of a model on held-out samples, and how sure it must be to answer.",
    "explain": "Show what each word or feature contributes to the score of a label.",
    "explore": "Write a page about a model: its coding matrix, classes, bits and predictions.",
    "evaluate": "Measure how good a model's predictions are, and how fast.",
    "suspects": "List samples whose labels are perhaps wrong, the most suspicious first.",
    "inspect": "Show what a model is: codebook, sizes, losses, its easiest and hardest bits.",
    "export": "Export a model for programs without codekin.",
    "serve": "Answer requests over HTTP with a model.",
    "assign": "Search for a good assignment of codewords to classes.",
    "data": "List, download, convert and export data sets.",
    "study": "Rerun the paper's experiments, and show the results.",
}
"""The commands whose modules are imported when they are called, so that ``codekin --help`` is fast."""


class _InSections:
    """Help in sections of plain text: typer's own tables leave the sentences 16 of 80 columns."""

    def format_options(self: Any, ctx: Any, formatter: Any) -> None:
        """List the arguments and options by section, and the commands of a group."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            section = getattr(parameter, "rich_help_panel", None) or f"{parameter.param_type_name.capitalize()}s"
            name, sentence = parameter.get_help_record(ctx)
            # As some versions of typer have them: a type that says too much, and brackets escaped for rich.
            record = name.replace("<int range>", "<int>"), sentence.replace("\\[", "[")
            sections.setdefault(section, []).append(record)
        for name, command in getattr(self, "commands", {}).items():
            sections.setdefault("Commands", []).append((name, command.get_short_help_str(limit=1000)))
        for section, records in sections.items():
            with formatter.section(section):
                formatter.write_dl(records, col_max=28)


class HelpCommand(_InSections, TyperCommand):
    """A command with such a help."""


class HelpGroup(_InSections, TyperGroup):
    """A group of commands with such a help."""


class App(typer.Typer):
    """A program whose commands have such a help."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**{"cls": HelpGroup, "rich_markup_mode": None, "add_completion": False} | settings)

    def command(self, name: str | None = None, **settings: Any) -> Callable[[Command], Command]:
        """Add a function as a command."""
        return super().command(name, **{"cls": HelpCommand} | settings)


class LazyGroup(HelpGroup):
    """Loads a command when it is called, and ends quietly when the reader of a pipe is gone."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Load the module of the command, and find it."""
        if args and args[0] in COMMANDS:
            args[:] = [_renamed(argument, RENAMED.get(args[0], {})) for argument in args]
            with suppress(OSError, TypeError, AttributeError):  # glibc returns freed arrays of a megabyte, without gaps
                import ctypes

                ctypes.CDLL(None).mallopt(M_MMAP_THRESHOLD, 2**20)
            is_quiet = not {"-q", "--quiet", "--help"}.isdisjoint(args)
            with nullcontext() if is_quiet else starting():
                module = import_module(f"codekin.cli.{args[0]}")
            self.commands[args[0]] = typer.main.get_command(module.app)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            result = super().invoke(ctx)
            if sys.stdout is not None:
                sys.stdout.flush()
        except BrokenPipeError:
            # As in `codekin predict ... | head`. Python would complain once more when it closes stdout.
            with suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(0) from None
        except KeyboardInterrupt as interruption:
            raise leaving(interruption, "codekin: interrupted.") from None
        return result


def _renamed(argument: str, names: dict[str, str]) -> str:
    """The current name of an option, with a note if an old name was given."""
    name, equals, value = argument.partition("=")
    if name not in names:
        return argument
    typer.echo(f"codekin: {name} is called {names[name]} now; the old name will be removed.", err=True)
    return f"{names[name]}{equals}{value}"


class Terminated(KeyboardInterrupt):
    """The process was asked to end (SIGTERM)."""


def leaving(interruption: KeyboardInterrupt, sentence: str) -> typer.Exit:
    """Print what is kept after an interruption; returns the exit with the code that shells expect."""
    typer.echo(sentence, err=True)
    return typer.Exit(EXIT_TERMINATED if isinstance(interruption, Terminated) else EXIT_INTERRUPTED)


app = App(
    name="codekin",
    cls=LazyGroup,
    help="Learn to sort texts and other samples into classes, few or very many, and predict the classes of new ones. "
    "The method is error-correcting output codes, in which similar classes get similar codewords.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def _not_loaded() -> None:
    """A placeholder in the list of commands; :class:`LazyGroup` replaces it before it is called."""


for _name, _help in COMMANDS.items():
    app.command(_name, help=_help)(_not_loaded)


@dataclass
class Session:
    """The options before the command, and the whole command line."""

    debug: bool = False
    arguments: list[str] = field(default_factory=list)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line, by default that of the process; returns the exit code."""
    arguments = sys.argv[1:] if argv is None else [str(argument) for argument in argv]
    session = Session(arguments=arguments)
    hold_closed_streams()
    try:
        with _warnings_as_sentences(), _termination_as_interruption():
            code = app(args=arguments, prog_name="codekin", obj=session, standalone_mode=False)
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else EXIT_FAILED
    except Exception as error:
        if session.debug and not _is_usage_error(error):
            raise
        typer.echo(_sentence(error), err=True)
        is_wrong = isinstance(error, WRONG_INPUT) or _is_usage_error(error)
        is_wrong |= isinstance(error, OSError) and error.errno in WRONG_PLACE
        return EXIT_WRONG if is_wrong else EXIT_FAILED
    return code if isinstance(code, int) else 0


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


@contextmanager
def _warnings_as_sentences() -> Iterator[None]:
    """Print warnings like errors: one sentence, without the line of code."""

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        typer.echo(f"codekin: {_one_line(str(message))}", err=True)

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


@contextmanager
def _termination_as_interruption() -> Iterator[None]:
    """Treat SIGTERM like Ctrl-C, so that the same clean-up is done."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def terminate(_signal: int, _frame: object) -> None:
        raise Terminated

    before = signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _is_usage_error(error: Exception) -> bool:
    """Whether typer rejected the command line. Its exception class depends on the version."""
    return hasattr(error, "format_message")


def _sentence(error: Any) -> str:
    if _is_usage_error(error):
        if type(error).__name__ == "NoArgsIsHelpError":
            return str(error.format_message())
        command = getattr(getattr(error, "ctx", None), "command_path", "codekin")
        text = _one_line(error.format_message()).rstrip(".")
        if hasattr(error.__cause__, "errors"):  # of pydantic, by which newer versions of typer check numbers
            text = f"{text.replace('Input should be', 'must be')}. Got {error.__cause__.errors()[0]['input']!r} instead"
        return f"{command}: {_ended(text)} See {command} --help."
    text = _one_line(_reason(error) or type(error).__name__)
    if isinstance(error, WRONG_INPUT + EXPECTED_FAILURES):
        return f"codekin: {_ended(text)}"
    text = f"{type(error).__name__}: {text.rstrip('.')}"
    return f"codekin: {text}. This is a bug in codekin; codekin --debug shows where."


def _reason(error: Exception) -> str:
    """What is wrong; for system errors the file and the reason, without the number."""
    if isinstance(error, MemoryError) and not str(error):
        return "There is not enough memory. codekin train --max-memory trains on samples that stay on disk."
    if not isinstance(error, OSError) or error.errno is None or error.strerror is None:
        return str(error)
    reason = REASONS.get(error.errno, f"{error.strerror[:1].lower()}{error.strerror[1:]}.")
    return reason[:1].upper() + reason[1:] if error.filename is None else f"{_shown_name(error)}: {reason}"


def _shown_name(error: OSError) -> str:
    """The file name; for a file written under a hidden name, its final name."""
    name = re.sub(r"[/\\]\.\.[0-9a-f]{8}\.partial", "", os.fsdecode(error.filename))
    name = re.sub(r"(^|[/\\])\.([^/\\]+)\.[0-9a-f]{8}\.partial", r"\1\2", name)
    return name if len(name) <= MAX_NAME else f"{name[:MAX_NAME]}..."


def _ended(text: str) -> str:
    return text if text.endswith((".", "?", "!")) else f"{text}."


def _one_line(text: str) -> str:
    return escaped(" ".join(text.split()))


def _show_version(is_wanted: bool) -> None:
    if is_wanted:
        typer.echo(f"codekin {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    context: typer.Context,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    version: Annotated[  # noqa: ARG001
        bool, typer.Option("--version", help="Show the version and exit.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    context.obj.debug = debug
