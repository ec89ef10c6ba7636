"""``codekin evaluate``: how good a model's predictions are on samples with labels, and how fast they come."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from codekin.cli.display import Display
from codekin.cli.models import has_several_codes, loaded_classifier, reading_options
from codekin.cli.option_needs import TAXONOMY_NEEDS, check_needs, check_standard_input
from codekin.cli.options import AsJson, Format, IndexBase, Multilabel, NThreads, Quiet, Taxonomy, TaxonomyLayout
from codekin.datasets import read_taxonomy
from codekin.measures import PredictionMeasures, confidence_error, prediction_measures
from codekin.memory import in_units
from codekin.threads import available_threads, limited_threads

app = typer.Typer()

AT = (1, 3, 5)


@app.command()
def evaluate(
    context: typer.Context,
    model: Annotated[Path, typer.Argument(help="The folder of a model.")],
    data: Annotated[str, typer.Argument(help="Samples with labels; - is the standard input.")],
    taxonomy: Taxonomy = None,
    taxonomy_layout: TaxonomyLayout = "edges",
    format: Format = "auto",
    index_base: IndexBase = None,
    multilabel: Multilabel = "error",
    n_threads: NThreads = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Measure how good a model's predictions are, and how fast.

    Prints the accuracy, precision and recall among the first classes, the accuracy at each level of the taxonomy that
    the model was trained with (or another one), how far off errors are in it, the negative log-likelihood of the true
    classes and the calibration error of the probabilities, and the time of a prediction from features to label: the
    mean over batches, without the time for reading. Labels that the model has never seen count as errors.
    """
    check_needs(context, TAXONOMY_NEEDS)
    check_standard_input({"DATA": data, "--taxonomy": taxonomy})
    saved = loaded_classifier(model)
    classifier = saved.model
    tree = None if classifier.class_distances_ is None else classifier.class_distances_.tree
    if taxonomy is not None:
        tree = read_taxonomy(taxonomy, classes=classifier.classes_, layout=taxonomy_layout)  # type: ignore[arg-type]
    options = reading_options(saved, index_base, multilabel=multilabel)
    best: list[Any] = []
    true: list[Any] = []
    certified: list[Any] = []
    clock = _Clock(classifier)
    likelihood = _Likelihood(classifier)
    with limited_threads(n_threads), Display(quiet).task(f"predicting {data}", "samples") as task:
        chunks = saved.model_input.chunks(
            data,
            format=format,
            n_features=classifier.n_features_in_,
            options=options,
            progress=lambda done, total: task.update(done, total, count=clock.n_samples),
        )
        for X, read in chunks:
            true.append(read.index_among(classifier.classes_))
            clock.predict(X)
            likelihood.add(X, true[-1])
            best.append(classifier.model_.top_k(X, min(max(AT), len(classifier.classes_)))[0])
            if has_several_codes(classifier.model_):
                certified.append(classifier.model_.candidates(X, 1).is_certified)
        n_used = available_threads()
    class_index = np.concatenate(true)
    measures = prediction_measures(np.concatenate(best), class_index, tree=tree, at=AT)
    result = {
        "model": str(model),
        "data": data,
        "n_samples": measures.n_samples,
        "n_unknown_labels": int((class_index < 0).sum()),
        "accuracy": measures.accuracy,
        **{f"precision_at_{k}": value for k, value in measures.precision_at.items()},
        **{f"recall_at_{k}": value for k, value in measures.recall_at.items()},
        "level_accuracies": list(measures.level_accuracies),
        "mean_error_distance": measures.mean_error_distance,
        **likelihood.measures,
        "certified_share": float(np.concatenate(certified).mean()) if certified else None,
        "model_bytes": saved.n_bytes,
        "microseconds_per_prediction": clock.microseconds,
        "n_threads": n_used,
        "microseconds_per_prediction_one_thread": clock.microseconds_one_thread,
    }
    typer.echo(json.dumps(result) if as_json else _text(measures, result))


class _Likelihood:
    """How likely the true classes are by the model's probabilities, and how far these are from frequencies."""

    def __init__(self, classifier: Any) -> None:
        self.classifier = classifier
        self.log_probabilities: list[Any] = []
        self.confidences: list[Any] = []
        self.is_right: list[Any] = []

    def add(self, X: Any, class_index: Any) -> None:
        if not hasattr(self.classifier, "log_proba"):
            return
        known = class_index >= 0
        labels = self.classifier.classes_[class_index]
        self.log_probabilities.append(self.classifier.log_proba(X, labels)[known])
        predicted, confidence = self.classifier.top_k_proba(X, 1)
        self.confidences.append(confidence[:, 0])
        self.is_right.append((predicted[:, 0] == labels) & known)

    @property
    def measures(self) -> dict[str, float | None]:
        """The mean negative log-likelihood of the known labels, and the expected calibration error of all."""
        if not self.confidences:
            return {"nll": None, "ece": None}
        values = np.concatenate(self.log_probabilities)
        return {
            "nll": -float(values.mean()) if len(values) else None,
            "ece": confidence_error(np.concatenate(self.confidences), np.concatenate(self.is_right)),
        }


class _Clock:
    """Predicts batches and takes the time, without that for compiling."""

    def __init__(self, classifier: Any) -> None:
        self.model = classifier.model_
        self.n_samples = 0
        self.seconds = 0.0
        self.microseconds_one_thread = 0.0

    def predict(self, X: Any) -> None:
        if self.n_samples == 0:
            self.model.predict(X)
            with limited_threads(1):
                self.microseconds_one_thread = 1e6 * self._timed(X) / X.shape[0]
        self.seconds += self._timed(X)
        self.n_samples += X.shape[0]

    def _timed(self, X: Any) -> float:
        """The best of three: the others had to share the processor."""
        seconds = []
        for _ in range(3):
            started = time.perf_counter()
            self.model.predict(X)
            seconds.append(time.perf_counter() - started)
        return min(seconds)

    @property
    def microseconds(self) -> float:
        return 1e6 * self.seconds / self.n_samples


def _text(measures: PredictionMeasures, result: dict[str, Any]) -> str:
    unknown = f", {result['n_unknown_labels']:,} of them with unknown labels" if result["n_unknown_labels"] else ""
    at = ", ".join(map(str, AT))
    threads = f"{result['n_threads']} threads" if result["n_threads"] > 1 else "1 thread"
    rows = {"samples": f"{measures.n_samples:,}{unknown}", "accuracy": f"{measures.accuracy:.4f}"}
    rows[f"precision at {at}"] = _numbers(measures.precision_at.values())
    rows[f"recall at {at}"] = _numbers(measures.recall_at.values())
    if measures.level_accuracies:
        rows["accuracy by level"] = _numbers(measures.level_accuracies)
    if measures.mean_error_distance is not None:
        rows["mean tree distance of errors"] = f"{measures.mean_error_distance:.3f}"
    if result["nll"] is not None:
        rows["NLL, calibration error"] = _numbers((result["nll"], result["ece"]))
    if result["certified_share"] is not None:
        rows["certified predictions"] = f"{result['certified_share']:.4f}"
    rows["microseconds per prediction"] = (
        f"{result['microseconds_per_prediction']:.2f} ({threads}), "
        f"{result['microseconds_per_prediction_one_thread']:.2f} (1 thread)"
    )
    rows["model"] = in_units(result["model_bytes"])
    width = max(map(len, rows))
    return "\n".join(f"{name:{width}}  {value}" for name, value in rows.items())


def _numbers(values: Iterable[float]) -> str:
    return ", ".join(f"{value:.4f}" for value in values)
