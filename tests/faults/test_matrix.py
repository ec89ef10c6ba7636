"""Every fault has the outcome that is promised; ``make faults`` prints the table of them."""

import json
import subprocess
import sys

import pytest

from tests.conftest import ROOT

pytest.importorskip("fcntl")
if not sys.platform.startswith("linux"):
    pytest.skip("faults are provoked with the means of Linux", allow_module_level=True)

from tests.faults.matrix import FAULTS

QUICK = [fault for fault in FAULTS if not fault.is_slow]


@pytest.fixture(scope="module")
def lines():
    """What came of the faults: provoked in a process of one thread, which can be forked safely."""
    command = [sys.executable, "-m", "tests.faults", "--quick", "--json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(found) == len(QUICK), done.stderr
    return {(line["fault"], line["command"]): line for line in found}


@pytest.mark.parametrize("fault", QUICK, ids=lambda fault: f"{fault.name}, {fault.command}")
def test_a_fault_has_its_outcome(fault, lines):
    line = lines[fault.name, fault.command]
    if line["status"] == "skipped":
        pytest.skip(line["outcome"])
    assert line["status"] == "green", line["outcome"]
