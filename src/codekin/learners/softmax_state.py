"""What the softmax learner changes while it learns, and how it goes through all classes: paths or codewords."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from codekin.coding import Code, IntArray
from codekin.learners.learning import LearningBits
from codekin.learners.linear import Float32Array
from codekin.learners.training_rows import TrainingRows

MAX_MARGIN = 30.0
"""Margins beyond this are clipped while learning: such a bit is decided."""
MAX_EXPONENT = 650.0
"""The score of a path may not exceed this, so that sums over paths do not overflow."""
UPDATES_AT_ONCE = 3 * 10**7
"""How many weights are updated before Python has its say: about a tenth of a second."""
BITS_PER_DAMPING = 12
"""The bits of a dense codeword that one unit of damping is for: their steps add up in the score of a class."""


class ClassPaths(Protocol):
    """The codewords of all classes, in the form in which a kernel goes through them."""

    @property
    def work(self) -> int:
        """How many operations a sum over all classes takes."""

    @property
    def damping(self) -> float:
        """By how much more than a path's the first curvatures must be."""

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        """What tells it from others."""

    def learn(self, samples: TrainingRows, order: NDArray[np.int64], step: float, state: Float32Array) -> None:
        """Make one step for each sample of the order; the state is changed in place."""


def class_paths(code: Code) -> ClassPaths:
    """The paths of a trellis if all of them are classes, the bits if each class has its own, else the codewords."""
    trellis = code.codebook.trellis
    if trellis is not None and code.is_full:
        edges = trellis.unrank(code.assignment.codeword_of_class).astype(np.int32)
        return Paths(trellis.width, np.array(trellis.digits, dtype=np.int64), edges)
    matrix = code.coding_matrix
    if _has_a_bit_for_each_class(matrix):
        return SingleBits(matrix.argmax(axis=1))
    return Codewords(matrix.astype(np.float32))


def _has_a_bit_for_each_class(matrix: NDArray[np.int8]) -> bool:
    """Whether these are the codewords of one-vs-rest, in any order."""
    is_on = matrix > 0
    is_square = matrix.shape[0] == matrix.shape[1]
    return bool(is_square and matrix.all() and (is_on.sum(axis=0) == 1).all() and (is_on.sum(axis=1) == 1).all())


@dataclass(frozen=True, eq=False)
class Paths:
    """The paths of a trellis, all of which are classes."""

    width: int
    digits: IntArray
    edges_of_class: NDArray[np.int32]

    @property
    def work(self) -> int:
        return 0

    @property
    def damping(self) -> float:
        return 1.0

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        return (self.edges_of_class,)

    def learn(self, samples: TrainingRows, order: NDArray[np.int64], step: float, state: Float32Array) -> None:
        from codekin.kernels.softmax import trellis_softmax_pass

        rows, n_edges_at_most = samples.rows, len(self.digits) + 1
        trellis_softmax_pass(
            rows.indptr,
            rows.indices,
            rows.values,
            samples.class_of_sample,
            self.edges_of_class,
            samples.weight_of_sample,
            order,
            self.width,
            self.digits,
            step,
            min(MAX_MARGIN, MAX_EXPONENT / n_edges_at_most),
            state,
        )


@dataclass(frozen=True, eq=False)
class SingleBits:
    """A bit of its own for each class: multinomial logistic regression."""

    bit_of_class: IntArray

    @property
    def work(self) -> int:
        return 2 * len(self.bit_of_class)

    @property
    def damping(self) -> float:
        return 1.0

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        return (self.bit_of_class,)

    def learn(self, samples: TrainingRows, order: NDArray[np.int64], step: float, state: Float32Array) -> None:
        from codekin.kernels.softmax import flat_softmax_pass

        rows = samples.rows
        flat_softmax_pass(
            rows.indptr,
            rows.indices,
            rows.values,
            samples.class_of_sample,
            self.bit_of_class,
            samples.weight_of_sample,
            order,
            step,
            state,
        )


@dataclass(frozen=True, eq=False)
class Codewords:
    """The rows of any coding matrix."""

    matrix: Float32Array
    transposed: Float32Array = field(init=False)

    def __post_init__(self) -> None:
        """Lay the matrix out both ways: one for the scores of the classes, one for the means of the bits."""
        object.__setattr__(self, "transposed", np.ascontiguousarray(self.matrix.T))

    @property
    def work(self) -> int:
        return 2 * self.matrix.size

    @property
    def damping(self) -> float:
        return max(1.0, np.count_nonzero(self.matrix) / len(self.matrix) / BITS_PER_DAMPING)

    @property
    def arrays(self) -> tuple[NDArray[Any], ...]:
        return (self.matrix,)

    def learn(self, samples: TrainingRows, order: NDArray[np.int64], step: float, state: Float32Array) -> None:
        from codekin.kernels.softmax import dense_softmax_pass

        rows = samples.rows
        dense_softmax_pass(
            rows.indptr,
            rows.indices,
            rows.values,
            samples.class_of_sample,
            self.matrix,
            self.transposed,
            samples.weight_of_sample,
            order,
            step,
            state,
        )


@dataclass(frozen=True, eq=False)
class SoftmaxBits(LearningBits):
    """Predictors that can still learn by softmax: weights beside the curvature of the loss in each of them.

    - ``state`` of shape (n_features, 2, n_bits): weights and curvatures. With a bias its feature is the last.
    - ``has_bias``: whether the last feature is always 1.
    """

    @classmethod
    def begun(
        cls, n_features: int, n_bits: int, *, curvature: float, has_bias: bool, n_threads: int | None
    ) -> SoftmaxBits:
        """Weights 0 and equal curvatures, before the first step.

        - ``n_features``: how many features there are, the one of the bias included.
        - ``curvature``: what the curvatures start from.
        - ``has_bias``: whether the last feature is the bias.
        """
        state = np.zeros((n_features, 2, n_bits), dtype=np.float32)
        state[:, 1] = curvature
        return cls(state, 0, has_bias, n_threads)

    def learning(
        self, samples: TrainingRows, paths: ClassPaths, order: NDArray[np.int64], *, step: float
    ) -> Iterator[SoftmaxBits]:
        """The bits during one pass, every fraction of a second: then Python can report, or be interrupted.

        Their state is changed in place: the bits before the pass are no more.

        - ``order`` of shape (n_steps,): the samples in the order in which they are seen.
        - ``step``: the share of a Newton step that is made.
        """
        rows = samples.rows
        updates_per_step = max(len(rows.values) // max(rows.n_rows, 1), 1) * max(self.n_bits, 1) + paths.work
        n_steps_at_once = max(UPDATES_AT_ONCE // updates_per_step, 1)
        for start in range(0, len(order), n_steps_at_once):
            some = order[start : start + n_steps_at_once]
            paths.learn(samples, some, step, self.state)
            yield replace(self, n_steps=self.n_steps + start + len(some))
