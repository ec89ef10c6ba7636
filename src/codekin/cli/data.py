"""``codekin data``: list, download, convert and export data sets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from codekin.cli.display import Display
from codekin.cli.options import App, AsJson, DataHome, Quiet, check_sources, named, one_of, reads_tables
from codekin.data import DATASETS, FORMATS, ReadOptions, fetch, load_dataset
from codekin.data.registry import SOURCES
from codekin.data.stored_sets import data_home as home_folder
from codekin.data.writing import WRITABLE_FORMATS, convert_data, export_dataset
from codekin.progress import report, reporter

app = App(no_args_is_help=True, help="List, download, convert and export data sets.")


@app.command("list")
def list_datasets(data_home: DataHome = None, as_json: AsJson = False) -> None:
    """List the data sets that codekin knows, and show which are available."""
    rows = [
        {
            "name": name,
            "n_classes": entry.n_classes,
            "summary": entry.summary,
            "status": "embedded"
            if entry.is_embedded
            else "available"
            if entry.is_available(data_home)
            else "can be fetched"
            if entry.can_be_fetched
            else "not there",
        }
        for name, entry in DATASETS.items()
    ]
    if as_json:
        typer.echo(json.dumps(rows))
        return
    for row in rows:
        typer.echo(f"{row['name']:18}{row['n_classes']:>9,} classes  {row['status']:16}{row['summary']}")
    typer.echo(f"The data home is {home_folder(data_home)}.", err=True)


@app.command("fetch")
def fetch_dataset(
    name: Annotated[
        str, typer.Argument(parser=one_of(SOURCES), metavar="NAME", help=f"Which one: {', '.join(sorted(SOURCES))}.")
    ],
    data_home: DataHome = None,
    quiet: Quiet = False,
) -> None:
    """Download a data set from its source into the data home, and check it."""
    with Display(quiet).watching():
        report(f"fetching {name}")
        folder = fetch(
            name, data_home, progress=lambda file, done, total: report(f"fetching {file}", done, total, unit="bytes")
        )
    typer.echo(folder)


@app.command("convert")
@reads_tables("keep")
def convert(
    source: Annotated[str, typer.Argument(help="The file to read; - is the standard input.")],
    target: Annotated[str, typer.Argument(help="The file to write, .gz is compressed; - is the standard output.")],
    source_format: Annotated[str, named(("auto", *FORMATS), f"auto, {', '.join(FORMATS)}.", "--from")] = "auto",
    target_format: Annotated[
        str, named(("auto", *WRITABLE_FORMATS), f"auto, {', '.join(WRITABLE_FORMATS)}.", "--to")
    ] = "auto",
    n_features: Annotated[int | None, typer.Option(min=1, help="The number of features of the source.")] = None,
    quiet: Quiet = False,
    table: Any = None,
) -> None:
    """Convert a file to another format; auto goes by the file extensions and the first lines."""
    check_sources({"SOURCE": source}, target)
    with Display(quiet).watching(only_if_slow=True):
        n_samples = convert_data(
            source,
            target,
            source_format=source_format,
            target_format=target_format,
            n_features=n_features,
            options=ReadOptions(**table),
            progress=reporter(f"converting {source}"),
        )
    typer.echo(f"{n_samples:,} samples", err=True)


@app.command("export")
def export(
    name: Annotated[
        str, typer.Argument(parser=one_of(DATASETS), metavar="NAME", help="One of those shown by codekin data list.")
    ],
    folder: Annotated[Path, typer.Argument(help="Where to write the splits and the taxonomy.")],
    data_home: DataHome = None,
    quiet: Quiet = False,
) -> None:
    """Write a data set as files: train, validation and test, if it has them, and the taxonomy."""
    check_sources({"NAME": home_folder(data_home) / name}, folder)
    with Display(quiet).watching(only_if_slow=True):
        report(f"loading {name}")
        files = export_dataset(load_dataset(name, data_home), folder)
    for path in files:
        typer.echo(path)
