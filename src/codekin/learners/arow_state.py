"""What AROW changes while it learns: the samples it reads, the weights and variances it writes, the passes it makes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from codekin.coding import CodingMatrix, FloatArray, IntArray
from codekin.learners.linear import Float32Array, LinearBits, SparseRows, product_with_dense
from codekin.threads import available_threads, run_blocks

BITS_PER_THREAD = 160
"""Below this many bits a thread would spend more on walking over the samples than on learning."""
BITS_PER_CACHE_LINE = 16
FEATURES_PER_BLOCK = 1024
UPDATES_AT_ONCE = 10**8
"""How many weights a thread may update before Python has its say: about a tenth of a second."""


@dataclass(frozen=True, eq=False)
class Samples:
    """Training samples in the types of the kernel; with a bias, each has a further feature that is 1."""

    rows: SparseRows
    n_features: int
    class_of_sample: NDArray[np.int64]
    r_of_sample: Float32Array

    @classmethod
    def of(cls, X: Any, class_index: IntArray, weights: FloatArray, *, r: float, has_bias: bool) -> Samples:
        """Compress and check the samples; a sample's weight divides ``r``, so that weight 0 means no influence."""
        matrix = sparse.csr_array(X)
        if not matrix.has_canonical_format:
            matrix = matrix.copy()
            matrix.sum_duplicates()
        rows = SparseRows.of(matrix)
        if not np.isfinite(rows.values).all():
            raise ValueError("X contains NaN or infinity, or values beyond single precision.")
        n_features = int(matrix.shape[1])
        if has_bias:
            ends = rows.indptr[1:]
            rows = SparseRows(
                rows.indptr + np.arange(rows.n_rows + 1),
                np.insert(rows.indices, ends, n_features),
                np.insert(rows.values, ends, 1),
            )
        with np.errstate(divide="ignore"):
            r_of_sample = (r / weights).astype(np.float32)
        return cls(rows, n_features + has_bias, np.asarray(class_index, dtype=np.int64), r_of_sample)

    @property
    def present_classes(self) -> IntArray:
        """The classes of the samples that have some influence."""
        return np.unique(self.class_of_sample[np.isfinite(self.r_of_sample)])


@dataclass(frozen=True, eq=False)
class AROWBits:
    """Predictors that can still learn: weights beside their variances.

    Parameters
    ----------
    state : float32 array of shape (n_features, 2 or 3, n_bits)
        Weights, variances and, with averaging, what the average needs. With a bias its feature is the last.
    n_steps : int
        How many steps were made.
    has_bias : bool
        Whether the last feature is always 1.
    n_threads : int, optional
        How many threads to use; by default, as many as there are processors. The result does not depend on it.
    """

    state: Float32Array = field(repr=False)
    n_steps: int
    has_bias: bool
    n_threads: int | None = None

    @classmethod
    def begun(
        cls, n_features: int, n_bits: int, *, is_averaged: bool, has_bias: bool, n_threads: int | None
    ) -> AROWBits:
        """Weights 0, variances 1, before the first step.

        Parameters
        ----------
        n_features : int
            How many features there are, the one of the bias included.
        n_bits : int
        is_averaged : bool
            Whether the sum of all weights is kept as well.
        has_bias : bool
            Whether the last feature is the bias.
        n_threads : int, optional
            How many threads to use; by default, as many as there are processors.

        Returns
        -------
        AROWBits
        """
        state = np.zeros((n_features, 3 if is_averaged else 2, n_bits), dtype=np.float32)
        state[:, 1] = 1
        return cls(state, 0, has_bias, n_threads)

    @property
    def n_features(self) -> int:
        """How many features a sample has."""
        return len(self.state) - self.has_bias

    @property
    def n_bits(self) -> int:
        """How many bits there are."""
        return int(self.state.shape[2])

    @property
    def is_averaged(self) -> bool:
        """Whether the margins are those of the average weights."""
        return bool(self.state.shape[1] == 3)

    def copy(self) -> AROWBits:
        """The same, in memory of its own.

        Returns
        -------
        AROWBits
        """
        return replace(self, state=self.state.copy())

    def learned(self, samples: Samples, codewords: CodingMatrix, order: NDArray[np.int64]) -> AROWBits:
        """The bits after one pass. Their state is changed in place: the bits before it are no more.

        Parameters
        ----------
        samples : Samples
            What to learn from.
        codewords : array of shape (n_classes, n_bits)
            The codeword of each class.
        order : array of shape (n_steps,)
            The samples in the order in which they are seen.

        Returns
        -------
        AROWBits
        """
        bits = self
        for learned in self.learning(samples, codewords, order):
            bits = learned
        return bits

    def learning(self, samples: Samples, codewords: CodingMatrix, order: NDArray[np.int64]) -> Iterator[AROWBits]:
        """The bits during one pass, every fraction of a second: then Python can report, or be interrupted.

        Parameters
        ----------
        samples, codewords, order
            As in :meth:`learned`.

        Yields
        ------
        AROWBits
        """
        from codekin.kernels.arow import arow_pass

        rows = samples.rows
        codewords = np.ascontiguousarray(codewords, dtype=np.int8)
        n_threads = min(self.n_threads or available_threads(), max(self.n_bits // BITS_PER_THREAD, 1))
        n_lines = -(-self.n_bits // (BITS_PER_CACHE_LINE * n_threads))
        updates_per_step = max(len(rows.values) // max(rows.n_rows, 1), 1) * max(self.n_bits, 1)
        n_steps_at_once = max(UPDATES_AT_ONCE * n_threads // updates_per_step, 1)
        for start in range(0, len(order), n_steps_at_once):
            some = order[start : start + n_steps_at_once]
            n_steps = self.n_steps + start

            def learn(first: int, last: int, some: NDArray[np.int64] = some, n_steps: int = n_steps) -> None:
                arow_pass(
                    rows.indptr,
                    rows.indices,
                    rows.values,
                    samples.class_of_sample,
                    codewords,
                    samples.r_of_sample,
                    some,
                    n_steps,
                    self.state,
                    first,
                    last,
                )

            run_blocks(learn, self.n_bits, block=n_lines * BITS_PER_CACHE_LINE, n_threads=n_threads)
            yield replace(self, n_steps=n_steps + len(some))

    def margins(self, X: Any) -> Float32Array:
        """One column per bit, positive where the predictor says +1.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_bits), float32
        """
        rows = SparseRows.of(X, self.n_features)
        margins = product_with_dense(rows, self.state, 0, self.n_threads)
        margins += self.state[-1, 0] * self.has_bias
        if self.is_averaged and self.n_steps:
            late = product_with_dense(rows, self.state, 2, self.n_threads)
            late += self.state[-1, 2] * self.has_bias
            margins -= late / np.float32(self.n_steps)
        return margins

    def weights(self, out: Float32Array | None = None) -> Float32Array:
        """A copy of the weights, averaged if they are to be, with the bias as the last feature.

        Parameters
        ----------
        out : float32 array of shape (n_features, n_bits), optional
            Where to write them.

        Returns
        -------
        ndarray of shape (n_features, n_bits), float32
        """
        out = np.empty((len(self.state), self.n_bits), dtype=np.float32) if out is None else out
        if not (self.is_averaged and self.n_steps):
            np.copyto(out, self.state[:, 0])
            return out
        for start in range(0, len(self.state), FEATURES_PER_BLOCK):
            block = slice(start, start + FEATURES_PER_BLOCK)
            out[block] = self.state[block, 0] - self.state[block, 2] / np.float32(self.n_steps)
        return out

    def finished(self) -> LinearBits:
        """The predictors alone, which learn no more, in memory of their own.

        Returns
        -------
        LinearBits
        """
        return as_linear_bits(self.weights(), self.has_bias, self.n_threads)

    def ended(self) -> LinearBits:
        """The predictors alone in the state's own memory, the rest of which is given back: these bits are no more.

        Returns
        -------
        LinearBits
        """
        return as_linear_bits(self.gathered(), self.has_bias, self.n_threads)

    def gathered(self) -> Float32Array:
        """The weights, with the bias as the last feature, in the state's own memory: these bits are no more.

        Returns
        -------
        ndarray of shape (n_features, n_bits), float32
        """
        from codekin.kernels.arow import gather_weights

        if self.is_averaged:
            self.weights(out=self.state[:, 0])
        n_features, _, n_bits = self.state.shape
        gather_weights(self.state)
        # Nobody else has a view of the state, so it may shrink where it lies.
        self.state.resize((n_features, n_bits), refcheck=False)
        return self.state


def as_linear_bits(weights: Float32Array, has_bias: bool, n_threads: int | None) -> LinearBits:
    """Linear predictors from weights whose last feature may be that of the bias."""
    if has_bias:
        return LinearBits(weights[:-1], weights[-1].copy(), n_threads)
    return LinearBits(weights, np.zeros(weights.shape[1], dtype=np.float32), n_threads)


def pass_order(n_samples: int, seed: int, *, oversample: float, is_shuffled: bool) -> NDArray[np.int64]:
    """The samples in the order of one pass; from ``n_samples`` on, numbers stand for samples for positive bits only."""
    rng = np.random.default_rng(seed)
    n_whole = int(oversample)
    n_more = round((oversample - n_whole) * n_samples)
    once_more = n_samples + np.concatenate(
        [np.tile(np.arange(n_samples), n_whole - 1), rng.choice(n_samples, size=n_more, replace=False)]
    )
    order = np.concatenate([np.arange(n_samples), once_more]).astype(np.int64)
    return rng.permutation(order) if is_shuffled else order[np.argsort(order % n_samples, kind="stable")]
