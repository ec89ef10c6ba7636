"""Explanations of predictions: what each feature contributes to the score of a class.

Where a margin is linear in the features, so are its contributions, up to the slope of the decoder. On a tree of classes
the score of a class is the logarithm of its probability. In every node on the path to the leaf it is
``f_c - log sum_k exp(f_k)`` over the children. Along the straight line from a sample of zeros it grows by ``1 - p_c``
per unit of the child's own margin and by ``-p_k`` per unit of a sibling's, where ``p`` are the probabilities on the
way; their mean is computed by quadrature.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit, log_expit, logsumexp, softmax

from codekin._system.parallel import SAMPLES_PER_BLOCK
from codekin.code import FloatArray, IntArray, entry_for
from codekin.learners.linear import linear_rows
from codekin.model import FittedCode, Model
from codekin.model.model import NUMBERS_AT_ONCE
from codekin.samples import rows_at

__all__ = ["Explanation"]

LEAST_SHOWN = 1e-6
"""Smaller terms, such as rounding, are not printed."""
POINTS, PARTS = 16, 8
"""Of the quadrature: Gauss-Legendre points in each part of the line."""

Terms = dict[str, FloatArray]
Explainer = Callable[[sparse.csr_array, IntArray], tuple[FloatArray, FloatArray, FloatArray]]
"""From rows and their classes to what each stored entry contributes, and the bias and the shared part of each row."""


@dataclass(frozen=True, eq=False)
class Explanation:
    """What each feature contributes to the score of one class per sample.

    For every sample, ``contributions.sum(axis=1) + bias + sum(other.values())`` is its score.

    Parameters
    ----------
    labels : ndarray of shape (n_samples,)
        The label whose score is explained.
    scores : ndarray of shape (n_samples,)
        Minus the loss that the classifier ranks this label by, as in ``decision_function`` and ``top_k``.
    contributions : ndarray or csr_array of shape (n_samples, n_features)
        What each feature adds to the score; sparse if the samples were.
    bias : ndarray of shape (n_samples,)
        The score of a sample whose features are all zero, without the other terms.
    other : mapping of str to ndarray of shape (n_samples,)
        Terms that no feature is responsible for: ``all_classes`` is the same for every class of a sample and changes no
        order, ``not_reranked`` puts a class behind the candidates of a re-ranking, and ``rounding`` is the difference
        between single and double precision.
    feature_names : sequence of str or mapping of int to str, optional
        The names of the features; of texts, those that occur in them.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from codekin import ECOCClassifier
    >>> data = load_iris(as_frame=True)
    >>> explanation = ECOCClassifier(random_state=0).fit(data.data, data.target).explain(data.data[-1:])
    >>> explanation.labels
    array([2])
    >>> explanation.top(n=2)[0][0]
    'petal length (cm)'
    """

    labels: NDArray[Any]
    scores: FloatArray
    contributions: Any = field(repr=False)
    bias: FloatArray = field(repr=False)
    other: Mapping[str, FloatArray] = field(repr=False)
    feature_names: Sequence[str] | Mapping[int, str] | None = field(default=None, repr=False)

    def __str__(self) -> str:
        """The terms of a single sample as lines of text."""
        return self.text() if len(self) == 1 else repr(self)

    def __len__(self) -> int:
        """The number of samples."""
        return len(self.labels)

    def top(self, sample: int = 0, n: int = 10) -> list[tuple[str | int, float]]:
        """The features of a sample with the largest contributions, positive or negative, largest first.

        Parameters
        ----------
        sample : int, default=0
            Which sample.
        n : int, default=10
            How many features at most; those that contribute nothing are left out.

        Returns
        -------
        list of (str or int, float)
            Names of features, or their numbers if they have none, and contributions.
        """
        features, values = self._row(sample)
        order = np.argsort(-np.abs(values), kind="stable")[:n]
        names = self.feature_names
        return [
            (feature if names is None else str(names[feature]), value)
            for feature, value in zip(features[order].tolist(), values[order].tolist(), strict=True)
            if value != 0
        ]

    def text(self, sample: int = 0, n: int = 10) -> str:
        """The same as lines of text, with the other terms and their sum.

        Parameters
        ----------
        sample : int, default=0
            Which sample.
        n : int, default=10
            How many features at most.

        Returns
        -------
        str
        """
        best = [(str(name) if self.feature_names else f"feature {name}", value) for name, value in self.top(sample, n)]
        head = f"{self.labels[sample]}: score {self.scores[sample]:.4f}"
        return "\n".join([head, *(f"{value:+12.4f}  {name}" for name, value in best + self.rest(sample, n))])

    def rest(self, sample: int = 0, n: int = 10, *, least: float = LEAST_SHOWN) -> list[tuple[str, float]]:
        """What is added to the contributions of the first features: other features together, the bias, other terms.

        Parameters
        ----------
        sample : int, default=0
            Which sample.
        n : int, default=10
            How many features have been listed.
        least : float, default=1e-6
            Other terms of at most this size are left out.

        Returns
        -------
        list of (str, float)
        """
        sizes = np.sort(np.abs(self._row(sample)[1]))[::-1]
        others = float(self._row(sample)[1].sum()) - sum(value for _, value in self.top(sample, n))
        terms = [("other features", others)] if np.count_nonzero(sizes[n:]) else []
        terms.append(("bias", float(self.bias[sample])))
        named = ((name.replace("_", " "), float(values[sample])) for name, values in self.other.items())
        return terms + [(name, value) for name, value in named if abs(value) > least]

    def _row(self, sample: int) -> tuple[NDArray[Any], FloatArray]:
        """The features of a sample and their contributions."""
        whole: Any = self.contributions
        if hasattr(whole, "indptr"):
            entries = slice(*whole.indptr[sample : sample + 2])
            return whole.indices[entries], whole.data[entries]
        return np.arange(whole.shape[1]), whole[sample]


def contributions_to(model: Model, X: Any, class_index: IntArray) -> tuple[Any, FloatArray, Terms, FloatArray]:
    """The contributions of the features to the score of one class per sample, the bias, other terms, and the scores.

    Raises ValueError if the bits are not linear in the features.
    """
    explainers = explainers_of(model)
    is_sparse = sparse.issparse(X)
    rows = sparse.csr_array(X if is_sparse else np.asarray(X, dtype=np.float64))
    rows.sum_duplicates()
    shares, bias, shared = np.zeros(len(rows.data)), np.zeros(rows.shape[0]), np.zeros(rows.shape[0])
    for start in range(0, rows.shape[0], SAMPLES_PER_BLOCK):
        block = slice(start, start + SAMPLES_PER_BLOCK)
        entries = slice(rows.indptr[start], rows.indptr[min(start + SAMPLES_PER_BLOCK, rows.shape[0])])
        for explainer in explainers:
            of_entries, of_samples, of_all = explainer(rows[block], class_index[block])
            shares[entries] += of_entries
            bias[block] += of_samples
            shared[block] += of_all
    other: Terms = {"all_classes": shared}
    losses, raised, is_candidate = _final_losses(model, X, class_index)
    if model.ranking is not None:
        other["not_reranked"] = -raised
        if model.ranking.vectors is not None:
            rescored = np.where(is_candidate, class_index, -1)
            shares += model.ranking.weight * _vector_entries(model.ranking.vectors, rows, rescored)
    contributions: Any = sparse.csr_array((shares, rows.indices, rows.indptr), shape=rows.shape)
    other["rounding"] = -losses - np.asarray(contributions.sum(axis=1)) - bias - sum(other.values())
    return contributions if is_sparse else contributions.toarray(), bias, other, -losses


def explainers_of(model: Model) -> list[Explainer]:
    """What explains each member of a model; raises ValueError if its bits are not linear in the features."""
    return [entry_for(EXPLAINERS, member.code.codebook)(member) for member in model.codes]


def _of_linear_bits(member: FittedCode) -> Explainer:
    """The explainer of bits that are decoded with all their margins."""
    weights = linear_rows(member.bits, purpose="be explained")

    def explained(rows: sparse.csr_array, class_index: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        features, place = np.unique(rows.indices, return_inverse=True)
        of_features = weights.at(features.astype(np.intp))
        shape = rows.shape[0], len(features)
        narrow = sparse.csr_array((rows.data.astype(np.float64), place, rows.indptr), shape=shape)
        slopes = member.decoder.slopes(class_index, np.asarray(narrow @ of_features), weights.offsets)
        shares = np.empty(len(rows.data))
        for row, by_bit in enumerate(slopes.by_bit):
            entries = slice(*rows.indptr[row : row + 2])
            shares[entries] = narrow.data[entries] * (of_features[place[entries]] @ by_bit)
        return shares, slopes.bias, slopes.shared

    return explained


def _of_tree(member: Any) -> Explainer:
    """The explainer of a tree, which looks at the nodes on the path to a class only; classes share no part."""
    weights, offsets = member.bits.to_csr(), member.bits.bias.astype(np.float64)
    tree = member.code.codebook.tree
    node_of_bit = np.repeat(np.arange(tree.n_nodes), np.diff(tree.first_bits))
    places, shares_of_places = quadrature()
    is_logistic = member.decoder.link == "logistic"

    def explained(rows: sparse.csr_array, class_index: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        shares, bias = np.zeros(len(rows.data)), np.zeros(rows.shape[0])
        for row, path in enumerate(tree.unrank(member.decoder.leaf_of_class[class_index])):
            entries = slice(*rows.indptr[row : row + 2])
            values = rows.data[entries].astype(np.float64)
            of_features = weights[rows.indices[entries]].tocsc()
            for bit in path[path >= 0]:
                node = node_of_bit[bit]
                # A child with a probability of its own does not depend on its siblings.
                ends = (bit, bit + 1) if is_logistic else tree.first_bits[node : node + 2]
                children = slice(*ends)
                of_children = of_features[:, children].toarray().astype(np.float64)
                begins, child = offsets[children], bit - children.start
                # The mean softmax on the way from the margins without features to those with all of them.
                on_the_way = begins + places[:, None] * (values @ of_children)
                slopes = -(shares_of_places @ (expit(on_the_way) if is_logistic else softmax(on_the_way, axis=1)))
                slopes[child] += 1
                shares[entries] += values * (of_children @ slopes)
                bias[row] += log_expit(begins[0]) if is_logistic else begins[child] - logsumexp(begins)
        return shares, bias, np.zeros(rows.shape[0])

    return explained


EXPLAINERS: dict[str, Callable[[FittedCode], Explainer] | str] = {
    "signs": _of_linear_bits,
    "symbols": "Only linear predictors of two-sided bits can be explained.",
    "targets": _of_linear_bits,
    "trellis": _of_linear_bits,
    "tree": _of_tree,
}
"""Maps the kind of a codebook to what explains its codes."""


def quadrature() -> tuple[FloatArray, FloatArray]:
    """Places between 0 and 1, and the weights that make a mean of what is found there."""
    points, weights = np.polynomial.legendre.leggauss(POINTS)
    places = ((points + 1) / 2 + np.arange(PARTS)[:, None]).ravel() / PARTS
    return places, np.tile(weights / 2 / PARTS, PARTS)


def _vector_entries(vectors: Any, rows: sparse.csr_array, class_index: IntArray) -> FloatArray:
    """What each stored entry adds to the dot product with the vector of its sample's class; 0 for class -1."""
    own = vectors.to_csr()
    found = np.zeros(len(rows.data))
    for row, k in enumerate(class_index.tolist()):
        if k < 0:
            continue
        entries, mine = slice(*rows.indptr[row : row + 2]), slice(*own.indptr[k : k + 2])
        spread = dict(zip(own.indices[mine].tolist(), own.data[mine].tolist(), strict=True))
        steps = [spread.get(feature, 0.0) for feature in rows.indices[entries].tolist()]
        found[entries] = rows.data[entries] * steps
    return found


def _final_losses(model: Model, X: Any, class_index: IntArray) -> tuple[FloatArray, FloatArray, NDArray[np.bool_]]:
    """The loss that one class per sample is ranked by, how far it is raised, and whether a re-ranking rescored it.

    Those of all other classes are computed only for samples whose class was not rescored.
    """
    ranking, losses, raised = model.ranking, np.full(len(class_index), np.nan), np.zeros(len(class_index))
    if ranking is not None:
        best = model.ranked.rescored(X, margins := model.lazy_margins(X), ranking)
        found, place = np.nonzero(best.classes == class_index[:, None])
        losses[found] = (best.losses + model.ranked.constant_losses(margins))[found, place]
    is_candidate = ~np.isnan(losses)
    others, step = np.flatnonzero(~is_candidate), max(NUMBERS_AT_ONCE // max(model.n_classes, model.n_bits), 1)
    for start in range(0, len(others), step):
        rows = others[start : start + step]
        wanted, some = class_index[rows][:, None], rows_at(X, rows)
        parts = zip(model.codes, margins := model.lazy_margins(some), strict=True)
        losses[rows] = sum(member.decoder.losses_of(part, wanted)[:, 0] for member, part in parts)
        if ranking is not None:
            every = model.ranked.class_losses(some, margins, ranking)
            final = np.take_along_axis(every, wanted, axis=1)[:, 0]
            losses[rows], raised[rows] = final, final - losses[rows]
    return losses, raised, is_candidate
