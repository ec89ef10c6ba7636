"""A vector of one byte per entry for every class of dense samples, and what finds the best ones in a fraction of them.

The score of a class is the dot product of its vector and a centred and scaled sample, plus a bias. Candidates are found
by a *sketch*: a product of few dimensions, chosen so that they carry most of the scores of training samples. With very
many classes only those of a few *cells* are sketched: classes whose sketches are near to one another. Only some of the
candidates are scored in full.

All products are of integers whose sums stay below ``2**24``. They are exact in single precision, so that the answer
does not depend on the order of a sum, the number of threads or the size of a batch.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import logsumexp

from codekin._system.parallel import run_blocks, single_blas
from codekin.code import FloatArray, IntArray
from codekin.learners.linear import Float32Array, LinearForm, LinearRows

LARGEST_STEP = 127
LARGEST_SUM = 2**24
"""Integers up to this, and sums of them in any order, are exact in single precision."""
MOST_STEPS = 2_047
SKETCHED_CLASSES = 1_000
"""With fewer classes, all vectors are scored in full."""
SKETCH_DIMENSIONS = 96
"""The most dimensions of a sketch: with 96, the best of 6,287 classes is among the 50 with the largest sketched scores
for 99.7 % of the validation samples, with 64 for 96.7 %."""
RESCORED, RESCORED_PER_CLASS = 75, 4
"""The least number of candidates that are scored in full, and how many for each class that is asked for."""
LISTED_CLASSES = 20_000
"""With more classes, only those of a few cells are sketched."""
CELLS_PER_ROOT, CELLS_SEARCHED = 4, 12
"""How many cells for each root of the number of classes, and how many of them are searched."""
CELL_CLASSES = 128
"""How many classes per cell are enough to place the cells."""
CELL_ROUNDS = 6
LEAST_VARIANCE = 1e-3
"""Directions with a smaller share of the largest variance count as if they had this share."""
SCORES_AT_ONCE = 2**21
MOST_ROWS, LEAST_ROWS = 256, 16
ROWS_OF_GAP, GAP = 500, 8.0
"""Candidates are within so many standard deviations of the errors of sketched scores below the largest one."""
TINY = np.float32(1e-30)


class Sketch(NamedTuple):
    """A product of few dimensions that is nearly proportional to the scores, but for a number per sample.

    - ``projection`` of shape (n_features, n), int8; ``projection_scales`` of its columns.
    - ``vectors`` of shape (n_classes, n), int8; ``scale`` of all of them.
    - ``gap``: classes whose sketched score is further below the largest one are not the best.
    """

    projection: NDArray[np.int8]
    projection_scales: Float32Array
    vectors: NDArray[np.int8]
    scale: np.float32
    gap: np.float32 = np.float32(np.inf)

    @classmethod
    def of(cls, vectors: Float32Array, rows: Float32Array) -> Sketch:
        """The one that is nearest to the scores of these rows in the mean of squares.

        With the covariance C of the rows, that is given by the largest singular values of ``vectors @ C**0.5``.
        """
        n = min(SKETCH_DIMENSIONS, vectors.shape[1])
        with single_blas():
            deviations = vectors - vectors.mean(axis=0)
            variances, axes = np.linalg.eigh((rows.T @ rows).astype(np.float64) / len(rows))
            spread = np.sqrt(np.maximum(variances, LEAST_VARIANCE * max(variances[-1], float(TINY))))
            root, inverse = (axes * spread) @ axes.T, (axes / spread) @ axes.T
            _, directions = np.linalg.eigh(root @ (deviations.T @ deviations).astype(np.float64) @ root)
            best = directions[:, ::-1][:, :n]
            projection, scales = _rounded((inverse @ best).T)
            sketches = deviations @ (root @ best).astype(np.float32)
        scale = np.float32(max(float(np.abs(sketches).max()), float(TINY)) / LARGEST_STEP)
        return cls(projection.T.copy(), scales, np.rint(sketches / scale).astype(np.int8), scale)


class Cells(NamedTuple):
    """Classes whose sketches are near to one another.

    - ``centres`` of shape (n_cells, n), int8; ``scale`` of all of them.
    - ``starts``, ``members``: the classes of cell ``c`` are ``members[starts[c] : starts[c + 1]]``, increasing.
    """

    centres: NDArray[np.int8]
    scale: np.float32
    starts: NDArray[np.int64]
    members: NDArray[np.int32]

    @classmethod
    def of(cls, sketches: Float32Array, rng: np.random.Generator) -> Cells:
        """Cells of these classes, by k-means."""
        n_cells = min(1 << round(np.log2(CELLS_PER_ROOT * np.sqrt(len(sketches)))), len(sketches))
        some = sketches[np.sort(rng.permutation(len(sketches))[: CELL_CLASSES * n_cells])]
        centres = some[np.sort(rng.permutation(len(some))[:n_cells])]
        with single_blas():
            for _ in range(CELL_ROUNDS):
                nearest = _nearest(some, centres)
                sizes = np.bincount(nearest, minlength=n_cells)
                starts = np.cumsum(sizes) - sizes
                is_used, order = sizes > 0, np.argsort(nearest, kind="stable")
                sums = np.add.reduceat(some[order], starts[is_used], axis=0)
                centres[is_used] = sums / sizes[is_used, None]
            scale = np.float32(max(float(np.abs(centres).max()), float(TINY)) / LARGEST_STEP)
            rounded = np.rint(centres / scale).astype(np.int8)
            nearest = _nearest(sketches, rounded * scale)
        order = np.argsort(nearest, kind="stable")
        starts = np.searchsorted(nearest[order], np.arange(n_cells + 1))
        return cls(rounded, scale, starts.astype(np.int64), order.astype(np.int32))


def _nearest(rows: Float32Array, centres: Float32Array) -> IntArray:
    """The centre nearest to each row."""
    found, half = np.empty(len(rows), np.intp), (centres**2).sum(axis=1) / 2

    def fill(start: int, stop: int) -> None:
        found[start:stop] = (rows[start:stop] @ centres.T - half).argmax(axis=1)

    run_blocks(fill, len(rows), block=max(SCORES_AT_ONCE // len(centres), LEAST_ROWS))
    return found


def _rounded(vectors: Any) -> tuple[NDArray[np.int8], Float32Array]:
    """Vectors as integers from -127 to 127, and what those of each are multiplied by."""
    scales = np.maximum(np.abs(vectors).max(axis=1), TINY).astype(np.float32) / np.float32(LARGEST_STEP)
    return np.rint(vectors / scales[:, None]).astype(np.int8), scales


@dataclass(frozen=True, eq=False)
class VectorBits(LinearForm):
    """A vector for each class as the bits of a code whose classes are children of one node.

    - ``weights`` of shape (n_bits, n_features), int8, ``scales`` of shape (n_bits,): the vectors.
    - ``centre``, ``factor`` of shape (n_features,): what is subtracted from samples, then what they are multiplied by.
    - ``sketch``, ``cells``: what finds candidates; None where all classes are looked at.

    >>> bits = VectorBits.of(np.eye(3, dtype=np.float32), np.zeros(3), np.zeros(3), np.ones(3))
    >>> np.asarray(bits.margins([[0.0, 2.0, 1.0]])).round(2)
    array([[0., 2., 1.]], dtype=float32)
    """

    weights: NDArray[np.int8] = field(repr=False)
    scales: Float32Array = field(repr=False)
    bias: Float32Array = field(repr=False)
    centre: Float32Array = field(repr=False)
    factor: Float32Array = field(repr=False)
    sketch: Sketch | None = field(default=None, repr=False)
    cells: Cells | None = field(default=None, repr=False)
    n_threads: int | None = None

    @classmethod
    def of(
        cls, vectors: Float32Array, bias: Any, centre: Any, factor: Any, rows: Float32Array | None = None
    ) -> VectorBits:
        """Rounded vectors, with a sketch if there are many; ``rows`` are some samples, centred and scaled."""
        weights, scales = _rounded(vectors)
        of_classes, of_features, factors = (np.asarray(each, np.float32) for each in (bias, centre, factor))
        bits = cls(weights, scales, of_classes, of_features, factors)
        if rows is None or len(vectors) < SKETCHED_CLASSES or vectors.shape[1] < 2:
            return bits
        sketched = replace(bits, sketch=Sketch.of(vectors, rows))
        return sketched._with_gap(rows[:: max(1, len(rows) // ROWS_OF_GAP)])

    def _with_gap(self, rows: Float32Array) -> VectorBits:
        """The same with the gap of these rows, centred and scaled."""
        assert self.sketch is not None
        squares, sketches, offsets = [], self.kernel_sketches, self.kernel_offsets
        for start in range(0, len(rows), LEAST_ROWS):
            steps, units = steps_of(rows[start : start + LEAST_ROWS])
            rough, per_unit = self.sketched(steps, units)
            scores = (rough @ sketches.T) * per_unit[:, None] + offsets
            errors = self._in_full(steps, units) / self.sketch.scale - scores
            squares.append(errors.var(axis=1, dtype=np.float64))
        gap = max(float(np.sqrt(np.concatenate(squares).mean())), float(TINY))
        return replace(self, sketch=self.sketch._replace(gap=np.float32(GAP * gap)))

    def with_cells(self, rng: np.random.Generator) -> VectorBits:
        """The same with cells of the classes."""
        return replace(self, cells=Cells.of(self.kernel_sketches, rng))

    @property
    def n_features(self) -> int:
        return len(self.centre)

    @property
    def nbytes(self) -> int:
        """The memory of the model, without caches."""
        own: list[Any] = [self.weights, self.scales, self.bias, self.centre, self.factor]
        parts = [part for part in (self.sketch, self.cells) if part is not None]
        return sum(array.nbytes for array in [*own, *(array for part in parts for array in part)])

    def margins(self, X: Any) -> VectorMargins:
        """The margins of samples, computed on demand."""
        rows: Any = X if sparse.issparse(X) else np.asarray(X)
        if rows.ndim != 2 or rows.shape[1] != self.n_features:
            raise ValueError(f"X must have {self.n_features} features, as many as the weights. Got shape {rows.shape}.")
        return VectorMargins(self, rows)

    def linear_rows(self) -> LinearRows:
        """The weights of samples as they are given, in single precision."""
        vectors = self.weights.T.astype(np.float32) * self.scales * self.factor[:, None]
        return LinearRows(vectors, None, None, self.bias - self.centre @ vectors)

    def to_csr(self) -> sparse.csr_array:
        """The weights as a sparse matrix of shape (n_features, n_bits)."""
        return sparse.csr_array(self.linear_rows().weights)

    def compacted(self, precision: str, threshold: float | None = None) -> VectorBits:  # noqa: ARG002
        """The same predictors: they have one byte per weight, and none is small."""
        if precision != "int8":
            raise ValueError(
                f"The vectors of classes of dense samples are stored as int8. Got precision={precision!r}."
            )
        return self

    @cached_property
    def kernel_offsets(self) -> Float32Array:
        """The biases on the scale of the sketch."""
        assert self.sketch is not None
        return np.asarray(self.bias / self.sketch.scale)

    @cached_property
    def kernel_sketches(self) -> Float32Array:
        """The rough vectors of all classes, (n_classes, n), in the type that products need."""
        assert self.sketch is not None
        return self.sketch.vectors.astype(np.float32)

    @cached_property
    def kernel_projection(self) -> Float32Array:
        """The projection of the sketch, in the type that products need."""
        assert self.sketch is not None
        return self.sketch.projection.astype(np.float32)

    @cached_property
    def kernel_cells(self) -> tuple[Float32Array, Float32Array, tuple[NDArray[Any], ...]]:
        """The centres, (n, n_cells), and mean offsets of the cells; their members with sketches and offsets."""
        assert self.cells is not None
        assert self.sketch is not None
        (centres, scale, starts, members), sizes = self.cells, np.diff(self.cells.starts)
        offsets = self.kernel_offsets[members]
        cell = np.repeat(np.arange(len(sizes)), sizes)
        means = np.bincount(cell, offsets, minlength=len(sizes)) / np.maximum(sizes, 1)
        return (
            np.ascontiguousarray(centres.T, dtype=np.float32),
            np.asarray(means / scale, dtype=np.float32),
            _frozen(starts, members, self.sketch.vectors[members], offsets),
        )

    @cached_property
    def kernel_vectors(self) -> tuple[NDArray[Any], ...]:
        """The vectors as kernels take them: read-only, however they were made."""
        return _frozen(self.weights, self.scales, self.bias)

    def in_steps(self, rows: Any) -> tuple[Float32Array, Float32Array]:
        """Samples, centred, scaled and rounded to integers, and the unit of each."""
        dense = rows.toarray() if hasattr(rows, "toarray") else rows
        return steps_of((np.asarray(dense, dtype=np.float32) - self.centre) * self.factor)

    def sketched(self, steps: Float32Array, units: Float32Array) -> tuple[Float32Array, Float32Array]:
        """The sketches of samples as integers, and the unit of each."""
        assert self.sketch is not None
        return steps_of((steps @ self.kernel_projection) * self.sketch.projection_scales * units[:, None])

    def _in_full(self, steps: Float32Array, units: Float32Array) -> Float32Array:
        """The margins of all classes."""
        products = np.empty((len(steps), self.n_bits), dtype=np.float32)
        for first in range(0, self.n_bits, SKETCHED_CLASSES):
            some = slice(first, first + SKETCHED_CLASSES)
            products[:, some] = steps @ self.weights[some].T.astype(np.float32)
        return np.asarray(products * (self.scales * units[:, None]) + self.bias)

    def best(self, X: Any, n: int, *, n_rescored: int | None = None) -> tuple[IntArray, Float32Array]:
        """The classes of the n largest margins, largest first, and these; -1 if fewer were found.

        So many candidates, or a few more, are scored in full.
        """
        from codekin.kernels.class_search import best_classes, best_in_cells

        n_rows = X.shape[0]
        found, scores = np.empty((n_rows, n), np.int64), np.empty((n_rows, n), np.float32)
        if self.sketch is None:
            for start, margins in VectorMargins(self, X).blocks():
                places = margins.argmax(axis=1)[:, None] if n == 1 else np.argsort(-margins, kind="stable")[:, :n]
                rows = slice(start, start + len(places))
                found[rows], scores[rows] = places, np.take_along_axis(margins, places, axis=1)
            return found.astype(np.intp, copy=False), scores
        gap = self.sketch.gap if n == 1 else np.float32(np.inf)
        n_rescored = min(n_rescored or max(RESCORED, RESCORED_PER_CLASS * n), self.n_bits)
        has_cells = self.cells is not None and n_rescored <= RESCORED_PER_CLASS * RESCORED

        def fill(start: int, stop: int) -> None:
            steps, units = self.in_steps(X[start:stop])
            rough, per_unit = self.sketched(steps, units)
            own = per_unit, n_rescored, gap, steps.astype(np.int16), units
            rest = *self.kernel_vectors, found[start:stop], scores[start:stop]
            if has_cells and self.cells is not None:
                centres, means, members = self.kernel_cells
                of_cells = (rough @ centres) * per_unit[:, None] + means
                n_cells = min(CELLS_SEARCHED, len(means))
                best_in_cells(of_cells, n_cells, *members, rough.astype(np.int16), *own, *rest)
            else:
                best_classes(rough @ self.kernel_sketches.T, self.kernel_offsets, *own, *rest)

        block = MOST_ROWS if has_cells else rows_at_once(self.n_bits)
        # Each of our threads has its own block.
        with single_blas() if n_rows > block else nullcontext():
            run_blocks(fill, n_rows, block=block, n_threads=self.n_threads)
        return found.astype(np.intp, copy=False), scores


def _frozen(*arrays: NDArray[Any]) -> tuple[NDArray[Any], ...]:
    """Read-only views, so that kernels are compiled for one kind."""
    views = [np.ascontiguousarray(array).view() for array in arrays]
    for view in views:
        view.flags.writeable = False
    return tuple(views)


def steps_of(rows: Float32Array) -> tuple[Float32Array, Float32Array]:
    """Rows as integers, small enough for exact sums of products with those of vectors, and the unit of each."""
    most = max(min(MOST_STEPS, LARGEST_SUM // (LARGEST_STEP * max(rows.shape[1], 1))), 1)
    units = np.maximum(np.abs(rows).max(axis=1, initial=0), TINY) / np.float32(most)
    return np.rint(rows / units[:, None]), units


def rows_at_once(n_classes: int) -> int:
    """How many samples get a number for each class at a time."""
    return int(np.clip(SCORES_AT_ONCE // n_classes, LEAST_ROWS, MOST_ROWS))


@dataclass(frozen=True, eq=False)
class VectorMargins:
    """The margins of some samples, computed on demand; NumPy can convert it to an (n_samples, n_bits) array."""

    bits: VectorBits
    X: Any

    @property
    def shape(self) -> tuple[int, int]:
        return self.X.shape[0], self.bits.n_bits

    def __len__(self) -> int:
        return int(self.X.shape[0])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """All margins, (n_samples, n_bits)."""
        every = np.empty(self.shape, dtype=np.float32)
        for start, margins in self.blocks():
            every[start : start + len(margins)] = margins
        return np.asarray(every, dtype=dtype)

    def best_leaf(self) -> IntArray:
        """The most probable leaf."""
        return self.bits.best(self.X, 1)[0][:, 0]

    def best_leaves(
        self,
        n: int,
        beam: int,  # noqa: ARG002  (there is one node)
        temperature: float = 1.0,
        max_loss_gap: float = np.inf,
    ) -> tuple[IntArray, FloatArray]:
        """The most probable leaves, and the logarithms of their probabilities, which are exact.

        Those further than ``max_loss_gap`` below the best are left out: -1 and minus infinity.
        """
        leaves = self.bits.best(self.X, n)[0]
        logs = self.log_probabilities(leaves, temperature)
        is_near = logs >= logs[:, :1] - max_loss_gap
        return np.where(is_near, leaves, -1), np.where(is_near, logs, -np.inf)

    def log_probabilities(self, leaves: IntArray, temperature: float = 1.0) -> FloatArray:
        """The logarithms of the probabilities of given leaves, (n_samples, n); minus infinity for leaf -1."""
        logs = np.empty(leaves.shape)
        for start, margins in self.blocks():
            own, scaled = leaves[start : start + len(margins)], margins.astype(np.float64) / temperature
            listed = np.take_along_axis(scaled, np.maximum(own, 0), axis=1)
            logs[start : start + len(own)] = listed - logsumexp(scaled, axis=1, keepdims=True)
        return np.where(leaves >= 0, logs, -np.inf)

    def blocks(self) -> Iterator[tuple[int, Float32Array]]:
        """Where a block of samples begins, and all of its margins."""
        bits, n_rows = self.bits, rows_at_once(self.bits.n_bits)
        for start in range(0, len(self), n_rows):
            yield start, bits._in_full(*bits.in_steps(self.X[start : start + n_rows]))
