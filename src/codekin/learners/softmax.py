"""Softmax: the multiclass logistic loss over all codewords, minimised online, all bits together.

Other learners train each bit on its own sign. Here the classes compete: the score of a class is that of its codeword,
and the bits are trained to give the true class the largest share of ``sum_classes exp(score)``. On a trellis that sum
and its derivatives take time linear in the number of bits; for other codes it runs over all codewords.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from codekin._system.checkpoints import Checkpoints
from codekin._system.memory import available_memory, in_units
from codekin.coding import Code, Codebook
from codekin.learners.compact import decompressed
from codekin.learners.linear import LinearBits, SparseLinearBits, Validation
from codekin.learners.softmax_state import ClassPaths, SoftmaxBits, class_paths
from codekin.learners.streamed_rows import StreamedRows, training_rows
from codekin.learners.training import Block, EpochReport, Passes, Watchers, check_common_settings, check_setting
from codekin.learners.training_rows import Order, TrainingRows, checksum, pass_order
from codekin.learners.tree_softmax import fit_tree
from codekin.samples import Samples

BYTES_PER_WEIGHT = 8
"""In training: a weight and its curvature."""


@dataclass(frozen=True, eq=False)
class Softmax:
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
    >>> from codekin.coding import Assignment
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

    learns_probabilities: ClassVar[bool] = True
    """True: there is nothing to calibrate."""
    learns_trees: ClassVar[bool] = True
    """Node by node."""
    bytes_per_weight: ClassVar[int] = BYTES_PER_WEIGHT
    """While all bits are learned together: the weight and its curvature."""
    bytes_at_once: ClassVar[int] = BYTES_PER_WEIGHT
    """The same: bits cannot be learned in turn."""

    def __post_init__(self) -> None:
        """Check the hyper-parameters."""
        check_common_settings(self)
        check_setting(self, "step", self.step > 0, "greater than 0")
        check_setting(self, "damping", self.damping is None or self.damping > 0, "greater than 0")

    def damping_on(self, codebook: Codebook) -> float:
        """The damping that was given, or the one that suits a codebook.

        Parameters
        ----------
        codebook : Codebook

        Returns
        -------
        float
        """
        return codebook.softmax_damping if self.damping is None else self.damping

    def decoding_loss(self, codebook: Codebook) -> str:
        """The default decoding loss, under which the probabilities are exact."""
        return codebook.softmax_loss

    def fit(
        self,
        samples: Samples,
        code: Code,
        *,
        rng: np.random.Generator | int | None = None,
        validation: Validation | None = None,
        on_epoch: Callable[[EpochReport], None] | None = None,
        checkpoints: Checkpoints | None = None,
    ) -> LinearBits | Any:
        """Learn all bits of a code together.

        Parameters
        ----------
        samples : Samples
            Sparse rows are used as they are, a dense matrix is compressed, rows on disk are read in shuffled blocks. A
            weight multiplies the loss of its sample.
        code : Code
            On a trellis all of whose paths are classes, a step takes time O(n_bits); on a tree, time proportional to
            the number of children of the nodes on the path to a leaf; otherwise O(n_classes n_bits).
        rng : numpy.random.Generator or int, optional
            For the order of the samples.
        validation : Validation, optional
            Scored after each pass; the weights with the best score are returned.
        on_epoch : callable, optional
            Called with an :class:`EpochReport` after each pass.
        checkpoints : Checkpoints, optional
            Where to save, after each pass but the last, what is needed to resume after an interruption; on a tree,
            finished nodes. Resumed training ends with the same predictors as uninterrupted training.

        Returns
        -------
        LinearBits, or TreeBits on a tree
        """
        if code.codebook.is_lazy:
            watching: Any = {"validation": validation, "on_epoch": on_epoch, "checkpoints": checkpoints}
            return fit_tree(self, samples, code, rng=rng, n_epochs=self.n_epochs, **watching)
        rows, paths, n_bits = training_rows(self, samples, code), class_paths(code), code.n_bits
        self._check_memory(rows.n_features, n_bits)

        def learning(
            bits: SoftmaxBits, _: Block, some: TrainingRows, order: NDArray[np.int64]
        ) -> Iterator[SoftmaxBits]:
            return bits.learning(some, paths, order, step=self.step)

        passes = Passes(
            rows,
            n_bits,
            [int(seed) for seed in np.random.default_rng(rng).integers(2**63, size=self.n_epochs)],
            self._begin(rows, paths, code),
            learning,
            self._order,
            self.patience,
            validation,
            Watchers(on_epoch, checkpoints),
            {**self._settings, "codewords_checksum": checksum(paths.codewords[0])},
        )
        return passes.fit([(0, n_bits)])

    def partial_fit(
        self, bits: Any, samples: Samples, code: Code, *, rng: np.random.Generator | int | None = None
    ) -> SoftmaxBits | Any:
        """Make one pass over further samples; the given bits are left as they are.

        Parameters
        ----------
        bits : SoftmaxBits, finished linear predictors or None
            The result of an earlier call; None to begin. Finished predictors, which have no curvatures, continue from
            their weights with the initial curvatures.
        samples, code, rng
            As in :meth:`fit`.

        Returns
        -------
        SoftmaxBits, or TreeBits on a tree
            Predictors that can be used and trained further, with twice the memory of finished ones.
        """
        if code.codebook.is_lazy:
            return fit_tree(self, samples, code, rng=rng, n_epochs=1, begun=bits, learns_on=True)
        bits = decompressed(bits)
        rows, paths = training_rows(self, samples, code), class_paths(code)
        self._check_memory(rows.n_features, code.n_bits)
        begun = bits.copy() if isinstance(bits, SoftmaxBits) else self._begin(rows, paths, code)(code.n_bits)
        if bits is not None and (
            (bits.n_features + self.fit_intercept, bits.n_bits) != (rows.n_features, code.n_bits)
            or begun.has_bias != self.fit_intercept
        ):
            raise ValueError(
                f"These bits were begun with {bits.n_features} features, {bits.n_bits} bits and "
                f"fit_intercept={begun.has_bias}; they cannot continue with others."
            )
        if isinstance(bits, LinearBits | SparseLinearBits):
            begun = begun.going_on_from(bits)
        seed = int(np.random.default_rng(rng).integers(2**63))
        for some, order in rows.in_turns(self._order, seed):
            for learned in begun.learning(some, paths, order, step=self.step):
                begun = learned
        return begun

    @property
    def _settings(self) -> dict[str, Any]:
        """What the result depends on, besides the number of passes and the samples with their weights."""
        names = ("step", "damping", "shuffle", "fit_intercept", "patience")
        return {"learner": "softmax", **{name: getattr(self, name) for name in names}}

    def _begin(self, rows: TrainingRows | StreamedRows, paths: ClassPaths, code: Code) -> Callable[[int], SoftmaxBits]:
        return partial(
            SoftmaxBits.begun,
            rows.n_features,
            curvature=self.damping_on(code.codebook) * paths.damping * rows.mean_squared_norm,
            has_bias=self.fit_intercept,
            n_threads=self.n_threads,
        )

    @property
    def _order(self) -> Order:
        return partial(pass_order, is_shuffled=self.shuffle)

    def _check_memory(self, n_features: int, n_bits: int) -> None:
        """Raise before anything is allocated that would not fit: all bits have to be learned together."""
        limits = [limit for limit in (self.max_memory, available_memory()) if limit is not None]
        needed = n_features * n_bits * BYTES_PER_WEIGHT
        if limits and needed > min(limits):
            raise MemoryError(
                f"Softmax needs {in_units(needed)} for {n_features:,} features x {n_bits:,} bits x {BYTES_PER_WEIGHT} "
                f"bytes, but {in_units(min(limits))} are "
                f"{'allowed by max_memory' if min(limits) == self.max_memory else 'available'}. "
                "Use fewer bits, fewer features or more memory, or AROW, which can learn the bits in blocks."
            )
