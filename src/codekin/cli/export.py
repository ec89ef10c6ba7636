"""``codekin export``: a model for programs without codekin."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from codekin._system.memory import in_units
from codekin.cli.display import Display
from codekin.cli.models import loaded_classifier
from codekin.cli.options import Quiet
from codekin.cli.streams import show
from codekin.cli.values import one_of
from codekin.export import export_onnx

app = typer.Typer()


@app.command()
def export(
    model: Annotated[Path, typer.Argument(help="The folder of a model.")],
    target: Annotated[Path, typer.Argument(help="What to write: a file whose name ends in .onnx.")],
    top_k: Annotated[int, typer.Option(min=1, help="How many labels a prediction has.")] = 5,
    input: Annotated[
        str,
        typer.Option(
            parser=one_of(("auto", "dense", "sparse")),
            metavar="NAME",
            help="The input: dense or sparse rows, or auto for what the model was trained on.",
        ),
    ] = "auto",
    quiet: Quiet = False,
) -> None:
    """Export a model for programs without codekin.

    It becomes an ONNX file, which any ONNX runtime can run without Python. The file has labels, losses, probabilities
    and margins as outputs. A vectorizer of texts stays outside: ONNX has none that makes the same features.
    """
    if target.suffix != ".onnx":
        raise ValueError(f"The name of an exported model must end in .onnx. Got {target}.")
    saved = loaded_classifier(model, Display(quiet))
    has_texts = saved.model_input.vectorizer is not None
    if input == "auto":
        input = "sparse" if has_texts or saved.model_input.encoding else "dense"
    export_onnx(saved.model, target, k=min(top_k, len(saved.model.classes_)), input=input)  # type: ignore[arg-type]
    if not quiet:
        texts = "; features of texts are made outside of it" if has_texts else ""
        show(f"{target}: {in_units(target.stat().st_size)}, {input} input{texts}")
