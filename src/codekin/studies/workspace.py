"""The folder of a study: its journal, its arrays, and a lock that keeps a second run out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from codekin.files import whole_file
from codekin.studies.journal import Journal, Record
from codekin.studies.tasks import Task


@dataclass(frozen=True)
class Workspace:
    """Where a study keeps what it has computed, and where its data is.

    Parameters
    ----------
    folder : Path
        The folder of the study.
    data_home : Path, optional
        The folder that holds one folder per data set; see :func:`codekin.datasets.data_home`.
    """

    folder: Path
    data_home: Path | None = None

    @property
    def journal(self) -> Journal:
        """The journal, read anew."""
        return Journal(self.folder / "journal.jsonl")

    def array_path(self, key: str, name: str) -> Path:
        """The file of one array of a task's result."""
        return self.folder / "arrays" / f"{key}-{name}.npy"

    def save(self, task: Task, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Write the arrays of a result; each file appears whole or not at all.

        Parameters
        ----------
        task : Task
            Whose result they are.
        arrays : mapping from str to ndarray
            By name.
        """
        for name, array in arrays.items():
            with whole_file(self.array_path(task.key, name)) as stream:
                np.save(stream, array, allow_pickle=False)

    def load(self, task: Task, name: str) -> NDArray[Any]:
        """One array of the result of a finished task, mapped into memory.

        Parameters
        ----------
        task : Task
            The task.
        name : str
            The name of the array.

        Returns
        -------
        ndarray
            Read-only.
        """
        path = self.array_path(task.key, name)
        if not path.exists():
            raise FileNotFoundError(f"{path} is missing. Run the study first.")
        array: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
        return array

    def is_finished(self, record: Record | None) -> bool:
        """Whether a task is in the journal and all its arrays are there."""
        return record is not None and all(self.array_path(record.key, name).exists() for name in record.arrays)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other runs out while the block runs, and clear away what a killed one left half written."""
        (self.folder / "arrays").mkdir(parents=True, exist_ok=True)
        with (self.folder / "lock").open("w") as file:
            _lock(file.fileno(), self.folder)
            for partial in (self.folder / "arrays").glob(".*.partial"):
                partial.unlink(missing_ok=True)
            yield


def _lock(descriptor: int, folder: Path) -> None:
    """The system releases the lock when the process ends, however it ends."""
    try:
        import fcntl
    except ImportError:  # not on Windows, where nothing keeps a second run out
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise FileExistsError(f"Another run is at work in {folder}. Wait for it, or use another folder.") from None
