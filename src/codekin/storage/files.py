"""The files of a model folder: written completely or not at all, and checked before use."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from codekin._system import arrays as array_files
from codekin._system.arrays import Arrays
from codekin._system.disk import make_folder
from codekin._system.files import followed, json_checksum, sha256, whole_file
from codekin._system.folders import whole_folder
from codekin._version import __version__

FORMAT = "codekin-model"
FORMAT_VERSION = 8
"""Since version 2 weights may take one or two bytes; since version 3 vocabularies share prefixes of words; since
version 4 parameters of both classifiers have the same names; since version 5 a code may be a tree; since version 6 an
index may list candidates; since version 7 codewords may be real, and classes may have several parts; since
version 8 learners of scikit-learn may be arrays."""
DESCRIPTION, ARRAYS, LEARNER_FILE = "model.json", "arrays.safetensors", "learners.skops"
MODEL_FILES = (DESCRIPTION, ARRAYS, LEARNER_FILE)

Json = dict[str, Any]
Trust = bool | Sequence[str]
"""True for everything that a file of learners holds, or the full names of types that skops does not trust by itself."""


class ModelFolderError(ValueError):
    """A folder that is not a readable model; the message says which file and why."""


def write_folder(target: Path, description: Json, arrays: Arrays, learners: list[Any]) -> None:
    """Write a description, arrays and learners as a model folder, complete or not at all."""
    description = _headed(description)
    make_folder(followed(target).parent)
    with whole_folder(target) as folder:
        array_files.write_arrays(folder / ARRAYS, arrays)
        if learners:
            from skops.io import dump

            dump(learners, folder / LEARNER_FILE)
        files = [path for path in (folder / ARRAYS, folder / LEARNER_FILE) if path.exists()]
        description["files"] = {path.name: {"bytes": path.stat().st_size, "sha256": sha256(path)} for path in files}
        description["sha256"] = json_checksum(description)
        with whole_file(folder / DESCRIPTION) as stream:
            stream.write(_as_json(description))


def folder_bytes(description: Json, arrays: Arrays, learners: list[Any]) -> int:
    """How many bytes :func:`write_folder` writes."""
    sizes = {ARRAYS: array_files.n_bytes_of(arrays)}
    if learners:
        from skops.io import dumps

        sizes[LEARNER_FILE] = len(dumps(learners))
    checksum = "0" * 64
    files = {name: {"bytes": n_bytes, "sha256": checksum} for name, n_bytes in sizes.items()}
    return sum(sizes.values()) + len(_as_json({**_headed(description), "files": files, "sha256": checksum}))


def _headed(description: Json) -> Json:
    return {"format": FORMAT, "format_version": FORMAT_VERSION, "versions": _versions(), **description}


def _as_json(description: Json) -> bytes:
    """Without whitespace or escapes: labels may be most of it."""
    try:
        return json.dumps(description, separators=(",", ":"), allow_nan=False, ensure_ascii=False).encode()
    except UnicodeEncodeError:  # half a surrogate pair, which is invalid in UTF-8
        return json.dumps(description, separators=(",", ":"), allow_nan=False).encode()


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


def read_arrays(path: Path) -> Arrays:
    """The arrays of a safetensors file, memory-mapped and read-only."""
    try:
        return array_files.read_arrays(path)
    except ValueError as error:
        raise ModelFolderError(str(error)) from error


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


def _versions() -> Mapping[str, str]:
    import scipy
    import sklearn

    return {
        "codekin": __version__,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
    }
