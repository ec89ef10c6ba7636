"""``codekin evaluate``: how good a model's predictions are on samples with labels, and how fast."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from scipy.sparse import csr_array, vstack

from codekin._system.memory import in_units
from codekin._system.parallel import limited_threads
from codekin.cli.display import show
from codekin.cli.models import LoadedModel, has_parts
from codekin.cli.options import (
    TAXONOMY_NEEDS,
    App,
    AsJson,
    Format,
    IndexBase,
    Multilabel,
    NThreads,
    Quiet,
    Taxonomy,
    TaxonomyLayout,
    Trust,
    check_needs,
    check_sources,
    reads_tables,
)
from codekin.data import read_taxonomy
from codekin.fitting.trial import microseconds_of
from codekin.measures import PredictionMeasures, confidence_error, prediction_measures
from codekin.progress import report, reporter

app = App()

AT = (1, 3, 5)
ROWS_AT_ONCE = 1_000
TIMED_CHUNKS = 5
"""The time of a prediction is measured on this many chunks of samples."""


@app.command()
@reads_tables("keep")
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
    trust: Trust = False,
    quiet: Quiet = False,
    table: Any = None,
) -> None:
    """Measure how good a model's predictions are, and how fast.

    Prints the accuracy, precision and recall among the first classes, the accuracy at each level of the taxonomy that
    the model was trained with (or another one), the distance of errors in it, the negative log-likelihood of the true
    classes, the calibration error of the probabilities, and the time per prediction: from features to label, on one
    thread, in large batches, without reading files or extracting features from texts, as for --max-microseconds. Labels
    that the model does not know count as errors.
    """
    check_needs(context, TAXONOMY_NEEDS)
    check_sources({"DATA": data, "--taxonomy": taxonomy})
    loaded = LoadedModel(model, trust=trust, quiet=quiet, takes_parts=True)
    classifier = loaded.classifier
    distances = None if has_parts(classifier) else classifier.class_distances_
    tree = None if distances is None else distances.tree
    if taxonomy is not None:
        tree = read_taxonomy(taxonomy, classes=classifier.classes_, layout=taxonomy_layout)  # type: ignore[arg-type]
    samples = loaded.reader(data, format, index_base, multilabel=multilabel, table=table)
    with limited_threads(n_threads), loaded.display.watching():
        predictions = _Predictions(classifier)
        for X, read in samples(chunk_rows=ROWS_AT_ONCE, progress=reporter(f"predicting {data}")):
            predictions.add(X, read.index_among(classifier.classes_))
        report("timing predictions")
        timed = classifier if has_parts(classifier) else classifier.model_
        microseconds = microseconds_of(timed, csr_array(vstack(predictions.timed)))
        class_index = np.concatenate(predictions.true)
        measures = prediction_measures(np.concatenate(predictions.best), class_index, tree=tree, at=AT)
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
        **predictions.likelihood_measures,
        "certified_share": predictions.certified_share,
        "model_bytes": loaded.saved.n_bytes,
        "microseconds_per_prediction": microseconds,
    }
    show(json.dumps(result) if as_json else _text(measures, result))


class _Predictions:
    """The predictions for the samples: the best classes, and the probabilities of these and of the true ones."""

    def __init__(self, classifier: Any) -> None:
        self.classifier = classifier
        self.timed: list[Any] = []
        self.true: list[Any] = []
        self.best: list[Any] = []
        self.certified: list[Any] = []
        self.log_probabilities: list[Any] = []
        self.confidences: list[Any] = []
        self.is_right: list[Any] = []

    def add(self, X: Any, class_index: Any) -> None:
        """Predict some samples of these classes, -1 for unknown ones."""
        labels_of_classes = self.classifier.classes_
        n_best = min(max(AT), len(labels_of_classes))
        self.timed += [X] if len(self.timed) < TIMED_CHUNKS else []
        self.true.append(class_index)
        if has_parts(self.classifier):
            self.best.append(np.searchsorted(labels_of_classes, self.classifier.top_k(X, n_best)[0]))
            return
        model = self.classifier.model_
        self.best.append(model.top_k(X, n_best)[0])
        if len(model.codes) > 1:
            self.certified.append(model.candidates(X, 1).is_certified)
        if hasattr(self.classifier, "log_proba"):
            known = class_index >= 0
            labels = labels_of_classes[class_index]
            self.log_probabilities.append(self.classifier.log_proba(X, labels)[known])
            predicted, confidence = self.classifier.top_k_proba(X, 1)
            self.confidences.append(confidence[:, 0])
            self.is_right.append((predicted[:, 0] == labels) & known)

    @property
    def certified_share(self) -> float | None:
        """The share of predictions that are certainly the best of all classes, not only of the candidates."""
        return float(np.concatenate(self.certified).mean()) if self.certified else None

    @property
    def likelihood_measures(self) -> dict[str, float | None]:
        """The mean negative log-likelihood of the known labels, and the expected calibration error of all."""
        if not self.confidences:
            return {"nll": None, "ece": None}
        values = np.concatenate(self.log_probabilities)
        return {
            "nll": -float(values.mean()) if len(values) else None,
            "ece": confidence_error(np.concatenate(self.confidences), np.concatenate(self.is_right)),
        }


def _text(measures: PredictionMeasures, result: dict[str, Any]) -> str:
    unknown = f", {result['n_unknown_labels']:,} of them with unknown labels" if result["n_unknown_labels"] else ""
    at = ", ".join(map(str, AT))
    rows = {"samples": f"{measures.n_samples:,}{unknown}", "accuracy": f"{measures.accuracy:.1%}"}
    rows[f"precision at {at}"] = _shares(measures.precision_at.values())
    rows[f"recall at {at}"] = _shares(measures.recall_at.values())
    if measures.level_accuracies:
        rows["accuracy by level"] = _shares(measures.level_accuracies)
    if measures.mean_error_distance is not None:
        rows["mean tree distance of errors"] = f"{measures.mean_error_distance:.3f}"
    if result["nll"] is not None:
        rows["NLL, calibration error"] = f"{result['nll']:.4f}, {result['ece']:.4f}"
    if result["certified_share"] is not None:
        rows["certified predictions"] = f"{result['certified_share']:.1%}"
    rows["microseconds per prediction"] = (
        f"{result['microseconds_per_prediction']:.2f} (features to label on one thread, without reading)"
    )
    rows["model"] = in_units(result["model_bytes"])
    width = max(map(len, rows))
    return "\n".join(f"{name:{width}}  {value}" for name, value in rows.items())


def _shares(values: Iterable[float]) -> str:
    return ", ".join(f"{value:.1%}" for value in values)
