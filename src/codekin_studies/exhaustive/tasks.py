"""Every assignment of small codebooks (Sec. 4.1, App. C and D): the tasks of a study.

All splits of the classes are trained once per data set; a sweep over all assignments of a codebook then only looks up
their margins. Each sweep stores how many test samples every assignment gets right, in lexicographic order; losses and
scores are computed exactly from small tables on demand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from codekin.assignments.exact import all_scores, nth_assignment
from codekin.classes import DenseDistances
from codekin.classes import distances as class_distances
from codekin.classes.distances import Counted
from codekin.code import Codebook, FloatArray
from codekin.data import DATASETS, load_dataset
from codekin.decoding.losses import get_loss
from codekin_studies import entries
from codekin_studies.configuration import Study, data_among, entry_of
from codekin_studies.distributions import regression
from codekin_studies.engine.schema import NAME, POSITIVE, TEXT, ListOf, OneOf, Place
from codekin_studies.engine.workspace import Outcome, Stage, Task, Workspace
from codekin_studies.splits import dichotomies, sweeps

CHOOSE, TRAIN, DISTANCES, SWEEP = "exhaustive.choose", "exhaustive.train", "exhaustive.distances", "exhaustive.sweep"

CANDIDATES = (1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0, 1000.0)
N_FOLDS = 3

METRICS = ("confusion", "means")
TENTH, EXTREME_SHARE = 0.1, 0.001
ENDS = ("low", "high")
PREDICTORS = ("loss", *METRICS, "learnability")
"""What may predict accuracy, in the order of tables and figures."""


def _trees_are_confused_by_folds(data: Mapping[str, Any], place: Place) -> None:
    if data["confusion"] != "train" and data["learner"]["name"] != "decision_tree":
        rule = "must be 'train' unless the learner is 'decision_tree'"
        raise place.at("confusion").error(f"'{place.at('confusion')}' {rule}. Got {data['confusion']!r} instead.")


def _drawn_data_is_listed(content: Mapping[str, Any], place: Place) -> None:
    names = OneOf([data["name"] for data in content["data"]])
    for number, name in enumerate(content.get("draws", {}).get("data", [])):
        names.check(name, place.at("draws", "data", number))


SCHEMA = entries.study_keys(
    {
        "seed": entries.SEED,
        "splits_per_task": entries.COUNT,
        "data": entries.data_entries(
            {"learner": entries.learner_table(may_choose_C=True), "confusion": OneOf(get_args(Counted))},
            {"seconds": POSITIVE, **entries.SCALING},
            _trees_are_confused_by_folds,
        ),
        "codebooks": entries.codebook_entries(*METRICS, may_be_empty=True),
    },
    {"draws": entries.CodebookTable({"name": NAME, "data": ListOf(TEXT)}, seed=entries.SEEDS, is_drawn=True)},
    _drawn_data_is_listed,
)


def check(study: Study, data_names: list[str], data_home: Path | None) -> None:
    """Raise unless the samples and the codebooks are available."""
    entries.check_entries(study, data_names, data_home, most_bits=sweeps.MAX_BITS)
    for name in data_names:
        for code in drawn_codebooks(study, name):
            entries.check_codebook(code, DATASETS[name].n_classes, study.place.at("draws"), most_bits=sweeps.MAX_BITS)


def stages(study: Study, data_names: list[str]) -> list[Stage]:
    """The tasks of the study on some of its data sets."""
    chosen = data_among(study, data_names)
    codebooks = study.option("codebooks")
    to_choose = [data for data in chosen if data["learner"].get("C") == entries.BY_VALIDATION]
    return [
        Stage("choosing C", [choose_task(study, data) for data in to_choose]),
        Stage("training all splits", [task for data in chosen for task in train_tasks(study, data)]),
        Stage("measuring class distances", [distances_task(study, data) for data in chosen]),
        Stage("sweeping all assignments", [sweep_task(study, data, code) for data in chosen for code in codebooks]),
        Stage("sweeping more codebooks", [task for data in chosen for task in draw_tasks(study, data)]),
    ]


def drawn_codebooks(study: Study, data_name: str) -> list[dict[str, Any]]:
    """The codebooks of the ``draws`` of a study on a data set, one per seed, as entries like its ``codebooks``."""
    draws = study.options.get("draws")
    if draws is None or data_name not in draws["data"]:
        return []
    common = {"codebook": draws["codebook"], "options": dict(draws.get("options", {}))}
    return [{"name": f"{draws['name']}-seed-{seed}", **common, "seed": seed} for seed in draws["seeds"]]


def choose_task(study: Study, data: Mapping[str, Any]) -> Task:
    """The task that chooses C for a data set."""
    return Task(CHOOSE, _samples(study, data), label=f"{data['name']}, C")


def train_tasks(study: Study, data: Mapping[str, Any]) -> list[Task]:
    """The tasks that train all splits of a data set, some splits each."""
    return _train_tasks(_samples(study, data), int(study.option("splits_per_task")), data.get("seconds", 1.0))


def _train_tasks(samples: Mapping[str, Any], per_task: int, weight: float = 1.0) -> list[Task]:
    last, name, tasks = dichotomies.n_splits(DATASETS[samples["data"]].n_classes), samples["data"], []
    for first in range(1, last + 1, per_task):
        end = min(first + per_task - 1, last)
        parameters = {**samples, "first_split": first, "last_split": end}
        tasks.append(Task(TRAIN, parameters, label=f"{name}, splits {first} to {end}", weight=weight))
    return tasks


def distances_task(study: Study, data: Mapping[str, Any]) -> Task:
    """The task that measures how far apart the classes of a data set are."""
    parameters = _samples(study, data, confusion=data["confusion"])
    return Task(DISTANCES, parameters, label=f"{data['name']}, class distances")


def sweep_task(study: Study, data: Mapping[str, Any], code: Mapping[str, Any]) -> Task:
    """The task that tests all assignments of a codebook on a data set."""
    parameters = _samples(study, data, "splits_per_task", confusion=data["confusion"], codebook=dict(code))
    return Task(SWEEP, parameters, label=f"{data['name']}, {code['name']}", weight=10.0 + data.get("seconds", 1.0))


def draw_tasks(study: Study, data: Mapping[str, Any]) -> list[Task]:
    """The tasks that test all assignments of further codebooks of one kind."""
    return [sweep_task(study, data, code) for code in drawn_codebooks(study, data["name"])]


def _samples(study: Study, data: Mapping[str, Any], *options: str, **more: Any) -> dict[str, Any]:
    """The parameters that determine the samples and the learner."""
    return entries.samples_of(study, data, *options, learner=dict(data["learner"]), **more)


def _samples_of(task: Task, *names: str) -> dict[str, Any]:
    """Those parameters of a task that determine its samples and its learner, and some more."""
    known = ("data", "n_test", "scaling", "learner", "seed", *names)
    return {name: task.parameters[name] for name in known if name in task.parameters}


def _learner(task: Task, workspace: Workspace) -> dict[str, Any]:
    """The learner of a task, with the C that was chosen for it."""
    learner = dict(task.parameters["learner"])
    if learner.get("C") == entries.BY_VALIDATION:
        chosen = Task(CHOOSE, _samples_of(task), label=f"{task.parameters['data']}, C")
        learner["C"] = workspace.journal.result(chosen)["C"]
    return learner


def run_choose(task: Task, workspace: Workspace) -> Outcome:
    """Choose C by cross-validated accuracy of one-vs-rest on the training samples; the smallest of equals."""
    from sklearn.model_selection import StratifiedKFold

    problem, seed = dichotomies.problem_of(task.parameters, workspace.data_home), task.parameters["seed"]
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=seed).split(problem.X_train, problem.y_train)
    n_correct = np.zeros(len(CANDIDATES), dtype=np.intp)
    for learned, judged in folds:
        X, y = problem.X_train, problem.y_train
        fold = dichotomies.Problem(X[learned], y[learned], X[judged], y[judged], problem.class_names)
        for place, C in enumerate(CANDIDATES):
            learner = {**task.parameters["learner"], "C": C}
            n_correct[place] += (
                dichotomies.one_vs_rest_margins(fold, learner, seed)[1].argmax(axis=1) == fold.y_test
            ).sum()
    accuracies = 100 * n_correct / len(problem.y_train)
    return Outcome({"C": CANDIDATES[int(accuracies.argmax())], "accuracies": accuracies.tolist()})


def run_train(task: Task, workspace: Workspace) -> Outcome:
    """Train some splits; keep their margins on the test samples and their mean losses on the training samples."""
    given = task.parameters
    problem = dichotomies.problem_of(task.parameters, workspace.data_home)
    splits = np.arange(given["first_split"], given["last_split"] + 1)
    train, test = dichotomies.train_splits(problem, splits, _learner(task, workspace), given["seed"])
    signs = dichotomies.split_signs(splits, problem.n_classes)[problem.y_train]
    z = np.asarray(signs * train.astype(np.float64), dtype=np.float64)
    hinge = get_loss("hinge")(z).mean(axis=0)
    errors = (z <= 0).mean(axis=0)
    return Outcome(
        {"mean_hinge": float(hinge.mean()), "mean_error": float(errors.mean())},
        {"margins": np.ascontiguousarray(test.T), "losses": hinge},
    )


def run_distances(task: Task, workspace: Workspace) -> Outcome:
    """Measure all distances between the classes."""
    given = task.parameters
    problem = dichotomies.problem_of(task.parameters, workspace.data_home)
    X, y = problem.X_train, problem.y_train
    if given["confusion"] == "train":
        confusion: Any = class_distances.confusion_distances(
            dichotomies.one_vs_rest_confusion(problem, _learner(task, workspace), given["seed"])
        )
    else:
        from sklearn.multiclass import OneVsRestClassifier
        from sklearn.tree import DecisionTreeClassifier

        options = {key: value for key, value in given["learner"].items() if key != "name"}
        estimator = OneVsRestClassifier(DecisionTreeClassifier(**options, random_state=given["seed"]))
        confusion = class_distances.learned_confusion_distances(
            X, y, estimator=estimator, counted=given["confusion"], n_folds=8, rng=given["seed"]
        )
    arrays = {
        "confusion": confusion.matrix(),
        "means": class_distances.mean_distances(X, y).matrix(),
        "learnability": class_distances.learnability_distances(X, y, rng=given["seed"]).matrix(),
    }
    return Outcome({}, arrays)


def run_sweep(task: Task, workspace: Workspace) -> Outcome:
    """Test every assignment of a codebook."""
    given = task.parameters
    problem = dichotomies.problem_of(task.parameters, workspace.data_home)
    distances = load_distances(task, workspace)
    codebook = entries.make_codebook(given["codebook"], problem.n_classes, distances)
    margins, losses = load_splits(task, workspace)
    ranks, kind_of_rank = sweeps.distinct_assignments(codebook)
    n_correct = sweeps.count_correct(codebook, margins, problem.y_test, ranks=ranks)[kind_of_rank]
    sweep = Sweep(codebook, n_correct, len(problem.y_test), losses, distances, problem.class_names)
    result = {"n_distinct": len(ranks), "codewords": codebook.matrix.tolist(), **sweep.summary()}
    return Outcome(result, {"n_correct": n_correct.astype(np.uint16 if len(problem.y_test) < 2**16 else np.int32)})


FUNCTIONS = {CHOOSE: run_choose, TRAIN: run_train, DISTANCES: run_distances, SWEEP: run_sweep}


def load_distances(task: Task, workspace: Workspace) -> dict[str, FloatArray]:
    """The distances between the classes that a sweep compares with."""
    source = Task(DISTANCES, _samples_of(task, "confusion"), label="class distances")
    return {name: np.array(workspace.load(source, name)) for name in (*METRICS, "learnability")}


def load_splits(task: Task, workspace: Workspace) -> tuple[FloatArray, FloatArray]:
    """The rounded margins (2**(K - 1), n_test) and the training losses (2**(K - 1),) of all splits of a sweep."""
    trained = _train_tasks(_samples_of(task), task.parameters["splits_per_task"])
    margins, losses = ([workspace.load(one, name) for one in trained] for name in ("margins", "losses"))
    raw = np.concatenate([np.zeros((1, margins[0].shape[1])), *margins])
    return sweeps.rounded_margins(raw, sweeps.MAX_BITS), np.concatenate([np.zeros(1), *losses])


def load_sweep(study: Study, data_name: str, code_name: str, workspace: Workspace) -> Sweep:
    """What a finished sweep found."""
    data, code = entry_of(study, "data", data_name), entry_of(study, "codebooks", code_name)
    task = sweep_task(study, data, code)
    result = workspace.journal.result(task)
    return Sweep(
        Codebook(np.array(result["codewords"], dtype=np.int8), name=code["codebook"]),
        workspace.load(task, "n_correct"),
        result["n_test"],
        load_splits(task, workspace)[1],
        load_distances(task, workspace),
        load_dataset(data_name, workspace.data_home).class_names,
    )


@dataclass(frozen=True, eq=False)
class Sweep:
    """How good every assignment of a codebook is.

    ``n_correct``: how many of the ``n_test`` samples each assignment gets right, in lexicographic order.
    ``split_losses``: the mean training loss of each split.
    """

    codebook: Codebook
    n_correct: NDArray[Any]
    n_test: int
    split_losses: FloatArray
    class_distances: Mapping[str, FloatArray]
    class_names: tuple[str, ...]

    @cached_property
    def accuracies(self) -> FloatArray:
        """Test accuracies in percent."""
        return np.asarray(self.n_correct * (100.0 / self.n_test))

    @property
    def best_rank(self) -> int:
        """The place of the most accurate assignment, the first of equals."""
        return int(self.n_correct.argmax())

    def values(self, predictor: str) -> FloatArray:
        """The average binary losses, the class-codeword scores of a distance, or the errors predicted by learnability.

        ``predictor`` is a name from ``PREDICTORS``. The values are in lexicographic order; low is good.
        """
        if predictor == "loss":
            return sweeps.average_losses(self.codebook, self.split_losses)
        if predictor == "learnability":
            distances = DenseDistances(self.class_distances["learnability"], signed=True)
            squares = all_scores(self.codebook, distances, squared=True)
            norms = np.linalg.norm(distances.matrix()) * np.linalg.norm(self.codebook.row_distances())
            # The mean squared error of least squares is -2F / n_bits, and the squared score is 2 - 2F / norms.
            return np.asarray((squares - 2) * norms / self.codebook.n_bits)
        return all_scores(self.codebook, self.class_distances[predictor])

    def summary(self) -> dict[str, Any]:
        """The numbers for tables, as JSON values."""
        quantiles = np.quantile(self.accuracies, [0.25, 0.5, 0.75])
        best, worst = int(self.n_correct.argmax()), int(self.n_correct.argmin())
        return {
            "n_assignments": len(self.n_correct),
            "n_test": self.n_test,
            "min_distance": self.codebook.min_distance,
            "worst": float(self.accuracies[worst]),
            "quartiles": [float(value) for value in quantiles],
            "mean": float(self.accuracies.mean()),
            "best": float(self.accuracies[best]),
            "worst_assignment": self._assignment(worst),
            "best_assignment": self._assignment(best),
            "predictors": {name: self._predictor_summary(name) for name in PREDICTORS},
        }

    def _predictor_summary(self, predictor: str) -> dict[str, Any]:
        values = self.values(predictor)
        slope, _, r_squared = regression(values, self.accuracies)
        if np.isnan(slope):
            return {"r_squared": None, "lowest": None, "highest": None, "slope": None}
        return {
            "r_squared": None if np.isnan(r_squared) else r_squared,
            "slope": slope,
            # Among equal values the first one.
            "lowest": float(self.accuracies[values.argmin()]),
            "highest": float(self.accuracies[values.argmax()]),
        }

    def averages(self, predictor: str) -> dict[str, float] | None:
        """The average accuracies of assignments with low and with high values of a predictor, in percent.

        "line": the ends of the regression line of accuracy on the predictor; "tenth" and "extreme": the means over the
        tenth and the thousandth of the assignments with the lowest and the highest values. Where a single assignment is
        good or bad by luck, these are not. None if the predictor is the same for all assignments.
        """
        values = self.values(predictor)
        slope, intercept, _ = regression(values, self.accuracies)
        if np.isnan(slope):
            return None
        ends = {
            "line": (float(intercept + slope * values.min()), float(intercept + slope * values.max())),
            "tenth": self._means_at_ends(values, TENTH),
            "extreme": self._means_at_ends(values, EXTREME_SHARE),
        }
        return {f"{name}_{end}": value for name, both in ends.items() for end, value in zip(ENDS, both, strict=True)}

    def _means_at_ends(self, values: FloatArray, share: float) -> tuple[float, float]:
        """The mean accuracies of the share of the assignments with the lowest and with the highest values."""
        n = max(round(share * len(values)), 1)
        parted = np.argpartition(values, [n - 1, len(values) - n])
        return float(self.accuracies[parted[:n]].mean()), float(self.accuracies[parted[-n:]].mean())

    def _assignment(self, rank: int) -> list[int]:
        n = self.codebook.n_codewords
        return [int(codeword) for codeword in nth_assignment(rank, n, n)]

    def lookup(self, codeword_of_class: list[int]) -> dict[str, Any]:
        """One assignment: its rank, its accuracy, how many are less and more accurate, and its predictors."""
        n = self.codebook.n_codewords
        if len(codeword_of_class) != n:
            raise ValueError(f"An assignment of {n} classes has {n} numbers. Got {len(codeword_of_class)}.")
        rank = sweeps.lexicographic_rank(codeword_of_class)
        return {
            "rank": rank,
            "n_correct": int(self.n_correct[rank]),
            "n_test": self.n_test,
            "accuracy": float(self.accuracies[rank]),
            "share_of_less_accurate": float((self.n_correct < self.n_correct[rank]).mean()),
            "n_less_accurate": int((self.n_correct < self.n_correct[rank]).sum()),
            "n_more_accurate": int((self.n_correct > self.n_correct[rank]).sum()),
            **{name: float(self.values(name)[rank]) for name in PREDICTORS},
        }
