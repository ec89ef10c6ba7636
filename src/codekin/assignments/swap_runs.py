"""Shared parts of searches that swap codewords without a matrix of all pairs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from codekin.assignments._solver import Need, SearchTask, Solver, options_of
from codekin.assignments.budget import Budget, generator_state
from codekin.assignments.cooling import cooling_steps
from codekin.assignments.result import AssignmentResult, Sense
from codekin.assignments.scores import AssignmentProblem
from codekin.assignments.seriation import codeword_order
from codekin.coding import Assignment, FloatArray, IntArray

_SAMPLES = 5_000
_PROPOSALS_AT_ONCE = 20_000


class Schedule(NamedTuple):
    """The default cooling schedule of a search.

    - ``start``: the first temperature, in median gains of a proposed swap; low enough to keep a good start.
    - ``ratio``: the last temperature, as a share of the first.
    - ``proposals_per_class``, ``min_proposals``, ``max_proposals``: the number of proposals without a time limit.
    """

    start: float = 0.3
    ratio: float = 0.01
    proposals_per_class: int = 500
    min_proposals: int = 3_000_000
    max_proposals: int | None = None

    def n_proposals(self, n_classes: int) -> int:
        """The number of proposals without a time limit."""
        wanted = max(self.proposals_per_class * n_classes, self.min_proposals)
        return wanted if self.max_proposals is None else min(wanted, self.max_proposals)


_SCHEDULE = Schedule()


class Arrays(Protocol):
    """The arrays of a kind of problem, with the classes in an order in which neighbours are similar."""

    @property
    def problem(self) -> AssignmentProblem: ...
    @property
    def class_order(self) -> IntArray: ...


ProblemArrays = TypeVar("ProblemArrays", bound=Arrays)

Propose = Callable[[float, float, int, FloatArray], float]
"""Makes a number of proposals from a temperature on, with a cooling factor, or samples gains; returns the change."""


class SwapRun:
    """One start of a search: the current assignment and the best so far; codewords are in the arrays' class order."""

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
        """The best assignment so far, with the classes in their original order."""
        codeword_of_class = np.empty(len(self.class_order), dtype=np.intp)
        codeword_of_class[self.class_order] = self.best_codeword_of_rank
        return Assignment(codeword_of_class, method)

    def note(self, n_evaluations: int, alignment: float) -> None:
        """Record and report progress."""
        self.n_evaluations += n_evaluations
        self.alignment = alignment
        if self.sign * alignment > self.sign * self.best_alignment:
            self.best_alignment = alignment
            self.best_codeword_of_rank[:] = self.codeword_of_rank
        self.history.append((self.n_evaluations, self.problem.score_of_alignment(self.best_alignment)))
        self.budget.report(n_evaluations, -self.sign * self.best_alignment)

    def class_of_codeword(self) -> IntArray:
        """The rank of the class that uses each codeword; -1 if there is none."""
        inverse = np.full(self.problem.n_codewords, -1, dtype=np.int64)
        inverse[self.codeword_of_rank] = np.arange(len(self.codeword_of_rank))
        return inverse

    def anneal(
        self, propose: Propose, *, n_proposals: int | None, deadline: float, schedule: Schedule = _SCHEDULE
    ) -> None:
        """Cool down, for a number of proposals or until a deadline; without either, a number per class."""
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
    """The result of a run: the best assignment and its history."""

    assignment: Assignment
    objective: float
    n_evaluations: int
    history: list[tuple[int, float]]


def by_swaps(
    prepare: Callable[..., ProblemArrays], search: Callable[..., None], *needs: Need, **settings: Any
) -> Solver:
    """The solver of a search by swaps.

    It makes arrays, ``prepare(problem, **options)``, runs ``search(arrays, run, deadline, **options)`` from every
    start, and returns the best. The arrays may be searched with other distances than the task's.
    """
    prepared, searched = options_of(prepare), options_of(search)

    def solve(task: SearchTask, **options: Any) -> AssignmentResult:
        from threadpoolctl import threadpool_limits

        # Products are refreshed many times: several BLAS threads would not pay.
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
    # Scores of other distances are not part of the history.
    before = best.history[:-1] if arrays.problem is problem else []
    return task.result(best.assignment, n_evaluations, lambda score: [*before, (n_evaluations, score)])
