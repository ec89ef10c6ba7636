"""What the pages of all studies have in common: their outline, figures, commands and words."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from codekin.pages.html import Beside, Block, Cell, Column, Command, Page, Paragraph, Picture, Section, Table
from codekin.plots.style import save_figure
from codekin_studies.configuration import Study
from codekin_studies.engine.workspace import Task, Workspace
from codekin_studies.splits.dichotomies import LEARNER_NAMES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")

Row = list[Cell | str | float | None]
Rows = list[Row]
Results = Mapping[str, Mapping[str, Any]]
"""What is known of one data set, by codebook or class distance."""


@dataclass(frozen=True)
class Report:
    """A study and the folder with its results, of which its page is made."""

    study: Study
    workspace: Workspace

    def page(self, lead: str, method: Iterable[str], sections: Sequence[Section]) -> Page:
        """A page with a section on what was done before all others; only a sentence if nothing is finished."""
        if not sections:
            return Page(self.study.title, "Nothing is finished yet.", [])
        done = Section("What was done", [Paragraph(text) for text in method])
        return Page(self.study.title, lead, [done, *sections])

    def by_data(self, task_of: Callable[[Study, Mapping[str, Any], Mapping[str, Any]], Task]) -> dict[str, Results]:
        """The results of finished tasks by data set and codebook; none of a data set without any."""
        found = {}
        for data in self.study.option("data"):
            tasks = {code["name"]: task_of(self.study, data, code) for code in self.study.option("codebooks")}
            found[data["name"]] = self.workspace.results(tasks)
        return {name: of_codes for name, of_codes in found.items() if of_codes}

    def picture(self, figure: Figure, stem: str, description: str, caption: str, *, as_pixels: bool = False) -> Picture:
        """A figure on the page, saved in the folder of the study.

        Level sets of millions of points make large drawings: a page shows them as pixels and keeps the SVG beside.
        """
        pixels, drawing = save_figure(figure, self.workspace.folder / "figures" / stem)
        return Picture(pixels if as_pixels else drawing, description, caption)

    def again(self, only: str | None = None) -> Command:
        """The command that runs the study, or one of its data sets, again."""
        return Command(study_command("run", self.study.source, self.workspace.folder, only=only))

    def learners(self, data_names: Collection[str]) -> list[str]:
        """The names of the learners of some data sets, each once."""
        used = [data["learner"]["name"] for data in self.study.option("data") if data["name"] in data_names]
        return [LEARNER_NAMES[name] for name in dict.fromkeys(used)]


def table(headings: str, rows: Rows, caption: str = "") -> Table:
    """A table from its headings, divided by bars, each with the format of its numbers after a colon, if any.

    >>> table("codebook | bound, % :.0f", [["dense", 12.3]]).columns[1]
    Column(title='bound, %', format='.0f')
    """
    return Table([Column(*heading.split(" :")) for heading in headings.split(" | ")], rows, caption)


def in_pairs(pictures: Sequence[Picture]) -> list[Block]:
    """Pictures beside each other, two to a row."""
    return [Beside(pictures[start : start + 2]) for start in range(0, len(pictures), 2)]


def study_command(action: str, source: str, folder: Path, *, only: str | None = None) -> str:
    """The command that applies an action of ``codekin study`` to a study in its folder.

    >>> study_command("run", "bound", Path("out/studies/bound"), only="yeast")
    'codekin study run bound --output out/studies --only yeast'
    """
    options = ["--output", str(folder.parent), *(["--only", only] if only else [])]
    return shlex.join(["codekin", "study", action, source, *options])


def enumerated(words: Sequence[str]) -> str:
    """Words joined as in a sentence.

    >>> enumerated(["hinge", "exponential", "hamming"])
    'hinge, exponential and hamming'
    """
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def number_word(number: int) -> str:
    """A number as a word, if it is small.

    >>> number_word(10), number_word(100)
    ('ten', '100')
    """
    return NUMBERS[number] if number < len(NUMBERS) else f"{number:,}"
