"""``codekin evaluate``: how good a model's predictions are on samples with labels, and how fast."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from codekin._system.memory import in_units
from codekin._system.parallel import limited_threads
from codekin.cli.display import show
from codekin.cli.models import LoadedModel, has_parts, stacked
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
from codekin.data.datasets import TextData
from codekin.fitting.trial import microseconds_of
from codekin.measures import ClassReport, LabelEvaluation
from codekin.measures.by_class import classes_of
from codekin.measures.predictions import confidence_bins, prediction_measures, reliability_rows
from codekin.model.probabilities import evaluated_sets
from codekin.plots.style import PALETTE, figure_style, new_panel, require_matplotlib, save_figure
from codekin.progress import report, reporter

app = App()

AT = (1, 3, 5)
BAR = 40
"""The width of the picture of probabilities in a terminal."""
ROWS_AT_ONCE = 10_000


@app.command()
@reads_samples()
def evaluate(
    context: typer.Context,
    model: Annotated[Path, typer.Argument(help="The folder of a model.")],
    data: Annotated[str, typer.Argument(help="Samples with labels; - is the standard input.")],
    taxonomy: Taxonomy = None,
    taxonomy_layout: TaxonomyLayout = "edges",
    n_threads: NThreads = None,
    by_class: Annotated[
        bool,
        typer.Option(
            "--by-class",
            help="List the worst classes, confused pairs with examples, rare classes, and those to merge or to split.",
        ),
    ] = False,
    reliability: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw how often answers of each probability are right: FILE.png or .svg."),
    ] = None,
    as_json: AsJson = False,
    trust: Trust = False,
    quiet: Quiet = False,
    reading: Any = None,
) -> None:
    """Measure how good a model's predictions are, and how fast.

    Prints the accuracy, precision and recall among the first classes, the accuracy at each level of the taxonomy that
    the model was trained with (or another one), the distance of errors in it, the negative log-likelihood of the true
    classes, how often answers of each probability are right (blocks; a mark where they should end), the mean difference
    (the calibration error), and the time per prediction: from features to label, on one thread, in large batches,
    without reading files or extracting features from texts, as for --max-microseconds. Labels that the model does not
    know count as errors. A model of several labels per sample gets precision, recall and gain of the first labels, F1
    of the labels that it predicts, and the calibration error of the first five probabilities; labels that it does not
    know count as missed.
    """
    check_needs(context, TAXONOMY_NEEDS)
    check_sources({"DATA": data, "--taxonomy": taxonomy}, reliability)
    if reliability is not None:
        _check_figure(reliability)
    loaded = LoadedModel(model, trust=trust, quiet=quiet, takes_parts=True, takes_sets=True)
    if loaded.has_sets:
        if taxonomy is not None:
            raise ValueError("--taxonomy is for models of one label per sample. Got one of several.")
        if by_class:
            raise ValueError("--by-class is for models of one label per sample. Got one of several.")
        if reliability is not None:
            raise ValueError("--reliability is for models of one label per sample. Got one of several.")
        with limited_threads(n_threads), loaded.display.watching():
            measured, costs = _evaluated_sets(loaded, data, reading)
        several = {"model": str(model), "data": data, **measured.as_dict(), **costs}
        rows = "".join(f"\n{name:<32}{value}" for name, value in _costs(several).items())
        show(json.dumps(several) if as_json else f"{measured}{rows}")
        return
    classifier = loaded.classifier
    distances = None if has_parts(classifier) else classifier.class_distances_
    tree = None if distances is None else distances.tree
    if taxonomy is not None:
        tree = read_taxonomy(taxonomy, classes=classifier.classes_, layout=taxonomy_layout)  # type: ignore[arg-type]
    with limited_threads(n_threads), loaded.display.watching():
        timed, sums = None, Counter[str]()  # of any numbers
        parts: list[tuple[Any, ...]] = []
        for X, read in loaded.samples(data, ROWS_AT_ONCE, reporter(f"predicting {data}"), **reading):
            timed = X if timed is None else timed
            best, true = _best(classifier, X), read.index_among(classifier.classes_)
            sums.update(_sums(classifier, X, best, true, tree))
            if by_class:
                parts.append((best[:, 0], true, X, read.texts if isinstance(read, TextData) else ()))
        report("timing predictions")
        answering = classifier if has_parts(classifier) else classifier.model_
        microseconds = microseconds_of(answering.predict, timed)
        classes = _by_class(parts, classifier.classes_) if by_class else None
    n_samples, n_logs = int(sums["n_samples"]), sums["n_logs"]
    recall = {k: float(sums[f"n_among_{k}"]) / n_samples for k in AT}
    n_levels = sum(name.startswith("n_at_level") for name in sums)
    levels = tuple(float(sums[f"n_at_level_{level}"]) / n_samples for level in range(n_levels))
    distance = float(sums["distance"] / sums["n_wrong"]) if tree is not None and sums["n_wrong"] else None
    bins: Any = sums.get("bins")
    result: dict[str, Any] = {
        "model": str(model),
        "data": data,
        "n_samples": n_samples,
        "n_unknown_labels": int(sums["n_unknown"]),
        "accuracy": recall[1],
        **{f"precision_at_{k}": value / k for k, value in recall.items()},
        **{f"recall_at_{k}": value for k, value in recall.items()},
        "level_accuracies": list(levels),
        "mean_error_distance": distance,
        "nll": -float(sums["logs"] / n_logs) if n_logs else None,
        "ece": None if bins is None else float(np.abs(bins[1] - bins[2]).sum() / n_samples),
        "reliability": [] if bins is None else reliability_rows(bins),
        "certified_share": float(sums["n_certified"]) / n_samples if "n_certified" in sums else None,
        "model_bytes": loaded.saved.n_bytes,
        "microseconds_per_prediction": microseconds,
    }
    if classes is not None:
        result["by_class"] = classes.as_dict()
    tables = "" if classes is None else f"\n\n{classes}"
    if reliability is not None:
        if not result["reliability"]:
            raise ValueError(f"--reliability {reliability} needs probabilities. Got a model without any.")
        _draw(result["reliability"], reliability)
    show(json.dumps(result) if as_json else f"{_text(result)}{tables}")


def _by_class(parts: list[tuple[Any, ...]], labels: Any) -> ClassReport:
    """Which classes are the problem, of all samples."""
    report("comparing classes")
    predicted, true, X, texts = zip(*parts, strict=True)
    shown = [text for own in texts for text in own]
    return classes_of(np.concatenate(predicted), np.concatenate(true), labels, stacked(list(X)), shown or None)


def _evaluated_sets(loaded: LoadedModel, data: str, reading: Any) -> tuple[LabelEvaluation, dict[str, Any]]:
    """How good the most probable labels of samples are, the predicted ones, and what a prediction takes."""
    model, n_labels = loaded.saved.coded, len(loaded.labels)
    # All at once, so that a label that is not known is the same one everywhere.
    ((X, read),) = loaded.samples(data, sys.maxsize, reporter(f"predicting {data}"), **reading)
    measured = evaluated_sets(model, X, loaded.indicator(data, read))
    report("timing predictions")
    microseconds = microseconds_of(lambda some: model.top_k(some, min(max(AT), n_labels)), X[:ROWS_AT_ONCE])
    return measured, {"model_bytes": loaded.saved.n_bytes, "microseconds_per_prediction": microseconds}


def _best(classifier: Any, X: Any) -> Any:
    """The best classes of some samples."""
    n_best = min(max(AT), len(classifier.classes_))
    if has_parts(classifier):
        return np.searchsorted(classifier.classes_, classifier.top_k(X, n_best)[0])
    return classifier.model_.top_k(X, n_best)[0]


def _sums(classifier: Any, X: Any, best: Any, class_index: Any, tree: Any) -> dict[str, Any]:
    """What is measured of some samples, whose class is -1 if it is unknown, as numbers that add up."""
    labels_of_classes, n, known = classifier.classes_, len(class_index), class_index >= 0
    model = None if has_parts(classifier) else classifier.model_
    measures = prediction_measures(best, class_index, tree=tree, at=AT)
    n_wrong = int(((best[:, 0] != class_index) & known).sum())
    counts = {"n_samples": n, "n_unknown": int((~known).sum()), "n_wrong": n_wrong}
    counts |= {f"n_among_{k}": round(n * share) for k, share in measures.recall_at.items()}
    counts |= {f"n_at_level_{level}": round(n * share) for level, share in enumerate(measures.level_accuracies)}
    sums: dict[str, Any] = {**counts, "distance": n_wrong * (measures.mean_error_distance or 0.0)}
    if model is not None and len(model.codes) > 1:
        sums["n_certified"] = model.candidates(X, 1).is_certified.sum()
    if model is not None and hasattr(classifier, "log_proba"):
        labels = labels_of_classes[class_index]
        predicted, confidence = classifier.top_k_proba(X, 1)
        logs = classifier.log_proba(X, labels)[known]
        bins = confidence_bins(confidence[:, 0], (predicted[:, 0] == labels) & known)
        sums |= {"logs": logs.sum(), "n_logs": len(logs), "bins": bins}
    return sums


def _text(result: dict[str, Any]) -> str:
    unknown = f", {result['n_unknown_labels']:,} of them with unknown labels" if result["n_unknown_labels"] else ""
    at = ", ".join(map(str, AT))
    rows = {"samples": f"{result['n_samples']:,}{unknown}", "accuracy": f"{result['accuracy']:.1%}"}
    for name in ("precision", "recall"):
        rows[f"{name} at {at}"] = _shares(result[f"{name}_at_{k}"] for k in AT)
    if result["level_accuracies"]:
        rows["accuracy by level"] = _shares(result["level_accuracies"])
    if result["mean_error_distance"] is not None:
        rows["mean tree distance of errors"] = f"{result['mean_error_distance']:.3f}"
    if result["nll"] is not None:
        rows["NLL, calibration error"] = f"{result['nll']:.4f}, {result['ece']:.4f}"
    if result["certified_share"] is not None:
        rows["certified predictions"] = f"{result['certified_share']:.1%}"
    rows |= _costs(result)
    rows |= _picture(result["reliability"])
    width = max(map(len, rows))
    return "\n".join(f"{name:{width}}  {value}" for name, value in rows.items())


def _picture(bins: list[dict[str, float]]) -> dict[str, str]:
    """A line for each bin of the probabilities: blocks for the answers that are right, a mark where they should end."""
    rows = {}
    for each in bins:
        n_blocks, place = round(BAR * each["accuracy"]), min(round(BAR * each["confidence"]), BAR - 1)
        bar = ("█" * n_blocks).ljust(BAR, "·")
        bar = f"{bar[:place]}|{bar[place + 1 :]}"
        rows[f"right at {each['confidence']:.1%}"] = f"{bar} {each['accuracy']:>6.1%} of {each['n_samples']:,}"
    return rows


def _check_figure(path: Path) -> None:
    """Stop before the work if a figure cannot be drawn."""
    if path.suffix not in (".png", ".svg"):
        raise ValueError(f"--reliability needs a name that ends in .png or .svg. Got {path}.")
    require_matplotlib()


def _draw(bins: list[dict[str, float]], path: Path) -> None:
    """The same as a figure."""
    with figure_style():
        figure, axes = new_panel(3.4, x_label="probability of the answer", y_label="share that is right")
        axes.plot([0, 1], [0, 1], color=PALETTE["grey"], linewidth=1)
        sizes = np.array([each["n_samples"] for each in bins])
        x, y = ([each[name] for each in bins] for name in ("confidence", "accuracy"))
        axes.plot(x, y, color=PALETTE["blue"], linewidth=1)
        axes.scatter(x, y, s=8 + 120 * sizes / sizes.max(), color=PALETTE["blue"], clip_on=False)
        axes.set(xlim=(0, 1), ylim=(0, 1))
    save_figure(figure, path.with_suffix(""), (path.suffix[1:],))


def _costs(result: dict[str, Any]) -> dict[str, str]:
    microseconds = f"{result['microseconds_per_prediction']:.2f} (features to label on one thread, without reading)"
    return {"microseconds per prediction": microseconds, "model": in_units(result["model_bytes"])}


def _shares(values: Iterable[float]) -> str:
    return ", ".join(f"{value:.1%}" for value in values)
