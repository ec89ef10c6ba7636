"""How close a pass of the trellis softmax comes to the speed of memory, and what vectorised loops are worth.

    python benchmarks/softmax_pass.py [--n-samples 20000]

Synthetic rows of 13 words out of 45,000, drawn by Zipf's law, and 12,582 classes on a trellis of width 10. The pass in
``codekin.kernels`` is compared with an earlier one that computes one exponential at a time in double precision and
checks every division as Python does. The limit is the time to read and write the same rows in random order. All run on
one thread and take turns; the best CPU time of five rounds counts.
"""

import argparse
import math
import time

import numpy as np

from codekin.codebooks import trellis_codebook
from codekin.kernels import softmax as kernels
from codekin.kernels.calling import njit

N_FEATURES, N_CLASSES, WIDTH, N_WORDS = 45_000, 12_582, 10, 13
ROUNDS = 5
LEAST_SHARE = 0.6


@njit(nogil=True)
def exponentials_one_by_one(scores, shift, limit, powers, found):
    for j in range(len(scores)):
        found[j] = math.exp(min(max(np.float64(scores[j] - shift), -limit), limit))


@njit(nogil=True)
def descend_with_checks(features, values, steps, growths, state):
    for p in range(len(features)):
        x = values[p]
        w, g = state[features[p], 0], state[features[p], 1]
        for j in range(len(steps)):
            g[j] += growths[j] * (x * x)
            w[j] -= steps[j] * x / g[j]


@njit(nogil=True)
def rows_read_and_written(indices, state, sums):
    """The memory traffic of a pass without its computation: weights are read, then weights and curvatures updated."""
    for f in indices:
        w = state[f, 0]
        for j in range(len(sums)):
            sums[j] += w[j]
    for f in indices:
        row = state[f].reshape(-1)
        for j in range(len(row)):
            row[j] += np.float32(1e-9)


def pass_as_it_was():
    """The pass of the package, compiled with the two functions above."""
    source = kernels.trellis_softmax_pass.function
    names = dict(source.__globals__, exponentials=exponentials_one_by_one, _descend=descend_with_checks)
    return njit(nogil=True)(type(source)(source.__code__, names))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--n-samples", type=int, default=20_000)
    n_samples = parser.parse_args().n_samples
    rng = np.random.default_rng(0)
    chances = 1 / np.arange(1, N_FEATURES + 1)
    rows = [np.sort(rng.choice(N_FEATURES, N_WORDS, p=chances / chances.sum())) for _ in range(n_samples)]
    indices = np.concatenate([np.unique(row) for row in rows]).astype(np.int32)
    indptr = np.concatenate([[0], np.cumsum([len(np.unique(row)) for row in rows])])
    values = rng.random(len(indices)).astype(np.float32)
    trellis = trellis_codebook(N_CLASSES, WIDTH).trellis
    classes, order = rng.integers(0, N_CLASSES, n_samples), rng.permutation(n_samples)
    edges, digits = trellis.unrank(np.arange(N_CLASSES)).astype(np.int32), np.array(trellis.digits, dtype=np.int64)

    def made(learn):
        state = np.zeros((N_FEATURES, 2, trellis.n_edges), dtype=np.float32)
        state[:, 1] = 0.3
        ones = np.ones(n_samples)
        return state, lambda some: learn(
            indptr, indices, values, classes, edges, ones, some, WIDTH, digits, 0.5, 30.0, state
        )

    contenders = {"as it was": made(pass_as_it_was()), "vectorised": made(kernels.trellis_softmax_pass)}
    sums, bare = np.zeros(trellis.n_edges, dtype=np.float32), contenders["as it was"][0].copy()
    actions = {name: learn for name, (_, learn) in contenders.items()}
    actions["rows alone"] = lambda some: rows_read_and_written(indices if len(some) > 1 else indices[:9], bare, sums)
    seconds = {name: [] for name in actions}
    for learn in actions.values():
        learn(order[:1])  # compiles
    for _ in range(ROUNDS):
        for name, learn in actions.items():
            begin = time.process_time()
            learn(order)
            seconds[name].append(time.process_time() - begin)
    n_bytes = 5 * 4 * len(indices) * trellis.n_edges
    for name, rounds in seconds.items():
        print(f"{name:<12} {1e6 * min(rounds) / n_samples:6.2f} us a sample   {n_bytes / min(rounds) / 1e9:5.1f} GB/s")
    states = [state[:, 0] for state, _ in contenders.values()]
    print(f"largest difference of weights: {np.abs(states[0] - states[1]).max():.2g}, of {np.abs(states[0]).max():.3g}")
    share = min(seconds["rows alone"]) / min(seconds["vectorised"])
    verdict = "met" if share >= LEAST_SHARE else "NOT met"
    print(f"share of the speed of rows alone: {share:.2f}, at least {LEAST_SHARE}: {verdict}")
    return 0 if share >= LEAST_SHARE else 1


if __name__ == "__main__":
    raise SystemExit(main())
