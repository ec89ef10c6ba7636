"""Words for pages: what was run, and the command that runs it again."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Sequence
from pathlib import Path

from codekin_studies.configuration import Study
from codekin_studies.splits.dichotomies import LEARNER_NAMES

NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


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


def study_command(action: str, source: str, folder: Path, *, only: str | None = None) -> str:
    """The command that applies an action of ``codekin study`` to a study in its folder.

    >>> study_command("run", "bound", Path("out/studies/bound"), only="yeast")
    'codekin study run bound --output out/studies --only yeast'
    """
    options = ["--output", str(folder.parent), *(["--only", only] if only else [])]
    return shlex.join(["codekin", "study", action, source, *options])


def learner_names(study: Study, data_names: Collection[str]) -> list[str]:
    """The names of the learners of some data sets for pages, each once."""
    used = [data["learner"]["name"] for data in study.option("data") if data["name"] in data_names]
    return [LEARNER_NAMES[name] for name in dict.fromkeys(used)]
