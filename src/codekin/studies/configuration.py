"""What a study is to do: a TOML file, from the package or the user's own."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

PAPER = "evron2023"
"""The folder of the paper's studies."""

NUMBERS = {
    *("seed", "number", "n_per_class", "angles", "offset", "gap", "C", "one_vs_rest_C"),
    *("n_assignments", "splits_per_task", "n_runs", "n_test"),
}
"""The options that are numbers, or lists of them, in whatever study they are."""


@dataclass(frozen=True)
class Study:
    """A study, as its file describes it.

    Parameters
    ----------
    name : str
        The name of the file without its ending.
    kind : str
        A name from ``STUDY_KINDS``.
    title : str
        In a few words.
    options : mapping
        What the kind of study needs to know.
    source : str
        What ``codekin study run`` calls it: the name of one of the paper's studies, or a path.
    """

    name: str
    kind: str
    title: str
    options: Mapping[str, Any] = field(repr=False)
    source: str = ""

    def option(self, name: str) -> Any:
        """One of the options; an error that names the study where it is missing."""
        if name not in self.options:
            raise ValueError(f"The study {self.name!r} must say {name!r}. It has {', '.join(self.options)}.")
        return self.options[name]


def paper_studies() -> list[str]:
    """The names of the paper's studies, in the order of their numbers."""
    folder = resources.files("codekin.studies") / PAPER
    found = [load_study(path.name.removesuffix(".toml")) for path in folder.iterdir() if path.name.endswith(".toml")]
    return [study.name for study in sorted(found, key=lambda study: (study.options.get("number", 99), study.name))]


def load_study(name: str) -> Study:
    """A study by name or by path.

    Parameters
    ----------
    name : str
        One of the paper's studies, or the path of a TOML file.

    Returns
    -------
    Study

    Examples
    --------
    >>> load_study("exhaustive").kind
    'exhaustive'
    """
    packaged = resources.files("codekin.studies") / PAPER / f"{name}.toml"
    path = packaged if "/" not in name and packaged.is_file() else Path(name)
    if not path.is_file():
        raise FileNotFoundError(
            f"There is no study {name!r}. The paper's are {', '.join(paper_studies())}; others are given as a file."
        )
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{name}: this is not TOML ({error}).") from None
    missing = [entry for entry in ("kind", "title") if not isinstance(content.get(entry), str)]
    if missing:
        raise ValueError(f"{name}: a study must have a {missing[0]!r}, in quotes.")
    kind, title = content.pop("kind"), content.pop("title")
    study = Study(path.name.removesuffix(".toml"), kind, title, content, name)
    _check_tables(study)
    for option in NUMBERS & set(content):
        _check_number(study, option)
    return study


def _check_tables(study: Study) -> None:
    """Raise unless everything that has a name, like data sets and codebooks, is a list of tables with names."""
    for option in ("data", "codebooks"):
        entries = study.options.get(option, [])
        is_list = isinstance(entries, list) and all(isinstance(entry, dict) for entry in entries)
        if not is_list or not all(isinstance(entry.get("name"), str) for entry in entries):
            raise ValueError(f"{study.source}: {option!r} must be tables, [[{option}]], with a 'name' in each.")


def _check_number(study: Study, name: str) -> None:
    """Raise unless an option is a number, or a list of numbers."""
    value = study.option(name)
    for number in value if isinstance(value, list) else [value]:
        if not isinstance(number, int | float) or isinstance(number, bool):
            raise ValueError(f"{study.source}: {name!r} must be a number. Got {number!r} instead.")
