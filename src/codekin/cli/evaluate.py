"""``codekin evaluate``: how good a model's predictions are on samples with labels, and how fast."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer

from codekin._system.memory import in_units
from codekin._system.parallel import limited_threads
from codekin.cli.display import show
from codekin.cli.models import LoadedModel, evaluated_sets, has_parts, stacked
from codekin.cli.options import (
    TAXONOMY_NEEDS,
    App,
    AsJson,
    NThreads,
    Quiet,
    Taxonomy,
    TaxonomyLayout,
    Trust,
    check_needs,
    check_sources,
    reads_samples,
)
from codekin.data import read_taxonomy
from codekin.fitting.trial import microseconds_of
from codekin.measures import LabelEvaluation
from codekin.measures.predictions import PredictionMeasures, confidence_error, prediction_measures
from codekin.progress import report, reporter

app = App()

AT = (1, 3, 5)
ROWS_AT_ONCE = 1_000
TIMED_CHUNKS = 5
"""The time of a prediction is measured on this many chunks of samples."""


@app.command()
@reads_samples()
def evaluate(
    context: typer.Context,
    model: Annotated[Path, typer.Argument(help="The folder of a model.")],
    data: Annotated[str, typer.Argument(help="Samples with labels; - is the standard input.")],
    taxonomy: Taxonomy = None,
    taxonomy_layout: TaxonomyLayout = "edges",
    n_threads: NThreads = None,
    as_json: AsJson = False,
    trust: Trust = False,
    quiet: Quiet = False,
    reading: Any = None,
) -> None:
    """Measure how good a model's predictions are, and how fast.

    Prints the accuracy, precision and recall among the first classes, the accuracy at each level of the taxonomy that
    the model was trained with (or another one), the distance of errors in it, the negative log-likelihood of the true
    classes, the calibration error of the probabilities, and the time per prediction: from features to label, on one
    thread, in large batches, without reading files or extracting features from texts, as for --max-microseconds. Labels
    that the model does not know count as errors. A model of several labels per sample gets precision, recall and gain
    of the first labels, also with rare labels counting more, F1 of the labels that it predicts, and the calibration
    error of the first five probabilities; labels that it does not know count as missed.
    """
    check_needs(context, TAXONOMY_NEEDS)
    check_sources({"DATA": data, "--taxonomy": taxonomy})
    loaded = LoadedModel(model, trust=trust, quiet=quiet, takes_parts=True, takes_sets=True)
    if loaded.has_sets:
        if taxonomy is not None:
            raise ValueError("--taxonomy is for models of one label per sample. Got one of several.")
        with limited_threads(n_threads), loaded.display.watching():
            measured, facts = _evaluated_sets(loaded, data, reading)
        several = {"model": str(model), "data": data, **measured.as_dict(), **facts}
        show(json.dumps(several) if as_json else _with_costs(str(measured), several, 30))
        return
    classifier = loaded.classifier
    distances = None if has_parts(classifier) else classifier.class_distances_
    tree = None if distances is None else distances.tree
    if taxonomy is not None:
        tree = read_taxonomy(taxonomy, classes=classifier.classes_, layout=taxonomy_layout)  # type: ignore[arg-type]
    with limited_threads(n_threads), loaded.display.watching():
        timed: list[Any] = []
        chunks: list[_Predicted] = []
        for X, read in loaded.samples(data, ROWS_AT_ONCE, reporter(f"predicting {data}"), **reading):
            timed += [X] if len(timed) < TIMED_CHUNKS else []
            chunks.append(_predicted(classifier, X, read.index_among(classifier.classes_)))
        report("timing predictions")
        answering = classifier if has_parts(classifier) else classifier.model_
        microseconds = microseconds_of(answering.predict, stacked(timed))
        found = _Predicted(*(None if own[0] is None else np.concatenate(own) for own in zip(*chunks, strict=True)))
        measures = prediction_measures(found.best, found.true, tree=tree, at=AT)
    result = {
        "model": str(model),
        "data": data,
        "n_samples": measures.n_samples,
        "n_unknown_labels": int((found.true < 0).sum()),
        "accuracy": measures.accuracy,
        **{f"precision_at_{k}": value for k, value in measures.precision_at.items()},
        **{f"recall_at_{k}": value for k, value in measures.recall_at.items()},
        "level_accuracies": list(measures.level_accuracies),
        "mean_error_distance": measures.mean_error_distance,
        "nll": -float(logs.mean()) if (logs := found.log_probabilities) is not None and len(logs) else None,
        "ece": None if found.is_right is None else confidence_error(found.confidences, found.is_right),
        "certified_share": None if found.certified is None else float(found.certified.mean()),
        "model_bytes": loaded.saved.n_bytes,
        "microseconds_per_prediction": microseconds,
    }
    show(json.dumps(result) if as_json else _text(measures, result))


def _evaluated_sets(loaded: LoadedModel, data: str, reading: Any) -> tuple[LabelEvaluation, dict[str, Any]]:
    """How good the most probable labels of samples are, the predicted ones, and what a prediction takes."""
    model, labels = loaded.saved.coded, loaded.labels
    # All at once, so that a label that is not known is the same one everywhere.
    ((X, read),) = loaded.samples(data, sys.maxsize, reporter(f"predicting {data}"), **reading)
    measured = evaluated_sets(model, X, read.indicator_among(labels))
    report("timing predictions")
    n_timed = ROWS_AT_ONCE * TIMED_CHUNKS
    microseconds = microseconds_of(lambda some: model.top_k(some, min(max(AT), len(labels))), X[:n_timed])
    return measured, {"model_bytes": loaded.saved.n_bytes, "microseconds_per_prediction": microseconds}


class _Predicted(NamedTuple):
    """Predictions of samples, an array each; None if the model has none.

    - ``true``: the classes, -1 for unknown ones; ``best``: the best classes of each sample.
    - ``certified``: whether the prediction is certainly the best of all classes, not only of the candidates.
    - ``log_probabilities``: those of the known classes; ``confidences``: those of the predicted ones.
    """

    true: Any
    best: Any
    certified: Any = None
    log_probabilities: Any = None
    confidences: Any = None
    is_right: Any = None


def _predicted(classifier: Any, X: Any, class_index: Any) -> _Predicted:
    """Predictions of some samples of these classes."""
    labels_of_classes = classifier.classes_
    n_best = min(max(AT), len(labels_of_classes))
    if has_parts(classifier):
        return _Predicted(class_index, np.searchsorted(labels_of_classes, classifier.top_k(X, n_best)[0]))
    model = classifier.model_
    certified = model.candidates(X, 1).is_certified if len(model.codes) > 1 else None
    found = _Predicted(class_index, model.top_k(X, n_best)[0], certified)
    if not hasattr(classifier, "log_proba"):
        return found
    known, labels = class_index >= 0, labels_of_classes[class_index]
    predicted, confidence = classifier.top_k_proba(X, 1)
    is_right = (predicted[:, 0] == labels) & known
    logs = classifier.log_proba(X, labels)[known]
    return found._replace(log_probabilities=logs, confidences=confidence[:, 0], is_right=is_right)


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
    width = max(*map(len, rows), 27)
    return _with_costs("\n".join(f"{name:{width}}  {value}" for name, value in rows.items()), result, width)


def _with_costs(text: str, result: dict[str, Any], width: int) -> str:
    costs = {
        "microseconds per prediction": f"{result['microseconds_per_prediction']:.2f} "
        "(features to label on one thread, without reading)",
        "model": in_units(result["model_bytes"]),
    }
    return "\n".join([text, *(f"{name:{width}}  {value}" for name, value in costs.items())])


def _shares(values: Iterable[float]) -> str:
    return ", ".join(f"{value:.1%}" for value in values)
