"""One code or several whose best classes are ranked once more: what a coded model is to the outside, but better.

Members are codes on the same trellis with different orders of the classes, their losses added. The candidates are the
union of the members' best classes; each is given its exact sum over the members, and the dot product with its class
vector if there are any.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from codekin.coding import Assignment, Codebook, CodingMatrix, FloatArray, IntArray, Margins
from codekin.decoding import ShortestPathDecoder, get_loss
from codekin.decoding.minimum_loss import check_k, set_apart
from codekin.learners.linear import SparseRows
from codekin.model import CodedModel
from codekin.ranking import ClassVectors, Reranking
from codekin.threads import run_blocks

SAMPLES_PER_BLOCK = 512


@dataclass(frozen=True, eq=False)
class Candidates:
    """The ranked candidates of some samples.

    Parameters
    ----------
    classes : array of shape (n_samples, n)
        Best first; -1 where there are no more.
    losses : array of shape (n_samples, n)
        Their final losses, without what is the same for all classes of a sample; infinite where there are no more.
    scores : array of shape (n_samples, n)
        Their dot products with the sample.
    is_certified : array of shape (n_samples,), bool
        Whether no class outside the candidates can have a smaller sum of decoding losses than the best of them.
    """

    classes: IntArray
    losses: FloatArray
    scores: FloatArray
    is_certified: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class RankedModel:
    """Codes on one trellis, and how their best classes are ranked in the end.

    Parameters
    ----------
    members : tuple of CodedModel
        At least one; with the same trellis, every path of which is a class.
    reranking : Reranking
        How many candidates each member contributes, and what rescores them.
    n_threads : int, optional
        How many threads to use; by default, as many as there are processors. The result does not depend on it.
    """

    members: tuple[CodedModel, ...]
    reranking: Reranking = field(repr=False)
    n_threads: int | None = None

    def __post_init__(self) -> None:
        """Check that the members have the same trellis and that the vectors are for their classes."""
        if not self.members:
            raise ValueError("A ranked model needs at least one member.")
        for member in self.members:
            has_class_on_every_path = member.n_classes == member.codebook.n_codewords
            if not isinstance(member.decoder, ShortestPathDecoder) or not has_class_on_every_path:
                raise ValueError(
                    "The members of a ranked model must be codes on a trellis with a class for every path. "
                    f"Got a {member.codebook.name} codebook of {member.codebook.n_codewords} codewords."
                )
            if member.codebook.trellis != self.codebook.trellis:
                raise ValueError(
                    f"The members of a ranked model must have the same trellis. Got {member.codebook.trellis} beside "
                    f"{self.codebook.trellis}."
                )
        vectors = self.reranking.vectors
        if vectors is not None and vectors.n_classes != self.n_classes:
            raise ValueError(f"{self.n_classes} classes need as many class vectors. Got {vectors.n_classes}.")

    @property
    def codebook(self) -> Codebook:
        """The codewords of each member."""
        return self.members[0].codebook

    @property
    def assignment(self) -> Assignment:
        """Which class has which codeword in the first member."""
        return self.members[0].assignment

    @property
    def decoder(self) -> ShortestPathDecoder:
        """The decoder of the first member."""
        return cast("ShortestPathDecoder", self.members[0].decoder)

    @property
    def n_classes(self) -> int:
        """How many classes there are."""
        return self.members[0].n_classes

    @property
    def n_bits(self) -> int:
        """How many bits all members have together."""
        return sum(member.n_bits for member in self.members)

    @cached_property
    def coding_matrix(self) -> CodingMatrix:
        """Row ``k`` holds the codewords of class ``k`` in all members, one after the other."""
        return np.hstack([member.coding_matrix for member in self.members])

    def margins(self, X: Any) -> Margins:
        """One column per bit, the members' one after the other.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_bits)
        """
        parts = [member.margins(X) for member in self.members]
        return parts[0] if len(parts) == 1 else np.hstack(parts)

    def predict(self, X: Any) -> IntArray:
        """The class index with the smallest final loss.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self.candidates(X, n=1).classes[:, 0]

    def top_k(self, X: Any, k: int) -> tuple[IntArray, FloatArray]:
        """The k class indices with the smallest final losses, and those losses, smallest first.

        Classes beyond the candidates follow behind them in the order of their decoding losses, which are raised as far
        as that takes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        k : int
            At least 1 and at most the number of classes.

        Returns
        -------
        classes : ndarray of shape (n_samples, k)
        losses : ndarray of shape (n_samples, k)
        """
        check_k(k, self.n_classes)
        margins = self.margins(X)
        best = self._ranked(X, margins, k, max(k, self.n_candidates), self.reranking)
        return best.classes, best.losses + self._constant_losses(margins)

    def class_losses(self, X: Any) -> FloatArray:
        """The final loss of every class: for few classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        margins = self.margins(X)
        parts = np.split(margins, len(self.members), axis=1)
        losses = sum(member.decoder.class_losses(part) for member, part in zip(self.members, parts, strict=True))
        best = self._ranked(X, margins, self._most_candidates, self.n_candidates, self.reranking)
        rows, places = np.nonzero(best.classes >= 0)
        found = rows, best.classes[rows, places]
        of_others: FloatArray = np.array(losses)
        of_others[found] = np.inf
        final = best.losses + self._constant_losses(margins)
        worst = np.where(best.classes >= 0, final, -np.inf).max(axis=1)
        following = of_others.min(axis=1)
        raised = np.where(np.isfinite(following), np.maximum(worst - following, 0), 0)
        of_others = np.maximum(of_others + raised[:, None], worst[:, None])
        of_others[found] = final[rows, places]
        set_apart(of_others, best.classes[:, 0])
        return of_others

    def candidates(self, X: Any, n: int | None = None, *, reranking: Reranking | None = None) -> Candidates:
        """The candidates of each sample, ranked.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        n : int, optional
            How many of them; by default, all.
        reranking : Reranking, optional
            Another one than the model's own.

        Returns
        -------
        Candidates
        """
        chosen = self.reranking if reranking is None else reranking
        n_listed = min(chosen.n_candidates, self.n_classes)
        n_out = min(n_listed * len(self.members), self.n_classes) if n is None else n
        return self._ranked(X, self.margins(X), n_out, n_listed, chosen)

    @property
    def n_candidates(self) -> int:
        """How many of its best classes each member contributes."""
        return min(self.reranking.n_candidates, self.n_classes)

    @property
    def _most_candidates(self) -> int:
        return min(self.n_candidates * len(self.members), self.n_classes)

    @cached_property
    def _of_paths(self) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
        """From paths to classes and back for each member, and the edges of each path where they are needed."""
        class_of_path = np.array([m.assignment.class_of_codeword(self.n_classes) for m in self.members], dtype=np.int32)
        if len(self.members) == 1:
            nothing = np.zeros((0, 0), dtype=np.int32)
            return class_of_path, nothing, nothing
        path_of_class = np.array([member.assignment.codeword_of_class for member in self.members], dtype=np.int32)
        trellis: Any = self.codebook.trellis
        edges = trellis.unrank(np.arange(self.n_classes))
        return class_of_path, path_of_class, np.where(edges < 0, trellis.n_edges, edges).astype(np.int32)

    def _constant_losses(self, margins: Margins) -> FloatArray:
        """What all classes of a sample have in common."""
        f = margins.astype(np.float64, copy=False)
        return np.asarray(get_loss(self.decoder.loss)(-f).sum(axis=1, keepdims=True), dtype=np.float64)

    def _ranked(self, X: Any, margins: Margins, n_out: int, n_listed: int, reranking: Reranking) -> Candidates:
        from codekin.kernels.reranking import rank_candidates

        trellis: Any = self.codebook.trellis
        n_samples, n_edges = len(margins), trellis.n_edges
        loss = get_loss(self.decoder.loss)
        vectors, by_feature, reach, n_features = _kernel_vectors(reranking.vectors)
        # Rows that no vector meets need not be made sparse.
        rows = SparseRows.of(X, n_features) if reranking.vectors is not None else _no_rows(n_samples)
        classes = np.empty((n_samples, n_out), dtype=np.intp)
        losses, scores, bounds = np.empty((n_samples, n_out)), np.empty((n_samples, n_out)), np.empty((n_samples, 2))
        graph = trellis.width, trellis.digits, trellis.edge_offsets

        def fill(start: int, stop: int) -> None:
            n_members = len(self.members)
            f = margins[start:stop].astype(np.float64).reshape(stop - start, n_members, n_edges)
            costs = np.zeros((stop - start, n_members, n_edges + 1))
            np.multiply(loss.agreement(f), -2, out=costs[:, :, :-1])
            rank_candidates(
                costs,
                graph,
                self._of_paths,
                (rows.indptr[start : stop + 1], rows.indices, rows.values),
                vectors,
                by_feature,
                reach,
                n_features,
                float(reranking.weight),
                min(reranking.n_candidates, n_listed),
                n_listed,
                classes[start:stop],
                losses[start:stop],
                scores[start:stop],
                bounds[start:stop],
            )

        run_blocks(fill, n_samples, block=SAMPLES_PER_BLOCK, n_threads=self.n_threads)
        is_certified = (bounds[:, 0] <= bounds[:, 1]) | (n_listed == self.n_classes)
        return Candidates(classes, losses, scores, is_certified)


def _kernel_vectors(vectors: ClassVectors | None) -> tuple[tuple[Any, ...], tuple[Any, ...], tuple[Any, ...], int]:
    """The vectors as the kernel takes them, class by class and by feature, what none exceeds, and their length."""
    if vectors is None:
        empty, nothing = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.float32)
        steps = empty.astype(np.int8)
        by_feature = empty, empty.astype(np.int32), steps, steps
        return (empty, empty.astype(np.uint16), steps, nothing), by_feature, (nothing, nothing, 0.0), 0
    own = vectors.indptr, vectors.features, vectors.steps, vectors.scales
    return own, vectors.by_feature, vectors.reach, vectors.n_features


def _no_rows(n_samples: int) -> SparseRows:
    return SparseRows.of(sparse.csr_array((n_samples, 1), dtype=np.float32))
