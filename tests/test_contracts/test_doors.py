"""How many functions of other modules the paths of users enter: limits that only fall."""

import json
import subprocess
import sys

from tests.conftest import ROOT

LIMITS = {
    "fit": {"doors": 140, "modules": 55},
    "predict": {"doors": 15, "modules": 11},
    "train": {"doors": 327, "modules": 108},
    "budget": {"doors": 361, "modules": 111},
    "cli-predict": {"doors": 99, "modules": 50},
    "single": {"doors": 110, "modules": 49},
}


def test_the_paths_of_users_do_not_become_longer():
    command = [sys.executable, str(ROOT / "tools" / "walk.py"), "--json"]
    counted = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    longer = [
        f"{flow}: {counted[flow][what]} {what}, at most {limit}"
        for flow, limits in LIMITS.items()
        for what, limit in limits.items()
        if counted[flow][what] > limit
    ]
    assert not longer, "; ".join(longer)
