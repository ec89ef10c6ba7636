"""The quadratic assignment problem as a value, and what its searches find.

Finding an assignment means to minimise ``sum_uv A_uv B_p(u)p(v)`` over permutations ``p``, where ``A`` has the class
distances, negated if they are to be preserved, and ``B`` the codeword distances. The searches solve any such problem.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from codekin.code import FloatArray, IntArray
from codekin.code.geometry import principal_order

MAX_PROPOSED_IN_TURN = 500
"""With more rows than this there are too many swaps to propose each of them many times."""
_MAX_WITHOUT_BLAS = 500
"""Several searches run at once, and BLAS threads would wait for each other: smaller products use one thread."""


@dataclass(frozen=True, eq=False)
class QuadraticProblem:
    """Minimise ``sum_uv A_uv B_order[u]order[v]`` over permutations ``order``.

    ``a`` and ``b`` are sums of layers, (n_layers, n, n), each symmetric or antisymmetric in both. Rows of ``a`` from
    ``n_active`` on are zero: their values are not in use. In ``row_order`` and ``value_order`` neighbours are alike.
    """

    a: FloatArray
    b: FloatArray
    n_active: int
    row_order: IntArray | None = None
    value_order: IntArray | None = None

    @classmethod
    def of(cls, A: ArrayLike, B: ArrayLike) -> QuadraticProblem:
        """The problem of two matrices; if one is symmetric, the other may be symmetrised."""
        a, b = (_square(matrix, name) for matrix, name in ((A, "A"), (B, "B")))
        if a.shape != b.shape:
            raise ValueError(f"The two matrices must have the same shape. Got {a.shape} and {b.shape}.")
        # <A, B> = <A + A', B + B'> / 4 + <A - A', B - B'> / 4, and the second part is 0 if either is symmetric.
        layers = [((a + a.T) / 2, (b + b.T) / 2)]
        if (a != a.T).any() and (b != b.T).any():
            layers.append(((a - a.T) / 2, (b - b.T) / 2))
        return cls(np.array([a for a, _ in layers]), np.array([b for _, b in layers]), len(a))

    @property
    def n(self) -> int:
        """The number of rows."""
        return int(self.a.shape[1])

    @property
    def n_pairs(self) -> int:
        """The number of swaps that change anything."""
        return self.n_active * (self.n_active - 1) // 2 + self.n_active * (self.n - self.n_active)

    @cached_property
    def step(self) -> float:
        """The smallest difference between two objectives beyond rounding."""
        a, b = self.a.sum(axis=0), self.b.sum(axis=0)
        has_diagonal = bool(np.diagonal(a).any() and np.diagonal(b).any())
        # Off-diagonal entries of a symmetric problem come in equal pairs.
        pairs = 2.0 if len(self.a) == 1 and not has_diagonal else 1.0
        if self._scale < 2**50 and _is_integer(pairs * a) and _is_integer(b):
            return pairs if _is_integer(a) else 1.0
        return 1e-12 * self._scale

    @cached_property
    def tolerance(self) -> float:
        """By how much an objective must be lower to count as better."""
        return self.step / 2

    @cached_property
    def _scale(self) -> float:
        return float(np.linalg.norm(self.a) * np.linalg.norm(self.b))

    def objective(self, order: IntArray) -> float:
        """The objective of a permutation."""
        # Not a BLAS product: for short sums its threads cost more than they save.
        return float(np.sum(self.a * self.b[:, order][:, :, order]))

    def in_order(self) -> tuple[QuadraticProblem, IntArray, IntArray]:
        """The same problem with rows and values in these orders, and the orders."""
        rows = principal_order(self.a[0, : self.n_active]) if self.row_order is None else self.row_order
        values = principal_order(self.b[0]) if self.value_order is None else self.value_order
        rows = np.concatenate([rows[rows < self.n_active], np.arange(self.n_active, self.n)])
        a, b = (
            np.ascontiguousarray(layers[:, order][:, :, order]) for layers, order in ((self.a, rows), (self.b, values))
        )
        return QuadraticProblem(a, b, self.n_active), rows, values

    def permuted_b(self, order: IntArray) -> FloatArray:
        """A copy of ``b`` with rows and columns in the order of a permutation."""
        return np.ascontiguousarray(self.b[:, order][:, :, order])


@dataclass(frozen=True, eq=False)
class QuadraticSolution:
    """What a search found.

    Parameters
    ----------
    order : ndarray of shape (n,)
        The permutation.
    objective : float
        Its objective.
    n_evaluations : int
        How many permutations were evaluated.
    history : ndarray of shape (n_points, 2)
        Numbers of evaluations and the best objective so far.
    bound : float or None
        No permutation has a lower objective.
    is_optimal : bool
        Whether no permutation has a lower objective than this one.
    """

    order: IntArray
    objective: float
    n_evaluations: int
    history: FloatArray = field(default_factory=lambda: np.empty((0, 2)), repr=False)
    bound: float | None = None
    is_optimal: bool = False


def best_of(solutions: Sequence[QuadraticSolution]) -> QuadraticSolution:
    """The best of several solutions, the first among equals, with their histories joined."""
    best = min(solutions, key=lambda solution: solution.objective)
    before, lowest, parts = 0, np.inf, []
    for solution in solutions:
        part = solution.history + np.array([before, 0.0])
        if len(part):
            part[:, 1] = np.minimum(np.minimum.accumulate(part[:, 1]), lowest)
            lowest = part[-1, 1]
        parts.append(part)
        before += solution.n_evaluations
    return QuadraticSolution(best.order, best.objective, before, np.concatenate(parts))


class SwapState:
    """The arrays that swap searches maintain: see :mod:`codekin.kernels.qap_swaps`."""

    def __init__(self, problem: QuadraticProblem, order: IntArray) -> None:
        self.problem = problem
        self.order = np.array(order, dtype=np.int64)
        self.a = problem.a
        self.products = np.empty_like(problem.a)
        self.deltas = np.zeros((problem.n, problem.n))
        self.refresh()

    def refresh(self) -> None:
        """Compute everything again from the permutation, to remove accumulated rounding."""
        from codekin.kernels.qap_swaps import fill_deltas, fill_products

        self.b = self.problem.permuted_b(self.order)
        if self.problem.n > _MAX_WITHOUT_BLAS:
            self.products = np.matmul(self.a, self.b.transpose(0, 2, 1))
        else:
            fill_products(self.a, self.b, self.products)
        fill_deltas(self.a, self.b, self.products, self.problem.n_active, self.deltas)
        self.objective = self.problem.objective(self.order)

    @property
    def arrays(self) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, int, IntArray]:
        """The first arguments of the swap kernels."""
        return self.a, self.b, self.products, self.deltas, self.problem.n_active, self.order


def _is_integer(matrix: FloatArray) -> bool:
    return np.array_equal(matrix, np.rint(matrix))


def _square(matrix: ArrayLike, name: str) -> FloatArray:
    given = np.array(matrix, dtype=np.float64)
    if given.ndim != 2 or given.shape[0] != given.shape[1] or not len(given):
        raise ValueError(f"{name} must be a square matrix. Got shape {given.shape}.")
    if not np.isfinite(given).all():
        raise ValueError(f"The entries of {name} must be finite. Got one that is not.")
    return given
