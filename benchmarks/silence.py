"""No command is silent for more than two seconds: the longest silence on stderr, in a log and in a terminal.

    python benchmarks/silence.py [--data-home FOLDER] [--sets wordnet_hypernym] [--budget 5MB] [--cold]

``codekin train`` with its defaults, or within a budget, then ``codekin evaluate``, each as a separate process whose
stderr is read as it is written: through a pipe, and through a pseudo-terminal. Starting and ending Python count.
``--cold`` starts with an empty cache of compiled code, as after an installation. On a busy machine, the ratio of CPU
time to wall time tells how much of a silence is due to the process itself.
"""

import argparse
import os
import pty
import re
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

from codekin.data.stored_sets import data_home

LIMIT = 2.0


def run(arguments, *, in_terminal, environment):
    """What was written to stderr, with the seconds since the start, and the CPU seconds of the process."""
    ours, theirs = pty.openpty() if in_terminal else os.pipe()
    started = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "codekin", *map(str, arguments)],
        stdout=subprocess.DEVNULL,
        stderr=theirs,
        env={**environment, "TERM": "xterm-256color", "COLUMNS": "120"},
    )
    os.close(theirs)
    written = [(0.0, "")]
    while chunk := _read(ours):
        written.append((time.perf_counter() - started, chunk.decode(errors="replace")))
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.perf_counter() - started
    os.close(ours)
    if process.returncode:
        raise SystemExit(f"codekin {arguments[0]} ended with exit code {process.returncode}: {written[-1][1]}")
    return [*written, (seconds, "")], usage.ru_utime + usage.ru_stime


def _read(descriptor):
    try:
        return os.read(descriptor, 65_536)
    except OSError:  # the other side of a pseudo-terminal is closed
        return b""


def longest_silence(written):
    """How many seconds it lasted, when it started, and the last line before it."""
    longest, line = (0.0, 0.0, ""), "(nothing yet)"
    for (before, text), (now, _) in pairwise(written):
        plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text).replace("\r", "\n")
        line = next((part.strip() for part in reversed(plain.splitlines()) if part.strip()), line)
        longest = max(longest, (now - before, before, line))
    return longest


def main():
    """Print the table; the exit code is 1 if a command was silent for too long."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data-home", type=Path)
    parser.add_argument("--sets", nargs="+", default=["wordnet_hypernym"])
    parser.add_argument("--budget", help="train within this size, such as 5MB")
    parser.add_argument("--cold", action="store_true", help="start with an empty cache of compiled code")
    options = parser.parse_args()
    is_fine = True
    for name in options.sets:
        folder = data_home(options.data_home) / name
        for in_terminal in (False, True):
            with tempfile.TemporaryDirectory() as workplace:
                model, environment = Path(workplace) / "model", dict(os.environ)
                if options.cold:
                    environment["NUMBA_CACHE_DIR"] = str(Path(workplace) / "compiled")
                budget = [] if options.budget is None else ["--max-model-bytes", options.budget]
                train = ("train", folder / "train.svm.gz", model, *budget)
                for command in (train, ("evaluate", model, folder / "test.svm.gz")):
                    written, cpu = run(command, in_terminal=in_terminal, environment=environment)
                    silence, since, line = longest_silence(written)
                    is_fine &= silence <= LIMIT
                    where = f"{name} {command[0]:8} {'terminal' if in_terminal else 'log':8}"
                    spent = f"at {since:.1f} s of {written[-1][0]:.1f} s ({cpu:.1f} CPU s)"
                    print(f"{where} longest silence {silence:.2f} s {spent}, after: {line}", flush=True)
    return 0 if is_fine else 1


if __name__ == "__main__":
    raise SystemExit(main())
