"""What several commands share: the kind of app, and options."""

from __future__ import annotations

from typing import Annotated

import typer

from codekin.cli.help import App as App  # noqa: PLC0414
from codekin.cli.values import named
from codekin.datasets import FORMATS

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
    str,
    named(
        ("error", "first", "drop"),
        "What to do with samples that have several labels: error, first or drop.",
        rich_help_panel=READING,
    ),
]
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
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]
RandomState = Annotated[int, typer.Option(min=0, help="The seed; the same data and options give the same result.")]
