"""Where compiled code is kept, also where neither the installation nor the home folder can be written.

Numba keeps it beside the source, or else in the user's cache folder, and gives up where it can write to neither. That
is usual in containers, where a folder of temporary files does as well. What lies compiled beside the source is used.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
import uuid
import warnings
from pathlib import Path
from typing import Any

import numba
from numba import njit
from numba.core.dispatcher import Dispatcher

REMEDY = "set NUMBA_CACHE_DIR to a folder that can be written"


def find_cache() -> None:
    """See to it that ``njit(cache=True)`` works: by a folder of temporary files, or without a cache, and a warning."""
    if _folder() is not None:
        return
    config: Any = numba.config
    before = config.CACHE_DIR
    try:
        config.CACHE_DIR = str(_temporary_folder())
    except OSError:
        config.CACHE_DIR = before
    folder = _folder()
    if folder is None:
        # The method that njit(cache=True) calls. Numba has no setting for it.
        dispatcher: Any = Dispatcher
        dispatcher.enable_caching = lambda _self: None
        warnings.warn(f"compiled code cannot be kept anywhere, so each run compiles; {REMEDY}.", stacklevel=2)
        return
    # Worker processes find the folder by this, and have nothing to warn of.
    os.environ["NUMBA_CACHE_DIR"] = config.CACHE_DIR
    _copy_compiled(Path(__file__).parent / "__pycache__", folder)
    if before:
        _copy_compiled(Path(before) / folder.name, folder)
    warnings.warn(
        f"compiled code is kept in {config.CACHE_DIR}, since neither the installation nor the home folder can "
        f"be written; to keep it elsewhere, {REMEDY}.",
        stacklevel=2,
    )


def _folder() -> Path | None:
    """Where Numba keeps what is compiled from this folder; None if it finds no place."""
    try:
        compiled: Any = njit(cache=True)(_nothing)
    except RuntimeError:
        return None
    # Without compilation (NUMBA_DISABLE_JIT) this is the function itself, and nothing is kept.
    return Path(compiled.stats.cache_path) if hasattr(compiled, "stats") else Path()


def _nothing() -> None:
    pass


def _temporary_folder() -> Path:
    """A folder that nobody else can write: what is in it will be run."""
    user = os.getuid() if hasattr(os, "getuid") else ""
    folder = Path(tempfile.gettempdir()) / f"codekin-compiled-{user}"
    folder.mkdir(mode=0o700, exist_ok=True)
    facts = folder.lstat()
    is_own = not hasattr(os, "getuid") or (facts.st_uid == os.getuid() and not facts.st_mode & 0o077)
    if not (stat.S_ISDIR(facts.st_mode) and is_own):
        raise PermissionError(f"{folder} belongs to somebody else.")
    return folder


def _copy_compiled(source: Path, target: Path) -> None:
    """Copy what is there compiled; an index comes after the code that it tells of."""
    for pattern in ("*.nbc", "*.nbi"):
        for file in source.glob(pattern):
            if not (target / file.name).exists():
                unfinished = target / f"{file.name}.tmp.{uuid.uuid4().hex[:16]}"
                try:
                    shutil.copyfile(file, unfinished)
                    unfinished.replace(target / file.name)
                except OSError:  # it cannot be read, or there is no space: it is compiled again
                    unfinished.unlink(missing_ok=True)
