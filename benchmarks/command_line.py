"""From compressed files to predicted labels with the command line: wall time and peak memory of every step.

    python benchmarks/command_line.py [--data-home FOLDER] [--sets wordnet_hypernym debian_dirs100k]

``codekin train`` reads the samples and the taxonomy, assigns, makes five passes of the paper's recipe and saves the
model; ``codekin predict`` loads it and labels the test samples; ``codekin evaluate`` measures the accuracy. Each is a
separate process, so that starting Python and compiling count; the second round finds compiled code in the cache, like
every run after a user's first. Bars, for training and prediction together: wordnet_hypernym (12,582 classes) in a
minute and 1 GB, debian_dirs100k (102,673 classes) in five minutes and 3 GB.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from codekin.data.stored_sets import data_home

LIMITS = {"wordnet_hypernym": (60, 1.0), "debian_dirs100k": (300, 3.0)}
"""Seconds and GB."""
PAPER = ("--assignment", "preserving", "--estimator", "arow", "--rerank", "none")


def run(*arguments, output=subprocess.DEVNULL):
    """Seconds and peak memory in GB of one command."""
    started = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-m", "codekin", *map(str, arguments)], stdout=output)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"codekin {arguments[0]} ended with exit code {process.returncode}")
    return time.perf_counter() - started, usage.ru_maxrss * 1024 / 1e9


def measure(folder, workplace):
    """Print one line per round; returns whether all were within the limits."""
    limit_seconds, limit_memory = LIMITS[folder.name]
    predicted, evaluation = workplace / "predicted.txt", workplace / "evaluation.json"
    is_met = True
    for cache in ("empty", "filled"):
        model = workplace / f"model-{cache}"
        train = ("train", folder / "train.svm.gz", model, "--taxonomy", folder / "taxonomy.txt.gz", "--width", 2)
        options = ("--validation", folder / "val.svm.gz", "--n-epochs", 5, "--quiet", *PAPER)
        train_seconds, train_memory = run(*train, *options)
        with predicted.open("w") as output:
            predict_seconds, predict_memory = run("predict", model, folder / "test.svm.gz", "--quiet", output=output)
        with evaluation.open("w") as output:
            run("evaluate", model, folder / "test.svm.gz", "--json", "--quiet", output=output)
        measured = json.loads(evaluation.read_text())
        seconds, memory = train_seconds + predict_seconds, max(train_memory, predict_memory)
        print(
            f"{folder.name:<18}{cache:<8}{train_seconds:>8.1f} s{predict_seconds:>8.1f} s{seconds:>8.1f} s"
            f"{memory:>8.2f} GB{100 * measured['accuracy']:>8.1f} %{measured['model_bytes'] / 1e6:>8.1f} MB",
            flush=True,
        )
        is_met &= seconds <= limit_seconds and memory <= limit_memory
    n_predicted = sum(1 for _ in predicted.open())
    print(f"  {n_predicted:,} labels; limits {limit_seconds} s and {limit_memory} GB: {'met' if is_met else 'NOT met'}")
    return is_met


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-home", type=Path, default=None)
    parser.add_argument("--sets", nargs="*", default=list(LIMITS), choices=list(LIMITS))
    arguments = parser.parse_args()
    home = arguments.data_home or data_home()
    print(f"{'data':<18}{'cache':<8}{'training':>10}{'predict':>10}{'both':>10}{'peak':>11}{'right':>10}{'model':>11}")
    is_met = True
    for name in arguments.sets:
        if not (home / name / "train.svm.gz").exists():
            print(f"{name:<18}left out: there is no {name} in the data home")
            continue
        with tempfile.TemporaryDirectory() as workplace:
            os.environ["NUMBA_CACHE_DIR"] = str(Path(workplace) / "compiled")
            is_met &= measure(home / name, Path(workplace))
    return 0 if is_met else 1


if __name__ == "__main__":
    raise SystemExit(main())
