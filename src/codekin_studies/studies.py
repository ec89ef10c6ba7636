"""The kinds of studies, how a study is run, and the pages about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from codekin._system.files import whole_file
from codekin.data import DATASETS
from codekin.data.stored_sets import data_home as find_data_home
from codekin.pages.html import Cell, Command, Page, Paragraph, Section, write_page
from codekin_studies import bound, decoding, intermediate, synthetic
from codekin_studies.configuration import Study, load_study, paper_studies, path_of
from codekin_studies.engine.runner import TaskFunction, run_stages, unfinished
from codekin_studies.engine.schema import Keys
from codekin_studies.engine.workspace import Journal, Stage, Workspace
from codekin_studies.entries import placed_data
from codekin_studies.exhaustive import tasks as exhaustive
from codekin_studies.exhaustive.page import exhaustive_page
from codekin_studies.extreme import tasks as extreme
from codekin_studies.extreme.page import extreme_page
from codekin_studies.own import tasks as own
from codekin_studies.own.page import own_page
from codekin_studies.page_parts import Report, Rows, enumerated, study_command, table
from codekin_studies.robustness import tasks as robustness
from codekin_studies.robustness.page import robustness_page
from codekin_studies.splits.dichotomies import scaling_of


@dataclass(frozen=True)
class StudyKind:
    """How studies of one kind are described, run and reported.

    ``schema`` describes the configuration. ``check`` takes a study, the names of the data sets to use and the data
    home, and raises if they are not suitable; ``stages`` takes the first two. ``functions`` compute the tasks. ``page``
    writes figures and returns a page about what is finished.
    """

    schema: Keys
    check: Callable[[Study, list[str], Path | None], None]
    stages: Callable[[Study, list[str]], list[Stage]]
    functions: Mapping[str, TaskFunction]
    page: Callable[[Report], Page]


def _kind(module: Any, page: Callable[[Report], Page]) -> StudyKind:
    """The kind of study that a module describes."""
    return StudyKind(module.SCHEMA, module.check, module.stages, module.FUNCTIONS, page)


STUDY_KINDS: dict[str, StudyKind] = {
    "synthetic": _kind(synthetic, synthetic.synthetic_page),
    "exhaustive": _kind(exhaustive, exhaustive_page),
    "intermediate": _kind(intermediate, intermediate.intermediate_page),
    "extreme": _kind(extreme, extreme_page),
    "bound": _kind(bound, bound.bound_page),
    "decoding": _kind(decoding, decoding.decoding_page),
    "robustness": _kind(robustness, robustness_page),
    "own": _kind(own, own_page),
}
"""The kinds by name."""


def kind_of(study: Study) -> StudyKind:
    """The kind of a study; an error that lists all kinds if there is none of that name."""
    if study.kind not in STUDY_KINDS:
        raise ValueError(f"{study.source}: 'kind' must be one of {', '.join(STUDY_KINDS)}. Got {study.kind!r} instead.")
    return STUDY_KINDS[study.kind]


def missing_data(study: Study, data_home: Path | None = None) -> list[str]:
    """The data sets of a study that are not available."""
    files = {data["name"]: data["file"] for data in study.options.get("data", []) if "file" in data}
    return [
        name
        for name in study.data_names
        if not (path_of(study, files[name]).exists() if name in files else DATASETS[name].is_available(data_home))
    ]


@dataclass(frozen=True)
class StudyStatus:
    """The progress of a study.

    Parameters
    ----------
    n_done, n_tasks : int
        Finished tasks and all tasks, for the available data.
    missing : tuple of str
        Data sets that are not available.
    n_run : int, default=0
        How many tasks were run just now.
    stages : tuple of (str, int, int)
        Name, finished tasks and all tasks of each stage.
    """

    n_done: int
    n_tasks: int
    missing: tuple[str, ...]
    n_run: int = 0
    stages: tuple[tuple[str, int, int], ...] = ()

    @property
    def is_finished(self) -> bool:
        """Whether nothing is left to do with the available data."""
        return self.n_done == self.n_tasks


def run_study(
    study: Study,
    output: str | Path,
    *,
    only: Sequence[str] = (),
    data_home: Path | None = None,
    n_jobs: int | None = None,
) -> StudyStatus:
    """Run the unfinished tasks of a study, after checking its data and codebooks.

    Parameters
    ----------
    study : Study
        What to do.
    output : path
        The folder that holds one folder per study.
    only : sequence of str, default=()
        Names of data sets; by default all that are there.
    data_home : path, optional
        Where data sets are; by default the folder that the variable CODEKIN_DATA names.
    n_jobs : int, optional
        How many processes share the work; by default the workers of the enclosing ``joblib.parallel_config``, or one
        process per processor without one. Results do not depend on it. All of them use the same folders.

    Returns
    -------
    StudyStatus
    """
    names, missing = _data_names(study, only, data_home)
    for data, place in placed_data(study, missing) if missing else ():
        if "file" in data:
            raise FileNotFoundError(str(place.at("file").error(f"There is no file {path_of(study, data['file'])}.")))
    kind = kind_of(study)
    stages = kind.stages(study, names)
    # Relative paths, or variables of this process, would mean other folders in workers.
    home, origin = find_data_home(data_home).absolute(), study.origin if study.kind == "own" else ""
    workspace = Workspace((Path(output) / study.name).absolute(), home, study.text, origin)
    if not any(stage.tasks for stage in stages):
        return _status(stages, missing, workspace)
    if unfinished(stages, workspace):
        kind.check(study, names, data_home)
    n_run = run_stages(stages, kind.functions, workspace, n_jobs=n_jobs)
    return _status(stages, missing, workspace, n_run)


def study_status(
    study: Study, output: str | Path, *, only: Sequence[str] = (), data_home: Path | None = None
) -> StudyStatus:
    """The progress of a study.

    Parameters
    ----------
    study : Study
        The study.
    output : path
        The folder that holds one folder per study.
    only : sequence of str, default=()
        Names of data sets; by default all that are there.
    data_home : path, optional
        Where data sets are.

    Returns
    -------
    StudyStatus
    """
    names, missing = _data_names(study, only, data_home)
    return _status(kind_of(study).stages(study, names), missing, Workspace(Path(output) / study.name, data_home))


def _data_names(study: Study, only: Sequence[str], data_home: Path | None) -> tuple[list[str], list[str]]:
    """The names of the data sets to use, and of those that are missing."""
    names = study.data_names
    for name in only:
        if name not in names:
            choice = f"uses the data sets {', '.join(names)}" if names else "uses no data sets"
            raise ValueError(f"The study {study.name!r} {choice}. Got {name!r} instead.")
    missing = [name for name in missing_data(study, data_home) if not only or name in only]
    return [name for name in only or names if name not in missing], missing


def _status(stages: list[Stage], missing: list[str], workspace: Workspace, n_run: int = 0) -> StudyStatus:
    left = {stage.name: len(stage.tasks) for stage in unfinished(stages, workspace)}
    counts = tuple((stage.name, len(stage.tasks) - left.get(stage.name, 0), len(stage.tasks)) for stage in stages)
    n_tasks = sum(total for _, _, total in counts)
    return StudyStatus(sum(done for _, done, _ in counts), n_tasks, tuple(missing), n_run, counts)


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
    if not unusual or study.kind == "own":  # whose page says it for every file
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
    of_studies = {page.parent: page.parent.name for page in pages}
    sources = {one: name if name in order else Workspace(one).configuration_path for one, name in of_studies.items()}
    commands = [study_command("run", str(source), one) for one, source in sources.items()]
    continues = Paragraph("An interrupted study continues where it stopped; nothing finished is computed again.")
    content = Page(
        "The paper's experiments, rerun",
        "Which codeword a class gets decides how hard the bits of an error-correcting output code are to learn. These "
        "studies rerun the experiments of Evron, Onn, Weiss Orzech, Azeroual and Soudry (AISTATS 2023).",
        [
            Section("Studies", [table("study | in short | finished tasks", rows)]),
            Section("Once more", [continues, Command("\n".join(commands))]),
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
