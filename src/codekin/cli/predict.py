"""``codekin predict``: labels for the samples of a file or a pipe, in batches."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from codekin._system.messages import counted
from codekin._system.parallel import limited_threads
from codekin.cli.display import for_stdout
from codekin.cli.models import LoadedModel
from codekin.cli.options import App, KeptColumns, NThreads, Quiet, ToFile, Trust, check_sources, reads_samples
from codekin.data.blocks import output_stream
from codekin.data.model_input import known_word_counter
from codekin.data.row_features import FittedRows
from codekin.deploy.answers import best_labels, json_objects
from codekin.model.probabilities import check_one_label
from codekin.progress import report

app = App()


@app.command()
@reads_samples("multilabel", "label_separator", "missing_labels")
def predict(
    model: Annotated[Path, typer.Argument(help="The folder of a model.")],
    data: Annotated[str, typer.Argument(help="The samples, with or without labels; - is the standard input.")] = "-",
    output: ToFile = "-",
    top_k: Annotated[
        int | None, typer.Option(min=1, help="How many classes to print, best first, separated by tabs.")
    ] = None,
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="Print the probability of each label in a separate column.")
    ] = False,
    min_probability: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            metavar="P",
            show_default="what codekin calibrate chose; with --top-k all",
            help="Leave out less probable labels; without --top-k, a model of several labels prints all others.",
        ),
    ] = None,
    coverage: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="Print a set of labels for each sample that holds the true one in this share of all samples; needs a "
            "model that was calibrated with codekin calibrate.",
        ),
    ] = None,
    min_known: Annotated[
        int,
        typer.Option(min=0, metavar="N", help="Give no class to texts of which the model knows fewer different words."),
    ] = 0,
    chunk_rows: Annotated[
        int, typer.Option(min=1, help="How many samples to predict at a time; 1 answers a pipe line by line.")
    ] = 10_000,
    n_threads: NThreads = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON object per line.")] = False,
    trust: Trust = False,
    quiet: Quiet = False,
    keep: KeptColumns = None,
    reading: Any = None,
) -> None:
    """Predict the classes of samples.

    Prints one line per sample, in order: its label, or the requested labels and probabilities, or with --coverage the
    labels of a prediction set, separated by tabs. Without a label that is probable enough, the line is empty, and the
    label null in JSON; if the model was calibrated with a taxonomy, the answer may be a group of classes, a "node" in
    JSON. A model of several labels prints those that are probable enough, best
    first. A model that was trained on texts needs texts: the second column of a
    file with tabs, or whole lines. A text without a known word gets the most frequent classes; --json says how many
    words are known. With --min-known, texts with too few get no class: an empty line, or null in JSON. With --keep, the
    output is CSV with a header, and its rows begin with columns of the table; JSON has them as "kept".
    """
    check_sources({"DATA": data, "MODEL": model}, output)
    loaded = LoadedModel(model, trust=trust, quiet=quiet, takes_parts=True, takes_sets=True)
    display, k = loaded.display, min(top_k or 1, len(loaded.labels))
    has_parts, are_sets = loaded.parts.subclasses is not None, loaded.has_sets or coverage is not None
    lists_probable = loaded.has_sets and top_k is None
    least = min_probability
    if top_k is None and least is None and loaded.parts.set_calibration is not None:
        least = loaded.parts.set_calibration.min_probability
    groups = loaded.parts.set_calibration.groups if top_k is None and loaded.parts.set_calibration is not None else None
    if coverage is not None:
        check_one_label(loaded.saved.coded, "--coverage is for models of")
        calibration = None if has_parts else loaded.parts.set_calibration
        given = {"--top-k": top_k is not None, "--probabilities": probabilities, "--keep": keep is not None}
        given["--min-probability"] = min_probability is not None
        _check_coverage(model, calibration, coverage, given)
    vectorizer = loaded.model_input.vectorizer
    if min_known and known_word_counter(vectorizer) is None:
        raise ValueError(f"--min-known {min_known} needs a model of texts. Got one of features in {model}.")
    # Texts without a known word have no features, unless there are numbers or categories beside them.
    counts_words = as_json or min_known or isinstance(vectorizer, FittedRows)
    known_words = known_word_counter(vectorizer) if counts_words else None
    has_texts = known_words is not None or (vectorizer is not None and not counts_words)
    if keep is not None and lists_probable:
        raise ValueError(
            "--keep needs --top-k for a model of several labels per sample, whose number of labels varies."
        )
    if not as_json and keep is None:
        _check_labels(loaded.labels, has_columns=top_k is not None or probabilities or are_sets)
    stage, n_done, n_unknown = f"predicting {data}", 0, 0
    fields_of_label = ("label", "probability")[: 1 + probabilities]
    names = [f"{name}_{place + 1}" if k > 1 else name for place in range(k) for name in fields_of_label]
    # Do not fill the log while waiting for lines of a pipe.
    is_shown = data != "-" or display.is_live
    with limited_threads(n_threads), display.watching() if is_shown else nullcontext():
        report(stage)

        def progress(done: int, total: int) -> None:
            report(stage, done, total, count=n_done, unit="samples")

        with output_stream(output) as stream:
            part: Any
            for X, part in loaded.samples(data, chunk_rows, progress, labels="none", keep=keep or (), **reading):
                known = None if known_words is None else known_words(X)
                if has_texts:
                    n_unknown += int((np.diff(X.indptr) == 0).sum()) if known is None else known.count(0)
                if coverage is not None:
                    labels, of_labels = [own.tolist() for own in loaded.classifier.predict_sets(X, coverage)], None
                else:
                    # The estimator checks features of files, and knows which classes parts belong to.
                    is_checked = not has_parts and (vectorizer is not None or loaded.saved.takes(X))
                    own = (loaded.saved.coded, loaded.labels) if is_checked else (loaded.classifier, None)
                    n_listed = 0 if lists_probable else k
                    labels, of_labels = best_labels(
                        own[0], X, n_listed, probabilities, own[1], least=least, groups=groups
                    )
                for i in [i for i, n in enumerate(known or ()) if n < min_known]:
                    labels[i] = []
                    if of_labels is not None:
                        of_labels[i] = []
                kept = {name: part.columns[name] for name in part.table.kept} if keep else {}
                if as_json:
                    answers = json_objects(
                        labels, of_labels, known, has_list=top_k is not None and not are_sets, are_sets=are_sets
                    )
                    if kept:
                        rows = zip(*kept.values(), answers, strict=True)
                        answers = ({"kept": dict(zip(kept, row, strict=False)), **row[-1]} for row in rows)
                    text = "".join(json.dumps(answer, ensure_ascii=False) + "\n" for answer in answers)
                elif kept:
                    text = _csv_rows(kept, _fields(labels, of_labels), names, has_header=not n_done)
                else:
                    text = "".join("\t".join(fields) + "\n" for fields in _fields(labels, of_labels))
                stream.write((for_stdout(text) if output == "-" else text).encode())
                stream.flush()
                n_done += len(labels)
        if n_unknown:
            display.note(f"{n_unknown:,} of {counted(n_done, 'text')} had no word that the model knows")


def _check_coverage(model: Path, calibration: Any, coverage: float, given: dict[str, bool]) -> None:
    """Stop before any sample is read if sets cannot be predicted."""
    other = next((option for option, is_given in given.items() if is_given), None)
    if other is not None:
        raise ValueError(f"--coverage prints sets of labels. Got {other} as well.")
    if calibration is None:
        raise ValueError(f"--coverage needs a calibrated model; codekin calibrate {model} DATA makes it one.")
    calibration.largest_score(coverage)


def _check_labels(labels: Any, *, has_columns: bool) -> None:
    """Stop if a label would break the lines or columns of the output."""
    separators = "\r\n\t" if has_columns else "\r\n"
    for label in labels.tolist():
        if isinstance(label, str) and any(separator in label for separator in separators):
            raise ValueError(
                f"The label {label[:40]!r} contains a line break or a tab, which separate labels; use --json."
            )


def _fields(labels: list[list[Any]], probabilities: list[list[float]] | None) -> Iterator[list[str]]:
    """The labels of each sample, followed by their probabilities if there are any."""
    for i, row in enumerate(labels):
        fields = [row] if probabilities is None else [row, [f"{p:.6g}" for p in probabilities[i]]]
        yield [str(field) for pair in zip(*fields, strict=True) for field in pair]


def _csv_rows(kept: dict[str, Any], fields: Iterable[list[str]], names: list[str], *, has_header: bool) -> str:
    """Rows of what is kept and of the fields with these names."""
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, lineterminator="\n")
    if has_header:
        writer.writerow([*kept, *(f"predicted_{name}" if name in kept else name for name in names)])
    for *row, own in zip(*kept.values(), fields, strict=True):
        writer.writerow([*row, *own, *[""] * (len(names) - len(own))])
    return stream.getvalue()
