"""`codekin study run`, killed five times at random moments, ends as if undisturbed and does nothing finished twice."""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

STUDY = """
kind = "exhaustive"
title = "All splits of yeast"
seed = 0
splits_per_task = 4
codebooks = []
[[data]]
name = "yeast"
n_test = 200
learner = { name = "decision_tree", min_samples_split = 3 }
confusion = "inverse_folds"
"""
N_JOBS = 2


def command(study, output):
    options = ["--output", output, "--n-jobs", str(N_JOBS), "--no-report", "--quiet", "--json"]
    return [sys.executable, "-m", "codekin", "study", "run", study, *options]


def journal(output):
    path = Path(output) / "yeast" / "journal.jsonl"
    lines = path.read_bytes().split(b"\n") if path.exists() else [b""]
    entries = [json.loads(line) for line in lines[1:-1]]
    return [(entry["key"], entry["result"]) for entry in entries]


def arrays(output):
    return {path.name: path.read_bytes() for path in (Path(output) / "yeast" / "arrays").glob("*.npy")}


def main():
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    with tempfile.TemporaryDirectory() as folder:
        study = str(Path(folder) / "yeast.toml")
        Path(study).write_text(STUDY)
        calm, disturbed = str(Path(folder) / "calm"), str(Path(folder) / "disturbed")
        subprocess.run(command(study, calm), check=True, stdout=subprocess.DEVNULL)
        moments = random.Random(0)
        for _ in range(5):
            n_before = len(journal(disturbed))
            process = subprocess.Popen(command(study, disturbed), stdout=subprocess.DEVNULL, start_new_session=True)
            n_wanted = n_before + moments.randint(0, 10)
            while len(journal(disturbed)) < n_wanted and process.poll() is None:
                time.sleep(0.01)
            time.sleep(moments.uniform(0, 0.3))
            if process.poll() is not None:
                sys.exit("The study ended before it could be killed five times: it needs more tasks.")
            # The whole group, as when a machine crashes: workers must not finish tasks whose results are lost.
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            print(f"killed: {n_before} tasks were finished before, {len(journal(disturbed))} are now")
        subprocess.run(command(study, disturbed), check=True, stdout=subprocess.DEVNULL)
        keys = [key for key, _ in journal(disturbed)]
        is_same = dict(journal(disturbed)) == dict(journal(calm)) and arrays(disturbed) == arrays(calm)
        print(f"{len(keys)} tasks, {len(keys) - len(set(keys))} of them done twice")
        print(f"the results are {'' if is_same else 'NOT '}those of an undisturbed run")
        sys.exit(0 if is_same and len(keys) == len(set(keys)) else 1)


if __name__ == "__main__":
    main()
