"""Fit one capacity, and compute what it says of clean and corrupted test samples."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from codekin.coding import FloatArray, IntArray
from codekin.decoding.losses import get_loss
from codekin_studies.engine.runner import Outcome
from codekin_studies.engine.task import Task
from codekin_studies.engine.workspace import Workspace
from codekin_studies.robustness.attacks import Attack, Victims, crafted
from codekin_studies.robustness.corruptions import PICTURE_CORRUPTIONS, Box, margins_of_flipped_weights
from codekin_studies.robustness.ridge import Floats, RandomFeatures, RidgeOutputs, fit_ridge
from codekin_studies.splits.dichotomies import Problem, load_problem, n_splits, split_signs

RESPOND = "robustness.respond"

SAMPLES = ("data", "n_test", "n_swept", "picture", "ridge", "width", "transfer", "features", "seed")
OPTIONS = ("corruptions", "n_steps")
"""The parameters of the task."""

FEATURES, NOISE, CHOICE, FLIPS = range(4)
"""Streams of random numbers beside the seed, which are the same for all capacities except the first."""


def swept_problem(given: Mapping[str, Any], data_home: Path | None) -> Problem:
    """The data set with as many of its test samples as sweeps look at, in random order."""
    problem = load_problem(given["data"], given["n_test"], given["seed"], data_home)
    chosen = np.random.default_rng([given["seed"], CHOICE]).permutation(len(problem.y_test))[: given["n_swept"]]
    return Problem(
        problem.X_train.astype(np.float32, copy=False),
        problem.y_train,
        problem.X_test[chosen].astype(np.float32, copy=False),
        problem.y_test[chosen],
        problem.class_names,
    )


def box_of(problem: Problem) -> Box:
    """The smallest and the largest value of a pixel in training samples."""
    return float(problem.X_train.min()), float(problem.X_train.max())


def load_model(given: Mapping[str, Any], problem: Problem, workspace: Workspace) -> RidgeOutputs:
    """The model of a finished task."""
    task = respond_task(given)
    weights, intercept = (np.array(workspace.load(task, name)) for name in ("weights", "intercept"))
    return RidgeOutputs(_features(given, problem), weights, intercept)


def respond_task(given: Mapping[str, Any], *, features: int | None = None) -> Task:
    """The task whose responses another task uses; with the features of that one unless others are given."""
    parameters = {name: given[name] for name in (*SAMPLES, *OPTIONS)}
    return Task(RESPOND, parameters if features is None else {**parameters, "features": features})


def _features(given: Mapping[str, Any], problem: Problem) -> RandomFeatures:
    rng = np.random.default_rng([given["seed"], FEATURES, given["features"]])
    return RandomFeatures.drawn(problem.X_train, given["features"], width=given["width"], rng=rng)


def run_respond(task: Task, workspace: Workspace) -> Outcome:
    """Fit the outputs; keep them for clean, corrupted and transferred samples, and the training losses of splits."""
    given = task.parameters
    problem = swept_problem(given, workspace.data_home)
    n_classes = problem.n_classes
    model = fit_ridge(_features(given, problem), problem.X_train, problem.y_train, n_classes, ridge=given["ridge"])
    pictures = altered_samples(given, problem, model)
    arrays: dict[str, Any] = {f"outputs-{name}": model(X) for name, X in pictures.items()}
    accuracies = {
        name.removeprefix("outputs-"): 100 * float((outputs.argmax(axis=1) == problem.y_test).mean())
        for name, outputs in arrays.items()
    }
    signs = split_signs(np.arange(n_splits(n_classes) + 1), n_classes)
    rng = np.random.default_rng([given["seed"], FLIPS, 1])
    arrays["margins-weight_bits"] = margins_of_flipped_weights(
        model, signs, problem.X_test, given["corruptions"]["weight_bits"], rng
    )
    trained = model(problem.X_train)
    confusion = np.zeros((n_classes, n_classes))
    np.add.at(confusion, (problem.y_train, trained.argmax(axis=1)), 1)
    arrays |= {"weights": model.weights, "intercept": model.intercept, "y": problem.y_test, "confusion": confusion}
    arrays |= _split_losses(trained, problem.y_train, signs)
    trained_accuracy = 100 * float(np.trace(confusion) / confusion.sum())
    return Outcome({"n_test": len(problem.y_test), "one_vs_rest": accuracies, "train": trained_accuracy}, arrays)


def altered_samples(given: Mapping[str, Any], problem: Problem, model: RidgeOutputs) -> dict[str, Floats]:
    """The test samples by condition: clean, corrupted, and attacked by way of a one-vs-rest model."""
    X, box = problem.X_test, box_of(problem)
    shown = X.reshape(len(X), *given["picture"])
    found = {"clean": X}
    for number, (name, corrupt) in enumerate(PICTURE_CORRUPTIONS.items()):
        rng = np.random.default_rng([given["seed"], NOISE, number])
        found[name] = np.ascontiguousarray(corrupt(shown, given["corruptions"][name], box, rng).reshape(X.shape))
    reference = Victims.of_outputs(model, [2 * np.eye(problem.n_classes, dtype=np.int8) - 1])
    attack = Attack(given["n_steps"], 1, box, given["seed"])
    for radius in given["transfer"]:
        found[transfer_name(radius)] = crafted(reference, X, problem.y_test, radius, attack)
    return found


def transfer_name(radius: float) -> str:
    """The name of the condition of transferred attacks of a radius."""
    return f"transfer {radius:g}"


def _split_losses(outputs: Floats, y: IntArray, signs: Any) -> dict[str, FloatArray]:
    """The mean hinge losses and the mean squared errors of all splits on training samples."""
    hinge, total, squares = get_loss("hinge"), np.zeros(signs.shape[1]), np.zeros(signs.shape[1])
    for start in range(0, len(y), 8_192):
        block = slice(start, start + 8_192)
        z = signs[y[block]] * (outputs[block].astype(np.float64) @ signs)
        total += hinge(z).sum(axis=0)
        squares += np.square(1 - z).sum(axis=0)
    return {"hinge": total / len(y), "squares": squares / len(y)}
