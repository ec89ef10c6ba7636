"""``codekin predict``: labels for the samples of a file or a pipe, in batches."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from codekin._system.files import output_stream
from codekin._system.threads import limited_threads
from codekin.cli.display import Display
from codekin.cli.models import loaded_classifier, reading_options, sample_chunks
from codekin.cli.options import Format, IndexBase, NThreads, Quiet, Trust
from codekin.cli.streams import for_stdout
from codekin.predicting.answers import json_objects
from codekin.progress import tell

app = typer.Typer()


@app.command()
def predict(
    model: Annotated[Path, typer.Argument(help="The folder of a model.")],
    data: Annotated[str, typer.Argument(help="The samples, with or without labels; - is the standard input.")] = "-",
    output: Annotated[
        str,
        typer.Option("--output", "-o", metavar="FILE", help="Where to write; - is the standard output."),
    ] = "-",
    top_k: Annotated[
        int | None, typer.Option(min=1, help="How many classes to print, best first, separated by tabs.")
    ] = None,
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="Print the probability of each label in a separate column.")
    ] = False,
    coverage: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="Print a set of labels for each sample that holds the true one in this share of all samples; needs a "
            "model that was calibrated with codekin calibrate.",
        ),
    ] = None,
    format: Format = "auto",
    index_base: IndexBase = None,
    chunk_rows: Annotated[
        int, typer.Option(min=1, help="How many samples to predict at a time; 1 answers a pipe line by line.")
    ] = 10_000,
    n_threads: NThreads = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON object per line.")] = False,
    trust: Trust = False,
    quiet: Quiet = False,
) -> None:
    """Predict the classes of samples.

    Prints one line per sample, in order: its label, or the requested labels and probabilities, or with --coverage the
    labels of a prediction set, separated by tabs. A model that was trained on texts needs texts: the second column of a
    file with tabs, or whole lines.
    """
    display = Display(quiet)
    saved = loaded_classifier(model, display, trusted=trust, takes_parts=True)
    classifier = saved.model
    if coverage is not None:
        _check_coverage(model, classifier, coverage, top_k, probabilities)
    k = 1 if top_k is None else min(top_k, len(classifier.classes_))
    lines = _json_lines if as_json else _text_lines
    if not as_json:
        _check_labels(classifier.classes_, has_columns=top_k is not None or probabilities or coverage is not None)
    options = reading_options(saved, index_base, labels="none")
    stage, n_done = f"predicting {data}", 0
    # Do not fill the log while waiting for lines of a pipe.
    is_shown = data != "-" or display.is_live
    with limited_threads(n_threads), display.watching() if is_shown else nullcontext():
        tell(stage)

        def progress(done: int, total: int) -> None:
            tell(stage, done, total, count=n_done, unit="samples")

        with output_stream(output) as stream:
            for X, _ in sample_chunks(saved, data, format, options, chunk_rows, progress):
                if coverage is not None:
                    labels = [own.tolist() for own in classifier.predict_sets(X, coverage)]
                    text = "".join(_set_lines(labels, as_json))
                else:
                    labels, of_labels = _best(classifier, X, k, probabilities)
                    text = "".join(lines(labels, of_labels, top_k is not None))
                stream.write((for_stdout(text) if output == "-" else text).encode())
                stream.flush()
                n_done += len(labels)


def _check_coverage(model: Path, classifier: Any, coverage: float, top_k: int | None, probabilities: bool) -> None:
    """Stop before any sample is read if sets cannot be predicted."""
    other = "--top-k" if top_k is not None else "--probabilities" if probabilities else None
    if other is not None:
        raise ValueError(f"--coverage prints sets of labels. Got {other} beside it.")
    if not hasattr(classifier, "set_calibration_"):
        raise ValueError(f"--coverage needs a calibrated model; codekin calibrate {model} DATA makes it one.")
    classifier.set_calibration_.largest_score(coverage)


def _set_lines(labels: list[list[Any]], as_json: bool) -> Iterator[str]:
    """The labels of each set, separated by tabs, or as a list."""
    for own in labels:
        yield (json.dumps({"labels": own}, ensure_ascii=False) if as_json else "\t".join(map(str, own))) + "\n"


def _check_labels(labels: Any, *, has_columns: bool) -> None:
    """Stop if a label would break the lines or columns of the output."""
    separators = "\r\n\t" if has_columns else "\r\n"
    for label in labels.tolist():
        if isinstance(label, str) and any(separator in label for separator in separators):
            raise ValueError(
                f"The label {label[:40]!r} contains a line break or a tab, which separate labels; use --json."
            )


def _best(classifier: Any, X: Any, k: int, has_probabilities: bool) -> tuple[list[list[Any]], list[list[float]] | None]:
    """The best labels of each sample and, if requested, their probabilities."""
    if has_probabilities:
        labels, probabilities = classifier.top_k_proba(X, k)
        return labels.tolist(), probabilities.tolist()
    # Decoding only the best class is faster.
    labels = classifier.predict(X)[:, None] if k == 1 else classifier.top_k(X, k)[0]
    return labels.tolist(), None


def _text_lines(labels: list[list[Any]], probabilities: list[list[float]] | None, _is_list: bool) -> Iterator[str]:
    if probabilities is None and labels and len(labels[0]) == 1:
        yield "\n".join([str(label) for (label,) in labels]) + "\n"
        return
    if probabilities is None:
        yield from ("\t".join(map(str, row)) + "\n" for row in labels)
        return
    for row, of_row in zip(labels, probabilities, strict=True):
        yield "\t".join(f"{label}\t{probability:.6g}" for label, probability in zip(row, of_row, strict=True)) + "\n"


def _json_lines(labels: list[list[Any]], probabilities: list[list[float]] | None, is_list: bool) -> Iterator[str]:
    for answer in json_objects(labels, probabilities, has_list=is_list):
        yield json.dumps(answer, ensure_ascii=False) + "\n"
