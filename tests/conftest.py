"""Fixtures of all tests: where the optional real data sets are."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).parents[1]

# How long an example takes says more about the machine than about the code: timed tests are not wanted. Where others
# wait for the verdict, the same examples are tried every time.
settings.register_profile("codekin", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("codekin")


def pytest_configure(config: pytest.Config) -> None:
    """Give each of several test processes one BLAS thread: with two processes of two they take three times as long."""
    if config.getoption("numprocesses", None):
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        os.environ.setdefault("OMP_NUM_THREADS", "1")


# These test what other systems do not have: fork, SIGKILL, pipes and links with names, full and read-only disks,
# streams that are known by number. CONTRIBUTING describes what codekin does there.
collect_ignore = [] if sys.platform == "linux" else ["faults"]
if os.name == "nt":
    collect_ignore += [
        "_system/test_folders.py",
        "_system/test_locks.py",
        "_system/test_workers.py",
        "cli/test_streams.py",
        "kernels/test_cache.py",
        "studies/test_killed_command.py",
        "studies/test_runner.py",
    ]


@pytest.fixture
def shared_data() -> Callable[[str], Path]:
    """A function from the name of an optional data set to its folder; skips the test where it is absent."""
    home = Path(os.environ.get("CODEKIN_SHARED_DATA", ROOT.parent / "shared" / "data"))

    def find(name: str) -> Path:
        folder = home / name
        if not folder.exists():
            pytest.skip(f"needs the data set {name}: set CODEKIN_SHARED_DATA to the folder that holds it")
        return folder

    return find
