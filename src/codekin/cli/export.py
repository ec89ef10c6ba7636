"""``codekin export``: a model for programs without codekin."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from codekin._system.memory import in_units
from codekin._system.messages import Need
from codekin.cli.display import show
from codekin.cli.models import LoadedModel
from codekin.cli.options import App, Quiet, Trust, check_needs, check_sources, named
from codekin.data.row_features import takes_vectors
from codekin.deploy.export import export_onnx, export_page

app = App()

NEEDS = {
    "input": (
        Need("a target whose name ends in .onnx. Got {target.value}", lambda given: given.target.suffix == ".onnx"),
    ),
    "title": (Need("a folder for a page. Got {target.value}", lambda given: given.target.suffix != ".onnx"),),
}


@app.command()
def export(
    context: typer.Context,
    model: Annotated[Path, typer.Argument(help="The folder of a model.")],
    target: Annotated[
        Path, typer.Argument(help="What to write: a file whose name ends in .onnx, or the folder of a page.")
    ],
    top_k: Annotated[int, typer.Option(min=1, help="How many labels a prediction has.")] = 5,
    input: Annotated[
        str,
        named(
            ("auto", "dense", "sparse"),
            "The input of an ONNX model: dense or sparse rows, or auto for what the model was trained on.",
        ),
    ] = "auto",
    title: Annotated[str, typer.Option(help="The heading of a page.")] = "Text classifier",
    trust: Trust = False,
    quiet: Quiet = False,
) -> None:
    """Export a model for programs without codekin.

    An ONNX file runs in any ONNX runtime without Python. Its outputs are labels, losses, probabilities and margins. A
    vectorizer of texts stays outside: ONNX has none that makes the same features.

    A page runs in a browser, without a server: type a text, get its classes. It is one file, index.html, with the model
    and its vectorizer inside. Models of several columns have a field for each of them.
    """
    if target.suffix and target.suffix != ".onnx" and not target.is_dir():
        raise ValueError(
            "The name of an exported model must end in .onnx, or be that of a folder for a page, such as page/. "
            f"Got {target}."
        )
    check_sources({"MODEL": model}, target)
    check_needs(context, NEEDS)
    loaded = LoadedModel(model, trust=trust, quiet=quiet)
    vectorizer, k = loaded.model_input.vectorizer, min(top_k, len(loaded.classifier.classes_))
    if target.suffix == ".onnx":
        is_sparse = not takes_vectors(vectorizer) and (vectorizer is not None or bool(loaded.model_input.encoding))
        kind: Any = ("sparse" if is_sparse else "dense") if input == "auto" else input
        written = export_onnx(loaded.classifier, target, k=k, input=kind)
        note = f", {kind} input" + (
            "" if vectorizer is None or takes_vectors(vectorizer) else "; features of texts are made outside of it"
        )
    elif vectorizer is None:
        raise ValueError(f"A page needs a model of texts. Got one of features in {model}.")
    else:
        written, note = export_page(loaded.classifier, target, vectorizer=vectorizer, title=title, k=k), ""
    if target.suffix == ".onnx" and (least := loaded.classifier._least(None)):
        note += (
            f"; it always answers: an answer less probable than its property min_probability, {least:.3g}, means none"
        )
    if not quiet:
        show(f"{written}: {in_units(written.stat().st_size)}{note}")
