"""From the user's parameters to the parts of the method: every choice is a name from a table or the object itself."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from codekin._system.wording import counted
from codekin.assignments import AssignmentResult, assign
from codekin.assignments.dense import is_blind
from codekin.assignments.online import online_assignment
from codekin.assignments.policy import POLICIES
from codekin.class_distances import CLASS_DISTANCES_FROM_DATA
from codekin.class_distances.learnability import class_moments
from codekin.classes import ClassDistances, ClassTree, as_class_distances
from codekin.classes.moments import ClassMoments
from codekin.classes.trials import ColumnTrials
from codekin.codebooks import CODEBOOKS
from codekin.codebooks.trellis import check_spare_codewords
from codekin.coding import Assignment, Codebook, FloatArray, IntArray
from codekin.fitting.checked_choices import (
    CODEBOOK_ARGUMENTS,
    are_distances,
    check_assignment_choice,
    check_codebook_choice,
    check_distances_choice,
    missing_arguments,
    shown,
)
from codekin.progress import tell

MAX_CLASSES_AS_MATRIX = 200
"""Up to this many classes, learnability is a matrix, and the search needs no initial order."""

LEARNABILITY_RIDGE = 0.6
"""About one unit of weight for rows of length one; the penalty is not divided by the number of samples."""

STAGES = {
    "clustering": "learning a class tree",
    "splitting": "learning a class tree",
    "learnability": "measuring learnability",
}
"""The stages of progress while distances are computed from samples."""


@dataclass(frozen=True, eq=False)
class Classes:
    """The samples of the classes and the distances between classes, computed when needed.

    - ``features``: returns the samples as numbers, (n_samples, n_features), or None if they are not numeric; called
      only if a choice needs them.
    - ``samples``: the samples as given, for a function of the user if they are not numeric.
    - ``confusion``: returns distances if the samples are not numeric.
    - ``trials``: returns what the learner makes of columns, if there is one.
    """

    features: Callable[[], Any]
    class_index: IntArray
    n_classes: int
    sample_weight: FloatArray | None
    distances_choice: Any
    rng: np.random.Generator
    samples: Any = None
    confusion: Callable[[], ClassDistances] | None = None
    trials: Callable[[], ColumnTrials] | None = None

    @cached_property
    def numbers(self) -> Any:
        """The samples as numbers, None if they are not numeric."""
        return self.features()

    @cached_property
    def distances(self) -> ClassDistances:
        """The distances between classes, as chosen by the user."""
        choice = self.distances_choice
        check_distances_choice(choice)
        if isinstance(choice, str):
            return self.confusion() if self.confusion and self.numbers is None else self._from_data(choice)
        if not are_distances(choice):
            choice = choice(self.samples if self.numbers is None else self.numbers, self.class_index)
            if not are_distances(choice):
                raise ValueError(
                    "A function given as 'class_distances' must return a matrix, a class tree or a ClassDistances "
                    f"object. Got {shown(choice)} instead."
                )
        distances = as_class_distances(choice)
        if distances.n_classes != self.n_classes:
            raise ValueError(
                f"The class distances are between {distances.n_classes} classes, but the labels have {self.n_classes}."
            )
        return distances

    @property
    def known_distances(self) -> ClassDistances | None:
        """The distances if some choice needed them, or if they were given; None otherwise."""
        is_given = not (isinstance(self.distances_choice, str) or callable(self.distances_choice))
        return self.distances if is_given or "distances" in self.__dict__ else None

    @cached_property
    def tree(self) -> ClassTree:
        """The tree of the distances, or one from the class means."""
        tree = self.distances.tree
        if tree is None:
            tree = self._from_data("clustering").tree
        assert tree is not None
        return tree

    @property
    def given_tree(self) -> ClassTree | None:
        """The tree of the user's class distances, if they have one."""
        choice = self.distances_choice
        return choice if isinstance(choice, ClassTree) else getattr(choice, "tree", None)

    @cached_property
    def learnability(self) -> ClassDistances:
        """Learnability, regardless of the user's choice: a matrix for few classes, factors for many."""
        form = "dense" if self.n_classes <= MAX_CLASSES_AS_MATRIX else "factored"
        return self._from_data("learnability", form=form, ridge=LEARNABILITY_RIDGE)

    @cached_property
    def moments(self) -> ClassMoments:
        """How often classes occur, and how much of them least squares explains."""
        return class_moments(self.needed_numbers("class moments"), self.class_index, **self._options)

    def learnability_factors(self) -> ClassDistances:
        """Learnability as factors, one vector per class."""
        return self._from_data("learnability", form="factored", ridge=LEARNABILITY_RIDGE)

    def learned_tree(self) -> ClassTree:
        """A tree made by repeatedly halving the set of classes, for any number of them."""
        tree = self._from_data("splitting").tree
        assert tree is not None
        return tree

    def mean_distances(self) -> FloatArray:
        """Distances between class means, regardless of the user's choice."""
        return self._from_data("means").matrix()

    def _from_data(self, name: str, **options: Any) -> ClassDistances:
        numbers = self.needed_numbers(f"class distances {name!r}")
        tell(STAGES.get(name, f"measuring class distances by {name}"))
        return CLASS_DISTANCES_FROM_DATA[name](numbers, self.class_index, **self._options, **options)

    @property
    def _options(self) -> dict[str, Any]:
        return {"n_classes": self.n_classes, "sample_weight": self.sample_weight, "rng": self.rng}

    def needed_numbers(self, wanted: str) -> Any:
        """The samples as numbers, (n_samples, n_features); an error that says what they were wanted for if not."""
        if self.numbers is None:
            raise ValueError(
                f"The {wanted} need numeric features. Put the steps that turn X into numbers into a "
                "pipeline as the estimator, or choose a codebook and an assignment that do not need them."
            )
        return self.numbers


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
    check_spare_codewords(codebook, classes.n_classes)
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
    if n_symbols > 2 and "n_symbols" not in wanted:
        raise ValueError(
            f"The {name} codebook has two symbols. Got n_symbols={n_symbols}; use 2, or {_names_of_symbols()}."
        )
    is_of_symbols = "n_symbols" in wanted and wanted["n_symbols"].default is inspect.Parameter.empty
    arguments: dict[str, Any] = {"n_symbols": n_symbols} if n_symbols > 2 or is_of_symbols else {}
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
    if name == "identity" or (name in POLICIES and (codebook.is_designed or is_blind(codebook))):
        # Distances would make no difference.
        policy = name if name in POLICIES else ""
        return replace(Assignment.identity(classes.n_classes), policy=policy), None
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
