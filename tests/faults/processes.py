"""Commands in separate processes, forked from one that has loaded everything, so that each costs only its own work.

A forked process is like any other: signals kill it, limits apply, the system counts its time and memory.
"""

from __future__ import annotations

import mmap
import os
import resource
import signal
import struct
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

SECONDS_TO_WAIT = 120.0


@dataclass(frozen=True)
class Ended:
    """What a process has left.

    ``code`` is negative if a signal ended it: minus its number. ``cpu_seconds`` is processor time, and ``extra_bytes``
    is the most memory that it had at once beyond what it had when it began, which is the interpreter with its imports.
    """

    code: int
    out: str
    err: str
    cpu_seconds: float = 0.0
    extra_bytes: int = 0


class Running:
    """A process that runs a command line of codekin, or a function."""

    def __init__(
        self,
        work: Sequence[Any] | Callable[[], int],
        *,
        folder: Path | None = None,
        limits: Mapping[int, int] | None = None,
        stdin: bytes = b"",
    ) -> None:
        self._files = [TemporaryFile() for _ in range(3)]  # noqa: SIM115  (closed when the process has ended)
        self._files[0].write(stdin)
        self._files[0].seek(0)
        sys.stdout.flush()
        sys.stderr.flush()
        self._bytes_before = mmap.mmap(-1, 8)  # which both processes see
        self.pid = os.fork()
        if self.pid == 0:
            self._bytes_before[:] = struct.pack("q", resident_bytes())
            os._exit(self._run(work, folder, limits or {}))

    def _run(self, work: Sequence[Any] | Callable[[], int], folder: Path | None, limits: Mapping[int, int]) -> int:
        """The life of the process; whatever happens, it ends here."""
        try:
            for descriptor, file in enumerate(self._files):
                os.dup2(file.fileno(), descriptor)
            sys.stdin = open(0, closefd=False)  # noqa: SIM115  (the descriptor, as a new interpreter has it)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            if folder is not None:
                os.chdir(folder)
            for limit, value in limits.items():
                resource.setrlimit(limit, (value, value))
            if callable(work):
                return work()
            from codekin.cli.main import main

            return main([str(argument) for argument in work])
        except BaseException:
            import traceback

            traceback.print_exc()
            return 99
        finally:
            for stream in (sys.stdout, sys.stderr):
                if stream is not None:
                    stream.flush()

    def wait_for(self, is_there: Callable[[], bool]) -> bool:
        """Wait until something has happened; False if the process ended without it."""
        deadline = time.monotonic() + SECONDS_TO_WAIT
        while time.monotonic() < deadline:
            if is_there():
                return True
            if self._is_over():
                return is_there()
            time.sleep(0.001)
        return False

    def _is_over(self) -> bool:
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def send(self, number: int) -> None:
        os.kill(self.pid, number)

    def ended(self) -> Ended:
        """Wait for the end; a process that does not come to one is killed."""
        if not self.wait_for(self._is_over):
            self.send(signal.SIGKILL)
        _, status, used = os.wait4(self.pid, 0)
        texts = []
        for file in self._files[1:]:
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))
        for file in self._files:
            file.close()
        (before,) = struct.unpack("q", self._bytes_before[:])
        extra = max(used.ru_maxrss * 1024 - before, 0)
        return Ended(os.waitstatus_to_exitcode(status), *texts, used.ru_utime + used.ru_stime, extra)


def ran(*arguments: Any, **options: Any) -> Ended:
    """A command line of codekin, run to its end."""
    return Running(arguments, **options).ended()


def resident_bytes() -> int:
    """The memory of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
