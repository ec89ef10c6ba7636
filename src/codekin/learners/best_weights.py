"""The weights after the best pass so far, outside of memory.

Training holds weights and curvatures, twice the final model. A third array for the weights of the best pass is needed
only if a later pass is worse, so it is kept in a temporary file that has no name and disappears with the process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from tempfile import TemporaryFile
from typing import IO

import numpy as np

from codekin.learners.learning import LearningBits
from codekin.learners.linear import Float32Array

LEAST_ON_DISK = 1 << 19
"""In bytes: smaller weights stay in memory."""


class BestWeights:
    """A copy of the weights of bits that learn on, on disk if they are large and there is room."""

    def __init__(self) -> None:
        self._file: IO[bytes] | None = None
        self._held: Float32Array | None = None
        self._shape: tuple[int, int] | None = None

    @property
    def is_known(self) -> bool:
        """Whether any weights were kept."""
        return self._shape is not None

    def keep(self, bits: LearningBits) -> None:
        """Replace what was kept by the weights of these bits."""
        self._put((len(bits.state), bits.n_bits), lambda: (weights for _, weights in bits.blocks_of_weights()))

    def keep_array(self, weights: Float32Array) -> None:
        """Replace what was kept by these weights."""
        self._put((len(weights), weights.shape[1]), lambda: [weights])

    def mapped(self) -> Float32Array:
        """The weights that were kept last, read from disk when they are used."""
        assert self._shape is not None
        if self._file is None:
            assert self._held is not None
            return self._held
        return np.memmap(self._file, np.float32, "r", shape=self._shape)

    def _put(self, shape: tuple[int, int], blocks: Callable[[], Iterable[Float32Array]]) -> None:
        self._shape = shape
        if self._held is None and 4 * shape[0] * shape[1] >= LEAST_ON_DISK:
            try:
                self._write(blocks())
                return
            except OSError:  # the disk is full, or there is no place for temporary files
                self._file = None
        self._held = np.empty(shape, dtype=np.float32) if self._held is None else self._held
        start = 0
        for block in blocks():
            self._held[start : start + len(block)] = block
            start += len(block)

    def _write(self, blocks: Iterable[Float32Array]) -> None:
        if self._file is None:
            self._file = TemporaryFile(prefix="codekin-")  # noqa: SIM115  (closed when it is forgotten)
        self._file.seek(0)
        for block in blocks:
            self._file.write(np.ascontiguousarray(block).reshape(-1).view(np.uint8).data)
        self._file.flush()
