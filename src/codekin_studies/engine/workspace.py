"""Tasks, and the folder of a study that keeps their results: a journal, arrays, and a lock against a second run.

The journal is an append-only file with one line of JSON per finished task. A process that is killed while writing
leaves an incomplete last line; that line is dropped and its task is run again. Any other line that cannot be read, or
does not match its checksum, is an error: the file was changed.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from functools import cache, cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from codekin._system.arrays import read_npy
from codekin._system.files import json_checksum, make_folder, named_in_errors, sha256, sync_folder, try_lock, whole_file
from codekin._version import __version__

FORMAT = "codekin-study"
VERSION = 2
"""Since version 2 every record has a checksum; journals of version 1 are read, and added to, as they are."""

ORIGIN = "origin.txt"
"""Where the configuration was whose copy is beside it, if that names files."""


@dataclass(frozen=True)
class Task:
    """Something to be computed, in full detail: equal tasks have equal results.

    ``kind`` says which function computes it, ``parameters`` are its arguments, seeds included. ``label`` is its name
    for display, without effect on the result. ``weight`` is an estimate of how long it takes, for the time left, and
    ``source`` the files that it reads, whose content the parameters identify.

    >>> task = Task("train", {"dataset": "digits", "seed": 0})
    >>> task.key == Task("train", {"seed": 0, "dataset": "digits"}, label="digits").key
    True
    >>> task.key == Task("train", {"dataset": "digits", "seed": 1}).key
    False
    """

    kind: str
    parameters: Mapping[str, Any]
    label: str = field(default="", compare=False)
    weight: float = field(default=1.0, compare=False)
    source: tuple[str, ...] = field(default=(), compare=False)

    @cached_property
    def key(self) -> str:
        """The hash of the kind and the parameters: the name of the result."""
        content = json.dumps([self.kind, self.parameters], sort_keys=True, separators=(",", ":"), allow_nan=False)
        return hashlib.sha256(content.encode()).hexdigest()[:20]


@dataclass(frozen=True)
class Stage:
    """Tasks that may run in any order, after those of all earlier stages."""

    name: str
    tasks: list[Task]


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a task's function returns: ``result`` for the journal, ``arrays`` for files beside it."""

    result: Mapping[str, Any]
    arrays: Mapping[str, NDArray[Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class Record:
    """A finished task.

    ``key``, ``kind`` and ``parameters`` are the task's, ``result`` is its result without arrays, ``arrays`` the names
    of those saved beside the journal, with their SHA-256 in ``checksums`` (not in journals of version 1).
    """

    key: str
    kind: str
    parameters: Mapping[str, Any]
    result: Mapping[str, Any]
    arrays: tuple[str, ...]
    seconds: float
    cpu_seconds: float
    versions: Mapping[str, str]
    checksums: Mapping[str, str] = field(default_factory=dict)


class JournalError(ValueError):
    """A journal that cannot be read."""


class Journal:
    """The finished tasks of a study, in memory and on disk.

    The file is created with the first record. Raises JournalError if a line other than an incomplete last one cannot be
    read, or if another version wrote it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.records: dict[str, Record] = {}
        self._whole_bytes = 0
        self._version: Any = VERSION
        if path.exists():
            self._read()

    def _read(self) -> None:
        content = self.path.read_bytes()
        self._whole_bytes = content.rfind(b"\n") + 1
        for number, line in enumerate(content[: self._whole_bytes].splitlines(), start=1):
            try:
                entry = json.loads(line)
                if number == 1:
                    self._check_header(entry)
                else:
                    self._check_sum(entry)
                    record = Record(**entry | {"arrays": tuple(entry["arrays"])})
                    self.records[record.key] = record
            except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
                is_ours = isinstance(error, JournalError)
                reason = str(error) if is_ours else f"not a record of a finished task ({error})."
                raise JournalError(f"{self.path}, line {number}: {reason}") from error

    def _check_sum(self, entry: Any) -> None:
        checksum = entry.pop("sha256", None)
        if checksum != json_checksum(entry) and (self._version > 1 or checksum is not None):
            raise JournalError("this record was changed after it was written: its checksum does not match.")

    def _check_header(self, entry: Any) -> None:
        if not isinstance(entry, dict) or entry.get("format") != FORMAT:
            raise JournalError("this is not the journal of a study.")
        self._version = entry.get("version")
        if self._version not in (1, VERSION):
            raise JournalError(f"the journal has version {self._version}; this codekin reads versions 1 and {VERSION}.")

    def append(self, record: Record) -> None:
        """Add a record; it is on disk when this returns."""
        entry = asdict(record)
        lines = [record_line({**entry, "sha256": json_checksum(entry)})]
        if self._whole_bytes == 0:
            lines.insert(0, record_line({"format": FORMAT, "version": VERSION}))
        is_new = not self.path.exists()
        with named_in_errors(self.path), self.path.open("xb" if is_new else "r+b") as stream:
            stream.truncate(self._whole_bytes)  # a line that a killed run has torn
            stream.seek(self._whole_bytes)
            stream.write(b"".join(lines))
            stream.flush()
            os.fsync(stream.fileno())
            self._whole_bytes = stream.tell()
        if is_new:
            sync_folder(self.path.parent)
        self.records[record.key] = record

    def result(self, task: Task) -> Mapping[str, Any]:
        """The result of a finished task."""
        if task.key not in self.records:
            raise ValueError(f"The task '{task.label or task.kind}' is not finished. Run the study first.")
        return self.records[task.key].result


def record_line(entry: Mapping[str, Any]) -> bytes:
    """One line of a journal."""
    return (json.dumps(entry, separators=(",", ":"), allow_nan=False) + "\n").encode()


@cache
def software_versions() -> dict[str, str]:
    """The versions of the software that results depend on."""
    packages = {name: version(name) for name in ("numpy", "scipy", "scikit-learn", "numba")}
    return {"codekin": __version__, "python": platform.python_version(), **packages}


@dataclass(frozen=True)
class Workspace:
    """Where a study keeps its results, and where its data is; a run saves a copy of the configuration.

    ``origin`` is the folder of the configuration, to which the files that it names are relative.
    """

    folder: Path
    data_home: Path | None = None
    configuration: str = field(default="", repr=False)
    origin: str = ""

    @property
    def journal(self) -> Journal:
        """The journal, read again."""
        return Journal(self.journal_path)

    @property
    def journal_path(self) -> Path:
        """The file of the journal."""
        return self.folder / "journal.jsonl"

    @property
    def configuration_path(self) -> Path:
        """The copy of the configuration, named after this folder."""
        return self.folder / f"{self.folder.name}.toml"

    def array_path(self, key: str, name: str) -> Path:
        """The file of one array of a task's result."""
        return self.folder / "arrays" / f"{key}-{name}.npy"

    def save(self, task: Task, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Write the arrays of a result; each file is written completely or not at all."""
        for name, array in arrays.items():
            with whole_file(self.array_path(task.key, name)) as stream:
                np.save(stream, array, allow_pickle=False)

    def load(self, task: Task, name: str) -> NDArray[Any]:
        """One array of the result of a finished task, memory-mapped and read-only."""
        path = self.array_path(task.key, name)
        if not path.exists():
            raise FileNotFoundError(f"{path} is missing. Run the study first.")
        return read_npy(path, is_mapped=True)

    def is_finished(self, record: Record | None, *, is_checked: bool = False) -> bool:
        """Whether a task is in the journal and all its arrays exist and, if ``is_checked``, are unchanged."""
        if record is None or not all(self.array_path(record.key, name).exists() for name in record.arrays):
            return False
        return not (is_checked and self.changed_arrays(record))

    def results(self, tasks: Mapping[str, Task]) -> dict[str, Mapping[str, Any]]:
        """The results of the finished ones among some tasks."""
        journal = self.journal
        done = {name: task for name, task in tasks.items() if self.is_finished(journal.records.get(task.key))}
        return {name: journal.result(task) for name, task in done.items()}

    def changed_arrays(self, record: Record) -> list[Path]:
        """The files of a finished task that were changed."""
        files = {self.array_path(record.key, name): checksum for name, checksum in record.checksums.items()}
        return [path for path, checksum in files.items() if not path.is_file() or sha256(path) != checksum]

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the folder while the block runs, and remove incomplete files of a killed run.

        If nothing is finished in the end, the folder is removed.
        """
        make_folder(self.folder / "arrays")
        with (self.folder / "lock").open("w") as file:
            if not try_lock(file.fileno()):
                raise FileExistsError(f"Another run is using {self.folder}. Wait for it, or use another folder.")
            for partial in (self.folder / "arrays").glob(".*.partial"):
                partial.unlink(missing_ok=True)
            try:
                if self.configuration:
                    with whole_file(self.configuration_path) as stream:
                        stream.write(self.configuration.encode())
                    if self.origin:
                        with whole_file(self.folder / ORIGIN) as stream:
                            stream.write(self.origin.encode())
                yield
            finally:
                if not self.journal_path.exists():
                    self._remove_empty()

    def _remove_empty(self) -> None:
        """Remove the folder, unless it contains results or files that are not ours."""
        with suppress(OSError):
            (self.folder / "arrays").rmdir()
            self.configuration_path.unlink(missing_ok=True)
            (self.folder / ORIGIN).unlink(missing_ok=True)
            (self.folder / "lock").unlink()
            self.folder.rmdir()
