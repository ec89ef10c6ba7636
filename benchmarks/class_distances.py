"""Sums over all pairs of classes of a taxonomy, without enumerating the pairs.

    python benchmarks/class_distances.py [FOLDER]

Claims: path lengths times codeword distances, summed over all pairs, take at most 0.2 s for 12,582 classes and 58 bits
and at most 1 s for 102,673 classes and 72 bits, not counting the construction of the tree. At 5,000 classes, the most
for which there is a matrix of all pairs, they take at least 20 times less than with such matrices, whose computation
does not count. FOLDER may hold the data sets wordnet_hypernym and debian_dirs100k; without it, random trees of their
shapes are used.
"""

import argparse
import gzip
import resource
from pathlib import Path
from time import perf_counter

import numpy as np

from codekin.classes import ClassTree
from codekin.classes.tree_distances import TreeDistances
from codekin.code.geometry import codeword_distances

CASES = [("wordnet_hypernym", 12_582, 25_610, 58, 0.2), ("debian_dirs100k", 102_673, 245_709, 72, 1.0)]
"""Name, classes, nodes, bits, and the claimed seconds."""


def random_tree(n_classes, n_nodes, rng):
    """A random recursive tree of inner nodes, with the classes as leaves below random ones."""
    n_inner = n_nodes - n_classes
    parent = np.full(n_nodes, -1)
    parent[1:] = rng.integers(0, np.minimum(np.arange(1, n_nodes), n_inner))
    return ClassTree(parent, n_inner + rng.permutation(n_classes))


def real_tree(path, n_classes):
    with gzip.open(path, "rt") as lines:
        return ClassTree.from_edges([tuple(map(int, line.split())) for line in lines], classes=range(n_classes))


def best_of(n_times, function):
    times = []
    for _ in range(n_times):
        start = perf_counter()
        function()
        times.append(perf_counter() - start)
    return min(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, metavar="FOLDER")
    folder = parser.parse_args().folder
    rng = np.random.default_rng(0)
    for name, n_classes, n_nodes, n_bits, claimed in CASES:
        file = folder / name / "taxonomy.txt.gz" if folder else None
        is_real = file is not None and file.exists()
        start = perf_counter()
        tree = real_tree(file, n_classes) if is_real else random_tree(n_classes, n_nodes, rng)
        made = perf_counter() - start
        distances = TreeDistances(tree)
        coding_matrix = rng.choice(np.array([-1, 1], dtype=np.int8), size=(n_classes, n_bits))
        start = perf_counter()
        distances.moments()
        distances.inner_product(coding_matrix)
        first = perf_counter() - start
        again = best_of(5, lambda d=distances, m=coding_matrix: d.inner_product(m))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"{name if is_real else 'random tree'}: {n_classes} classes, {n_bits} bits: tree {made:.2f} s, "
            f"first sums {first:.3f} s, sum {again:.3f} s (claimed: {claimed} s), peak {peak:.0f} MB"
        )
    tree = random_tree(5_000, 10_000, rng)
    distances = TreeDistances(tree)
    coding_matrix = rng.choice(np.array([-1, 1], dtype=np.int8), size=(5_000, 48))
    matrix = distances.matrix()
    values = {}

    def dense():
        values["dense"] = float(np.vdot(matrix, codeword_distances(coding_matrix, coding_matrix)))

    def closed():
        values["closed"] = distances.inner_product(coding_matrix)

    closed()
    seconds = {"dense": best_of(5, dense), "closed": best_of(5, closed)}
    difference = abs(values["dense"] / values["closed"] - 1)
    print(
        f"5,000 classes, 48 bits: matrices {seconds['dense']:.3f} s, closed form {seconds['closed']:.4f} s, ratio "
        f"{seconds['dense'] / seconds['closed']:.0f} (claimed: 20), values differ by {difference:.1e} of themselves"
    )


if __name__ == "__main__":
    main()
