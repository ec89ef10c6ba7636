"""Checkpoints of a long training, from which it can resume: a folder of arrays and JSON.

    checkpoint.json    which training it is, its progress, checksums of the other files
    *.safetensors      weights, variances and other arrays that the training needs

``checkpoint.json`` is replaced last and atomically, so there is always one complete checkpoint.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from codekin._system.arrays import Arrays, read_arrays, write_arrays
from codekin._system.files import json_checksum, locked_folder, make_folder, sha256, whole_file
from codekin._version import __version__

FORMAT = "codekin-checkpoint"
FORMAT_VERSION = 2
"""Since version 2 ``checkpoint.json`` has its own checksum; version 1 is read without it."""
DESCRIPTION, SUFFIX = "checkpoint.json", ".safetensors"

Json = dict[str, Any]


class CheckpointError(ValueError):
    """A checkpoint that cannot be read or belongs to another training; the message says which and why."""


@dataclass(frozen=True)
class Checkpoints:
    """A folder with the last checkpoint of a training.

    Parameters
    ----------
    folder : path
        Created with the first checkpoint.
    resume : bool, default=False
        Whether to resume from an existing checkpoint. Otherwise it is replaced.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> with TemporaryDirectory() as home:
    ...     checkpoints = Checkpoints(Path(home) / "model.checkpoint", resume=True)
    ...     checkpoints.save({"seed": 7}, {"epoch": 2}, {"state": {"weights": np.ones(3)}})
    ...     found = checkpoints.found({"seed": 7})
    ...     found.progress, found.arrays("state")["weights"].tolist()
    ({'epoch': 2}, [1.0, 1.0, 1.0])
    """

    folder: Path
    resume: bool = False

    def __post_init__(self) -> None:
        """Accept the folder as a string as well."""
        object.__setattr__(self, "folder", Path(self.folder))

    @property
    def exists(self) -> bool:
        """Whether there is a checkpoint, of the training or of a part of it."""
        return (self.folder / DESCRIPTION).is_file() or bool(self._parts())

    @contextmanager
    def held(self) -> Iterator[None]:
        """Lock the folder while the block runs, and remove what a killed training left behind.

        Yields
        ------
        None

        Raises
        ------
        FileExistsError
            If another process has locked it.
        """
        refusal = f"Another training is using {self.folder}. Wait for it, or give the model another name."
        with locked_folder(self.folder, refusal):
            for partial in self.folder.rglob(".*.partial"):
                partial.unlink(missing_ok=True)
            try:
                yield
            finally:
                for path in sorted(self.folder.rglob("*/"), reverse=True):
                    with suppress(OSError):  # it holds a checkpoint
                        path.rmdir()

    def part(self, name: str) -> Checkpoints:
        """The checkpoints of one of several trainings that belong together, in a folder of this one."""
        return Checkpoints(self.folder / name, self.resume)

    def save(
        self,
        training: Mapping[str, Any],
        progress: Mapping[str, Any],
        files: Mapping[str, Arrays],
        keep: Iterable[str] = (),
    ) -> None:
        """Replace the checkpoint.

        Parameters
        ----------
        training : mapping
            What identifies this training, as JSON.
        progress : mapping
            Its progress, as JSON.
        files : mapping of str to dict of arrays
            The arrays to write, by the names of their files.
        keep : iterable of str
            The names of files from earlier calls that are still needed.
        """
        make_folder(self.folder)
        kept = list(keep)
        facts: Json = {name: self._description()["files"][name] for name in kept}
        # Two generations never share a name: the older one stays complete until the new description is written.
        generation = 1 + max((_generation(path) for path in self._array_files()), default=0)
        for name, arrays in files.items():
            path = self.folder / f"{name}-{generation}{SUFFIX}"
            write_arrays(path, arrays)
            facts[name] = {"file": path.name, "bytes": path.stat().st_size, "sha256": sha256(path)}
        description = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "codekin": __version__,
            "training": dict(training),
            "progress": dict(progress),
            "files": facts,
        }
        description["sha256"] = json_checksum(description)
        with whole_file(self.folder / DESCRIPTION) as stream:
            stream.write(json.dumps(description, indent=1, allow_nan=False).encode())
        needed = {entry["file"] for entry in facts.values()}
        for path in self._array_files():
            if path.name not in needed:
                path.unlink()

    def found(self, training: Mapping[str, Any]) -> Checkpoint | None:
        """The checkpoint to resume from, which must be of this ``training``; None without one or if not resuming."""
        if not (self.resume and (self.folder / DESCRIPTION).is_file()):
            return None
        description, now = self._description(), json.loads(json.dumps(dict(training)))
        before = description["training"]
        for name in [*now, *before]:
            if before.get(name) != now.get(name):
                then, is_now = _short(before.get(name)), _short(now.get(name))
                raise CheckpointError(
                    f"The checkpoint in {self.folder} is of another training: its {name} is {then}, not {is_now}. Give "
                    "the same data and options, or start again without resuming."
                )
        return Checkpoint(self.folder, description["progress"], description["files"])

    def clear(self) -> None:
        """Remove the checkpoint, and its folder if that is empty: the training is over."""
        if not self.folder.is_dir():
            return
        for part in self._parts():
            part.clear()
        for path in [self.folder / DESCRIPTION, *self._array_files()]:
            path.unlink(missing_ok=True)
        if not any(self.folder.iterdir()):
            self.folder.rmdir()

    def _parts(self) -> list[Checkpoints]:
        folders = self.folder.iterdir() if self.folder.is_dir() else ()
        parts = [Checkpoints(path) for path in folders if path.is_dir()]
        return [part for part in parts if part.exists or part._parts()]

    def _array_files(self) -> list[Path]:
        return [path for path in self.folder.iterdir() if _generation(path)]

    def _description(self) -> Json:
        path = self.folder / DESCRIPTION
        try:
            description = json.loads(path.read_text(encoding="utf-8"))
            checksum = json_checksum(description) if isinstance(description, dict) else None
        except (ValueError, RecursionError) as error:
            raise CheckpointError(f"{path} is not JSON: {error}.") from error
        if not isinstance(description, dict) or description.get("format") != FORMAT:
            raise CheckpointError(f"{path} does not describe a checkpoint: its 'format' must be {FORMAT!r}.")
        version = description.get("format_version")
        if version not in (1, FORMAT_VERSION):
            raise CheckpointError(
                f"{path} has format version {version}; codekin {__version__} reads versions 1 and {FORMAT_VERSION}."
            )
        if version != 1 and description.get("sha256") != checksum:
            raise CheckpointError(f"{path} was changed after it was written: its checksum does not match.")
        if not all(isinstance(description.get(part), dict) for part in ("training", "progress", "files")):
            raise CheckpointError(f"{path}: a part of the checkpoint is missing.")
        return description


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint that was found."""

    folder: Path
    progress: Json
    files: Json = field(repr=False)

    def arrays(self, name: str) -> Arrays:
        """The arrays of the file with this name, checked, memory-mapped and read-only."""
        try:
            facts = self.files[name]
            path = self.folder / facts["file"]
            if path.stat().st_size != facts["bytes"] or sha256(path) != facts["sha256"]:
                raise CheckpointError(f"{path} was changed after it was written: its checksum does not match.")
            return read_arrays(path)
        except CheckpointError:
            raise
        except ValueError as error:
            raise CheckpointError(str(error)) from error
        except (KeyError, TypeError, FileNotFoundError) as error:
            raise CheckpointError(f"{self.folder / DESCRIPTION}: the file of {name!r} is missing ({error}).") from error


def _generation(path: Path) -> int:
    """The number at the end of a file's name; 0 for other files."""
    match = re.fullmatch(rf".+-([0-9]+){re.escape(SUFFIX)}", path.name)
    return int(match[1]) if match else 0


def _short(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
