"""Which options need others: without them they would have no effect, and so they are refused."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import typer

from codekin.fitting.rules import Rule, Spelled, check_rules


@dataclass(frozen=True)
class Need:
    """An option and what it needs; ``what`` may contain the values of other options, like ``{data}``."""

    option: str
    what: str
    is_met: Callable[[Any], bool]


TAXONOMY_NEEDS = (Need("taxonomy_layout", "--taxonomy FILE", lambda given: given.taxonomy is not None),)

TRAIN_NEEDS = (
    *TAXONOMY_NEEDS,
    *(
        Need(option, "--estimator arow. Got --estimator {estimator}", lambda given: given.estimator != "softmax")
        for option in ("r", "average")
    ),
    Need("patience", "--validation FILE: samples that say when to stop", lambda given: given.validation is not None),
    Need("resume", "checkpoints. Got --no-checkpoint", lambda given: given.checkpoint),
    Need("cache", "samples in a file. Got - instead, the standard input", lambda given: given.data != "-"),
    *(
        Need(option, "texts. Got features in {data}", lambda given: given.format in ("auto", "tsv"))
        for option in ("text", "analyzer", "ngram_range", "min_df", "max_features")
    ),
    *(
        Need(option, "--text tfidf. Got --text {text}", lambda given: given.text == "tfidf")
        for option in ("min_df", "max_features")
    ),
    Need(
        "n_features",
        "--text hashing where there are texts, as in {data}; --max-features is for --text tfidf",
        lambda given: given.format != "tsv" or given.text == "hashing",
    ),
    Need(
        "index_base",
        "features with numbers, as svmlight files have them. Got {format} in {data}",
        lambda given: given.format in ("auto", "features", "svmlight"),
    ),
)

ASSIGN_NEEDS = (
    *TAXONOMY_NEEDS,
    Need("format", "--data FILE", lambda given: given.data is not None),
    Need(
        "class_distances",
        "--data FILE, and a --method other than learnability",
        lambda given: given.data is not None and given.method != "learnability",
    ),
    Need("width", "--codebook trellis. Got --codebook {codebook}", lambda given: given.codebook == "trellis"),
)

EXPORT_NEEDS = (
    Need("input", "a target whose name ends in .onnx. Got {target}", lambda given: given.target.suffix == ".onnx"),
    Need("title", "a folder for a page. Got {target}", lambda given: given.target.suffix != ".onnx"),
)


def check_needs(context: typer.Context, needs: Iterable[Need], **known: Any) -> None:
    """Raise if an option was given without what it needs; ``known`` overrides values of the command line."""
    values = {**context.params, **known}
    for need in needs:
        source: Any = context.get_parameter_source(need.option)
        is_given = source is not None and source.name != "DEFAULT"
        if is_given and not need.is_met(SimpleNamespace(**values)):
            raise ValueError(f"{_shown(context, need.option)} needs {need.what.format(**values)}.")


def check_settings(context: typer.Context, rules: Iterable[Rule], **known: Any) -> None:
    """Raise if the options of a command break a rule of the settings; ``known`` overrides values of options."""
    names = {parameter.name: parameter.opts[0] for parameter in context.command.params}

    def spelled(name: str, value: Any) -> Spelled:
        return Spelled(names[name], f"{names[name]} {'none' if value is None else value}")

    check_rules(rules, {**context.params, **known}, spelled)


def check_sources(sources: Mapping[str, Any], output: Any = None) -> None:
    """Raise if two of the named sources are the standard input, or if the output would replace one of them."""
    names = [name for name, source in sources.items() if str(source) == "-"]
    if len(names) > 1:
        raise ValueError(f"The standard input can be read only once. Got - for {' and for '.join(names)}.")
    replaced = _files(output, 1)
    for name, source in sources.items():
        if not replaced.isdisjoint(_files(source, 0)):
            raise ValueError(f"Writing {output} would replace an input, {name} {source}. Choose another output.")


def _files(path: Any, stream: int) -> set[tuple[int, int]]:
    """The identities of a file or of a folder and its files, whatever they are called; ``-`` is a standard stream."""
    if path is None:
        return set()
    place = Path(path)
    try:
        found = [os.fstat(stream) if str(path) == "-" else place.stat()]
        found += [each.stat() for each in place.iterdir()] if place.is_dir() else []
    except OSError:  # there is none as yet
        return set()
    return {(one.st_dev, one.st_ino) for one in found if stat.S_ISREG(one.st_mode) or stat.S_ISDIR(one.st_mode)}


def _shown(context: typer.Context, option: str) -> str:
    """The option as it may have been typed."""
    (name,) = (parameter.opts[0] for parameter in context.command.params if parameter.name == option)
    value = context.params[option]
    if isinstance(value, bool):
        return name
    return f"{name} {','.join(map(str, value)) if isinstance(value, tuple) else value}"
