"""``codekin study``: run, resume and show the paper's experiments."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from math import factorial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from codekin._system.parallel import workers
from codekin.cli.display import Display
from codekin.cli.main import leaving
from codekin.cli.options import App, AsJson, DataHome, Quiet, Scheduler
from codekin.progress import report as report_progress
from codekin.progress import stage

if TYPE_CHECKING:
    from codekin_studies import StudyStatus

app = App(no_args_is_help=True, help="Rerun the paper's experiments, and show the results.")

Name = Annotated[str, typer.Argument(metavar="STUDY", help="A study from codekin study list, or a TOML file.")]
Output = Annotated[
    Path, typer.Option("--output", "-o", metavar="FOLDER", help="The folder that holds one folder per study.")
]
Only = Annotated[
    list[str] | None, typer.Option(metavar="NAME", help="Use only this data set; may be given several times.")
]
OUTPUT = Path("out/studies")


@app.command("list")
def list_studies(output: Output = OUTPUT, data_home: DataHome = None, as_json: AsJson = False) -> None:
    """List the paper's studies and those in the output folder, with their progress."""
    from codekin_studies import load_study, paper_studies, study_status
    from codekin_studies.studies import studies_with_results

    found, unknown = studies_with_results(output)
    studies = {name: load_study(name) for name in paper_studies()} | {study.name: study for study in found}
    rows = []
    for name, study in studies.items():
        status = study_status(study, output, data_home=data_home)
        rows.append({"name": name, "title": study.title, **_as_dict(status)})
    _note_unknown(unknown)
    if as_json:
        typer.echo(json.dumps(rows))
        return
    for row in rows:
        absent = f" (no data: {', '.join(row['missing'])})" if row["missing"] else ""
        typer.echo(f"{row['name']:14}{row['n_done']:>5} of {row['n_tasks']:<5}{row['title']}{absent}")


@app.command("run")
def run(
    name: Name,
    output: Output = OUTPUT,
    only: Only = None,
    data_home: DataHome = None,
    n_jobs: Annotated[
        int | None, typer.Option(min=1, help="How many processes share the work; by default one per processor.")
    ] = None,
    scheduler: Scheduler = None,
    report: Annotated[bool, typer.Option(help="Write the page afterwards.")] = True,
    trust: Annotated[
        list[str] | None,
        typer.Option(metavar="PACKAGE", help="Import learners of this package, too; may be given several times."),
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Run the unfinished tasks of a study, and write its page."""
    from codekin.plots.style import require_matplotlib
    from codekin_studies import load_study, run_study, write_report

    if report:
        require_matplotlib()  # before the work, not after it
    study = replace(load_study(name), trusted=tuple(trust or ()))
    page = None
    with (
        workers(n_jobs, scheduler),
        _interruptible(output / study.name),
        Display(quiet).watching(),
        stage(f"study {study.name}"),
    ):
        status = run_study(study, output, only=only or (), data_home=data_home, n_jobs=n_jobs)
        if report and status.n_done:
            report_progress("figures and page")
            page = write_report(study, output, data_home=data_home)
    if as_json:
        typer.echo(json.dumps({**_as_dict(status), "page": None if page is None else str(page)}))
        return
    _print_status(study.name, status, n_run=status.n_run)
    if page is not None:
        typer.echo(page)


@app.command("new")
def new(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="Samples with classes: a CSV, npz, Parquet or svmlight file.")
    ],
    label: Annotated[str | None, typer.Option(metavar="COLUMN", help="The column of the classes.")] = None,
    to: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where to write it; by default beside the samples, as .toml.")
    ] = None,
) -> None:
    """Write a commented configuration that studies your own data."""
    from codekin._system.files import whole_file
    from codekin_studies.own.new import new_configuration

    target = file.with_suffix(".toml") if to is None else to
    if target.exists():
        raise FileExistsError(f"{target} exists already. Give another name with --to.")
    text = new_configuration(file, folder=target.parent, label=label)
    with whole_file(target) as stream:
        stream.write(text.encode())
    typer.echo(f"{target}: change what you like, then run\ncodekin study run {target}")


@app.command("status")
def status(
    name: Name, output: Output = OUTPUT, only: Only = None, data_home: DataHome = None, as_json: AsJson = False
) -> None:
    """Show the progress of a study."""
    from codekin_studies import load_study, study_status

    study = load_study(name)
    found = study_status(study, output, only=only or (), data_home=data_home)
    if as_json:
        typer.echo(json.dumps(_as_dict(found)))
        return
    for of_stage, n_done, n_tasks in found.stages:
        typer.echo(f"{of_stage:32}{n_done:>5} of {n_tasks}")
    _print_status(study.name, found)


@app.command("report")
def report(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[STUDY]...", help="Which studies; by default all with results.")
    ] = None,
    output: Output = OUTPUT,
    data_home: DataHome = None,
    quiet: Quiet = False,
) -> None:
    """Write the pages and figures of studies, and an index."""
    from codekin_studies import load_study, write_report
    from codekin_studies.studies import studies_with_results

    unknown: list[Path] = []
    if names:
        studies = [load_study(name) for name in names]
    else:
        studies, unknown = studies_with_results(output)
    _note_unknown(unknown)
    if not studies and not unknown:
        raise ValueError(f"There are no results in {output}. Run a study first: codekin study run exhaustive")
    pages = []
    with Display(quiet).watching():
        for study in studies:
            report_progress(f"study {study.name}: figures and page")
            pages.append(write_report(study, output, data_home=data_home))
    for page in pages:
        typer.echo(page)
    if studies:
        typer.echo(output / "index.html")


@app.command("show")
def show(
    name: Name,
    data: Annotated[str, typer.Option(metavar="NAME", help="The data set.")],
    codebook: Annotated[str, typer.Option(metavar="NAME", help="The codebook, as the study names it.")],
    assignment: Annotated[
        str | None,
        typer.Option(metavar="3,1,4,...", help="The codeword of each class, from 0; by default the best assignment."),
    ] = None,
    output: Output = OUTPUT,
    data_home: DataHome = None,
    as_json: AsJson = False,
) -> None:
    """Look up one of the assignments that a study has tested."""
    from codekin.assignments.exact import nth_assignment
    from codekin_studies import load_study
    from codekin_studies.engine.workspace import Workspace
    from codekin_studies.exhaustive import tasks as exhaustive
    from codekin_studies.own import tasks as own

    study = load_study(name)
    kinds = {"exhaustive": exhaustive.load_sweep, "own": own.load_sweep}
    if study.kind not in kinds:
        raise ValueError(
            "Assignments are looked up in studies of the kind 'exhaustive' or 'own'. The study "
            f"{study.name!r} is of the kind {study.kind!r}."
        )
    sweep = kinds[study.kind](study, data, codebook, Workspace(output / study.name, data_home))
    n = sweep.codebook.n_codewords
    order = nth_assignment(sweep.best_rank, n, n).tolist() if assignment is None else _numbers(assignment)
    found = {"assignment": order, **sweep.lookup(order)}
    if as_json:
        typer.echo(json.dumps(found))
        return
    for class_name, codeword in zip(sweep.class_names, order, strict=True):
        bits = "".join("+" if bit > 0 else "-" for bit in sweep.codebook.matrix[codeword])
        typer.echo(f"{class_name:12}{codeword:>4}  {bits}")
    typer.echo(f"accuracy {found['accuracy']:.2f} %, {found['n_correct']} of {found['n_test']} test samples")
    typer.echo(
        f"of {factorial(n):,} assignments {found['n_less_accurate']:,} are less accurate, "
        f"{found['n_more_accurate']:,} more accurate"
    )
    typer.echo(f"average binary training loss {found['loss']:.6f}")
    typer.echo(f"class-codeword scores: confusion {found['confusion']:.6f}, means {found['means']:.6f}")
    typer.echo(f"squared error predicted by learnability {found['learnability']:.6f}")


@contextmanager
def _interruptible(folder: Path) -> Iterator[None]:
    """On Ctrl-C or SIGTERM, say what is kept and how to continue."""
    try:
        yield
    except KeyboardInterrupt as interruption:
        sentence = f"codekin: interrupted; finished work is in {folder}. The same command continues."
        raise leaving(interruption, sentence) from None


def _numbers(text: str) -> list[int]:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() for part in parts):
        raise ValueError(f"'--assignment' must be whole numbers separated by commas. Got {text!r} instead.")
    return [int(part) for part in parts]


def _as_dict(status: StudyStatus) -> dict[str, Any]:
    return {"n_done": status.n_done, "n_tasks": status.n_tasks, "n_run": status.n_run, "missing": list(status.missing)}


def _note_unknown(folders: list[Path]) -> None:
    """Print which results cannot be shown without their configuration file."""
    for folder in folders:
        command = f"codekin study report {folder.name}.toml --output {folder.parent}"
        typer.echo(f"codekin: {folder} has results but not their configuration; give its file: {command}", err=True)


def _print_status(name: str, status: StudyStatus, *, n_run: int | None = None) -> None:
    """Print what is missing, what is finished and, after a run, how much of it is new."""
    for missing in status.missing:
        typer.echo(f"codekin: skipped {missing}, which is not in the data home (see codekin data list).", err=True)
    if not status.n_tasks:
        typer.echo(f"{name}: there is nothing to do, since none of its data is available.")
        return
    news = "" if n_run is None else f", {n_run} of them just now"
    typer.echo(f"{name}: {status.n_done} of {status.n_tasks} tasks are finished{news}.")
