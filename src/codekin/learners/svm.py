"""Linear support vector machines: every bit, or every child of a node, is separated from the rest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from codekin.code import Code, Codebook, FloatArray
from codekin.learners.label_sets import LabelSets
from codekin.learners.linear import Float32Array, LinearBits
from codekin.learners.online import CheckedLearner, Engine
from codekin.learners.training import Callbacks, EpochReport
from codekin.learners.training_rows import StreamedRows, Validation, pass_order, score_of, training_rows
from codekin.learners.tree_nodes import Workspace, fit_nodes
from codekin.learners.tree_samples import Node
from codekin.samples import Samples

LEAST_WEIGHT = 0.07
"""Smaller weights of nodes are dropped, for samples of length 1: of texts of 58 classes 79.9 % are right with a fifth
of the weights, and 80.1 % with all of them; of 713 classes 91.2 and 91.5 %, with 5 % of them."""


C_OF_SETS = 0.7
"""With several labels per sample: of validation samples of bibtex, Debian's tags and Reuters 64.6, 89.4 and 95.5 % have
a best class that is one of their labels at 0.5, and 63.5, 89.1 and 96.4 % at 1; of its dependencies 77.7 % at 0.7 and
77.8 % at 1."""
C_PER_SAMPLE, LEAST_C, MOST_C = 200.0, 1.0, 4.0
"""With fewer samples per class a larger C is better: of texts of 713 classes with 32 samples each 91.5 % are right at 4
and 90.7 % at 1, of 58 classes with 776 each 79.8 and 80.1 %."""


@dataclass(frozen=True)
class SVMSteps:
    """How a node is learned: the machines of all children go through its samples together."""

    C: float | None
    curvature: float
    """The mean squared length of the samples."""
    least_weight: float
    """Up to which size weights are dropped."""
    merges: ClassVar[bool] = False
    """Features that have the same values in all samples share no state: each makes its own steps."""

    def begun(self, workspace: Workspace, node: Node, n_features: int) -> Any:
        """Weights and dual variables 0, the signs of the children, and the numbers that the kernel needs."""
        n_samples, n_children = node.stop - node.start, node.n_children
        weights = workspace.zeros("state", n_features, 1, n_children)
        signs = (2 * (np.eye(n_children) if node.sets is None else node.sets) - 1).astype(np.float32)
        C = suitable_c(self.C, n_samples / n_children) if node.sets is None else self.C or C_OF_SETS
        numbers = 1 / (2 * C), 1 / self.curvature
        return weights, workspace.zeros("duals", n_samples, n_children), signs, numbers

    def make(self, rows: tuple[Any, ...], children: Any, weights: Any, order: NDArray[np.int64], state: Any) -> None:
        from codekin.kernels.svm import svm_pass

        learned, duals, signs, numbers = state
        svm_pass(*rows, children, signs, relative(weights), order, *numbers, learned[:, 0], duals)


def suitable_c(given: float | None, n_samples: float) -> float:
    """The C that was given, or the one that suits bits with this many samples on their smaller side."""
    return float(np.clip(C_PER_SAMPLE / max(n_samples, 1), LEAST_C, MOST_C)) if given is None else given


def relative(weights: FloatArray) -> FloatArray:
    """The weights of samples divided by their mean, so that only their ratios count."""
    is_counted = weights > 0
    return weights / weights[is_counted].mean() if is_counted.any() else weights


def fit_machines(
    learner: Any, samples: Samples, code: Code, *, rng: Any, validation: Validation | None, callbacks: Callbacks
) -> LinearBits:
    """Learn the machines of all columns of a code."""
    from codekin.kernels.svm import svm_pass

    started, generator = perf_counter(), np.random.default_rng(rng)
    sets = LabelSets.of_code(samples, code)
    rows = training_rows(learner, samples, code, has_targets=sets is not None)
    assert not isinstance(rows, StreamedRows)
    needed = 4 * (rows.n_features + rows.n_rows) * code.n_bits
    if needed > learner._memory_limit:
        learner._refuse_memory(needed, rows.n_features, code.n_bits, ", or AROW, which can learn the bits in blocks")
    row_of_sample, signs = (
        (rows.class_of_sample, code.coding_matrix.astype(np.float32)) if sets is None else sets.of_signs
    )
    weights: Float32Array = np.zeros((rows.n_features, code.n_bits), dtype=np.float32)
    duals, of_samples = np.zeros((rows.n_rows, code.n_bits), dtype=np.float32), relative(rows.weight_of_sample)
    sizes = np.bincount(rows.class_of_sample[of_samples > 0], minlength=code.n_classes)
    columns = code.coding_matrix
    n_fewer = np.minimum(sizes @ (columns > 0), sizes @ (columns < 0)).mean()  # samples on the smaller side of a bit
    squared_norm = learner._first_curvature(code.codebook, rows.mean_squared_norm)
    C = suitable_c(learner.C, n_fewer) if sets is None else learner.C or C_OF_SETS
    numbers = 1 / (2 * C), 1 / squared_norm
    for seed in generator.integers(2**63, size=learner.n_epochs).tolist():
        order = pass_order(rows.n_rows, seed, is_shuffled=learner.shuffle)
        svm_pass(*rows.arrays[:3], row_of_sample, signs, of_samples, order, *numbers, weights, duals)
    bits, n = LinearBits(weights[:-1], weights[-1], learner.n_threads), learner.n_epochs
    if callbacks.on_epoch is not None:
        score = None if validation is None else score_of(bits, validation)
        callbacks.on_epoch(EpochReport(n, n, 1, 1, perf_counter() - started, score, lambda: bits))
    return bits


@dataclass(frozen=True, eq=False)
class LinearSVM(CheckedLearner):
    """Learns each bit by a linear support vector machine with a squared hinge loss.

    The machines of all bits go through the samples together, by dual coordinate descent (Hsieh et al. 2008), in a
    fraction of the time of one after the other; samples have to be in memory. On a tree every node separates each of
    its children from the others, and weights below 0.07 are dropped. If all classes are children of the root, these are
    the machines of one-vs-rest.

    Of a sample with several labels all machines of these are on the positive side.

    Parameters
    ----------
    C : float, optional
        How much a sample on the wrong side counts, for samples of mean squared length 1: the larger, the closer the
        machines follow the samples. By default 200 divided by the mean number of samples on the smaller side of a
        bit, from 1 to 4; 0.7 if samples have several labels.
    n_epochs : int, default=10
        How many passes over the samples.
    shuffle : bool, default=True
        Whether each pass has a new random order.
    class_weight : "balanced" or array-like of shape (n_classes,), optional
        Multiplies the weights of a class's samples. ``"balanced"`` makes every class count the same.
    max_memory : int, optional
        The most bytes that weights and dual variables, four of each feature and each sample per bit, may take.
    n_threads : int, optional
        The number of threads for margins; by default, one per processor.

    Examples
    --------
    >>> from scipy import sparse
    >>> from codekin.code import Assignment
    >>> from codekin.codebooks import one_vs_rest
    >>> X = sparse.eye_array(5, format="csr")
    >>> code = Code(one_vs_rest(5), Assignment.identity(5))
    >>> LinearSVM().fit(Samples(X, np.arange(5)), code, rng=0).margins(X).argmax(axis=1)
    array([0, 1, 2, 3, 4])
    """

    C: float | None = None
    n_epochs: int = 10
    shuffle: bool = True
    class_weight: Literal["balanced"] | ArrayLike | None = None
    max_memory: int | None = None
    n_threads: int | None = None

    _engines: ClassVar[Mapping[str, Engine]] = {"blocks": Engine(fit_machines), "nodes": Engine(fit_nodes)}
    _from_one: ClassVar[tuple[str, ...]] = ("n_epochs",)
    _positive: ClassVar[tuple[str, ...]] = ("max_memory", "C")
    fit_intercept: ClassVar[bool] = True
    """Bits of one-vs-rest have few positive samples."""
    learns_probabilities: ClassVar[bool] = False
    usual_temperature: ClassVar[float] = 0.2
    """Margins are distances, not logarithms of odds: the probabilities of their softmax need about this temperature."""
    learns_trees: ClassVar[bool] = True
    bytes_per_sample: ClassVar[int] = 4
    """The dual variable of each bit."""

    def _node_steps(self, codebook: Codebook, mean_squared_norm: float) -> SVMSteps:
        """How a node of a tree is learned."""
        curvature = self._first_curvature(codebook, mean_squared_norm)
        return SVMSteps(self.C, curvature, LEAST_WEIGHT / float(np.sqrt(curvature)))

    def _first_curvature(self, codebook: Codebook, mean_squared_norm: float) -> float:  # noqa: ARG002
        """The mean squared length of the samples; the norms include the feature of the bias."""
        return mean_squared_norm - 1 if mean_squared_norm > 1 else 1.0

    def decoding_loss(self, codebook: Codebook) -> str:
        """The default decoding loss: that of the nodes of a tree, otherwise hinge."""
        return codebook.softmax_loss if codebook.learned_in == "nodes" else "hinge"
