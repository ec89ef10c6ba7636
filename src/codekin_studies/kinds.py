"""The kinds of studies, and how a study of any kind is run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from codekin.datasets import DATASETS
from codekin.datasets.home import data_home as find_data_home
from codekin.pages import Page
from codekin_studies import bound, decoding, intermediate, synthetic
from codekin_studies.configuration import Study
from codekin_studies.engine.runner import TaskFunction, run_stages, unfinished
from codekin_studies.engine.schema import Keys
from codekin_studies.engine.workspace import Stage, Workspace
from codekin_studies.exhaustive import tasks as exhaustive
from codekin_studies.exhaustive.page import exhaustive_page
from codekin_studies.extreme import tasks as extreme
from codekin_studies.extreme.page import extreme_page
from codekin_studies.page_parts import Report
from codekin_studies.robustness import tasks as robustness
from codekin_studies.robustness.page import robustness_page


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
}
"""The kinds by name."""


def kind_of(study: Study) -> StudyKind:
    """The kind of a study; an error that lists all kinds if there is none of that name."""
    if study.kind not in STUDY_KINDS:
        raise ValueError(f"{study.source}: 'kind' must be one of {', '.join(STUDY_KINDS)}. Got {study.kind!r} instead.")
    return STUDY_KINDS[study.kind]


def missing_data(study: Study, data_home: Path | None = None) -> list[str]:
    """The data sets of a study that are not available."""
    return [name for name in study.data_names if not DATASETS[name].is_available(data_home)]


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
    kind = kind_of(study)
    stages = kind.stages(study, names)
    # Relative paths, or variables of this process, would mean other folders in workers.
    workspace = Workspace((Path(output) / study.name).absolute(), find_data_home(data_home).absolute(), study.text)
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
