"""``codekin grow``: train a model on further samples; new classes get free codewords."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from codekin._system.messages import counted, with_article
from codekin._system.parallel import limited_threads
from codekin.cli.display import show
from codekin.cli.models import LoadedModel, stacked
from codekin.cli.options import App, AsJson, NThreads, Quiet, Trust, reads_samples
from codekin.estimators import ExtremeClassifier
from codekin.progress import report, reporter
from codekin.storage import check_target, save_model

app = App()

ROWS_AT_ONCE = 50_000
"""How many samples are trained on at once; every batch costs a copy of the weights."""


@app.command()
@reads_samples()
def grow(
    model: Annotated[
        Path, typer.Argument(help="The folder of a model that was trained with --n-reserved, or without re-ranking.")
    ],
    data: Annotated[Path, typer.Argument(help="A file of further samples with labels, known or new.")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FOLDER", show_default="MODEL", help="Where to save the grown model."),
    ] = None,
    n_epochs: Annotated[
        int, typer.Option(min=0, help="The number of passes over the samples; 0 only finds codewords for new classes.")
    ] = 1,
    n_threads: NThreads = None,
    as_json: AsJson = False,
    trust: Trust = False,
    quiet: Quiet = False,
    reading: Any = None,
) -> None:
    """Train a model on further samples, also of classes that it has not seen.

    Each new class gets the free codeword that fits its samples best; there are free ones if the model was trained with
    --n-reserved. Then all bits are trained on all samples of the file, in chunks.
    """
    if str(data) == "-":
        raise ValueError("codekin grow reads the samples several times, so they must be in a file. Got - instead.")
    target, loaded = check_target(output or model), LoadedModel(model, trust=trust, quiet=quiet)
    classifier = loaded.classifier
    _check_can_grow(model, classifier, n_epochs)
    n_classes, n_samples = len(classifier.classes_), 0
    samples = partial(loaded.samples, data, ROWS_AT_ONCE, **reading)
    with limited_threads(n_threads), loaded.display.watching():
        unknown, labels = [], []
        for X, read in samples(progress=reporter(f"looking for new classes in {data}")):
            n_samples += X.shape[0]
            is_new = ~np.isin(read.labels, classifier.classes_)
            unknown.append(X[np.flatnonzero(is_new)])
            labels.append(read.labels[is_new])
        if any(len(some) for some in labels):
            report("finding codewords for new classes")
            classifier.add_classes(stacked(unknown), np.concatenate(labels))
        for epoch in range(n_epochs):
            for X, read in samples(progress=reporter(f"epoch {epoch + 1} of {n_epochs} on {data}")):
                classifier.partial_fit(X, read.labels)
        if n_epochs:
            report("measuring the bits")
            classifier.report(X, read.labels)
        report(f"saving {target}")
        save_model(classifier, target, model_input=loaded.model_input)
    summary = {
        "model": str(target),
        "n_samples": n_samples,
        "n_classes": len(classifier.classes_),
        "n_new_classes": len(classifier.classes_) - n_classes,
        "n_free_codewords": len(classifier.model_.code.free_codewords),
    }
    show(json.dumps(summary) if as_json else _text(summary))


def _check_can_grow(model: Path, classifier: Any, n_epochs: int) -> None:
    """Raise before any sample is read if the model cannot get new classes or be trained further."""
    if not isinstance(classifier, ExtremeClassifier):
        raise ValueError(
            f"{model} holds {with_article(type(classifier).__name__)}; only an ExtremeClassifier can grow from files."
        )
    remedy = "codekin train --n-reserved N makes a model that can."
    if not classifier.model_.is_single:
        raise ValueError(f"{model} has several codes or a re-ranking, so it cannot grow; {remedy}")
    # Without a pass over the samples no weight changes, so it does not matter how they were trained.
    if n_epochs and not hasattr(classifier, "partial_fit"):
        raise ValueError(f"{model} was chosen within a budget, so it cannot be trained further; {remedy}")
    if n_epochs and not hasattr(classifier, "learner_"):
        raise ValueError(f"{model} was trained by a custom learner, which is not saved; {remedy}")


def _text(summary: dict[str, Any]) -> str:
    return (
        f"{counted(summary['n_classes'], 'class')}, {summary['n_new_classes']} of them new, "
        f"{counted(summary['n_free_codewords'], 'free codeword')} left; "
        f"{counted(summary['n_samples'], 'sample')}, saved in {summary['model']}"
    )
