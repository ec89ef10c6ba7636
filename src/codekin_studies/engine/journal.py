"""The journal of a study: an append-only file with one line of JSON per finished task.

A process that is killed while writing leaves an incomplete last line; that line is dropped and its task is run again.
Any other line that cannot be read, or does not match its checksum, is an error: the file was changed.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from codekin._system.disk import sync_folder
from codekin._system.files import json_checksum, named_in_errors
from codekin._version import __version__
from codekin_studies.engine.task import Task

FORMAT = "codekin-study"
VERSION = 2
"""Since version 2 every record has a checksum; journals of version 1 are read, and added to, as they are."""


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
                raise JournalError(f"{self.path}, line {number}: {self._reason(error)}") from error

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

    @staticmethod
    def _reason(error: Exception) -> str:
        return str(error) if isinstance(error, JournalError) else f"not a record of a finished task ({error})."

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
