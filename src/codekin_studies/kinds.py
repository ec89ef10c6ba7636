"""The kinds of studies: their tasks and their pages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from codekin.datasets import DATASETS
from codekin.pages import Page
from codekin_studies.bound import tasks as bound
from codekin_studies.bound.page import bound_page
from codekin_studies.configuration import Study
from codekin_studies.decoding import tasks as decoding
from codekin_studies.decoding.page import decoding_page
from codekin_studies.engine.runner import TaskFunction
from codekin_studies.engine.schema import Table
from codekin_studies.engine.task import Stage
from codekin_studies.engine.workspace import Workspace
from codekin_studies.exhaustive import tasks as exhaustive
from codekin_studies.exhaustive.page import exhaustive_page
from codekin_studies.extreme import tasks as extreme
from codekin_studies.extreme.page import extreme_page
from codekin_studies.intermediate import tasks as intermediate
from codekin_studies.intermediate.page import intermediate_page
from codekin_studies.robustness import tasks as robustness
from codekin_studies.robustness.page import robustness_page
from codekin_studies.synthetic import tasks as synthetic
from codekin_studies.synthetic.page import synthetic_page


@dataclass(frozen=True)
class StudyKind:
    """How studies of one kind are described, run and reported.

    ``schema`` describes the configuration. ``check`` takes a study, the names of the data sets to use and the data
    home, and raises if they are not suitable; ``stages`` takes the first two. ``functions`` compute the tasks. ``page``
    writes figures and returns a page about what is finished.
    """

    schema: Table
    check: Callable[[Study, list[str], Path | None], None]
    stages: Callable[[Study, list[str]], list[Stage]]
    functions: Mapping[str, TaskFunction]
    page: Callable[[Study, Workspace], Page]


def _kind(module: Any, page: Callable[[Study, Workspace], Page]) -> StudyKind:
    """The kind of study that a module describes."""
    return StudyKind(module.SCHEMA, module.check, module.stages, module.FUNCTIONS, page)


STUDY_KINDS: dict[str, StudyKind] = {
    "synthetic": _kind(synthetic, synthetic_page),
    "exhaustive": _kind(exhaustive, exhaustive_page),
    "intermediate": _kind(intermediate, intermediate_page),
    "extreme": _kind(extreme, extreme_page),
    "bound": _kind(bound, bound_page),
    "decoding": _kind(decoding, decoding_page),
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
