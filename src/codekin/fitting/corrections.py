"""What held-out samples correct in the probabilities of a model: the influence of class sizes, and the temperature.

A softmax that has seen many samples of one class and few of another finds the first more probable than it is. So the
probabilities are divided by a power of the class sizes and normalised again. On a tree that is a number for every bit,
which is added to its margin: it costs nothing in prediction.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import nan
from typing import Any, cast

import numpy as np
from scipy.optimize import minimize_scalar

from codekin.code import FloatArray, IntArray
from codekin.fitting.trial import best_weight
from codekin.measures import confidence_error
from codekin.model import FittedCode, Model
from codekin.model.model import code_log_proba
from codekin.model.reranking import Reranking
from codekin.progress import report
from codekin.samples import Samples

N_LISTED = 20
"""Among how many classes of each sample the power is chosen."""
MAX_TEMPERATURE = 100.0
MOST_SAMPLES = 2_000
"""How many samples the temperature is fitted to and measured on: each is decoded at every temperature tried."""
STAGE = "fitting the temperature"


def corrected_for_sizes(
    codes: tuple[FittedCode, ...], samples: Samples, held_out: Samples | None = None, power: float | None = None
) -> tuple[tuple[FittedCode, ...], float]:
    """The codes with probabilities divided by a power of the class sizes, and that power.

    Without a given power, it is the best one of the first code on held-out samples or, without these, the usual one of
    this kind of code; 0 if that is not done for its kind.
    """
    first = codes[0]
    if first.code.codebook.usual_size_power == 0:
        return codes, 0.0
    sizes = class_sizes(samples, first.code.n_classes)
    if power is None:
        usual = first.code.codebook.usual_size_power
        power = usual if held_out is None else best_power(first, sizes, held_out)
    return tuple(size_corrected(code, sizes, power) for code in codes), power


def class_sizes(samples: Samples, n_classes: int) -> FloatArray:
    """The total weight of each class's samples; classes without any count as the smallest of the others."""
    known = samples.class_index >= 0
    weights = None if samples.weights is None else np.asarray(samples.weights, dtype=np.float64)[known]
    sizes = np.bincount(samples.class_index[known], weights, minlength=n_classes).astype(np.float64)
    return np.asarray(np.maximum(sizes, sizes[sizes > 0].min(initial=np.inf)))


def size_corrected(member: FittedCode, sizes: FloatArray, power: float) -> FittedCode:
    """The member with probabilities divided by a power of the class sizes, if that is done for its kind."""
    if power == 0 or member.code.codebook.usual_size_power == 0:
        return member
    codebook, bits = member.code.codebook, cast("Any", member.bits)
    size_of_codeword = np.ones(codebook.n_codewords)
    size_of_codeword[member.code.assignment.codeword_of_class] = sizes
    bias = (bits.bias + codebook.size_terms(size_of_codeword, power)).astype(np.float32)
    return replace(member, bits=replace(bits, bias=bias))


def best_power(member: FittedCode, sizes: FloatArray, held_out: Samples) -> float:
    """The power of the class sizes with which the classes of held-out samples most often come first."""
    if member.code.codebook.usual_size_power == 0 or len(held_out.class_index) == 0:
        return 0.0
    report("choosing how much class sizes count")
    n_listed = min(N_LISTED, member.code.n_classes)
    found = Model((member,), Reranking(n_listed)).candidates(held_out.X)
    classes: IntArray = found.classes
    is_true = (classes == held_out.class_index[:, None]) & (classes >= 0)
    return best_weight(found.losses, -np.log(sizes)[classes], is_true)[0]


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


def fit_temperature(model: Model, held_out: Samples) -> Temperature:
    """The temperature under which the classes of held-out samples are most likely, before any re-ranking.

    The measures are those of the final probabilities. Samples of unknown classes are left out; of many samples, those
    at equal distances are used.
    """
    report(STAGE)
    known = np.flatnonzero(held_out.class_index >= 0)
    if len(known) == 0:
        return Temperature()
    known = known[:: -(-len(known) // MOST_SAMPLES)]
    X, classes = held_out.X[known], held_out.class_index[known]
    likelihood = code_log_proba(model, model.lazy_margins(X), classes[:, None])

    def loss(temperature: float) -> float:
        report(STAGE, detail=f"trying {temperature:.3g}")
        return -float(likelihood(temperature).mean())

    value = least_at(loss)
    report("measuring the probabilities")
    of_ranking = 1.0 if model.ranking is None else model.ranking.temperature
    (nll_before, ece_before), (nll, ece) = _measures(model, X, classes, [(1.0, 1.0), (value, of_ranking)])
    return Temperature(value, nll_before, nll, ece_before, ece)


def _measures(
    model: Model, X: Any, class_index: IntArray, temperatures: list[tuple[float, float]]
) -> list[tuple[float, float]]:
    """The mean negative log-likelihood and the expected calibration error, for some temperatures of code and ranking.

    Margins and candidates are computed once.
    """
    margins, own, ranking, measures = model.lazy_margins(X), class_index[:, None], model.ranking, []
    found = None if ranking is None else model.ranked.candidates(X, margins, None, ranking)
    for temperature, of_ranking in temperatures:
        classes = model.decoder.most_probable(margins[0], 1, temperature)[0] if found is None else found.classes
        logs = code_log_proba(model, margins, np.hstack([own, classes]))(temperature)
        of_own, of_classes = logs[:, 0], logs[:, 1:]
        if ranking is not None and found is not None:
            of_classes = replace(ranking, temperature=of_ranking).shared_out(of_classes, found.losses)
            rows, places = np.nonzero((classes == own) & (own >= 0))
            of_own[rows] = of_classes[rows, places]
        confidence = np.minimum(np.exp(of_classes[:, 0]), 1.0)
        measures.append((-float(of_own.mean()), confidence_error(confidence, classes[:, 0] == class_index)))
    return measures


def least_at(nll: Callable[[float], float]) -> float:
    """The temperature with the least negative log-likelihood."""
    limit = float(np.log(MAX_TEMPERATURE))
    best = minimize_scalar(lambda log: nll(np.exp(log)), bounds=(-limit, limit), method="bounded")
    return float(np.exp(best.x))
