"""Where data sets that are too large to embed are kept."""

from __future__ import annotations

import os
from pathlib import Path

VARIABLE = "CODEKIN_DATA"
"""The environment variable that names the folder."""


def data_home(given: str | Path | None = None) -> Path:
    """The folder that holds one folder per data set.

    By default that of the environment variable CODEKIN_DATA, otherwise ``codekin`` in the user's cache folder.
    """
    if given is not None:
        return Path(given)
    if os.environ.get(VARIABLE):
        return Path(os.environ[VARIABLE])
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "codekin"


def existing_folder(name: str, given: str | Path | None = None) -> Path:
    """The folder of a data set."""
    folder = data_home(given) / name
    if not folder.is_dir():
        raise FileNotFoundError(
            f"The data set {name!r} is not in {folder.parent}. Give the folder that holds it as data_home, "
            f"or in the environment variable {VARIABLE}."
        )
    return folder


def first_existing(folder: Path, *names: str) -> Path | None:
    """The first of some files that exists."""
    return next((folder / name for name in names if (folder / name).is_file()), None)


def required_file(folder: Path, *names: str) -> Path:
    """The first of some files that exists; an error if there is none."""
    path = first_existing(folder, *names)
    if path is None:
        raise FileNotFoundError(f"{folder}: the file {' or '.join(names)} is missing.")
    return path
