"""Fit a capacity, look at clean and corrupted samples, and count what every assignment gets right under a condition."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import factorial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from codekin.assignments.exact import all_scores
from codekin.classes.distances import confusion_distances
from codekin.code import Codebook, FloatArray, IntArray
from codekin.decoding import MinimumLossDecoder
from codekin.decoding.losses import get_loss
from codekin_studies.engine.workspace import Outcome, Task, Workspace
from codekin_studies.entries import make_codebook
from codekin_studies.robustness import models
from codekin_studies.robustness.attacks import Attack, Victims, crafted
from codekin_studies.splits.dichotomies import Problem, load_problem, n_splits, split_signs, splits_of
from codekin_studies.splits.sweeps import MAX_BITS, coding_matrix_of, count_correct, rounded_margins, spread_of

SAMPLES = ("data", "n_test", "n_swept", "picture", "ridge", "width", "transfer", "features", "seed")
OPTIONS = ("corruptions", "n_steps")
"""The parameters of the task."""

FEATURES, NOISE, CHOICE, FLIPS = range(4)
"""Streams of random numbers beside the seed, which are the same for all capacities except the first."""

RESPOND, SCORE, SWEEP = "robustness.respond", "robustness.score", "robustness.sweep"

CLEAN = "clean"


def swept_problem(given: Mapping[str, Any], data_home: Path | None) -> Problem:
    """The data set with as many of its test samples as sweeps look at, in random order."""
    problem = load_problem(given["data"], given["n_test"], given["seed"], data_home)
    chosen = np.random.default_rng([given["seed"], CHOICE]).permutation(len(problem.y_test))[: given["n_swept"]]
    X_train, X_test = (X.astype(np.float32, copy=False) for X in (problem.X_train, problem.X_test[chosen]))
    return replace(problem, X_train=X_train, X_test=X_test, y_test=problem.y_test[chosen])


def box_of(problem: Problem) -> models.Box:
    """The smallest and the largest value of a pixel in training samples."""
    return float(problem.X_train.min()), float(problem.X_train.max())


def load_model(given: Mapping[str, Any], problem: Problem, workspace: Workspace) -> models.RidgeOutputs:
    """The model of a finished task."""
    task = respond_task(given)
    weights, intercept = (np.array(workspace.load(task, name)) for name in ("weights", "intercept"))
    return models.RidgeOutputs(_features(given, problem), weights, intercept)


def respond_task(given: Mapping[str, Any], *, features: int | None = None) -> Task:
    """The task whose responses another task uses; with the features of that one unless others are given."""
    parameters = {name: given[name] for name in (*SAMPLES, *OPTIONS)}
    return Task(RESPOND, parameters if features is None else {**parameters, "features": features})


def _features(given: Mapping[str, Any], problem: Problem) -> models.RandomFeatures:
    rng = np.random.default_rng([given["seed"], FEATURES, given["features"]])
    return models.RandomFeatures.drawn(problem.X_train, given["features"], width=given["width"], rng=rng)


def run_respond(task: Task, workspace: Workspace) -> Outcome:
    """Fit the outputs; keep them for clean, corrupted and transferred samples, and the training losses of splits."""
    given = task.parameters
    problem = swept_problem(given, workspace.data_home)
    n_classes, features = problem.n_classes, _features(given, problem)
    model = models.fit_ridge(features, problem.X_train, problem.y_train, n_classes, ridge=given["ridge"])
    pictures = altered_samples(given, problem, model)
    arrays: dict[str, Any] = {f"outputs-{name}": model(X) for name, X in pictures.items()}
    accuracies = {
        name.removeprefix("outputs-"): 100 * float((outputs.argmax(axis=1) == problem.y_test).mean())
        for name, outputs in arrays.items()
    }
    signs = split_signs(np.arange(n_splits(n_classes) + 1), n_classes)
    rng = np.random.default_rng([given["seed"], FLIPS, 1])
    arrays["margins-weight_bits"] = models.margins_of_flipped_weights(
        model, signs, problem.X_test, given["corruptions"]["weight_bits"], rng
    )
    trained = model(problem.X_train)
    confusion = np.zeros((n_classes, n_classes))
    np.add.at(confusion, (problem.y_train, trained.argmax(axis=1)), 1)
    arrays |= {"weights": model.weights, "intercept": model.intercept, "y": problem.y_test, "confusion": confusion}
    arrays |= _split_losses(trained, problem.y_train, signs)
    trained_accuracy = 100 * float(np.trace(confusion) / confusion.sum())
    return Outcome({"n_test": len(problem.y_test), "one_vs_rest": accuracies, "train": trained_accuracy}, arrays)


def altered_samples(given: Mapping[str, Any], problem: Problem, model: models.RidgeOutputs) -> dict[str, models.Floats]:
    """The test samples by condition: clean, corrupted, and attacked by way of a one-vs-rest model."""
    X, box = problem.X_test, box_of(problem)
    shown = X.reshape(len(X), *given["picture"])
    found = {"clean": X}
    for number, (name, corrupt) in enumerate(models.PICTURE_CORRUPTIONS.items()):
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


def _split_losses(outputs: models.Floats, y: IntArray, signs: Any) -> dict[str, FloatArray]:
    """The mean hinge losses and the mean squared errors of all splits on training samples."""
    hinge, total, squares = get_loss("hinge"), np.zeros(signs.shape[1]), np.zeros(signs.shape[1])
    for start in range(0, len(y), 8_192):
        block = slice(start, start + 8_192)
        z = signs[y[block]] * (outputs[block].astype(np.float64) @ signs)
        total += hinge(z).sum(axis=0)
        squares += np.square(1 - z).sum(axis=0)
    return {"hinge": total / len(y), "squares": squares / len(y)}


def conditions(given: Mapping[str, Any]) -> list[str]:
    """The names of all conditions that assignments are swept under, the clean one first."""
    transferred = [transfer_name(radius) for radius in given["transfer"]]
    return [CLEAN, *models.PICTURE_CORRUPTIONS, "code_bits", "weight_bits", *transferred]


def codebook_of(given: Mapping[str, Any], workspace: Workspace) -> Codebook:
    """The codebook of a task."""
    return make_codebook(given["codebook"], len(plain_confusion(given, workspace)), {})


def plain_confusion(given: Mapping[str, Any], workspace: Workspace) -> FloatArray:
    """How often one-vs-rest least squares of the plain features confuses training samples; rows are true classes."""
    return np.array(workspace.load(respond_task(given, features=0), "confusion"))


def score_task(given: Mapping[str, Any]) -> Task:
    """The task that scores all assignments of the codebook of another task."""
    return Task(SCORE, {**respond_task(given, features=0).parameters, "codebook": given["codebook"]})


def run_score(task: Task, workspace: Workspace) -> Outcome:
    """Score all assignments by the confusion of the plain features, whatever the capacity; order them by that."""
    given = task.parameters
    scores = all_scores(codebook_of(given, workspace), confusion_distances(plain_confusion(given, workspace)))
    return Outcome({}, {"scores": scores, "order": np.argsort(scores, kind="stable").astype(np.uint32)})


def scores_of(given: Mapping[str, Any], workspace: Workspace) -> FloatArray:
    """The class-codeword scores of all assignments of the codebook of a task."""
    return np.array(workspace.load(score_task(given), "scores"))


def strata_of(given: Mapping[str, Any], n: int, workspace: Workspace) -> IntArray:
    """The ranks of ``n`` assignments of the codebook of a task, one of each stratum of the score."""
    return strata(workspace.load(score_task(given), "order"), n, given["seed"])


def strata(order: NDArray[Any], n: int, seed: int) -> IntArray:
    """The ranks of ``n`` assignments by rising score, one drawn from each of ``n`` strata of about the same size.

    ``order`` has all ranks by rising score. The first and the last are those of the lowest and the highest score.

    >>> strata(np.argsort([0.1, 0.9, 0.5, 0.4, 0.3, 0.8]), 3, 0)[[0, -1]].tolist()
    [0, 1]
    """
    n = min(n, len(order))
    ends = np.linspace(0, len(order), n + 1).astype(np.int64)
    drawn = np.random.default_rng(seed).integers(ends[:-1], ends[1:])
    drawn[0], drawn[-1] = 0, len(order) - 1
    return np.asarray(order[drawn], dtype=np.int64)


def margins_under(condition: str, given: Mapping[str, Any], workspace: Workspace) -> FloatArray:
    """The rounded margins (n_splits + 1, n_samples) of all splits under a condition; row 0 is not used."""
    task = respond_task(given)
    if condition == "weight_bits":
        return rounded_margins(workspace.load(task, "margins-weight_bits"), MAX_BITS)
    is_flipped = condition == "code_bits"
    outputs = np.array(workspace.load(task, f"outputs-{CLEAN if is_flipped else condition}"), dtype=np.float64)
    n_classes = outputs.shape[1]
    margins = split_signs(np.arange(2 ** (n_classes - 1)), n_classes).T @ outputs.T
    if is_flipped:
        rng = np.random.default_rng([given["seed"], FLIPS, 0])
        margins = models.flipped_code_bits(margins, given["corruptions"]["code_bits"], rng)
    return rounded_margins(margins, MAX_BITS)


def decoded(codebook: Codebook, ranks: IntArray, margins: FloatArray) -> NDArray[np.uint8]:
    """What some assignments take the samples for, by the decoder itself, (n_assignments, n_samples)."""
    found = np.empty((len(ranks), margins.shape[1]), dtype=np.uint8)
    for place, rank in enumerate(ranks):
        coding_matrix = coding_matrix_of(codebook, int(rank))
        splits, sides = splits_of(coding_matrix)
        found[place] = MinimumLossDecoder(coding_matrix, "hinge").decode((margins[splits] * sides[:, None]).T)
    return found


def run_sweep(task: Task, workspace: Workspace) -> Outcome:
    """Test every assignment of a codebook under a condition; decode some of them, one from each stratum of the score.

    Raises if the counts of the sweep differ from those of the decoder.
    """
    given = task.parameters
    codebook = codebook_of(given, workspace)
    margins = margins_under(given["condition"], given, workspace)
    y = np.array(workspace.load(respond_task(given), "y"))
    n_correct = count_correct(codebook, margins, y)
    ranks = strata_of(given, given["n_checked"], workspace)
    predicted = decoded(codebook, ranks, margins)
    n_different = int(((predicted == y).sum(axis=1) != n_correct[ranks]).sum())
    if n_different:
        raise ArithmeticError(
            f"{n_different} of {len(ranks)} counts of a sweep differ from the decoder's: {task.label}."
        )
    result = {
        "n_assignments": factorial(codebook.n_codewords),
        "n_test": len(y),
        "n_checked": len(ranks),
        "min_distance": codebook.min_distance,
        "n_bits": codebook.n_bits,
        **spread_of(n_correct * (100 / len(y))),
    }
    arrays = {"n_correct": n_correct.astype(np.uint16 if len(y) < 2**16 else np.int32), "predicted": predicted}
    return Outcome(result, {**arrays, "ranks": ranks})


def accuracies_of(sweep: Task, workspace: Workspace) -> FloatArray:
    """The accuracies of all assignments in a finished sweep, in percent."""
    n_test = workspace.load(sweep, "predicted").shape[1]
    return np.asarray(workspace.load(sweep, "n_correct") * (100 / n_test))
