"""How good predictions are where samples have several labels: the first few labels, sets of labels, probabilities.

The labels of samples are a sparse indicator of shape (n_samples, n_labels). Its first columns are the model's classes,
in their order; labels that the model does not know may follow, which no prediction has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from codekin._system.messages import counted
from codekin._system.tables import html_of_lines
from codekin.code import FloatArray, IntArray
from codekin.measures.predictions import confidence_error

TAIL_SHARE = 0.2
"""Tail labels are the rarest ones that together have at most this share of the labels of all training samples."""


@dataclass(frozen=True, eq=False)
class LabelEvaluation:
    """How good a model's predictions are for samples with several labels each.

    Parameters
    ----------
    n_samples : int
        How many samples were predicted.
    n_unknown : int
        How many different labels of theirs the model does not know; they count as missed.
    labels_per_sample : float
        How many labels a sample has on average.
    precision_at : dict of int to float
        For each k, the share of right labels among the first k.
    recall_at : dict of int to float
        For each k, the mean share of a sample's labels that are among the first k.
    ndcg_at : dict of int to float
        For each k, the normalised discounted cumulative gain of the first k.
    propensity_precision_at, propensity_ndcg_at : dict of int to float
        The same for precision and gain with rare labels counting more (Jain et al. 2016), relative to the best
        possible prediction; empty if the frequencies of the labels in training are not known.
    tail_coverage : float or None
        The share of the tail labels among the samples' labels that are predicted at least once, among the first k of a
        sample that has them, for the largest k; None if the frequencies are not known or if there is no such label.
    micro_f1, macro_f1 : float or None
        F1 of the predicted sets of labels: of all pairs of a sample and a label, and the mean over the labels; None
        without such sets.
    calibration_error : float or None
        The expected calibration error of the probabilities of the first labels; None without probabilities.
    n_without : int
        How many samples have no label; they count as 0 in precision, recall and gain.
    """

    n_samples: int
    n_unknown: int
    labels_per_sample: float
    precision_at: dict[int, float]
    recall_at: dict[int, float]
    ndcg_at: dict[int, float]
    propensity_precision_at: dict[int, float] = field(default_factory=dict)
    propensity_ndcg_at: dict[int, float] = field(default_factory=dict)
    tail_coverage: float | None = None
    micro_f1: float | None = None
    macro_f1: float | None = None
    calibration_error: float | None = None
    n_without: int = 0

    def as_dict(self) -> dict[str, Any]:
        """All fields as plain values for JSON."""
        return asdict(self)

    def _repr_html_(self) -> str:
        """The same for notebooks."""
        return html_of_lines(str(self))

    def __str__(self) -> str:
        """A few lines for people."""
        at = ", ".join(map(str, self.precision_at))
        unknown = f"; {counted(self.n_unknown, 'label')} without training samples" if self.n_unknown else ""
        without = {"  without labels": f"{self.n_without:,}; they count as 0 in precision, recall and nDCG"}
        rows = {
            "samples": f"{self.n_samples:,} with {self.labels_per_sample:.2f} labels on average{unknown}",
            **(without if self.n_without else {}),
            f"precision at {at}": _shares(self.precision_at),
            f"recall at {at}": _shares(self.recall_at),
            f"nDCG at {at}": _shares(self.ndcg_at),
        }
        if self.propensity_precision_at:
            rows["  rare labels counting more:"] = ""
            rows[f"  precision at {at}"] = _shares(self.propensity_precision_at)
            rows[f"  nDCG at {at}"] = _shares(self.propensity_ndcg_at)
        if self.tail_coverage is not None:
            rows["rare labels found at all"] = f"{self.tail_coverage:.1%}"
        if self.micro_f1 is not None and self.macro_f1 is not None:
            rows["F1 of all, mean F1 of labels"] = f"{self.micro_f1:.1%}, {self.macro_f1:.1%}"
        if self.calibration_error is not None:
            rows["calibration error"] = f"{self.calibration_error:.4f}"
        return "\n".join(f"{name:<32}{value}".rstrip() for name, value in rows.items())


def _shares(values: dict[int, float]) -> str:
    return ", ".join(f"{value:.1%}" for value in values.values())


def label_evaluation(
    best: IntArray,
    truth: csr_array,
    *,
    n_classes: int | None = None,
    probabilities: FloatArray | None = None,
    predicted: csr_array | None = None,
    label_counts: IntArray | None = None,
    n_training: int = 0,
    at: Sequence[int] = (1, 3, 5),
) -> LabelEvaluation:
    """How good ranked labels are, and sets of labels if they are given.

    Parameters
    ----------
    best : array of shape (n_samples, k)
        The best classes of each sample, best first; -1 where there are fewer. Those behind the largest k are ignored.
    truth : csr_array of shape (n_samples, n_labels)
        Which labels the samples have.
    n_classes : int, optional
        How many labels the model knows: the first columns of ``truth``; by default all.
    probabilities : array of shape (n_samples, k), optional
        Those of the best classes.
    predicted : csr_array of shape (n_samples, n_classes), optional
        The predicted sets of labels.
    label_counts : array of shape (n_classes,), optional
        How many training samples have each label.
    n_training : int, default=0
        How many training samples there are; needed with ``label_counts``.
    at : sequence of int, default=(1, 3, 5)
        How many of the first classes to look at; if there are fewer, the rest counts as wrong.

    Returns
    -------
    LabelEvaluation

    Examples
    --------
    >>> truth = csr_array(np.array([[1, 1, 0], [0, 0, 1]]))
    >>> found = label_evaluation(np.array([[0, 2, 1], [2, 0, 1]]), truth, at=(1, 2))
    >>> found.precision_at, found.recall_at
    ({1: 1.0, 2: 0.5}, {1: 0.75, 2: 0.75})
    """
    n_samples, n_labels = truth.shape
    if n_samples == 0:
        raise ValueError("There are no predictions to measure.")
    best, n_known = best[:, : max(at)], n_labels if n_classes is None else n_classes
    is_hit, n_own = hits(best, truth), np.diff(truth.indptr)
    gains = is_hit.astype(float)
    weighted: tuple[dict[int, float], dict[int, float]] = {}, {}
    tail = None
    if label_counts is not None:
        counts = np.concatenate([label_counts, np.zeros(n_labels - n_known, np.intp)])
        weights = inverse_propensities(counts, n_training)
        ideal = _ideal_gains(weights[truth.indices], truth, max(at))
        own = np.where(is_hit, weights[best], 0)
        weighted = _ratios(_precision, own, ideal, n_own, at), _ratios(_ndcg, own, ideal, n_own, at)
        tail = _coverage(is_tail(label_counts), best[is_hit], truth)
    micro, macro = (None, None) if predicted is None else f1_scores(predicted, truth)
    return LabelEvaluation(
        n_samples=n_samples,
        n_unknown=len(np.unique(truth.indices[truth.indices >= n_known])),
        labels_per_sample=float(n_own.mean()),
        precision_at={k: float(_precision(gains, n_own, k).mean()) for k in at},
        recall_at={k: float((gains[:, :k].sum(axis=1) / np.maximum(n_own, 1)).mean()) for k in at},
        ndcg_at={k: float(_ndcg(gains, n_own, k).mean()) for k in at},
        propensity_precision_at=weighted[0],
        propensity_ndcg_at=weighted[1],
        tail_coverage=tail,
        micro_f1=micro,
        macro_f1=macro,
        calibration_error=None if probabilities is None else label_confidence_error(best, probabilities, is_hit),
        n_without=int((n_own == 0).sum()),
    )


def hits(best: IntArray, truth: csr_array) -> NDArray[np.bool_]:
    """Whether each of the best classes, -1 for none, is a label of its sample."""
    n_samples, n_labels = truth.shape
    pairs = np.repeat(np.arange(n_samples), np.diff(truth.indptr)) * n_labels + truth.indices
    return np.isin(np.arange(n_samples)[:, None] * n_labels + best, pairs) & (best >= 0)


def label_confidence_error(best: IntArray, probabilities: FloatArray, is_hit: NDArray[np.bool_]) -> float:
    """The expected calibration error of the probabilities of the best classes, all pairs counting the same."""
    is_there = best >= 0
    return confidence_error(probabilities[:, : best.shape[1]][is_there], is_hit[is_there])


def inverse_propensities(counts: IntArray, n_samples: int, a: float = 0.55, b: float = 1.5) -> FloatArray:
    """How much more the labels count: 1 + C (N + B)^-A with C = (ln n - 1) (B + 1)^A (Jain et al. 2016).

    The usual constants are those of the extreme classification repository: A = 0.55 and B = 1.5 in general, 0.5 and 0.4
    for sets of Wikipedia, 0.6 and 2.6 for those of Amazon.

    >>> inverse_propensities(np.array([0, 1, 100]), 1000).round(2)
    array([8.82, 6.91, 1.77])
    """
    return np.asarray(1 + (np.log(max(n_samples, 3)) - 1) * (b + 1) ** a * (counts + b) ** -a)


def is_tail(counts: IntArray) -> NDArray[np.bool_]:
    """Which labels are the rarest ones that together have a fifth of all labels of samples, at most.

    >>> is_tail(np.array([50, 30, 9, 9, 2]))
    array([False, False,  True,  True,  True])
    """
    n_of_count = np.bincount(counts)
    so_far = np.cumsum(n_of_count * np.arange(len(n_of_count)))
    return np.asarray((so_far <= TAIL_SHARE * so_far[-1])[counts])


def f1_scores(predicted: csr_array, truth: csr_array) -> tuple[float, float]:
    """F1 of all pairs of a sample and a label, and the mean F1 of the labels that occur or are predicted.

    >>> f1_scores(csr_array(np.array([[1, 0, 0], [1, 1, 0]])), csr_array(np.array([[1, 1, 0], [0, 1, 0]])))
    (0.6666666666666666, 0.6666666666666666)
    """
    n_labels = truth.shape[1]
    both = predicted[:, :n_labels].multiply(truth[:, : predicted.shape[1]])
    n_right = np.bincount(csr_array(both).indices, minlength=n_labels)
    n_either = np.bincount(predicted.indices, minlength=n_labels) + np.bincount(truth.indices, minlength=n_labels)
    if not n_either.any():
        return 0.0, 0.0
    of_labels = 2 * n_right[n_either > 0] / n_either[n_either > 0]
    return float(2 * n_right.sum() / n_either.sum()), float(of_labels.mean())


def _precision(gains: FloatArray, _: IntArray, k: int) -> FloatArray:
    return np.asarray(gains[:, :k].sum(axis=1) / k)


def _ndcg(gains: FloatArray, n_own: IntArray, k: int) -> FloatArray:
    discounts = 1 / np.log2(np.arange(k) + 2)
    best_possible = np.concatenate([[1.0], np.cumsum(discounts)])[np.minimum(n_own, k)]
    own = gains[:, :k]
    return np.asarray(own @ discounts[: own.shape[1]] / best_possible)


def _ideal_gains(weights: FloatArray, truth: csr_array, k: int) -> FloatArray:
    """The k largest weights of each sample's labels, in decreasing order."""
    row = np.repeat(np.arange(truth.shape[0]), np.diff(truth.indptr))
    order = np.lexsort((-weights, row))
    place = np.arange(len(row)) - truth.indptr[row]
    ideal = np.zeros((truth.shape[0], k))
    is_first = place < k
    ideal[row[is_first], place[is_first]] = weights[order][is_first]
    return ideal


def _ratios(measure: Any, own: FloatArray, ideal: FloatArray, n_own: IntArray, at: Sequence[int]) -> dict[int, float]:
    """A measure relative to the best possible one."""
    return {k: float(measure(own, n_own, k).sum() / max(measure(ideal, n_own, k).sum(), 1e-300)) for k in at}


def _coverage(is_wanted: NDArray[np.bool_], found: IntArray, truth: csr_array) -> float | None:
    """The share of the wanted classes among the samples' labels that are found."""
    there = np.unique(truth.indices)
    there = there[there < len(is_wanted)]
    there = there[is_wanted[there]]
    return float(np.isin(there, found).mean()) if len(there) else None
