"""What training on dense vectors of 100,000 classes takes, from memory and from a memory-mapped file of half precision.

    python benchmarks/dense_memory.py [--classes 100000]

The made-up vectors of ``dense_vectors.py``, three of each class with 128 numbers, each fit in a process of its own. The
growth of the process while it fits, all of it and without pages of files, which the system can drop at any time; the
samples were there before and are not counted. "Model" is what the fitted model holds. Megabytes. One pass with a
given step: others hold no more.
"""

import argparse
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
from apart import Journal, carry_out
from dense_vectors import made_up

KINDS = ("RssAnon", "RssFile")


def resident():
    """The bytes of this process that are its own, and those of files."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return np.array([1024 * int(line.split()[1]) for kind in KINDS for line in lines if line.startswith(f"{kind}:")])


def measure(task):
    """The growth of this process during a fit, and the bytes of the model."""
    from codekin import ExtremeClassifier
    from codekin.learners import VectorSoftmax

    small = made_up(1_200, 16)
    ExtremeClassifier(random_state=0).fit(small.X, small.y)
    folder = Path(task["folder"])
    X = np.load(folder / f"{task['kind']}.npy", mmap_mode="r" if task["mapped"] else None)
    y = np.load(folder / "y.npy")
    before, peaks, is_over = resident(), [], threading.Event()

    def watch():
        while not is_over.wait(0.01):
            peaks.append(resident())

    thread = threading.Thread(target=watch)
    thread.start()
    started = time.process_time()
    classifier = ExtremeClassifier(estimator=VectorSoftmax(n_epochs=1, step=0.15), random_state=0).fit(X, y)
    seconds = time.process_time() - started
    is_over.set()
    thread.join()
    growth = np.array(peaks) - before
    measures = growth.sum(axis=1).max(), growth[:, 0].max(), classifier.model_.first.bits.nbytes
    return [float(each) for each in measures] + [seconds]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--classes", type=int, default=100_000)
    arguments = parser.parse_args()
    parts = made_up(arguments.classes)
    print("| samples | size | growth | without pages of files | model | training s |\n|---|---:|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder) / "y.npy", parts.y)
        for kind in ("float32", "float16"):
            np.save(Path(folder) / f"{kind}.npy", parts.X.astype(kind))
        journal = Journal(Path(folder) / "journal")
        for kind, mapped in (("float16", True), ("float32", False)):
            result = journal.of(__file__, {"folder": folder, "kind": kind, "mapped": mapped})
            if result is not None:
                size = len(parts.X) * parts.X.shape[1] * np.dtype(kind).itemsize
                cells = [f"{each / 1e6:.0f}" for each in (size, *result[:3])]
                name = f"{kind}, {'memory-mapped' if mapped else 'in memory'}"
                print(f"| {name} | {' | '.join(cells)} | {result[3]:.0f} |", flush=True)


if __name__ == "__main__":
    carry_out(measure)
    main()
