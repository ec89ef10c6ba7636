"""AROW: online learning of all bits in one pass, each weight with a variance that says how far it may still move.

Adaptive regularisation of weight vectors (Crammer, Kulesza and Dredze 2009) with a diagonal covariance, as in the
extreme experiments of the paper. A bit's label is the entry of the sample's class in the coding matrix. The bits do
not influence each other, so the result is the same for any number of threads and for training in blocks of columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from codekin._system.checkpoints import Checkpoints
from codekin._system.memory import available_memory, in_units
from codekin._system.workers import n_workers, with_workers
from codekin.coding import Code, Codebook, CodingMatrix
from codekin.learners.arow_state import BITS_PER_CACHE_LINE, AROWBits
from codekin.learners.compact import decompressed
from codekin.learners.distribution import SharedPasses
from codekin.learners.linear import CONSTANT_MARGIN, LinearBits, SparseLinearBits, Validation
from codekin.learners.streamed_rows import training_rows
from codekin.learners.training import Block, EpochReport, Passes, Watchers, check_common_settings, check_setting
from codekin.learners.training_rows import TrainingRows, checksum, pass_order
from codekin.samples import Samples

BYTES = np.dtype(np.float32).itemsize


@dataclass(frozen=True, eq=False)
class AROW:
    """Learns every bit of a code by AROW, all bits in one pass over the samples.

    For a sample ``x`` and a bit with label ``y``, ``s = w.x`` and ``v = sum_f sigma_f x_f**2``, if ``y s < 1``::

        beta = 1 / (v + r)        w_f     += (1 - y s) beta y sigma_f x_f
                                  sigma_f -= beta (sigma_f x_f)**2

    starting from ``w = 0`` and ``sigma = 1``. Training takes 8 bytes for each feature and bit (4 more with
    averaging), the result 4.

    Parameters
    ----------
    r : float, default=1.0
        Regularisation: larger values mean smaller steps. It is divided by the weight of a sample.
    n_epochs : int, default=5
        How many passes over the samples.
    shuffle : bool, default=True
        Whether each pass has a new random order, the same for all bits.
    fit_intercept : bool, default=False
        Whether to learn a bias, as the weight of an additional feature that is always 1.
    average : bool, default=False
        Whether to return the average of the weights over all steps instead of the last weights.
    class_weight : "balanced" or array-like of shape (n_classes,), optional
        Multiplies the weights of a class's samples. ``"balanced"`` makes every class count the same.
    oversample : float, default=1.0
        How often a pass shows a sample to the bits for which it is positive; others see it once. One-vs-rest codes,
        whose bits have few positives, gain from values above 1: choose it by validation.
    patience : int, default=2
        With validation, stop after this many passes in a row whose score is below the best.
    max_memory : int, optional
        The most bytes that weights and variances may take, and whatever else a fit needs besides the samples. If they
        do not fit at once, blocks of columns are trained one after the other, with the same result. By default, the
        memory that is available.
    n_threads : int, optional
        How many threads to use; by default, as many as there are processors, and one for each worker. The result does
        not depend on it.
    n_jobs : int, optional
        How many of joblib's workers share the bits, -1 for one per processor; by default those of the enclosing
        ``joblib.parallel_config``, or none without one, so that this process learns all bits. The result does not
        depend on it. With validation samples, workers make all passes and do not stop early.

    References
    ----------
    K. Crammer, A. Kulesza and M. Dredze, "Adaptive Regularization of Weight Vectors", NIPS 2009.

    Examples
    --------
    >>> from scipy import sparse
    >>> X = sparse.csr_array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.5], [0.0, 0.0, 1.0]])
    >>> code = Code.of([[1, 1], [1, -1], [-1, 1]])
    >>> bits = AROW().fit(Samples(X, np.array([0, 1, 2])), code, rng=0)
    >>> np.sign(bits.margins(X))
    array([[ 1.,  1.],
           [ 1., -1.],
           [-1.,  1.]], dtype=float32)
    """

    r: float = 1.0
    n_epochs: int = 5
    shuffle: bool = True
    fit_intercept: bool = False
    average: bool = False
    class_weight: Literal["balanced"] | ArrayLike | None = None
    oversample: float = 1.0
    patience: int = 2
    max_memory: int | None = None
    n_threads: int | None = None
    n_jobs: int | None = None

    learns_probabilities: ClassVar[bool] = False
    """False: bits can be calibrated one by one."""

    @property
    def bytes_at_once(self) -> int:
        """What a weight takes while all bits are learned together: itself, its variance and, for averages, its sum."""
        return BYTES * (3 if self.average else 2)

    def __post_init__(self) -> None:
        """Check the hyper-parameters."""
        check_common_settings(self)
        check_setting(self, "r", self.r > 0, "greater than 0")
        check_setting(self, "oversample", self.oversample >= 1, "at least 1")

    def decoding_loss(self, codebook: Codebook) -> str:  # noqa: ARG002 -- the same for all codebooks
        """The default decoding loss: exponential."""
        return "exponential"

    def fit(
        self,
        samples: Samples,
        code: Code,
        *,
        rng: np.random.Generator | int | None = None,
        validation: Validation | None = None,
        on_epoch: Callable[[EpochReport], None] | None = None,
        checkpoints: Checkpoints | None = None,
    ) -> LinearBits:
        """Learn every bit of a code.

        A bit does not learn from samples whose codeword is zero there. A bit with one sign in all samples is not
        learned at all: its margin is that sign.

        Parameters
        ----------
        samples : Samples
            Sparse rows are used as they are, a dense matrix is compressed, rows on disk are read in shuffled blocks.
        code : Code
        rng : numpy.random.Generator or int, optional
            For the order of the samples.
        validation : Validation, optional
            Scored after each pass; the weights with the best score are returned.
        on_epoch : callable, optional
            Called with an :class:`EpochReport` after each pass.
        checkpoints : Checkpoints, optional
            Where to save, after each pass but the last, what is needed to resume after an interruption. Resumed
            training ends with the same predictors as uninterrupted training.

        Returns
        -------
        LinearBits
        """
        rows, coding_matrix = training_rows(self, samples, code), code.coding_matrix
        signs = _constant_signs(coding_matrix[rows.present_classes])
        codewords = np.where(signs == 0, coding_matrix, 0).astype(np.int8) if signs.any() else coding_matrix

        def learning(bits: AROWBits, block: Block, some: TrainingRows, order: NDArray[np.int64]) -> Iterator[AROWBits]:
            return bits.learning(some, codewords[:, slice(*block)], order, r=self.r)

        with with_workers(self.n_jobs):
            n_parts = n_workers()
            blocks = self._column_blocks(rows.n_features, codewords.shape[1], validation, n_parts=n_parts)
            passes = (SharedPasses if n_parts > 1 else Passes)(
                rows,
                codewords.shape[1],
                [int(seed) for seed in np.random.default_rng(rng).integers(2**63, size=self.n_epochs)],
                lambda n_bits: self._begun(rows.n_features, n_bits),
                learning,
                self._order,
                self.patience,
                validation,
                Watchers(on_epoch, checkpoints),
                {**self._settings, "codewords_checksum": checksum(codewords)},
            )
            bits = passes.fit(blocks)
        bits.bias[signs != 0] = CONSTANT_MARGIN * signs[signs != 0]
        return bits

    def partial_fit(
        self, bits: Any, samples: Samples, code: Code, *, rng: np.random.Generator | int | None = None
    ) -> AROWBits:
        """Make one pass over further samples; the given bits are left as they are.

        Parameters
        ----------
        bits : AROWBits, finished linear predictors or None
            The result of an earlier call; None to begin. Finished predictors, which have no variances, continue from
            their weights with variances of 1.
        samples, code, rng
            As in :meth:`fit`.

        Returns
        -------
        AROWBits
            Predictors that can be used and trained further, with twice the memory of finished ones.
        """
        bits = decompressed(bits)
        rows = training_rows(self, samples, code)
        n_features, n_bits = rows.n_features, code.n_bits
        self._column_blocks(n_features, n_bits, None, may_split=False)
        if isinstance(bits, LinearBits | SparseLinearBits):
            begun = self._begun(bits.n_features + self.fit_intercept, bits.n_bits).going_on_from(bits)
        else:
            begun = self._begun(n_features, n_bits) if bits is None else bits.copy()
        if begun.state.shape != (n_features, 3 if self.average else 2, n_bits) or begun.has_bias != self.fit_intercept:
            raise ValueError(
                f"These bits were begun with {begun.n_features} features, {begun.n_bits} bits, "
                f"fit_intercept={begun.has_bias} and average={begun.is_averaged}; they cannot continue with others."
            )
        seed = int(np.random.default_rng(rng).integers(2**63))
        for some, order in rows.in_turns(self._order, seed):
            for learned in begun.learning(some, code.coding_matrix, order, r=self.r):
                begun = learned
        return begun

    @property
    def _settings(self) -> dict[str, Any]:
        """What the result depends on, besides the number of passes and the samples with their weights."""
        names = ("r", "shuffle", "fit_intercept", "average", "oversample", "patience")
        return {"learner": "arow", **{name: getattr(self, name) for name in names}}

    def _begun(self, n_features: int, n_bits: int) -> AROWBits:
        return AROWBits.begun(
            n_features, n_bits, is_averaged=self.average, has_bias=self.fit_intercept, n_threads=self.n_threads
        )

    def _order(self, n_samples: int, seed: int) -> NDArray[np.int64]:
        return pass_order(n_samples, seed, oversample=self.oversample, is_shuffled=self.shuffle)

    def _column_blocks(
        self, n_features: int, n_bits: int, validation: Validation | None, *, n_parts: int = 1, may_split: bool = True
    ) -> Sequence[tuple[int, int]]:
        """The columns to train together, so that everything fits into memory; raises if not even one column does.

        ``n_parts`` are trained at a time, unless they would be narrower than a cache line.
        """
        n_parts = max(min(n_parts, n_bits // BITS_PER_CACHE_LINE), 1)
        limits = [limit for limit in (self.max_memory, available_memory()) if limit is not None]
        column = n_features * BYTES
        n_rows = 3 if self.average else 2
        at_once = column * n_bits * n_rows
        if n_parts == 1 and (not limits or at_once <= min(limits)):
            return [(0, n_bits)]
        # Memory for finished weights, the state of the columns in training and the validation margins of every pass.
        kept = column * n_bits
        if validation is not None:
            kept += self.n_epochs * validation.X.shape[0] * n_bits * BYTES
        n_columns = (min(limits) - kept) // (column * n_rows) if limits else n_bits
        if n_columns < 1 or not may_split:
            least = f", or {in_units(kept + column * n_rows)} for one bit after the other" if may_split else ""
            raise MemoryError(
                f"AROW needs {in_units(at_once)} for {n_features:,} features x {n_bits:,} bits x "
                f"{at_once // (n_features * n_bits)} bytes{least}, but {in_units(min(limits))} are "
                f"{'allowed by max_memory' if min(limits) == self.max_memory else 'available'}. "
                "Use fewer bits, fewer features or more memory."
            )
        if n_columns >= n_bits:
            n_columns = -(-n_bits // n_parts)
        else:
            n_columns = max(n_columns // n_parts, 1)
            if n_columns > BITS_PER_CACHE_LINE:
                n_columns -= n_columns % BITS_PER_CACHE_LINE
        return [(first, min(first + n_columns, n_bits)) for first in range(0, n_bits, n_columns)]


def _constant_signs(codewords: CodingMatrix) -> CodingMatrix:
    """The sign of each bit if it is the same in all codewords that do not ignore it; otherwise 0."""
    has_positive, has_negative = (codewords > 0).any(axis=0), (codewords < 0).any(axis=0)
    return np.asarray(has_positive.astype(np.int8) - has_negative.astype(np.int8), dtype=np.int8)
