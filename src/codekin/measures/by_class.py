"""Which classes are the problem: the worst, pairs that are confused, rare ones, and classes to merge or to split."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from codekin._system.tables import Listing, shortened
from codekin.classes.parts import classes_in_two_parts
from codekin.code import IntArray

__all__ = ["ClassErrors", "ClassReport", "class_report"]

N_LISTED = 10
ENOUGH_SAMPLES = 5
"""Of a class, to say how well it is recognised."""
N_EXAMPLES, MOST_TEXT = 3, 120
SIZES = (1, 2, 5, 10, 20, 50, 100)
"""Where the groups of classes by size begin."""


@dataclass(frozen=True)
class ClassErrors:
    """How often a class is recognised, and what it is taken for instead.

    Parameters
    ----------
    label : str or int
        The class.
    n_samples : int
        How many samples it has.
    n_right : int
        How many of them are recognised.
    taken_for : tuple of (str or int, int)
        The labels that were predicted instead, at most three, the most frequent first, and how often.
    """

    label: Any
    n_samples: int
    n_right: int
    taken_for: tuple[tuple[Any, int], ...]


@dataclass(frozen=True)
class ConfusedPair:
    """Two classes, the samples of each, how many are taken for the other one, and some of those: texts or rows."""

    labels: tuple[Any, Any]
    n_samples: tuple[int, int]
    n_confused: tuple[int, int]
    examples: tuple[Any, ...]


@dataclass(frozen=True)
class SizeGroup:
    """Classes with about the same number of samples, and how many of these are recognised."""

    fewest: int
    most: int
    n_classes: int
    n_samples: int
    n_right: int


@dataclass(frozen=True)
class SplitClass:
    """A class with two parts that are less alike than the class and its nearest other one, with samples of each."""

    label: Any
    n_samples: tuple[int, int]
    similarity: float
    nearest: Any
    nearest_similarity: float
    examples: tuple[tuple[Any, ...], tuple[Any, ...]]


@dataclass(frozen=True)
class ClassReport:
    """Which classes are the problem; prints as tables, and notebooks show them.

    Parameters
    ----------
    n_samples : int
        How many samples were predicted.
    worst : tuple of ClassErrors
        The classes with the smallest share of recognised samples, among those with at least five.
    confused : tuple of ConfusedPair
        The pairs of classes with the most confusions.
    sizes : tuple of SizeGroup
        How well classes are recognised by how many samples they have here, the rare ones first.
    rare : tuple of ClassErrors
        The classes with the fewest samples, none of which is recognised.
    to_merge : tuple of ConfusedPair
        Pairs that are not told apart: always answering the larger class would be right as often.
    to_split : tuple of SplitClass
        Classes whose samples fall into two parts; empty without the features of the samples.
    """

    n_samples: int
    worst: tuple[ClassErrors, ...]
    confused: tuple[ConfusedPair, ...]
    sizes: tuple[SizeGroup, ...]
    rare: tuple[ClassErrors, ...]
    to_merge: tuple[ConfusedPair, ...]
    to_split: tuple[SplitClass, ...]

    def as_dict(self) -> dict[str, Any]:
        """All fields as plain values for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        """Tables for the terminal."""
        return "\n\n".join(table.text() for table in self._tables())

    def _repr_html_(self) -> str:
        """Tables for notebooks."""
        return "".join(table.html() for table in self._tables())

    def _tables(self) -> list[Listing]:
        pairs = ("class", "other class", "samples", "confused", "examples")
        errors = ("class", "right", "taken for")
        parts = ("class", "parts", "alike", "nearest class", "alike", "examples of each part")
        tables = [
            Listing(
                f"worst classes (of those with {ENOUGH_SAMPLES} samples or more)", errors, [*map(_errors, self.worst)]
            ),
            Listing("most confused pairs", pairs, [*map(_pair, self.confused)]),
            Listing(
                "classes by their number of samples",
                ("samples", "classes", "right"),
                [
                    (_range(each.fewest, each.most), f"{each.n_classes:,}", f"{each.n_right / each.n_samples:.1%}")
                    for each in self.sizes
                ],
            ),
            Listing("rare classes that are never recognised", errors, [*map(_errors, self.rare)]),
            Listing("perhaps one class: pairs that are not told apart", pairs, [*map(_pair, self.to_merge)]),
            Listing(
                "perhaps two classes: parts less alike than the class and the nearest other one",
                parts,
                [*map(_split, self.to_split)],
            ),
        ]
        return [table for table in tables if table.rows]


def _errors(each: ClassErrors) -> tuple[Any, ...]:
    others = ", ".join(f"{label} ({n})" for label, n in each.taken_for)
    return each.label, f"{each.n_right:,} of {each.n_samples:,}", others


def _pair(each: ConfusedPair) -> tuple[Any, ...]:
    return *each.labels, _both(each.n_samples), _both(each.n_confused), _samples(each.examples)


def _split(each: SplitClass) -> tuple[Any, ...]:
    alike = (f"{each.similarity:.2f}", each.nearest, f"{each.nearest_similarity:.2f}")
    return each.label, _both(each.n_samples), *alike, " / ".join(map(_samples, each.examples))


def _range(fewest: int, most: int) -> str:
    return f"{fewest} to {most}" if most > fewest else str(fewest)


def _both(numbers: tuple[int, int]) -> str:
    return f"{numbers[0]:,} and {numbers[1]:,}"


def _samples(examples: Sequence[Any]) -> str:
    return "; ".join(f"row {each}" if isinstance(each, int) else each for each in examples)


def class_report(
    predicted: Any, true: Any, X: Any = None, texts: Sequence[Any] | None = None, *, classes: Any = None
) -> ClassReport:
    """Which classes are the problem, from the labels that any classifier predicted.

    Parameters
    ----------
    predicted, true : array-like of shape (n_samples,)
        The predicted and the true labels; None where nothing was predicted.
    X : {array, sparse matrix} of shape (n_samples, n_features), default=None
        The features, to find classes that should be split.
    texts : sequence of str, default=None
        The samples as people read them, for examples; otherwise these are numbers of rows.
    classes : array-like, default=None
        All labels; by default those that occur.

    Returns
    -------
    ClassReport

    Examples
    --------
    >>> report = class_report(["cat", "cat", "dog", "cat", "cow"], ["cat", "dog", "dog", "dog", "cow"])
    >>> report.confused
    (ConfusedPair(labels=('cat', 'dog'), n_samples=(1, 3), n_confused=(0, 2), examples=(1, 3)),)
    """
    own, guessed = np.asarray(true), np.asarray(predicted)
    if own.shape != guessed.shape:
        raise ValueError(f"There are {len(guessed)} predictions. Got {len(own)} labels.")
    if len(own) == 0:
        raise ValueError("There are no predictions to measure.")
    if guessed.dtype.kind == "O":
        is_none = np.array([each is None for each in guessed.tolist()])
        guessed = np.array([own[0] if each is None else each for each in guessed.tolist()])
    else:
        is_none = np.zeros(len(own), bool)
    labels = np.unique(np.concatenate([own, guessed]) if classes is None else np.asarray(classes))
    places = [np.minimum(np.searchsorted(labels, each), len(labels) - 1) for each in (guessed, own)]
    known = labels[places[1]] == own
    return classes_of(np.where(is_none, -1, places[0]), np.where(known, places[1], -1), labels, X, texts)


def classes_of(
    predicted: IntArray,
    class_index: IntArray,
    labels: NDArray[Any],
    X: Any = None,
    texts: Sequence[Any] | None = None,
) -> ClassReport:
    """The same for indices of classes; samples of class -1 are left out, and a predicted -1 is none."""
    n_classes, names = len(labels), labels.tolist()
    rows = np.flatnonzero(class_index >= 0)
    true, guess = class_index[rows], predicted[rows]
    n_samples = np.bincount(true, minlength=n_classes)
    n_right = np.bincount(true[true == guess], minlength=n_classes)

    def shown(some: IntArray) -> tuple[Any, ...]:
        return tuple(
            int(row) if texts is None else shortened(text_of(texts[row]), MOST_TEXT) for row in some[:N_EXAMPLES]
        )

    wrong = np.flatnonzero((true != guess) & (guess >= 0))
    pair_of_wrong = np.minimum(true, guess)[wrong] * n_classes + np.maximum(true, guess)[wrong]
    pairs, counts = np.unique(pair_of_wrong, return_counts=True)
    n_to = Counter(zip(true[wrong].tolist(), guess[wrong].tolist(), strict=True))

    def pair(number: int) -> ConfusedPair:
        a, b = divmod(number, n_classes)
        both = (int(n_samples[a]), int(n_samples[b]))
        confused = (n_to[a, b], n_to[b, a])
        return ConfusedPair((names[a], names[b]), both, confused, shown(rows[wrong[pair_of_wrong == number]]))

    order = np.lexsort((pairs, -counts))
    a, b = np.divmod(pairs, n_classes)
    a_to_b = np.array([n_to[each] for each in zip(a.tolist(), b.tolist(), strict=True)], dtype=np.int64)
    within_a, within_b = n_right[a] + a_to_b, n_right[b] + counts - a_to_b
    is_one = n_right[a] + n_right[b] <= np.maximum(within_a, within_b)
    is_one &= np.minimum(within_a, within_b) >= ENOUGH_SAMPLES
    whole = np.ones(n_classes, bool)
    whole[np.concatenate([a[is_one], b[is_one]])] = False
    rare = np.flatnonzero((n_samples > 0) & (n_right == 0))
    rare = rare[np.argsort(n_samples[rare], kind="stable")][:N_LISTED]
    split = [
        SplitClass(
            names[each.class_index],
            (len(each.rows[0]), len(each.rows[1])),
            each.similarity,
            names[each.nearest],
            each.nearest_similarity,
            (shown(each.rows[0]), shown(each.rows[1])),
        )
        for each in ([] if X is None else classes_in_two_parts(X, class_index, whole)[:N_LISTED])
    ]
    return ClassReport(
        n_samples=len(class_index),
        worst=worst_classes(predicted, class_index, labels),
        confused=tuple(pair(number) for number in pairs[order][:N_LISTED].tolist()),
        sizes=_by_size(n_samples, n_right),
        rare=tuple(_errors_of(k, true, guess, names) for k in rare.tolist()),
        to_merge=tuple(pair(number) for number in pairs[order][is_one[order]][:N_LISTED].tolist()),
        to_split=tuple(split),
    )


def text_of(sample: Any) -> str:
    """A text, or those among the columns of a row."""
    return sample if isinstance(sample, str) else " | ".join(each for each in sample if isinstance(each, str))


def worst_classes(predicted: IntArray, class_index: IntArray, labels: NDArray[Any]) -> tuple[ClassErrors, ...]:
    """The classes with the smallest share of recognised samples; among equals, those with more samples first.

    Examples
    --------
    >>> predicted, true = np.array([0, 1, 1, 2, 0, 1, 1, 1]), np.array([0, 0, 0, 0, 0, 1, 1, 1])
    >>> worst_classes(predicted, true, np.array(["cat", "dog", "cow"]))
    (ClassErrors(label='cat', n_samples=5, n_right=2, taken_for=(('dog', 2), ('cow', 1))),)
    """
    known = class_index >= 0
    true, guess = class_index[known], predicted[known]
    n_samples = np.bincount(true, minlength=len(labels))
    n_right = np.bincount(true[true == guess], minlength=len(labels))
    share = n_right / np.maximum(n_samples, 1)
    order = np.lexsort((-n_samples, share))
    worst = order[(n_samples[order] >= ENOUGH_SAMPLES) & (share[order] < 1)][:N_LISTED]
    return tuple(_errors_of(k, true, guess, labels.tolist()) for k in worst.tolist())


def _errors_of(k: int, true: IntArray, guess: IntArray, names: list[Any]) -> ClassErrors:
    own = guess[true == k]
    others, counts = np.unique(own[(own != k) & (own >= 0)], return_counts=True)
    first = np.argsort(-counts, kind="stable")[:3]
    taken_for = tuple((names[others[i]], int(counts[i])) for i in first.tolist())
    return ClassErrors(names[k], len(own), int((own == k).sum()), taken_for)


def _by_size(n_samples: IntArray, n_right: IntArray) -> tuple[SizeGroup, ...]:
    groups, found = np.searchsorted(SIZES, n_samples, side="right"), []
    for group in np.unique(groups[groups > 0]).tolist():
        own = groups == group
        sizes = n_samples[own]
        found.append(
            SizeGroup(int(sizes.min()), int(sizes.max()), len(sizes), int(sizes.sum()), int(n_right[own].sum()))
        )
    return tuple(found)
