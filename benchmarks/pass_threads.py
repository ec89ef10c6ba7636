"""No claim: what two threads would gain in a pass of the trellis softmax, and why a pass takes one.

    python benchmarks/pass_threads.py [--sets ...] [--widths 5 10] [--batches 64 256] [--seeds 3] [--data-home FOLDER]

A step needs the margins of all bits, so that threads can share only batches of steps: first, all steps of a batch are
computed from the weights before it, by threads that share the samples; then they are made, by threads that share the
columns. The result depends on the size of the batches, not on the number of threads. The first table has the test
accuracies in percent of one step after the other and of batches, without a re-ranking.

The second has CPU times of 10,240 steps, relative to one after the other: of batches on one thread; and with two
threads, the sum over both halves of all batches of the CPU time of the thread that took longer, with and without the
time that a thread waits for another, the shortest of many. That is what two free cores would take, on a busy machine,
too, where the time on the clock says nothing. It shares its caches with whatever else runs. Best of several rounds.
"""

import argparse
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
from vector_threads import SETS

from codekin import ExtremeClassifier
from codekin.code import Assignment, Code
from codekin.codebooks import trellis_codebook
from codekin.data import load_dataset
from codekin.kernels import softmax as kernels
from codekin.kernels.calling import njit
from codekin.learners import Softmax
from codekin.learners.softmax import ClassPaths, SoftmaxBits, class_paths
from codekin.learners.training_rows import TrainingRows

N_STEPS, N_ROUNDS, COLUMNS = 10_240, 12, 16
margins_of, scale_steps, exponentials = kernels._margins_of, kernels._scale_steps, kernels.exponentials
edge_marginals = kernels.edge_marginals


@njit(nogil=True, error_model="numpy")
def compute(
    indptr, indices, values, classes, edges, weights, order, width, digits, step, limit, state, bounds, steps, growths
):
    """The steps of the samples of a batch between the bounds, from one state."""
    n_bits = state.shape[2]
    margins, powers = np.empty(n_bits, np.float32), np.empty(n_bits, np.float32)
    marginals, curvatures, growth = np.empty(n_bits), np.empty(n_bits), np.empty(n_bits)
    onward, reach = np.empty((len(digits) - 1, width)), np.empty((len(digits) - 1, width))
    for t in range(bounds[0], bounds[1]):
        sample = order[t]
        start, stop = indptr[sample], indptr[sample + 1]
        margins_of(indices[start:stop], values[start:stop], state, margins)
        exponentials(margins, 0.0, limit, powers, growth)
        edge_marginals(growth, width, digits, onward, reach, marginals)
        for e in range(n_bits):
            curvatures[e] = marginals[e] * (1 - marginals[e])
        for e in edges[classes[sample]]:
            if e >= 0:
                marginals[e] -= 1
        scale_steps(weights[sample], step, marginals, curvatures, steps[t], growths[t])


@njit(nogil=True, error_model="numpy")
def descend(indptr, indices, values, order, steps, growths, state, first, last):
    """Make the steps of a batch in some columns, one sample after the other."""
    for t in range(len(order)):
        step, growth = steps[t, first:last], growths[t, first:last]
        for p in range(indptr[order[t]], indptr[order[t] + 1]):
            x = values[p]
            square = x * x
            w, g = state[indices[p], 0, first:last], state[indices[p], 1, first:last]
            for j in range(last - first):
                g[j] += growth[j] * square
                w[j] -= step[j] * x / g[j]


class Halves:
    """Runs both halves of a piece of work on two threads, or all of it on one; adds up what the slower half takes."""

    def __init__(self, n_threads):
        self.pool = ThreadPoolExecutor(1) if n_threads == 2 else None
        self.seconds, self.n_calls = 0.0, 0

    def run(self, work, n_items):
        def timed(first, last):
            begin = time.thread_time()
            work(first, last)
            return time.thread_time() - begin

        self.n_calls += 1
        if self.pool is None:
            self.seconds += timed(0, n_items)
            return
        other = self.pool.submit(timed, n_items // 2, n_items)
        self.seconds += max(timed(0, n_items // 2), other.result())


def learn_in_batches(paths, samples, order, step, state, size, halves):
    indptr, indices, values, _ = samples.arrays
    n_bits = state.shape[2]
    steps, growths = np.empty((2, size, n_bits), np.float32)
    for start in range(0, len(order), size):
        batch = order[start : start + size]
        given = *samples.arrays, *paths.codewords, samples.weight_of_sample, batch, *paths.graph, step, *paths.limits

        def steps_of(first, last, given=given):
            compute(*given, state, (first, last), steps, growths)

        def made(first, last, batch=batch):
            columns = COLUMNS * first, min(COLUMNS * last, n_bits)
            descend(indptr, indices, values, batch, steps, growths, state, *columns)

        halves.run(steps_of, len(batch))
        halves.run(made, -(-n_bits // COLUMNS))


@contextmanager
def batches_of(size):
    """Let softmax learn in batches within the block; one step after the other if the size is 1."""
    as_it_is = ClassPaths.learn
    if size > 1:
        ClassPaths.learn = lambda *given: learn_in_batches(*given, size, Halves(1))
    try:
        yield
    finally:
        ClassPaths.learn = as_it_is


def accuracy_of(data, width, size, seed):
    settings = {"taxonomy": data.class_tree, "assignment": "preserving", "rerank": None, "estimator": Softmax()}
    with batches_of(size):
        classifier = ExtremeClassifier(width, random_state=seed, **settings)
        classifier.fit(data.X, data.y, validation=(data.validation.X, data.validation.y))
    return 100 * classifier.score(data.test.X, data.test.y)


def shortest_wait():
    """How long it takes to wait for a thread that does nothing, at least, in seconds."""
    halves, waits = Halves(2), []
    for _ in range(2_000):
        begin = time.perf_counter()
        halves.run(lambda first, last: None, 2)
        waits.append(time.perf_counter() - begin)
    return float(np.percentile(waits, 5))


def times_of(data, width, sizes):
    """For each size, relative to one step after the other: one thread, two threads, two threads that wait."""
    y = np.unique(data.y, return_inverse=True)[1]
    n_classes = int(y.max()) + 1
    rows = TrainingRows.of(data.X, y, n_classes)
    paths = class_paths(Code(trellis_codebook(n_classes, width), Assignment.identity(n_classes)))
    n_bits = trellis_codebook(n_classes, width).n_bits
    begun = {"curvature": 0.3, "has_bias": False, "n_threads": 1}
    states = {n: SoftmaxBits.begun(rows.n_features, n_bits, **begun).state for n in (1, 2)}
    order = np.random.default_rng(0).permutation(rows.n_rows)[:N_STEPS]
    found = {(size, n): [] for size in sizes for n in (1, 2)}
    alone, wait = [], shortest_wait()
    for _ in range(N_ROUNDS):
        begin = time.thread_time()
        paths.learn(rows, order, 0.5, states[1])
        alone.append(time.thread_time() - begin)
        for (size, n), seconds in found.items():
            halves = Halves(n)
            learn_in_batches(paths, rows, order, 0.5, states[n], size, halves)
            seconds.append((halves.seconds, halves.n_calls))
    for size in sizes:
        (one, _), (two, n_calls) = min(found[size, 1]), min(found[size, 2])
        yield size, one / min(alone), min(alone) / two, min(alone) / (two + n_calls * wait)
    for size in sizes:
        states = {n: SoftmaxBits.begun(rows.n_features, n_bits, **begun).state for n in (1, 2)}
        for n, state in states.items():
            learn_in_batches(paths, rows, order, 0.5, state, size, Halves(n))
        assert states[1].tobytes() == states[2].tobytes(), "the number of threads changes the result"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-home", help="the folder with one folder per data set; otherwise CODEKIN_DATA")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--widths", nargs="+", type=int, default=[5, 10])
    parser.add_argument("--batches", nargs="+", type=int, default=[64, 256])
    parser.add_argument("--seeds", type=int, default=3, help="how many; 0 leaves the accuracies out")
    options = parser.parse_args()
    loaded = {name: load_dataset(name, options.data_home) for name in options.sets}
    if options.seeds:
        print("| set | width | batch | accuracy |\n|---|---:|---:|---:|")
    for name, width in ((name, width) for name in loaded for width in options.widths if options.seeds):
        for size in (1, *options.batches):
            found = np.array([accuracy_of(loaded[name], width, size, seed) for seed in range(options.seeds)])
            error = found.std(ddof=1) / len(found) ** 0.5 if len(found) > 1 else np.nan
            print(f"| {name} | {width} | {size} | {found.mean():.2f} ± {error:.2f} |", flush=True)
    print("\n| set | width | batch | one thread, CPU | gain of two threads | with waiting |")
    print("|---|---:|---:|---:|---:|---:|")
    for name, width in ((name, width) for name in loaded for width in options.widths):
        for size, one, gain, real_gain in times_of(loaded[name], width, options.batches):
            print(f"| {name} | {width} | {size} | × {one:.2f} | × {gain:.2f} | × {real_gain:.2f} |", flush=True)


if __name__ == "__main__":
    main()
