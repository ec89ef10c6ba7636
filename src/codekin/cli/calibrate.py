"""``codekin calibrate``: how probable a label must be to belong to a prediction set."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from scipy.sparse import csr_array, vstack

from codekin._system.messages import counted
from codekin._system.parallel import limited_threads
from codekin.cli.display import show
from codekin.cli.models import LoadedModel
from codekin.cli.options import App, AsJson, Format, IndexBase, Multilabel, NThreads, Quiet, Trust, reads_tables
from codekin.progress import report, reporter
from codekin.storage import check_target, save_model

app = App()

ROWS_AT_ONCE = 10_000


@app.command()
@reads_tables("keep")
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
    table: Any = None,
) -> None:
    """Calibrate the prediction sets of a model on held-out samples.

    The model then predicts sets of labels with any coverage: codekin predict MODEL DATA --coverage 0.9.
    """
    target, loaded = check_target(output or model), LoadedModel(model, trust=trust, quiet=quiet)
    samples, classifier = loaded.reader(data, format, index_base, multilabel=multilabel, table=table), loaded.classifier
    with limited_threads(n_threads), loaded.display.watching():
        chunks = list(samples(chunk_rows=ROWS_AT_ONCE, progress=reporter(f"reading {data}")))
        report("calibrating prediction sets")
        X, y = csr_array(vstack([X for X, _ in chunks])), np.concatenate([read.labels for _, read in chunks])
        classifier.calibrate_sets(X, y)
        report(f"saving {target}")
        save_model(classifier, target, model_input=loaded.model_input)
    scores = classifier.set_calibration_.scores
    n_unknown = int(np.isinf(scores).sum())
    summary = {"model": str(target), "n_samples": len(scores), "n_unknown": n_unknown}
    text = f"calibrated with {counted(len(scores), 'sample')}, {n_unknown:,} of unknown classes; saved in {target}"
    show(json.dumps(summary) if as_json else text)
