"""What several commands share: the kind of app, options with the parsers of their values, and checks of options."""

from __future__ import annotations

import inspect
import os
import stat
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from numbers import Integral
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from codekin._system.memory import in_bytes
from codekin._system.messages import Need, Spelled, suggestion
from codekin.cli.main import App as App  # noqa: PLC0414
from codekin.data import FORMATS

if TYPE_CHECKING:
    from codekin.fitting.setting import Numbers, Setting


def option(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The parser of an option: what ``read`` raises is an error of the command line."""

    @wraps(read)
    def parse(given: Any) -> Any:
        try:
            return read(given)
        except ValueError as error:
            raise typer.BadParameter(str(error)) from error

    return parse


def one_of(choices: Iterable[str]) -> Callable[[str], str]:
    """Accepts the names of a table."""
    names = list(choices)

    @option
    def parse(text: str) -> str:
        if text not in names:
            hint = suggestion(text, names)
            raise ValueError(f"must be one of {', '.join(names)}. Got {text!r} instead.{hint}")
        return text

    return parse


def named(names: Iterable[str], help: str, *declarations: str, **settings: Any) -> Any:
    """An option whose value is one of some names."""
    return typer.Option(*declarations, parser=one_of(names), metavar="NAME", help=help, **settings)


@option
def size(text: str) -> int:
    """A number of bytes, with or without a unit."""
    n_bytes = in_bytes(str(text))
    if n_bytes < 1:
        raise ValueError(f"a size must be at least one byte. Got {text!r} instead.")
    return n_bytes


def reader_of(setting: Setting) -> Callable[[Any], Any]:
    """Accepts the values of a setting; "none" is None, where that is not the default."""
    has_none = setting.is_optional and setting.default is not None
    words = [*setting.names[:1], *(["none"] if has_none else []), *setting.names[1:]]
    if setting.is_size:
        return size
    numbers = setting.numbers
    if numbers is None:
        return lambda text: None if one_of(words)(text) == "none" and has_none else text
    quoted = "".join(f"{word!r}{', ' if word != words[-1] else ' or '}" for word in words)

    @option
    def read(text: Any) -> Any:
        if text in words:
            return None if text == "none" else text
        number = _number(str(text), is_whole=numbers.type is Integral)
        if number is None or number not in numbers:
            raise ValueError(f"must be {quoted}{_in_words(numbers)}. Got {text!r} instead.")
        return number

    return read


def _number(text: str, *, is_whole: bool) -> int | float | None:
    if is_whole:
        return int(text) if text.isdecimal() else None
    number = number_of(text)
    return number if number is not None and number < float("inf") else None


def number_of(text: str) -> float | None:
    """The number that a text stands for; None if it is none."""
    try:
        return float(text)
    except ValueError:
        return None


def _in_words(numbers: Numbers) -> str:
    if numbers.type is Integral:
        return f"a whole number of at least {numbers.left}"
    return f"a number above {numbers.left}" if numbers.right is None else f"a number from {numbers.left} to 1"


@option
def positive_number(text: str) -> float:
    """A number above 0."""
    number = _number(str(text), is_whole=False)
    if number is None or number <= 0:
        raise ValueError(f"must be a number above 0. Got {text!r} instead.")
    return number


@option
def two_numbers(text: str) -> tuple[int, int]:
    """From and to, separated by a comma or a hyphen; a single number means both."""
    parts = str(text).replace("-", ",").split(",")
    low, high = (int(parts[k]) if parts[k].isdecimal() else 0 for k in (0, -1))
    if len(parts) > 2 or not 1 <= low <= high:
        rule = "one or two whole numbers from 1 on, the smaller one first, like 1,2"
        raise ValueError(f"must be {rule}. Got {text!r} instead.")
    return low, high


@option
def file_or_share(text: str) -> str | float:
    """The name of a file, or a share of the samples such as 10%."""
    share = number_of(text.removesuffix("%"))
    if not str(text).endswith("%"):
        if share is not None and 0 < share < 1 and not Path(text).exists():
            raise ValueError(f"must be a file, or a share such as 10%. Got {text!r}; say {100 * share:g}%.")
        return text
    if share is None or not 0 < share < 100:
        raise ValueError(f"must be a file, or a share above 0% and below 100%. Got {text!r} instead.")
    return share / 100


READING = "Reading"

Format = Annotated[
    str,
    named(("auto", *FORMATS), f"The format of the data: auto, {', '.join(FORMATS)}.", rich_help_panel=READING),
]
IndexBase = Annotated[
    int | None,
    typer.Option(
        min=0, max=1, show_default="auto", rich_help_panel=READING, help="The index of the first feature, 0 or 1."
    ),
]
Multilabel = Annotated[
    str | None,
    named(
        ("error", "first", "drop", "all"),
        "What to do with samples that have several labels: error, first or drop; all reads all of them.",
        show_default="error",
        rich_help_panel=READING,
    ),
]
LabelSeparator = Annotated[
    str | None,
    typer.Option(
        metavar="CHARACTERS",
        show_default="none",
        rich_help_panel=READING,
        help="What separates the labels of a sample in a table or in lines of label and text, such as a comma.",
    ),
]
TABLES = "Tables"


@option
def column_names(text: str) -> tuple[str, ...]:
    """Names or numbers of columns, separated by commas."""
    names = tuple(name.strip() for name in str(text).split(","))
    if not all(names):
        raise ValueError(f"must be names of columns, separated by commas. Got {text!r} instead.")
    return names


LabelColumn = Annotated[
    str | None,
    typer.Option(
        "--label",
        metavar="COLUMN",
        show_default="the column that is called label, category, class, ...",
        rich_help_panel=TABLES,
        help="The column of a table that has the labels: its name or its number.",
    ),
]
TextColumns = Annotated[
    Any,
    typer.Option(
        "--text",
        parser=column_names,
        metavar="COLUMNS",
        show_default="the column that is called text, title, description, ...",
        rich_help_panel=TABLES,
        help="The columns of a table that have the texts, separated by commas; codekin train also takes weights, as in "
        "title:2,description.",
    ),
]


def _further_columns(option: str, help: str, metavar: str = "COLUMNS") -> Any:
    how: dict[str, Any] = {"metavar": metavar, "show_default": "none", "rich_help_panel": TABLES, "help": help}
    return Annotated[Any, typer.Option(option, parser=column_names, **how)]


NumberColumns = _further_columns("--numbers", "Further columns to use: numbers, separated by commas.")
CategoryColumns = _further_columns("--categories", "Further columns to use: categories, separated by commas.")
EmbeddingColumns = _further_columns(
    "--embeddings",
    "Vectors to use beside the texts: columns of lists of numbers, or a file with a vector for each row, vectors.npy, "
    "vectors.npz or vectors.npz:NAME. --text none leaves texts out.",
    "COLUMNS or FILE",
)
KeptColumns = _further_columns("--keep", "Columns of the table to write before the label, as CSV with a header.")
HasHeader = Annotated[
    bool | None,
    typer.Option(
        "--header/--no-header",
        show_default="found",
        rich_help_panel=TABLES,
        help="Whether the first row of a CSV or TSV file has the names of the columns.",
    ),
]
Delimiter = Annotated[
    str | None,
    typer.Option(
        metavar="CHARACTER",
        show_default="found",
        rich_help_panel=TABLES,
        help="What separates the columns of a CSV file; tab for a tab.",
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        show_default="UTF-8, or UTF-16 with a byte order mark",
        rich_help_panel=TABLES,
        help="The encoding of a text file, such as latin-1.",
    ),
]
_LEAVING_OUT = "What to do with samples without a label: error, or drop, which leaves them out."
MissingLabels = Annotated[
    str | None, named(("error", "drop"), _LEAVING_OUT, show_default="error", rich_help_panel=READING)
]
_READING_OPTIONS: dict[str, tuple[Any, Any]] = {
    "format": (Format, "auto"),
    "index_base": (IndexBase, None),
    "multilabel": (Multilabel, None),
    "label_separator": (LabelSeparator, None),
}
TABLE_OPTIONS: dict[str, tuple[Any, Any]] = {
    "label": (LabelColumn, None),
    "text": (TextColumns, None),
    "numbers": (NumberColumns, None),
    "categories": (CategoryColumns, None),
    "embeddings": (EmbeddingColumns, None),
    "header": (HasHeader, None),
    "delimiter": (Delimiter, None),
    "encoding": (Encoding, None),
    "missing_labels": (MissingLabels, None),
}
Decorator = Callable[[Callable[..., None]], Callable[..., None]]


def reads_tables() -> Decorator:
    """Give a command the options of tables; it takes those that were given as ``table``, for :class:`ReadOptions`."""
    return _with_options("table", TABLE_OPTIONS)


def reads_samples(*left_out: str) -> Decorator:
    """Give a command all options of reading; it takes them as ``reading``, for :meth:`LoadedModel.samples`."""
    options = {**_READING_OPTIONS, **TABLE_OPTIONS}
    return _with_options("reading", {name: each for name, each in options.items() if name not in left_out})


def _with_options(taken_as: str, chosen: Mapping[str, tuple[Any, Any]]) -> Decorator:
    """Give a command options with defaults; it takes those that were given as one mapping."""

    def decorated(command: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(command, eval_str=True)
        own = [
            each.replace(kind=each.KEYWORD_ONLY)
            for each in signature.parameters.values()
            if each.name != taken_as and each.kind is not each.VAR_KEYWORD
        ]
        further = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
            for name, (kind, default) in chosen.items()
        ]

        @wraps(command)
        def with_mapping(**given: Any) -> None:
            taken = {name: value for name in chosen if (value := given.pop(name)) is not None}
            if taken.get("delimiter") == "tab":
                taken["delimiter"] = "\t"
            command(**given, **{taken_as: taken})

        with_mapping.__signature__ = signature.replace(parameters=[*own, *further])  # type: ignore[attr-defined]
        return with_mapping

    return decorated


Taxonomy = Annotated[
    str | None, typer.Option(metavar="FILE", help="A tree of the classes: lines of `parent child`, or paths.")
]
TaxonomyLayout = Annotated[
    str,
    named(("edges", "paths"), "What a line of the taxonomy is: an edge, or a path from the root to a leaf."),
]
NThreads = Annotated[
    int | None,
    typer.Option(min=1, show_default="all processors", help="The number of threads. Results do not depend on it."),
]
NJobs = Annotated[
    int | None,
    typer.Option(
        min=-1,
        show_default="none but this process",
        help="How many worker processes share the bits that arow learns, the nodes of label trees and the restarts of "
        "searches; -1 for one per processor. Results do not depend on it.",
    ),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="The scheduler of a Dask cluster, such as tcp://host:8786, whose workers share that work.",
    ),
]
Trust = Annotated[bool, typer.Option("--trust", help="Load learners.skops, too, which can run anything.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
ToFile = Annotated[
    str, typer.Option("--output", "-o", metavar="FILE", help="Where to write; - is the standard output.")
]
DataHome = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER",
        show_default="$CODEKIN_DATA, or codekin in the user's cache folder",
        help="The folder that holds one folder per data set.",
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]
RandomState = Annotated[int, typer.Option(min=0, help="The seed; the same data and options give the same result.")]

TAXONOMY_NEEDS = {"taxonomy_layout": (Need("--taxonomy FILE", lambda given: given.taxonomy is not None),)}


def check_needs(context: typer.Context, needs: Mapping[str, Iterable[Need]], **known: Any) -> None:
    """Raise if an option was given without what it needs; ``known`` overrides values of the command line."""
    values, options = {**context.params, **known}, {each.name: each.opts[0] for each in context.command.params}
    for option, every in needs.items():
        if getattr(context.get_parameter_source(option), "name", "DEFAULT") == "DEFAULT":
            continue
        for need in every:
            if not need.is_met(SimpleNamespace(**values)):
                names = {name: _spelled(options.get(name, name), value) for name, value in values.items()}
                given = _spelled(options[option], context.params[option]).given
                raise ValueError(f"{given} needs {need.what.format(**names)}.")


def _spelled(option: str, value: Any) -> Spelled:
    """The option as it may have been typed."""
    if isinstance(value, bool):
        return Spelled(option, option, value)
    shown = ",".join(map(str, value)) if isinstance(value, tuple) else "none" if value is None else value
    return Spelled(option, f"{option} {shown}", value)


def check_sources(sources: Mapping[str, Any], output: Any = None) -> None:
    """Raise if two of the named sources are the standard input, or if the output would replace one of them."""
    names = [name for name, source in sources.items() if str(source) == "-"]
    if len(names) > 1:
        raise ValueError(f"The standard input can be read only once. Got - for {' and for '.join(names)}.")
    for name, source in sources.items():
        if not _files(output, 1).isdisjoint(_files(source, 0)):
            raise ValueError(f"Writing {output} would replace an input, {name} {source}. Choose another output.")


def _files(path: Any, stream: int) -> set[tuple[int, int]]:
    """The identities of a file or of a folder and its files, whatever they are called; ``-`` is a standard stream."""
    try:
        place = Path(path)
        found = [os.fstat(stream) if str(path) == "-" else place.stat()]
        found += [each.stat() for each in place.iterdir()] if place.is_dir() else []
    except (OSError, TypeError):  # there is none as yet, or no path
        return set()
    return {(one.st_dev, one.st_ino) for one in found if stat.S_ISREG(one.st_mode) or stat.S_ISDIR(one.st_mode)}
