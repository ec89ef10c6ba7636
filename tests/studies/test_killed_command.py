"""`codekin study run` may be killed at any time; `benchmarks/study_kill.py` is the long version, on two processes."""

import json
import os
import random
import signal
import subprocess
import sys
import time

import pytest

from codekin_studies import load_study, run_study

STUDY = """
kind = "exhaustive"
title = "All splits of yeast"
seed = 0
splits_per_task = 32
codebooks = []
[[data]]
name = "yeast"
n_test = 1200
learner = { name = "decision_tree", min_samples_split = 3 }
confusion = "train"
"""
N_TASKS = 16 + 1


def finished(output):
    """The keys and the results of the whole lines of a journal, in their order."""
    path = output / "yeast" / "journal.jsonl"
    lines = path.read_bytes().split(b"\n")[1:-1] if path.exists() else []
    entries = [json.loads(line) for line in lines]
    return [(entry["key"], entry["result"]) for entry in entries]


def arrays(output):
    return {path.name: path.read_bytes() for path in (output / "yeast" / "arrays").iterdir()}


@pytest.mark.skipif(os.name == "nt", reason="there is no SIGKILL on Windows")
def test_a_study_killed_at_random_moments_ends_as_if_undisturbed_and_does_nothing_twice(tmp_path):
    path = tmp_path / "yeast.toml"
    path.write_text(STUDY)
    calm, disturbed = tmp_path / "calm", tmp_path / "disturbed"
    run_study(load_study(str(path)), calm, n_jobs=1)

    options = ["--output", str(disturbed), "--n-jobs", "1", "--no-report", "--quiet", "--json"]
    command = [sys.executable, "-m", "codekin", "study", "run", str(path), *options]
    moment = random.Random(0)
    for _ in range(3):
        before = finished(disturbed)
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True)
        n_wanted = len(before) + moment.randint(0, 5)
        while len(finished(disturbed)) < n_wanted and process.poll() is None:
            time.sleep(0.01)
        time.sleep(moment.uniform(0, 0.1))
        os.killpg(process.pid, signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
        # What was finished stays as it was written, and what is new comes after it.
        assert finished(disturbed)[: len(before)] == before
    n_before = len(finished(disturbed))
    assert 0 < n_before < N_TASKS
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    assert json.loads(done.stdout)["n_run"] == N_TASKS - n_before
    keys = [key for key, _ in finished(disturbed)]
    assert len(keys) == len(set(keys)) == N_TASKS
    assert dict(finished(disturbed)) == dict(finished(calm))
    assert arrays(disturbed) == arrays(calm)
