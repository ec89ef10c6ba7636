"""``codekin suspects``: training samples whose labels are perhaps wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from codekin._system.parallel import limited_threads
from codekin.cli.display import show
from codekin.cli.models import LoadedModel
from codekin.cli.options import App, AsJson, NThreads, Quiet, RandomState, Trust, check_sources, reads_samples
from codekin.data.datasets import TextData
from codekin.estimators.suspects import N_SHOWN, suspected_labels
from codekin.progress import report

app = App()


@app.command()
@reads_samples("multilabel", "label_separator")
def suspects(
    model: Annotated[Path, typer.Argument(help="The folder of a model.")],
    data: Annotated[Path, typer.Argument(help="The training samples of the model, or others with labels.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE.csv", help="Where to write the list.")
    ] = None,
    n_listed: Annotated[
        int | None, typer.Option("--n-listed", min=1, show_default="all", help="How many samples to write.")
    ] = None,
    n_folds: Annotated[
        int, typer.Option("--n-folds", min=2, help="How many parts of the samples judge each other.")
    ] = 5,
    random_state: RandomState = 0,
    n_threads: NThreads = None,
    as_json: AsJson = False,
    trust: Trust = False,
    quiet: Quiet = False,
    reading: Any = None,
) -> None:
    """List samples whose labels are perhaps wrong, the most suspicious first.

    Models with the settings of this one, but without a budget, learn from all parts of the samples but one and judge
    the labels of that part: what counts is by how much another label is more probable than the given one. Prints the
    first twenty; the list is a CSV file. Samples of classes with a single sample are not judged.
    """
    if n_listed is not None and output is None:
        raise ValueError(f"--n-listed {n_listed} needs --output FILE.csv. Got none.")
    check_sources({"DATA": data, "MODEL": model}, output)
    loaded = LoadedModel(model, trust=trust, quiet=quiet)
    with limited_threads(n_threads), loaded.display.watching():
        X, y, parts = loaded.all_samples(data, **reading)
        texts = [text for part in parts if isinstance(part, TextData) for text in part.texts]
        found = suspected_labels(
            loaded.classifier, X, y, n_folds=n_folds, texts=texts or None, random_state=random_state
        )
        if output is not None:
            report(f"writing {output}")
            found.save(output, n_listed)
    where = "" if output is None else f"\nwritten to {output}"
    show(json.dumps(found.as_dict(N_SHOWN), ensure_ascii=False) if as_json else f"{found}{where}")
