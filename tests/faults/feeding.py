"""Feed the corpus to the command line, each input in a separate process, and check that the answer is one sentence.

Each process is forked from one that has imported everything and loaded all kernels; only the CPU time and memory that
it uses after that are counted.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.faults.corpus import CORPUS, SHARED, BadInput
from tests.faults.processes import Ended, ran

MAX_SECONDS = 2.0
MAX_BYTES = 200 << 20
MAX_CHARACTERS = 500


@dataclass(frozen=True)
class Fed:
    """What came of an input; ``wrong`` says what is wrong with the answer, if anything is."""

    kind: str
    name: str
    wrong: str
    answer: str
    cpu_seconds: float
    extra_bytes: int


def fed(case: BadInput, shared: Path) -> Fed:
    """Feed one input."""
    with TemporaryDirectory(prefix="codekin-bad-input-") as name:
        folder = Path(name)
        arguments = set_up(case, shared, folder)
        before = listing(folder)
        ended = ran(*arguments, folder=folder)
        wrong = what_is_wrong(case, ended.code, ended.out, ended.err) or exceeded(ended)
        if not wrong and case.code != 0 and listing(folder) != before:
            wrong = f"left behind: {sorted(set(listing(folder)) - set(before))}"
    return Fed(case.kind, case.name, wrong, ended.err.strip(), ended.cpu_seconds, ended.extra_bytes)


def set_up(case: BadInput, shared: Path, folder: Path) -> list[str]:
    """Make the files of an input, and its command line."""
    for name, content in case.files.items():
        (folder / name).write_bytes(content)
    if case.make is not None:
        case.make(shared, folder)
    return [argument.replace(SHARED, str(shared)) for argument in case.arguments]


def what_is_wrong(case: BadInput, code: int, out: str, err: str) -> str:
    """What is wrong with an answer; nothing if it is one sentence with the right words and exit code."""
    if code != case.code:
        return f"exit code {code}, not {case.code}: {(err or out)[-300:]}"
    if code == 0:
        return ""
    if "Traceback" in err or "defect" in err or re.fullmatch(r"codekin[^\n]*[.?]\n", err) is None:
        return f"no sentence: {err[:300]}"
    if len(err) > MAX_CHARACTERS:
        return f"{len(err)} characters: {err[:100]}"
    missing = [word for word in case.words if word not in err]
    return f"{missing[0]!r} is not in: {err}" if missing else ""


def exceeded(ended: Ended) -> str:
    if ended.cpu_seconds > MAX_SECONDS:
        return f"{ended.cpu_seconds:.1f} seconds"
    return f"{ended.extra_bytes / 2**20:.0f} MiB" if ended.extra_bytes > MAX_BYTES else ""


def listing(folder: Path) -> dict[str, bytes]:
    """All files below a folder and what is in them; folders, too."""
    return {str(path): path.read_bytes() if path.is_file() else b"" for path in folder.rglob("*")}


def report(results: list[Fed]) -> str:
    """Inputs tried, crashes, worst time and worst memory."""
    slowest = max(results, key=lambda one: one.cpu_seconds)
    largest = max(results, key=lambda one: one.extra_bytes)
    return (
        f"{len(results)} broken inputs: {sum(bool(one.wrong) for one in results)} answered wrongly; "
        f"worst time {slowest.cpu_seconds:.2f} s of processor ({slowest.kind}: {slowest.name}); "
        f"worst memory {largest.extra_bytes / 2**20:.0f} MiB beyond the interpreter ({largest.kind}: {largest.name})"
    )


__all__ = ["CORPUS", "Fed", "fed", "report"]
