"""Softmax over many classes of dense samples: a vector for each class, learned against the classes nearest to a sample.

A pass over all classes of all samples would take most of its time for classes that no sample is ever taken for. Here a
sample meets its own class, those that the vectors learned so far find nearest, and some drawn at random, so that a pass
costs the same for any number of classes. Of a few hundred classes it meets all, in products of matrices.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from codekin._system.arrays import check_learned
from codekin._system.parallel import single_blas
from codekin._system.rows import is_sparse
from codekin.code import Code, Codebook, IntArray
from codekin.learners.linear import Float32Array
from codekin.learners.online import ENGINES, CheckedLearner, Engine
from codekin.learners.training import Callbacks, EpochReport
from codekin.learners.training_rows import Validation, checked_labels, checksum, pass_order, score_of
from codekin.learners.vector_bits import LISTED_CLASSES, VectorBits
from codekin.progress import report
from codekin.samples import Samples

STAGE = "learning the vectors of the classes"
NEAREST, DRAWN = 30, 10
"""How many of the nearest classes, and of all of them, a sample meets besides its own."""
ALL_MET = 300
"""With at most so many classes, samples meet all of them."""
STEPS_AT_ONCE, MOST_AT_ONCE = 256.0, 256
"""Then samples are taken together whose steps add up to so much, and at most so many."""
STEP_OF_ONE, LARGEST_STEP = 20.0, 6.0
"""The first step for one sample per class, and at most: that many divided by the root of the samples per class."""
STEPS = (1.0, 0.15)
"""The factors of the first step that are tried: sentences are better learned with large ones, noise with small ones."""
STEP_OF_BIAS = 0.1
LENGTH_OF_START = 10.0
"""The vectors start from the class means, scaled to this length."""
SEARCHED_PASSES = (0, 1, 2, 4)
"""Before these passes, and every eighth, the nearest classes are found again."""
BYTES_PER_ENTRY = 12
"""Of a vector while it is learned: itself, its deviation from the mean, its rounded form and sketch."""
ROWS_AT_ONCE = 4_096
ROWS_OF_SKETCH = 20_000
LEAST_DIRECTIONS = 0.1
"""If fewer directions than this share of the features have nearly all variance, features are scaled one by one."""


class DenseRows(NamedTuple):
    """Dense samples with a weight, the bit of each, and how they are centred and scaled."""

    X: Any
    rows: IntArray
    bit_of_row: NDArray[np.int64]
    weights: Float32Array
    centre: Float32Array
    factor: Float32Array

    @classmethod
    def of(cls, learner: Any, samples: Samples, code: Code) -> DenseRows:
        """Samples without class -1 or weight, which are not copied."""
        if is_sparse(samples.X):
            raise ValueError("VectorSoftmax learns from dense samples. Got sparse ones; use Softmax or LinearSVM.")
        samples = samples.of_each_label()
        known = np.flatnonzero(samples.class_index >= 0)
        given = None if samples.weights is None else np.asarray(samples.weights)[known]
        classes, weights = checked_labels(
            len(known), samples.class_index[known], code.n_classes, given, learner.class_weight
        )
        X, has_weight = samples.X, weights > 0
        rows, weights = known[has_weight], weights[has_weight]
        bits = code.assignment.codeword_of_class[classes[has_weight]].astype(np.int64)
        weights = weights / max(float(weights.mean()), 1e-300) if len(weights) else weights
        return cls(X, rows, bits, weights.astype(np.float32), *_centred_and_scaled(X, rows))

    def at(self, places: Any) -> Float32Array:
        """Some of the samples, centred and scaled."""
        rows: Float32Array = np.subtract(self.X[self.rows[places]], self.centre, dtype=np.float32)
        rows *= self.factor
        return rows

    def blocks(self) -> Any:
        """Places of the samples, some at a time."""
        return (slice(start, start + ROWS_AT_ONCE) for start in range(0, len(self.rows), ROWS_AT_ONCE))

    def some(self) -> Float32Array:
        """Evenly spaced samples, as many as a sketch needs."""
        return self.at(slice(None, None, max(1, len(self.rows) // ROWS_OF_SKETCH)))


def _centred_and_scaled(X: Any, rows: IntArray) -> tuple[Float32Array, Float32Array]:
    """The mean of the samples, and what gives them a mean squared length of 1.

    All features are multiplied by one number, unless a few of them have nearly all variance, as in tables of numbers in
    different units: then by one number each.
    """
    n_features = X.shape[1]
    total, squares = np.zeros(n_features), np.zeros(n_features)
    some = rows[:: max(1, len(rows) // ROWS_OF_SKETCH)]
    for start in range(0, len(some), ROWS_AT_ONCE):
        block = np.asarray(X[some[start : start + ROWS_AT_ONCE]], dtype=np.float64)
        total, squares = total + block.sum(axis=0), squares + (block**2).sum(axis=0)
    mean = total / max(len(some), 1)
    variances = np.maximum(squares / max(len(some), 1) - mean**2, 0)
    whole = float(variances.sum()) or 1.0
    factor = np.full(n_features, whole**-0.5)
    if whole**2 < LEAST_DIRECTIONS * n_features * float((variances**2).sum()):
        is_varied = variances > 0
        factor[is_varied] = (variances[is_varied] * is_varied.sum()) ** -0.5
    return mean.astype(np.float32), factor.astype(np.float32)


class State(NamedTuple):
    """Vectors and biases of all classes, which a pass changes, and the nearest classes of each sample."""

    vectors: Float32Array
    bias: Float32Array
    nearest: NDArray[np.int32]


def fit_vectors(
    learner: VectorSoftmax,
    samples: Samples,
    code: Code,
    *,
    rng: Any,
    validation: Validation | None,
    callbacks: Callbacks,
) -> VectorBits:
    """Learn the vectors of all classes."""
    if code.codebook.learned_in != "nodes" or code.n_bits != code.n_classes:
        raise ValueError(
            "VectorSoftmax learns a vector for each class, all of them below one node, as ExtremeClassifier arranges "
            f"them if width and code are left open. Got {code.n_bits} bits of {code.codebook.name!r} for "
            f"{code.n_classes} classes."
        )
    code.codebook.check_learner(type(learner).__name__, False)
    data = DenseRows.of(learner, samples, code)
    n_rows, n_classes, n_features = len(data.rows), code.n_classes, len(data.centre)
    needed = learner.n_bytes(n_rows, n_features, n_classes)
    if needed > learner._memory_limit:
        learner._refuse_memory(needed, n_features, n_classes)
    seed, started = int(np.random.default_rng(rng).integers(2**63)), perf_counter()
    state = State(_class_means(data, n_classes), np.zeros(n_classes, dtype=np.float32), np.empty((n_rows, 0), np.int32))
    training: dict[str, Any] = {}
    first = 0
    if callbacks.checkpoints is not None:
        training = {**learner._settings, "seed": seed, "samples": samples.checksum, "bits": checksum(data.bit_of_row)}
        saved = callbacks.checkpoints.found(training)
        if saved is not None:
            arrays, first = saved.arrays("vectors"), int(saved.progress["epoch"])
            state = State(*(np.array(arrays[name]) for name in State._fields))
    for epoch in range(first, learner.n_epochs):
        if epoch in SEARCHED_PASSES or epoch % 8 == 0:
            state = state._replace(nearest=_nearest_classes(data, state, seed, learner.n_threads))
        _make_pass(learner, data, state, seed, epoch)
        is_last = epoch + 1 == learner.n_epochs
        if callbacks.checkpoints is not None and not is_last:
            callbacks.checkpoints.save(training, {"epoch": epoch + 1}, {"vectors": state._asdict()})
        if callbacks.on_epoch is not None and not is_last:
            seconds, started = perf_counter() - started, perf_counter()
            callbacks.on_epoch(EpochReport(epoch + 1, learner.n_epochs, 1, 1, seconds))
    check_learned(state.vectors)
    bits = _indexed(data, state, seed, learner.n_threads)
    if callbacks.on_epoch is not None:
        score = None if validation is None else score_of(bits, validation)
        seconds = perf_counter() - started
        callbacks.on_epoch(EpochReport(learner.n_epochs, learner.n_epochs, 1, 1, seconds, score, lambda: bits))  # type: ignore[arg-type,return-value]
    return bits


def _class_means(data: DenseRows, n_classes: int) -> Float32Array:
    """The means of the classes' samples, scaled to one length."""
    sums: Float32Array = np.zeros((n_classes, len(data.centre)), dtype=np.float32)
    for block in data.blocks():
        classes, place = np.unique(data.bit_of_row[block], return_inverse=True)
        members = sparse.csc_array((data.weights[block], place, np.arange(len(place) + 1)), (len(classes), len(place)))
        sums[classes] += members @ data.at(block)
    lengths = np.sqrt((sums**2).sum(axis=1, keepdims=True))
    return np.asarray(LENGTH_OF_START * sums / np.where(lengths > 0, lengths, 1), dtype=np.float32)


def _make_pass(learner: VectorSoftmax, data: DenseRows, state: State, seed: int, epoch: int) -> None:
    """One pass over the samples, whose steps fall evenly to 0 over all passes."""
    from codekin.kernels.class_search import class_softmax_pass

    (vectors, bias, nearest), n_rows, n_classes = state, len(data.rows), len(state.bias)
    first_step = min(STEP_OF_ONE * (n_classes / max(n_rows, 1)) ** 0.5, LARGEST_STEP) * (learner.step or STEPS[0])
    order = pass_order(n_rows, seed + epoch, is_shuffled=learner.shuffle)
    rng = np.random.default_rng([seed, epoch])
    for block in data.blocks():
        report(STAGE, epoch * n_rows + block.start, learner.n_epochs * n_rows, unit="samples")
        places = order[block]
        done = (epoch * n_rows + np.arange(block.start, block.start + len(places))) / (learner.n_epochs * n_rows)
        steps = (first_step * (1 - done)).astype(np.float32)
        rows, bits, weights = data.at(places), data.bit_of_row[places], data.weights[places]
        if n_classes <= ALL_MET:
            n_at_once = int(np.clip(STEPS_AT_ONCE / first_step, 1, MOST_AT_ONCE))
            _meet_all(rows, bits, (steps * weights)[:, None], state, n_at_once)
        else:
            drawn = rng.integers(n_classes, size=(len(places), DRAWN), dtype=np.int32)
            others = np.hstack([nearest[places], drawn])
            class_softmax_pass(rows, bits, weights, others, steps, STEP_OF_BIAS, vectors, bias)


def _meet_all(rows: Float32Array, bits: NDArray[np.int64], steps: Float32Array, state: State, n_at_once: int) -> None:
    """Make gradient steps of softmax over all classes in place, for some samples at a time."""
    with single_blas():
        for start in range(0, len(rows), n_at_once):
            some = slice(start, start + n_at_once)
            change = rows[some] @ state.vectors.T + state.bias
            change -= change.max(axis=1, keepdims=True)
            np.exp(change, out=change)
            change /= change.sum(axis=1, keepdims=True)
            change[np.arange(len(change)), bits[some]] -= 1
            change *= steps[some]
            np.subtract(state.vectors, change.T @ rows[some], out=state.vectors)
            np.subtract(state.bias, np.float32(STEP_OF_BIAS) * change.sum(axis=0), out=state.bias)


def _nearest_classes(data: DenseRows, state: State, seed: int, n_threads: int | None) -> NDArray[np.int32]:
    """The nearest classes of each sample by the vectors so far; none where a sample meets all classes."""
    n_rows = len(data.rows)
    if len(state.bias) <= ALL_MET:
        return state.nearest
    bits, found = _indexed(data, state, seed, n_threads), np.empty((n_rows, NEAREST), np.int32)
    for block in data.blocks():
        report("finding the nearest classes of the samples", block.start, n_rows, unit="samples")
        found[block] = bits.best(np.asarray(data.X[data.rows[block]]), NEAREST, n_rescored=NEAREST)[0]
    return found


def _indexed(data: DenseRows, state: State, seed: int, n_threads: int | None) -> VectorBits:
    """The predictors with what finds candidates."""
    bits = replace(VectorBits.of(*state[:2], data.centre, data.factor, data.some()), n_threads=n_threads)
    return bits if len(state.bias) <= LISTED_CLASSES else bits.with_cells(np.random.default_rng(seed))


@dataclass(frozen=True, eq=False)
class VectorSoftmax(CheckedLearner):
    """Learns a vector for each of many classes of dense samples, such as embeddings of sentences and images.

    The loss of a sample is that of a softmax over its own class, the classes nearest to it and some drawn at random.
    Steps of stochastic gradients start from the class means and fall evenly to 0. Samples are centred and scaled as
    they are read, and are not copied: they may be memory-mapped, and of type float16. Vectors are stored with one byte
    per entry, and a prediction looks at a part of them only.

    Parameters
    ----------
    n_epochs : int, default=6
        How many passes over the samples.
    step : float, optional
        Multiplies the first step, which is 20 divided by the root of the samples per class, and at most 6. By default
        held-out samples choose between 1 and 0.15, which is better for classes that overlap.
    shuffle : bool, default=True
        Whether each pass has a new random order.
    class_weight : "balanced" or array-like of shape (n_classes,), optional
        Multiplies the weights of a class's samples. ``"balanced"`` makes every class count the same.
    max_memory : int, optional
        The most bytes that vectors and the nearest classes of the samples may take while they are learned.
    n_threads : int, optional
        The number of threads that find classes; by default, one per processor.

    Examples
    --------
    >>> from codekin.code import Assignment
    >>> from codekin.code.tree import label_tree
    >>> X = np.eye(5)
    >>> code = Code(label_tree(5, 5), Assignment.identity(5))
    >>> bits = VectorSoftmax().fit(Samples(X, np.arange(5)), code, rng=0)
    >>> np.asarray(bits.margins(X)).argmax(axis=1)
    array([0, 1, 2, 3, 4])
    """

    n_epochs: int = 6
    step: float | None = None
    shuffle: bool = True
    class_weight: Literal["balanced"] | ArrayLike | None = None
    max_memory: int | None = None
    n_threads: int | None = None

    _engines: ClassVar[Mapping[str, Engine]] = {kind: Engine(fit_vectors) for kind in ENGINES}
    _from_one: ClassVar[tuple[str, ...]] = ("n_epochs",)
    _positive: ClassVar[tuple[str, ...]] = ("max_memory", "step")
    learns_probabilities: ClassVar[bool] = True
    """True: there is nothing to calibrate bit by bit."""
    usual_temperature: ClassVar[float] = 1.0
    """Few samples per class are learned by heart; held-out ones say how much less certain the others are."""
    learns_trees: ClassVar[bool] = True
    """Of one node, which has all classes."""
    has_vectors: ClassVar[bool] = True
    """Whether every class has a vector of its own."""

    @property
    def tried(self) -> tuple[tuple[VectorSoftmax, VectorSoftmax], ...]:
        """The learners that held-out samples choose from, of several steps unless one is given.

        Each comes with the one that is tried for it, which makes two thirds of the passes.
        """
        steps = STEPS if self.step is None else (self.step,)
        return tuple(
            (replace(self, step=step), replace(self, step=step, n_epochs=-(-2 * self.n_epochs // 3))) for step in steps
        )

    @staticmethod
    def n_bytes(n_rows: int, n_features: int, n_classes: int) -> int:
        """What learning takes besides the samples: vectors, what finds them, and the nearest classes.

        Parameters
        ----------
        n_rows, n_features, n_classes : int

        Returns
        -------
        int
            The number of bytes.
        """
        return BYTES_PER_ENTRY * n_classes * (n_features + 1) + 4 * n_rows * NEAREST

    @property
    def _settings(self) -> dict[str, Any]:
        """What the result depends on, besides the samples and the seed."""
        names = ("n_epochs", "step", "shuffle")
        weight = self.class_weight
        balance = weight if weight is None or isinstance(weight, str) else np.asarray(weight).tolist()
        return {"learner": "vectors", **{name: getattr(self, name) for name in names}, "class_weight": balance}

    def decoding_loss(self, codebook: Codebook) -> str:
        """The default decoding loss, under which the probabilities are exact."""
        return codebook.softmax_loss
