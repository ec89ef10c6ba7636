"""``codekin explore``: a page about a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from codekin._system.arrays import read_npy
from codekin._system.memory import in_units
from codekin._system.parallel import limited_threads
from codekin.cli.display import show
from codekin.cli.models import LoadedModel
from codekin.cli.options import TABLE_OPTIONS, App, NThreads, Quiet, Trust, check_sources, reads_samples
from codekin.data.datasets import TextData
from codekin.data.model_input import samples_for
from codekin.deploy.explore.page import explorer_page
from codekin.progress import report

app = App()


@app.command()
@reads_samples("label_separator", *TABLE_OPTIONS)
def explore(
    model: Annotated[Path, typer.Argument(help="The folder of a model.")],
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The page to write.")],
    data: Annotated[
        Path | None,
        typer.Option(help="A file of samples with labels: for confusions, losses of bits and predictions to look at."),
    ] = None,
    accuracies: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.npy",
            help="The test accuracies of all assignments of at most ten classes, in percent, in lexicographic order.",
        ),
    ] = None,
    title: Annotated[str | None, typer.Option(show_default="the name of the model", help="The heading.")] = None,
    n_threads: NThreads = None,
    trust: Trust = False,
    quiet: Quiet = False,
    reading: Any = None,
) -> None:
    """Write a page about a model: its coding matrix, classes, bits and predictions.

    The page is one HTML file below 5 MB that needs no network. Text models on trees, or on one trellis, predict
    what you type.
    """
    if output.suffix not in (".html", ".htm"):
        raise ValueError(f"The name of a page must end in .html. Got {output}.")
    check_sources({"--data": data, "--accuracies": accuracies, "MODEL": model}, output)
    loaded = LoadedModel(model, trust=trust, quiet=quiet)
    classifier, vectorizer = loaded.classifier, loaded.model_input.vectorizer
    is_numbered = vectorizer is None and not hasattr(classifier, "feature_names_in_")
    X, y, texts = None, None, None
    with limited_threads(n_threads), loaded.display.watching(only_if_slow=True):
        if data is not None:
            X, y, parts = loaded.all_samples(data, **reading)
            if vectorizer is not None:
                read = [part for part in parts if isinstance(part, TextData)]
                texts = [sample for part in read for sample in samples_for(vectorizer, part)]
        report("making the page")
        page = explorer_page(
            classifier,
            X,
            y,
            texts=texts,
            vectorizer=vectorizer,
            accuracies=None if accuracies is None else read_npy(accuracies),
            title=title or f"Model {model.resolve().name}",
            feature_name=(lambda _, feature: loaded.feature_name(feature)) if is_numbered else None,
        )
        written = page.save(output)
    if not quiet:
        show(f"{written}: {in_units(written.stat().st_size)}")
