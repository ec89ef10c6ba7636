"""From the text of a diagnosis to its ICD-10 category: a trellis on embedded data with 374 classes."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from codekin.coding import FloatArray
from codekin.datasets import load_icd10cm, vectorized
from codekin.estimators import TrellisClassifier

POLICIES = ("random", "preserving")
WIDTHS = (2, 5)
TYPED = (
    "type 2 diabetes with kidney disease",
    "car driver injured in collision with a pick-up truck",
    "glaucoma of both eyes",
    "second degree burn of the neck",
)
N_BEST = 5


@dataclass(frozen=True)
class Candidate:
    """A category that a text may belong to.

    Parameters
    ----------
    code, title : str
        Of the category.
    probability : float
        Exactly normalised over all categories.
    """

    code: str
    title: str
    probability: float


@dataclass(frozen=True)
class TrellisAccuracies:
    """Test accuracies of a trellis under the policies, one for each seed, in percent.

    Parameters
    ----------
    width, n_bits : int
        Of the trellis.
    accuracies : dict from str to ndarray
        By policy.
    """

    width: int
    n_bits: int
    accuracies: dict[str, FloatArray]

    @property
    def gain(self) -> float:
        """How many points preserving assignments are better than random ones, on average."""
        return float(np.mean(self.accuracies["preserving"]) - np.mean(self.accuracies["random"]))


@dataclass(frozen=True)
class Diagnoses:
    """What the demo found on diagnoses.

    Parameters
    ----------
    n_classes, n_samples : int
        Categories and training texts.
    trellises : list of TrellisAccuracies
        By width, with the paper's recipe.
    default_accuracy : float
        Of the default recipe at width 2: an order searched for learnability, and a re-ranking. In percent.
    answers : dict from str to list of Candidate
        The most probable categories of texts that were typed in, by the default recipe.
    seconds : float
        How long it took.
    """

    n_classes: int
    n_samples: int
    trellises: list[TrellisAccuracies]
    default_accuracy: float
    answers: dict[str, list[Candidate]]
    seconds: float

    def as_dict(self) -> dict[str, Any]:
        """Everything as numbers and names, for JSON."""
        return {
            "n_classes": self.n_classes,
            "n_samples": self.n_samples,
            "seconds": round(self.seconds, 1),
            "accuracy_percent": [
                {
                    "width": trellis.width,
                    "n_bits": trellis.n_bits,
                    **{policy: values.round(3).tolist() for policy, values in trellis.accuracies.items()},
                }
                for trellis in self.trellises
            ],
            "default_accuracy_percent": round(self.default_accuracy, 3),
            "answers": {
                text: [{"code": c.code, "title": c.title, "probability": round(c.probability, 4)} for c in candidates]
                for text, candidates in self.answers.items()
            },
        }


def run_diagnoses(*, n_seeds: int = 3, progress: Callable[[int, int], None] | None = None) -> Diagnoses:
    """Learn categories from texts under both policies, and ask the result about texts that were typed in.

    Parameters
    ----------
    n_seeds : int, default=3
        How many times each model is learned.
    progress : callable, optional
        Called with the number of models learned and that of all models.

    Returns
    -------
    Diagnoses
    """
    started = time.perf_counter()
    texts = load_icd10cm()
    data, vectorizer = vectorized(texts)
    assert data.validation is not None
    assert data.test is not None
    held_out = data.validation.X, data.validation.y
    trellises = []
    n_done, n_models = 0, len(WIDTHS) * len(POLICIES) * n_seeds
    for width in WIDTHS:
        accuracies: dict[str, list[float]] = {policy: [] for policy in POLICIES}
        for policy in POLICIES:
            for seed in range(n_seeds):
                classifier = TrellisClassifier(
                    width,
                    taxonomy=data.class_tree,
                    assignment=policy,
                    learner="arow",
                    rerank=None,
                    random_state=seed,
                ).fit(data.train.X, data.train.y, validation=held_out)
                accuracies[policy].append(100 * float(classifier.score(data.test.X, data.test.y)))
                n_done += 1
                if progress is not None:
                    progress(n_done, n_models)
        arrays = {policy: np.array(values) for policy, values in accuracies.items()}
        trellises.append(TrellisAccuracies(width, classifier.codebook_.n_bits, arrays))
    # Beyond the paper: what codekin does where nobody tells it otherwise.
    default = TrellisClassifier(taxonomy=data.class_tree, random_state=0)
    default.fit(data.train.X, data.train.y, validation=held_out)
    default_accuracy = 100 * float(default.score(data.test.X, data.test.y))
    classes, probabilities = default.top_k_proba(vectorizer.transform(TYPED), N_BEST)
    titles = texts.class_titles or texts.class_names
    answers = {
        text: [
            Candidate(texts.class_names[k], titles[k], float(probability))
            for k, probability in zip(best, its_probabilities, strict=True)
        ]
        for text, best, its_probabilities in zip(TYPED, classes, probabilities, strict=True)
    }
    seconds = time.perf_counter() - started
    return Diagnoses(len(texts.class_names), len(data.train.y), trellises, default_accuracy, answers, seconds)
