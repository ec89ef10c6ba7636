"""What the training of an online learner keeps track of: reports, the best pass so far, valid settings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from tempfile import TemporaryFile
from typing import IO, Any, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from codekin._system.checkpoints import Checkpoints
from codekin._system.rows import SparseRows
from codekin.learners.linear import Float32Array, LinearBits, LinearRows, SparseLinearBits, product_with_dense
from codekin.learners.training_rows import Order, TrainingRows, Validation

FEATURES_PER_BLOCK = 256
LEAST_ON_DISK = 1 << 19
"""In bytes: smaller weights stay in memory."""


@dataclass(frozen=True, eq=False)
class EpochReport:
    """The report after a pass over the samples.

    Parameters
    ----------
    epoch, n_epochs : int
        Which pass this was, from 1, and how many there will be at most.
    block, n_blocks : int
        Which block of columns it was for, from 1; one block if everything fits into memory.
    seconds : float
        How long it took.
    score : float or None
        The validation score, if known.
    snapshot : callable or None
        Returns the predictors as they are now, a copy; None while other blocks have yet to be trained.
    """

    epoch: int
    n_epochs: int
    block: int
    n_blocks: int
    seconds: float
    score: float | None = None
    snapshot: Callable[[], LinearBits] | None = field(default=None, repr=False)


@dataclass(frozen=True, eq=False)
class Callbacks:
    """Where a training reports after each pass, and saves checkpoints."""

    on_epoch: Callable[[EpochReport], None] | None = None
    checkpoints: Checkpoints | None = None


@dataclass
class Stopping:
    """Which pass was best, and whether it is time to stop."""

    patience: int
    n_scores: int = 0
    n_below: int = 0
    best_epoch: int = 0
    best_score: float = 0.0

    def add(self, score: float) -> None:
        self.n_scores += 1
        if score > self.best_score or self.best_epoch == 0:
            self.best_score, self.best_epoch = score, self.n_scores
        self.n_below = self.n_below + 1 if score < self.best_score else 0

    @property
    def is_best(self) -> bool:
        """Whether the last score is the best so far."""
        return self.best_epoch == self.n_scores

    @property
    def is_over(self) -> bool:
        return self.n_below >= self.patience

    def as_dict(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if name != "patience"}


class BestWeights:
    """A copy of the weights of bits that learn on, on disk if they are large and there is room."""

    def __init__(self) -> None:
        self._file: IO[bytes] | None = None
        self._held: Float32Array | None = None
        self._shape: tuple[int, int] | None = None

    @property
    def is_known(self) -> bool:
        return self._shape is not None

    def keep(self, bits: LearningBits) -> None:
        """Replace what was kept by the weights of these bits."""
        self._put((len(bits.state), bits.n_bits), lambda: (weights for _, weights in bits.blocks_of_weights()))

    def keep_array(self, weights: Float32Array) -> None:
        """Replace what was kept by these weights."""
        self._put((len(weights), weights.shape[1]), lambda: [weights])

    def mapped(self) -> Float32Array:
        """The weights that were kept last, read from disk when they are used."""
        if self._held is not None:
            return self._held
        assert self._file is not None
        return np.memmap(self._file, np.float32, "r", shape=self._shape)

    def _put(self, shape: tuple[int, int], blocks: Callable[[], Iterable[Float32Array]]) -> None:
        self._shape = shape
        if self._held is None and 4 * shape[0] * shape[1] >= LEAST_ON_DISK:
            try:
                if self._file is None:
                    self._file = TemporaryFile(prefix="codekin-")  # noqa: SIM115  (closed when it is forgotten)
                self._file.seek(0)
                for block in blocks():
                    self._file.write(np.ascontiguousarray(block).reshape(-1).view(np.uint8).data)
                self._file.flush()
                return
            except OSError:  # the disk is full, or there is no place for temporary files
                self._file = None
        self._held = np.empty(shape, dtype=np.float32) if self._held is None else self._held
        start = 0
        for block in blocks():
            self._held[start : start + len(block)] = block
            start += len(block)


@dataclass(frozen=True, eq=False)
class LearningBits:
    """Weights, and the second moments that determine the steps of an online learner.

    In ``state`` of shape (n_features, n_rows, n_bits) the weights are row 0 of a feature; with a bias, its feature is
    the last.
    """

    state: Float32Array = field(repr=False)
    n_steps: int
    has_bias: bool
    n_threads: int | None = None

    @property
    def n_features(self) -> int:
        return len(self.state) - self.has_bias

    @property
    def n_bits(self) -> int:
        return int(self.state.shape[2])

    @property
    def settings(self) -> str:
        return f"fit_intercept={self.has_bias}"

    def continuing(self, bits: Any, n_features: int, n_bits: int, begun: Callable[[int], Self]) -> Self:
        """Bits that continue from others, or begin if these are None; raises if they do not suit each other.

        Finished predictors give their weights only. ``n_features`` includes that of the bias. These bits only say what
        is expected; ``begun`` makes such bits.
        """
        is_finished = isinstance(bits, LinearBits | SparseLinearBits)
        if bits is not None and (
            (bits.n_features + self.has_bias, bits.n_bits) != (n_features, n_bits)
            or not (is_finished or bits.settings == self.settings)
        ):
            settings = self.settings if is_finished else bits.settings
            raise ValueError(
                f"These bits were begun with {bits.n_features} features, {bits.n_bits} bits and {settings}; they "
                "cannot continue with others."
            )
        if bits is not None and not is_finished:
            return replace(bits, state=bits.state.copy())  # type: ignore[no-any-return]
        started = begun(n_bits)
        if bits is not None:
            is_dense = isinstance(bits, LinearBits)
            started.state[: bits.n_features, 0] = bits.weights if is_dense else bits.weights.toarray()
            if self.has_bias:
                started.state[-1, 0] = bits.bias
        return started

    def margins(self, X: Any) -> Float32Array:
        margins = product_with_dense(SparseRows.of(X, self.n_features), self.state, 0, self.n_threads)
        margins += self.state[-1, 0] * self.has_bias
        return margins

    def blocks_of_weights(self) -> Iterator[tuple[slice, Float32Array]]:
        """The weights of some features at a time; the last feature is that of the bias."""
        for start in range(0, len(self.state), FEATURES_PER_BLOCK):
            block = slice(start, start + FEATURES_PER_BLOCK)
            yield block, self._weights_of(block)

    def _weights_of(self, block: slice) -> Float32Array:
        return self.state[block, 0]

    def weights(self, out: Float32Array | None = None) -> Float32Array:
        """A copy of the weights, with the bias as the last feature."""
        out = np.empty((len(self.state), self.n_bits), dtype=np.float32) if out is None else out
        for block, weights in self.blocks_of_weights():
            out[block] = weights
        return out

    def finished(self) -> LinearBits:
        """A copy of the predictors alone, which cannot learn further."""
        return as_linear_bits(self.weights(), self.has_bias, self.n_threads)

    def linear_rows(self) -> LinearRows:
        return self.finished().linear_rows()

    def ended(self) -> LinearBits:
        """The predictors alone in the state's own memory, the rest of which is freed; invalidates these bits."""
        return as_linear_bits(self.gathered(), self.has_bias, self.n_threads)

    def gathered(self) -> Float32Array:
        """The weights, with the bias as the last feature, in the state's own memory; invalidates these bits."""
        from codekin.kernels.arow import gather_weights

        n_features, _, n_bits = self.state.shape
        gather_weights(self.state)
        # There are no other views of the state, so it can shrink in place.
        self.state.resize((n_features, n_bits), refcheck=False)
        return self.state


def as_linear_bits(weights: Float32Array, has_bias: bool, n_threads: int | None) -> LinearBits:
    """Linear predictors from weights whose last feature may be that of the bias."""
    if has_bias:
        return LinearBits(weights[:-1], weights[-1].copy(), n_threads)
    return LinearBits(weights, np.zeros(weights.shape[1], dtype=np.float32), n_threads)


Bits = TypeVar("Bits", bound=LearningBits)
Block = tuple[int, int]
"""The first column of a block, and one past its last."""


@dataclass(frozen=True, eq=False)
class Lesson(Generic[Bits]):
    """How a learner learns the columns of a code from some samples.

    - ``begun``: makes untrained predictors of a number of bits.
    - ``learning``: yields the bits during one pass, from bits, their columns, samples in memory and their order.
    - ``order``: makes the order of a pass from a number of samples and a seed.
    - ``blocks``: the columns to train together so that everything fits into memory, given validation samples and the
      number of workers; raises if it cannot fit.
    - ``identity``: what identifies this training, besides its samples and seeds, for checkpoints.
    - ``completed``: the trained predictors with what needed no training; changes them in place.
    """

    n_bits: int
    begun: Callable[[int], Bits]
    learning: Callable[[Bits, Block, TrainingRows, NDArray[np.int64]], Iterator[Bits]]
    order: Order
    blocks: Callable[[Validation | None, int], Sequence[Block]]
    identity: Callable[[], Mapping[str, Any]]
    completed: Callable[[LinearBits], LinearBits] = lambda bits: bits
