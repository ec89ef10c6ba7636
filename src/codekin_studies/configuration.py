"""The configuration of a study: a TOML file, from the package or the user; and the numbers that the paper prints."""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from codekin_studies.engine.schema import Place, Variants
from codekin_studies.engine.workspace import ORIGIN

PAPER = "evron2023"
"""The folder of the paper's studies."""


@dataclass(frozen=True)
class Study:
    """A study, as its file describes it.

    Parameters
    ----------
    name : str
        The name of the file without its extension.
    kind : str
        A name from ``STUDY_KINDS``.
    title : str
        In a few words.
    options : mapping
        The options of this kind of study.
    source : str
        Its name for ``codekin study run``: one of the paper's studies, or a path.
    text : str
        The file.
    origin : str
        The folder to which the files that it names are relative.
    trusted : tuple of str
        Packages whose classes it may import, besides scikit-learn.
    """

    name: str
    kind: str
    title: str
    options: Mapping[str, Any] = field(repr=False)
    source: str = ""
    text: str = field(default="", repr=False)
    origin: str = ""
    trusted: tuple[str, ...] = ()

    @property
    def place(self) -> Place:
        """Where it is written, for errors."""
        return Place(self.source, self.text)

    @property
    def data_names(self) -> list[str]:
        """The names of its data sets, each once."""
        return list(dict.fromkeys(data["name"] for data in self.options.get("data", [])))

    def option(self, name: str) -> Any:
        """One of the options; an error that names the study if it is missing."""
        if name not in self.options:
            raise ValueError(f"The study {self.name!r} must say {name!r}. It has {', '.join(self.options)}.")
        return self.options[name]


def data_among(study: Study, names: Collection[str]) -> list[Mapping[str, Any]]:
    """The entries of those data sets of a study that have one of these names."""
    return [data for data in study.option("data") if data["name"] in names]


def path_of(study: Study, file: str) -> Path:
    """The path of a file that a study names."""
    return Path(study.origin) / file


def entry_of(study: Study, table: str, name: str) -> Mapping[str, Any]:
    """One of the data sets or codebooks of a study, by name."""
    named = {entry["name"]: entry for entry in study.option(table)}
    if name not in named:
        raise ValueError(f"The {table} of the study {study.name!r} are {', '.join(named)}. Got {name!r} instead.")
    found: Mapping[str, Any] = named[name]
    return found


def paper_studies() -> list[str]:
    """The names of the paper's studies, in the order of their numbers."""
    folder = resources.files("codekin_studies") / PAPER
    found = [load_study(path.name.removesuffix(".toml")) for path in folder.iterdir() if path.name.endswith(".toml")]
    return [study.name for study in sorted(found, key=lambda study: (study.options.get("number", 99), study.name))]


def load_study(name: str) -> Study:
    """A study by name or path, with every key and value checked.

    Parameters
    ----------
    name : str
        One of the paper's studies, or the path of a TOML file.

    Returns
    -------
    Study

    Raises
    ------
    ValueError
        If something in it is wrong: one sentence that names the file, the line, the key and the value.

    Examples
    --------
    >>> load_study("exhaustive").kind
    'exhaustive'
    """
    packaged = resources.files("codekin_studies") / PAPER / f"{name}.toml"
    path = packaged if "/" not in name and packaged.is_file() else Path(name)
    if not path.is_file():
        raise FileNotFoundError(
            f"There is no study {name!r}. The paper's are {', '.join(paper_studies())}; others are given as a file."
        )
    try:
        text = path.read_text(encoding="utf-8")
        content = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{name}: this is not TOML ({error}).") from None
    from codekin_studies.studies import STUDY_KINDS  # these import Study

    kinds = Variants("kind", STUDY_KINDS, lambda kind: STUDY_KINDS[kind].schema)
    kinds.check(content, Place(name, text))
    kind, title = content.pop("kind"), content.pop("title")
    copied_from = Path(name).parent / ORIGIN  # beside a copy in the folder of results
    origin = copied_from.read_text(encoding="utf-8") if copied_from.is_file() else str(Path(name).parent.absolute())
    return Study(path.name.removesuffix(".toml"), kind, title, content, name, text, origin)


@cache
def paper_numbers() -> dict[tuple[str, str, str, str], float]:
    """The paper's numbers, by study, data, codebook and quantity."""
    text = (resources.files("codekin_studies") / PAPER / "paper.csv").read_text(encoding="utf-8")
    return {
        (row["study"], row["data"], row["codebook"], row["quantity"]): float(row["value"])
        for row in csv.DictReader(text.splitlines())
    }


def paper_number(study: str, quantity: str, *, data: str = "", codebook: str = "") -> float | None:
    """One number of the paper; None if it prints none.

    >>> paper_number("exhaustive", "best", data="mnist", codebook="dense-8")
    88.5
    """
    return paper_numbers().get((study, data, codebook, quantity))
