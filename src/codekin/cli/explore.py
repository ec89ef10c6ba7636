"""``codekin explore``: a page about a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from scipy.sparse import csr_array, vstack

from codekin._system.arrays import read_npy
from codekin._system.memory import in_units
from codekin._system.threads import limited_threads
from codekin.cli.display import Display
from codekin.cli.models import loaded_classifier, reading_options, sample_chunks
from codekin.cli.option_needs import check_sources
from codekin.cli.options import App, Format, IndexBase, Multilabel, NThreads, Quiet, Trust
from codekin.cli.streams import show
from codekin.datasets.samples import TextData
from codekin.explore.page import explorer_page
from codekin.progress import tell, telling
from codekin.storage import SavedModel

app = App()

ROWS_AT_ONCE = 10_000


@app.command()
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
    format: Format = "auto",
    index_base: IndexBase = None,
    multilabel: Multilabel = "error",
    n_threads: NThreads = None,
    trust: Trust = False,
    quiet: Quiet = False,
) -> None:
    """Write a page about a model: its coding matrix, classes, bits and predictions.

    The page is one HTML file below 5 MB that needs no network. Text models on trees, or on one trellis, predict
    what you type.
    """
    if output.suffix not in (".html", ".htm"):
        raise ValueError(f"The name of a page must end in .html. Got {output}.")
    check_sources({"--data": data, "--accuracies": accuracies, "MODEL": model}, output)
    display = Display(quiet)
    saved = loaded_classifier(model, display, trusted=trust)
    X, y, texts = None, None, None
    with limited_threads(n_threads), display.watching(only_if_slow=True):
        if data is not None:
            options = reading_options(saved, index_base, multilabel=multilabel)
            chunks = sample_chunks(saved, data, format, options, ROWS_AT_ONCE, telling(f"reading {data}"))
            X, y, texts = _samples(data, list(chunks))
        tell("making the page")
        # As the file numbers them.
        base = saved.model_input.encoding.get("index_base", 0)
        heading = title or f"Model {model.resolve().name}"
        page = explorer_page(
            saved.model,
            X,
            y,
            texts=texts,
            vectorizer=saved.model_input.vectorizer,
            accuracies=None if accuracies is None else read_npy(accuracies),
            title=heading,
            feature_name=_numbered(saved, base),
        )
        written = page.save(output)
    if not quiet:
        show(f"{written}: {in_units(written.stat().st_size)}")


def _samples(data: Path, chunks: list[tuple[Any, Any]]) -> tuple[Any, Any, list[str] | None]:
    """All samples of a file, their labels and, if there are any, texts."""
    if not chunks:
        raise ValueError(f"{data}: there are no samples to look at.")
    X, y = csr_array(vstack([X for X, _ in chunks])), np.concatenate([read.labels for _, read in chunks])
    if not all(isinstance(read, TextData) for _, read in chunks):
        return X, y, None
    return X, y, [text for _, read in chunks for text in read.texts]


def _numbered(saved: SavedModel, base: int) -> Any:
    """What features are called if they have numbers; None if they are words or have names."""
    if saved.model_input.vectorizer is not None or hasattr(saved.model, "feature_names_in_"):
        return None
    return lambda _, feature: f"feature {feature + base}"
