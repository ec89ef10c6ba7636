"""AROW: one pass over sparse rows against memory bandwidth, a loop in Python and SGDClassifier.

    python benchmarks/arow.py [--repeats 7]

Claims, on one thread, for rows of 60 non-zeros at uniformly random features (so that no cache holds the weights): at
least 60% of this machine's bandwidth for updating random rows at 338 and 879 bits, and at least 40% at 56 bits; at
least 100 times as fast as a plain loop over learners and samples in Python and NumPy; at 338 bits, at least 6 times as
fast as one pass of ``SGDClassifier`` per bit.

The bandwidth is measured by a loop that reads, changes and writes the same rows in the same order and does nothing
else; a row counts twice, once read and once written. Against SGDClassifier, features are as frequent as words (the
f-th in proportion to 1 / (f + 10)). The sides take turns. Times are CPU seconds, the minimum of several runs, since
other work on the machine only adds to them.
"""

import argparse
from time import process_time

import numpy as np
from numba import njit
from scipy import sparse
from sklearn.linear_model import SGDClassifier

from codekin.code import Code
from codekin.kernels.arow import arow_pass
from codekin.learners import AROW
from codekin.learners.training_rows import TrainingRows
from codekin.samples import Samples

N_NONZEROS, N_CLASSES = 60, 1_000
SHAPES = ((56, 400_000, 20_000, 0.4), (338, 100_000, 4_000, 0.6), (879, 40_000, 2_500, 0.6))
"""Bits, features, samples, and the claimed share of the bandwidth."""


def least(sides, repeats):
    times = {name: [] for name in sides}
    for run in sides.values():
        run()  # compile, allocate
    for _ in range(repeats):
        for name, run in sides.items():
            start = process_time()
            run()
            times[name].append(process_time() - start)
    return {name: min(values) for name, values in times.items()}


def problem(n_bits, n_features, n_samples, *, like_words=False):
    rng = np.random.default_rng(0)
    frequency = 1 / (np.arange(n_features) + 10) if like_words else np.ones(n_features)
    indices = rng.choice(n_features, (n_samples, N_NONZEROS), p=frequency / frequency.sum())
    indices = np.sort(indices, axis=1).astype(np.int32)
    values = rng.random((n_samples, N_NONZEROS), dtype=np.float32)
    values /= np.linalg.norm(values, axis=1, keepdims=True)
    indptr = np.arange(n_samples + 1) * N_NONZEROS
    X = sparse.csr_array((values.ravel(), indices.ravel(), indptr), shape=(n_samples, n_features))
    X.sum_duplicates()
    codewords = np.where(rng.random((N_CLASSES, n_bits)) < 0.3, 1, -1).astype(np.int8)
    return X, rng.integers(0, N_CLASSES, n_samples), codewords


@njit(nogil=True)
def update_rows(order, rows):
    for i in order:
        row = rows[i]
        for j in range(len(row)):
            row[j] = row[j] * np.float32(0.999) + np.float32(0.001)


def against_memory(repeats):
    print(f"One pass against the memory, {N_NONZEROS} non-zeros a row, one thread")
    print(f"{'bits':>5}{'features':>10}{'samples':>9}{'MB':>6}{'seconds':>9}{'GB/s':>7}{'probe GB/s':>12}{'share':>7}")
    all_good = True
    for n_bits, n_features, n_samples, claim in SHAPES:
        X, class_index, codewords = problem(n_bits, n_features, n_samples)
        state = np.zeros((n_features, 2, n_bits), dtype=np.float32)
        state[:, 1] = 1
        order = np.random.default_rng(1).permutation(n_samples)
        touched = np.concatenate([X.indices[X.indptr[i] : X.indptr[i + 1]] for i in order])
        arrays = X.indptr.astype(np.int64), X.indices, X.data, class_index, codewords, np.ones(n_samples, np.float32)
        sides = {
            "epoch": lambda arrays=arrays, order=order, state=state: arow_pass(
                *arrays, order, 0, state, 0, state.shape[2]
            ),
            "probe": lambda touched=touched, state=state: update_rows(touched, state.reshape(len(state), -1)),
        }
        times = least(sides, repeats)
        n_bytes = 2 * X.nnz * n_bits * 8
        share = times["probe"] / times["epoch"]
        all_good &= share >= claim
        print(
            f"{n_bits:>5}{n_features:>10,}{n_samples:>9,}{state.nbytes / 1e6:>6.0f}{times['epoch']:>9.3f}"
            f"{n_bytes / times['epoch'] / 1e9:>7.1f}{n_bytes / times['probe'] / 1e9:>12.1f}{share:>7.0%}"
            f"{'' if share >= claim else f'  BELOW THE CLAIM of {claim:.0%}'}"
        )
    return all_good


def arow_in_python(X, labels):
    """One learner after the other for each sample, with NumPy for the non-zeros of the sample."""
    n_bits = labels.shape[1]
    weights = np.zeros((n_bits, X.shape[1]), dtype=np.float32)
    variances = np.ones_like(weights)
    for i in range(X.shape[0]):
        features, x = X.indices[X.indptr[i] : X.indptr[i + 1]], X.data[X.indptr[i] : X.indptr[i + 1]]
        for learner in range(n_bits):
            w, sigma, y = weights[learner], variances[learner], labels[i, learner]
            gap = 1 - y * (w[features] @ x)
            if gap > 0:
                reach = sigma[features] * x
                beta = 1 / (reach @ x + 1)
                w[features] += gap * beta * y * reach
                sigma[features] -= beta * reach**2
    return weights.T


def against_python(repeats, n_bits=338, n_few=100):
    X, class_index, codewords = problem(n_bits, 20_000, 4_000)
    learner = AROW(n_epochs=1, shuffle=False, n_threads=1)
    few = X[:n_few]
    by_python = arow_in_python(few, codewords[class_index[:n_few]])
    by_arow = learner.fit(Samples(few, class_index[:n_few]), Code.of(codewords)).weights
    np.testing.assert_allclose(by_arow, by_python, rtol=1e-3, atol=1e-5)
    sides = {
        "AROW": lambda: learner.fit(Samples(X, class_index), Code.of(codewords)),
        "loop": lambda: arow_in_python(few, codewords[class_index[:n_few]]),
    }
    times = least(sides, repeats)
    per_sample = {"AROW": times["AROW"] / X.shape[0], "loop": times["loop"] / n_few}
    ratio = per_sample["loop"] / per_sample["AROW"]
    print(f"\nAgainst a loop in Python and NumPy, {n_bits} bits, 20,000 features, one thread, memory set up included")
    for name, seconds in per_sample.items():
        print(f"{name:<6}{1e6 * seconds:>12.1f} microseconds per sample")
    print(f"{'ratio':<6}{ratio:>12.0f}{'' if ratio >= 100 else '  BELOW THE CLAIM of 100'}")
    return ratio >= 100


def against_sgd(repeats, n_bits=338):
    X, class_index, codewords = problem(n_bits, 40_000, 20_000, like_words=True)
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    learner = AROW(n_epochs=1, n_threads=1)
    bits = learner.partial_fit(None, Samples(X[:1], class_index[:1]), Code.of(codewords))
    samples = TrainingRows.of(X, class_index, len(codewords))
    order = np.random.default_rng(0).permutation(len(class_index))

    def by_sgd():
        for bit in range(n_bits):
            SGDClassifier(max_iter=1, tol=None, random_state=0).fit(X, codewords[class_index, bit])

    sides = {
        "AROW, a pass": lambda: list(bits.learning(samples, codewords, order, r=1.0)),
        "AROW, with its memory": lambda: learner.fit(Samples(X, class_index), Code.of(codewords), rng=0),
        "SGDClassifier": by_sgd,
    }
    times = least(sides, repeats)
    ratio = times["SGDClassifier"] / times["AROW, a pass"]
    print(f"\nAgainst SGDClassifier, one pass each, bit by bit, {n_bits} bits, 40,000 features, 20,000 samples")
    for name, seconds in times.items():
        print(f"{name:<22}{seconds:>8.2f} s")
    print(f"{'ratio':<22}{ratio:>8.1f}{'' if ratio >= 6 else '  BELOW THE CLAIM of 6'}")
    return ratio >= 6


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=7)
    repeats = parser.parse_args().repeats
    results = [against_memory(repeats), against_python(min(repeats, 3)), against_sgd(min(repeats, 3))]
    return 0 if all(results) else 1


if __name__ == "__main__":
    raise SystemExit(main())
