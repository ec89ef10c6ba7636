"""What all tests share: where the optional real data sets are, and what the demo found."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

ROOT = Path(__file__).parents[1]

# How long an example takes says more about the machine than about the code: timed tests are not wanted. Where others
# wait for the verdict, the same examples are tried every time.
settings.register_profile("codekin", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("codekin")


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


# Tests that use these belong to the group "demo", so that they are made once.


@pytest.fixture(scope="session")
def quick_result() -> Any:
    """What `codekin demo --quick` finds on two problems."""
    from codekin.demo import run_demo

    return run_demo(n_draws=2, is_quick=True)


@pytest.fixture(scope="session")
def quick_diagnoses() -> Any:
    """What `codekin demo` finds on diagnoses, with one seed."""
    from codekin.demo import run_diagnoses

    return run_diagnoses(n_seeds=1)
