"""What searches have in common that swap codewords without a matrix of all pairs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from codekin.assignments._solver import Need, SearchTask, Solver, options_of
from codekin.assignments.budget import Budget, generator_state
from codekin.assignments.cooling import cooling_steps
from codekin.assignments.result import AssignmentResult, Sense
from codekin.assignments.scores import AssignmentProblem
from codekin.assignments.seriation import codeword_order
from codekin.coding import Assignment, CodingMatrix, FloatArray, IntArray

_SAMPLES = 5_000
_PROPOSALS_AT_ONCE = 20_000


class Schedule(NamedTuple):
    """How a search cools down unless it is told otherwise.

    - ``start``: the first temperature, in median gains of a proposed swap at the start; an order laid onto an order is
      good, and not to be lost.
    - ``ratio``: the last temperature, as a share of the first.
    - ``proposals_per_class``, ``min_proposals``, ``max_proposals``: how many proposals there are without a time limit.
    """

    start: float = 0.3
    ratio: float = 0.01
    proposals_per_class: int = 500
    min_proposals: int = 3_000_000
    max_proposals: int | None = None

    def n_proposals(self, n_classes: int) -> int:
        """How many proposals to make without a time limit."""
        wanted = max(self.proposals_per_class * n_classes, self.min_proposals)
        return wanted if self.max_proposals is None else min(wanted, self.max_proposals)


_SCHEDULE = Schedule()


class Arrays(Protocol):
    """The arrays of a kind of problem, with the classes in an order in which neighbours are alike."""

    @property
    def problem(self) -> AssignmentProblem: ...
    @property
    def class_order(self) -> IntArray: ...


ProblemArrays = TypeVar("ProblemArrays", bound=Arrays)

Propose = Callable[[float, float, int, FloatArray], float]
"""Makes proposals from a temperature on, with a cooling factor, so many of them; or samples gains. The change."""


class SwapRun:
    """One start of a search: an assignment that the search changes, and the best that it has been.

    The codewords are by rank: those of the classes in the order of the arrays.
    """

    def __init__(
        self, problem: AssignmentProblem, class_order: IntArray, budget: Budget, *, sense: Sense, seed: int
    ) -> None:
        self.problem = problem
        self.class_order = class_order
        self.budget = budget
        self.sign = 1.0 if sense == "preserving" else -1.0
        self.state = generator_state(seed)
        self.codeword_of_rank = codeword_order(problem.codebook, problem.n_classes, sense).astype(np.int64)
        self.best_codeword_of_rank = self.codeword_of_rank.copy()
        self.alignment = self.best_alignment = problem.alignment(self.assignment("ordered"))
        self.n_evaluations = 1
        self.history = [(1, problem.score_of_alignment(self.alignment))]

    def assignment(self, method: str) -> Assignment:
        """The best that there has been, with the classes in their own order."""
        codeword_of_class = np.empty(len(self.class_order), dtype=np.intp)
        codeword_of_class[self.class_order] = self.best_codeword_of_rank
        return Assignment(codeword_of_class, method)

    def note(self, n_evaluations: int, alignment: float) -> None:
        """Remember how far the search has come, and tell whoever wants to know."""
        self.n_evaluations += n_evaluations
        self.alignment = alignment
        if self.sign * alignment > self.sign * self.best_alignment:
            self.best_alignment = alignment
            self.best_codeword_of_rank[:] = self.codeword_of_rank
        self.history.append((self.n_evaluations, self.problem.score_of_alignment(self.best_alignment)))
        self.budget.report(n_evaluations, -self.sign * self.best_alignment)

    def class_of_codeword(self) -> IntArray:
        """The rank of the class that uses each codeword; -1 where there is none."""
        inverse = np.full(self.problem.n_codewords, -1, dtype=np.int64)
        inverse[self.codeword_of_rank] = np.arange(len(self.codeword_of_rank))
        return inverse

    def anneal(
        self, propose: Propose, *, n_proposals: int | None, deadline: float, schedule: Schedule = _SCHEDULE
    ) -> None:
        """Cool down, for so many proposals or until a deadline; without either, some per class."""
        if n_proposals is None and deadline == np.inf:
            n_proposals = schedule.n_proposals(self.problem.n_classes)
        self.budget.n_expected = n_proposals
        gains = np.zeros(_SAMPLES)
        propose(1.0, 1.0, _SAMPLES, gains)
        scale = float(np.median(gains[gains > 0])) if gains.any() else 1.0
        nothing = np.empty(0)
        for temperature, factor, n_at_once in cooling_steps(
            schedule.start * scale,
            schedule.ratio,
            n_at_once=_PROPOSALS_AT_ONCE,
            n_proposals=n_proposals,
            deadline=deadline,
        ):
            change = propose(temperature, factor, n_at_once, nothing)
            self.note(n_at_once, self.alignment + change)


class FoundAssignment(NamedTuple):
    """What is left of a run when it is over: the best that it has been, and how it came to that."""

    assignment: Assignment
    objective: float
    n_evaluations: int
    history: list[tuple[int, float]]


def by_swaps(
    prepare: Callable[..., ProblemArrays], search: Callable[..., None], *needs: Need, **settings: Any
) -> Solver:
    """The solver of a search by swaps.

    It makes arrays, ``prepare(problem, **options)``, runs ``search(arrays, run, deadline, **options)`` from every
    start, and reports the best. The arrays' problem may have other distances than the task's, in whose place they are
    searched.
    """
    prepared, searched = options_of(prepare), options_of(search)

    def solve(task: SearchTask, **options: Any) -> AssignmentResult:
        from threadpoolctl import threadpool_limits

        # Products are refreshed many times: what BLAS gains by several threads it loses in waiting for them.
        with threadpool_limits(1, user_api="blas"):
            arrays = prepare(task.problem, **{name: options[name] for name in prepared if name in options})
            given = {name: options[name] for name in searched if name in options}
            return _swapped(task, arrays, partial(search, **given))

    return Solver(solve, needs=needs, options=prepared + searched, **settings)


def _swapped(
    task: SearchTask, arrays: ProblemArrays, search: Callable[[ProblemArrays, SwapRun, float], None]
) -> AssignmentResult:
    problem, sense, budget, sign = task.problem, task.sense, task.budget, task.sign
    method = budget.method
    budget.score_of_objective = lambda objective: arrays.problem.score_of_alignment(-sign * objective)

    def start(_index: int, seed: int, deadline: float) -> FoundAssignment:
        run = SwapRun(arrays.problem, arrays.class_order, budget, sense=sense, seed=seed)
        if problem.n_classes > 1:
            search(arrays, run, deadline)
        return FoundAssignment(run.assignment(method), -sign * run.best_alignment, run.n_evaluations, run.history)

    runs = budget.run_restarts(start, task.seed)
    best = min(runs, key=lambda run: run.objective)
    n_evaluations = sum(run.n_evaluations for run in runs)
    # The scores of other distances that were searched in the place of these are no history of theirs.
    before = best.history[:-1] if arrays.problem is problem else []
    return task.result(best.assignment, n_evaluations, lambda score: [*before, (n_evaluations, score)])


def codeword_vectors(matrix: CodingMatrix) -> tuple[NDArray[np.float32], FloatArray]:
    """The codewords, beside their absolute values where bits may be zero, and their numbers of non-zero bits.

    The numbers are all 0 where no bit is zero: what is the same for all codewords does not matter.
    """
    codewords = matrix.astype(np.float32)
    if matrix.all():
        return codewords, np.zeros(len(matrix))
    used = np.abs(codewords)
    return np.hstack([codewords, used]), used.sum(axis=1, dtype=np.float64)
