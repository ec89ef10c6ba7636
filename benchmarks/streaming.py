"""Training on a file four times larger than the memory limit: accuracy and time compared with training in memory.

    python benchmarks/streaming.py [--data-home FOLDER] [--seeds 5]

First the accuracy, on wordnet_hypernym with the paper's recipe (width 2, AROW, depth-first order, five passes): with
the samples in memory, and on disk with a quarter of their bytes allowed in memory. Both learn from the same rows; the
seeds draw their orders. Then the memory of `codekin train` in a separate process on synthetic samples: its peak minus
that for a file of a few samples (Python, its libraries and the compiled loops). `--max-memory` counts samples, weights
and variances; the limit for samples alone is half of it.

Last, the same with exactly this much memory as a hard limit of the operating system (Linux: RLIMIT_DATA): with
`--max-memory` the training ends as before, without it with a one-sentence error.

Claims: the accuracies differ by at most 0.3 points; a file of samples four times as large as the limit adds at most the
limit and 40 MB, for the pieces of text and margins in use and a few numbers per sample.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from codekin import ExtremeClassifier
from codekin._system.memory import in_units
from codekin.data import SparseData, cached_data, load_dataset, make_sparse_topics, write_data
from codekin.learners import AROW

MAX_POINTS = 0.3
WORKING_BYTES = 40e6
N_TIMES = 40
"""How often the synthetic samples are repeated."""
PEAK = """
import os, resource, sys
if "HARD_LIMIT" in os.environ:
    resource.setrlimit(resource.RLIMIT_DATA, 2 * (int(os.environ["HARD_LIMIT"]),))
from codekin.cli.main import main
code = main(sys.argv[1:])
print(open("/proc/self/status").read())
sys.exit(code)
"""


def compare_accuracy(folder, data_home, n_seeds):
    """Whether streaming is as accurate, on real data."""
    data = load_dataset("wordnet_hypernym", data_home=data_home)
    write_data(folder / "train.svm", SparseData(data.X, data.y, np.arange(data.n_classes)))
    n_bytes = data.X.data.nbytes + data.X.indices.nbytes
    stored = cached_data(folder / "train.svm", n_features=data.X.shape[1], max_memory=n_bytes // 4)
    print(f"{stored!r}: {in_units(n_bytes)} in memory, {in_units(n_bytes // 4)} allowed at a time")
    accuracies, seconds = {"in memory": [], "on disk": []}, {"in memory": [], "on disk": []}
    for seed in range(n_seeds):
        for name, X in (("in memory", data.X), ("on disk", stored.X)):
            classifier = ExtremeClassifier(
                2,
                taxonomy=data.class_tree,
                assignment="preserving",
                estimator=AROW(n_epochs=5),
                loss="exponential",
                rerank=None,
                random_state=seed,
            )
            begin = time.process_time()
            classifier.fit(X, np.array(data.class_names)[data.y])
            seconds[name].append(time.process_time() - begin)
            predicted = classifier.predict(data.test.X)
            accuracies[name].append(100 * float((predicted == np.array(data.class_names)[data.test.y]).mean()))
    for name, values in accuracies.items():
        spread = 2 * np.std(values) / np.sqrt(len(values))
        print(f"{name:10} {np.mean(values):6.2f} +- {spread:.2f} %   {min(seconds[name]):6.2f} s of processor time")
    difference = np.mean(accuracies["in memory"]) - np.mean(accuracies["on disk"])
    is_met = difference <= MAX_POINTS
    ratio = min(seconds["on disk"]) / min(seconds["in memory"])
    print(
        f"lost on disk: {difference:.2f} points, bar {MAX_POINTS}: {'met' if is_met else 'MISSED'}; time x {ratio:.2f}"
    )
    return is_met


def compare_memory(folder):
    """Whether a limit holds, on a synthetic file."""
    made = make_sparse_topics(200, 5_000, n_features=5_000, words_per_sample=150, rng=0)
    write_data(folder / "few.svm", SparseData(made.X, made.y, np.arange(200)))
    text = (folder / "few.svm").read_bytes()
    with (folder / "many.svm").open("wb") as file:
        for _ in range(N_TIMES):
            file.write(text)
    n_bytes = N_TIMES * (made.X.data.nbytes + made.X.indices.nbytes)
    limit = n_bytes // 4
    print(f"\n{N_TIMES * 5_000:,} samples: {in_units(n_bytes)} in memory, {in_units(N_TIMES * len(text))} of text")
    options = ["--assignment", "random", "--rerank", "none", "--n-epochs", "3", "--json", "--quiet", "--no-checkpoint"]
    few, _, few_data = peak_and_seconds(folder, "few.svm", options)
    peaks = {}
    for name, limits in (
        ("in memory", []),
        ("on disk", ["--max-memory", str(limit)]),
        ("again", ["--max-memory", str(limit)]),
    ):
        peak, seconds, _ = peak_and_seconds(folder, "many.svm", [*options, *limits])
        peaks[name] = peak - few
        print(f"{name:10} {in_units(peak):>10} at most, {in_units(peak - few):>10} more than for few, {seconds:6.1f} s")
    most = limit + WORKING_BYTES
    is_met = max(peaks["on disk"], peaks["again"]) <= most
    print(f"limit {in_units(limit)}, bar {in_units(most)} more than for few: {'met' if is_met else 'MISSED'}")
    return is_met and keeps_hard_limit(folder, options, limit, int(few_data + most))


def keeps_hard_limit(folder, options, limit, hard_limit):
    """Whether, under a hard limit, training on disk succeeds and training in memory fails with one sentence."""
    on_disk = trained(folder, "many.svm", [*options, "--max-memory", str(limit)], hard_limit)
    in_memory = trained(folder, "many.svm", options, hard_limit)
    lines = in_memory.stderr.splitlines()
    is_met = on_disk.returncode == 0 and in_memory.returncode == 1 and len(lines) == 1
    print(
        f"hard limit {in_units(hard_limit)}: on disk exit code {on_disk.returncode} {on_disk.stderr[-200:]}, in memory "
        f"{in_memory.returncode}: {' '.join(lines)[-200:]}: {'met' if is_met else 'MISSED'}"
    )
    return is_met


def peak_and_seconds(folder, data, options):
    """The peak memory of a training, how long it took, and the data that it held at the end."""
    done = trained(folder, data, options)
    done.check_returncode()
    peak, held = (int(re.search(rf"{name}:\s+(\d+) kB", done.stdout)[1]) * 1024 for name in ("VmHWM", "VmData"))
    return peak, json.loads(done.stdout.splitlines()[0])["seconds"], held


def trained(folder, data, options, hard_limit=None):
    """Run the command line's training in a separate process."""
    command = [sys.executable, "-c", PEAK, "train", str(folder / data), str(folder / "model"), *options]
    limits = {} if hard_limit is None else {"HARD_LIMIT": str(hard_limit)}
    return subprocess.run(command, env={**os.environ, **limits}, capture_output=True, text=True, check=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-home", help="where the data sets are")
    parser.add_argument("--seeds", type=int, default=5)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        are_met = [
            compare_accuracy(Path(folder), arguments.data_home, arguments.seeds),
            compare_memory(Path(folder)),
        ]
    return 0 if all(are_met) else 1


if __name__ == "__main__":
    raise SystemExit(main())
