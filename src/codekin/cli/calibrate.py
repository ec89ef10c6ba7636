"""``codekin calibrate``: how probable a label must be to belong to a prediction set."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from codekin._system.messages import counted
from codekin._system.parallel import limited_threads
from codekin.cli.display import show
from codekin.cli.models import LoadedModel
from codekin.cli.options import (
    TAXONOMY_NEEDS,
    App,
    AsJson,
    NThreads,
    Quiet,
    TaxonomyLayout,
    Trust,
    check_needs,
    reads_samples,
)
from codekin.data import read_taxonomy
from codekin.progress import report
from codekin.storage import check_target, save_model

app = App()


@app.command()
@reads_samples()
def calibrate(
    context: typer.Context,
    model: Annotated[Path, typer.Argument(help="The folder of a model.")],
    data: Annotated[
        Path, typer.Argument(help="A file of samples with labels that were used neither to train nor to validate.")
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FOLDER", show_default="MODEL", help="Where to save the model."),
    ] = None,
    min_precision: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="Choose the probability below which codekin predict gives no label, so that this share of the labels "
            "that it gives is right, with 95 % certainty.",
        ),
    ] = None,
    taxonomy: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Groups of classes that may be answers, too: a tree of the classes, lines of `parent child`, or "
            "paths; prefixes for common beginnings of labels such as ICD codes; model for neighbours in the order that "
            "the model has given the classes.",
        ),
    ] = None,
    taxonomy_layout: TaxonomyLayout = "edges",
    thresholds: Annotated[
        str | None,
        typer.Option(
            metavar="AIM",
            show_default="micro_f1",
            help="For a model of several labels per sample, what the thresholds from which on it predicts labels are "
            "best for: micro_f1, macro_f1, or a precision such as 0.8, which they keep.",
        ),
    ] = None,
    per_label: Annotated[bool, typer.Option("--per-label", help="Choose a threshold for each label.")] = False,
    n_threads: NThreads = None,
    as_json: AsJson = False,
    trust: Trust = False,
    quiet: Quiet = False,
    reading: Any = None,
) -> None:
    """Calibrate the prediction sets of a model on held-out samples, and how sure it must be to answer.

    The model then predicts sets of labels with any coverage: codekin predict MODEL DATA --coverage 0.9. With
    --min-precision, it gives no label to samples about which it is not sure enough. For a model of
    several labels per sample, choose the thresholds instead: it predicts labels that are at least as probable.
    """
    check_needs(context, TAXONOMY_NEEDS)
    target, loaded = check_target(output or model), LoadedModel(model, trust=trust, quiet=quiet, takes_sets=True)
    classifier = loaded.classifier
    if loaded.has_sets:
        if taxonomy is not None:
            raise ValueError(f"--taxonomy {taxonomy} needs a model of one label per sample. Got one of several.")
        if min_precision is not None:
            raise ValueError(
                f"--min-precision {min_precision} needs a model of one label per sample. Got one of several; use "
                f"--thresholds {min_precision}."
            )
        aim = _aim(thresholds)
        with limited_threads(n_threads), loaded.display.watching():
            X, labels, _ = loaded.all_samples(data, **reading)
            report("choosing thresholds")
            classifier.choose_thresholds(X, labels, aim, per_label=per_label)
            report(f"saving {target}")
            save_model(classifier, target, model_input=loaded.model_input)
        chosen = classifier.model_.marginals.thresholds
        facts = {"model": str(target), "n_samples": len(labels), "aim": aim, "thresholds": chosen.tolist()}
        which = "" if len(chosen) == 1 else f" in the median of {len(chosen):,} labels"
        what = f"{np.median(chosen):.3g}{which}"
        show(json.dumps(facts) if as_json else f"the threshold is {what}; saved in {target}")
        return
    if thresholds is not None or per_label:
        option = "--per-label" if thresholds is None else f"--thresholds {thresholds}"
        raise ValueError(f"{option} needs a model of several labels per sample. Got a model of one.")
    with limited_threads(n_threads), loaded.display.watching():
        X, y, _ = loaded.all_samples(data, **reading)
        report("calibrating prediction sets")
        groups: Any = taxonomy
        if taxonomy not in (None, "prefixes", "model"):
            groups = read_taxonomy(str(taxonomy), classes=classifier.classes_, layout=taxonomy_layout)  # type: ignore[arg-type]
        classifier.calibrate_sets(X, y, min_precision=min_precision, taxonomy=groups)
        found = classifier.set_calibration_
        share = float(np.mean([label is not None for label in classifier.predict(X)])) if min_precision else 1.0
        report(f"saving {target}")
        save_model(classifier, target, model_input=loaded.model_input)
    n_samples, n_unknown = len(found.scores), int(np.isinf(found.scores).sum())
    summary: dict[str, Any] = {"model": str(target), "n_samples": n_samples, "n_unknown": n_unknown}
    text = f"calibrated with {counted(n_samples, 'sample')}, {n_unknown:,} of unknown classes"
    if min_precision is not None:
        summary |= {"min_precision": min_precision, "min_probability": found.min_probability, "answered": share}
        text += f"; answers need a probability of {found.min_probability:.3g}, which {share:.1%} of the samples have"
    if found.groups is not None:
        n_groups = sum(1 < len(getattr(name, "labels", ())) < found.groups.n_classes for name in found.groups.names)
        summary["n_groups"] = n_groups
        text += f"; {n_groups:,} groups of classes may be answers"
    text += f"; saved in {target}"
    show(json.dumps(summary) if as_json else text)


def _aim(given: str | None) -> str | float:
    """What thresholds are best for: a name, or a precision."""
    try:
        return "micro_f1" if given is None else float(given)
    except ValueError:
        return str(given)
