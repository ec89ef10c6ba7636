"""``codekin train``: learn a model from a file of samples and save it in a folder; can resume after an interruption."""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from codekin._system.files import beside, bytes_in
from codekin._system.messages import EXTRAS, counted
from codekin._system.parallel import workers
from codekin._system.rows import StoredRows
from codekin.cli.display import Display, show
from codekin.cli.main import Session, leaving
from codekin.cli.models import ranking_facts, ranking_text
from codekin.cli.options import (
    App,
    AsJson,
    Format,
    IndexBase,
    LabelSeparator,
    Multilabel,
    NJobs,
    NThreads,
    Quiet,
    RandomState,
    Scheduler,
    Taxonomy,
    TaxonomyLayout,
    check_needs,
    check_sources,
    number_of,
    reads_tables,
)
from codekin.cli.train_options import (
    ASSIGNMENT_NAMES,
    CODE_SETTINGS,
    LEARNER_SETTINGS,
    OPTIONS,
    TEXT_SETTINGS,
    TRAIN_NEEDS,
    Cache,
    Checkpoint,
    Details,
    NFeatures,
    Resume,
    ValidationFile,
    with_options,
)
from codekin.data import ReadOptions, TextVectorizer, read_taxonomy
from codekin.data.datasets import USES, DataError, SparseData, TableColumns, TextData
from codekin.data.model_input import ModelInput
from codekin.data.reading import format_of
from codekin.data.recipes import NoFeaturesError
from codekin.data.row_features import is_weight
from codekin.data.training_samples import SampleReader, TrainingSamples
from codekin.estimators.extreme_fit import ExtremeFit
from codekin.estimators.text_fit import TextFit
from codekin.fitting.defaults import AutoLearner, with_less_memory
from codekin.fitting.report import TrainingReport, report_text
from codekin.fitting.setting import ASSIGNMENT_CHOICES
from codekin.fitting.trial import microseconds_of
from codekin.learners import LEARNERS, Checkpoints, EpochReport
from codekin.measures import LabelEvaluation
from codekin.measures.predictions import N_BEST, Baselines, Evaluation, evaluated
from codekin.model.probabilities import evaluated_sets
from codekin.progress import report as report_progress
from codekin.states import input_bytes
from codekin.storage import SavedAssignment, check_target, load_assignment, save_model

app = App()

MOST_MEASURED = 1_000
"""The report is measured on at most this many training samples."""


@app.command()
@reads_tables()
@with_options(OPTIONS)
def train(
    context: typer.Context,
    data: Annotated[str, typer.Argument(help="The training samples; - is the standard input.")],
    model: Annotated[Path, typer.Argument(help="The folder to save the model in.")],
    taxonomy: Taxonomy = None,
    taxonomy_layout: TaxonomyLayout = "edges",
    validation: ValidationFile = None,
    cache: Cache = None,
    format: Format = "auto",
    n_features: NFeatures = None,
    index_base: IndexBase = None,
    multilabel: Multilabel = "error",
    label_separator: LabelSeparator = None,
    random_state: RandomState = 0,
    n_threads: NThreads = None,
    n_jobs: NJobs = None,
    scheduler: Scheduler = None,
    resume: Resume = False,
    checkpoint: Checkpoint = True,
    as_json: AsJson = False,
    details: Details = False,
    quiet: Quiet = False,
    **given: Any,
) -> None:
    """Learn to classify from samples, and save the model.

    Ctrl-C leaves a checkpoint next to the model; the same command with --resume continues from it and ends with the
    same model.
    """
    started, display = time.perf_counter(), Display(quiet)
    settings, of_learner, of_texts = (
        {setting.name: given[setting.name] for setting in table}
        for table in (CODE_SETTINGS, LEARNER_SETTINGS, TEXT_SETTINGS)
    )
    check_target(model)
    chosen = _chosen_assignment(settings["assignment"])
    check_format = partial(check_needs, context, TRAIN_NEEDS, assignment=chosen)
    check_format(format=format_of(data, format))
    of_file = validation if isinstance(validation, str) else None
    check_sources({"DATA": data, "--validation": of_file, "--taxonomy": taxonomy})
    weights = _with_weights(given["table"])
    reader = SampleReader(
        display.note,
        format,
        n_features,
        ReadOptions(
            multilabel=multilabel,  # type: ignore[arg-type]
            label_separator=label_separator,
            index_base="auto" if index_base is None else index_base,  # type: ignore[arg-type]
            **given["table"],
        ),
        shows_rows=not as_json,
    )
    checkpoints = Checkpoints(beside(model, "checkpoint"), resume) if checkpoint else None
    with (
        workers(n_jobs, scheduler, n_threads),
        _interruptible(context.obj, checkpoints),
        display.watching(),
    ):
        samples = reader.samples(data, validation, of_learner["max_memory"], cache, random_state)
        source: Any = samples.data
        is_text, classes = isinstance(source, TextData), source.classes
        has_texts = is_text and (source.table is None or bool(source.table.text))
        check_format(format="tsv" if has_texts else "features")
        settings["estimator"] = with_less_memory(_learner(settings["estimator"], of_learner), samples.n_bytes)
        if taxonomy is not None:
            settings["taxonomy"] = read_taxonomy(taxonomy, classes=classes, layout=taxonomy_layout)  # type: ignore[arg-type]
        if isinstance(chosen, SavedAssignment):
            settings["width"] = _width_of(chosen, settings["assignment"], settings["width"])
            settings["assignment"] = chosen.for_labels(classes)
        if is_text:
            of_texts |= {} if n_features is None else {"n_features": n_features}
            settings |= {"features": TextVectorizer(**of_texts), **_used_columns(source.table, weights)}
        kind: Any = TextFit if is_text else ExtremeFit
        classifier = kind(**settings, random_state=random_state)
        try:
            epochs = _fitted(display, classifier, samples, checkpoints)
        except ValueError as error:
            if checkpoints is not None and not resume:
                checkpoints.clear()  # there is nothing to resume
            if isinstance(error, NoFeaturesError):
                raise DataError(data, str(error)) from None
            raise
        evaluation, whole = (None, classifier.classifier_) if is_text else (_measured(classifier, samples), classifier)
        report_progress(f"saving {model}")
        read_as = classifier.model_input_ if is_text else ModelInput(None, source.encoding)
        save_model(whole, model, model_input=replace(read_as, label_separator=label_separator))
        if checkpoints is not None:
            checkpoints.clear()
        report_progress("timing predictions")
        n_bytes = bytes_in(model)
        people = classifier._reported(n_bytes) if is_text else _report(classifier, samples, evaluation, n_bytes)
    seconds = time.perf_counter() - started
    if as_json:
        summary = {**_summary(whole, model, people, epochs), **_json_of(people), "seconds": seconds}
        show(json.dumps(summary))
        return
    ranking = ranking_text(ranking_facts(whole.model_)) if details else []
    of_method = [report_text(people.details, measured_on="training sample"), *ranking] if details else []
    has_page = has_texts and not (source.table and source.table.embeddings) and source.indicator is None
    show(_text(people, str(model), seconds, of_method, has_page=has_page))


def _with_weights(table: dict[str, Any]) -> dict[int, float]:
    """Take the weights off the columns of texts, such as title:2; returns them by the place of the column."""
    weights, names = {}, []
    for place, given in enumerate(table.get("text", ())):
        name, _, weight = given.rpartition(":")
        number = number_of(weight) if name else None
        if number is not None and not is_weight(number):
            raise ValueError(f"--text {given}: the weight of a column must be from 1e-6 to 1e6. Got {weight}.")
        names.append(given if number is None else name)
        weights[place] = 1.0 if number is None else number
    if names:
        table["text"] = tuple(names)
    return weights


def _used_columns(table: TableColumns | None, weights: Mapping[int, float]) -> dict[str, Any]:
    """The columns of a table as settings of a TextClassifier, with the weights of those at some places."""
    if table is None:
        return {}
    text = {name: weights.get(place, 1.0) for place, name in enumerate(table.text)}
    return {**{use: list(getattr(table, use)) for use in USES}, "text": text or None}


def _learner(name: str, settings: dict[str, Any]) -> Any:
    """The learner of this name, with the options that it has; for "auto", options of AROW choose AROW."""
    given = {option: value for option, value in settings.items() if value not in (None, False)}
    found = {
        each: learner(**{field.name: given[field.name] for field in fields(learner) if field.name in given})
        for each, learner in LEARNERS.items()
    }
    if name == "auto" and not {"r", "average"} & given.keys():
        return AutoLearner(**found)
    return found["arow" if name == "auto" else name]


# ----- the assignment ----------------------------------------------------------------------------------------------


def _chosen_assignment(choice: str) -> str | SavedAssignment:
    """A policy, the name of a method, or an assignment from a file."""
    if choice == "auto" or choice in ASSIGNMENT_CHOICES:
        return choice
    if not choice.endswith(".json") and not Path(choice).exists():
        raise ValueError(
            f"--assignment must be one of auto, {ASSIGNMENT_NAMES}, or a file written by codekin assign. "
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
    display: Display, classifier: Any, samples: TrainingSamples, checkpoints: Checkpoints | None
) -> list[EpochReport]:
    """Fit the classifier; returns the reports of all passes."""
    if checkpoints is not None and checkpoints.exists:
        what = "resuming from" if checkpoints.resume else "without --resume, this training will replace"
        display.note(f"{what} the checkpoint in {checkpoints.folder}")
    further: dict[str, Any] = {}
    if isinstance(samples.data, SparseData):
        shape = f"{samples.data.n_samples:,} samples x {samples.data.n_features:,} features"
        report_progress(f"training on {shape}, {len(samples.data.encoded_labels.classes):,} classes")
        further["reserved_bytes"] = input_bytes(ModelInput(None, samples.data.encoding))
    reports: list[EpochReport] = []

    def on_epoch(report: EpochReport) -> None:
        reports.append(report)
        if report.score is not None:
            display.note(f"validation {report.score:.4f} after epoch {report.epoch} of {report.n_epochs}")

    classifier.fit(
        samples.given,
        samples.data.encoded_labels,
        validation=samples.held_out,
        sample_weight=samples.sample_weight,
        on_epoch=on_epoch,
        checkpoints=checkpoints,
        **further,
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


# ----- samples that have features -----------------------------------------------------------------------------------


def _measured(classifier: ExtremeFit, samples: TrainingSamples) -> Evaluation | LabelEvaluation | None:
    """Measure the bits on evenly spaced training samples, and how good the model is on the validation samples."""
    y: Any = samples.data.encoded_labels
    rows = np.arange(0, len(y.class_index), -(-len(y.class_index) // MOST_MEASURED))
    report_progress(f"measuring the bits on {counted(len(rows), 'training sample')}")
    some = samples.given.at(rows) if isinstance(samples.given, StoredRows) else samples.given[rows]
    classifier.report(some, y.at(rows))
    if not isinstance(samples.held_out, tuple):
        return None
    X, labels = samples.held_out
    if classifier.model_.marginals is not None:
        return evaluated_sets(classifier.model_, X, labels.of_all(classifier.classes_))
    report_progress(f"predicting {counted(len(labels), 'validation sample')}")
    best, _ = classifier.model_.top_k(X, min(N_BEST, len(classifier.classes_)))
    known, baselines = classifier._class_index(y), None
    if not isinstance(samples.given, StoredRows) and bool((known >= 0).all()):
        baselines = Baselines.of(samples.given, known, len(classifier.classes_))
    return evaluated(best, classifier._class_index(labels), classifier.classes_, baselines, X)


def _report(
    classifier: ExtremeFit, samples: TrainingSamples, evaluation: Evaluation | LabelEvaluation | None, n_bytes: int
) -> TrainingReport:
    """What :meth:`TextClassifier.report` says of texts."""
    return TrainingReport(
        n_samples=samples.data.n_samples,
        n_classes=len(classifier.classes_),
        n_features=int(samples.given.shape[1]),
        features="",
        n_bytes=n_bytes,
        microseconds=microseconds_of(classifier.model_.predict, samples.given[:MOST_MEASURED]),
        evaluation=evaluation,
        details=classifier.report(),
    )


# ----- output -------------------------------------------------------------------------------------------------------


def _summary(classifier: ExtremeFit, model: Path, people: TrainingReport, epochs: list[EpochReport]) -> dict[str, Any]:
    report = people.details.as_dict()
    del report["bit_losses"]
    return {
        "model": str(model),
        "model_bytes": people.n_bytes,
        "n_samples": people.n_samples,
        "n_features": people.n_features,
        "width": classifier.codebook_.width,
        **report,
        "n_epochs": max((epoch.epoch for epoch in epochs), default=0),
        "temperature": classifier.temperature_,
        "ranking": ranking_facts(classifier.model_),
    }


def _json_of(people: TrainingReport) -> dict[str, Any]:
    evaluation = people.evaluation
    if evaluation is None:
        return {"validation_accuracy": None, "microseconds_per_prediction": people.microseconds}
    return {
        "validation_accuracy": getattr(evaluation, "accuracy", None),
        "n_unknown_validation_labels": evaluation.n_unknown,
        "evaluation": evaluation.as_dict(),
        "microseconds_per_prediction": people.microseconds,
    }


def _text(people: TrainingReport, folder: str, seconds: float, details: list[str], *, has_page: bool) -> str:
    lines = [str(people), f"{'trained in':<32}{seconds:.1f} s"]
    if people.evaluation is None:
        lines.append(f"{'':<32}(--validation 10% measures the accuracy on samples that it holds back)")
    lines += [*details, "next:"]
    lines.append(
        f"  codekin predict {shlex.quote(folder)} FILE --top-k 5     the best classes of each sample of a file"
    )
    if has_page:
        lines.append(f"  codekin export {shlex.quote(folder)} page/               a page to type texts into")
    missing = [name for name in EXTRAS["serve"].split() if find_spec(name) is None]
    needs = f" (needs: pip install {' '.join(missing)})" if missing else ""
    lines.append(f"  codekin serve {shlex.quote(folder)}                      answers over HTTP{needs}")
    return "\n".join(lines)
