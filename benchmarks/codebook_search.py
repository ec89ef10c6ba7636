"""The best of 10,000 random codebooks: codekin against a plain NumPy loop, in one run.

    python benchmarks/codebook_search.py [--draws 10000]

Both sides draw the same number of codebooks and keep a valid one with the largest minimum distance; codekin also breaks
ties by the correlation of the columns. Both run on one thread. The first call, which compiles the kernel or loads it
from the cache, is timed separately.
"""

import argparse
from time import perf_counter

import numpy as np
from threadpoolctl import threadpool_limits

from codekin.codebooks import dense_random, sparse_random

CASES = [
    ("dense", 100, 20),
    ("dense", 10, 15),
    ("dense", 100, 67),
    ("sparse", 100, 100),
]


def plain_search(entries, n_codewords, n_bits, n_draws, rng):
    """One codebook at a time, each with a few NumPy calls."""
    best, largest = None, 0.0
    for _ in range(n_draws):
        matrix = rng.choice(entries, size=(n_codewords, n_bits))
        used = np.abs(matrix)
        n_used = used.sum(axis=1)
        distances = (n_used[:, None] + n_used - used @ used.T - matrix @ matrix.T) / 2
        np.fill_diagonal(distances, np.inf)
        distance = distances.min()
        if distance > largest and has_useful_columns(matrix):
            best, largest = matrix, distance
    return best, largest


def has_useful_columns(matrix):
    products = np.abs(matrix.T @ matrix)
    sizes = np.diagonal(products)
    is_repeated = (products == sizes) & (products == sizes[:, None]) & ~np.eye(len(sizes), dtype=bool)
    return not is_repeated.any() and bool(((matrix > 0).any(axis=0) & (matrix < 0).any(axis=0)).all())


def timed(function, *arguments, **options):
    start = perf_counter()
    result = function(*arguments, **options)
    return result, perf_counter() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=10_000)
    n_draws = parser.parse_args().draws
    _, seconds = timed(dense_random, 5, 6, n_draws=1, rng=0)
    print(f"first call (compile or load the kernel): {seconds:.2f} s\n")
    print(f"{n_draws} draws          codekin   rho  plain loop   rho   ratio")
    for kind, n_codewords, n_bits in CASES:
        make, entries = (dense_random, [-1.0, 1.0]) if kind == "dense" else (sparse_random, [-1.0, 0.0, 0.0, 1.0])
        codebook, ours = timed(make, n_codewords, n_bits, n_draws=n_draws, rng=0)
        (_, largest), plain = timed(plain_search, entries, n_codewords, n_bits, n_draws, np.random.default_rng(0))
        print(
            f"{kind:>6} {n_codewords:>4} x {n_bits:<4} {ours:>8.2f} s {codebook.min_distance:>5g} "
            f"{plain:>9.2f} s {largest:>5g} {plain / ours:>6.1f}x"
        )


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
