"""Compilation of kernels: code that comes with codekin, where other code is kept, and reports while compiling.

An installation brings the kernels already compiled, in ``kernels/compiled``: for a processor that all recent ones
contain, by one version of Python and Numba. Where any of these differs, or a kernel meets other types, Numba compiles
and keeps the code next to the source, in the user's cache folder or, where neither can be written, as in many
containers, in a temporary folder.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import stat
import tempfile
import uuid
import warnings
from collections.abc import Callable
from functools import cached_property, lru_cache
from pathlib import Path
from threading import Lock
from time import perf_counter
from typing import Any

import llvmlite.binding
import numba
from numba.core import event
from numba.core.caching import FunctionCache, IndexDataCacheFile

from codekin.progress import report

REMEDY = "set NUMBA_CACHE_DIR to a folder that can be written"

SHIPPED = Path(__file__).parent / "compiled"
"""Where the code is that comes with codekin."""
BUILDING = "CODEKIN_KERNELS_INTO"
"""The environment variable that names the folder for it, while it is made by tools/compile_kernels.py."""
PORTABLE = {
    "x86_64": ("x86-64-v3", ("avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "popcnt", "sse4.2")),
}
"""For each kind of machine, LLVM's name of the processor that code is made for, and what a processor needs for it."""


def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """A decorator: ``numba.njit``; with ``cache=True`` the code comes with codekin where it can."""

    def compiled(function: Callable[..., Any]) -> Any:
        made: Any = numba.njit(**{**options, "cache": False})(function)
        if options.get("cache") and hasattr(made, "_cache"):  # with NUMBA_DISABLE_JIT it is the function itself
            made._cache = _KernelCache(function)
        return made

    return compiled


class _KernelCache:
    """What a dispatcher of Numba asks for compiled code, and gives new code to."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    @cached_property
    def _own(self) -> Any:
        """Numba's cache; None where nothing can be kept."""
        find_cache()
        try:
            return FunctionCache(self._function)
        except RuntimeError:
            return None

    @property
    def cache_path(self) -> Any:
        return None if self._own is None else self._own.cache_path

    def load_overload(self, signature: Any, context: Any) -> Any:
        """The code for a signature; None if it must be compiled."""
        if os.environ.get(BUILDING):
            return None
        target = _target()
        if target is not None:
            context.refresh()
            found = _files(self._function, SHIPPED).load((signature, target))
            if found is not None:
                return numba.core.compiler.CompileResult._rebuild(context, *found)
        return None if self._own is None else self._own.load_overload(signature, context)

    def save_overload(self, signature: Any, result: Any) -> None:
        """Keep new code."""
        folder = os.environ.get(BUILDING)
        if folder:
            _files(self._function, Path(folder)).save((signature, _target()), result._reduce())
        elif self._own is not None:
            self._own.save_overload(signature, result)


@lru_cache
def _target() -> tuple[str, str] | None:
    """What code is made for, if this processor can run code that comes with codekin."""
    name, needed = PORTABLE.get(platform.machine(), ("", ()))
    features = llvmlite.binding.get_host_cpu_features()
    if not name or not all(features.get(each) for each in needed) or os.environ.get("NUMBA_BOUNDSCHECK"):
        return None
    return llvmlite.binding.get_process_triple(), name


def _files(function: Callable[..., Any], folder: Path) -> Any:
    """The code of a function in a folder; other versions of Python, Numba or the source have files of other names."""
    code = function.__code__
    source = _digest(code.co_filename)
    python = "".join(platform.python_version_tuple()[:2])
    name = f"{Path(code.co_filename).stem}.{code.co_name}-{code.co_firstlineno}.py{python}"
    return IndexDataCacheFile(str(folder), name, source)


@lru_cache
def _digest(path: str) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


@lru_cache
def find_cache() -> None:
    """Make Numba find a place for compiled code: a temporary folder, with a warning, or none."""
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
        return Path(FunctionCache(_folder).cache_path)
    except RuntimeError:
        return None


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


WHAT = "compiling kernels, once after an installation: about half a minute in all"


class _Watch(event.Listener):
    """Listens to compilations, but not to loading from the cache; callees are compiled within their callers."""

    def __init__(self) -> None:
        self.n_running, self.ended_at = 0, 0.0
        self.lock = Lock()

    def on_start(self, _event: Any) -> None:
        with self.lock:
            self.n_running += 1
        report("", detail=WHAT)

    def on_end(self, _event: Any) -> None:
        with self.lock:
            self.n_running, self.ended_at = self.n_running - 1, perf_counter()
            is_over = self.n_running == 0
        if is_over:
            report("")


WATCH = _Watch()
event.register("numba:compile", WATCH)
