"""Where compiled code is cached, even if neither the installation nor the home folder is writable.

Numba caches next to the source, or else in the user's cache folder, and fails if it can write to neither. That is
common in containers, where a temporary folder is used instead. Compiled code next to the source is still used.
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
    """Make ``njit(cache=True)`` work, with a temporary folder or without a cache, and a warning."""
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
    # Worker processes find the folder with this, and need not warn.
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
    """Numba's cache folder for this folder; None if it finds none."""
    try:
        compiled: Any = njit(cache=True)(_nothing)
    except RuntimeError:
        return None
    # Without compilation (NUMBA_DISABLE_JIT) this is the function itself, and nothing is cached.
    return Path(compiled.stats.cache_path) if hasattr(compiled, "stats") else Path()


def _nothing() -> None:
    pass


def _temporary_folder() -> Path:
    """A folder that no other user can write to, since its content is executed."""
    user = os.getuid() if hasattr(os, "getuid") else ""
    folder = Path(tempfile.gettempdir()) / f"codekin-compiled-{user}"
    folder.mkdir(mode=0o700, exist_ok=True)
    facts = folder.lstat()
    is_own = not hasattr(os, "getuid") or (facts.st_uid == os.getuid() and not facts.st_mode & 0o077)
    if not (stat.S_ISDIR(facts.st_mode) and is_own):
        raise PermissionError(f"{folder} belongs to somebody else.")
    return folder


def _copy_compiled(source: Path, target: Path) -> None:
    """Copy existing compiled code; an index after the code that it lists."""
    for pattern in ("*.nbc", "*.nbi"):
        for file in source.glob(pattern):
            if not (target / file.name).exists():
                unfinished = target / f"{file.name}.tmp.{uuid.uuid4().hex[:16]}"
                try:
                    shutil.copyfile(file, unfinished)
                    unfinished.replace(target / file.name)
                except OSError:  # not readable, or no space: it is compiled again
                    unfinished.unlink(missing_ok=True)
