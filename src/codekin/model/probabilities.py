"""Probabilities of classes: exact for one code on a trellis, redistributed if its candidates are re-ranked.

A code gives class ``y`` a probability proportional to ``exp(-loss_y / temperature)``, normalised exactly by the sum
over all paths; several codes give the mean of theirs. On a tree the probability of a class is the product of those on
the path to its leaf, with the margins in every node divided by the temperature. A re-ranking keeps the total
probability of the candidates and redistributes it in proportion to ``exp(-final loss / its own temperature)``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from scipy.special import log_softmax, logsumexp

from codekin.coding import FloatArray, IntArray
from codekin.decoding.decoder import Decoder
from codekin.model import Candidates, Model


def top_k_probabilities(model: Model, X: Any, k: int, temperature: float) -> tuple[IntArray, FloatArray]:
    """The k best classes of each sample and their probabilities, for a model on a trellis or a tree."""
    classes, probabilities = _best_by_code(model, X, k, temperature)
    if model.prior is not None:
        model.prior.put_best(X, classes, probabilities, model.prior.probabilities)
    return classes, probabilities


def _best_by_code(model: Model, X: Any, k: int, temperature: float) -> tuple[IntArray, FloatArray]:
    margins = model.lazy_margins(X)
    if model.ranking is None:
        classes = model.decoder.most_probable(margins[0], k, temperature)
        return classes, np.exp(code_log_probabilities(model, margins, classes, temperature))
    candidates = model.ranked.candidates(X, margins, None, model.ranking)
    shared = _of_candidates(model, margins, candidates, temperature)
    # The candidates come first among the best classes, in the same order.
    if k <= candidates.classes.shape[1] and (candidates.classes[:, :k] >= 0).all():
        return candidates.classes[:, :k], np.exp(shared[:, :k])
    classes, _ = model.top_k(X, k)
    logs = code_log_probabilities(model, margins, classes, temperature)
    return classes, np.exp(_with_those_of_candidates(logs, classes, candidates.classes, shared, model.n_classes))


def _with_those_of_candidates(
    logs: FloatArray, classes: IntArray, candidates: IntArray, shared: FloatArray, n_classes: int
) -> FloatArray:
    """The numbers of some classes of each sample, replaced by those of candidates wherever these are among them."""
    first = np.arange(len(classes))[:, None] * n_classes
    is_listed = candidates >= 0
    keys, own = (first + candidates)[is_listed], shared[is_listed]
    order = np.argsort(keys)
    keys, own, asked = keys[order], own[order], first + classes
    place = np.minimum(np.searchsorted(keys, asked), len(keys) - 1)
    return np.where((keys[place] == asked) & (classes >= 0), own[place], logs)


def all_log_probabilities(model: Model, X: Any, temperature: float) -> FloatArray:
    """The logarithms of the probabilities of all classes; only for few classes."""
    margins = model.lazy_margins(X)
    every = np.broadcast_to(np.arange(model.n_classes), (X.shape[0], model.n_classes))
    logs = code_log_probabilities(model, margins, every, temperature)
    if model.ranking is not None:
        candidates = model.ranked.candidates(X, margins, None, model.ranking)
        rows, places = np.nonzero(candidates.classes >= 0)
        shared = _of_candidates(model, margins, candidates, temperature)
        logs[rows, candidates.classes[rows, places]] = shared[rows, places]
    if model.prior is not None:
        logs[model.prior.rows(X)] = -model.prior.losses
    return logs


def code_log_probabilities(model: Model, margins: Any, classes: IntArray, temperature: float) -> FloatArray:
    """The logarithms of the probabilities of some classes before any re-ranking; minus infinity for class -1."""
    return code_likelihood(model, margins, classes)(temperature)


def code_likelihood(model: Model, margins: Any, classes: IntArray) -> Callable[[float], FloatArray]:
    """The same as a function of the temperature."""
    members = model.members
    of_members = [member.decoder.log_proba_of(part, classes) for member, part in zip(members, margins, strict=True)]

    def at(temperature: float) -> FloatArray:
        logs = [own(temperature) for own in of_members]
        mean = logs[0] if len(logs) == 1 else logsumexp(logs, axis=0) - np.log(len(logs))
        return np.where(classes >= 0, mean, -np.inf)

    return at


def log_probabilities_of(model: Model, X: Any, class_index: IntArray, temperature: float) -> FloatArray:
    """The logarithm of the probability of one class per sample; minus infinity for class -1."""
    margins = model.lazy_margins(X)
    logs = code_log_probabilities(model, margins, class_index[:, None], temperature)[:, 0]
    if model.ranking is not None:
        candidates = model.ranked.candidates(X, margins, None, model.ranking)
        rows, places = np.nonzero((candidates.classes == class_index[:, None]) & (class_index >= 0)[:, None])
        logs[rows] = _of_candidates(model, margins, candidates, temperature)[rows, places]
    if model.prior is not None:
        rows = model.prior.rows(X)
        logs[rows] = np.append(-model.prior.losses, -np.inf)[class_index[rows]]
    return logs


def losses_of_probabilities(model: Model, decoder: Decoder, X: Any) -> FloatArray:
    """The losses whose negatives have the probabilities of a code with a coding matrix as their softmax."""
    losses = decoder.class_losses(model.margins(X))
    if model.prior is not None:
        losses[model.prior.rows(X)] = model.prior.losses
    return losses


def own_and_best(
    model: Model, X: Any, class_index: IntArray, temperatures: Sequence[tuple[float, float]]
) -> Iterator[tuple[FloatArray, IntArray, FloatArray]]:
    """What some temperatures of the code and of the re-ranking do, with margins and candidates computed once.

    Yields for each pair the logarithms of the probabilities of the samples' own classes, the most probable classes, and
    their probabilities.
    """
    margins, own = model.lazy_margins(X), class_index[:, None]
    candidates = None if model.ranking is None else model.ranked.candidates(X, margins, None, model.ranking)
    listed = None if candidates is None else candidates.classes
    for temperature, of_ranking in temperatures:
        classes = listed if listed is not None else model.decoder.most_probable(margins[0], 1, temperature)
        logs = code_log_probabilities(model, margins, np.hstack([own, classes]), temperature)
        of_own, of_classes = logs[:, 0], logs[:, 1:]
        if candidates is not None:
            of_classes = _shared_out(of_classes, candidates, of_ranking)
            rows, places = np.nonzero((classes == own) & (own >= 0))
            of_own[rows] = of_classes[rows, places]
        yield of_own, classes[:, 0], np.exp(of_classes[:, 0])


def _of_candidates(model: Model, margins: Any, candidates: Candidates, temperature: float) -> FloatArray:
    """The logarithms of the candidates' probabilities."""
    assert model.ranking is not None
    of_code = code_log_probabilities(model, margins, candidates.classes, temperature)
    return _shared_out(of_code, candidates, model.ranking.temperature)


def _shared_out(of_code: FloatArray, candidates: Candidates, of_ranking: float) -> FloatArray:
    """The same total probability, redistributed by the re-ranking at its temperature; all are logarithms."""
    whole = logsumexp(of_code, axis=1, keepdims=True)
    return np.asarray(whole + log_softmax(-candidates.losses / of_ranking, axis=1))
