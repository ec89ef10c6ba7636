"""Checks of the parameters of estimators: errors are one sentence, with a remedy."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from codekin._system.names import near_name, suggestion
from codekin.assignments import ASSIGNMENTS, AssignmentResult
from codekin.class_distances import CLASS_DISTANCES, CLASS_DISTANCES_FROM_DATA
from codekin.classes import ClassDistances, ClassTree
from codekin.codebooks import CODEBOOKS
from codekin.coding import Assignment, Code, Codebook
from codekin.decoding import LOSSES
from codekin.decoding.losses import get_loss

EVERY_CODE = ("tree", "trellis")
ASSIGNMENT_NAMES: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("preserving", "breaking", "random", "learnability"), EVERY_CODE),
    "halving": ("tree",),
    **dict.fromkeys(("online", *sorted(ASSIGNMENTS)), ("trellis",)),
    **dict.fromkeys(("random", "identity"), EVERY_CODE),
}
"""All names of the ``assignment`` parameter, and the codes they are for; "trellis" is any codebook but a tree."""

CODEBOOK_ARGUMENTS = "n_bits, n_symbols, rng, class_distances, class_moments, column_trials and class_tree"
"""The possible arguments of a function that makes a codebook."""


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


def warn_of_constant_bits(codebook: Codebook, assignment: Assignment) -> None:
    """Warn of bits that have the same sign for all classes they use: they tell no classes apart.

    A trellis may have an edge that all paths share, which is fine.
    """
    if codebook.graph is not None:
        return
    indicators = Code(codebook, assignment).indicators
    has_symbol = np.stack([(indicators > 0).any(axis=0), (indicators < 0).any(axis=0)])
    if codebook.n_symbols > 2:
        has_symbol = has_symbol[0].reshape(codebook.n_bits, -1).T
    is_constant = has_symbol.sum(axis=0) < 2
    if codebook.is_real:
        is_constant = np.ptp(indicators, axis=0) == 0
    if is_constant.any():
        warnings.warn(
            f"{int(is_constant.sum())} of the {codebook.n_bits} bits of this {codebook.name} codebook tell no classes "
            f"apart, the first of them bit {int(is_constant.argmax())}: all their classes are on one side.",
            UserWarning,
            stacklevel=2,
        )


def codes_of(assignment: Any) -> tuple[str, ...]:
    """The codes that the ``assignment`` parameter of an estimator is for."""
    return ASSIGNMENT_NAMES.get(assignment, EVERY_CODE) if isinstance(assignment, str) else EVERY_CODE


def check_assignment_choice(choice: Any, *more_names: str, codes: tuple[str, ...] = ("trellis",)) -> None:
    """Raise if the ``assignment`` parameter of an estimator is not valid.

    - ``*more_names``: names that the estimator accepts besides those in ``ASSIGNMENT_NAMES``.
    - ``codes``: what the code may be.
    """
    names = [*more_names, *(name for name, own in ASSIGNMENT_NAMES.items() if set(own) & set(codes))]
    if isinstance(choice, str):
        if choice in names:
            return
        codebook = near_name(choice, CODEBOOKS)
        if choice == "given":
            hint = " Pass the assignment itself: for each class the row of its codeword."
        elif near_name(choice, names) is None and codebook is not None:
            hint = f" Did you mean codebook={codebook!r}?"
        elif choice in ASSIGNMENT_NAMES:
            hint = f" {choice!r} is for a {codes_of(choice)[0]}, a code of TrellisClassifier."
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


def check_distances_choice(choice: Any) -> None:
    """Raise if the ``class_distances`` parameter of an estimator is not valid."""
    names = list(CLASS_DISTANCES_FROM_DATA)
    if are_distances(choice) or (isinstance(choice, str) and choice in names):
        return
    if callable(choice):
        missing = missing_arguments(choice, [0, 0], {})
        if missing:
            name = shown(choice)
            raise ValueError(
                f"A function given as 'class_distances' takes X and the class indices. Got {name}: {missing}."
            )
        return
    hint = suggestion(choice, names)
    if isinstance(choice, dict):
        hint = " Give a matrix whose rows and columns follow the sorted labels."
    elif isinstance(choice, str) and choice in CLASS_DISTANCES:
        hint = f" Make it first: class_distances={choice}(...)."
    raise ValueError(
        f"The 'class_distances' parameter must be one of {names}, a matrix, a class tree, a callable or a "
        f"ClassDistances object. Got {shown(choice)} instead.{hint}"
    )


def are_distances(choice: Any) -> bool:
    """Whether these are distances, and not a name or a function."""
    # A class has the attributes of its instances, and a protocol checks only these.
    return not isinstance(choice, type) and (isinstance(choice, ClassDistances | ClassTree) or is_array_like(choice))


def is_array_like(choice: Any) -> bool:
    """Whether NumPy can convert it to an array; not for None and dicts, which become a single object."""
    return isinstance(choice, list | tuple) or hasattr(choice, "__array__")


def missing_arguments(function: Callable[..., Any], given: Sequence[Any], named: Mapping[str, Any]) -> str:
    """Why a function cannot be called with these arguments; empty if it can, or if its signature is unknown."""
    try:
        inspect.signature(function).bind(*given, **named)
    except TypeError as error:
        return str(error)
    except ValueError:
        return ""
    return ""


def shown(choice: Any) -> str:
    """A wrong value as shown in an error."""
    if choice is None or isinstance(choice, str | int | float):
        return repr(choice)
    if callable(choice):
        return str(getattr(choice, "__name__", type(choice).__name__))
    return f"an object of type {type(choice).__name__}"
