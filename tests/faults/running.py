"""Provoke the faults one by one, feed the corpus, and print each outcome as a line."""

from __future__ import annotations

import argparse
import io
import json
import sys
import time
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.faults import targets  # noqa: F401  (enters its faults)
from tests.faults.feeding import CORPUS, fed, report
from tests.faults.matrix import FAULTS, Fault
from tests.faults.mounts import CannotMountError, Mounts
from tests.faults.place import Place, WrongOutcomeError, prepared

MARKS = {"green": "ok ", "red": "BAD", "skipped": "-- "}


@dataclass(frozen=True)
class Line:
    """What came of a fault: green, red or skipped, and how that showed."""

    fault: str
    command: str
    status: str
    outcome: str
    seconds: float


def provoked(fault: Fault, shared: Path, mounts: Mounts) -> Line:
    """Provoke one fault in a folder of its own."""
    started = time.perf_counter()
    with TemporaryDirectory(prefix="codekin-fault-") as folder:
        try:
            status, outcome = "green", fault.provoke(Place(Path(folder), shared, mounts))
        except CannotMountError as error:
            status, outcome = "skipped", str(error)
        except (WrongOutcomeError, OSError, ValueError, KeyError) as error:
            status, outcome = "red", f"{type(error).__name__}: {error}"
        finally:
            mounts.remove()
    return Line(fault.name, fault.command, status, " ".join(outcome.split()), time.perf_counter() - started)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the command line asks for; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description="Provoke every fault.")
    parser.add_argument("what", nargs="?", choices=("faults", "corpus", "forge"), default="faults")
    parser.add_argument("--examples", type=int, default=1000, help="how many model folders to forge")
    parser.add_argument("--first", type=int, default=0, help="the number of the first one")
    parser.add_argument("--seed", type=int, default=0, help="another seed forges others")
    parser.add_argument("--jobs", type=int, default=1, help="how many processes to use")
    parser.add_argument("--quick", action="store_true", help="leave out what takes long or other tests provoke too")
    parser.add_argument("--json", action="store_true", help="a JSON object per line")
    parser.add_argument("--only", default="", help="only what has this word in its name")
    options = parser.parse_args(arguments)
    if options.what == "forge":
        return _forge(options)
    mounts = Mounts()
    with TemporaryDirectory(prefix="codekin-faults-") as shared:
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            prepared(Path(shared), has_studies=not options.quick)
        run = _faults if options.what == "faults" else _corpus
        return run(options, Path(shared), mounts)


def _faults(options: argparse.Namespace, shared: Path, mounts: Mounts) -> int:
    faults = [each for each in FAULTS if not (options.quick and each.is_slow)]
    lines = []
    for each in faults:
        if options.only not in f"{each.name} {each.command}":
            continue
        line = provoked(each, shared, mounts)
        lines.append(line)
        text = f"{MARKS[line.status]} {line.fault:20} {line.command:42} {line.outcome}"
        _say(json.dumps(asdict(line)) if options.json else text)
    counts = {status: sum(line.status == status for line in lines) for status in MARKS}
    if not options.json:
        _say(f"{len(lines)} faults: " + ", ".join(f"{n} {name}" for name, n in counts.items()))
    return 1 if counts["red"] else 0


def _corpus(options: argparse.Namespace, shared: Path, _mounts: Mounts) -> int:
    results = []
    for case in CORPUS:
        if options.only not in f"{case.kind} {case.name}":
            continue
        one = fed(case, shared)
        results.append(one)
        mark = MARKS["red" if one.wrong else "green"]
        _say(
            f"{mark} {one.kind:12} {one.name:48} {one.cpu_seconds:5.2f} s {one.extra_bytes / 2**20:5.0f} MiB  "
            f"{one.wrong or one.answer}"
        )
    _say(report(results))
    return 1 if any(one.wrong for one in results) else 0


def _forge(options: argparse.Namespace) -> int:
    from tests.faults.judging import run

    with TemporaryDirectory(prefix="codekin-forged-") as home:
        numbers = {"first": options.first, "seed": options.seed, "jobs": options.jobs}
        return run(options.examples, home=Path(home), say=_say, **numbers)


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
