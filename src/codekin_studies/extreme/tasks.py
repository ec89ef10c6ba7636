"""Very many classes (Sec. 4.2, App. F): what the order of the classes on the paths of a trellis gains.

Class trees are computed once per data set, assignments are found for every width and scored against every class tree,
and each run trains the bits again. As in the paper: AROW, exponential decoding, and the best pass on the validation
samples, if there are any.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from codekin._system.memory import available_memory
from codekin.assignments.scores import AssignmentProblem
from codekin.classes import ClassTree
from codekin.code import Assignment, Code, FloatArray
from codekin.code.trellis import TrellisGraph
from codekin.codebooks import trellis_codebook
from codekin.data import DATASETS, Dataset, Split, load_dataset
from codekin.estimators import ExtremeClassifier
from codekin.learners import AROW, EpochReport
from codekin.samples import Samples
from codekin_studies.configuration import Study, data_among
from codekin_studies.engine.schema import POSITIVE, Entries, Keys, ListOf, OneOf, Place, whole
from codekin_studies.engine.workspace import Outcome, Stage, Task, Workspace
from codekin_studies.entries import COUNT, DataName, placed_data, study_keys
from codekin_studies.extreme.orders import (
    CLUSTERINGS,
    ORDERS,
    encoded_labels,
    learned_tree,
    load_many_classes,
    orders_of,
    trees_of,
)

TREE, ASSIGN, FIT = "extreme.tree", "extreme.assign", "extreme.fit"
OVERSAMPLE, ONE_VS_REST = "extreme.oversample", "extreme.one_vs_rest"
LEAVES = "extreme.leaves"
TREE_PARTS = ("parent", "node_of_class", "edge_length")

POLICIES = ("random", "preserving", "learnability", "halving")
"""How the leaves of label trees are assigned to classes; "preserving" is the depth-first order of the taxonomy."""
CHILDREN = 16
"""Of the nodes of label trees."""

BYTES_PER_WEIGHT = 16
"""Of a class and a feature in training: weight, variance and a copy of the weight, and some room."""


def _widths_and_orders_are_possible(data: Mapping[str, Any], place: Place) -> None:
    n_classes = DATASETS[data["name"]].n_classes
    for number, width in enumerate(data["widths"]):
        whole(2, n_classes).check(width, place.at("widths", number))
    possible = OneOf(orders_of({"tree": data["tree"]}))
    for number, order in enumerate(data.get("orders", [])):
        possible.check(order, place.at("orders", number))


SCHEMA = study_keys(
    {
        "n_runs": whole(1, 1000),
        "data": Entries(
            Keys(
                {
                    "name": DataName(),
                    "tree": OneOf(("given", "learned")),
                    "widths": ListOf(whole(2)),
                    "n_epochs": COUNT,
                },
                {
                    "clustering": OneOf(CLUSTERINGS),
                    "n_searches": COUNT,
                    "orders": ListOf(OneOf(ORDERS)),
                    "oversample": ListOf(POSITIVE),
                    "leaves": ListOf(OneOf(POLICIES)),
                    "search_seconds": POSITIVE,
                    "seconds": POSITIVE,
                },
                _widths_and_orders_are_possible,
            )
        ),
    }
)


def check(study: Study, data_names: list[str], data_home: Path | None) -> None:
    """Raise unless the data sets have the required features, samples and taxonomies."""
    for data, place in placed_data(study, data_names):
        dataset = load_dataset(data["name"], data_home)
        has_taxonomy, leaves = dataset.class_tree is not None, data.get("leaves", ())
        lacks = {
            "features": dataset.X is None,
            "test samples": dataset.test is None,
            "a taxonomy; tree = 'learned' does without": data["tree"] == "given" and not has_taxonomy,
            "a taxonomy; other leaves than 'preserving' do without": "preserving" in leaves and not has_taxonomy,
            "validation samples, by which 'oversample' is chosen": data.get("oversample")
            and dataset.validation is None,
        }
        for what, is_lacking in lacks.items():
            if is_lacking:
                raise place.error(f"'{place}' must be a data set with {what}. {data['name']!r} has none.")


def stages(study: Study, data_names: list[str]) -> list[Stage]:
    """Trees, assignments and fits of some of the data sets, and one-vs-rest if the study includes it."""
    chosen = data_among(study, data_names)
    fits = [task for data in chosen for width in data["widths"] for task in fit_tasks(study, data, width)]
    assignments = {task.key: task for task in (_assign_task(fit.parameters) for fit in fits)}
    with_rest = [data for data in chosen if data.get("oversample")]
    return [
        Stage("learning class trees", [tree_task(data) for data in chosen]),
        Stage("finding assignments", list(assignments.values())),
        Stage("learning the bits", fits),
        Stage("one-vs-rest: oversampling", [task for data in with_rest for task in oversample_tasks(data)]),
        Stage("learning label trees", [task for data in chosen for task in leaf_tasks(study, data)]),
        Stage("one-vs-rest", [task for data in with_rest for task in one_vs_rest_tasks(study, data)]),
    ]


def tree_task(data: Mapping[str, Any]) -> Task:
    """The task that learns the class tree of a data set."""
    parameters = {"data": data["name"], **_clustering(data)}
    return Task(TREE, parameters, label=f"{data['name']}, class tree", weight=data.get("seconds", 1.0))


def _clustering(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """How the class tree is learned, for the parameters of tasks: nothing by default."""
    how = parameters.get("clustering", CLUSTERINGS[0])
    return {} if how == CLUSTERINGS[0] else {"clustering": how}


def fit_tasks(study: Study, data: Mapping[str, Any], width: int, order: str | None = None) -> list[Task]:
    """The tasks that learn the bits of a trellis: all runs of one order, or of all orders."""
    n_bits, tasks = TrellisGraph(DATASETS[data["name"]].n_classes, width).n_edges, []
    weight = data.get("seconds", 1.0) * data["n_epochs"] * n_bits / 100
    # Run by run, so that a stopped study has all orders, if not all runs.
    for run in range(int(study.option("n_runs"))):
        for name in [order] if order else orders_of(data):
            parameters = {**assign_task(data, width, name, run).parameters, "run": run, "n_epochs": data["n_epochs"]}
            tasks.append(Task(FIT, parameters, f"{data['name']}, width {width}, {name}, run {run}", weight))
    return tasks


def assign_task(data: Mapping[str, Any], width: int, order: str, run: int = 0) -> Task:
    """The task that finds the assignment of a run; one for all runs if nothing is random."""
    seed = ORDERS[order].seed(run, int(data.get("n_searches", 1)))
    which = {"data": data["name"], "trees": list(trees_of(data)), **_clustering(data)}
    parameters = {**which, "width": width, "order": order, "seed": seed}
    limit = {"search_seconds": data["search_seconds"]} if "search_seconds" in data else {}
    return _assign_task({**parameters, **limit})


def _assign_task(parameters: Mapping[str, Any]) -> Task:
    """The task that finds an assignment, from its parameters or from those of a fit."""
    own = {name: value for name, value in parameters.items() if name not in ("run", "n_epochs")}
    n_classes = DATASETS[own["data"]].n_classes
    weight = 1.0
    if ORDERS[own["order"]].chance == "search":
        weight = n_classes / 1000 * (1 + TrellisGraph(n_classes, own["width"]).n_edges / 100)
    return Task(ASSIGN, own, label="{data}, width {width}, {order}, seed {seed}".format(**own), weight=weight)


def oversample_tasks(data: Mapping[str, Any]) -> list[Task]:
    """The tasks that try how often to show positives to one-vs-rest."""
    weight = data.get("seconds", 1.0) * data["n_epochs"] * DATASETS[data["name"]].n_classes / 100
    given = {"data": data["name"], "n_epochs": data["n_epochs"]}
    labels = {times: f"{data['name']}, positives {times:g} times" for times in data["oversample"]}
    return [Task(OVERSAMPLE, {**given, "oversample": times}, label, weight) for times, label in labels.items()]


def one_vs_rest_tasks(study: Study, data: Mapping[str, Any]) -> list[Task]:
    """The tasks that learn one predictor per class."""
    trials = oversample_tasks(data)
    common = {"data": data["name"], "n_epochs": data["n_epochs"], "oversample": list(data["oversample"])}
    return [
        Task(ONE_VS_REST, {**common, "run": run}, label=f"{data['name']}, one-vs-rest", weight=trials[0].weight)
        for run in range(int(study.option("n_runs")))
    ]


def run_tree(task: Task, workspace: Workspace) -> Outcome:
    """Learn a class tree from the class means."""
    data = load_many_classes(task.parameters["data"], workspace.data_home)
    tree = learned_tree(data, **_clustering(task.parameters))
    arrays = {part: getattr(tree, part) for part in TREE_PARTS}
    return Outcome({"n_nodes": tree.n_nodes, "n_classes": tree.n_classes}, arrays)


def run_assign(task: Task, workspace: Workspace) -> Outcome:
    """Find an assignment, and score it against every class tree of the data set."""
    given = task.parameters
    data = load_many_classes(given["data"], workspace.data_home)
    order = ORDERS[given["order"]]
    trees: dict[str, Any] = {
        name: data.class_tree if name == "given" else load_learned_tree(given, workspace) for name in given["trees"]
    }
    codebook = trellis_codebook(data.n_classes, given["width"])
    rng = np.random.default_rng([given["seed"], given["width"]])
    found = order.find(codebook, trees[order.tree or given["trees"][0]], data, rng, given.get("search_seconds"))
    scores = {}
    for name, tree in trees.items():
        score, z = AssignmentProblem.of(codebook, tree).score_and_z(found.assignment)
        scores[name] = {"score": score, "z": z}
    result = {"n_bits": codebook.n_bits, "scores": scores, "search_seconds": found.seconds}
    return Outcome(result, {"codeword_of_class": found.codeword_of_class})


def load_learned_tree(given: Mapping[str, Any], workspace: Workspace) -> ClassTree:
    """The class tree that was learned for the data set of a task with these parameters."""
    task = tree_task({"name": given["data"], **_clustering(given)})
    parts: list[Any] = [np.array(workspace.load(task, part)) for part in TREE_PARTS]
    return ClassTree(*parts)


def run_fit(task: Task, workspace: Workspace) -> Outcome:
    """Learn the bits under an assignment, and test them."""
    given = task.parameters
    data = load_many_classes(given["data"], workspace.data_home)
    codeword_of_class = np.array(workspace.load(_assign_task(given), "codeword_of_class"))
    classifier = ExtremeClassifier(
        given["width"],
        assignment=Assignment(codeword_of_class, given["order"]),
        estimator=AROW(n_epochs=given["n_epochs"]),
        loss="exponential",
        rerank=None,
        random_state=given["run"],
    )
    held_out = None if data.validation is None else (data.validation.X, data.validation.y)
    classifier.fit(data.X, encoded_labels(data), validation=held_out)
    assert data.test is not None
    return Outcome({"accuracy": 100 * float(classifier.score(data.test.X, data.test.y))})


def run_oversample(task: Task, workspace: Workspace) -> Outcome:
    """The validation accuracy of one-vs-rest with its positives shown this many times."""
    given = task.parameters
    return Outcome({"accuracy": _one_vs_rest(given, workspace, given["oversample"], run=0, part="validation")})


def run_one_vs_rest(task: Task, workspace: Workspace) -> Outcome:
    """The test accuracy of one-vs-rest, with positives shown as often as is best on the validation samples."""
    given = task.parameters
    trials = oversample_tasks({**given, "name": given["data"]})
    accuracies = [workspace.journal.result(trial)["accuracy"] for trial in trials]
    times = given["oversample"][int(np.argmax(accuracies))]
    accuracy = _one_vs_rest(given, workspace, times, run=given["run"], part="test")
    return Outcome({"accuracy": accuracy, "oversample": times})


def _one_vs_rest(given: Mapping[str, Any], workspace: Workspace, oversample: float, *, run: int, part: str) -> float:
    data = load_many_classes(given["data"], workspace.data_home)
    learner = AROW(n_epochs=given["n_epochs"], oversample=oversample, n_jobs=1)
    wanted = getattr(data, part)
    assert data.validation is not None
    # The exponential loss of one-vs-rest is the smaller, the larger the margin of the class.
    found = accuracies_of_passes(data, learner, rng=run, parts=(data.validation, wanted))
    return float(found[best_pass(found[:, 0].tolist(), learner.patience), 1])


def leaf_tasks(study: Study, data: Mapping[str, Any], policy: str | None = None) -> list[Task]:
    """The tasks that train label trees: all runs of one policy for leaves, or of all."""
    tasks, seconds = [], data.get("seconds", 1.0)
    for run in range(int(study.option("n_runs"))):
        for name in [policy] if policy else data.get("leaves", ()):
            label = f"{data['name']}, label tree, {name} leaves, run {run}"
            tasks.append(Task(LEAVES, {"data": data["name"], "policy": name, "run": run}, label=label, weight=seconds))
    return tasks


def run_leaves(task: Task, workspace: Workspace) -> Outcome:
    """Train and test a label tree: how much does it matter which class is at which leaf?"""
    given = task.parameters
    data = load_many_classes(given["data"], workspace.data_home)
    leaves: Any = given["policy"]
    if leaves == "preserving" and data.class_tree is not None:
        leaves = np.argsort(data.class_tree.class_order())
    classifier = ExtremeClassifier(CHILDREN, code="tree", assignment=leaves, rerank=None, random_state=given["run"])
    classifier.fit(data.X, encoded_labels(data))
    assert data.test is not None
    return Outcome({"accuracy": 100 * float(classifier.score(data.test.X, data.test.y))})


def accuracies_of_passes(
    data: Dataset, learner: AROW, *, rng: int, parts: Sequence[Split], n_at_once: int | None = None
) -> FloatArray:
    """The accuracies of one-vs-rest after each pass on some parts of a data set, (n_epochs, n_parts).

    A dense matrix of the weights of all predictors would take 59 GB on LSHTC1. Accuracies need only the largest margin
    of each sample, pass by pass, and blocks of classes can be learned one after the other: ``n_at_once`` classes at
    a time, by default as many as fit into memory; the result is the same.
    """
    n_classes = data.n_classes
    best = [np.full((learner.n_epochs, len(part)), -np.inf, dtype=np.float32) for part in parts]
    predicted = [np.zeros((learner.n_epochs, len(part)), dtype=np.intp) for part in parts]
    n_at_once = _classes_that_fit(int(data.X.shape[1]), n_classes) if n_at_once is None else n_at_once
    for first in range(0, n_classes, n_at_once):
        n_here = min(n_at_once, n_classes - first)
        is_here = (data.y >= first) & (data.y < first + n_here)
        # All other classes are one, which no column has on its positive side.
        codewords = np.where(np.eye(n_here + (n_here < n_classes), n_here) > 0, 1, -1).astype(np.int8)
        samples = Samples(data.X, np.where(is_here, data.y - first, n_here))

        def compare(report: EpochReport, first: int = first) -> None:
            assert report.snapshot is not None
            bits, place = report.snapshot(), report.epoch - 1
            for part, largest, classes in zip(parts, best, predicted, strict=True):
                margins = bits.margins(part.X)
                winner = margins.argmax(axis=1)
                values = margins[np.arange(len(margins)), winner]
                # Strictly larger: among equal margins the first class wins, as without blocks.
                is_larger = values > largest[place]
                largest[place, is_larger] = values[is_larger]
                classes[place, is_larger] = first + winner[is_larger]

        learner.fit(samples, Code.of(codewords), rng=rng, on_epoch=compare)
    return 100 * np.column_stack([(own == part.y).mean(axis=1) for own, part in zip(predicted, parts, strict=True)])


def best_pass(scores: Sequence[float], patience: int) -> int:
    """The pass, from 0, that early stopping would choose: the best until ``patience`` passes in a row are below it.

    >>> best_pass([50.0, 60.0, 55.0, 58.0, 70.0], patience=2)
    1
    """
    best = n_below = 0
    for place, score in enumerate(scores):
        best = place if score > scores[best] else best
        n_below = n_below + 1 if score < scores[best] else 0
        if n_below >= patience:
            break
    return best


def _classes_that_fit(n_features: int, n_classes: int) -> int:
    available = available_memory()
    if available is None:
        return n_classes
    return int(np.clip(available // (BYTES_PER_WEIGHT * n_features), 1, n_classes))


FUNCTIONS = {TREE: run_tree, ASSIGN: run_assign, FIT: run_fit, LEAVES: run_leaves}
FUNCTIONS |= {OVERSAMPLE: run_oversample, ONE_VS_REST: run_one_vs_rest}
