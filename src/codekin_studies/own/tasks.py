"""Every assignment on data of one's own: the tasks of a study.

A task knows a file by its content, so a changed file means other tasks, and a moved one the same.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from codekin.classes import distances as class_distances
from codekin.code import Codebook, FloatArray
from codekin.data import DataError
from codekin.decoding.losses import get_loss
from codekin_studies import entries
from codekin_studies.configuration import Study, data_among, entry_of
from codekin_studies.engine.workspace import Outcome, Stage, Task, Workspace
from codekin_studies.own import streaming
from codekin_studies.own.description import (
    COUNTED,
    GIVEN,
    METRICS,
    SCHEMA,
    check,
    codewords_of,
    files_of,
    given_distances,
    own_samples,
    samples_of_files,
    tested_by,
)
from codekin_studies.own.samples import OwnSamples, content_of, folds_of, problem_of_fold
from codekin_studies.splits import dichotomies, sweeps

__all__ = ["FUNCTIONS", "SCHEMA", "check", "stages"]
TRAIN, DISTANCES, PART, SWEEP = "own.train", "own.distances", "own.part", "own.sweep"
N_FOLDS_OF_CONFUSION = 3


def _identity(study: Study, data: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """The parameters that determine samples, splits and the learner."""
    keys = ("label", "ignore", "categories", "n_test", "folds")
    return {
        "content": [content_of(Path(file)) for file in files_of(study, data)],
        **{key: data[key] for key in keys if key in data},
        "scaling": data.get("scaling", "standard"),
        "learner": dict(data["learner"]),
        "seed": study.option("seed"),
        **more,
    }


def _known(task: Task) -> dict[str, Any]:
    """Those parameters of a task that determine its samples and its learner."""
    names = ("content", "label", "ignore", "categories", "n_test", "folds", "scaling", "learner", "seed")
    return {name: task.parameters[name] for name in names if name in task.parameters}


def stages(study: Study, data_names: list[str]) -> list[Stage]:
    """The tasks of the study on some of its data."""
    chosen, codebooks = data_among(study, data_names), study.option("codebooks")
    return [
        Stage("training all splits", [task for data in chosen for task in train_tasks(study, data)]),
        Stage("measuring class distances", [distances_task(study, data) for data in chosen]),
        Stage(
            "sweeping all assignments",
            [task for data in chosen for code in codebooks for task in part_tasks(study, data, code)],
        ),
        Stage("adding up", [sweep_task(study, data, code) for data in chosen for code in codebooks]),
    ]


def train_tasks(study: Study, data: Mapping[str, Any]) -> list[Task]:
    """The tasks that train all splits, some splits of a fold each."""
    n_folds = data.get("folds", 1)
    per_task, n_classes = int(study.option("splits_per_task")), own_samples(study, data).n_classes
    return _train_tasks(_identity(study, data), per_task, n_classes, n_folds, data["name"], files_of(study, data))


def _train_tasks(  # noqa: PLR0917
    known: Mapping[str, Any], per_task: int, n_classes: int, n_folds: int, name: str = "", files: tuple[str, ...] = ()
) -> list[Task]:
    last = dichotomies.n_splits(n_classes)
    tasks = []
    for fold in range(n_folds):
        for first in range(1, last + 1, per_task):
            end = min(first + per_task - 1, last)
            parameters = {**known, "fold": fold, "first_split": first, "last_split": end}
            label = f"{name}, fold {fold + 1}, splits {first} to {end}"
            tasks.append(Task(TRAIN, parameters, label=label, source=files))
    return tasks


def distances_task(study: Study, data: Mapping[str, Any]) -> Task:
    """The task that measures how far apart the classes are."""
    parameters = _identity(study, data, confusion=data.get("confusion", COUNTED[0]))
    if "distances" in data:
        parameters[GIVEN] = given_distances(study, data)
    return Task(DISTANCES, parameters, label=f"{data['name']}, class distances", source=files_of(study, data))


def part_tasks(study: Study, data: Mapping[str, Any], code: Mapping[str, Any]) -> list[Task]:
    """The tasks that test all assignments of a codebook, some millions each."""
    n_classes = own_samples(study, data).n_classes
    whole_sweep = sweep_task(study, data, code)
    return _part_tasks(whole_sweep, n_classes)


def _part_tasks(task: Task, n_classes: int) -> list[Task]:
    parts = streaming.n_parts(n_classes)
    labels = [f"{task.label}, part {part + 1} of {parts}" for part in range(parts)]
    given = [{**task.parameters, "part": part} for part in range(parts)]
    return [
        Task(PART, own, label=label, weight=10.0, source=task.source) for own, label in zip(given, labels, strict=True)
    ]


def sweep_task(study: Study, data: Mapping[str, Any], code: Mapping[str, Any]) -> Task:
    """The task that adds up what the parts of a sweep found."""
    described = dict(code)
    if "file" in code:
        n_classes = own_samples(study, data).n_classes
        described = {"name": code["name"], "codewords": codewords_of(study, code, n_classes, study.place)}
    parameters = {
        **distances_task(study, data).parameters,
        "codebook": described,
        "splits_per_task": study.option("splits_per_task"),
    }
    return Task(SWEEP, parameters, label=f"{data['name']}, {code['name']}", weight=0.1, source=files_of(study, data))


def codebook_of(code: Mapping[str, Any], n_classes: int, distances: Mapping[str, FloatArray]) -> Codebook:
    """The codebook that the parameters of a task describe."""
    if "codewords" in code:
        return Codebook(np.array(code["codewords"], dtype=np.int8), name=code["name"])
    return entries.make_codebook(code, n_classes, distances)


@lru_cache(maxsize=2)
def _problems_of(
    files: tuple[str, ...], columns: str, tested: str, scaling: str, seed: int
) -> tuple[OwnSamples, list[dichotomies.Problem]]:
    samples = samples_of_files(files, json.loads(columns))
    folds = folds_of(samples.y, **json.loads(tested), n_given=samples.n_given, seed=seed)
    return samples, [problem_of_fold(samples, fold, scaling) for fold in folds]


def _problems(task: Task) -> tuple[OwnSamples, list[dichotomies.Problem]]:
    """The samples of a task and its problems, one for each fold; an error if a file has changed."""
    given = task.parameters
    for file, content in zip(task.source, given["content"], strict=True):
        if content_of(Path(file)) != content:
            raise DataError(file, "it was changed while the study was running. Run the study again.")
    columns = json.dumps({key: given[key] for key in ("label", "ignore", "categories") if key in given})
    tested = json.dumps(tested_by(given))
    return _problems_of(tuple(task.source), columns, tested, given["scaling"], given["seed"])


def run_train(task: Task, workspace: Workspace) -> Outcome:  # noqa: ARG001
    """Train some splits of a fold; keep their margins on its test samples and their mean training losses."""
    given = task.parameters
    problem = _problems(task)[1][given["fold"]]
    splits = np.arange(given["first_split"], given["last_split"] + 1)
    train, test = dichotomies.train_splits(problem, splits, given["learner"], given["seed"])
    z = dichotomies.split_signs(splits, problem.n_classes)[problem.y_train] * train.astype(np.float64)
    hinge = get_loss("hinge")(z).mean(axis=0)
    result = {"mean_hinge": float(hinge.mean()), "mean_error": float((z <= 0).mean())}
    return Outcome(result, {"margins": np.ascontiguousarray(test.T), "losses": hinge})


def run_distances(task: Task, workspace: Workspace) -> Outcome:  # noqa: ARG001
    """Measure all distances between the classes, on training samples only; of several folds, the means."""
    given = task.parameters
    samples, problems = _problems(task)
    counts = sum(_confusion(problem, given) for problem in problems)
    of_folds = [
        (
            class_distances.mean_distances(problem.X_train, problem.y_train).matrix(),
            class_distances.learnability_distances(problem.X_train, problem.y_train, rng=given["seed"]).matrix(),
        )
        for problem in problems
    ]
    means, learnability = (np.mean([fold[which] for fold in of_folds], axis=0) for which in (0, 1))
    arrays = {
        "confusion": class_distances.confusion_distances(counts).matrix(),
        "means": means,
        "learnability": learnability,
    }
    if GIVEN in given:
        arrays[GIVEN] = np.array(given[GIVEN])
    described = {
        "class_names": list(samples.class_names),
        "n_samples": len(samples.y),
        "n_features": samples.X.shape[1],
        "n_learned": len(problems[0].y_train),
        "class_counts": np.bincount(samples.y).tolist(),
    }
    return Outcome(described, arrays)


def _confusion(problem: dichotomies.Problem, given: Mapping[str, Any]) -> FloatArray:
    """How often one-vs-rest takes each class for each other one, on training samples or on those of other folds."""
    if given["confusion"] == "train":
        return dichotomies.one_vs_rest_confusion(problem, given["learner"], given["seed"])
    from sklearn.model_selection import StratifiedKFold

    counts, X, y = np.zeros((problem.n_classes, problem.n_classes)), problem.X_train, problem.y_train
    n_folds = min(N_FOLDS_OF_CONFUSION, int(np.bincount(y).min()))
    for learned, judged in StratifiedKFold(n_folds, shuffle=True, random_state=given["seed"]).split(X, y):
        fold = dichotomies.Problem(X[learned], y[learned], X[judged], y[judged], problem.class_names)
        margins = dichotomies.one_vs_rest_margins(fold, given["learner"], given["seed"])[1]
        np.add.at(counts, (fold.y_test, margins.argmax(axis=1)), 1)
    return counts


def load_distances(task: Task, workspace: Workspace) -> dict[str, FloatArray]:
    """The distances between the classes that a sweep compares with."""
    names = (*METRICS, *([GIVEN] if GIVEN in task.parameters else []))
    source = _distances_of(task)
    return {name: np.array(workspace.load(source, name)) for name in names}


def _distances_of(task: Task) -> Task:
    names = ("confusion", GIVEN)
    more = {name: task.parameters[name] for name in names if name in task.parameters}
    return Task(DISTANCES, {**_known(task), **more}, label="class distances")


def load_splits(task: Task, workspace: Workspace, n_classes: int) -> tuple[FloatArray, FloatArray]:
    """The rounded margins (2**(K - 1), n_test) and the mean training losses (2**(K - 1),) of all splits of a sweep."""
    n_folds, per_task = task.parameters.get("folds", 1), task.parameters["splits_per_task"]
    trained = _train_tasks(_known(task), per_task, n_classes, n_folds)
    of_fold = len(trained) // n_folds
    margins, losses = [], []
    for fold in range(n_folds):
        own = trained[fold * of_fold : (fold + 1) * of_fold]
        margins.append(np.concatenate([workspace.load(one, "margins") for one in own]))
        losses.append(np.concatenate([workspace.load(one, "losses") for one in own]))
    together = np.concatenate(margins, axis=1)
    raw = np.concatenate([np.zeros((1, together.shape[1])), together])
    return sweeps.rounded_margins(raw, sweeps.MAX_BITS), np.concatenate([np.zeros(1), np.mean(losses, axis=0)])


def run_part(task: Task, workspace: Workspace) -> Outcome:
    """Test a part of the assignments of a codebook."""
    samples, problems = _problems(task)
    distances = load_distances(task, workspace)
    codebook = codebook_of(task.parameters["codebook"], samples.n_classes, distances)
    margins, losses = load_splits(task, workspace, samples.n_classes)
    y = np.concatenate([problem.y_test for problem in problems])
    tables = streaming.split_values(codebook, losses, distances)
    return Outcome(*streaming.swept_part(codebook, margins, y, tables, distances, task.parameters["part"]))


def run_sweep(task: Task, workspace: Workspace) -> Outcome:
    """Add up the parts of a sweep."""
    distances, journal = load_distances(task, workspace), workspace.journal
    n_classes = len(distances["means"])
    codebook = codebook_of(task.parameters["codebook"], n_classes, distances)
    parts = _part_tasks(task, n_classes)
    histogram = np.sum([workspace.load(part, "histogram") for part in parts], axis=0)
    results = [journal.result(part) for part in parts]
    summary = streaming.summary_of(codebook, results, histogram, ["loss", *distances])
    described = {"n_parts": len(parts), "codewords": codebook.matrix.tolist(), **summary}
    kept = {name: np.concatenate([workspace.load(part, name) for part in parts]) for name in _kept(len(parts))}
    return Outcome(described, {"histogram": histogram, **kept})


def _kept(n_parts: int) -> tuple[str, ...]:
    return ("n_correct", "ranks") if n_parts > 1 else ("n_correct",)


FUNCTIONS = {TRAIN: run_train, DISTANCES: run_distances, PART: run_part, SWEEP: run_sweep}


def load_sweep(study: Study, data_name: str, code_name: str, workspace: Workspace) -> streaming.StreamedSweep:
    """What a finished sweep found."""
    data, code = entry_of(study, "data", data_name), entry_of(study, "codebooks", code_name)
    task, journal = sweep_task(study, data, code), workspace.journal
    result = journal.result(task)
    codebook = Codebook(np.array(result["codewords"], dtype=np.int8), name=code.get("codebook", code["name"]))
    margins, losses = load_splits(task, workspace, codebook.n_codewords)
    _, problems = _problems(task)
    return streaming.StreamedSweep(
        codebook,
        workspace.load(task, "n_correct"),
        result["n_test"],
        losses,
        load_distances(task, workspace),
        tuple(journal.result(_distances_of(task))["class_names"]),
        workspace.load(task, "ranks") if result["n_parts"] > 1 else None,
        workspace.load(task, "histogram"),
        margins,
        np.concatenate([problem.y_test for problem in problems]),
        sweeps.lexicographic_rank(result["best_assignment"]),
    )
