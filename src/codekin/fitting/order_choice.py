"""Which orders of the classes a trellis gets: where it is left open, by their number and by a short trial."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from codekin.assignments import AssignmentResult
from codekin.coding import Assignment, Code, Codebook
from codekin.fitting.checked_choices import check_assignment_choice
from codekin.fitting.choices import Classes, choose_assignment
from codekin.fitting.ranked import other_assignment
from codekin.fitting.recipe import MANY_CLASSES
from codekin.learners import AROW
from codekin.model import make_decoder
from codekin.progress import within
from codekin.samples import Samples

TOO_MANY_CLASSES = 50_000
"""Beyond, the factors that fit into memory know too little of the classes, and the depth-first order is better: 17.9
against 16.4 % on 102,673 classes."""
PILOT_SEED = 0
"""All orders are tried on the samples in the same order, whatever the seed of the fit."""


def default_policy(n_classes: int) -> str:
    """The policy that "auto" stands for where nothing can be tried.

    Parameters
    ----------
    n_classes : int

    Returns
    -------
    str
    """
    return "learnability" if MANY_CLASSES <= n_classes <= TOO_MANY_CLASSES else "ordered"


@dataclass
class Orders:
    """The orders of the members of an ensemble, each searched when it is first needed.

    Parameters
    ----------
    policy : str or object
        How the first one was found, and further ones will be: see :func:`choose_orders`.
    first : Assignment
    result : AssignmentResult or None
        What the search for the first one says of it.
    codebook : Codebook
    classes : Classes
    rng : numpy.random.Generator
        For further searches.
    """

    policy: Any
    first: Assignment
    result: AssignmentResult | None
    codebook: Codebook
    classes: Classes
    rng: np.random.Generator
    _others: list[Assignment] = field(default_factory=list)

    def of(self, n_members: int) -> list[Assignment]:
        """The orders of the first members; those of more members begin with them.

        Parameters
        ----------
        n_members : int

        Returns
        -------
        list of Assignment
        """
        while len(self._others) < n_members - 1:
            (rng,) = self.rng.spawn(1)
            self._others.append(other_assignment(self.first, self.policy, self.codebook, self.classes, rng=rng))
        return [self.first, *self._others[: n_members - 1]]


def choose_orders(
    choice: Any,
    codebook: Codebook,
    classes: Classes,
    rng: np.random.Generator,
    *,
    trial: tuple[Samples, Samples] | None = None,
    max_memory: int | None = None,
) -> Orders:
    """The orders that the parameter ``assignment`` of a trellis stands for.

    Parameters
    ----------
    choice : str or object
        "auto", "preserving" or what :func:`choose_assignment` takes.
    codebook : Codebook
        The paths of a trellis. Free ones are spread among those of a depth-first order.
    classes : Classes
    rng : numpy.random.Generator
    trial : tuple of Samples, optional
        Training and validation samples, by which an order that is left open is chosen where there is a taxonomy.
    max_memory : int, optional
        The most bytes for the weights and variances of that trial.

    Returns
    -------
    Orders
    """
    check_assignment_choice(choice, "auto")
    is_name = isinstance(choice, str)
    policy = (
        {"auto": default_policy(classes.n_classes), "preserving": "ordered"}.get(choice, choice) if is_name else choice
    )
    is_tried = is_name and choice == "auto" and policy == "learnability" and classes.given_tree is not None
    if is_tried and trial is not None:
        policy, first, result = better_policy(codebook, classes, *trial, rng, max_memory=max_memory)
    else:
        first, result = choose_assignment(policy, codebook, classes, rng)
    if is_name and policy == "ordered":
        first = _spread(first, codebook.n_codewords)
    if is_name and choice == "preserving":
        first = replace(first, policy=choice)
    return Orders(policy, first, result, codebook, classes, rng)


def _spread(assignment: Assignment, n_paths: int) -> Assignment:
    """The classes in the same order, with the free paths, if there are any, among them."""
    if n_paths == assignment.n_classes:
        return assignment
    rank = np.argsort(np.argsort(assignment.codeword_of_class))
    return replace(assignment, codeword_of_class=rank * n_paths // assignment.n_classes)


def better_policy(
    codebook: Codebook,
    classes: Classes,
    samples: Samples,
    held_out: Samples,
    rng: np.random.Generator,
    *,
    max_memory: int | None = None,
) -> tuple[str, Assignment, AssignmentResult | None]:
    """Learnability or the taxonomy's depth-first order: what is right more often after one pass of AROW.

    Parameters
    ----------
    codebook : Codebook
        The paths of a trellis.
    classes : Classes
        With a taxonomy.
    samples, held_out : Samples
        To learn from, and to judge by.
    rng : numpy.random.Generator
        For the search.
    max_memory : int, optional
        The most bytes for weights and variances.

    Returns
    -------
    policy : "learnability" or "ordered"
    assignment : Assignment
    result : AssignmentResult or None
    """
    found = {policy: choose_assignment(policy, codebook, classes, rng) for policy in ("learnability", "ordered")}
    learner = AROW(n_epochs=1, max_memory=max_memory)
    accuracy = {}
    for policy, (order, _) in found.items():
        with within(f"trying the {policy} order"):
            accuracy[policy] = _pilot(learner, codebook, order, samples, held_out)
    best = max(accuracy, key=lambda policy: accuracy[policy])
    return best, *found[best]


def _pilot(learner: AROW, codebook: Codebook, assignment: Assignment, samples: Samples, held_out: Samples) -> float:
    """The validation accuracy after one pass."""
    code = Code(codebook, assignment)
    bits = learner.fit(samples, code, rng=np.random.default_rng(PILOT_SEED))
    decoder = make_decoder(code, "exponential")
    return float((decoder.decode(bits.margins(held_out.X)) == held_out.class_index).mean())
