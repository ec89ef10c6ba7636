"""The answers of ``codekin predict`` and ``codekin serve``: the best labels of samples, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from codekin.model.answer_tree import AnswerTree, ClassGroup
from codekin.model.prediction_sets import answer_names, sure_answers
from codekin.model.probabilities import probable_classes, with_threshold

Best = tuple[list[list[Any]], list[list[float]] | None]
"""The best labels of each sample, and their probabilities, if they were wanted."""


def best_labels(
    model: Any,
    X: Any,
    k: int,
    has_probabilities: bool,
    labels: Any = None,
    *,
    least: float | None = None,
    groups: AnswerTree | None = None,
) -> Best:
    """The k best labels of each sample, best first, or for k = 0 all that are probable; their probabilities, if wanted.

    ``labels`` are those of a Model's classes; an estimator has its own. Labels that are less probable than ``least``
    are left out. Where no label is left, one of the ``groups`` is the answer instead.
    """
    if least and groups is not None:
        model, X, labels = (model, X, labels) if labels is not None else _within(model, X)
        answers, shares = sure_answers(model, X, least, groups)
        names = [[name][: name is not None] for name in answer_names(labels, groups)[answers].tolist()]
        return names, [
            [p][: len(own)] for p, own in zip(shares.tolist(), names, strict=True)
        ] if has_probabilities else None
    if not k:
        names, probable = _probable(model, X, labels, least)
        return names, probable if has_probabilities else None
    if least:
        names, sure = sure_labels(*best_labels(model, X, k, True, labels), least)
        return names, sure if has_probabilities else None
    if has_probabilities:
        best, probabilities = model.top_k_proba(X, k)
    else:
        # Decoding only the best class is faster.
        best, probabilities = model.top_k(X, k)[0] if k > 1 else _best_of(model, X)[:, None], None
    named = best if labels is None else labels[best]
    return named.tolist(), None if probabilities is None else probabilities.tolist()


def _best_of(model: Any, X: Any) -> Any:
    """The best class or label of each sample."""
    marginals = getattr(
        getattr(model, "model_", model), "marginals", None
    )  # SubclassClassifier has one label per sample
    return model.predict(X) if marginals is None else model.top_k(X, 1)[0][:, 0]


def sure_labels(labels: list[list[Any]], probabilities: list[list[float]] | None, least: float) -> Best:
    """The labels that are probable enough; the first ones, since probabilities fall."""
    assert probabilities is not None
    n_kept = [sum(p >= least for p in own) for own in probabilities]
    return (
        [own[:n] for own, n in zip(labels, n_kept, strict=True)],
        [own[:n] for own, n in zip(probabilities, n_kept, strict=True)],
    )


def _probable(model: Any, X: Any, labels: Any, least: float | None = None) -> tuple[list[list[Any]], list[list[float]]]:
    model, X, labels = (model, X, labels) if labels is not None else _within(model, X)
    rows = [row for part in probable_classes(with_threshold(model, least), X) for row in zip(*part, strict=True)]
    names = [labels[classes[is_there]].tolist() for classes, _, is_there in rows]
    return names, [probabilities[is_there].tolist() for _, probabilities, is_there in rows]


def _named(answer: Any) -> dict[str, Any]:
    """A label, or a group of classes, which is no label, as JSON."""
    if isinstance(answer, ClassGroup):
        return {"label": None, "node": str(answer), "n_classes": len(answer.labels)}
    return {"label": answer}


def _within(classifier: Any, X: Any) -> tuple[Any, Any, Any]:
    """The model of an estimator, the samples as it takes them, and the labels."""
    return classifier.model_, classifier._validated_samples(X), classifier.classes_


def json_objects(
    labels: list[list[Any]],
    probabilities: list[list[float]] | None,
    known_words: list[int] | None = None,
    *,
    has_list: bool,
    are_sets: bool = False,
) -> Iterator[dict[str, Any]]:
    """An object for each sample: its label, the probability of it, if there are any, and perhaps the list of the best.

    Sets have a list of labels and one of probabilities instead. A sample without labels has null; a group of classes is
    a "node" with its number of classes. Texts also have the number of their known words.

    >>> list(json_objects([["cat", "dog"]], [[0.7, 0.2]], has_list=True))[0]["top"]
    [{'label': 'cat', 'probability': 0.7}, {'label': 'dog', 'probability': 0.2}]
    """
    for i, row in enumerate(labels):
        best: list[dict[str, Any]] = [_named(label) for label in row]
        if probabilities is not None:
            best = [{**one, "probability": p} for one, p in zip(best, probabilities[i], strict=True)]
        nothing = {"label": None, **({} if probabilities is None else {"probability": None})}
        groups = [{"node": str(each), "n_classes": len(each.labels)} for each in row if isinstance(each, ClassGroup)]
        of_set = {
            "labels": [label for label in row if not isinstance(label, ClassGroup)],
            **({"nodes": groups} if groups else {}),
            **({} if probabilities is None else {"probabilities": probabilities[i]}),
        }
        first = of_set if are_sets else best[0] if best else nothing
        answer = {**first, "top": best} if has_list else first
        yield answer if known_words is None else {**answer, "known_words": known_words[i]}
