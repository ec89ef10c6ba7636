"""The paper's experiments as studies that can be interrupted and resumed, each with a page.

The names below are imported when they are first used: a worker that runs one task needs few of them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from codekin_studies.configuration import Study, load_study, paper_studies
    from codekin_studies.studies import StudyStatus, run_study, study_status, write_report

_HOME = {"Study": "configuration", "load_study": "configuration", "paper_studies": "configuration"}
_HOME |= {"StudyStatus": "studies", "run_study": "studies", "study_status": "studies", "write_report": "studies"}

__all__ = ["Study", "StudyStatus", "load_study", "paper_studies", "run_study", "study_status", "write_report"]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(f"codekin_studies.{_HOME[name]}"), name)
    raise AttributeError(f"module 'codekin_studies' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
