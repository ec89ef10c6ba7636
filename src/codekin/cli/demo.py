"""``codekin demo``: random against informed assignments on embedded data, with a table, figures and a page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.table import Table

    from codekin.demo import DemoResult

QUICK_DRAWS = 2


def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder for the page and the figures.")] = Path(
        "out/demo"
    ),
    draws: Annotated[int, typer.Option(min=2, help="How many splits and codebooks to average over.")] = 12,
    quick: Annotated[bool, typer.Option("--quick", help="Two draws of two codebooks: does it work at all?")] = False,
    n_jobs: Annotated[
        int | None, typer.Option(min=1, help="How many processes share the work; by default one per processor.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the numbers as JSON instead of a table.")] = False,
) -> None:
    """Compare random and informed assignments on two small data sets, and make a page about it."""
    from rich.console import Console
    from rich.progress import Progress

    from codekin.demo import run_demo, write_demo
    from codekin.plots.style import require_matplotlib
    from codekin.threads import available_threads

    require_matplotlib()  # before a minute of work, not after it
    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("fitting codes to digits and yeast", total=None)
        result = run_demo(
            n_draws=QUICK_DRAWS if quick else draws,
            is_quick=quick,
            n_jobs=n_jobs or available_threads(),
            progress=lambda done, total: bar.update(task, completed=done, total=total),
        )
    page = write_demo(result, output)
    if as_json:
        typer.echo(json.dumps(result.as_dict()))
    else:
        console = Console()
        for dataset in result.comparisons:
            console.print(_table(result, dataset))
        console.print(f"{result.seconds:.0f} seconds. The page:", highlight=False)
        typer.echo(page)


def _table(result: DemoResult, dataset: str) -> Table:
    from rich.table import Table

    table = Table(title=f"{dataset}: test accuracy in percent, {result.n_draws} draws", title_justify="left")
    table.add_column("codebook")
    for heading in ("bits", "random", "preserving", "gain"):
        table.add_column(heading, justify="right")
    for comparison in result.comparisons[dataset]:
        gain = comparison.gain("preserving")
        name = comparison.codebook + (" (equidistant)" if comparison.codebook in result.equidistant else "")
        table.add_row(
            name,
            str(comparison.n_bits),
            str(comparison.mean("random")),
            str(comparison.mean("preserving")),
            f"{gain:+}",
            style="bold" if gain.is_positive else "",
        )
    return table
