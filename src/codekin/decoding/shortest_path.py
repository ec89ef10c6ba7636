"""Decoding on a trellis: the class with the smallest loss is the shortest path, in time O(n_bits) for any loss.

A codeword has +1 on the edges of its path and -1 elsewhere, so that for margins ``f``

    sum_j L(M_yj f_j) = sum_j L(-f_j) + sum_{edges e on the path of y} [L(f_e) - L(-f_e)].

The first sum is the same for all classes; the second is the length of a path if edge ``e`` has length
``L(f_e) - L(-f_e)``. Lengths are computed here, in NumPy, for any loss; the kernels only add them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from codekin._system.parallel import SAMPLES_PER_BLOCK, run_blocks
from codekin._system.rows import Row
from codekin.code import Assignment, FloatArray, IntArray, Margins
from codekin.code.trellis import TrellisGraph
from codekin.decoding.decoder import Decoder, SingleBest, SingleMargins, Slopes, check_k, secants
from codekin.decoding.losses import STABLE_UNITS, get_loss
from codekin.decoding.minimum_loss import as_margins, set_apart

LOSS_BYTES = 2**17 - 2**12
"""The most bytes of an array while a loss is evaluated: it stays in a core's own cache, and below the size from which
the C library requests every array from the system."""
BLOCKS_PER_TASK = 16
FIRST_FREE_PATHS = 8
"""How many paths without a class are allowed for at first; more if that was too few."""
MOST_FREE_SHARE = 1 - 1e-6
NUMBERS_AT_ONCE = 1 << 20
"""How many losses are held at once when all classes are computed."""
SINGLE_PRECISION_FROM = 10**6
"""From this many margins on, deciding the clear cases in single precision is worth its start-up time."""


@dataclass(frozen=True, eq=False)
class ShortestPathDecoder(Decoder):
    """Finds the classes with the smallest decoding loss among the paths of a trellis.

    Gives the results of :class:`MinimumLossDecoder` for the trellis's coding matrix, without that matrix. Among equal
    losses the lowest *path* wins: the lowest class, if class ``k`` has path ``k``.

    Parameters
    ----------
    trellis : TrellisGraph
        The graph, ``codebook.trellis``.
    loss : str or callable, default="exponential"
        A name from ``LOSSES`` or a function of ``z = bit * margin``.
    assignment : Assignment, optional
        Which class has which path; by default class ``k`` has path ``k``. Paths without a class are skipped.
    n_threads : int, optional
        How many threads to use; by default, as many as there are processors. The result does not depend on it.

    Examples
    --------
    >>> from codekin.codebooks import trellis_codebook
    >>> codebook = trellis_codebook(100_000, width=5)
    >>> decoder = ShortestPathDecoder(codebook.trellis)
    >>> margins = codebook.codewords([0, 31_415, 99_999]) * 0.9
    >>> decoder.decode(margins)
    array([    0, 31415, 99999])
    """

    trellis: TrellisGraph
    loss: Any = "exponential"
    assignment: Assignment | None = None
    n_threads: int | None = None

    def __post_init__(self) -> None:
        """Look the loss up and check that there is a path for every class."""
        object.__setattr__(self, "loss", get_loss(self.loss))
        if self.assignment is not None and self.assignment.codeword_of_class.max(initial=0) >= self.trellis.n_paths:
            raise ValueError(
                f"The trellis has {self.trellis.n_paths} paths. Got path "
                f"{int(self.assignment.codeword_of_class.max())} in the assignment."
            )

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return self.trellis.n_paths if self.assignment is None else self.assignment.n_classes

    @cached_property
    def _class_of_path(self) -> IntArray | None:
        return None if self.assignment is None else self.assignment.class_of_codeword(self.trellis.n_paths)

    @cached_property
    def _free_paths(self) -> IntArray:
        """The paths that no class has."""
        return np.zeros(0, np.intp) if self._class_of_path is None else np.flatnonzero(self._class_of_path < 0)

    def _classes(self, paths: NDArray[Any]) -> IntArray:
        ranks = paths.astype(np.intp)
        return ranks if self._class_of_path is None else self._class_of_path[ranks]

    def _lengths(self, f: Margins) -> Margins:
        """L(f) - L(-f) for every margin."""
        return np.ascontiguousarray(-2 * self.loss.agreement(f), dtype=f.dtype)

    def decode(self, margins: Margins) -> IntArray:
        margins = as_margins(margins, self.trellis.n_edges)
        classes = self._classes_of_shortest_paths(margins)
        if len(self._free_paths):
            without = np.flatnonzero(classes < 0)
            classes[without] = self.top_k(margins[without], 1)[0][:, 0]
        return classes

    def _classes_of_shortest_paths(self, margins: Margins) -> IntArray:
        """The class of the shortest of all paths, -1 if it has none."""
        if margins.size < SINGLE_PRECISION_FROM or self.trellis.n_paths > 2**24 or not self.loss.is_stable:
            return self._classes(self._shortest_paths(margins, np.float64)[0])
        paths, leads = self._shortest_paths(margins, np.float32)
        # Single precision decides only if the best path leads by more than the rounding error; the other samples, few
        # unless there are true ties, are decoded again.
        doubtful = np.flatnonzero(~(leads > 0))
        paths[doubtful] = self._shortest_paths(margins[doubtful], np.float64)[0]
        return self._classes(paths)

    def _shortest_paths(self, margins: Margins, precision: Any) -> tuple[NDArray[Any], NDArray[Any]]:
        """The shortest path of each sample, and by how much it leads the next one beyond the rounding error.

        Paths are numbers of the given precision, which is exact for the first 2**24 or 2**53 of them.
        """
        from codekin.kernels.calling import typed_once
        from codekin.kernels.paths import cheapest_paths, largest_sizes

        trellis = self.trellis
        offsets = trellis.edge_offsets.astype(precision)
        paths, leads = np.empty((2, len(margins)), dtype=precision)
        search, measure = typed_once(cheapest_paths), typed_once(largest_sizes)

        def fill(start: int, stop: int) -> None:
            # One array for all blocks: getting new memory from the system takes longer than the work itself.
            buffer = np.empty((trellis.n_edges, SAMPLES_PER_BLOCK), dtype=precision)
            totals = np.empty(SAMPLES_PER_BLOCK, dtype=precision)
            for first in range(start, stop, SAMPLES_PER_BLOCK):
                block = slice(first, min(first + SAMPLES_PER_BLOCK, stop))
                lengths = self._lengths_by_edge(margins[block], buffer)
                n = lengths.shape[1]
                search(lengths, trellis.width, trellis.digits, offsets, paths[block], totals[:n], leads[block])
                measure(lengths, totals[:n])
                leads[block] -= self._rounding_error(totals[:n])

        run_blocks(fill, len(margins), block=SAMPLES_PER_BLOCK * BLOCKS_PER_TASK, n_threads=self.n_threads)
        return paths, leads

    def _lengths_by_edge(self, margins: Margins, buffer: NDArray[Any]) -> NDArray[Any]:
        """The lengths of the edges, (n_edges, n_samples), in the memory of the buffer and in its precision."""
        n_edges, n_samples = len(buffer), len(margins)
        lengths = buffer if n_samples == buffer.shape[1] else buffer.ravel()[: n_edges * n_samples].reshape(n_edges, -1)
        n_rows = max(LOSS_BYTES // (n_edges * buffer.itemsize), 1)
        for first in range(0, n_samples, n_rows):
            rows = slice(first, first + n_rows)
            agreement = self.loss.agreement(margins[rows].astype(buffer.dtype, copy=False))
            np.multiply(agreement.T, -2, out=lengths[:, rows])
        return lengths

    def _rounding_error(self, longest: Margins) -> Margins:
        """The largest rounding error of the difference of two path lengths, from the longest edges, (n_samples,).

        Each of the at most n edges of a path is off by ``STABLE_UNITS * eps * (1 + |length|)``, and each of the
        additions by ``eps`` times a partial sum, which is at most n times the longest edge.
        """
        n = len(self.trellis.digits) + 1  # the most edges of a path
        unit = 2 * n * np.finfo(longest.dtype).eps
        return np.asarray(unit * (2 * STABLE_UNITS * (1 + longest) + n * longest), dtype=longest.dtype)

    def top_k(self, margins: Margins, k: int) -> tuple[IntArray, FloatArray]:
        check_k(k, self.n_classes)
        margins = as_margins(margins, self.trellis.n_edges)
        if not len(self._free_paths):
            return self._shortest(margins, k)
        classes, losses = np.full((len(margins), k), -1, dtype=np.intp), np.empty((len(margins), k))
        rows, n_free = np.arange(len(margins)), len(self._free_paths)
        n_more, n_tried = min(FIRST_FREE_PATHS, n_free), 0
        # Of k paths plus the number of free ones, at least k have a class, unless margins are NaN.
        while len(rows) and n_tried < n_free and k + n_more < self.n_classes:
            listed, of_listed = self._shortest(margins[rows], k + n_more)
            order = np.argsort(listed < 0, axis=1, kind="stable")[:, :k]
            classes[rows], losses[rows] = (np.take_along_axis(each, order, axis=1) for each in (listed, of_listed))
            rows, n_tried, n_more = rows[classes[rows, -1] < 0], n_more, min(8 * n_more, n_free)
        if len(rows):
            classes[rows], losses[rows] = self._best_of_all_classes(margins[rows], k)
        return classes, losses

    def _best_of_all_classes(self, margins: Margins, k: int) -> tuple[IntArray, FloatArray]:
        """The same as :meth:`top_k`, class by class: less work if free paths outnumber the classes."""
        classes, losses = np.empty((len(margins), k), dtype=np.intp), np.empty((len(margins), k))
        every = np.arange(self.n_classes) if self.assignment is None else np.argsort(self.assignment.codeword_of_class)
        for rows in self._blocks(len(margins)):
            of_all = self.class_losses(margins[rows], every)
            order = np.argsort(of_all, axis=1, kind="stable")[:, :k]
            classes[rows], losses[rows] = every[order], np.take_along_axis(of_all, order, axis=1)
        return classes, losses

    def _blocks(self, n_samples: int) -> Iterator[slice]:
        """Blocks of few enough samples to hold a number for each class."""
        step = max(NUMBERS_AT_ONCE // self.n_classes, 1)
        return (slice(start, start + step) for start in range(0, n_samples, step))

    def _shortest(self, margins: Margins, k: int) -> tuple[IntArray, FloatArray]:
        """The classes of the k shortest paths, -1 for paths without a class, and their losses."""
        from codekin.kernels.paths import k_cheapest_paths

        trellis = self.trellis
        paths = np.empty((len(margins), k), dtype=np.int64)
        losses = np.empty((len(margins), k))

        def fill(start: int, stop: int) -> None:
            f = np.ascontiguousarray(margins[start:stop], dtype=np.float64)
            lengths, offsets = self._lengths(f), trellis.edge_offsets
            k_cheapest_paths(lengths, trellis.width, trellis.digits, offsets, paths[start:stop], losses[start:stop])
            losses[start:stop] += self.loss(-f).sum(axis=1, keepdims=True)

        run_blocks(fill, len(margins), block=SAMPLES_PER_BLOCK, n_threads=self.n_threads)
        return self._classes(paths), losses

    def class_losses(self, margins: Margins, classes: ArrayLike | None = None) -> FloatArray:
        """The losses of the given classes, or of all.

        Of all classes, the first of the smallest losses is that of the class that :meth:`decode` returns.

        Parameters
        ----------
        margins : array of shape (n_samples, n_bits)
        classes : array-like of shape (n,) or (n_samples, n), optional
            The same classes for all samples, or each sample's own; by default, all classes.

        Returns
        -------
        ndarray of shape (n_samples, n)
        """
        margins = as_margins(margins, self.trellis.n_edges)
        f = margins.astype(np.float64, copy=False)
        losses = self.path_scores(self._lengths(f), np.arange(self.n_classes) if classes is None else classes)
        losses += np.asarray(self.loss(-f).sum(axis=1, keepdims=True), dtype=np.float64)
        if classes is None:
            set_apart(losses, self.decode(margins))
        return losses

    def losses_of(self, margins: Margins, classes: IntArray) -> FloatArray:
        return np.where(classes >= 0, self.class_losses(margins, np.maximum(classes, 0)), np.inf)

    def single(self, bits: Any, margins_of: SingleMargins) -> SingleBest:
        if len(self._free_paths):
            return super().single(bits, margins_of)
        from codekin.kernels import paths as kernels
        from codekin.kernels.calling import typed_once

        k_cheapest_paths = typed_once(kernels.k_cheapest_paths)
        loss, graph = self.loss, (self.trellis.width, self.trellis.digits, self.trellis.edge_offsets)
        margins = margins_of(bits)

        def best(row: Row, k: int, *, has_losses: bool) -> tuple[IntArray, FloatArray]:
            f = margins(row).astype(np.float64)
            paths, losses = np.empty((1, k), np.int64), np.empty((1, k))
            k_cheapest_paths(-2 * loss.agreement(f), *graph, paths, losses)
            if has_losses:
                losses += loss(-f).sum(axis=1, keepdims=True)
            return self._classes(paths[0]), losses[0]

        return best

    def n_listed(self, k: int) -> int:
        return k

    def most_probable(self, margins: Margins, k: int, temperature: float) -> tuple[IntArray, FloatArray]:
        classes = self.top_k(margins, k)[0]
        return classes, self.log_proba_of(margins, classes)(temperature)

    def log_proba_of(self, margins: Margins, classes: IntArray) -> Callable[[float], FloatArray]:
        # What an edge adds to minus the loss of a path, up to a constant: L(-f) - L(f).
        scores = np.asarray(2 * self.loss.agreement(margins.astype(np.float64)))
        own = self.path_scores(scores, np.maximum(classes, 0))
        return lambda temperature: own / temperature - self.log_partition(scores / temperature)[:, None]

    def slopes(self, class_index: IntArray, moved: FloatArray, offsets: FloatArray) -> Slopes:
        paths = class_index if self.assignment is None else self.assignment.codeword_of_class[class_index]
        on_path = (self.trellis.codewords(paths) > 0).astype(np.float64)
        agreement = self.loss.agreement
        by_bit = 2 * on_path * secants(agreement, moved, offsets)
        shared = -self.loss(-(offsets + moved)).sum(axis=1)
        return Slopes(by_bit, 2 * on_path @ agreement(offsets), shared)

    def path_scores(self, edge_scores: Margins, classes: ArrayLike) -> FloatArray:
        """The sum of the scores on the path of each given class.

        Parameters
        ----------
        edge_scores : array of shape (n_samples, n_bits)
            A score for every edge: margins, or any function of them.
        classes : array-like of shape (n,) or (n_samples, n)
            The same classes for all samples, or each sample's own.

        Returns
        -------
        ndarray of shape (n_samples, n)
        """
        asked = np.asarray(classes, dtype=np.intp)
        if asked.ndim not in (1, 2) or (asked.ndim == 2 and len(asked) != len(edge_scores)):
            raise ValueError(
                f"The 'classes' parameter must have shape (n,) or ({len(edge_scores)}, n), one row per sample. "
                f"Got shape {asked.shape}."
            )
        own = asked if self.assignment is None else self.assignment.codeword_of_class[asked]
        return self._sums_on_paths(as_margins(edge_scores, self.trellis.n_edges), own)

    def _sums_on_paths(self, edge_scores: Margins, own: IntArray) -> FloatArray:
        """The sum of the scores on each path."""
        edges = self.trellis.unrank(own.ravel()).reshape(*own.shape, -1)
        # Paths with a shortcut are padded with -1: the last column, here an edge of length 0.
        padded = np.column_stack([edge_scores, np.zeros(len(edge_scores))])
        sums = np.zeros((len(edge_scores), own.shape[-1]))
        # From the last edge to the first, like the kernels: the same numbers to the last bit.
        for step in range(edges.shape[-1] - 1, -1, -1):
            column = edges[..., step]
            sums += padded[:, column] if column.ndim == 1 else np.take_along_axis(padded, column, axis=1)
        return sums

    def log_partition(self, edge_scores: Margins) -> FloatArray:
        """The logarithm of the sum of ``exp(path score)`` over all classes, in time O(n_bits).

        It makes probabilities of any few classes exact: ``exp(path_scores(s, classes) - log_partition(s)[:, None])``.

        Parameters
        ----------
        edge_scores : array of shape (n_samples, n_bits)
            A score for every edge: margins, divided by a temperature if there is one.

        Returns
        -------
        ndarray of shape (n_samples,)

        Examples
        --------
        >>> from codekin.codebooks import trellis_codebook
        >>> decoder = ShortestPathDecoder(trellis_codebook(1_000).trellis)
        >>> float(np.exp(decoder.log_partition(np.zeros((1, 42)))[0]).round(6))
        1000.0
        """
        from codekin.kernels.paths import log_sum_over_paths

        trellis = self.trellis
        edge_scores = as_margins(edge_scores, trellis.n_edges)
        log_sums = np.empty(len(edge_scores))

        def fill(start: int, stop: int) -> None:
            scores = np.ascontiguousarray(edge_scores[start:stop], dtype=np.float64)
            log_sum_over_paths(scores, trellis.width, trellis.digits, log_sums[start:stop])

        run_blocks(fill, len(edge_scores), block=SAMPLES_PER_BLOCK, n_threads=self.n_threads)
        return self._without_free_paths(log_sums, edge_scores) if len(self._free_paths) else log_sums

    def _without_free_paths(self, log_sums: FloatArray, edge_scores: Margins) -> FloatArray:
        """The sums over the paths that have a class."""
        from scipy.special import logsumexp

        if len(self._free_paths) >= self.n_classes:
            every = np.arange(self.n_classes)
            blocks = self._blocks(len(log_sums))
            return np.concatenate([logsumexp(self.path_scores(edge_scores[rows], every), axis=1) for rows in blocks])
        share = np.exp(logsumexp(self._sums_on_paths(edge_scores, self._free_paths), axis=1) - log_sums)
        rest: FloatArray = log_sums + np.log1p(-np.minimum(share, MOST_FREE_SHARE))
        # If free paths make up nearly all of the sum, the difference has too few digits: then class by class.
        for row in np.flatnonzero(share > MOST_FREE_SHARE):
            rest[row] = logsumexp(self.path_scores(edge_scores[row : row + 1], np.arange(self.n_classes)))
        return rest
