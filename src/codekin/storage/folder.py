"""The files of a model folder: written completely or not at all, and checked before use."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from codekin._system import arrays as array_files
from codekin._system.files import followed, json_checksum, make_folder, sha256, whole_file, whole_folder
from codekin._version import __version__
from codekin.states import ARRAYS, DESCRIPTION, FORMAT, FORMAT_VERSION, LEARNER_FILE, State, as_json
from codekin.states.values import Json, ModelFolderError

MODEL_FILES = (DESCRIPTION, ARRAYS, LEARNER_FILE)

Trust = bool | Sequence[str]
"""True for everything that a file of learners holds, or the full names of types that skops does not trust by itself."""


def write_folder(target: Path, state: State) -> None:
    """Write a state as a model folder, complete or not at all."""
    make_folder(followed(target).parent)
    with whole_folder(target) as folder:
        array_files.write_arrays(folder / ARRAYS, state.arrays)
        if state.learners:
            from skops.io import dump

            dump(state.learners, folder / LEARNER_FILE)
        files = [path for path in (folder / ARRAYS, folder / LEARNER_FILE) if path.exists()]
        facts = {path.name: {"bytes": path.stat().st_size, "sha256": sha256(path)} for path in files}
        description = {**state.description, "files": facts}
        description["sha256"] = json_checksum(description)
        with whole_file(folder / DESCRIPTION) as stream:
            stream.write(as_json(description))


def read_folder(folder: Path, trusted: Trust) -> State:
    """The state in a model folder, in the format in which it was written; checksums are compared."""
    description = read_description(folder)
    try:
        arrays = array_files.read_arrays(folder / ARRAYS)
    except ValueError as error:
        raise ModelFolderError(str(error)) from error
    file = description["files"].get(LEARNER_FILE)
    learners = [] if file is None else read_learners(folder / LEARNER_FILE, file["sha256"], trusted)
    return State(description, arrays, learners)


def read_description(folder: Path) -> Json:
    """The content of ``model.json``, checked against its own checksum and those of the other files."""
    path = folder / DESCRIPTION
    if not path.is_file():
        raise ModelFolderError(f"{folder} is not a model folder: it has no {DESCRIPTION}.")
    try:
        description = json.loads(path.read_text(encoding="utf-8"))
        checksum = json_checksum(description) if isinstance(description, dict) else None
    except (ValueError, RecursionError) as error:
        raise ModelFolderError(f"{path} is not JSON: {error}.") from error
    if not isinstance(description, dict) or description.get("format") != FORMAT:
        raise ModelFolderError(f"{path} does not describe a model: its 'format' must be {FORMAT!r}.")
    version = description.get("format_version")
    if version not in range(1, FORMAT_VERSION + 1):
        raise ModelFolderError(
            f"{path} has format version {version}; codekin {__version__} reads versions 1 to {FORMAT_VERSION}."
        )
    if description.get("sha256") != checksum:
        raise ModelFolderError(f"{path} was changed after it was written: its checksum does not match.")
    files = description.get("files")
    if not isinstance(files, dict) or ARRAYS not in files or not set(files) <= {ARRAYS, LEARNER_FILE}:
        raise ModelFolderError(f"{path}: 'files' must list {ARRAYS}, and nothing but that and {LEARNER_FILE}.")
    for name, facts in files.items():
        file = folder / name
        if not file.is_file():
            raise ModelFolderError(f"{file} is missing.")
        if not isinstance(facts, dict) or file.stat().st_size != facts.get("bytes"):
            raise ModelFolderError(f"{file} has {file.stat().st_size} bytes, which is not what {DESCRIPTION} says.")
        if sha256(file) != facts.get("sha256"):
            raise ModelFolderError(f"{file} was changed after it was written: its checksum does not match.")
    return description


def read_learners(path: Path, checksum: str, trusted: Trust) -> list[Any]:
    """The learners of a skops file, which can run anything, so that users must trust it."""
    if isinstance(trusted, str):
        raise TypeError(f"'trusted' must be True or a list of names. Got {trusted!r} instead.")
    if not trusted:
        raise ModelFolderError(
            f"{path} holds learners stored by skops, which can run anything. If you know where it comes from, load it "
            "with trusted=True, on the command line with --trust."
        )
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != checksum:
        raise ModelFolderError(f"{path} was changed after it was written: its checksum does not match.")
    from skops.io import get_untrusted_types, loads

    try:
        learners = loads(content, trusted=get_untrusted_types(data=content) if trusted is True else list(trusted))
    except Exception as error:  # skops raises what zipfile, json and the constructors raise
        reason = " ".join(str(error).split()).rstrip(".")
        raise ModelFolderError(f"{path} cannot be read by skops: {type(error).__name__}: {reason}.") from error
    if not isinstance(learners, list):
        raise ModelFolderError(f"{path} must hold a list of learners. It holds a {type(learners).__name__}.")
    return learners
