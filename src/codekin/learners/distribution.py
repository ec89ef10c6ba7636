"""Passes whose blocks of columns are learned by workers: other processes, or other machines.

A worker gets the samples once, makes all passes for its columns and returns their weights. Workers don't wait for each
other between passes. If validation samples choose a pass, workers also return the margins after each pass, and if the
best pass was not the last one, the passes up to it are repeated.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from codekin._system.checkpoints import Checkpoint
from codekin._system.workers import output_array, share_work
from codekin.learners.linear import Float32Array
from codekin.learners.training import STAGE, Bits, Block, EpochReport, Passes, Watchers, fill_columns, tell_of_pass
from codekin.progress import tell


class LearnedBlock(NamedTuple):
    """The result of a worker: weights (None if they are in shared memory), and margins and seconds of each pass."""

    weights: Float32Array | None
    margins: Sequence[Float32Array]
    seconds: Sequence[float]


class _Job(NamedTuple):
    """What all workers get."""

    passes: Passes[Any]
    n_epochs: int
    validation_samples: Any
    output: Float32Array | None


@dataclass(frozen=True, eq=False)
class SharedPasses(Passes[Bits]):
    """The same passes with the same result, made by joblib's workers: see :mod:`codekin._system.workers`."""

    def _output(self) -> AbstractContextManager[Float32Array]:
        return output_array((self.samples.n_features, self.n_bits), np.float32)

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
        job = _Job(replace(self, validation=None, watchers=Watchers()), n_epochs, validation_samples, output)
        tell(STAGE, detail=f"{len(blocks)} parts shared by workers")
        for block, learned in enumerate(share_work(_learned_block, job, blocks[n_finished:]), start=n_finished + 1):
            columns = slice(*blocks[block - 1])
            if learned.weights is not None:
                weights[:, columns] = learned.weights
            fill_columns(margins, columns, learned.margins)
            self._tell(block, len(blocks), learned.seconds)
            self._save_block(block, blocks, best_epoch, weights[:, columns], margins)

    def _tell(self, block: int, n_blocks: int, seconds_of_pass: Sequence[float]) -> None:
        """Report the passes of a finished block, which could not be reported while it was running."""
        n_epochs = len(seconds_of_pass)
        for epoch, seconds in enumerate(seconds_of_pass, start=1):
            self._report(EpochReport(epoch, n_epochs, block, n_blocks, seconds))
        n_steps = len(self.order(self.samples.n_rows, self.seeds[0]))
        tell_of_pass((n_epochs, n_epochs), (block, n_blocks), (n_steps, n_steps))


def _learned_block(job: _Job, block: Block) -> LearnedBlock:
    margins, seconds_of_pass = [], []
    for _, bits, seconds in job.passes.pass_over(1, [block], job.n_epochs):
        seconds_of_pass.append(seconds)
        if job.validation_samples is not None:
            margins.append(bits.margins(job.validation_samples))
    weights = bits.gathered()
    if job.output is None:
        return LearnedBlock(weights, margins, seconds_of_pass)
    job.output[:, slice(*block)] = weights
    return LearnedBlock(None, margins, seconds_of_pass)
