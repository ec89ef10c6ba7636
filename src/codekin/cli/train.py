"""``codekin train``: learn a model from a file of samples and save it in a folder; can resume after an interruption."""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from codekin._system.files import followed
from codekin._system.folders import bytes_in, is_fixed
from codekin._system.memory import in_units
from codekin._system.stored_rows import StoredRows
from codekin._system.threads import limited_threads
from codekin._system.wording import counted
from codekin.cli.cluster import workers
from codekin.cli.display import Display
from codekin.cli.main import Session, leaving
from codekin.cli.models import ranking_facts, ranking_text
from codekin.cli.option_needs import TRAIN_NEEDS, check_needs, check_settings, check_sources
from codekin.cli.options import (
    App,
    AsJson,
    Format,
    IndexBase,
    Multilabel,
    NJobs,
    NThreads,
    Quiet,
    RandomState,
    Scheduler,
    Taxonomy,
    TaxonomyLayout,
)
from codekin.cli.streams import show
from codekin.cli.train_options import (
    Analyzer,
    AssignmentChoice,
    Average,
    Cache,
    CandidatesName,
    Checkpoint,
    ClassWeight,
    CodeName,
    EstimatorName,
    FitIntercept,
    LossName,
    MaxBits,
    MaxFeatures,
    MaxMemory,
    MaxMicroseconds,
    MaxModelBytes,
    MinDf,
    NEpochs,
    NFeatures,
    NgramRange,
    NMembers,
    NSpare,
    Patience,
    PrecisionName,
    Prune,
    Regularisation,
    Rerank,
    Resume,
    TextMethod,
    TimeLimit,
    ValidationFile,
    Width,
)
from codekin.datasets import ReadOptions, TextVectorizer, read_taxonomy
from codekin.datasets.reading import format_of
from codekin.datasets.training_samples import SampleReader, TrainingSamples
from codekin.estimators import TrellisClassifier
from codekin.fitting.checked_choices import ASSIGNMENT_NAMES
from codekin.fitting.learner_choice import AutoLearner
from codekin.fitting.report import report_text
from codekin.fitting.rules import TRELLIS_RULES
from codekin.learners import AROW, Checkpoints, EpochReport, Softmax
from codekin.progress import tell
from codekin.storage import SavedAssignment, check_target, load_assignment, save_model
from codekin.storage.model_input import input_bytes

app = App()

MOST_MEASURED = 1_000
"""The report is measured on at most this many training samples."""


@app.command()
def train(
    context: typer.Context,
    data: Annotated[str, typer.Argument(help="The training samples; - is the standard input.")],
    model: Annotated[Path, typer.Argument(help="The folder to save the model in.")],
    taxonomy: Taxonomy = None,
    taxonomy_layout: TaxonomyLayout = "edges",
    width: Width = "auto",
    code: CodeName = "auto",
    max_bits: MaxBits = None,
    max_model_bytes: MaxModelBytes = None,
    max_microseconds: MaxMicroseconds = None,
    time_limit: TimeLimit = None,
    assignment: AssignmentChoice = "auto",
    loss: LossName = "auto",
    estimator: EstimatorName = "auto",
    n_epochs: NEpochs = 5,
    r: Regularisation = None,
    fit_intercept: FitIntercept = False,
    average: Average = False,
    class_weight: ClassWeight = None,
    validation: ValidationFile = None,
    patience: Patience = 2,
    prune: Prune = "auto",
    precision: PrecisionName = "auto",
    rerank: Rerank = "auto",
    candidates: CandidatesName = "auto",
    n_members: NMembers = "auto",
    n_spare: NSpare = 0,
    max_memory: MaxMemory = None,
    cache: Cache = None,
    text: TextMethod = "tfidf",
    analyzer: Analyzer = "word",
    ngram_range: NgramRange = "1,2",
    min_df: MinDf = 1,
    max_features: MaxFeatures = None,
    format: Format = "auto",
    n_features: NFeatures = None,
    index_base: IndexBase = None,
    multilabel: Multilabel = "error",
    random_state: RandomState = 0,
    n_threads: NThreads = None,
    n_jobs: NJobs = None,
    scheduler: Scheduler = None,
    resume: Resume = False,
    checkpoint: Checkpoint = True,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Learn to classify from samples, and save the model.

    Ctrl-C leaves a checkpoint next to the model; the same command with --resume continues from it and ends with the
    same model.
    """
    started, display = time.perf_counter(), Display(quiet)
    check_target(model)
    check_format = partial(check_needs, context, TRAIN_NEEDS)
    check_format(format=format_of(data, format))
    check_sources({"DATA": data, "--validation": validation, "--taxonomy": taxonomy})
    chosen = _chosen_assignment(assignment)
    check_settings(context, TRELLIS_RULES, assignment=chosen)
    settings = {
        "n_epochs": n_epochs,
        "fit_intercept": fit_intercept,
        "class_weight": class_weight,
        "patience": patience,
    }
    make_learner = partial(_learner, estimator, {"r": r, "average": average or None}, settings)
    classifier = TrellisClassifier(
        width,
        max_bits=max_bits,
        max_model_bytes=max_model_bytes,
        max_microseconds=max_microseconds,
        time_limit=time_limit,
        code=code,  # type: ignore[arg-type]
        estimator=make_learner(max_memory),
        loss=loss,
        prune=prune,
        precision=precision,  # type: ignore[arg-type]
        rerank=None if rerank == "none" else rerank,  # type: ignore[arg-type]
        candidates=candidates,  # type: ignore[arg-type]
        n_members=n_members,
        n_spare=n_spare,
        random_state=random_state,
    )
    columns = {} if n_features is None else {"n_features": n_features}
    reader = SampleReader(
        display.note,
        format,
        n_features,
        ReadOptions(multilabel=multilabel, index_base="auto" if index_base is None else index_base),  # type: ignore[arg-type]
        TextVectorizer(text, analyzer, ngram_range, min_df, max_features, **columns),  # type: ignore[arg-type]
        max_model_bytes,
    )
    checkpoints = Checkpoints(_checkpoint_folder(model), resume) if checkpoint else None
    with (
        limited_threads(n_threads),
        workers(n_jobs, scheduler),
        _interruptible(context.obj, checkpoints),
        display.watching(),
    ):
        samples = reader.samples(data, validation, max_memory, cache)
        check_format(format="features" if samples.model_input.vectorizer is None else "tsv")
        if max_memory is not None:
            classifier.estimator = make_learner(max(max_memory - samples.n_bytes, 1))
        if taxonomy is not None:
            classifier.taxonomy = read_taxonomy(taxonomy, classes=samples.classes, layout=taxonomy_layout)  # type: ignore[arg-type]
        if isinstance(chosen, SavedAssignment):
            classifier.width = _width_of(chosen, assignment, width)
            classifier.assignment = chosen.for_labels(samples.classes)
        else:
            classifier.assignment = chosen
        try:
            epochs = _fitted(display, classifier, samples, checkpoints)
        except ValueError:
            if checkpoints is not None and not resume:
                checkpoints.clear()  # there is nothing to resume
            raise
        _measure(classifier, samples)
        accuracy = _validation_accuracy(classifier, samples)
        tell(f"saving {model}")
        save_model(classifier, model, model_input=samples.model_input)
        if checkpoints is not None:
            checkpoints.clear()
        summary = {**_summary(classifier, model, samples, epochs), **accuracy}
    summary["seconds"] = time.perf_counter() - started
    show(json.dumps(summary) if as_json else _text(classifier, summary))


def _checkpoint_folder(model: Path) -> Path:
    """A folder next to the model, or hidden in it if the model is a volume: elsewhere the container would lose it."""
    target = followed(model)
    return target / ".checkpoint" if is_fixed(target) else target.with_name(f"{target.name}.checkpoint")


def _learner(
    name: str, of_arow: dict[str, Any], settings: dict[str, Any], max_memory: int | None
) -> AROW | Softmax | AutoLearner:
    """The learner of this name; for "auto", options of AROW choose AROW."""
    given = {option: value for option, value in of_arow.items() if value is not None}
    arow, softmax = AROW(**given, **settings, max_memory=max_memory), Softmax(**settings, max_memory=max_memory)
    if name == "auto":
        return arow if given else AutoLearner(arow, softmax)
    return arow if name == "arow" else softmax


# ----- the assignment ----------------------------------------------------------------------------------------------


def _chosen_assignment(choice: str) -> str | SavedAssignment:
    """A policy, the name of a method, or an assignment from a file."""
    if choice == "auto" or choice in ASSIGNMENT_NAMES:
        return choice
    if not choice.endswith(".json") and not Path(choice).exists():
        raise ValueError(
            f"--assignment must be one of auto, {', '.join(ASSIGNMENT_NAMES)}, or a file written by codekin assign. "
            f"Got {choice!r} instead."
        )
    return load_assignment(choice)


def _width_of(saved: SavedAssignment, source: str, width: Any) -> int:
    """The width of the trellis that an assignment is for."""
    own = saved.codebook.width
    if own is None:
        raise ValueError(
            f"{source} assigns the codewords of the codebook {saved.codebook.name!r}; codekin train needs the paths of "
            "a trellis."
        )
    if width not in ("auto", own):
        raise ValueError(f"{source} assigns the paths of a trellis of width {own}. Got --width {width} with it.")
    return own


# ----- fitting, progress and interruptions --------------------------------------------------------------------------


def _fitted(
    display: Display,
    classifier: TrellisClassifier,
    samples: TrainingSamples,
    checkpoints: Checkpoints | None,
) -> list[EpochReport]:
    """Fit the classifier; returns the reports of all passes."""
    if checkpoints is not None and checkpoints.exists:
        what = "resuming from" if checkpoints.resume else "without --resume, this training will replace"
        display.note(f"{what} the checkpoint in {checkpoints.folder}")
    shape = f"{samples.X.shape[0]:,} samples x {samples.X.shape[1]:,} features, {len(samples.classes):,} classes"
    tell(f"training on {shape}")
    reports: list[EpochReport] = []

    def on_epoch(report: EpochReport) -> None:
        reports.append(report)
        if report.score is not None:
            display.note(f"validation {report.score:.4f} after epoch {report.epoch} of {report.n_epochs}")

    classifier.fit(
        samples.X,
        samples.data.encoded_labels,
        samples.sample_weight,
        validation=samples.held_out,
        on_epoch=on_epoch,
        checkpoints=checkpoints,
        reserved_bytes=input_bytes(samples.model_input),
    )
    return reports


@contextmanager
def _interruptible(session: Session, checkpoints: Checkpoints | None) -> Iterator[None]:
    """On Ctrl-C or SIGTERM, print what is kept and how to continue."""
    if checkpoints is None:
        yield
        return
    try:
        with checkpoints.held():
            yield
    except KeyboardInterrupt as interruption:
        if not checkpoints.exists:
            sentence = "codekin: interrupted before an epoch was complete; there is nothing to resume from."
        else:
            arguments = [argument for argument in session.arguments if argument != "--resume"]
            command = shlex.join(["codekin", *arguments, "--resume"])
            sentence = f"codekin: interrupted; {checkpoints.folder} holds the last epoch. Continue with: {command}"
        raise leaving(interruption, sentence) from None


def _measure(classifier: TrellisClassifier, samples: TrainingSamples) -> None:
    """Measure the bits for the report, on evenly spaced training samples if there are many."""
    rows = np.arange(0, samples.data.n_samples, -(-samples.data.n_samples // MOST_MEASURED))
    labels = samples.classes[samples.data.encoded_labels.class_index[rows]]
    tell(f"measuring the bits on {counted(len(rows), 'training sample')}")
    classifier.report(samples.X.at(rows) if isinstance(samples.X, StoredRows) else samples.X[rows], labels)


# ----- output -------------------------------------------------------------------------------------------------------


def _summary(
    classifier: TrellisClassifier, model: Path, samples: TrainingSamples, epochs: list[EpochReport]
) -> dict[str, Any]:
    report = classifier.report().as_dict()
    del report["bit_losses"]
    return {
        "model": str(model),
        "model_bytes": bytes_in(model),
        "n_samples": samples.data.n_samples,
        "n_features": int(samples.X.shape[1]),
        "width": classifier.codebook_.graph.width if classifier.codebook_.graph is not None else None,
        **report,
        "n_epochs": max((epoch.epoch for epoch in epochs), default=0),
        "temperature": classifier.temperature_,
        "ranking": ranking_facts(classifier.model_),
    }


def _validation_accuracy(classifier: TrellisClassifier, samples: TrainingSamples) -> dict[str, Any]:
    """The share of the validation samples that the finished model gets right, and how many it cannot."""
    if samples.held_out is None:
        return {"validation_accuracy": None}
    X, labels = samples.held_out
    tell(f"predicting {counted(len(labels), 'validation sample')}")
    n_unknown = int(np.sum(~np.isin(labels, classifier.classes_)))
    accuracy = float(np.mean(classifier.predict(X) == labels))
    return {"validation_accuracy": accuracy, "n_unknown_validation_labels": n_unknown}


def _text(classifier: TrellisClassifier, summary: dict[str, Any]) -> str:
    lines = []
    if summary["validation_accuracy"] is not None:
        n_unknown = summary["n_unknown_validation_labels"]
        unknown = f"; {counted(n_unknown, 'sample')} of classes without training samples" if n_unknown else ""
        lines.append(f"validation accuracy {summary['validation_accuracy']:.4f}{unknown}")
    lines.append(report_text(classifier.report(), measured_on="training sample"))
    lines += ranking_text(summary["ranking"])
    lines.append(
        f"{summary['n_samples']:,} samples x {summary['n_features']:,} features in {summary['seconds']:.1f} s; "
        f"{in_units(summary['model_bytes'])} in {summary['model']}"
    )
    return "\n".join(lines)
