"""How many functions of other modules the paths of users enter: limits that only fall."""

import json
import subprocess
import sys

from tests.conftest import ROOT

# Features of texts are made here and not by scikit-learn, whose functions no walk counts.
# Samples may have several labels, which readers, samples, learners and probabilities know: about 17 doors in 3 modules.
LIMITS = {
    "fit": {"doors": 80, "modules": 32},
    "predict": {"doors": 15, "modules": 11},  # answers that may be none have a module
    # What a file of texts is, a table or lines, is found before it is read: 10 doors in 2 modules. The summary compares
    # and times the model: 8 doors in 2 modules. Texts go through TextClassifier; samples may have several columns:
    # 16 doors in 4 modules. A trial chooses the features: 4 doors.
    # Validation samples are compared class by class: 2 modules.
    "train": {"doors": 202, "modules": 66},
    "budget": {"doors": 268, "modules": 75},
    "cli-predict": {"doors": 77, "modules": 34},  # up to the last prediction
    # Kernels are called through their types, which are looked at once: 2 doors in 1 module.
    "single": {"doors": 53, "modules": 24},
    "train-tree": {"doors": 239, "modules": 73},
    "cli-predict-tree": {"doors": 86, "modules": 37},
    "single-tree": {"doors": 60, "modules": 27},
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
