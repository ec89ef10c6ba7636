"""AROW on two processes against one: time of the whole fit, from samples in memory to weights in memory.

    python benchmarks/distribution.py [--data-home FOLDER] [--set wordnet_hypernym] [--widths 10 20 40] [--repeats 3]

Claim, on an idle machine: two processes with one thread each learn the bits of the widest trellis at least 1.6 times as
fast as one process with one thread. Each worker goes over all samples, so narrow codes gain less. The sides take turns;
the minimum of several runs counts. The workers are running and have compiled their kernels before; the time includes
sending the samples to them and the weights back. The weights must be equal to the last bit. For comparison, the limit
of the machine: two processes that read, change and write the same rows of half the width, in the same order, and do
nothing else, against one with rows of the whole width.

Also prints, in CPU time of one thread, what a pass costs per non-zero of the samples and per bit of it, for use in
``cluster_plan.py``.
"""

import argparse
import sys
from time import perf_counter, process_time, sleep, time

import numpy as np
from arow import update_rows
from joblib import Parallel, delayed

from codekin.code import Code
from codekin.codebooks import trellis_codebook
from codekin.data import load_dataset
from codekin.learners import AROW
from codekin.samples import Samples

CLAIMED_RATIO = 1.6


def fitted(data, codewords, n_epochs, n_jobs):
    """Weights, seconds, CPU seconds of this process."""
    start, cpu_start = perf_counter(), process_time()
    learner = AROW(n_epochs=n_epochs, n_threads=1, n_jobs=n_jobs)
    bits = learner.fit(Samples(data.X, data.class_index), Code.of(codewords), rng=0)
    return bits.weights, perf_counter() - start, process_time() - cpu_start


def seconds_for_rows(indices, n_features, n_floats, n_passes, begin):
    """How long a process takes to change the rows of all non-zeros; all processes start together."""
    rows = np.zeros((n_features, n_floats), dtype=np.float32)
    update_rows(indices[:1000], rows)
    sleep(max(0.0, begin - time()))
    start = perf_counter()
    for _ in range(n_passes):
        update_rows(indices, rows)
    return perf_counter() - start


def allowed_ratio(data, n_bits, n_passes, repeats):
    """How much faster two processes change rows of half the width than one changes those of the whole width."""
    least = []
    with Parallel(2) as parallel:
        for n_processes in (1, 2):
            # A bit has a weight and a variance; processes wait until the slowest has compiled and touched its rows.
            jobs = (data.X.indices, data.X.shape[1], 2 * n_bits // n_processes, n_passes)
            runs = [
                max(parallel(delayed(seconds_for_rows)(*jobs, time() + 8) for _ in range(n_processes)))
                for _ in range(repeats)
            ]
            least.append(min(runs))
    return least[0] / least[1]


class ClassData:
    def __init__(self, name, data_home):
        data = load_dataset(name, data_home)
        self.X = data.X
        self.class_index = np.unique(data.y, return_inverse=True)[1]
        self.n_classes = int(self.class_index.max()) + 1


def compare(data, width, n_epochs, repeats):
    """Print a table; return whether the claim holds at this width."""
    codewords = trellis_codebook(data.n_classes, width).matrix
    n_bits, work = codewords.shape[1], data.X.nnz * codewords.shape[1] * n_epochs
    times = {1: [], 2: []}
    for n_jobs in times:
        fitted(data, codewords, 1, n_jobs)  # start the workers, compile
    for _ in range(repeats):
        weights = {}
        for n_jobs, of_side in times.items():
            weights[n_jobs], seconds, _ = fitted(data, codewords, n_epochs, n_jobs)
            of_side.append(seconds)
        is_same = weights[1].tobytes() == weights[2].tobytes()
    print(f"{data.X.shape[0]:,} samples, {data.X.nnz:,} non-zeros, {n_bits} bits, {n_epochs} passes")
    print(f"{'processes':>10}{'seconds':>10}{'million updates/s':>20}")
    for n_jobs, of_side in times.items():
        print(f"{n_jobs:>10}{min(of_side):>10.2f}{work / min(of_side) / 1e6:>20,.0f}")
    ratio = min(times[1]) / min(times[2])
    allowed = allowed_ratio(data, n_bits, n_epochs, repeats)
    print(
        f"ratio {ratio:.2f}, {'the same' if is_same else 'NOT THE SAME'} weights; of rows alone {allowed:.2f}",
        flush=True,
    )
    return ratio >= CLAIMED_RATIO and is_same


def print_rates(data, widths, repeats):
    """Least squares through CPU seconds at some widths: what a non-zero costs, and what each of its bits adds."""
    n_bits, seconds = [], []
    for width in widths:
        codewords = trellis_codebook(data.n_classes, width).matrix
        # The difference between two numbers of passes cancels what is done once.
        runs = [[fitted(data, codewords, n, 1)[2] for n in (1, 3)] for _ in range(repeats)]
        least = np.min(runs, axis=0)
        n_bits.append(codewords.shape[1])
        seconds.append((least[1] - least[0]) / 2 / data.X.nnz)
    of_bit, of_nonzero = np.polyfit(n_bits, seconds, 1)
    for width, bits, of_pass in zip(widths, n_bits, seconds, strict=True):
        print(f"width {width:>3}, {bits:>5} bits: {1e9 * of_pass:8.1f} ns for a non-zero in a pass")
    print(f"nanoseconds per non-zero {1e9 * of_nonzero:.1f}, and per bit of it {1e9 * of_bit:.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-home", help="the folder with one folder per data set; otherwise CODEKIN_DATA")
    parser.add_argument("--set", default="wordnet_hypernym")
    parser.add_argument("--widths", nargs="+", type=int, default=(10, 20, 40))
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    data = ClassData(arguments.set, arguments.data_home)
    for width in sorted(arguments.widths):
        holds = compare(data, width, arguments.epochs, arguments.repeats)
    if len(arguments.widths) > 1:
        print_rates(data, arguments.widths, arguments.repeats)
    if not holds:
        print("BELOW THE CLAIM")
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
