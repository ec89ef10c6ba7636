"""The state of the softmax learner, and how it sums over all classes: by paths or codewords."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from codekin.coding import Code, CodingMatrix
from codekin.coding._graph import graph_of
from codekin.learners.learning import LearningBits
from codekin.learners.linear import Float32Array
from codekin.learners.training_rows import TrainingRows

MAX_MARGIN = 30.0
"""Margins beyond this are clipped while learning: such a bit is decided."""
MAX_EXPONENT = 650.0
"""The score of a path may not exceed this, so that sums over paths do not overflow."""
UPDATES_AT_ONCE = 3 * 10**7
"""How many weights are updated before it returns to Python: about a tenth of a second."""
BITS_PER_DAMPING = 12
"""The number of bits of a dense codeword per unit of damping: their steps add up in the score of a class."""


@dataclass(frozen=True, eq=False)
class ClassPaths:
    """The codewords of all classes, in the form that a kernel needs.

    - ``kernel``: its name in :mod:`codekin.kernels.softmax`.
    - ``codewords``: the tables of the codewords; the first one identifies them.
    - ``graph``, ``limits``: further arguments of the kernel before and after the step, if any.
    - ``work``: how many operations a sum over all classes takes.
    - ``damping``: the factor of the initial curvatures, relative to those of a path.
    """

    kernel: str
    codewords: tuple[NDArray[Any], ...]
    graph: tuple[Any, ...] = ()
    limits: tuple[float, ...] = ()
    work: int = 0
    damping: float = 1.0

    def learn(self, samples: TrainingRows, order: NDArray[np.int64], step: float, state: Float32Array) -> None:
        """Make one step for each sample of the order; the state is changed in place."""
        from codekin.kernels import softmax

        weights = samples.weight_of_sample
        learn = getattr(softmax, self.kernel)
        learn(*samples.arrays, *self.codewords, weights, order, *self.graph, step, *self.limits, state)


def class_paths(code: Code) -> ClassPaths:
    """The paths of a trellis if all of them are classes, the bits if each class has its own, else the codewords."""
    every = code.codebook.path_edges if code.is_full else None
    if every is not None:
        trellis = graph_of(code)
        edges = every[code.assignment.codeword_of_class].astype(np.int32)
        digits = np.array(trellis.digits, dtype=np.int64)
        limit = min(MAX_MARGIN, MAX_EXPONENT / (len(digits) + 1))
        return ClassPaths("trellis_softmax_pass", (edges,), (trellis.width, digits), (limit,))
    matrix = code.coding_matrix  # which a trellis does without
    if _has_a_bit_for_each_class(matrix):
        return ClassPaths("flat_softmax_pass", (matrix.argmax(axis=1),), work=2 * len(matrix))
    return dense_codewords(matrix.astype(np.float32))


def dense_codewords(matrix: Float32Array) -> ClassPaths:
    """The rows of any coding matrix, laid out both ways: for the scores of the classes, and for the means of bits."""
    damping = max(1.0, np.count_nonzero(matrix) / len(matrix) / BITS_PER_DAMPING)
    tables = matrix, np.ascontiguousarray(matrix.T)
    return ClassPaths("dense_softmax_pass", tables, work=2 * matrix.size, damping=damping)


def _has_a_bit_for_each_class(matrix: CodingMatrix) -> bool:
    """Whether these are the codewords of one-vs-rest, in any order: multinomial logistic regression."""
    is_on = matrix > 0
    is_square = matrix.shape[0] == matrix.shape[1]
    return bool(is_square and matrix.all() and (is_on.sum(axis=0) == 1).all() and (is_on.sum(axis=1) == 1).all())


@dataclass(frozen=True, eq=False)
class SoftmaxBits(LearningBits):
    """Predictors that can still learn by softmax; ``state`` (n_features, 2, n_bits) has weights and curvatures."""

    @classmethod
    def begun(
        cls, n_features: int, n_bits: int, *, curvature: float, has_bias: bool, n_threads: int | None
    ) -> SoftmaxBits:
        """Weights 0 and equal curvatures, before the first step; ``n_features`` includes that of the bias."""
        state = np.zeros((n_features, 2, n_bits), dtype=np.float32)
        state[:, 1] = curvature
        return cls(state, 0, has_bias, n_threads)

    def learning(
        self, samples: TrainingRows, paths: ClassPaths, order: NDArray[np.int64], *, step: float
    ) -> Iterator[SoftmaxBits]:
        """Yields the bits during one pass, several times a second, so that Python can report or be interrupted.

        The state is changed in place. ``step`` is the share of a Newton step that is made.
        """
        rows = samples.rows
        updates_per_step = max(len(rows.values) // max(rows.n_rows, 1), 1) * max(self.n_bits, 1) + paths.work
        n_steps_at_once = max(UPDATES_AT_ONCE // updates_per_step, 1)
        for start in range(0, len(order), n_steps_at_once):
            some = order[start : start + n_steps_at_once]
            paths.learn(samples, some, step, self.state)
            yield replace(self, n_steps=self.n_steps + start + len(some))
