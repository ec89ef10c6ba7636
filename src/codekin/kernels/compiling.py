"""Compilation of kernels by Numba: where code is kept, what comes with codekin, and reports while compiling.

Numba compiles what does not come with codekin (:mod:`codekin.kernels.calling`) and keeps the code next to the source,
in the user's cache folder or, where neither can be written, as in many containers, in a temporary folder.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import tempfile
import uuid
import warnings
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from threading import Lock
from time import perf_counter
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, event
from numba.core.caching import FunctionCache
from numba.extending import intrinsic, overload, typeof_impl

from codekin.kernels.calling import BUILDING, Kernel, prefetch
from codekin.kernels.linking import image_of
from codekin.progress import report

REMEDY = "set NUMBA_CACHE_DIR to a folder that can be written"


def dispatcher(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """What compiles a kernel, and keeps the code if it can."""
    if not os.environ.get(BUILDING):
        find_cache()
    is_kept = options.get("cache", False) and not os.environ.get(BUILDING) and _folder() is not None
    return numba.njit(**{**options, "cache": is_kept})(function)


@typeof_impl.register(Kernel)
def _type_of_kernel(kernel: Kernel, _context: Any) -> Any:
    """A kernel that another one calls."""
    return numba.types.Dispatcher(kernel.dispatcher)


def _prefetch(_typing: Any, array: Any, _place: Any) -> Any:
    """The instruction of the processor that fetches an element of an array to be read, into all caches."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        of_array = signature.args[0]
        own = context.make_array(of_array)(context, builder, arguments[0])
        pointer, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        address = cgutils.get_item_pointer(context, builder, of_array, own, arguments[1:], wraparound=False)
        takes = ir.FunctionType(ir.VoidType(), [pointer, number, number, number])
        function = builder.module.declare_intrinsic("llvm.prefetch", [pointer], takes)
        builder.call(function, [builder.bitcast(address, pointer), number(0), number(3), number(1)])
        return context.get_dummy_value()

    return numba.types.void(array, numba.types.intp), code


PREFETCH: Any = intrinsic(_prefetch)
overload(prefetch, strict=False)(lambda _array, _place: lambda array, place: PREFETCH(array, place))  # noqa: PLW0108


def portable_code(kernel: Any, arguments: tuple[Any, ...]) -> bytes | None:
    """Code for the types of these arguments, as :mod:`codekin.kernels.calling` loads it; None if it needs more."""
    types = tuple(map(kernel.typeof_pyval, arguments))
    kernel.compile(types)
    compiled = kernel.overloads[types]
    (_, _, (code, _)), description, environment, *_, to_run, others = compiled._reduce()
    environments = [(description.env_name, environment), *((each.env_name, each) for each in others)]
    if to_run or not all(isinstance(each, np.dtype) for _, own in environments for each in own.consts):
        return None
    found = image_of(bytes(code), description.llvm_cpython_wrapper_name, [name for name, _ in environments])
    if found is None:
        return None
    known = {**found[0], "types": [[each.str for each in own.consts] for _, own in environments]}
    return json.dumps(known, separators=(",", ":")).encode() + b"\n" + found[1]


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
