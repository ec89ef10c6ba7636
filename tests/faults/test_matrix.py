"""Every fault has the promised outcome; ``make faults`` prints the table."""

import json
import os
import subprocess
import sys

import pytest

from tests.conftest import ROOT

pytest.importorskip("fcntl")
if not sys.platform.startswith("linux"):
    pytest.skip("faults are provoked with the means of Linux", allow_module_level=True)

from tests.faults import targets  # noqa: F401  (enters its faults)
from tests.faults.matrix import FAULTS

QUICK = [fault for fault in FAULTS if not fault.is_slow]


def test_every_fault_has_its_outcome():
    """One test for all: the faults are provoked in a process of one thread, which can be forked safely."""
    command = [sys.executable, "-m", "tests.faults", "--quick", "--json"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(lines) == len(QUICK), done.stderr
    wrong = [f"{line['fault']}, {line['command']}: {line['outcome']}" for line in lines if line["status"] == "red"]
    assert not wrong, "\n".join(wrong)
    skipped = [line for line in lines if line["status"] == "skipped"]
    if skipped:
        pytest.skip(f"{len(skipped)} of {len(lines)} faults were not provoked: {skipped[0]['outcome']}")
