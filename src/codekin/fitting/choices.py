"""From the user's parameters to the parts of the method: every choice is a name from a table or the object itself."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from codekin._system.messages import counted, near_name, suggestion
from codekin.assignments import AssignmentResult, assign
from codekin.assignments.direct import online_assignment
from codekin.assignments.policy import ASSIGNMENT_CHOICES, codes_of
from codekin.assignments.result import POLICIES
from codekin.assignments.solver import all_assignments_equal
from codekin.code import Assignment, Codebook
from codekin.code.codebook import symbol_parameters
from codekin.codebooks import CODEBOOKS
from codekin.decoding import LOSSES
from codekin.decoding.losses import get_loss
from codekin.fitting.classes import MAX_CLASSES_AS_MATRIX, Classes, is_array_like, missing_arguments, shown

CODEBOOK_ARGUMENTS = "n_bits, n_symbols, rng, class_distances, class_moments, column_trials and class_tree"
"""The possible arguments of a function that makes a codebook."""


def choose_codebook(
    choice: Any, n_bits: int | None, classes: Classes, rng: np.random.Generator, *, n_symbols: int = 2
) -> Codebook:
    """A codebook with at least as many codewords as there are classes.

    A function in ``CODEBOOKS`` names what it needs as parameters: ``n_bits``, ``n_symbols``, ``rng``,
    ``class_distances`` (a matrix), ``class_moments``, ``column_trials`` or ``class_tree``; it gets only these.

    - ``choice``: a name from ``CODEBOOKS``, a function like those in it, or the codewords.
    - ``n_bits``: how many bits; None for the codebook's own default.
    - ``n_symbols``: how many symbols a column may have.
    """
    check_codebook_choice(choice)
    if isinstance(choice, str) or (callable(choice) and not isinstance(choice, Codebook)):
        codebook = _make_codebook(choice, n_bits, n_symbols, classes, rng)
    else:
        codebook = choice if isinstance(choice, Codebook) else Codebook(choice, n_symbols=n_symbols)
        _check_n_bits(n_bits, codebook, "The given codebook")
    if codebook.n_codewords < classes.n_classes:
        raise ValueError(
            f"The codebook has {codebook.n_codewords} codewords, but the labels have {classes.n_classes} classes."
        )
    codebook.check_spare_codewords(classes.n_classes)
    return codebook


def _make_codebook(
    choice: str | Callable[..., Codebook],
    n_bits: int | None,
    n_symbols: int,
    classes: Classes,
    rng: np.random.Generator,
) -> Codebook:
    if isinstance(choice, str):
        make, name = CODEBOOKS[choice], choice
    else:
        make, name = choice, getattr(choice, "__name__", "given")
    wanted = inspect.signature(make).parameters
    arguments: dict[str, Any] = {**symbol_parameters(n_symbols)}
    if not arguments.keys() <= wanted.keys():
        raise ValueError(
            f"The {name} codebook has two symbols. Got n_symbols={n_symbols}; use 2, or {_names_of_symbols()}."
        )
    if "n_symbols" in wanted and wanted["n_symbols"].default is inspect.Parameter.empty:
        arguments["n_symbols"] = n_symbols
    if "n_bits" in wanted and n_bits is not None:
        arguments["n_bits"] = n_bits
    if "rng" in wanted:
        arguments["rng"] = rng
    if "class_distances" in wanted:
        matrix = classes.distances.matrix()
        # Learnability may be negative, which assignments support and designed codebooks do not.
        arguments["class_distances"] = classes.mean_distances() if (matrix < 0).any() else matrix
    if "class_moments" in wanted:
        arguments["class_moments"] = classes.moments
    if "column_trials" in wanted and classes.trials is not None:
        arguments["column_trials"] = classes.trials()
    if "class_tree" in wanted:
        # A tree is computed only for codebooks that need one.
        is_needed = wanted["class_tree"].default is inspect.Parameter.empty
        arguments["class_tree"] = classes.tree if is_needed else classes.distances.tree
    missing = missing_arguments(make, [classes.n_classes], arguments)
    if missing:
        raise ValueError(
            f"A function given as 'codebook' takes the number of classes and optionally {CODEBOOK_ARGUMENTS}. "
            f"Got {name}: {missing}."
        )
    try:
        made = make(classes.n_classes, **arguments)
    except ValueError as error:
        raise ValueError(
            str(error) if n_bits is None else f"{error} Got codebook={name!r}, n_bits={n_bits}."
        ) from error
    codebook = made if isinstance(made, Codebook) else Codebook(made, name=name, n_symbols=n_symbols)
    if "n_bits" not in wanted:
        _check_n_bits(n_bits, codebook, f"codebook={name!r}")
    return codebook


def _check_n_bits(n_bits: int | None, codebook: Codebook, what: str) -> None:
    """Raise if a codebook whose width is not a choice has another one than was asked for."""
    if n_bits not in (None, codebook.n_bits):
        has = f"{counted(codebook.n_bits, 'bit')} for {counted(codebook.n_codewords, 'class')}"
        raise ValueError(f"{what} has {has}. Got n_bits={n_bits}; leave it out, or choose another codebook.")


def _names_of_symbols() -> str:
    """The codebooks that can have more than two symbols."""
    names = [repr(name) for name, make in CODEBOOKS.items() if "n_symbols" in inspect.signature(make).parameters]
    return f"one of {', '.join(names)}"


def choose_assignment(
    choice: Any, codebook: Codebook, classes: Classes, rng: np.random.Generator
) -> tuple[Assignment, AssignmentResult | None]:
    """An assignment of codewords to classes, and the result of the search that found it, if there was one.

    ``choice``: a policy, a name from ``ASSIGNMENTS``, a function of codebook and distances, or the assignment. The
    policy "learnability" is :func:`learnability_assignment`, "online" is LTLS's own; all others follow the distances of
    ``classes``.
    """
    check_assignment_choice(choice)
    if isinstance(choice, str):
        return _assignment_by_name(choice, codebook, classes, rng)
    if callable(choice) and not isinstance(choice, Assignment | AssignmentResult):
        choice = choice(codebook, classes.distances, rng=rng)
    if isinstance(choice, AssignmentResult):
        return choice.assignment, choice
    assignment = choice if isinstance(choice, Assignment) else Assignment(choice)
    if assignment.n_classes != classes.n_classes:
        raise ValueError(
            f"The assignment is for {assignment.n_classes} classes, but the labels have {classes.n_classes}."
        )
    return assignment, None


def _assignment_by_name(
    name: str, codebook: Codebook, classes: Classes, rng: np.random.Generator
) -> tuple[Assignment, AssignmentResult | None]:
    if name == "learnability":
        result = learnability_assignment(codebook, classes, rng)
        return replace(result.assignment, policy=name), result
    if name == "online":
        samples = classes.needed_numbers("samples of the assignment 'online'"), classes.class_index
        return online_assignment(*samples, codebook, n_classes=classes.n_classes, rng=rng), None
    if name == "random":
        # Avoids computing distances, which may take long.
        return Assignment(rng.permutation(codebook.n_codewords)[: classes.n_classes], method="random"), None
    if name == "identity" or (name in POLICIES and (codebook.is_designed or all_assignments_equal(codebook))):
        # Distances would make no difference.
        policy = name if name in POLICIES else ""
        return Assignment(np.arange(classes.n_classes), method="identity", policy=policy), None
    result = assign(codebook, classes.distances, name, rng=rng)
    return result.assignment, result


def is_one_order(choice: Any) -> bool:
    """Whether the ``assignment`` parameter of an estimator is a single assignment, not a way to find some."""
    return isinstance(choice, Assignment | AssignmentResult) or not (isinstance(choice, str) or callable(choice))


def learnability_assignment(
    codebook: Codebook, classes: Classes, rng: np.random.Generator, **options: Any
) -> AssignmentResult:
    """The best assignment that a search finds for a linear learner: the one whose bits are easiest to learn.

    Up to 200 classes the search uses a matrix of all pairs. With more it needs no matrix, and starts from the
    depth-first order, with shuffled children, of the taxonomy or of a class tree made by halving the set of classes.

    - ``rng``: different generators give different assignments that are about equally good.
    - ``**options``: of :func:`codekin.assignments.assign`: ``time_limit``, ``n_restarts`` and ``progress``.
    """
    if classes.n_classes <= MAX_CLASSES_AS_MATRIX:
        return assign(codebook, classes.learnability, rng=rng, **options)
    tree = classes.given_tree or classes.learned_tree()
    order = tree.class_order(rng)
    return assign(codebook, classes.learnability, "vector_swaps", rng=rng, class_order=order, **options)


# ----- checks ---------------------------------------------------------------------------------------------------------


def check_codebook_choice(choice: Any) -> None:
    """Raise if the ``codebook`` parameter of an estimator is not valid."""
    names = sorted(set(CODEBOOKS) - {"given"})
    if isinstance(choice, str):
        if choice in names:
            return
    elif isinstance(choice, Codebook) or callable(choice) or is_array_like(choice):
        return
    is_given = isinstance(choice, str) and choice == "given"
    hint = " Pass the matrix itself: codebook=matrix." if is_given else suggestion(choice, names)
    raise ValueError(
        f"The 'codebook' parameter must be one of {names}, a function, a Codebook or a matrix. "
        f"Got {shown(choice)} instead.{hint}"
    )


def check_assignment_choice(
    choice: Any, *, more_names: tuple[str, ...] = (), codes: tuple[str, ...] = ("trellis",)
) -> None:
    """Raise if the ``assignment`` parameter of an estimator is not valid.

    - ``more_names``: names that the estimator accepts besides those in ``ASSIGNMENT_CHOICES``.
    - ``codes``: what the code may be.
    """
    names = [*more_names, *(name for name, own in ASSIGNMENT_CHOICES.items() if set(own) & set(codes))]
    if isinstance(choice, str):
        if choice in names:
            return
        codebook = near_name(choice, CODEBOOKS)
        if choice == "given":
            hint = " Pass the assignment itself: for each class the row of its codeword."
        elif near_name(choice, names) is None and codebook is not None:
            hint = f" Did you mean codebook={codebook!r}?"
        elif choice in ASSIGNMENT_CHOICES:
            hint = f" {choice!r} is for a {codes_of(choice)[0]}, a code of ExtremeClassifier."
        else:
            hint = suggestion(choice, names)
    elif isinstance(choice, Assignment | AssignmentResult) or callable(choice) or is_array_like(choice):
        return
    else:
        hint = ""
    raise ValueError(
        f"The 'assignment' parameter must be one of {names}, a function, an Assignment or an array. "
        f"Got {shown(choice)} instead.{hint}"
    )


def check_loss_choice(choice: Any) -> None:
    """Raise if the ``loss`` parameter of an estimator is an unknown name, or a function that is no loss."""
    if callable(choice):
        get_loss(choice)
    names = ["auto", *sorted(LOSSES)]
    if isinstance(choice, str) and choice not in names:
        raise ValueError(
            f"The 'loss' parameter must be one of {names} or a callable. Got {choice!r} instead."
            f"{suggestion(choice, names)}"
        )
