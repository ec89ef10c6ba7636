"""Count the stations of the three main flows: how many functions does a call pass through?

    python tools/stations.py             the three flows
    python tools/stations.py --list fit  the stations of one flow, in the order of their first visit

A station is a function that is called from another part of codekin (a folder, or a module next to the folders) or from
outside; each counts once. Calls between modules of one part are counted separately. Kernels, _system, progress,
properties, special methods and nested functions are not stations. A re-entry is a call into a module that is already
on the stack, below other modules, and that calls further modules, as a callback does; loop bodies that run on threads
and progress reports do not count. The flows run on small synthetic data, which does not change the calls.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType

import numpy as np

import codekin

HOME = str(Path(codekin.__file__).parent)
NO_STATIONS = ("kernels", "_system", "progress", "_version")
HELPERS = ("cli.display",)


class Tracer:
    """Stations and re-entries while it is switched on."""

    def __init__(self) -> None:
        self.stations: dict[tuple[str, str], None] = {}
        self.inner: dict[tuple[str, str], None] = {}
        self.reentries: dict[tuple[str, str], None] = {}
        self._modules: dict[CodeType, str] = {}
        self._stack: list[tuple[FrameType, str]] = []

    def __enter__(self) -> Tracer:
        sys.setprofile(self._event)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    @property
    def modules(self) -> list[str]:
        """The modules of the stations, in the order of their first visit."""
        return list(dict.fromkeys(module for module, _ in [*self.stations, *self.inner]))

    def _event(self, frame: FrameType, event: str, _: object) -> None:
        module = self._module(frame.f_code)
        if not module:
            return
        if event == "return":
            if self._stack and self._stack[-1][0] is frame:
                self._stack.pop()
        elif event == "call":
            caller = self._stack[-1][1] if self._stack else ""
            name = frame.f_code.co_qualname
            if module != caller and _is_station(module, name):
                is_inner = _part(module) == _part(caller)
                (self.inner if is_inner else self.stations).setdefault((module, name))
            if module != caller and not module.startswith(NO_STATIONS):
                self._note_reentry(module)
            self._stack.append((frame, module))

    def _note_reentry(self, module: str) -> None:
        """Note that the caller's module was entered again, if it is also further up the stack, and calls ``module``."""
        if not self._stack:
            return
        # Threads, files and the like are transparent: they only call back.
        frames = [(frame, waiting) for frame, waiting in self._stack if not waiting.startswith(NO_STATIONS)]
        caller = frames[-1][1] if frames else ""
        at = len(frames) - 1
        while at >= 0 and frames[at][1] == caller:
            at -= 1
        above = [waiting for _, waiting in frames[: at + 1]]
        if caller in above and module not in (caller, *HELPERS):
            self.reentries.setdefault((caller, frames[at + 1][0].f_code.co_qualname))

    def _module(self, code: CodeType) -> str:
        if code not in self._modules:
            path = code.co_filename
            inside = path[len(HOME) + 1 : -3] if path.startswith(HOME) and path.endswith(".py") else ""
            self._modules[code] = inside.replace("/", ".")
        return self._modules[code]


def _part(module: str) -> str:
    return module.partition(".")[0]


def _is_station(module: str, name: str) -> bool:
    function = name.rpartition(".")[2]
    is_property = function in _PROPERTIES.get(module, set())
    return not (
        is_property
        or module.startswith(NO_STATIONS)
        or "<locals>" in name
        or function.startswith(("__", "<"))  # lambdas and comprehensions are part of the function around them
    )


def _properties() -> dict[str, set[str]]:
    """The names of the properties of each module, from its source."""
    import ast

    found: dict[str, set[str]] = {}
    for path in Path(HOME).rglob("*.py"):
        names = set()
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef):
                marks = {ast.unparse(mark) for mark in node.decorator_list}
                if marks & {"property", "cached_property"}:
                    names.add(node.name)
        found[str(path.relative_to(HOME))[:-3].replace("/", ".")] = names
    return found


_PROPERTIES = _properties()


# ----- the flows ------------------------------------------------------------------------------------------------------


def _samples() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(8), 25)
    return rng.normal(size=(8, 6))[y] * 3 + rng.normal(size=(200, 6)), y


def _texts(folder: Path) -> tuple[str, str]:
    rng = np.random.default_rng(0)
    words = [f"word{i}" for i in range(60)]
    lines = [f"class{k}\t{' '.join(rng.choice(words[3 * k : 3 * k + 12], 6))}\n" for k in range(16) for _ in range(20)]
    (folder / "train.tsv").write_text("".join(lines[::2]))
    (folder / "val.tsv").write_text("".join(lines[1::2]))
    return str(folder / "train.tsv"), str(folder / "val.tsv")


def fit(_: Path) -> Callable[[], object]:
    """ECOCClassifier.fit."""
    from codekin import ECOCClassifier

    X, y = _samples()
    return lambda: ECOCClassifier(random_state=0).fit(X, y)


def predict(_: Path) -> Callable[[], object]:
    """ECOCClassifier.predict."""
    from codekin import ECOCClassifier

    X, y = _samples()
    classifier = ECOCClassifier(random_state=0).fit(X, y)
    return lambda: classifier.predict(X)


def train(folder: Path) -> Callable[[], object]:
    """``codekin train data.tsv model --max-model-bytes 1MB``."""
    from codekin.cli.main import main

    texts, validation = _texts(folder)
    words = ["train", texts, str(folder / "model"), "--validation", validation, "--max-model-bytes", "1MB", "--quiet"]
    return lambda: main(words)


FLOWS = {"fit": fit, "predict": predict, "train": train}


def traced(name: str) -> Tracer:
    """The stations of a flow in its second run, without the imports and compilation of the first."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        flow = FLOWS[name](Path(folder))
        tracer = Tracer()
        with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
            flow()
        with tracer, contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
            flow()
    return tracer


def main() -> None:
    """Print the table, or the stations of one flow."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--list", choices=FLOWS, help="the stations of one flow, in the order of their first visit")
    listed = parser.parse_args().list
    if listed:
        tracer = traced(listed)
        for station in tracer.stations:
            print(".".join(station))
        for station in tracer.reentries:
            print(f"re-entry: {'.'.join(station)}")
        return
    print(f"{'flow':<42} {'stations':>8} {'doors within parts':>18} {'modules':>8} {'re-entries':>10}")
    for name, flow in FLOWS.items():
        tracer = traced(name)
        what = (flow.__doc__ or name).strip(".`")
        print(
            f"{what:<42} {len(tracer.stations):>8} {len(tracer.inner):>18} {len(tracer.modules):>8} "
            f"{len(tracer.reentries):>10}"
        )


if __name__ == "__main__":
    main()
