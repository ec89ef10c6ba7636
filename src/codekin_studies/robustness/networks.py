"""A small network: one hidden layer, an output for every bit, trained on one assignment at a time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from codekin.coding import CodingMatrix, IntArray
from codekin_studies.robustness.corruptions import with_flipped_bits
from codekin_studies.robustness.ridge import ROWS_PER_BLOCK, Floats, Pullback

BATCH = 128
STEP, DECAY, SQUARE_DECAY = 2e-3, 0.9, 0.999
"""Of Adam (Kingma and Ba, 2015)."""


@dataclass(frozen=True, eq=False)
class Network:
    """Margins ``relu(X @ hidden + hidden_intercept) @ outer + outer_intercept``."""

    hidden: Floats
    hidden_intercept: Floats
    outer: Floats
    outer_intercept: Floats

    def __call__(self, X: Floats) -> Floats:
        """The margins (n_samples, n_bits), computed in blocks."""
        blocks = [X[start : start + ROWS_PER_BLOCK] for start in range(0, len(X), ROWS_PER_BLOCK)]
        return np.concatenate([self.with_pullback(block)[0] for block in blocks])

    def with_pullback(self, X: Floats) -> tuple[Floats, Pullback]:
        """The margins, and the way back for gradients."""
        inner = X @ self.hidden + self.hidden_intercept
        is_on = inner > 0
        margins = np.where(is_on, inner, 0) @ self.outer + self.outer_intercept
        return margins, lambda slopes: np.where(is_on, slopes @ self.outer.T, 0) @ self.hidden.T

    def with_failing_memory(self, share: float, rng: np.random.Generator) -> Network:
        """The network with weights as int8 of which each bit is flipped with a probability of ``share``."""
        layers = []
        for weights in (self.hidden, self.outer):
            scales = np.maximum(np.abs(weights).max(axis=0), np.float32(1e-30)) / np.float32(127)
            stored = with_flipped_bits(np.rint(weights / scales).astype(np.int8), share, rng)
            layers.append(stored.astype(np.float32) * scales)
        return Network(layers[0], self.hidden_intercept, layers[1], self.outer_intercept)


def train_network(
    X: Floats, y: IntArray, coding_matrix: CodingMatrix, *, n_hidden: int, n_epochs: int, rng: np.random.Generator
) -> Network:
    """A network whose outputs are the bits of a code, by the hinge loss and Adam; the step falls to 0 linearly."""
    n_bits = coding_matrix.shape[1]
    sizes = ((X.shape[1], n_hidden), (n_hidden, n_bits))
    first, second = ((rng.standard_normal(size) * np.sqrt(2 / size[0])).astype(np.float32) for size in sizes)
    parameters = [first, np.zeros(n_hidden, dtype=np.float32), second, np.zeros(n_bits, dtype=np.float32)]
    moments = [[np.zeros_like(one), np.zeros_like(one)] for one in parameters]
    targets = coding_matrix.astype(np.float32)[y]
    n_batches = -(-len(X) // BATCH)
    for number in range(n_epochs * n_batches):
        if number % n_batches == 0:
            order = rng.permutation(len(X))
        rows = order[number % n_batches * BATCH : (number % n_batches + 1) * BATCH]
        rate = STEP * (1 - number / (n_epochs * n_batches))
        _step(parameters, moments, _gradients(parameters, X[rows], targets[rows]), rate, number + 1)
    return Network(*parameters)


def _gradients(parameters: list[Floats], X: Floats, targets: Floats) -> list[Floats]:
    """The gradients of the mean hinge loss of all bits."""
    hidden, hidden_intercept, outer, outer_intercept = parameters
    inner = np.maximum(X @ hidden + hidden_intercept, 0)
    z = targets * (inner @ outer + outer_intercept)
    slopes = np.where(z < 1, -targets, 0) / np.float32(targets.size)
    back = np.where(inner > 0, slopes @ outer.T, 0)
    return [X.T @ back, back.sum(axis=0), inner.T @ slopes, slopes.sum(axis=0)]


def _step(
    parameters: list[Floats], moments: list[list[Floats]], gradients: list[Floats], rate: float, number: int
) -> None:
    """One step of Adam, in place."""
    scale = rate * np.sqrt(1 - SQUARE_DECAY**number) / (1 - DECAY**number)
    for place, gradient in enumerate(gradients):
        first, second = moments[place]
        first += np.float32(1 - DECAY) * (gradient - first)
        second += np.float32(1 - SQUARE_DECAY) * (gradient * gradient - second)
        parameters[place] -= np.float32(scale) * first / (np.sqrt(second) + np.float32(1e-8))
