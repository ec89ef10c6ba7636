"""Attack assignments of each stratum of the score, and train small networks on some."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from codekin.assignments.exhaustive import nth_assignment
from codekin.coding import Codebook, CodingMatrix, IntArray
from codekin.decoding import MinimumLossDecoder
from codekin_studies.engine.runner import Outcome
from codekin_studies.engine.task import Task
from codekin_studies.engine.workspace import Workspace
from codekin_studies.robustness.attacks import Attack, Victims, survivors
from codekin_studies.robustness.corruptions import flipped_code_bits
from codekin_studies.robustness.networks import train_network
from codekin_studies.robustness.responses import FLIPS, altered_samples, box_of, load_model, swept_problem
from codekin_studies.robustness.ridge import Floats
from codekin_studies.robustness.sweeping import codebook_of, conditions, strata_of

ATTACK, STRONGER, NETWORK = "robustness.attack", "robustness.stronger", "robustness.network"

N_STRONGER = 4
MORE_STEPS, MORE_RESTARTS = 4, 2
"""How many assignments are attacked once more at the two smallest radii, and with how many times the steps and
restarts."""


class Numbers(NamedTuple):
    """How many steps and starts an attack has."""

    n_steps: int
    n_restarts: int


def _coding_matrix(codebook: Codebook, rank: int) -> CodingMatrix:
    return codebook.matrix[nth_assignment(rank, codebook.n_codewords, codebook.n_codewords)]


def run_attack(task: Task, workspace: Workspace) -> Outcome:
    """Attack some assignments of least-squares bits."""
    given = task.parameters
    ranks = strata_of(given, given["n_attacked"], workspace)
    places = np.arange(len(ranks))[given["first"] : given["last"] + 1]
    is_right = _attacked(given, workspace, ranks[places])
    accuracies = 100 * is_right.mean(axis=2)
    arrays: dict[str, NDArray[Any]] = {"ranks": ranks[places], "is_right": np.packbits(is_right, axis=2)}
    return Outcome({"n_samples": is_right.shape[2], "mean": accuracies.mean(axis=0).tolist()}, arrays)


def run_stronger(task: Task, workspace: Workspace) -> Outcome:
    """Attack a few assignments with the usual numbers of steps and restarts, and with many more."""
    given = task.parameters
    ranks = strata_of(given, min(N_STRONGER, given["n_attacked"]), workspace)
    radii, steps, restarts = given["radii"][:2], MORE_STEPS * given["n_steps"], MORE_RESTARTS * given["n_restarts"]
    found = {
        "usual": _attacked({**given, "radii": radii}, workspace, ranks),
        "more": _attacked({**given, "radii": radii}, workspace, ranks, Numbers(steps, restarts)),
    }
    accuracies = {name: (100 * is_right.mean(axis=(0, 2))).tolist() for name, is_right in found.items()}
    return Outcome({"radii": radii, "n_assignments": len(ranks), **accuracies})


def _attacked(
    given: Mapping[str, Any], workspace: Workspace, ranks: IntArray, numbers: Numbers | None = None
) -> NDArray[np.bool_]:
    """What survives of the samples of a task, with its own numbers of steps and restarts unless others are given."""
    numbers = numbers or Numbers(given["n_steps"], given["n_restarts"])
    codebook, problem = codebook_of(given, workspace), swept_problem(given, workspace.data_home)
    matrices = [_coding_matrix(codebook, int(rank)) for rank in ranks]
    victims = Victims.of_outputs(load_model(given, problem, workspace), matrices)
    attack = Attack(*numbers, box_of(problem), given["seed"])
    n = given["n_samples"]
    return survivors(victims, problem.X_test[:n], problem.y_test[:n], given["radii"], attack)


def run_network(task: Task, workspace: Workspace) -> Outcome:
    """Train a network per assignment; count what it gets right under every condition and radius."""
    given, network = task.parameters, task.parameters["network"]
    problem = swept_problem(given, workspace.data_home)
    codebook = codebook_of(given, workspace)
    ranks = strata_of(given, network["n_assignments"], workspace)
    places = np.arange(len(ranks))[given["first"] : given["last"] + 1]
    shown = altered_samples(given, problem, load_model(given, problem, workspace))
    n, attack = network["n_samples"], Attack(given["n_steps"], given["n_restarts"], box_of(problem), given["seed"])
    is_right = np.empty((len(places), len(conditions(given)), len(problem.y_test)), dtype=np.bool_)
    survived = np.empty((len(places), 1 + len(given["radii"]), n), dtype=np.bool_)
    for number, place in enumerate(places):
        matrix = _coding_matrix(codebook, int(ranks[place]))
        sizes = {"n_hidden": network["n_hidden"], "n_epochs": network["n_epochs"]}
        rng = np.random.default_rng([given["seed"], FLIPS, 2])
        model = train_network(problem.X_train, problem.y_train, matrix, **sizes, rng=rng)
        for row, condition in enumerate(conditions(given)):
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
        rng = np.random.default_rng([given["seed"], FLIPS, 0])
        return flipped_code_bits(model(shown["clean"]), rates["code_bits"], rng)
    if condition == "weight_bits":
        rng = np.random.default_rng([given["seed"], FLIPS, 1])
        return model.with_failing_memory(rates["weight_bits"], rng)(shown["clean"])
    return model(shown[condition])
