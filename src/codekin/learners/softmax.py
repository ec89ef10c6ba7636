"""Softmax: the multiclass logistic loss over all codewords, minimised online, all bits together.

Other learners train each bit on its own sign. Here the classes compete: the score of a class is that of its codeword,
and the bits are trained to give the true class the largest share of ``sum_classes exp(score)``. On a trellis that sum
and its derivatives take time linear in the number of bits; for other codes it runs over all codewords.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from codekin.code import Code, Codebook, CodingMatrix
from codekin.learners.linear import Float32Array
from codekin.learners.online import OnlineLearner
from codekin.learners.training import Block, LearningBits, Lesson
from codekin.learners.training_rows import StreamedRows, TrainingRows, checksum, pass_order
from codekin.learners.tree_nodes import Workspace
from codekin.learners.tree_samples import BYTES_PER_WEIGHT, Node

MAX_MARGIN = 30.0
"""Margins beyond this are clipped while learning: such a bit is decided."""
MAX_EXPONENT = 650.0
"""The score of a path may not exceed this, so that sums over paths do not overflow."""
UPDATES_AT_ONCE = 3 * 10**7
"""How many weights are updated before it returns to Python: about a tenth of a second."""
LEAST_WEIGHT = 0.35
"""Smaller weights are dropped as soon as their node is trained. That is most of them, at the same accuracy: of the
validation samples of 12,582 classes, 47.7, 47.8 and 48.0 % are right with 0.2, 0.3 and 0.4, in 6.6, 5.7 and 5.2 MB; of
two trees of 102,673 classes 39.3, 39.5 and 39.4 %, in 72, 54 and 46 MB."""
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
        trellis = code.codebook.graph
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


@dataclass(frozen=True)
class SoftmaxSteps:
    """How a node is learned: by Newton steps of a softmax over its children, with curvatures for all weights.

    Of samples with several labels it is a logistic regression for each child.
    """

    step: float
    curvature: float
    """The first one of every weight."""
    merges: ClassVar[bool] = True
    """Features that have the same values in all samples share a state."""
    least_weight: ClassVar[float] = LEAST_WEIGHT
    """Up to which size weights are dropped."""

    def begun(self, workspace: Workspace, node: Node, n_features: int) -> Any:
        """Weights 0 and equal curvatures, of shape (n_features, 2, n_children), and the sets of children."""
        state = workspace.zeros("state", n_features, 2, node.n_children)
        state[:, 1] = self.curvature
        return state, node.sets

    def make(self, rows: tuple[Any, ...], children: Any, weights: Any, order: NDArray[np.int64], state: Any) -> None:
        from codekin.kernels.label_tree import node_softmax_pass
        from codekin.kernels.logistic import node_logistic_pass

        learned, sets = state
        if sets is None:
            node_softmax_pass(*rows, children, weights, order, self.step, learned)
        else:
            node_logistic_pass(*rows, children, sets, weights, order, self.step, learned)


@dataclass(frozen=True, eq=False)
class Softmax(OnlineLearner):
    """Learns all bits of a code together, so that the codeword of the true class wins among all of them.

    With margins ``f`` the score of class ``y`` is ``M_y . f / 2``, which on a trellis is the sum of ``f_e`` over the
    edges of its path, up to a constant. The loss of a sample is ``-log(exp(score_y) / sum_k
    exp(score_k))``. With the mean and the variance of ``M / 2`` under these probabilities (on a trellis ``p_e - 1/2``
    and ``p_e (1 - p_e)``, where ``p_e`` is the probability of all paths over edge ``e``) a sample ``x`` of class ``y``
    makes a diagonal Newton step::

        G_fe += variance_e x_f**2        w_fe -= step (mean_e - M_ye / 2) x_f / G_fe

    starting from ``w = 0`` and ``G = damping * mean |x|**2`` (times a twelfth of the bits of a codeword where there is
    neither a trellis nor a bit for each class). The margins are decoded by the linear or the logistic loss; then the
    probabilities are exact. Training takes 8 bytes for each feature and bit, the result 4; the weights of the
    best pass are kept on disk.

    On a tree of classes every node is a softmax over its children, trained on the samples of its own classes, and
    weights below 0.35 are dropped: training then takes 8 bytes for each feature and child of the widest node. All
    passes are made; there is no early stopping.

    Parameters
    ----------
    n_epochs : int, default=5
        How many passes over the samples.
    step : float, default=0.5
        The share of a Newton step that is made.
    damping : float, optional
        The initial curvature for samples of mean squared norm 1: larger values mean smaller first steps. By default,
        0.15 on a tree, whose nodes have few samples, and 0.3 otherwise.
    shuffle : bool, default=True
        Whether each pass has a new random order.
    fit_intercept : bool, default=False
        Whether to learn a bias, as the weight of an additional feature that is always 1.
    class_weight : "balanced" or array-like of shape (n_classes,), optional
        Multiplies the weights of a class's samples. ``"balanced"`` makes every class count the same.
    patience : int, default=2
        With validation, stop after this many passes in a row whose score is below the best.
    max_memory : int, optional
        The most bytes that weights and curvatures may take, and whatever else a fit needs besides the samples. By
        default, the memory that is available.
    n_threads : int, optional
        The number of threads for the margins of the validation samples; by default, one per processor. A pass takes one
        thread: every step needs the margins of all bits.

    Examples
    --------
    >>> from scipy import sparse
    >>> from codekin.codebooks import trellis_codebook
    >>> from codekin.code import Assignment
    >>> from codekin.samples import Samples
    >>> X = sparse.eye_array(5, format="csr")
    >>> code = Code(trellis_codebook(5, 2), Assignment.identity(5))
    >>> bits = Softmax().fit(Samples(X, np.arange(5)), code, rng=0)
    >>> (bits.margins(X) @ code.coding_matrix.T).argmax(axis=1)
    array([0, 1, 2, 3, 4])
    """

    n_epochs: int = 5
    step: float = 0.5
    damping: float | None = None
    shuffle: bool = True
    fit_intercept: bool = False
    class_weight: Literal["balanced"] | ArrayLike | None = None
    patience: int = 2
    max_memory: int | None = None
    n_threads: int | None = None

    _positive: ClassVar[tuple[str, ...]] = ("max_memory", "step", "damping")
    learns_probabilities: ClassVar[bool] = True
    """True: there is nothing to calibrate."""
    learns_trees: ClassVar[bool] = True
    """Node by node."""
    bytes_per_weight: ClassVar[int] = BYTES_PER_WEIGHT
    """While all bits are learned together: the weight and its curvature."""
    bytes_at_once: ClassVar[int] = BYTES_PER_WEIGHT
    """The same: bits cannot be learned in turn."""

    def _node_steps(self, codebook: Codebook, mean_squared_norm: float) -> SoftmaxSteps:
        """How a node of a tree is learned."""
        return SoftmaxSteps(self.step, self._first_curvature(codebook, mean_squared_norm))

    def _first_curvature(self, codebook: Codebook, mean_squared_norm: float) -> float:
        """The curvature of all weights before the first step, by the given damping or that of the codebook."""
        return (codebook.softmax_damping if self.damping is None else self.damping) * mean_squared_norm

    def decoding_loss(self, codebook: Codebook) -> str:
        """The default decoding loss, under which the probabilities are exact."""
        return codebook.softmax_loss

    def _lesson(self, rows: TrainingRows | StreamedRows, code: Code, *, learns_on: bool = False) -> Lesson[SoftmaxBits]:  # noqa: ARG002
        """How it learns the columns of a code from some samples: all of them together.

        On a trellis all of whose paths are classes, a step takes time O(n_bits), otherwise O(n_classes n_bits).
        """
        paths = class_paths(code)
        curvature = paths.damping * self._first_curvature(code.codebook, rows.mean_squared_norm)
        has: Any = {"curvature": curvature, "has_bias": self.fit_intercept, "n_threads": self.n_threads}

        def learning(
            bits: SoftmaxBits, _: Block, some: TrainingRows, order: NDArray[np.int64]
        ) -> Iterator[SoftmaxBits]:
            return bits.learning(some, paths, order, step=self.step)

        return Lesson(
            code.n_bits,
            partial(SoftmaxBits.begun, rows.n_features, **has),
            learning,
            partial(pass_order, is_shuffled=self.shuffle),
            lambda *_: self._all_columns(rows.n_features, code.n_bits),
            lambda: {**self._settings, "codewords_checksum": checksum(paths.codewords[0])},
        )

    @property
    def _settings(self) -> dict[str, Any]:
        """What the result depends on, besides the number of passes and the samples with their weights."""
        names = ("step", "damping", "shuffle", "fit_intercept", "patience")
        return {"learner": "softmax", **{name: getattr(self, name) for name in names}}

    def _all_columns(self, n_features: int, n_bits: int) -> Sequence[Block]:
        needed = n_features * n_bits * BYTES_PER_WEIGHT
        if needed > self._memory_limit:
            self._refuse_memory(needed, n_features, n_bits, ", or AROW, which can learn the bits in blocks")
        return [(0, n_bits)]
