"""The value that an explanation is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from codekin.coding import FloatArray

LEAST_SHOWN = 1e-6
"""Smaller terms, such as rounding, are not printed."""


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
    feature_names : sequence of str, optional
        The names of the features.

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
    feature_names: Sequence[str] | None = field(default=None, repr=False)

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
