"""The kinds of studies: what each has to do, and how its page is made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from codekin.datasets import DATASETS
from codekin.pages import Page
from codekin.studies import bound, exhaustive, extreme, intermediate, synthetic
from codekin.studies.bound_page import bound_page
from codekin.studies.configuration import Study
from codekin.studies.exhaustive_page import exhaustive_page
from codekin.studies.extreme_page import extreme_page
from codekin.studies.intermediate_page import intermediate_page
from codekin.studies.runner import TaskFunction
from codekin.studies.synthetic_page import synthetic_page
from codekin.studies.tasks import Stage
from codekin.studies.workspace import Workspace


@dataclass(frozen=True)
class StudyKind:
    """How studies of one kind are run and told.

    Parameters
    ----------
    stages : callable
        Takes the study and the names of the data sets to use; returns its stages.
    functions : mapping from str to callable
        What its tasks compute.
    page : callable
        Takes the study, its workspace and the names of missing data sets; writes figures and returns a page.
    data_names : callable, optional
        Takes the study; returns the names of its data sets.
    """

    stages: Callable[[Study, list[str]], list[Stage]]
    functions: Mapping[str, TaskFunction]
    page: Callable[[Study, Workspace, list[str]], Page]
    data_names: Callable[[Study], list[str]] = lambda _: []


def _listed(study: Study) -> list[str]:
    return list(dict.fromkeys(data["name"] for data in study.option("data")))


STUDY_KINDS: dict[str, StudyKind] = {
    "synthetic": StudyKind(synthetic.stages, synthetic.FUNCTIONS, synthetic_page),
    "exhaustive": StudyKind(exhaustive.stages, exhaustive.FUNCTIONS, exhaustive_page, _listed),
    "intermediate": StudyKind(intermediate.stages, intermediate.FUNCTIONS, intermediate_page, _listed),
    "extreme": StudyKind(extreme.stages, extreme.FUNCTIONS, extreme_page, _listed),
    "bound": StudyKind(bound.stages, bound.FUNCTIONS, bound_page, _listed),
}
"""Name -> kind."""


def kind_of(study: Study) -> StudyKind:
    """The kind of a study; an error that lists all kinds where there is none of that name."""
    if study.kind not in STUDY_KINDS:
        raise ValueError(f"{study.source}: 'kind' must be one of {', '.join(STUDY_KINDS)}. Got {study.kind!r} instead.")
    return STUDY_KINDS[study.kind]


def missing_data(study: Study, data_home: Path | None = None) -> list[str]:
    """The data sets of a study that are not there.

    Parameters
    ----------
    study : Study
        The study.
    data_home : path, optional
        Where to look; see :func:`codekin.datasets.data_home`.

    Returns
    -------
    list of str
    """
    names = kind_of(study).data_names(study)
    unknown = [name for name in names if name not in DATASETS]
    if unknown:
        raise ValueError(f"{study.source}: the data sets are {', '.join(DATASETS)}. Got {unknown[0]!r} instead.")
    return [name for name in names if not DATASETS[name].is_available(data_home)]
