"""One number that makes probabilities honest: the temperature under which held-out classes are most likely."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from math import nan
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp

from codekin.coding import IntArray
from codekin.model import Candidates, Model
from codekin.model.measuring import confidence_error
from codekin.model.probabilities import code_likelihood, own_and_best
from codekin.progress import tell

MAX_TEMPERATURE = 100.0
MOST_SAMPLES = 2_000
"""How many samples the temperature is fitted to and measured on: each is decoded at every temperature tried."""
STAGE = "fitting the temperature"


@dataclass(frozen=True)
class Temperature:
    """A temperature, and what it did for the probabilities of the samples that it was fitted to.

    - ``value``: what scores are divided by.
    - ``nll_before``, ``nll``: the mean negative log-likelihood of the true classes at temperature 1 and at this one;
      NaN without samples.
    - ``ece_before``, ``ece``: the expected calibration errors, likewise.
    """

    value: float = 1.0
    nll_before: float = nan
    nll: float = nan
    ece_before: float = nan
    ece: float = nan

    @property
    def measures(self) -> dict[str, Any]:
        """All but the temperature itself, by name."""
        return {name: value for name, value in asdict(self).items() if name != "value"}


def fit_temperature(model: Model, X: Any, class_index: IntArray) -> Temperature:
    """The temperature under which the classes of held-out samples are most likely, before any re-ranking.

    - ``model``: on a trellis or trees. The measures are those of its final probabilities.
    - ``class_index`` of shape (n_samples,): the true classes; samples of an unknown one, -1, are left out. Of many
      samples, those at equal distances are used.
    """
    tell(STAGE)
    known = np.flatnonzero(class_index >= 0)
    if len(known) == 0:
        return Temperature()
    known = known[:: -(-len(known) // MOST_SAMPLES)]
    X, classes = X[known], class_index[known]
    likelihood = code_likelihood(model, model.lazy_margins(X), classes[:, None])

    def loss(temperature: float) -> float:
        tell(STAGE, detail=f"trying {temperature:.3g}")
        return -float(likelihood(temperature).mean())

    value = _least(loss)
    tell("measuring the probabilities")
    of_ranking = 1.0 if model.ranking is None else model.ranking.temperature
    (nll_before, ece_before), (nll, ece) = _measures(model, X, classes, [(1.0, 1.0), (value, of_ranking)])
    return Temperature(value, nll_before, nll, ece_before, ece)


def fit_candidate_temperature(candidates: Candidates, class_index: IntArray) -> float:
    """The temperature under which the classes of held-out samples are most likely among their candidates.

    1 if no class is among its candidates.
    """
    is_true = candidates.classes == class_index[:, None]
    rows = is_true.any(axis=1) & (class_index >= 0)
    if not rows.any():
        return 1.0
    losses = candidates.losses[rows]
    of_class = losses[is_true[rows]]

    def nll(temperature: float) -> float:
        return float((logsumexp(-losses / temperature, axis=1) + of_class / temperature).mean())

    return _least(nll)


def _measures(
    model: Model, X: Any, class_index: IntArray, temperatures: list[tuple[float, float]]
) -> list[tuple[float, float]]:
    """The mean negative log-likelihood and the expected calibration error, at some temperatures."""
    return [
        (-float(own.mean()), confidence_error(np.minimum(confidence, 1.0), best == class_index))
        for own, best, confidence in own_and_best(model, X, class_index, temperatures)
    ]


def _least(nll: Callable[[float], float]) -> float:
    limit = float(np.log(MAX_TEMPERATURE))
    best = minimize_scalar(lambda log: nll(np.exp(log)), bounds=(-limit, limit), method="bounded")
    return float(np.exp(best.x))
