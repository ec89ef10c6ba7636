"""All 3,628,800 scores of ten classes take at most a second, and at most 1/200 of a NumPy loop over assignments.

    python benchmarks/assignment_exhaustive.py

The loop scores a sample of the assignments one by one, in two NumPy calls each; both sides must agree.
"""

import argparse
import sys
from itertools import permutations
from math import factorial
from time import perf_counter

import numpy as np

from codekin.assignments import assign
from codekin.assignments.exact import all_scores
from codekin.codebooks import dense_random

N_SAMPLED = 20_000
ROUNDS = 5


def loop(class_distances, codeword_distances, orders):
    a, d = class_distances / np.linalg.norm(class_distances), codeword_distances / np.linalg.norm(codeword_distances)
    return np.array([np.linalg.norm(a - d[np.ix_(order, order)]) for order in orders])


def best_time(function, *arguments):
    seconds = []
    for _ in range(ROUNDS):
        start = perf_counter()
        result = function(*arguments)
        seconds.append(perf_counter() - start)
    return result, min(seconds)


def main():
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    codebook = dense_random(10, 8, n_draws=100, rng=0)
    points = np.random.default_rng(0).normal(size=(10, 5))
    class_distances = np.linalg.norm(points[:, None] - points, axis=-1)
    orders = [np.array(order) for order, _ in zip(permutations(range(10)), range(N_SAMPLED), strict=False)]
    all_scores(codebook, class_distances)  # compile
    assign(codebook, class_distances, "exhaustive")
    scores, ours = best_time(all_scores, codebook, class_distances)
    _, best_only = best_time(assign, codebook, class_distances, "exhaustive")
    expected, sample = best_time(loop, class_distances, codebook.row_distances(), orders)
    np.testing.assert_allclose(scores[:N_SAMPLED], expected, atol=1e-10)
    theirs = sample * factorial(10) / N_SAMPLED
    print(f"all {len(scores):,} scores: {ours:.3f} s; the best assignment alone: {best_only:.3f} s")
    print(f"NumPy loop: {theirs:.0f} s (measured on {N_SAMPLED:,} assignments); ratio {theirs / ours:.0f}")
    return 0 if ours <= 1 and theirs / ours >= 200 else 1


if __name__ == "__main__":
    sys.exit(main())
