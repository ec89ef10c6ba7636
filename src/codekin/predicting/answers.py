"""Predictions of many samples, and as JSON: the same for ``codekin predict --json`` and ``codekin serve``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Best = tuple[list[list[Any]], list[list[float]] | None]
"""The best labels of each sample, and their probabilities, if they were wanted."""


def best_labels(classifier: Any, X: Any, k: int, has_probabilities: bool) -> Best:
    """The best labels of each sample, best first, and their probabilities, if they are wanted."""
    if has_probabilities:
        labels, probabilities = classifier.top_k_proba(X, k)
        return labels.tolist(), probabilities.tolist()
    # Decoding only the best class is faster.
    labels = classifier.predict(X)[:, None] if k == 1 else classifier.top_k(X, k)[0]
    return labels.tolist(), None


def json_objects(
    labels: list[list[Any]],
    probabilities: list[list[float]] | None,
    known_words: list[int] | None = None,
    *,
    has_list: bool,
    are_sets: bool = False,
) -> Iterator[dict[str, Any]]:
    """An object for each sample: its label, the probability of it, if there are any, and perhaps the list of the best.

    A sample without labels has null. Texts also have the number of their known words.

    >>> list(json_objects([["cat", "dog"]], [[0.7, 0.2]], has_list=True))[0]["top"]
    [{'label': 'cat', 'probability': 0.7}, {'label': 'dog', 'probability': 0.2}]
    """
    for i, row in enumerate(labels):
        best: list[dict[str, Any]] = [{"label": label} for label in row]
        if probabilities is not None:
            best = [{**one, "probability": p} for one, p in zip(best, probabilities[i], strict=True)]
        nothing = {"label": None, **({} if probabilities is None else {"probability": None})}
        first = {"labels": row} if are_sets else best[0] if best else nothing
        answer = {**first, "top": best} if has_list else first
        yield answer if known_words is None else {**answer, "known_words": known_words[i]}
