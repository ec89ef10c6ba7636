"""Decoding by weights, learned or given: a score for each class that is linear in the evidence of the margins.

    score_y = sum_j W_yj g(f_j) + b_y,    g(f) = (L(-f) - L(f)) / 2

If ``W`` is the coding matrix and there is no bias, this is decoding under the loss ``L`` itself (for codes with zeros,
if ``L`` is linear): see :mod:`codekin.decoding.losses`. Other weights use what the sum of losses discards: how reliable
each bit is, which bits err together, and how far the margins of a class are from its codeword. With weights for
products of two margins, each class may also have its own spread and correlation of margins, like normal distributions
with different covariances, so that few predictors separate many classes. :func:`codekin.decoding.fit_decoder` finds the
weights.

Sums are exact, with weights of 20 binary digits and margins of about 25, so that the result depends neither on the size
of a batch nor on the number of threads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from codekin.code import Code, CodingMatrix, FloatArray, IntArray, Margins
from codekin.decoding.decoder import Slopes, secants
from codekin.decoding.losses import LOSSES, Loss, LossLike, get_loss
from codekin.decoding.minimum_loss import DECODED_PER_BLOCK, BlockDecoder, rounded_rows

WEIGHT_DIGITS = 20
"""Binary digits of the largest weight of a class: a relative precision of a millionth."""

FARTHEST = 4.0
"""Evidence is clipped at this many standard deviations in products, so that no margin decides alone."""

SUM_DIGITS = 53
"""Binary digits of an integer in double precision."""


@dataclass(frozen=True, eq=False)
class Products:
    """What products of two margins add to the scores."""

    weights: FloatArray = field(repr=False)
    """(n_classes, n_bits (n_bits + 1) / 2): of bits (0, 0), (0, 1), ..., (1, 1), ..."""
    means: FloatArray = field(repr=False)
    scales: FloatArray = field(repr=False)
    """(n_bits,): evidence minus its mean is divided by its scale, which is infinite if it is constant."""

    def __post_init__(self) -> None:
        weights, means, scales = (np.asarray(a, dtype=np.float64) for a in (self.weights, self.means, self.scales))
        n_bits = len(means)
        if means.shape != scales.shape or weights.ndim != 2 or weights.shape[1] != n_bits * (n_bits + 1) // 2:
            raise ValueError(
                f"Products of {n_bits} bits need weights of shape (n_classes, {n_bits * (n_bits + 1) // 2}) and a "
                f"scale for each bit. Got {weights.shape} and {scales.shape}."
            )
        if not (np.isfinite(weights).all() and np.isfinite(means).all() and (scales > 0).all()):
            raise ValueError("The weights of products must be finite and their scales positive. Got one that is not.")
        object.__setattr__(self, "weights", np.ascontiguousarray(rounded_rows(weights, WEIGHT_DIGITS)))
        object.__setattr__(self, "means", means)
        object.__setattr__(self, "scales", scales)

    def of(self, values: FloatArray) -> FloatArray:
        """The products, one column each."""
        return products_of((values - self.means) / self.scales)


@dataclass(frozen=True, eq=False)
class LearnedDecoder(BlockDecoder):
    """Finds the classes with the largest linear scores of the margins; minus the score of a class is its loss.

    Parameters
    ----------
    weights : array of shape (n_classes, n_bits)
        The weight of each bit for each class, rounded to 20 binary digits of the largest one of a class.
    biases : array of shape (n_classes,)
        Added to the score of each class.
    loss : str or callable, default="linear"
        A name from ``LOSSES`` or a function of ``z = bit * margin``; its odd part ``g`` is applied to every margin.
    products : Products, optional
        Weights of products of two margins.

    Examples
    --------
    >>> decoder = LearnedDecoder([[2.0, 0.0], [-1.0, 1.0], [-1.0, -1.0]], [0.0, 0.5, 0.0])
    >>> decoder.decode(np.array([[0.8, 1.0], [-2.0, 0.1]]))
    array([0, 1])
    >>> decoder.probabilities(np.array([[-2.0, 0.1]])).round(2)
    array([[0.02, 0.63, 0.35]])
    """

    weights: FloatArray = field(repr=False)
    biases: FloatArray = field(repr=False)
    loss: Any = "linear"
    products: Products | None = None
    is_learned: ClassVar[bool] = True

    @classmethod
    def _of_margins(cls, code: Code) -> LearnedDecoder:
        """The decoder whose score of a class is the margin of its own bit, for a code with one for each class."""
        weights = (code.coding_matrix > 0) / LOSSES["linear"].agreement(np.ones(1))
        return cls(weights, np.zeros(code.n_classes), LOSSES["linear"])

    def __post_init__(self) -> None:
        """Check the shapes and round the weights."""
        weights, biases = (np.asarray(values, dtype=np.float64) for values in (self.weights, self.biases))
        if weights.ndim != 2 or biases.shape != weights.shape[:1]:
            raise ValueError(
                "A learned decoder needs weights of shape (n_classes, n_bits) and a bias for each class. "
                f"Got {weights.shape} and {biases.shape}."
            )
        if not (np.isfinite(weights).all() and np.isfinite(biases).all()):
            raise ValueError("The weights and biases of a learned decoder must be finite. Got one that is not.")
        if self.products is not None and (len(self.products.means), len(self.products.weights)) != weights.shape[::-1]:
            raise ValueError(
                f"Products must be of {weights.shape[1]} bits and {weights.shape[0]} classes. "
                f"Got {len(self.products.means)} and {len(self.products.weights)}."
            )
        object.__setattr__(self, "loss", get_loss(self.loss))
        object.__setattr__(self, "weights", np.ascontiguousarray(rounded_rows(weights, WEIGHT_DIGITS)))
        object.__setattr__(self, "biases", biases)

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.weights)

    @property
    def n_bits(self) -> int:
        """The number of margins per sample."""
        return int(self.weights.shape[1])

    def with_codewords(self, codewords: CodingMatrix) -> LearnedDecoder:
        """The same decoder with classes of these codewords after the others, scored as under the loss."""
        scale = float(np.abs(self.weights).mean())
        weights = np.vstack([self.weights, scale * codewords])
        biases = np.append(self.biases, np.full(len(codewords), self.biases.mean()))
        more = np.zeros((len(codewords), 0 if self.products is None else self.products.weights.shape[1]))
        products = self.products and replace(self.products, weights=np.vstack([self.products.weights, more]))
        return replace(self, weights=weights, biases=biases, products=products)

    def in_order(self, classes: IntArray) -> LearnedDecoder:
        """The same decoder with other classes in their places; ``classes`` are their current indices."""
        products = self.products and replace(self.products, weights=self.products.weights[classes])
        return replace(self, weights=self.weights[classes], biases=self.biases[classes], products=products)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """All arrays of the decoder by name; single precision is exact for the rounded weights."""
        arrays: dict[str, NDArray[Any]] = {"weights": self.weights.astype(np.float32), "biases": self.biases}
        if self.products is not None:
            arrays["product_weights"] = self.products.weights.astype(np.float32)
            arrays["product_means"], arrays["product_scales"] = self.products.means, self.products.scales
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]], loss: LossLike) -> LearnedDecoder:
        """The decoder with these arrays, the inverse of ``to_arrays``.

        Parameters
        ----------
        arrays : mapping of str to array
        loss : str or callable

        Returns
        -------
        LearnedDecoder
        """
        names = ("product_weights", "product_means", "product_scales")
        products = Products(*(arrays[name] for name in names)) if names[0] in arrays else None
        return cls(arrays["weights"], arrays["biases"], loss, products)

    def probabilities(self, margins: Margins) -> FloatArray:
        """The softmax of the scores, for which the weights were fitted: (n_samples, n_classes)."""
        from scipy.special import softmax

        return np.asarray(softmax(-self.class_losses(margins), axis=1))

    def slopes(self, class_index: IntArray, moved: FloatArray, offsets: FloatArray) -> Slopes:
        agreement, weights = self.loss.agreement, self.weights[class_index]
        by_bit = weights * secants(agreement, moved, offsets)
        bias = weights @ agreement(offsets) + self.biases[class_index]
        products = self.products
        if products is not None:

            def near(f: FloatArray) -> FloatArray:
                return np.asarray(np.clip((agreement(f) - products.means) / products.scales, -FARTHEST, FARTHEST))

            n_bits = len(products.means)
            first, second = np.triu_indices(n_bits)
            before, after = near(offsets), near(offsets + moved)
            slopes = secants(near, moved, offsets)
            for row, own in enumerate(products.weights[class_index]):
                # The products are n' A n for symmetric A, and n' A n - m' A m is (n - m)' A (n + m).
                form = np.zeros((n_bits, n_bits))
                form[first, second] = own / 2
                form += form.T
                by_bit[row] += slopes[row] * (form @ (after[row] + before))
                bias[row] += before @ form @ before
        return Slopes(by_bit, bias, np.zeros(len(class_index)))

    def _costs(self, margins: Margins, rows: IntArray | None = None) -> Iterator[tuple[Any, int, FloatArray]]:
        assert rows is None
        for start in range(0, len(margins), DECODED_PER_BLOCK):
            samples = slice(start, start + DECODED_PER_BLOCK)
            values = np.asarray(self.loss.agreement(margins[samples].astype(np.float64, copy=False)), dtype=np.float64)
            scores = _exact_product(values, self.weights) + self.biases
            if self.products is not None:
                scores += _exact_product(self.products.of(values), self.products.weights)
            yield samples, 0, -scores


@dataclass(frozen=True, eq=False)
class NearestTargetDecoder(BlockDecoder):
    """Finds the classes whose targets are nearest to the margins; the squared distance of a target is its loss.

        argmin_y  ||f - t_y||^2  =  argmax_y  2 f . t_y - ||t_y||^2

    The right side is linear in the margins ``f``: a decoder with given weights. If the targets are -1 and +1, this is
    decoding under the squared loss. Each target is rounded to 20 binary digits of its largest number.

    >>> decoder = NearestTargetDecoder([[0.0, 2.0], [0.5, -1.0], [-2.0, 0.0]])
    >>> decoder.decode(np.array([[0.3, 1.0], [-1.0, -0.2]]))
    array([0, 2])
    >>> decoder.class_losses(np.array([[0.0, 1.0]]))
    array([[1.  , 4.25, 5.  ]])
    """

    targets: CodingMatrix = field(repr=False)
    loss: ClassVar[Loss] = LOSSES["squared"]

    def __post_init__(self) -> None:
        rounded = rounded_rows(np.asarray(self.targets, dtype=np.float64), WEIGHT_DIGITS)
        object.__setattr__(self, "targets", rounded)

    @property
    def n_classes(self) -> int:
        return len(self.targets)

    @property
    def n_bits(self) -> int:
        """The number of margins per sample."""
        return int(self.targets.shape[1])

    @cached_property
    def linear(self) -> LearnedDecoder:
        targets = np.asarray(self.targets, dtype=np.float64)
        return LearnedDecoder(targets, -np.square(targets).sum(axis=1), self.loss)

    def slopes(self, class_index: IntArray, moved: FloatArray, offsets: FloatArray) -> Slopes:
        lengths = np.square(offsets + moved).sum(axis=1)
        return self.linear.slopes(class_index, moved, offsets)._replace(shared=-lengths)

    def _costs(self, margins: Margins, rows: IntArray | None = None) -> Iterator[tuple[Any, int, FloatArray]]:
        return self.linear._costs(margins, rows)

    def _constant(self, margins: Margins) -> FloatArray:
        return np.asarray(np.square(margins.astype(np.float64, copy=False)).sum(axis=1))


def _exact_product(values: FloatArray, weights: FloatArray) -> FloatArray:
    """Scores of the classes from rounded weights, with values rounded so that sums are exact."""
    n_digits = SUM_DIGITS - WEIGHT_DIGITS - int(weights.shape[1]).bit_length()
    return np.asarray(rounded_rows(values, n_digits) @ weights.T)


def products_of(standardised: FloatArray) -> FloatArray:
    """Products of every column with itself and the later ones, after clipping."""
    first, second = np.triu_indices(standardised.shape[1])
    near = np.clip(standardised, -FARTHEST, FARTHEST)
    return np.asarray(near[:, first] * near[:, second])


# ----- how large the scores should be for the best probabilities -----------------------------------------------------

WIDEST = 12.0
"""Scores of unit variance are multiplied by at most ``exp(WIDEST)`` and at least ``exp(-WIDEST)``."""

MAX_ROWS_OF_FACTOR = 4_000
"""This many samples, evenly spaced, suffice to fit one number."""

MAX_FACTOR_STEPS, FACTOR_PRECISION = 40, 0.01


def best_factor(problem: Any, weights: FloatArray) -> float:
    """The positive factor of some weights that maximises the likelihood of the classes."""
    from scipy.special import softmax

    some = slice(None, None, -(-len(problem.features) // MAX_ROWS_OF_FACTOR))
    w = problem.sample_weight[some] / problem.sample_weight[some].sum()
    scores = problem.features[some] @ (weights - weights.mean(axis=0)).T
    size = float(np.sqrt(w @ np.square(scores).mean(axis=1)))
    if size == 0:
        return 1.0
    scores /= size
    explained = (1 - problem.smoothing) * scores[np.arange(len(w)), problem.class_index[some]]
    explained += problem.smoothing * scores.mean(axis=1)
    low, high, log = -WIDEST, WIDEST, 0.0
    for _ in range(MAX_FACTOR_STEPS):  # Newton's method within bounds: the loss is convex in the factor
        probabilities = softmax(np.exp(log) * scores, axis=1)
        mean = (probabilities * scores).sum(axis=1)
        slope = float(w @ (mean - explained))
        curvature = float(w @ ((probabilities * scores**2).sum(axis=1) - mean**2))
        low, high = (low, log) if slope > 0 else (log, high)
        factor = np.exp(log) - slope / max(curvature, 1e-12)
        new = float(np.log(factor)) if factor > 0 else -np.inf
        log, last = new if low < new < high else (low + high) / 2, log
        if abs(log - last) < FACTOR_PRECISION:
            break
    return float(np.exp(log) / size)
