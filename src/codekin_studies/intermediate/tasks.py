"""A hundred classes (App. E): searched assignments against random ones, under several class distances."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from codekin.assignments import AssignmentResult, assign
from codekin.class_distances import (
    confusion_distances,
    embedding_distances,
    learnability_distances,
    mean_distances,
    taxonomy_distances,
)
from codekin.classes import ClassDistances
from codekin.coding import Codebook, CodingMatrix, FloatArray
from codekin.datasets import Dataset, load_dataset
from codekin.decoding import MinimumLossDecoder
from codekin_studies.configuration import Study, data_among
from codekin_studies.engine.runner import Outcome
from codekin_studies.engine.schema import Entries, ListOf, OneOf, Table
from codekin_studies.engine.task import Stage, Task
from codekin_studies.engine.workspace import Workspace
from codekin_studies.entries import check_codebook, check_samples, make_codebook
from codekin_studies.fields import COUNT, HEAD, NUMBERED, SCALING, SEED, CodebookTable, DataName, learner_table
from codekin_studies.splits.dichotomies import Problem, learned, problem_of, scaling_of

COMPARE = "intermediate.compare"
CODES_AT_ONCE = 10
"""How many codes are trained together: linear learners are much faster with many columns at once."""

POLICIES = ("random", "preserving", "breaking", "portfolio")

METRICS: dict[str, Callable[[Dataset, Problem], ClassDistances]] = {
    "names": lambda dataset, _: embedding_distances(dataset.extras["glove_100d"]),
    "taxonomy": lambda dataset, _: taxonomy_distances(dataset.class_tree),
    "means": lambda _, problem: mean_distances(problem.X_train, problem.y_train),
    "human": lambda dataset, _: confusion_distances(dataset.extras["human_confusion"]),
    "learnability": lambda _, problem: learnability_distances(problem.X_train, problem.y_train),
}
"""Class distances by name."""

NEEDS: dict[str, Callable[[Dataset], bool]] = {
    "names": lambda dataset: "glove_100d" in dataset.extras,
    "taxonomy": lambda dataset: dataset.class_tree is not None,
    "human": lambda dataset: "human_confusion" in dataset.extras,
}
"""Which data sets have the input of a class distance, if not all have it."""

SCHEMA = Table(
    {
        **HEAD,
        "seed": SEED,
        "n_assignments": COUNT,
        "n_random_scores": COUNT,
        "metrics": ListOf(OneOf(METRICS)),
        "data": Entries(
            Table({"name": DataName(), "learner": learner_table()}, SCALING), known_by=(("name",), ("learner", "name"))
        ),
        "codebook": CodebookTable(),
    },
    NUMBERED,
)
"""The keys of a configuration."""


def check(study: Study, data_names: list[str], data_home: Path | None) -> None:
    """Raise unless the samples, the codebook and all class distances are available."""
    for number, data in enumerate(study.option("data")):
        if data["name"] in data_names:
            dataset = check_samples(data, study.place.at("data", number), data_home)
            check_codebook(study.option("codebook"), dataset.n_classes, study.place.at("codebook"))
            for place, metric in enumerate(study.option("metrics")):
                if metric in NEEDS and not NEEDS[metric](dataset):
                    here = study.place.at("metrics", place)
                    raise here.error(f"'{here}' is {metric!r}, which the data set {data['name']!r} does not have.")


def stages(study: Study, data_names: list[str]) -> list[Stage]:
    """One task per data set, learner and class distance."""
    chosen, metrics = data_among(study, data_names), study.option("metrics")
    return [
        Stage("searching and learning", [compare_task(study, data, metric) for data in chosen for metric in metrics])
    ]


def compare_task(study: Study, data: Mapping[str, Any], metric: str) -> Task:
    """Search assignments with one class distance, and train them all."""
    options = ("seed", "n_assignments", "n_random_scores")
    parameters = {
        "data": data["name"],
        **scaling_of(data),
        "learner": dict(data["learner"]),
        "codebook": dict(study.option("codebook")),
        "metric": metric,
        **{name: study.option(name) for name in options},
    }
    return Task(COMPARE, parameters, label=f"{data['name']}, {data['learner']['name']}, {metric}")


def run_compare(task: Task, workspace: Workspace) -> Outcome:
    """Scores and test accuracies of random, preserving and breaking assignments."""
    given = task.parameters
    dataset = load_dataset(given["data"], workspace.data_home)
    problem = problem_of(given, workspace.data_home)
    codebook = make_codebook(given["codebook"], problem.n_classes, {})
    distances = METRICS[given["metric"]](dataset, problem)
    found = {policy: _assignments(policy, codebook, distances, given) for policy in POLICIES}
    matrices = [codebook.coding_matrix(one.assignment) for results in found.values() for one in results]
    accuracies = iter(accuracies_of(problem, matrices, given["learner"], given["seed"]))
    policies = {
        policy: [{"score": float(one.score), "z": float(one.z), "accuracy": next(accuracies)} for one in results]
        for policy, results in found.items()
    }
    scores = random_scores(codebook, distances, given["n_random_scores"], given["seed"])
    return Outcome(
        {"min_distance": float(codebook.min_distance), "n_test": len(problem.y_test), "policies": policies},
        {"random_scores": scores},
    )


FUNCTIONS = {COMPARE: run_compare}


def accuracies_of(
    problem: Problem, coding_matrices: Sequence[CodingMatrix], learner: Mapping[str, Any], seed: int
) -> list[float]:
    """The test accuracies of codes in percent, decoded by the hinge loss.

    ``learner`` holds a ``name`` from ``SPLIT_LEARNERS``, and its options.
    """
    accuracies = []
    for start in range(0, len(coding_matrices), CODES_AT_ONCE):
        some = coding_matrices[start : start + CODES_AT_ONCE]
        margins = learned(problem, np.hstack(some), learner, seed)[1]
        ends = np.cumsum([matrix.shape[1] for matrix in some])[:-1]
        for matrix, own in zip(some, np.split(margins, ends, axis=1), strict=True):
            predicted = MinimumLossDecoder(matrix, "hinge").decode(own)
            accuracies.append(100 * float((predicted == problem.y_test).mean()))
    return accuracies


def _assignments(
    policy: str, codebook: Codebook, distances: ClassDistances, given: Mapping[str, Any]
) -> list[AssignmentResult]:
    """The assignments of a policy; random ones are the same for all class distances."""
    seeds = [np.random.default_rng([given["seed"], draw]) for draw in range(given["n_assignments"])]
    if policy == "random":
        return [assign(codebook, distances, "random", rng=rng) for rng in seeds]
    if policy == "portfolio":
        return [assign(codebook, distances, "portfolio", rng=given["seed"])]
    sense: Any = policy
    return [assign(codebook, distances, "steepest_descent", sense=sense, rng=rng, n_restarts=1) for rng in seeds]


def random_scores(codebook: Codebook, distances: ClassDistances, n_scores: int, seed: int) -> FloatArray:
    """The class-codeword scores of random assignments."""
    rng = np.random.default_rng([seed, n_scores])
    a, d = distances.matrix(), codebook.row_distances()
    a, d = a / np.linalg.norm(a), d / np.linalg.norm(d)
    orders = (rng.permutation(len(d)) for _ in range(n_scores))
    return np.array([float(np.linalg.norm(a - d[np.ix_(order, order)])) for order in orders])
