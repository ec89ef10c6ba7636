"""Walk the paths that users take and count the doors: functions that are entered from another module of the package.

    python tools/walk.py                 all flows, a line each
    python tools/walk.py train --list    the doors of one flow, in the order in which they are first entered
    python tools/walk.py --json          the numbers alone

Every flow runs twice and the second run is counted, without compiling and first imports. No folder is left out.
``tests/test_contracts/test_doors.py`` has the limits, which only fall.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

HIDDEN = ("<genexpr>", "<listcomp>", "<dictcomp>", "<setcomp>", "<lambda>")


class Walk:
    """Counts doors and modules while it is entered, in all threads."""

    def __init__(self, homes: list[str]) -> None:
        self.homes = homes
        self.doors: dict[tuple[str, str], tuple[int, str]] = {}
        self.modules: set[str] = set()
        self._module_of: dict[CodeType, str] = {}
        self._local = threading.local()

    def __enter__(self) -> Walk:
        threading.setprofile(self._event)
        sys.setprofile(self._event)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)

    def _module(self, code: CodeType) -> str:
        """The module of some code, empty if it is none of the package's."""
        if code not in self._module_of:
            path = code.co_filename
            home = next((home for home in self.homes if path.startswith(home)), None)
            name = "" if home is None else path[len(str(Path(home).parent)) + 1 : -3].replace("/", ".")
            self._module_of[code] = name
        return self._module_of[code]

    def _event(self, frame: FrameType, kind: str, _: Any) -> None:
        module = self._module(frame.f_code)
        if not module:
            return
        stack: list[tuple[FrameType, str]] = self._local.__dict__.setdefault("stack", [])
        if kind == "return":
            if stack and stack[-1][0] is frame:
                stack.pop()
        elif kind == "call":
            name = frame.f_code.co_qualname
            caller = stack[-1][1] if stack else ""
            stack.append((frame, module))
            self.modules.add(module)
            if module != caller and name.rsplit(".", 1)[-1] not in HIDDEN:
                self.doors.setdefault((module, name), (len(stack), caller))


def flows(folder: Path) -> Iterator[tuple[str, Callable[[], Any]]]:
    """The paths that users take: a name and a function without arguments."""
    import numpy as np
    from sklearn.svm import LinearSVC

    import codekin
    from codekin import ECOCClassifier
    from codekin.cli.main import main

    rng = np.random.default_rng(0)
    y = np.arange(300) % 8
    X = rng.normal(size=(300, 12)) + 2 * rng.normal(size=(8, 12))[y]
    words = [f"word{i}" for i in range(420)]
    lines = [f"class{k}\t{' '.join(rng.choice(words[3 * k : 3 * k + 12], 6))}\n" for k in range(128) for _ in range(20)]
    train, validation, texts = folder / "train.tsv", folder / "validation.tsv", folder / "new.txt"
    train.write_text("".join(lines[::2]))
    validation.write_text("".join(lines[1::2]))
    texts.write_text("word1 word2\nword4 word9\n")
    model, small, tree = (str(folder / name) for name in ("model", "small", "tree"))
    command = ["train", str(train), "--validation", str(validation), "--quiet"]
    fitted = ECOCClassifier(LinearSVC(), random_state=0).fit(X, y)
    yield "fit", lambda: ECOCClassifier(LinearSVC(), random_state=0).fit(X, y)
    yield "predict", lambda: fitted.predict(X)
    yield "train", lambda: main([*command, model])
    yield "budget", lambda: main([*command, small, "--max-model-bytes", "1MB"])
    yield "cli-predict", lambda: main(["predict", model, str(texts)])
    yield "single", lambda: codekin.Predictor.load(model).predict("word1 word2")
    # What 1,000 classes or more get by default: a tree whose best classes are ranked again.
    yield "train-tree", lambda: main([*command, tree, "--code", "tree"])
    yield "cli-predict-tree", lambda: main(["predict", tree, str(texts)])
    yield "single-tree", lambda: codekin.Predictor.load(tree).predict("word1 word2")


def walked(flow: Callable[[], Any], walk: Any) -> None:
    """Run a flow without its output."""
    # Bytes below, since predictions are written to the buffer of stdout.
    streams = [io.TextIOWrapper(io.BytesIO()) for _ in range(2)]
    silent = contextlib.redirect_stdout(streams[0]), contextlib.redirect_stderr(streams[1])
    with silent[0], silent[1], contextlib.suppress(SystemExit), walk:
        flow()


def main() -> None:
    """Print what was counted."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("flow", nargs="*", help="which flows; all by default")
    parser.add_argument("--list", action="store_true", help="show the doors in the order in which they are entered")
    parser.add_argument("--json", action="store_true", help="print the numbers alone")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    import codekin

    home = Path(codekin.__file__).parent
    homes = [f"{home}/", f"{home.parent / 'codekin_studies'}/"]
    counts = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, flow in flows(Path(folder)):
            is_wanted = not given.flow or name in given.flow
            if is_wanted or name in ("train", "train-tree"):  # later flows need their models
                walked(flow, contextlib.nullcontext())
            if not is_wanted:
                continue
            walk = Walk(homes)
            walked(flow, walk)
            counts[name] = {"doors": len(walk.doors), "modules": len(walk.modules)}
            if not given.json:
                print(f"{name:<16} {len(walk.doors):4d} doors in {len(walk.modules):4d} modules", flush=True)
            if given.list:
                for (module, function), (depth, caller) in walk.doors.items():
                    print(f"{'  ' * depth}{module}:{function}   <- {caller}")
    if given.json:
        print(json.dumps(counts))


if __name__ == "__main__":
    main()
