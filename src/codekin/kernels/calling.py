"""Kernels as they are called: by the code that comes with codekin, or by Numba, which is then imported.

An installation brings kernels as machine code, in ``kernels/compiled``, for a processor that all recent ones contain.
Such code needs three small extension modules of Numba, but not Numba itself: its import, its types and its compiler
take more than a second and 100 MB. The name of each file is a digest of all that the code depends on: the version of
Python, these extension modules, the source, the processor and the types of the arguments. Where any of these is
another, there is no file of that name, and :mod:`codekin.kernels.compiling` has Numba compile the kernel.
"""

from __future__ import annotations

import builtins
import ctypes
import hashlib
import json
import mmap
import os
import pickle
import platform
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import lru_cache, update_wrapper
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from threading import RLock
from types import ModuleType
from typing import Any

import numpy as np

SHIPPED = Path(__file__).parent / "compiled"
"""Where the code is that comes with codekin."""
BUILDING = "CODEKIN_KERNELS_INTO"
"""The environment variable that names the folder for it, while it is made by tools/compile_kernels.py."""
PORTABLE = {"linux x86_64": ("x86-64-v3", "abm avx avx2 bmi1 bmi2 f16c fma movbe popcnt sse4_2 xsave")}
"""For each kind of machine, LLVM's name of the processor that code is made for, and what a processor needs for it."""
NEEDED = ("_helperlib", "_dynfunc", "core.runtime._nrt_python")
"""The modules of Numba with the functions that compiled code calls."""
PER_LINE = 16
"""How many numbers of four bytes a cache line has."""
MOST_AHEAD = 128
"""Of so many numbers of a long row the processor is told to fetch the lines; it finds the others by itself."""
LOCK = RLock()


def njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """A decorator like ``numba.njit``, without Numba where the code comes with codekin."""
    is_compiled = os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")
    return lambda function: Kernel(function, options) if is_compiled else function


class Kernel:
    """A function whose code is looked up by the types of its arguments."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        update_wrapper(self, function)
        self.function, self.options = function, options
        self._dispatcher: Any = None
        self._codes: dict[Any, Callable[..., Any]] = {}

    def __call__(self, *arguments: Any) -> Any:
        return self.code_for(arguments)(*arguments)

    def __reduce__(self) -> str:
        return self.function.__name__

    @property
    def dispatcher(self) -> Any:
        """What Numba makes of the function."""
        with LOCK:
            if self._dispatcher is None:
                from codekin.kernels.compiling import dispatcher

                self._dispatcher = dispatcher(self.function, self.options)
        return self._dispatcher

    def code_for(self, arguments: tuple[Any, ...]) -> Callable[..., Any]:
        """What computes the kernel for arguments of these types."""
        types = tuple(map(_type, arguments))
        code = self._codes.get(types)
        if code is None:
            with LOCK:
                code = self._codes[types] = self._shipped(arguments) or self.dispatcher
        return code

    def _shipped(self, arguments: tuple[Any, ...]) -> Any:
        """The code that comes with codekin; None if there is none for these types."""
        described, stamp, paths = _described(arguments), _stamp(), sorted(set(self.sources(set())))
        if "?" in described or stamp is None or any(path.startswith("<") for path in paths):  # made of a string
            return None
        sources = "".join(map(_digest, paths))
        digest = hashlib.sha256(f"{stamp} {sources} {described}".encode()).hexdigest()[:20]
        name = f"{self.function.__module__.rpartition('.')[2]}.{self.function.__name__}.{digest}.kernel"
        if folder := os.environ.get(BUILDING):
            from codekin.kernels.compiling import portable_code

            code = portable_code(self.dispatcher, arguments)
            if code is not None:
                Path(folder, name).write_bytes(code)
            return None
        try:
            return _loaded(self.function, (SHIPPED / name).read_bytes())
        except (OSError, ImportError, LookupError, ValueError, RuntimeError):
            return None

    def sources(self, seen: set[Kernel]) -> Iterator[str]:
        """The files of this kernel and of all that it calls."""
        if self not in seen:
            seen.add(self)
            yield self.function.__code__.co_filename
            for name in self.function.__code__.co_names:
                called = self.function.__globals__.get(name)
                if isinstance(called, Kernel):
                    yield from called.sources(seen)


def prefetch(array: Any, place: int) -> None:
    """Have the processor fetch what will soon be read at a place of an array: a hint that changes no result.

    The place may be beyond the end. Plain Python ignores it; :mod:`codekin.kernels.compiling` says what it becomes.
    """


def typed_once(kernel: Any) -> Callable[..., Any]:
    """A kernel for a caller whose arguments always have the types of its first call, which alone are looked up."""
    code: Any = None if isinstance(kernel, Kernel) else kernel

    def call(*arguments: Any) -> Any:
        nonlocal code
        if code is None:
            code = kernel.code_for(arguments)
        return code(*arguments)

    return call


def compiled_until() -> float:
    """When Numba last finished compiling, by ``perf_counter``; 0 if it has compiled nothing."""
    compiling = sys.modules.get("codekin.kernels.compiling")
    return 0.0 if compiling is None else float(compiling.WATCH.ended_at)


def _type(value: Any) -> Any:
    """What is equal only for values of the same type; quick, since every call needs it."""
    if isinstance(value, np.ndarray):
        return value.dtype, value.ndim, value.flags.num
    return tuple(map(_type, value)) if type(value) is tuple else type(value)


def _described(value: Any) -> str:
    """The type of a value as text, with a question mark if only Numba knows it."""
    if type(value) is tuple:
        return f"({','.join(map(_described, value))})"
    if isinstance(value, np.ndarray):
        flags = value.flags
        layout = "C" if flags.c_contiguous else "F" if flags.f_contiguous else "A"
        is_known = value.dtype.isnative and value.dtype.kind in "biuf" and flags.aligned
        return f"{value.dtype if is_known else '?'}{value.ndim}{layout}{'' if flags.writeable else 'r'}"
    if type(value) in (bool, int, float):
        return {bool: "bool", int: "int64", float: "float64"}[type(value)]
    return str(value.dtype) if isinstance(value, np.bool_ | np.number) else "?"


@lru_cache
def _digest(path: str | Path) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


@lru_cache
def _stamp() -> str | None:
    """What all code depends on; None if this processor cannot run code that comes with codekin."""
    name, needed = PORTABLE.get(f"{sys.platform} {platform.machine()}", ("", ""))
    if not name or not set(needed.split()) <= _features() or os.environ.get("NUMBA_BOUNDSCHECK"):
        return None
    try:
        helpers = " ".join(_digest(_file(module)) for module in NEEDED)
    except ImportError:  # another Numba has other modules
        return None
    return f"{EXTENSION_SUFFIXES[0]} {name} {helpers}"


def _features() -> set[str]:
    """What the processor can do, in the words of Linux."""
    with suppress(OSError), Path("/proc/cpuinfo").open(encoding="utf-8") as lines:
        for line in lines:
            if line.startswith("flags"):
                return set(line.split())
    return set()


def _file(module: str) -> Path:
    """The file of an extension module of Numba."""
    spec = find_spec("numba")
    if spec is None or spec.origin is None:
        raise ImportError("numba")
    folder, _, name = module.rpartition(".")
    home = Path(spec.origin).parent.joinpath(*folder.split("."))
    for path in (home / f"{name}{suffix}" for suffix in EXTENSION_SUFFIXES):
        if path.exists():
            return path
    raise ImportError(module)


def _module(name: str) -> ModuleType:
    """An extension module of Numba, which finds it here if it is imported later."""
    full = f"numba.{name}"
    if full not in sys.modules:
        spec = spec_from_file_location(full, _file(name))
        if spec is None or spec.loader is None:
            raise ImportError(full)
        made = module_from_spec(spec)
        spec.loader.exec_module(made)
        sys.modules[full] = made
    return sys.modules[full]


@ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)
def _unpickled(address: int, n_bytes: int, _: int) -> Any:
    """A constant of compiled code, such as an exception; Numba's own function for it would import all of Numba."""
    if address not in _CONSTANTS:
        _CONSTANTS[address] = pickle.loads(ctypes.string_at(address, n_bytes))
    return _CONSTANTS[address]


_CONSTANTS: dict[int, Any] = {}


@lru_cache
def _known() -> dict[str, int | None]:
    """The addresses of what compiled code calls of Numba, by name, and of exceptions."""
    helpers, functions, memory = map(_module, NEEDED)
    exceptions = [each for each in vars(builtins).values() if isinstance(each, type)]
    return {
        **{f"numba_{name}": address for module in (helpers, functions) for name, address in module.c_helpers.items()},
        **{name if name[0] == "_" else f"NRT_{name}": address for name, address in memory.c_helpers.items()},
        **{f"PyExc_{each.__name__}": id(each) for each in exceptions if issubclass(each, BaseException)},
        "_Py_NoneStruct": id(None),
        "numba_unpickle": ctypes.cast(_unpickled, ctypes.c_void_p).value,
    }


@lru_cache
def _address(name: str) -> int:
    """Where something is that compiled code needs."""
    address = _known().get(name)
    # Of what C libraries there are in this process; that of mathematics may be none of them.
    for library in (None, "libm.so.6") if address is None else ():
        with suppress(AttributeError, OSError):
            address = ctypes.cast(getattr(ctypes.CDLL(library), name), ctypes.c_void_p).value
            break
    if address is None:
        raise LookupError(name)
    return address


def _loaded(function: Callable[..., Any], content: bytes) -> Any:
    """A function from what ``portable_code`` made: a line of JSON about an image, and the image."""
    head, _, image = content.partition(b"\n")
    known, make = json.loads(head), _module("_dynfunc")
    if len(image) != known["size"]:
        raise ValueError("the image is not complete")
    memory = mmap.mmap(-1, len(image), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory.write(image)
    base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    for name, places in {"": known["own"], **known["needed"]}.items():
        address = _address(name) if name else base
        for place in places:
            ctypes.c_uint64.from_address(base + place).value += address
    environments = []
    for place, types in zip(known["variables"], known["types"], strict=True):
        made = make.Environment(function.__globals__)
        made.consts.extend(map(np.dtype, types))
        ctypes.c_void_p.from_address(base + place).value = id(made)
        environments.append(made)
    is_code = mmap.PROT_READ | mmap.PROT_EXEC
    if ctypes.CDLL(None).mprotect(ctypes.c_void_p(base), ctypes.c_size_t(known["code"]), is_code):
        raise OSError("code cannot be run from memory that was written")
    module = sys.modules[function.__module__]
    kept = (memory, *environments)
    return make.make_function(module, function.__name__, function.__doc__, base + known["entry"], environments[0], kept)
