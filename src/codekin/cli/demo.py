"""``codekin demo``: random against informed assignments on embedded data, with a table, figures and a page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.table import Table

    from codekin.demo import DemoResult, Diagnoses

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
    """Compare random and informed assignments on embedded data sets, and make a page about it."""
    from rich.console import Console

    from codekin._system.threads import available_threads
    from codekin.cli.display import Display
    from codekin.demo import run_demo, run_diagnoses, write_demo
    from codekin.plots.style import require_matplotlib
    from codekin.progress import tell, telling

    require_matplotlib()  # before a minute of work, not after it
    with Display().watching():
        result = run_demo(
            n_draws=QUICK_DRAWS if quick else draws,
            is_quick=quick,
            n_jobs=n_jobs or available_threads(),
            progress=telling("fitting codes to digits and yeast"),
        )
        diagnoses = run_diagnoses(n_seeds=1 if quick else 3, progress=telling("learning the categories of diagnoses"))
        tell("figures and page")
        page = write_demo(result, diagnoses, output)
    if as_json:
        typer.echo(json.dumps({**result.as_dict(), "diagnoses": diagnoses.as_dict()}))
    else:
        console = Console()
        for dataset in result.comparisons:
            console.print(_table(result, dataset))
        console.print(_trellis_table(diagnoses))
        beyond = (
            f"width 2, learnability order, re-ranked: {diagnoses.default_accuracy:.1f}. What it makes of typed texts:"
        )
        console.print(beyond, highlight=False)
        for text, candidates in diagnoses.answers.items():
            console.print(f"[bold]{text}[/bold]", highlight=False)
            for candidate in candidates:
                console.print(f"  {candidate.probability:4.0%}  {candidate.code}  {candidate.title}", highlight=False)
        console.print(f"{result.seconds + diagnoses.seconds:.0f} seconds. The page:", highlight=False)
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


def _trellis_table(diagnoses: Diagnoses) -> Table:
    from rich.table import Table

    title = f"diagnoses, {diagnoses.n_classes} ICD-10 categories: test accuracy in percent of a trellis"
    table = Table(title=title, title_justify="left")
    for heading in ("width", "bits", "random", "preserving", "gain"):
        table.add_column(heading, justify="right")
    for trellis in diagnoses.trellises:
        means = [f"{float(values.mean()):.1f}" for values in trellis.accuracies.values()]
        table.add_row(str(trellis.width), str(trellis.n_bits), *means, f"{trellis.gain:+.1f}")
    return table
