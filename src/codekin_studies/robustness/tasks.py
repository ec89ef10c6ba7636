"""Robustness of every assignment by capacity: the configuration and the tasks of a study.

For each capacity, one least-squares fit gives the outputs of all splits, under every corruption. Sweeps count what all
assignments get right; attacks and small networks look at some, one of each stratum of the score.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from codekin.code import IntArray
from codekin.data import load_dataset
from codekin.decoding import MinimumLossDecoder
from codekin_studies import entries
from codekin_studies.configuration import Study, data_among
from codekin_studies.engine.schema import NUMBER, POSITIVE, TEXT, Entries, Keys, ListOf, OneOf, Place, Rule, whole
from codekin_studies.engine.workspace import Outcome, Stage, Task, Workspace
from codekin_studies.robustness import sweeping
from codekin_studies.robustness.attacks import Attack, Victims, survivors
from codekin_studies.robustness.comparing import COMPARE, PAIRS, run_compare, run_pairs
from codekin_studies.robustness.models import CORRUPTIONS, Floats, flipped_code_bits, train_network
from codekin_studies.splits.sweeps import MAX_BITS, coding_matrix_of

SHARE = Rule("a number from 0 to 1", lambda value: NUMBER.holds(value) and 0 <= value <= 1)

ATTACK, STRONGER, NETWORK = "robustness.attack", "robustness.stronger", "robustness.network"

N_STRONGER = 4
MORE_STEPS, MORE_RESTARTS = 4, 2
"""How many assignments are attacked once more at the two smallest radii, and with how many times the steps and
restarts."""

ATTACKED_PER_TASK, NETWORKS_PER_TASK = 50, 5
"""How many assignments a task attacks, or trains networks for: a killed run loses no more than these."""


def _radii_increase_and_the_first_is_plain(data: Mapping[str, Any], place: Place) -> None:
    if sorted(data["radii"]) != data["radii"]:
        raise place.at("radii").error(f"'{place.at('radii')}' must increase. Got {data['radii']} instead.")
    first = place.at("capacities", 0, "features")
    if data["capacities"][0]["features"]:
        rule = "must be 0, the plain features: their confusion is what scores are measured by"
        raise first.error(f"'{first}' {rule}. Got {data['capacities'][0]['features']} instead.")


def _codebooks_are_listed(content: Mapping[str, Any], place: Place) -> None:
    names = OneOf([code["name"] for code in content["codebooks"]])
    for number, data in enumerate(content["data"]):
        for chosen, name in enumerate(data.get("codebooks", [])):
            names.check(name, place.at("data", number, "codebooks", chosen))


CAPACITY = Keys(
    {"features": whole(0, 100_000), "n_attacked": entries.COUNT, "n_samples": entries.COUNT, "seconds": POSITIVE}
)

SCHEMA = entries.study_keys(
    {
        "seed": entries.SEED,
        "n_checked": entries.COUNT,
        "n_steps": entries.COUNT,
        "n_restarts": entries.COUNT,
        "corruptions": Keys(dict.fromkeys(CORRUPTIONS, SHARE)),
        "data": entries.data_entries(
            {
                "picture": ListOf(whole(1), length=3),
                "ridge": POSITIVE,
                "width": POSITIVE,
                "transfer": ListOf(POSITIVE),
                "radii": ListOf(POSITIVE),
                "network": Keys(dict.fromkeys(("n_assignments", "n_hidden", "n_epochs", "n_samples"), entries.COUNT)),
                "capacities": Entries(CAPACITY, known_by=(("features",),)),
            },
            {"n_swept": entries.COUNT, "codebooks": ListOf(TEXT)},
            _radii_increase_and_the_first_is_plain,
        ),
        "codebooks": entries.codebook_entries(),
    },
    dependency=_codebooks_are_listed,
)


def check(study: Study, data_names: list[str], data_home: Path | None) -> None:
    """Raise unless the samples are pictures of the given sizes, and the codebooks are available."""
    entries.check_entries(study, data_names, data_home, most_bits=MAX_BITS)
    for data, place in entries.placed_data(study, data_names):
        _check_pictures(data, place, data_home)


def _check_pictures(data: Mapping[str, Any], place: Place, data_home: Path | None) -> None:
    dataset = load_dataset(data["name"], data_home)
    n_features = prod(dataset.X.shape[1:])
    if prod(data["picture"]) != n_features:
        wanted = f"height, width and channels of {n_features} features"
        raise place.at("picture").wrong(wanted, data["picture"])
    n_test = data.get("n_test") or (0 if dataset.test is None else len(dataset.test.y))
    if data.get("n_swept", 1) > n_test:
        raise place.at("n_swept").wrong(f"at most the number of test samples, {n_test}", data["n_swept"])
    n_swept = data.get("n_swept", n_test)
    for where, table in (("network", data["network"]), *(("capacities", one) for one in data["capacities"])):
        if table["n_samples"] > n_swept:
            wanted = f"at most the number of samples in sweeps, {n_swept}"
            raise place.at(where).error(f"'{place.at(where)}.n_samples' must be {wanted}. Got {table['n_samples']}.")


def stages(study: Study, data_names: list[str]) -> list[Stage]:
    """Fits and corrupted samples, sweeps, comparisons, matched pairs, attacks and networks."""
    chosen = data_among(study, data_names)
    settings = [one for data in chosen for capacity in data["capacities"] for one in settings_of(study, data, capacity)]
    fits = {task.key: task for one in settings for task in [one.respond()]}
    scores = [sweeping.score_task(one.given()) for one in settings if not one.capacity["features"]]
    attacks = [task for one in settings for task in one.attacks()]
    networks = [task for data in chosen for one in settings_of(study, data) for task in one.networks()]
    return [
        Stage("fitting and corrupting", list(fits.values())),
        Stage("scoring all assignments", scores),
        Stage("sweeping all assignments", [task for one in settings for task in one.sweeps().values()]),
        Stage("comparing clean and corrupted", [one.compare() for one in settings]),
        Stage("matching pairs", [one.pairs() for one in settings]),
        Stage("attacking", [*attacks, *(one.stronger() for one in settings)]),
        Stage("training networks", networks),
    ]


@dataclass(frozen=True)
class Setting:
    """A data set, a capacity and a codebook, and the tasks that examine them."""

    study: Study
    data: Mapping[str, Any]
    capacity: Mapping[str, Any]
    code: Mapping[str, Any]

    def _label(self, *more: str) -> str:
        return ", ".join([self.data["name"], f"{self.capacity['features']:,} features", *more])

    def _samples(self) -> dict[str, Any]:
        """The parameters that determine responses."""
        given = {key: self.data[key] for key in ("picture", "ridge", "width", "transfer")}
        more = {"n_swept": self.data.get("n_swept"), "features": self.capacity["features"]}
        return entries.samples_of(self.study, self.data, "corruptions", "n_steps", **given, **more)

    def given(self, *options: str, **more: Any) -> dict[str, Any]:
        """The parameters of tasks with this codebook."""
        named = {name: self.study.option(name) for name in options}
        return {**self._samples(), "codebook": dict(self.code), **named, **more}

    def respond(self) -> Task:
        """Fit the capacity and look at the corrupted samples."""
        return Task(sweeping.RESPOND, self._samples(), self._label(), self.capacity["seconds"])

    def sweeps(self) -> dict[str, Task]:
        """Test all assignments under each condition, by its name."""
        given, name = self.given("n_checked"), self.code["name"]
        return {
            condition: Task(sweeping.SWEEP, {**given, "condition": condition}, self._label(name, condition), 8.0)
            for condition in sweeping.conditions(given)
        }

    def compare(self) -> Task:
        """Compare accuracies under all conditions with clean ones."""
        return Task(COMPARE, self.given("n_checked"), self._label(self.code["name"]), 5.0)

    def pairs(self) -> Task:
        """Compare assignments of equal training loss and different score."""
        return Task(PAIRS, self.given("n_checked"), self._label(self.code["name"], "pairs"), 5.0)

    def attacks(self) -> list[Task]:
        """Attack some assignments, stratified by score."""
        given, tasks = self._attacked(), []
        for first, last in _ranges(given["n_attacked"], ATTACKED_PER_TASK):
            label = self._label(self.code["name"], f"attacks on {first} to {last}")
            tasks.append(Task(ATTACK, {**given, "first": first, "last": last}, label, 10.0))
        return tasks

    def stronger(self) -> Task:
        """Attack a few assignments with more steps and restarts."""
        return Task(STRONGER, self._attacked(), self._label(self.code["name"], "more steps"), 10.0)

    def _attacked(self) -> dict[str, Any]:
        numbers = {name: self.capacity[name] for name in ("n_attacked", "n_samples")}
        return self.given("n_restarts", radii=self.data["radii"], **numbers)

    def networks(self) -> list[Task]:
        """Train networks for some assignments, stratified by score, corrupt and attack them."""
        network, tasks = dict(self.data["network"]), []
        given = self.given("n_restarts", radii=self.data["radii"], network=network)
        for first, last in _ranges(network["n_assignments"], NETWORKS_PER_TASK):
            label = f"{self.data['name']}, networks, {self.code['name']}, from {first}"
            tasks.append(Task(NETWORK, {**given, "first": first, "last": last}, label, 20.0))
        return tasks


def settings_of(study: Study, data: Mapping[str, Any], capacity: Mapping[str, Any] | None = None) -> list[Setting]:
    """A setting for each codebook of a data set: those it names, or all; of the plain features by default."""
    names = data.get("codebooks")
    chosen = [code for code in study.option("codebooks") if names is None or code["name"] in names]
    return [Setting(study, data, capacity or {"features": 0}, code) for code in chosen]


def _ranges(n: int, size: int) -> list[tuple[int, int]]:
    """The first and last of ``n`` things in parts of at most this size."""
    return [(first, min(first + size, n) - 1) for first in range(0, n, size)]


def run_attack(task: Task, workspace: Workspace) -> Outcome:
    """Attack some assignments of least-squares bits."""
    given = task.parameters
    ranks = sweeping.strata_of(given, given["n_attacked"], workspace)
    places = np.arange(len(ranks))[given["first"] : given["last"] + 1]
    is_right = _survivors(given, workspace, ranks[places])
    accuracies = 100 * is_right.mean(axis=2)
    arrays: dict[str, NDArray[Any]] = {"ranks": ranks[places], "is_right": np.packbits(is_right, axis=2)}
    return Outcome({"n_samples": is_right.shape[2], "mean": accuracies.mean(axis=0).tolist()}, arrays)


def run_stronger(task: Task, workspace: Workspace) -> Outcome:
    """Attack a few assignments with the usual numbers of steps and restarts, and with many more."""
    given = task.parameters
    ranks = sweeping.strata_of(given, min(N_STRONGER, given["n_attacked"]), workspace)
    radii = given["radii"][:2]
    found = {
        "usual": _survivors({**given, "radii": radii}, workspace, ranks),
        "more": _survivors({**given, "radii": radii}, workspace, ranks, MORE_STEPS, MORE_RESTARTS),
    }
    accuracies = {name: (100 * is_right.mean(axis=(0, 2))).tolist() for name, is_right in found.items()}
    return Outcome({"radii": radii, "n_assignments": len(ranks), **accuracies})


def _survivors(
    given: Mapping[str, Any], workspace: Workspace, ranks: IntArray, more_steps: int = 1, more_restarts: int = 1
) -> NDArray[np.bool_]:
    """What survives of the samples of a task, with a multiple of its steps and restarts."""
    codebook, problem = sweeping.codebook_of(given, workspace), sweeping.swept_problem(given, workspace.data_home)
    matrices = [coding_matrix_of(codebook, int(rank)) for rank in ranks]
    victims = Victims.of_outputs(sweeping.load_model(given, problem, workspace), matrices)
    numbers = more_steps * given["n_steps"], more_restarts * given["n_restarts"]
    attack = Attack(*numbers, sweeping.box_of(problem), given["seed"])
    n = given["n_samples"]
    return survivors(victims, problem.X_test[:n], problem.y_test[:n], given["radii"], attack)


def run_network(task: Task, workspace: Workspace) -> Outcome:
    """Train a network per assignment; count what it gets right under every condition and radius."""
    given, network = task.parameters, task.parameters["network"]
    problem = sweeping.swept_problem(given, workspace.data_home)
    codebook = sweeping.codebook_of(given, workspace)
    ranks = sweeping.strata_of(given, network["n_assignments"], workspace)
    places = np.arange(len(ranks))[given["first"] : given["last"] + 1]
    shown = sweeping.altered_samples(given, problem, sweeping.load_model(given, problem, workspace))
    n, attack = (
        network["n_samples"],
        Attack(given["n_steps"], given["n_restarts"], sweeping.box_of(problem), given["seed"]),
    )
    is_right = np.empty((len(places), len(sweeping.conditions(given)), len(problem.y_test)), dtype=np.bool_)
    survived = np.empty((len(places), 1 + len(given["radii"]), n), dtype=np.bool_)
    for number, place in enumerate(places):
        matrix = coding_matrix_of(codebook, int(ranks[place]))
        sizes = {"n_hidden": network["n_hidden"], "n_epochs": network["n_epochs"]}
        rng = np.random.default_rng([given["seed"], sweeping.FLIPS, 2])
        model = train_network(problem.X_train, problem.y_train, matrix, **sizes, rng=rng)
        for row, condition in enumerate(sweeping.conditions(given)):
            margins = _margins_under(condition, model, shown, given)
            is_right[number, row] = MinimumLossDecoder(matrix, "hinge").decode(margins) == problem.y_test
        victims = Victims.of_margins(model, matrix)
        survived[number] = survivors(victims, problem.X_test[:n], problem.y_test[:n], given["radii"], attack)[0]
    arrays: dict[str, NDArray[Any]] = {"ranks": ranks[places], "is_right": np.packbits(is_right, axis=2)}
    result = {"clean": (100 * is_right[:, 0].mean(axis=1)).tolist(), "n_test": len(problem.y_test), "n_samples": n}
    return Outcome(result, {**arrays, "survived": np.packbits(survived, axis=2)})


def _margins_under(condition: str, model: Any, shown: Mapping[str, Floats], given: Mapping[str, Any]) -> Any:
    rates = given["corruptions"]
    if condition == "code_bits":
        rng = np.random.default_rng([given["seed"], sweeping.FLIPS, 0])
        return flipped_code_bits(model(shown["clean"]), rates["code_bits"], rng)
    if condition == "weight_bits":
        rng = np.random.default_rng([given["seed"], sweeping.FLIPS, 1])
        return model.with_failing_memory(rates["weight_bits"], rng)(shown["clean"])
    return model(shown[condition])


FUNCTIONS = {ATTACK: run_attack, STRONGER: run_stronger, NETWORK: run_network, COMPARE: run_compare, PAIRS: run_pairs}
FUNCTIONS |= {sweeping.RESPOND: sweeping.run_respond, sweeping.SCORE: sweeping.run_score}
FUNCTIONS |= {sweeping.SWEEP: sweeping.run_sweep}
