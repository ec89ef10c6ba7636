"""Pages about studies: one each, and an index of them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from codekin._system.files import whole_file
from codekin.pages import Cell, Column, Command, Page, Paragraph, Section, Table, write_page
from codekin_studies.configuration import Study, load_study, paper_studies
from codekin_studies.engine.runner import unfinished
from codekin_studies.engine.workspace import Journal, Stage, Workspace
from codekin_studies.kinds import kind_of, missing_data
from codekin_studies.page_parts import Report, Rows, enumerated, study_command
from codekin_studies.splits.dichotomies import scaling_of


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
    page = kind_of(study).page(Report(study, workspace))
    sections = [*page.sections, *_scalings(study), *_not_here(study, workspace)]
    page = replace(page, sections=sections, footer=_footer(journal))
    path = write_page(page, folder / "index.html")
    with whole_file(folder / "title.txt") as stream:
        stream.write(f"{page.title}\n{page.lead}\n".encode())
    write_index(output)
    return path


def _scalings(study: Study) -> list[Section]:
    """A section on samples that are not scaled as usual, if there are any."""
    unusual = [data["name"] for data in study.options.get("data", []) if scaling_of(data) == {"scaling": "unit_norm"}]
    if not unusual:
        return []
    names = enumerated([f"`{name}`" for name in unusual])
    text = f"Every sample of {names} is divided by its Euclidean norm. Otherwise samples are divided by one number."
    return [Section("Scaling", [Paragraph(text)])]


def _not_here(study: Study, workspace: Workspace) -> list[Section]:
    """A section on data sets that are missing or unfinished, if there are any."""
    missing, stages = missing_data(study, workspace.data_home), kind_of(study).stages
    left = {}
    for name in study.data_names:
        if name not in missing and (n_left := _n_tasks(unfinished(stages(study, [name]), workspace))):
            left[name] = f"`{name}` ({n_left} of {_n_tasks(stages(study, [name]))} tasks are left)"
    texts = []
    if missing:
        texts.append(
            f"Skipped, because the data is not available: {', '.join(f'`{name}`' for name in missing)}. "
            "`codekin data list` shows what can be fetched; give the folder with the data as `--data-home` or in the "
            "environment variable CODEKIN_DATA."
        )
    if left:
        texts.append(f"Not finished, or not begun: {', '.join(left.values())}.")
    if not texts:
        return []
    commands = [study_command("run", study.source, workspace.folder, only=name) for name in (*missing, *left)]
    return [Section("What is not here", [*map(Paragraph, texts), Command("\n".join(commands))])]


def _n_tasks(stages: list[Stage]) -> int:
    return sum(len(stage.tasks) for stage in stages)


def write_index(output: str | Path) -> Path:
    """Write the page that lists the studies that have pages."""
    folder = Path(output)
    order = {name: number for number, name in enumerate(paper_studies())}
    pages = sorted(folder.glob("*/index.html"), key=lambda page: (order.get(page.parent.name, len(order)), page))
    rows: Rows = []
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
                    Paragraph("An interrupted study continues where it stopped; nothing finished is computed again."),
                    Command("\n".join(_command(page.parent, order) for page in pages)),
                ],
            ),
        ],
    )
    return write_page(content, folder / "index.html")


def _command(folder: Path, paper: Collection[str]) -> str:
    """The command that continues the study of a folder."""
    source = folder.name if folder.name in paper else str(Workspace(folder).configuration_path)
    return study_command("run", source, folder)


def _footer(journal: Journal) -> str:
    records = list(journal.records.values())
    versions = records[-1].versions
    seeds = sorted({record.parameters["seed"] for record in records if "seed" in record.parameters})
    return (
        f"{', '.join(f'{name} {value}' for name, value in versions.items())}. "
        f"{len(records)} tasks, {sum(record.cpu_seconds for record in records):,.0f} seconds of processor time, "
        f"seed {', '.join(map(str, seeds))}. All results: journal.jsonl and arrays beside this page."
    )


def studies_with_results(output: str | Path) -> tuple[list[Study], list[Path]]:
    """The studies that have a journal in a folder: the paper's first, then others by name.

    Each study is as the copy of its configuration beside the journal describes it. The folders are those with a journal
    but without such a copy: older versions of codekin kept none.
    """
    paper = paper_studies()
    folders = sorted(
        (path.parent for path in Path(output).glob("*/journal.jsonl")),
        key=lambda folder: (paper.index(folder.name) if folder.name in paper else len(paper), folder.name),
    )
    found = {folder: _study_of(folder, paper) for folder in folders}
    return [study for study in found.values() if study], [folder for folder, study in found.items() if not study]


def _study_of(folder: Path, paper: list[str]) -> Study | None:
    copy = Workspace(folder).configuration_path
    own = load_study(str(copy)) if copy.is_file() else None
    if folder.name not in paper:
        return own
    theirs = load_study(folder.name)
    return theirs if own is None or own.text == theirs.text else own
