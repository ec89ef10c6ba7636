"""The temperature of probabilities, or marginal probabilities: from losses to what held-out samples say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import log, nan
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from codekin.code import IntArray
from codekin.learners.calibration import least_between
from codekin.measures.predictions import confidence_error
from codekin.model import Candidates, Model
from codekin.model.probabilities import Marginals, code_log_proba
from codekin.progress import report
from codekin.samples import Samples

MOST_LIKELY = 50
"""To how many classes of each sample marginal probabilities are fitted."""
MAX_TEMPERATURE = 100.0
MOST_FOR_TEMPERATURE = 2_000
"""How many samples the temperature is fitted to and measured on: each is decoded at every temperature tried."""
STAGE = "fitting the temperature"
WORTH_OF_USUAL = 2.0
"""How many nats it takes, in all samples together, to move from the usual temperature by a factor of e."""


@dataclass(frozen=True)
class Temperature:
    """A temperature, and what it did for the probabilities of the samples that it was fitted to.

    - ``value``: what scores are divided by.
    - ``nll_before``, ``nll``: the mean negative log-likelihood of the true classes at temperature 1 and at this one;
      NaN without samples.
    - ``ece_before``, ``ece``: the expected calibration errors, likewise.
    - ``marginals``: instead of a temperature, for several labels per sample.
    """

    value: float = 1.0
    nll_before: float = nan
    nll: float = nan
    ece_before: float = nan
    ece: float = nan
    marginals: Marginals | None = None


def fit_temperature(model: Model, held_out: Samples, usual: float | None = None) -> Temperature:
    """The temperature under which the classes of held-out samples are most likely, before any re-ranking.

    The measures are those of the final probabilities. Samples of unknown classes are left out; of many samples, those
    at equal distances are used. Few samples, all of them right, would want a temperature of 0: the result is near the
    ``usual`` one, if that is known, unless there is evidence against it.

    Samples with several labels have marginal probabilities instead, fitted to their likeliest classes.
    """
    report(STAGE)
    if held_out.labels is not None:
        classes, losses = model.top_k(held_out.X, min(MOST_LIKELY, model.n_classes))
        return Temperature(marginals=Marginals.of(losses, held_out.is_label(classes)))
    known = np.flatnonzero(held_out.class_index >= 0)
    if len(known) == 0:
        return Temperature()
    known = known[:: -(-len(known) // MOST_FOR_TEMPERATURE)]
    X, classes = held_out.X[known], held_out.class_index[known]
    margins = model.lazy_margins(X)
    likelihood = code_log_proba(model, margins, classes[:, None])

    def loss(temperature: float) -> float:
        report(STAGE, detail=f"trying {temperature:.3g}")
        doubt = 0.0 if usual is None else WORTH_OF_USUAL * log(temperature / usual) ** 2 / len(known)
        return doubt - float(likelihood(temperature).mean())

    value = _least_at(loss)
    report("measuring the probabilities")
    of_ranking = 1.0 if model.ranking is None else model.ranking.temperature
    (nll_before, ece_before), (nll, ece) = _measures(model, X, margins, classes, [(1.0, 1.0), (value, of_ranking)])
    return Temperature(value, nll_before, nll, ece_before, ece)


def _measures(
    model: Model, X: Any, margins: tuple[Any, ...], class_index: IntArray, temperatures: list[tuple[float, float]]
) -> list[tuple[float, float]]:
    """The mean negative log-likelihood and the expected calibration error, for some temperatures of code and ranking.

    Candidates are listed once.
    """
    own, ranking, decoder, measures = class_index[:, None], model.ranking, model.codes[0].decoder, []
    found = None if ranking is None else model.ranked.candidates(X, margins, None, ranking)
    for temperature, of_ranking in temperatures:
        classes = decoder.most_probable(margins[0], 1, temperature)[0] if found is None else found.classes
        logs = code_log_proba(model, margins, np.hstack([own, classes]))(temperature)
        of_own, of_classes = logs[:, 0], logs[:, 1:]
        if ranking is not None and found is not None:
            of_classes = replace(ranking, temperature=of_ranking).shared_out(of_classes, found.losses)
            rows, places = np.nonzero((classes == own) & (own >= 0))
            of_own[rows] = of_classes[rows, places]
        confidence = np.minimum(np.exp(of_classes[:, 0]), 1.0)
        measures.append((-float(of_own.mean()), confidence_error(confidence, classes[:, 0] == class_index)))
    return measures


def fit_candidate_temperature(candidates: Candidates, is_true: NDArray[np.bool_]) -> float:
    """The temperature under which the classes of held-out samples are most likely among their candidates.

    1 if no class is among its candidates.
    """
    rows, places = np.nonzero(is_true)
    if not len(rows):
        return 1.0
    losses, of_class = candidates.losses[rows], candidates.losses[rows, places]

    def nll(temperature: float) -> float:
        return float((logsumexp(-losses / temperature, axis=1) + of_class / temperature).mean())

    return _least_at(nll)


def _least_at(nll: Callable[[float], float]) -> float:
    """The temperature with the least negative log-likelihood."""
    limit = float(np.log(MAX_TEMPERATURE))
    return float(np.exp(least_between(lambda log: nll(np.exp(log)), -limit, limit)))
