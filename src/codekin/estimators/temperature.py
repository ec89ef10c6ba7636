"""One number that makes probabilities honest: the temperature under which held-out classes are most likely."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import nan
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from codekin.coding import FloatArray, IntArray
from codekin.decoding import ShortestPathDecoder
from codekin.measures import confidence_error

MAX_TEMPERATURE = 100.0


@dataclass(frozen=True)
class Temperature:
    """A temperature, and what it did for the probabilities of the samples that it was fitted to.

    Parameters
    ----------
    value : float, default=1.0
        What scores are divided by.
    nll_before, nll : float
        The mean negative log-likelihood of the true classes at temperature 1 and at this one; NaN without samples.
    ece_before, ece : float
        The expected calibration errors, likewise.
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


def fit_temperature(decoder: ShortestPathDecoder, edge_scores: FloatArray, class_index: IntArray) -> Temperature:
    """The temperature under which these classes are most likely.

    Parameters
    ----------
    decoder : ShortestPathDecoder
        Knows the paths of the classes.
    edge_scores : array of shape (n_samples, n_bits)
        What each edge adds to the score of a path.
    class_index : array of shape (n_samples,)
        The true classes; samples of an unknown one, -1, are left out.

    Returns
    -------
    Temperature
    """
    known = np.flatnonzero(class_index >= 0)
    if len(known) == 0:
        return Temperature()
    scores, classes = edge_scores[known], class_index[known]
    of_class = decoder.path_scores(scores, classes[:, None])[:, 0]

    def nll(temperature: float) -> float:
        return float((decoder.log_partition(scores / temperature) - of_class / temperature).mean())

    limit = float(np.log(MAX_TEMPERATURE))
    best = minimize_scalar(lambda log: nll(np.exp(log)), bounds=(-limit, limit), method="bounded")
    value = float(np.exp(best.x))

    # The best path has the largest score: the decoder must go by the scores themselves.
    by_score = ShortestPathDecoder(decoder.trellis, "linear", decoder.assignment)
    predicted = by_score.decode(scores)
    of_predicted = by_score.path_scores(scores, predicted[:, None])[:, 0]

    def ece(temperature: float) -> float:
        confidence = np.exp(of_predicted / temperature - decoder.log_partition(scores / temperature))
        return confidence_error(confidence, predicted == classes)

    return Temperature(value, nll(1.0), nll(value), ece(1.0), ece(value))
