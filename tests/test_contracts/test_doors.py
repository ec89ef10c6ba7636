"""How many functions of other modules the paths of users enter: limits that only fall."""

import json
import subprocess
import sys

from tests.conftest import ROOT

LIMITS = {
    "fit": {"doors": 128, "modules": 53},
    "predict": {"doors": 15, "modules": 11},
    "train": {"doors": 316, "modules": 108},
    "budget": {"doors": 349, "modules": 111},
    "cli-predict": {"doors": 90, "modules": 45},
    "single": {"doors": 104, "modules": 46},
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
