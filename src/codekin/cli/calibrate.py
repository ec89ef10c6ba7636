"""``codekin calibrate``: how probable a label must be to belong to a prediction set."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from scipy.sparse import csr_array, vstack

from codekin._system.threads import limited_threads
from codekin._system.wording import counted
from codekin.cli.display import Display
from codekin.cli.models import loaded_classifier, reading_options, sample_chunks
from codekin.cli.options import App, AsJson, Format, IndexBase, Multilabel, NThreads, Quiet, Trust
from codekin.cli.streams import show
from codekin.progress import tell, telling
from codekin.storage import check_target, save_model

app = App()

ROWS_AT_ONCE = 10_000


@app.command()
def calibrate(
    model: Annotated[Path, typer.Argument(help="The folder of a model.")],
    data: Annotated[
        Path, typer.Argument(help="A file of samples with labels that were used neither to train nor to validate.")
    ],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FOLDER", show_default="MODEL", help="Where to save the model."),
    ] = None,
    format: Format = "auto",
    index_base: IndexBase = None,
    multilabel: Multilabel = "error",
    n_threads: NThreads = None,
    as_json: AsJson = False,
    trust: Trust = False,
    quiet: Quiet = False,
) -> None:
    """Calibrate the prediction sets of a model on held-out samples.

    The model then predicts sets of labels with any coverage: codekin predict MODEL DATA --coverage 0.9.
    """
    target, display = check_target(output or model), Display(quiet)
    saved = loaded_classifier(model, display, trusted=trust)
    options = reading_options(saved, index_base, multilabel=multilabel)
    with limited_threads(n_threads), display.watching():
        parts, labels = [], []
        for X, read in sample_chunks(saved, data, format, options, ROWS_AT_ONCE, telling(f"reading {data}")):
            parts.append(X)
            labels.append(read.labels)
        if not parts:
            raise ValueError(f"{data}: there are no samples to calibrate with.")
        tell("calibrating prediction sets")
        saved.model.calibrate_sets(csr_array(vstack(parts)), np.concatenate(labels))
        tell(f"saving {target}")
        save_model(saved.model, target, model_input=saved.model_input)
    scores = saved.model.set_calibration_.scores
    n_unknown = int(np.isinf(scores).sum())
    summary = {"model": str(target), "n_samples": len(scores), "n_unknown": n_unknown}
    text = f"calibrated with {counted(len(scores), 'sample')}, {n_unknown:,} of unknown classes; saved in {target}"
    show(json.dumps(summary) if as_json else text)
