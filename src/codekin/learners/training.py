"""The passes of an online learner: all columns together or in blocks, with early stopping and checkpoints."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from codekin._system.checkpoints import Checkpoint, CheckpointError, Checkpoints
from codekin._system.magnitudes import check_learned
from codekin._system.memory import give_back
from codekin.learners.best_weights import BestWeights
from codekin.learners.learning import LearningBits, as_linear_bits
from codekin.learners.linear import Float32Array, LinearBits, Validation, score_of
from codekin.learners.streamed_rows import StreamedRows
from codekin.learners.training_rows import TrainingRows
from codekin.progress import tell

Bits = TypeVar("Bits", bound=LearningBits)
Block = tuple[int, int]
"""The first column of a block, and one past its last."""
STAGE = "learning bits"


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
class Watchers:
    """Where a training reports after each pass, and saves checkpoints."""

    on_epoch: Callable[[EpochReport], None] | None = None
    checkpoints: Checkpoints | None = None


def tell_of_pass(passes: tuple[int, int], blocks: tuple[int, int], steps: tuple[int, int]) -> None:
    """Report progress: which pass, block of columns and step of how many (passes and blocks from 1)."""
    (epoch, n_epochs), (block, n_blocks), (n_steps, n_steps_in_all) = passes, blocks, steps
    turn = f", part {block} of {n_blocks} of the bits" if n_blocks > 1 else ""
    tell(
        STAGE,
        ((block - 1) * n_epochs + epoch - 1) * n_steps_in_all + n_steps,
        n_blocks * n_epochs * n_steps_in_all,
        detail=f"epoch {epoch} of {n_epochs}{turn}",
        unit="samples",
    )


@dataclass(frozen=True, eq=False)
class Passes(Generic[Bits]):
    """The samples, the number of passes and their orders; everything is checked.

    - ``seeds``: one for each pass, so that every block of columns can have the same orders.
    - ``begun``: makes untrained predictors of a number of bits.
    - ``learning``: yields the bits during one pass, from bits, their columns, samples in memory and their order.
    - ``order``: makes the order of a pass from a number of samples and a seed.
    - ``patience``: after how many passes in a row below the best to stop.
    - ``settings``: what identifies this training, besides its samples and seeds, for checkpoints.
    """

    samples: TrainingRows | StreamedRows
    n_bits: int
    seeds: Sequence[int]
    begun: Callable[[int], Bits]
    learning: Callable[[Bits, Block, TrainingRows, NDArray[np.int64]], Iterator[Bits]]
    order: Callable[[int, int], NDArray[np.int64]]
    patience: int
    validation: Validation | None
    watchers: Watchers
    settings: Mapping[str, Any]

    @property
    def n_epochs(self) -> int:
        """The most passes there may be."""
        return len(self.seeds)

    def fit(self, blocks: Sequence[Block]) -> LinearBits:
        """Train these blocks, which cover all columns."""
        tell(STAGE)
        checkpoints, saved = self.watchers.checkpoints, None
        if checkpoints is not None:
            saved = checkpoints.found(self._identity)
        if saved is not None:
            blocks = _saved_blocks(saved, blocks)
        give_back()  # what checking and measuring the samples took
        bits = self._at_once(saved) if len(blocks) == 1 else self._in_blocks(blocks, saved)
        check_learned(bits.weights)
        return bits

    def pass_over(
        self, block: int, blocks: Sequence[Block], n_epochs: int, bits: Bits | None = None, n_done: int = 0
    ) -> Iterator[tuple[int, Bits, float]]:
        """Yields number, bits and seconds of each pass over a block, after the ``n_done`` passes of ``bits``."""
        first, last = blocks[block - 1]
        bits = self.begun(last - first) if bits is None else bits
        for epoch in range(n_done + 1, n_epochs + 1):
            begin = time.perf_counter()
            n_steps_before = bits.n_steps
            for samples, order in self.samples.in_turns(self.order, self.seeds[epoch - 1]):
                n_in_all = round(len(order) * (self.samples.n_rows / samples.n_rows))
                for learned in self.learning(bits, (first, last), samples, order):
                    bits = learned
                    steps = bits.n_steps - n_steps_before, n_in_all
                    tell_of_pass((epoch, n_epochs), (block, len(blocks)), steps)
            yield epoch, bits, time.perf_counter() - begin

    def _report(self, report: EpochReport) -> None:
        if self.watchers.on_epoch is not None:
            self.watchers.on_epoch(report)

    # ----- all columns together ---------------------------------------------------------------------------------

    def _at_once(self, saved: Checkpoint | None) -> LinearBits:
        """Stops as soon as patience runs out."""
        blocks = [(0, self.n_bits)]
        stopping, n_done = _Stopping(self.patience), 0
        begun: Bits | None = None
        best = BestWeights()
        if saved is not None:
            n_done, stopping = saved.progress["epoch"], _Stopping(self.patience, **saved.progress["stopping"])
            arrays = saved.arrays("state")
            begun = self._restored(saved, arrays["state"], blocks[0])
            if self.validation is not None:
                if "best" in arrays:
                    best.keep_array(arrays["best"])
                else:
                    best.keep(begun)
            del arrays
        for epoch, bits, seconds in self.pass_over(1, blocks, self.n_epochs, begun, n_done):
            begun, score = None, None  # which has the same state
            if self.validation is not None:
                score = score_of(bits, self.validation)
                stopping.add(score)
                if stopping.is_best and epoch < self.n_epochs:
                    best.keep(bits)
            self._report(EpochReport(epoch, self.n_epochs, 1, 1, seconds, score, snapshot=bits.finished))
            if stopping.is_over:
                break
            if epoch < self.n_epochs:
                # The best weights are in the state itself if the last pass was the best.
                arrays = {} if not best.is_known or stopping.is_best else {"best": best.mapped()}
                self._save(blocks, bits, {"epoch": epoch, "stopping": stopping.as_dict()}, arrays)
        if not best.is_known or stopping.is_best:
            return bits.ended()
        has_bias, n_threads = bits.has_bias, bits.n_threads
        bits.state.resize((0, 0, 0), refcheck=False)  # make room for the best weights
        return as_linear_bits(np.array(best.mapped()), has_bias, n_threads)

    # ----- some columns after the others ------------------------------------------------------------------------

    def _in_blocks(self, blocks: Sequence[Block], saved: Checkpoint | None) -> LinearBits:
        """The same result in less memory."""
        with self._output() as weights:
            best_epoch = None if saved is None else saved.progress["best_epoch"]
            if best_epoch is None:
                saved, best_epoch = None, self._best_epoch_of_blocks(blocks, weights, saved)
            if best_epoch < self.n_epochs:
                # The best weights were not kept, but the orders are known, so they can be computed again.
                self._train_blocks(blocks, best_epoch, weights, [], saved)
        begun = self.begun(0)
        return as_linear_bits(weights, begun.has_bias, begun.n_threads)

    def _output(self) -> AbstractContextManager[Float32Array]:
        """Where the weights of all blocks are collected."""
        return nullcontext(np.empty((self.samples.n_features, self.n_bits), dtype=np.float32))

    def _best_epoch_of_blocks(self, blocks: Sequence[Block], weights: Float32Array, saved: Checkpoint | None) -> int:
        """Make all passes; returns the one that early stopping would have chosen, from the margins after each."""
        margins: list[Float32Array] = []
        if self.validation is not None:
            shape = (self.validation.X.shape[0], weights.shape[1])
            margins = [np.empty(shape, dtype=np.float32) for _ in self.seeds]
        self._train_blocks(blocks, None, weights, margins, saved)
        if self.validation is None:
            return self.n_epochs
        stopping = _Stopping(self.patience)
        while not stopping.is_over and stopping.n_scores < self.n_epochs:
            stopping.add(self.validation.score(margins[stopping.n_scores]))
        return stopping.best_epoch

    def _train_blocks(
        self,
        blocks: Sequence[Block],
        best_epoch: int | None,
        weights: Float32Array,
        margins: list[Float32Array],
        saved: Checkpoint | None,
    ) -> None:
        """Fill in the final weights and, if requested, the validation margins after each pass."""
        n_epochs = self.n_epochs if best_epoch is None else best_epoch
        for block, (first, last) in enumerate(blocks, start=1):
            columns = slice(first, last)
            begun: Bits | None = None
            n_done = 0
            if saved is not None and saved.progress["block"] > block:
                self._restore_block(saved, block, blocks, weights, margins)
                continue
            if saved is not None and saved.progress["block"] == block and saved.progress["epoch"]:
                n_done, arrays = saved.progress["epoch"], saved.arrays("state")
                fill_columns(margins, columns, arrays.get("margins", ()))
                begun = self._restored(saved, arrays["state"], (first, last))
            for epoch, bits, seconds in self.pass_over(block, blocks, n_epochs, begun, n_done):
                if margins and self.validation is not None:
                    margins[epoch - 1][:, columns] = bits.margins(self.validation.X)
                self._report(EpochReport(epoch, n_epochs, block, len(blocks), seconds))
                if epoch < n_epochs:
                    known = {"margins": _columns(margins[:epoch], columns)} if margins else {}
                    progress = {"block": block, "epoch": epoch, "best_epoch": best_epoch}
                    self._save(blocks, bits, progress, known, _blocks_before(block))
            of_block = bits.gathered()
            weights[:, columns] = of_block
            self._save_block(block, blocks, best_epoch, of_block, margins)
            del begun, bits, of_block  # before the next block needs memory

    # ----- checkpoints ------------------------------------------------------------------------------------------

    @cached_property
    def _identity(self) -> dict[str, Any]:
        """What identifies this training."""
        return {
            **self.settings,
            "n_epochs": self.n_epochs,
            "n_samples": self.samples.n_rows,
            "n_features": self.samples.n_features,
            "samples_checksum": self.samples.checksum,
            "n_validation_samples": 0 if self.validation is None else int(self.validation.X.shape[0]),
            "seeds": list(self.seeds),
        }

    def _save(
        self,
        blocks: Sequence[Block],
        bits: Bits,
        progress: dict[str, Any],
        arrays: dict[str, NDArray[Any]],
        keep: Sequence[str] = (),
    ) -> None:
        progress = {**progress, "n_steps": bits.n_steps}
        self._save_files(blocks, progress, {"state": {"state": bits.state, **arrays}}, keep)

    def _save_block(
        self,
        block: int,
        blocks: Sequence[Block],
        best_epoch: int | None,
        weights: Float32Array,
        margins: list[Float32Array],
    ) -> None:
        """Save the result of a block unless it is the last one; earlier ones are saved already."""
        if block < len(blocks):
            known = {"margins": _columns(margins, slice(*blocks[block - 1]))} if margins else {}
            progress = {"block": block + 1, "epoch": 0, "best_epoch": best_epoch}
            files = {f"block-{block}": {"weights": weights, **known}}
            self._save_files(blocks, progress, files, _blocks_before(block))

    def _restore_block(
        self, saved: Checkpoint, block: int, blocks: Sequence[Block], weights: Float32Array, margins: list[Float32Array]
    ) -> None:
        """Fill in the result of a finished block."""
        columns, arrays = slice(*blocks[block - 1]), saved.arrays(f"block-{block}")
        weights[:, columns] = arrays["weights"]
        fill_columns(margins, columns, arrays.get("margins", ()))

    def _save_files(
        self,
        blocks: Sequence[Block],
        progress: dict[str, Any],
        files: dict[str, dict[str, NDArray[Any]]],
        keep: Sequence[str],
    ) -> None:
        if self.watchers.checkpoints is not None:
            progress = {**progress, "blocks": [list(block) for block in blocks]}
            self.watchers.checkpoints.save(self._identity, progress, files, keep)

    def _restored(self, saved: Checkpoint, state: NDArray[Any], block: Block) -> Bits:
        begun = self.begun(0)
        if state.shape != (self.samples.n_features, begun.state.shape[1], block[1] - block[0]):
            raise CheckpointError(f"The checkpoint in {saved.folder} has a state of shape {state.shape}.")
        return replace(begun, state=np.array(state), n_steps=saved.progress["n_steps"])


@dataclass
class _Stopping:
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


def _columns(margins: Sequence[Float32Array], columns: slice) -> Float32Array:
    return np.stack([of_epoch[:, columns] for of_epoch in margins])


def fill_columns(margins: list[Float32Array], columns: slice, known: Iterable[Float32Array]) -> None:
    """The margins of a block after its first passes, or after all of them."""
    for of_epoch, of_block in zip(margins, known, strict=False):
        of_epoch[:, columns] = of_block


def _blocks_before(block: int) -> list[str]:
    return [f"block-{number}" for number in range(1, block)]


def _saved_blocks(saved: Checkpoint, wanted: Sequence[Block]) -> Sequence[Block]:
    """The blocks of the checkpoint, unless the memory available now requires narrower ones."""
    blocks = [(int(first), int(last)) for first, last in saved.progress["blocks"]]
    widest, allowed = (max(last - first for first, last in each) for each in (blocks, wanted))
    if widest > allowed:
        raise MemoryError(
            f"The checkpoint in {saved.folder} trains {widest} bits at once, but there is memory for only {allowed}. "
            "Resume when there is more, or start again without resuming."
        )
    return blocks


def check_setting(learner: object, name: str, is_valid: bool, rule: str) -> None:
    """Raise unless a hyper-parameter is valid; the message has its name, rule and value."""
    if not is_valid:
        value = getattr(learner, name)
        raise ValueError(f"The {name!r} parameter of {type(learner).__name__} must be {rule}. Got {value!r} instead.")


def check_common_settings(learner: Any) -> None:
    """Check the hyper-parameters that all online learners share."""
    check_setting(learner, "n_epochs", learner.n_epochs >= 1, "at least 1")
    check_setting(learner, "patience", learner.patience >= 1, "at least 1")
    check_setting(learner, "max_memory", learner.max_memory is None or learner.max_memory > 0, "greater than 0")
    is_name = isinstance(learner.class_weight, str)
    rule = "'balanced' or an array with one entry per class"
    check_setting(learner, "class_weight", not is_name or learner.class_weight == "balanced", rule)
