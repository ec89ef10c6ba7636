"""Random against preserving assignments, for several codebooks on two small data sets.

A draw is a split of the data and a codebook; both policies see the same draws, so that their difference is that of
the assignments alone.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from codekin._system.workers import share_work, with_workers
from codekin._version import __version__
from codekin.assignments import EquidistantCodebookWarning
from codekin.datasets import Dataset, load_digits_dataset, load_yeast
from codekin.estimators import ECOCClassifier
from codekin.plots import PolicyComparison

POLICIES = ("random", "preserving")
CODES = (
    ("dense_random", 8),
    ("dense_random", 10),
    ("dense_random", 15),
    ("sparse_random", 15),
    ("spectral", 8),
    ("hadamard", None),
)
QUICK_CODES = (("dense_random", 8), ("hadamard", None))
TEST_SHARE = 0.3


@dataclass(frozen=True)
class Problem:
    """A data set and who learns the bits on it.

    Parameters
    ----------
    load : callable
        Returns the data set.
    learner : callable
        Returns a new classifier for one bit.
    learner_name : str
        What people call it.
    title : str
        The data set in a sentence.
    """

    load: Callable[[], Dataset]
    learner: Callable[[], Any]
    learner_name: str
    title: str


def _linear_svm() -> Any:
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MaxAbsScaler
    from sklearn.svm import LinearSVC

    return make_pipeline(MaxAbsScaler(), LinearSVC())


def _decision_tree() -> Any:
    from sklearn.tree import DecisionTreeClassifier

    return DecisionTreeClassifier(min_samples_split=3)


PROBLEMS = {
    "digits": Problem(
        load_digits_dataset,
        _linear_svm,
        "linear SVM",
        "1,797 images of handwritten digits, 8 x 8 pixels, in 10 classes (scikit-learn's copy of the UCI set).",
    ),
    "yeast": Problem(
        load_yeast,
        _decision_tree,
        "decision tree",
        "1,484 proteins of yeast with 8 features; the 10 classes, of very different sizes, are places in the cell "
        "(Horton and Nakai, 1996; UCI, CC BY 4.0). The trees are those of the paper: Gini, split from 3 samples on.",
    ),
}


@dataclass(frozen=True)
class DemoResult:
    """What the demo found.

    Parameters
    ----------
    comparisons : dict from str to list of PolicyComparison
        By data set.
    equidistant : frozenset of str
        The codebooks whose codewords are all equally far apart.
    n_draws : int
        How many draws each comparison has.
    seconds : float
        How long it took, figures not included.
    """

    comparisons: dict[str, list[PolicyComparison]]
    equidistant: frozenset[str]
    n_draws: int
    seconds: float

    def as_dict(self) -> dict[str, Any]:
        """Everything as numbers and names, for JSON."""
        return {
            "codekin": __version__,
            "n_draws": self.n_draws,
            "seconds": round(self.seconds, 1),
            "accuracy_percent": [
                {
                    "dataset": dataset,
                    "learner": PROBLEMS[dataset].learner_name,
                    "codebook": comparison.codebook,
                    "n_bits": comparison.n_bits,
                    "is_equidistant": comparison.codebook in self.equidistant,
                    **{policy: values.round(3).tolist() for policy, values in comparison.accuracies.items()},
                }
                for dataset, comparisons in self.comparisons.items()
                for comparison in comparisons
            ],
        }


def run_demo(
    *, n_draws: int = 12, is_quick: bool = False, n_jobs: int = 1, progress: Callable[[int, int], None] | None = None
) -> DemoResult:
    """Fit and test every codebook under every policy.

    Parameters
    ----------
    n_draws : int, default=12
        How many splits and codebooks to average over.
    is_quick : bool, default=False
        Try two codebooks only.
    n_jobs : int, default=1
        How many processes share the work. The numbers do not depend on it.
    progress : callable, optional
        Called with the number of finished parts and that of all parts.

    Returns
    -------
    DemoResult
    """
    started = time.perf_counter()
    codes = QUICK_CODES if is_quick else CODES
    parts = [(dataset, code, draw) for dataset in PROBLEMS for code in codes for draw in range(n_draws)]
    with with_workers(n_jobs):
        running = share_work(_fit_part, None, parts, n_threads=None if n_jobs == 1 else 1)
        found = iter(list(_counted(running, len(parts), progress)))
    comparisons: dict[str, list[PolicyComparison]] = {dataset: [] for dataset in PROBLEMS}
    equidistant = set()
    for dataset in PROBLEMS:
        for codebook, _ in codes:
            draws = [next(found) for _ in range(n_draws)]
            accuracies = {
                policy: np.array([100 * draw.accuracies[policy] for draw in draws], dtype=np.float64)
                for policy in POLICIES
            }
            comparisons[dataset].append(PolicyComparison(codebook, draws[0].n_bits, accuracies))
            if draws[0].is_equidistant:
                equidistant.add(codebook)
    return DemoResult(comparisons, frozenset(equidistant), n_draws, time.perf_counter() - started)


@dataclass(frozen=True)
class _Part:
    accuracies: dict[str, float]
    n_bits: int
    is_equidistant: bool


def _fit_part(_shared: None, part: tuple[str, tuple[str, int | None], int]) -> _Part:
    from sklearn.model_selection import train_test_split

    dataset_name, code, draw = part
    dataset = loaded(dataset_name)
    X_train, X_test, y_train, y_test = train_test_split(
        dataset.X, dataset.y, test_size=TEST_SHARE, stratify=dataset.y, random_state=draw
    )
    codebook: Any
    codebook, n_bits = code
    accuracies = {}
    for policy in POLICIES:
        classifier = ECOCClassifier(
            PROBLEMS[dataset_name].learner(), codebook=codebook, n_bits=n_bits, assignment=policy, random_state=draw
        )
        with warnings.catch_warnings():
            # The page says so, once, instead of every draw.
            warnings.simplefilter("ignore", EquidistantCodebookWarning)
            classifier.fit(X_train, y_train)
        accuracies[policy] = float(classifier.score(X_test, y_test))
        # The next policy gets the very same codewords.
        codebook, n_bits = classifier.codebook_, None
    return _Part(accuracies, codebook.n_bits, codebook.is_equidistant)


@cache
def loaded(dataset_name: str) -> Dataset:
    """The data set of a problem, read once per process."""
    return PROBLEMS[dataset_name].load()


def _counted(parts: Any, n_parts: int, progress: Callable[[int, int], None] | None) -> Iterator[_Part]:
    for done, part in enumerate(parts, start=1):
        if progress is not None:
            progress(done, n_parts)
        yield part
