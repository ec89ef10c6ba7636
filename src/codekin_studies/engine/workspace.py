"""The folder of a study: its journal, its arrays, and a lock against a second run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from codekin._system.arrays import read_npy
from codekin._system.disk import make_folder
from codekin._system.files import sha256, whole_file
from codekin._system.locks import try_lock
from codekin_studies.engine.journal import Journal, Record
from codekin_studies.engine.task import Task


@dataclass(frozen=True)
class Workspace:
    """Where a study keeps its results, and where its data is; a run saves a copy of the configuration."""

    folder: Path
    data_home: Path | None = None
    configuration: str = field(default="", repr=False)

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

    def checksums(self, task: Task, names: Iterable[str]) -> dict[str, str]:
        """The checksums of the files of some arrays of a task's result."""
        return {name: sha256(self.array_path(task.key, name)) for name in names}

    def is_finished(self, record: Record | None, *, is_checked: bool = False) -> bool:
        """Whether a task is in the journal and all its arrays exist and, if ``is_checked``, are unchanged."""
        if record is None or not all(self.array_path(record.key, name).exists() for name in record.arrays):
            return False
        return not (is_checked and self.changed_arrays(record))

    def results(self, tasks: Mapping[str, Task]) -> dict[str, Mapping[str, Any]]:
        """The results of the finished ones among some tasks."""
        journal = self.journal
        return {
            name: journal.result(task)
            for name, task in tasks.items()
            if self.is_finished(journal.records.get(task.key))
        }

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
                yield
            finally:
                if not self.journal_path.exists():
                    self._remove_empty()

    def _remove_empty(self) -> None:
        """Remove the folder, unless it contains results or files that are not ours."""
        with suppress(OSError):
            (self.folder / "arrays").rmdir()
            self.configuration_path.unlink(missing_ok=True)
            (self.folder / "lock").unlink()
            self.folder.rmdir()
