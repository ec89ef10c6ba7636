"""The passes of an online learner: all columns together or in blocks, here or by workers, with early stopping.

A worker gets the samples once, makes all passes for its columns and returns their weights. Workers don't wait for each
other between passes. If validation samples choose a pass, workers also return the margins after each pass, and if the
best pass was not the last one, the passes up to it are repeated.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Generic, NamedTuple

import numpy as np
from numpy.typing import NDArray

from codekin._system.arrays import check_learned
from codekin._system.checkpoints import Checkpoint, CheckpointError
from codekin._system.memory import give_back
from codekin._system.parallel import output_array, share_work, with_workers
from codekin.code import Code
from codekin.learners.compact import decompressed
from codekin.learners.linear import Float32Array, LinearBits
from codekin.learners.training import (
    BestWeights,
    Bits,
    Block,
    Callbacks,
    EpochReport,
    LearningBits,
    Lesson,
    Stopping,
    as_linear_bits,
)
from codekin.learners.training_rows import StreamedRows, TrainingRows, Validation, score_of, training_rows
from codekin.progress import report
from codekin.samples import Samples

STAGE = "learning bits"


def report_pass(passes: tuple[int, int], blocks: tuple[int, int], steps: tuple[int, int]) -> None:
    """Report progress: which pass, block of columns and step of how many (passes and blocks from 1)."""
    (epoch, n_epochs), (block, n_blocks), (n_steps, n_steps_in_all) = passes, blocks, steps
    turn = f", part {block} of {n_blocks} of the bits" if n_blocks > 1 else ""
    report(
        STAGE,
        ((block - 1) * n_epochs + epoch - 1) * n_steps_in_all + n_steps,
        n_blocks * n_epochs * n_steps_in_all,
        detail=f"epoch {epoch} of {n_epochs}{turn}",
        unit="samples",
    )


def fit_blocks(
    learner: Any, samples: Samples, code: Code, *, rng: Any, validation: Validation | None, callbacks: Callbacks
) -> LinearBits:
    """Learn the columns of a code in passes over all samples, in blocks if they take too much memory together."""
    rows = training_rows(learner, samples, code)
    lesson: Lesson[Any] = learner._lesson(rows, code)
    with with_workers(getattr(learner, "n_jobs", None)) as n_workers:
        blocks = lesson.blocks(validation, n_workers)
        seeds = [int(seed) for seed in np.random.default_rng(rng).integers(2**63, size=learner.n_epochs)]
        passes = SharedPasses if n_workers > 1 else Passes
        bits = passes(rows, lesson, seeds, learner.patience, validation, callbacks).fit(blocks)
    return lesson.completed(bits)


def continue_blocks(learner: Any, bits: Any, samples: Samples, code: Code, *, rng: Any) -> LearningBits:
    """Make one pass over further samples with all columns together; the given bits are left as they are."""
    rows = training_rows(learner, samples, code)
    lesson = learner._lesson(rows, code, learns_on=True)
    lesson.blocks(None, 1)
    begun: LearningBits = lesson.begun(0).continuing(decompressed(bits), rows.n_features, code.n_bits, lesson.begun)
    seed = int(np.random.default_rng(rng).integers(2**63))
    for some, order in rows.in_turns(lesson.order, seed):
        for learned in lesson.learning(begun, (0, code.n_bits), some, order):
            begun = learned
    return begun


@dataclass(frozen=True, eq=False)
class Passes(Generic[Bits]):
    """The samples, the number of passes and their orders; everything is checked.

    - ``seeds``: one for each pass, so that every block of columns can have the same orders.
    - ``patience``: after how many passes in a row below the best to stop.
    """

    samples: TrainingRows | StreamedRows
    lesson: Lesson[Bits]
    seeds: Sequence[int]
    patience: int
    validation: Validation | None
    callbacks: Callbacks

    @property
    def n_epochs(self) -> int:
        """The most passes there may be."""
        return len(self.seeds)

    def fit(self, blocks: Sequence[Block]) -> LinearBits:
        """Train these blocks, which cover all columns."""
        report(STAGE)
        checkpoints, saved = self.callbacks.checkpoints, None
        if checkpoints is not None:
            saved = checkpoints.found(self._identity)
        if saved is not None:
            wanted, blocks = blocks, [(int(first), int(last)) for first, last in saved.progress["blocks"]]
            widest, allowed = (max(last - first for first, last in each) for each in (blocks, wanted))
            if widest > allowed:
                raise MemoryError(
                    f"The checkpoint in {saved.folder} trains {widest} bits at once, but there is memory for only "
                    f"{allowed}. Resume when there is more, or start again without resuming."
                )
        give_back()  # what checking and measuring the samples took
        bits = self._at_once(saved) if len(blocks) == 1 else self._in_blocks(blocks, saved)
        check_learned(bits.weights)
        return bits

    def pass_over(
        self, block: int, blocks: Sequence[Block], n_epochs: int, bits: Bits | None = None, n_done: int = 0
    ) -> Iterator[tuple[int, Bits, float]]:
        """Yields number, bits and seconds of each pass over a block, after the ``n_done`` passes of ``bits``."""
        first, last = blocks[block - 1]
        bits = self.lesson.begun(last - first) if bits is None else bits
        for epoch in range(n_done + 1, n_epochs + 1):
            begin = time.perf_counter()
            n_steps_before = bits.n_steps
            for samples, order in self.samples.in_turns(self.lesson.order, self.seeds[epoch - 1]):
                n_in_all = round(len(order) * (self.samples.n_rows / samples.n_rows))
                for learned in self.lesson.learning(bits, (first, last), samples, order):
                    bits = learned
                    steps = bits.n_steps - n_steps_before, n_in_all
                    report_pass((epoch, n_epochs), (block, len(blocks)), steps)
            yield epoch, bits, time.perf_counter() - begin

    def _report(self, report: EpochReport) -> None:
        if self.callbacks.on_epoch is not None:
            self.callbacks.on_epoch(report)

    # ----- all columns together ---------------------------------------------------------------------------------

    def _at_once(self, saved: Checkpoint | None) -> LinearBits:
        """Stops as soon as patience runs out."""
        blocks = [(0, self.lesson.n_bits)]
        stopping, n_done = Stopping(self.patience), 0
        begun: Bits | None = None
        best = BestWeights()
        if saved is not None:
            n_done, stopping = saved.progress["epoch"], Stopping(self.patience, **saved.progress["stopping"])
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
                progress = {"epoch": epoch, "stopping": stopping.as_dict(), "n_steps": bits.n_steps}
                self._save(blocks, progress, {"state": {"state": bits.state, **arrays}})
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
        begun = self.lesson.begun(0)
        return as_linear_bits(weights, begun.has_bias, begun.n_threads)

    def _output(self) -> AbstractContextManager[Float32Array]:
        """Where the weights of all blocks are collected."""
        return nullcontext(np.empty((self.samples.n_features, self.lesson.n_bits), dtype=np.float32))

    def _best_epoch_of_blocks(self, blocks: Sequence[Block], weights: Float32Array, saved: Checkpoint | None) -> int:
        """Make all passes; returns the one that early stopping would have chosen, from the margins after each."""
        margins: list[Float32Array] = []
        if self.validation is not None:
            shape = (self.validation.X.shape[0], weights.shape[1])
            margins = [np.empty(shape, dtype=np.float32) for _ in self.seeds]
        self._train_blocks(blocks, None, weights, margins, saved)
        if self.validation is None:
            return self.n_epochs
        stopping = Stopping(self.patience)
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
                    progress = {"block": block, "epoch": epoch, "best_epoch": best_epoch, "n_steps": bits.n_steps}
                    self._save(blocks, progress, {"state": {"state": bits.state, **known}}, _blocks_before(block))
            of_block = bits.gathered()
            weights[:, columns] = of_block
            self._save_block(block, blocks, best_epoch, of_block, margins)
            del begun, bits, of_block  # before the next block needs memory

    # ----- checkpoints ------------------------------------------------------------------------------------------

    @cached_property
    def _identity(self) -> dict[str, Any]:
        """What identifies this training."""
        return {
            **self.lesson.identity(),
            "n_epochs": self.n_epochs,
            "n_samples": self.samples.n_rows,
            "n_features": self.samples.n_features,
            "samples_checksum": self.samples.checksum,
            "n_validation_samples": 0 if self.validation is None else int(self.validation.X.shape[0]),
            "seeds": list(self.seeds),
        }

    def _save(
        self, blocks: Sequence[Block], progress: dict[str, Any], files: dict[str, Any], keep: Sequence[str] = ()
    ) -> None:
        if self.callbacks.checkpoints is not None:
            progress = {**progress, "blocks": [list(block) for block in blocks]}
            self.callbacks.checkpoints.save(self._identity, progress, files, keep)

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
            self._save(blocks, progress, {f"block-{block}": {"weights": weights, **known}}, _blocks_before(block))

    def _restore_block(
        self, saved: Checkpoint, block: int, blocks: Sequence[Block], weights: Float32Array, margins: list[Float32Array]
    ) -> None:
        columns, arrays = slice(*blocks[block - 1]), saved.arrays(f"block-{block}")
        weights[:, columns] = arrays["weights"]
        fill_columns(margins, columns, arrays.get("margins", ()))

    def _restored(self, saved: Checkpoint, state: NDArray[Any], block: Block) -> Bits:
        begun = self.lesson.begun(0)
        if state.shape != (self.samples.n_features, begun.state.shape[1], block[1] - block[0]):
            raise CheckpointError(f"The checkpoint in {saved.folder} has a state of shape {state.shape}.")
        return replace(begun, state=np.array(state), n_steps=saved.progress["n_steps"])


def _columns(margins: Sequence[Float32Array], columns: slice) -> Float32Array:
    return np.stack([of_epoch[:, columns] for of_epoch in margins])


def fill_columns(margins: list[Float32Array], columns: slice, known: Iterable[Float32Array]) -> None:
    """The margins of a block after its first passes, or after all of them."""
    for of_epoch, of_block in zip(margins, known, strict=False):
        of_epoch[:, columns] = of_block


def _blocks_before(block: int) -> list[str]:
    return [f"block-{number}" for number in range(1, block)]


class _Job(NamedTuple):
    """What all workers get."""

    passes: Passes[Any]
    n_epochs: int
    validation_samples: Any
    output: Float32Array | None


@dataclass(frozen=True, eq=False)
class SharedPasses(Passes[Bits]):
    """The same passes with the same result, made by joblib's workers: see :mod:`codekin._system.parallel`."""

    def _output(self) -> AbstractContextManager[Float32Array]:
        return output_array((self.samples.n_features, self.lesson.n_bits), np.float32)

    def _train_blocks(
        self,
        blocks: Sequence[Block],
        best_epoch: int | None,
        weights: Float32Array,
        margins: list[Float32Array],
        saved: Checkpoint | None,
    ) -> None:
        n_epochs = self.n_epochs if best_epoch is None else best_epoch
        # The state of an interrupted block is not sent to another machine: the block starts again.
        n_finished = 0 if saved is None else saved.progress["block"] - 1
        for block in range(1, n_finished + 1):
            assert saved is not None
            self._restore_block(saved, block, blocks, weights, margins)
        validation_samples = None if self.validation is None or not margins else self.validation.X
        output = weights if isinstance(weights, np.memmap) else None
        job = _Job(replace(self, validation=None, callbacks=Callbacks()), n_epochs, validation_samples, output)
        report(STAGE, detail=f"{len(blocks)} parts shared by workers")
        for block, learned in enumerate(share_work(_learned_block, job, blocks[n_finished:]), start=n_finished + 1):
            columns = slice(*blocks[block - 1])
            of_block, of_passes, seconds = learned
            if of_block is not None:
                weights[:, columns] = of_block
            fill_columns(margins, columns, of_passes)
            self._report_block(block, len(blocks), seconds)
            self._save_block(block, blocks, best_epoch, weights[:, columns], margins)

    def _report_block(self, block: int, n_blocks: int, seconds_of_pass: Sequence[float]) -> None:
        """Report the passes of a finished block, which could not be reported while it was running."""
        n_epochs = len(seconds_of_pass)
        for epoch, seconds in enumerate(seconds_of_pass, start=1):
            self._report(EpochReport(epoch, n_epochs, block, n_blocks, seconds))
        n_steps = len(self.lesson.order(self.samples.n_rows, self.seeds[0]))
        report_pass((n_epochs, n_epochs), (block, n_blocks), (n_steps, n_steps))


def _learned_block(job: _Job, block: Block) -> tuple[Float32Array | None, list[Float32Array], list[float]]:
    """The weights of a block, None if they are in shared memory, and margins and seconds of each pass."""
    margins, seconds_of_pass = [], []
    for _, bits, seconds in job.passes.pass_over(1, [block], job.n_epochs):
        seconds_of_pass.append(seconds)
        if job.validation_samples is not None:
            margins.append(bits.margins(job.validation_samples))
    weights = bits.gathered()
    if job.output is None:
        return weights, margins, seconds_of_pass
    job.output[:, slice(*block)] = weights
    return None, margins, seconds_of_pass
