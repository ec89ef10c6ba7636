"""Predictions as JSON: the same object for a line of ``codekin predict --json`` and an answer of ``codekin serve``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def json_objects(
    labels: list[list[Any]], probabilities: list[list[float]] | None, *, has_list: bool
) -> Iterator[dict[str, Any]]:
    """An object for each sample: its label, the probability of it, if there are any, and perhaps the list of the best.

    >>> list(json_objects([["cat", "dog"]], [[0.7, 0.2]], has_list=True))[0]["top"]
    [{'label': 'cat', 'probability': 0.7}, {'label': 'dog', 'probability': 0.2}]
    """
    for i, row in enumerate(labels):
        best: list[dict[str, Any]] = [{"label": label} for label in row]
        if probabilities is not None:
            best = [{**one, "probability": p} for one, p in zip(best, probabilities[i], strict=True)]
        yield {**best[0], "top": best} if has_list else best[0]
