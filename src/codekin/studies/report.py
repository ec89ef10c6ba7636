"""Pages about studies: one each, and an index of them."""

from __future__ import annotations

from pathlib import Path

from codekin.files import whole_file
from codekin.pages import Cell, Column, Command, Page, Paragraph, Section, Table, write_page
from codekin.studies.configuration import Study, load_study, paper_studies
from codekin.studies.journal import Journal
from codekin.studies.kinds import kind_of, missing_data
from codekin.studies.workspace import Workspace


def write_report(study: Study, output: str | Path, *, data_home: Path | None = None) -> Path:
    """Write the figures and the page of a study, and the index of all studies beside it.

    Parameters
    ----------
    study : Study
        The study; as much of it as is finished is shown.
    output : path
        The folder that holds one folder per study.
    data_home : path, optional
        Where data sets are.

    Returns
    -------
    Path
        The page of the study.
    """
    folder = Path(output) / study.name
    workspace = Workspace(folder, data_home)
    journal = workspace.journal
    if not journal.records:
        raise ValueError(f"Nothing of the study {study.name!r} is finished. Run: codekin study run {study.source}")
    changed = [path for record in journal.records.values() for path in workspace.changed_arrays(record)]
    if changed:
        raise ValueError(
            f"{changed[0]} was changed after it was written: its checksum does not match. "
            f"codekin study run {study.source} computes it again."
        )
    page = kind_of(study).page(study, workspace, missing_data(study, data_home))
    page = Page(page.title, page.lead, page.sections, _footer(journal))
    path = write_page(page, folder / "index.html")
    with whole_file(folder / "title.txt") as stream:
        stream.write(f"{page.title}\n{page.lead}\n".encode())
    write_index(output)
    return path


def write_index(output: str | Path) -> Path:
    """Write the page that lists the studies that have pages.

    Parameters
    ----------
    output : path
        The folder that holds one folder per study.

    Returns
    -------
    Path
        The index.
    """
    folder = Path(output)
    order = {name: number for number, name in enumerate(paper_studies())}
    pages = sorted(folder.glob("*/index.html"), key=lambda page: (order.get(page.parent.name, len(order)), page))
    rows: list[list[Cell | str | float | None]] = []
    for page in pages:
        title, lead = (page.parent / "title.txt").read_text(encoding="utf-8").split("\n", 1)
        n_tasks = len(Journal(page.parent / "journal.jsonl").records)
        rows.append([Cell(f"[{title}]({page.parent.name}/index.html)", title), lead.strip(), n_tasks])
    columns = [Column("study"), Column("in short"), Column("finished tasks")]
    content = Page(
        "The paper's experiments, rerun",
        "Which codeword a class gets decides how hard the bits of an error-correcting output code are to learn. These "
        "studies rerun the experiments of Evron, Onn, Weiss Orzech, Azeroual and Soudry (AISTATS 2023).",
        [
            Section("Studies", [Table(columns, rows)]),
            Section(
                "Once more",
                [
                    Paragraph("A study that was interrupted goes on where it was; nothing finished is done again."),
                    Command("\n".join(f"codekin study run {page.parent.name}" for page in pages)),
                ],
            ),
        ],
    )
    return write_page(content, folder / "index.html")


def _footer(journal: Journal) -> str:
    records = list(journal.records.values())
    versions = records[-1].versions
    seeds = sorted({record.parameters["seed"] for record in records if "seed" in record.parameters})
    return (
        f"{', '.join(f'{name} {value}' for name, value in versions.items())}. "
        f"{len(records)} tasks, {sum(record.cpu_seconds for record in records):,.0f} seconds of processor time, "
        f"seed {', '.join(map(str, seeds))}. All results: journal.jsonl and arrays beside this page."
    )


def studies_with_results(output: str | Path) -> list[Study]:
    """The paper's studies that have a journal in a folder."""
    return [load_study(name) for name in paper_studies() if (Path(output) / name / "journal.jsonl").exists()]
