"""The results of the extreme study so far: accuracies and scores by width and order, and gains of searches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from codekin.coding import FloatArray
from codekin.datasets import DATASETS
from codekin.pages import Cell
from codekin.plots.comparisons import Mean
from codekin.plots.widths import Runs, SearchGain
from codekin_studies.configuration import Study
from codekin_studies.engine.journal import Journal
from codekin_studies.engine.task import Task
from codekin_studies.engine.workspace import Workspace
from codekin_studies.extreme.orders import orders_of, trees_of
from codekin_studies.extreme.tasks import assign_task, fit_tasks, one_vs_rest_tasks


@dataclass(frozen=True, eq=False)
class Found:
    """What is finished of one data set.

    ``accuracies`` are given by width and order, only what has at least one run; ``assignments`` hold bits and scores
    likewise, of random assignments those of the first run. ``one_vs_rest`` has one predictor per class; ``oversample``:
    how often that one saw its positives.
    """

    data: Mapping[str, Any]
    accuracies: Mapping[tuple[int, str], FloatArray]
    assignments: Mapping[tuple[int, str], Mapping[str, Any]]
    one_vs_rest: Runs | None
    oversample: float | None

    @property
    def name(self) -> str:
        """The name of the data set."""
        return str(self.data["name"])

    @property
    def widths(self) -> list[int]:
        """The widths that have results."""
        return [width for width in self.data["widths"] if any(key[0] == width for key in self.accuracies)]

    def runs(self, width: int, order: str) -> Runs | None:
        """Mean and scatter of the runs of an order."""
        if (width, order) not in self.accuracies:
            return None
        return Runs.of(self.assignments[width, order]["n_bits"], self.accuracies[width, order])

    def gain(self, width: int, order: str, over: str) -> Mean | None:
        """By how many points an order beats another, run by run."""
        if (width, order) not in self.accuracies or (width, over) not in self.accuracies:
            return None
        return gain_of(self.accuracies[width, order], self.accuracies[width, over])

    def lowered(self, width: int, tree: str) -> float:
        """By how many percent the search lowered the score of the depth-first order of a class tree."""
        found, start = (self.assignments[width, order]["scores"][tree]["score"] for order in (f"{tree}-searched", tree))
        return float(100 * (1 - found / start))


def collect(study: Study, workspace: Workspace) -> list[Found]:
    """The results of all data sets that have some."""
    journal = workspace.journal
    everything = []
    for data in study.option("data"):
        accuracies, assignments = {}, {}
        for width in data["widths"]:
            for order in orders_of(data):
                done = finished(fit_tasks(study, data, width, order), journal)
                if done:
                    accuracies[width, order] = np.array([one["accuracy"] for one in done])
                    assignments[width, order] = journal.result(assign_task(data, width, order))
        rest = finished(one_vs_rest_tasks(study, data), journal) if data.get("oversample") else []
        n_classes = DATASETS[data["name"]].n_classes
        if accuracies:
            one_vs_rest = Runs.of(n_classes, [one["accuracy"] for one in rest]) if rest else None
            oversample = rest[0]["oversample"] if rest else None
            everything.append(Found(data, accuracies, assignments, one_vs_rest, oversample))
    return everything


def finished(tasks: Sequence[Task], journal: Journal) -> list[Mapping[str, Any]]:
    """The results of the first tasks, up to one that is not finished: orders are compared run by run."""
    results = []
    for task in tasks:
        if task.key not in journal.records:
            break
        results.append(journal.result(task))
    return results


def search_gains(found: Found) -> list[SearchGain]:
    """The gains of searches over depth-first orders, for every width and class tree."""
    gains = []
    for width in found.widths:
        for tree in trees_of(found.data):
            gain = found.gain(width, f"{tree}-searched", tree)
            if gain is not None:
                gains.append(SearchGain(found.name, found.lowered(width, tree), gain.value, gain.error))
    return gains


def answer(gains: Sequence[SearchGain]) -> str:
    """Whether a better score than depth-first's gave better accuracy, in a sentence or two.

    >>> answer([SearchGain("a", 5.0, 0.8, 0.1), SearchGain("b", 4.0, -0.1, 0.1)])
    "A better score than depth-first's: lowered by 4 to 5 %, it made 1 of 2 codes more accurate by more than two \
standard errors and 0 less accurate; the mean change is +0.35 points."
    """
    if not gains:
        return "No search has been compared with its depth-first order yet."
    better = sum(gain.gain > 2 * gain.error for gain in gains)
    worse = sum(gain.gain < -2 * gain.error for gain in gains)
    lowered = [gain.lowered for gain in gains]
    return (
        f"A better score than depth-first's: lowered by {min(lowered):.0f} to {max(lowered):.0f} %, it made {better} "
        f"of {len(gains)} codes more accurate by more than two standard errors and {worse} less accurate; the mean "
        f"change is {signed(float(np.mean([gain.gain for gain in gains])))} points."
    )


def gain_of(own: FloatArray, others: FloatArray) -> Mean:
    """The mean difference of runs, one by one."""
    n_runs = min(len(own), len(others))
    return Mean.of(own[:n_runs] - others[:n_runs])


def gain_cell(gain: Mean | None) -> Cell | None:
    """A gain in a table, with its standard error; bold if it is more than two of these."""
    if gain is None:
        return None
    error = "" if np.isnan(gain.error) else f" ± {gain.error:.2f}"
    return Cell(signed(gain.value) + error, gain.value, is_strong=gain.is_positive)


def signed(value: float) -> str:
    """Two digits after the point, with the sign."""
    return f"{value:+.2f}".replace("-", "−")
