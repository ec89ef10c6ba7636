"""White-box attacks on the gap that a decoder decides by: the loss of the best other class minus that of the true one.

Minimum-loss decoding compares ``score[c] = sum(bit[c, j] * g(margin[j]) for j)``, where ``g`` is the agreement of a
margin with +1 (:mod:`codekin.decoding.losses`). With the hinge loss the slope of ``g`` is 1 or 1/2 and never 0, so
that no gradient vanishes, and what an attack descends on is exactly what is decoded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from codekin.code import CodingMatrix, IntArray
from codekin.decoding.losses import get_loss
from codekin_studies.robustness.models import Box, Floats, Pullback

STEP_SIZES = (1.0, 2.0, 0.9)
"""Of the restarts, in turn, in units of 2.5 radii divided by the number of steps: all steps together cross the box,
from wherever they start."""

VALUES_PER_BLOCK = 8_000_000
"""About how many numbers a block of rows may have."""


class Differentiable(Protocol):
    """Something that computes values of samples, and gradients of them."""

    def with_pullback(self, X: Floats) -> tuple[Floats, Pullback]:
        """The values (n_samples, n_values), and the way back for gradients."""


@dataclass(frozen=True, eq=False)
class Victims:
    """Classifiers that share a model: classifier ``a`` has the margins ``values @ to_margins[a]``.

    ``to_margins`` (n_classifiers, n_values, n_bits), ``coding_matrices`` (n_classifiers, n_classes, n_bits).
    """

    model: Differentiable
    to_margins: Floats
    coding_matrices: Floats

    @classmethod
    def of_outputs(cls, model: Differentiable, coding_matrices: Sequence[CodingMatrix]) -> Victims:
        """Classifiers with the outputs of one-hot targets: their margins are combinations of them."""
        matrices = np.array(coding_matrices, dtype=np.float32)
        return cls(model, matrices, matrices)

    @classmethod
    def of_margins(cls, model: Differentiable, coding_matrix: CodingMatrix) -> Victims:
        """One classifier with its own margins."""
        matrix = np.asarray(coding_matrix, dtype=np.float32)[None]
        return cls(model, np.eye(matrix.shape[2], dtype=np.float32)[None], matrix)

    def scores(self, X: Floats, classifiers: IntArray) -> tuple[Floats, Pullback]:
        """The scores (n_rows, n_classes) of rows, each by its own classifier, and the way back for gradients."""
        values, pull = self.model.with_pullback(X)
        to_margins, matrices = self.to_margins[classifiers], self.coding_matrices[classifiers]
        margins = np.einsum("rv,rvb->rb", values, to_margins)
        agreements = get_loss("hinge").agreement(margins)
        slope_of_agreement = np.where(np.abs(margins) < 1, np.float32(1), np.float32(0.5))

        def pullback(slopes: Floats) -> Floats:
            of_margins = np.einsum("rc,rcb->rb", slopes, matrices) * slope_of_agreement
            return pull(np.einsum("rb,rvb->rv", of_margins, to_margins))

        return np.einsum("rb,rcb->rc", agreements, matrices), pullback


@dataclass(frozen=True)
class Attack:
    """How attacks go: signed gradient steps from several starts, within a box around each sample.

    The first start is the sample itself and pursues whichever other class is best; further ones are random and each
    pursues one class: the best other one of the sample, the second best and so on (Gowal et al., 2019). Step sizes
    differ (``STEP_SIZES``). A sample counts as broken at the first wrong answer on the way.
    """

    n_steps: int
    n_restarts: int
    box: Box
    seed: int

    def step_size(self, radius: float, restart: int = 0) -> np.float32:
        """How far a pixel moves at each step."""
        return np.float32(STEP_SIZES[restart % len(STEP_SIZES)] * 2.5 * radius / self.n_steps)

    def limits(self, X: Floats, radius: float) -> tuple[Floats, Floats]:
        """The smallest and largest values that pixels may have."""
        return np.maximum(X - np.float32(radius), self.box[0]), np.minimum(X + np.float32(radius), self.box[1])


def survivors(victims: Victims, X: Floats, y: IntArray, radii: Sequence[float], attack: Attack) -> NDArray[np.bool_]:
    """Which samples each classifier still gets right when every pixel may change by each of some increasing radii.

    Returns shape (n_classifiers, 1 + n_radii, n_samples); the first is radius 0. What is broken stays broken at larger
    radii, which allow the same change.
    """
    n_classifiers, n_samples = len(victims.coding_matrices), len(X)
    targets = _Targets(victims, X, y, attack)
    blocks = _blocks(n_classifiers * n_samples, X)
    is_right = np.concatenate([targets.survive(rows, radii) for rows in blocks], axis=1)
    return is_right.reshape(1 + len(radii), n_classifiers, n_samples).swapaxes(0, 1)


def _blocks(n_rows: int, X: Floats) -> list[IntArray]:
    size = max(1, VALUES_PER_BLOCK // max(X.shape[1], 1) // 4)
    return [np.arange(start, min(start + size, n_rows)) for start in range(0, n_rows, size)]


@dataclass(frozen=True, eq=False)
class _Targets:
    """All samples before all classifiers: row ``r`` is sample ``r % n_samples`` before ``r // n_samples``."""

    victims: Victims
    X: Floats
    y: IntArray
    attack: Attack

    def survive(self, rows: IntArray, radii: Sequence[float]) -> NDArray[np.bool_]:
        """Which rows are right at radius 0 and at each of the radii, (1 + n_radii, n_rows)."""
        samples, classifiers = rows % len(self.X), rows // len(self.X)
        scores = self.victims.scores(self.X[samples], classifiers)[0]
        rivals = np.argsort(-_without(scores, self.y[samples]), axis=1, kind="stable")[:, :-1]
        is_alive = scores.argmax(axis=1) == self.y[samples]
        found = [is_alive.copy()]
        for radius in radii:
            for restart in range(self.attack.n_restarts):
                alive = np.flatnonzero(is_alive)
                if len(alive):
                    pursued = rivals[alive, (restart - 1) % rivals.shape[1]] if restart else None
                    is_alive[alive] = self._survive_once(rows[alive], radius, restart, pursued)
            found.append(is_alive.copy())
        return np.array(found)

    def _survive_once(self, rows: IntArray, radius: float, restart: int, pursued: IntArray | None) -> NDArray[np.bool_]:
        """Which rows are right at every step from one start."""
        samples, classifiers, attack = rows % len(self.X), rows // len(self.X), self.attack
        low, high = attack.limits(self.X[samples], radius)
        x = self.X[samples]
        if restart:
            # The same start for every classifier, whatever rows are together in a block.
            drawn = np.random.default_rng([attack.seed, restart]).random(self.X.shape, dtype=np.float32)
            x = low + drawn[samples] * (high - low)
        is_alive, alive = np.ones(len(rows), dtype=np.bool_), np.arange(len(rows))
        for number in range(attack.n_steps + 1):
            scores, pullback = self.victims.scores(x, classifiers[alive])
            true = self.y[samples[alive]]
            is_right = scores.argmax(axis=1) == true
            is_alive[alive[~is_right]] = False
            if number == attack.n_steps or not is_right.any():
                break
            rivals = _without(scores, true).argmax(axis=1) if pursued is None else pursued[alive]
            gradient = pullback(_gap_slopes(true, rivals, scores.shape[1]))
            x = np.clip(x - attack.step_size(radius, restart) * np.sign(gradient), low, high)
            alive, x, low, high = alive[is_right], x[is_right], low[is_right], high[is_right]
        return is_alive


def crafted(victims: Victims, X: Floats, y: IntArray, radius: float, attack: Attack) -> Floats:
    """The pictures with the smallest gap of the first classifier on the way from each sample, for transfer attacks."""
    return np.concatenate([_crafted(victims, X[rows], y[rows], radius, attack) for rows in _blocks(len(X), X)])


def _crafted(victims: Victims, X: Floats, y: IntArray, radius: float, attack: Attack) -> Floats:
    low, high = attack.limits(X, radius)
    first = np.zeros(len(X), dtype=np.intp)
    x, best, smallest = X, X, np.full(len(X), np.inf, dtype=np.float32)
    for number in range(attack.n_steps + 1):
        scores, pullback = victims.scores(x, first)
        others = _without(scores, y)
        gap = scores[np.arange(len(y)), y] - others.max(axis=1)
        best = np.where((gap < smallest)[:, None], x, best)
        smallest = np.minimum(gap, smallest)
        if number < attack.n_steps:
            slopes = _gap_slopes(y, others.argmax(axis=1), scores.shape[1])
            x = np.clip(x - attack.step_size(radius) * np.sign(pullback(slopes)), low, high)
    return best


def _without(scores: Floats, y: IntArray) -> Floats:
    """The scores with those of the true classes below all others."""
    others = scores.copy()
    others[np.arange(len(y)), y] = -np.inf
    return others


def _gap_slopes(y: IntArray, rivals: IntArray, n_classes: int) -> Floats:
    """The slopes of the gap with respect to the scores: +1 for the true class, -1 for its rival."""
    slopes = np.zeros((len(y), n_classes), dtype=np.float32)
    slopes[np.arange(len(y)), y] = 1
    slopes[np.arange(len(y)), rivals] = -1
    return slopes
