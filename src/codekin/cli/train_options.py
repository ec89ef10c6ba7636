"""The options of ``codekin train``: those of the table of settings, and those of the learner and of texts."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from numbers import Integral
from pathlib import Path
from typing import Annotated, Any

import typer

from codekin._system.messages import Need
from codekin.cli.options import READING, TAXONOMY_NEEDS, file_or_share, reader_of, two_numbers
from codekin.data.options import TEXT_FORMATS
from codekin.data.recipes import AUTO, RECIPES
from codekin.fitting.setting import ASSIGNMENT_CHOICES, LEARNING, Numbers, Setting
from codekin.fitting.settings import ABOVE_ZERO, EXTREME_SETTINGS

TEXT = "Texts"
WHOLE = Numbers(Integral, 1, None, closed="left")
OF_TEXTS = Need("texts. Got features in {data.value}", lambda given: given.format in ("auto", *TEXT_FORMATS))
OF_VOCABULARY = Need("a vocabulary. Got --hashing", lambda given: not given.hashing)
OF_AROW = Need("--estimator arow. Got {estimator.given}", lambda given: given.estimator in ("auto", "arow"))


def _has_words(features: str) -> bool:
    return features == AUTO or any(block.kind == "words" for block in RECIPES[features])


LEARNER_SETTINGS = (
    Setting(
        "n_epochs",
        None,
        "How many passes over the samples; 5 by default, and 10 for svm.",
        numbers=WHOLE,
        section=LEARNING,
        metavar="NUMBER",
    ),
    Setting(
        "r",
        None,
        "Regularisation of arow: the larger, the smaller the steps; 1 by default. Chooses arow.",
        numbers=ABOVE_ZERO,
        needs=(OF_AROW,),
        section=LEARNING,
        metavar="NUMBER",
    ),
    Setting("fit_intercept", False, "Learn a bias for each bit.", section=LEARNING),
    Setting(
        "average",
        False,
        "Keep the average of arow's weights over all steps. Chooses arow.",
        needs=(OF_AROW,),
        section=LEARNING,
    ),
    Setting("class_weight", None, "balanced gives every class the same weight.", names=("balanced",), section=LEARNING),
    Setting(
        "patience",
        2,
        "Stop after this many epochs in a row below the best. Needs --validation.",
        numbers=WHOLE,
        needs=(Need("--validation FILE: samples that say when to stop", lambda given: given.validation is not None),),
        section=LEARNING,
    ),
    Setting(
        "max_memory",
        None,
        "The most memory for samples, weights and all else that grows with them; by default what there is. Files that "
        "do not fit are learned in blocks, bits that do not fit in turns; what does not fit at all is refused. Python "
        "itself comes on top.",
        numbers=WHOLE,
        section=LEARNING,
        metavar="SIZE",
        is_size=True,
    ),
)
"""The settings of codekin's learners."""

TEXT_SETTINGS = (
    Setting(
        "features",
        AUTO,
        "What is counted in texts: words and pairs of words; beside them, the first letters of words or three "
        "characters within words; or characters within words alone. auto tries them on some of the classes.",
        names=(AUTO, *RECIPES),
        needs=(OF_TEXTS,),
        section=TEXT,
    ),
    Setting(
        "word_ngrams",
        "1,2",
        "The shortest and the longest n-grams of words to count.",
        needs=(OF_TEXTS, Need("--features with words. Got {features.given}", lambda given: _has_words(given.features))),
        section=TEXT,
        metavar="FROM,TO",
    ),
    Setting(
        "min_df",
        1,
        "Leave out terms in fewer texts.",
        numbers=WHOLE,
        needs=(OF_TEXTS, OF_VOCABULARY),
        section=TEXT,
    ),
    Setting(
        "max_features",
        None,
        "How many of the most frequent terms to keep.",
        numbers=WHOLE,
        needs=(OF_TEXTS, OF_VOCABULARY),
        section=TEXT,
    ),
    Setting("hashing", False, "Hash terms into columns and keep no vocabulary.", needs=(OF_TEXTS,), section=TEXT),
)
"""The settings of :class:`codekin.data.TextVectorizer`."""

OWN_OPTIONS = ("taxonomy", "n_jobs", "random_state")
"""Settings whose options several commands have."""
CODE_SETTINGS = tuple(setting for name, setting in EXTREME_SETTINGS.items() if name not in OWN_OPTIONS)
OPTIONS = (*CODE_SETTINGS, *LEARNER_SETTINGS, *TEXT_SETTINGS)

TRAIN_NEEDS = {
    **TAXONOMY_NEEDS,
    **{setting.name: setting.needs for setting in OPTIONS if setting.needs},
    "resume": (Need("checkpoints. Got --no-checkpoint", lambda given: given.checkpoint),),
    "cache": (Need("samples in a file. Got - instead, the standard input", lambda given: given.data != "-"),),
    "n_features": (
        Need(
            "--hashing where there are texts, as in {data.value}; without it, --max-features is for texts",
            lambda given: given.format not in TEXT_FORMATS or given.hashing,
        ),
    ),
    "index_base": (
        Need(
            "features with numbers, as svmlight files have them. Got {format.value} in {data.value}",
            lambda given: given.format in ("auto", "features", "svmlight"),
        ),
    ),
}
"""What options of ``codekin train`` need."""

READERS = {"word_ngrams": two_numbers, "assignment": str}
SHORT = {"word_ngrams": ("--ngrams",)}
ASSIGNMENT_NAMES = ", ".join(ASSIGNMENT_CHOICES)


def with_options(settings: Iterable[Setting]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command an option for each setting, after its arguments; it takes them by keyword."""
    of_settings = [_parameter(setting) for setting in settings]

    def decorated(command: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(command, eval_str=True)
        *own, _ = signature.parameters.values()
        first = next((place for place, each in enumerate(own) if each.default is not each.empty), len(own))
        parameters = [each.replace(kind=each.KEYWORD_ONLY) for each in (*own[:first], *of_settings, *own[first:])]
        command.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        return command

    return decorated


def _parameter(setting: Setting) -> inspect.Parameter:
    name = f"--{setting.name.replace('_', '-')}"
    spelled = {each: f"--{each.replace('_', '-')}" for each in EXTREME_SETTINGS}
    sentences = setting.help if not setting.auto else f"{setting.help} auto is {setting.auto}."
    if setting.name == "assignment":
        sentences = f"{sentences} One of auto, {ASSIGNMENT_NAMES}, or a file written by codekin assign."
    how: dict[str, Any] = {"help": sentences.format_map(spelled), "rich_help_panel": setting.section}
    kind: Any = bool
    if setting.default is True:
        name = f"{name}/--no-{name.removeprefix('--')}"
    if not isinstance(setting.default, bool):
        reader = READERS.get(setting.name) or reader_of(setting)
        metavar = setting.metavar or ("N" if setting.numbers is not None else "NAME")
        kind, how = Any, {**how, "parser": reader, "metavar": metavar}
    option = typer.Option(name, *SHORT.get(setting.name, ()), **how)
    return inspect.Parameter(
        setting.name, inspect.Parameter.KEYWORD_ONLY, default=setting.default, annotation=Annotated[kind, option]
    )


ValidationFile = Annotated[
    Any,
    typer.Option(
        parser=file_or_share,
        metavar="FILE or SHARE",
        rich_help_panel=LEARNING,
        help="Samples that choose the best epoch, stop the training early, calibrate probabilities and measure the "
        "accuracy: those of a file, or a share of the training samples to hold back, such as 10%.",
    ),
]
Cache = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER",
        show_default="DATA.cache",
        rich_help_panel=READING,
        help="Where to keep the converted samples of a file larger than half of --max-memory; if given, of any file.",
    ),
]
NFeatures = Annotated[
    int | None,
    typer.Option(
        min=1,
        show_default="as many as the data show; 2^18 for hashing",
        rich_help_panel=READING,
        help="How many features there are; for texts, how many columns --hashing has.",
    ),
]
Details = Annotated[
    bool, typer.Option("--details", help="Also print the terms of the method: distances, losses of bits, likelihoods.")
]
Resume = Annotated[bool, typer.Option("--resume", help="Continue from the checkpoint, if there is one.")]
Checkpoint = Annotated[
    bool, typer.Option("--checkpoint/--no-checkpoint", help="After each epoch, save what is needed to continue.")
]
