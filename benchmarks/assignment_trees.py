"""On taxonomies of 12,582 and 102,673 classes exact scores take a fraction of a second, and swaps beat the naive order.

    python benchmarks/assignment_trees.py [--sets wordnet_hypernym]

Needs ``wordnet_hypernym`` and ``debian_dirs100k`` in the folder named by CODEKIN_DATA. The codebook is a trellis of
width 2; the naive order is the paper's: classes in the depth-first order of the taxonomy get the paths in order. The
seconds for a score exclude the setup that all scores share.
"""

import argparse
import resource
import sys
from time import perf_counter

from codekin.assignments import assign
from codekin.assignments.scores import AssignmentProblem
from codekin.classes.tree_distances import TreeDistances
from codekin.codebooks import trellis_codebook
from codekin.data import read_taxonomy
from codekin.data.stored_sets import data_home

CASES = [("wordnet_hypernym", 12_582, 0.2, 20.0, 1.15), ("debian_dirs100k", 102_673, 1.0, 110.0, 1.0)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", choices=[name for name, *_ in CASES], help="only these")
    sets = parser.parse_args().sets
    failures = 0
    small = trellis_codebook(20)
    for method in ("top_down", "tree_swaps"):  # compile
        assign(small, _line(20), method, rng=0)
    for name, n_classes, score_bar, time_limit, gain_bar in CASES:
        if sets and name not in sets:
            continue
        labels = [str(k) for k in range(n_classes)]
        distances = TreeDistances(read_taxonomy(data_home() / name / "taxonomy.txt.gz", classes=labels))
        codebook = trellis_codebook(n_classes)
        start = perf_counter()
        problem = AssignmentProblem.of(codebook, distances)
        naive = assign(codebook, distances, "ordered")
        problem.score_and_z(naive.assignment)[1]
        setup = perf_counter() - start
        start = perf_counter()
        problem.score(naive.assignment)
        seconds = perf_counter() - start
        print(f"{name}: {n_classes:,} classes, {codebook.n_bits} bits; setup {setup:.2f} s, score {seconds:.3f} s")
        results = [
            naive,
            assign(codebook, distances, "top_down", rng=0),
            assign(codebook, distances, "tree_swaps", rng=0),
            assign(codebook, distances, "tree_swaps", rng=0, time_limit=time_limit),
        ]
        for result in results:
            print(f"  {result.method:<12} score {result.score:.4f}  z {result.z:8.1f}  {result.seconds:7.2f} s")
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(f"  gain {results[-1].z / naive.z:.2f}; peak memory {peak:.2f} GiB")
        failures += seconds > score_bar or results[-1].z <= gain_bar * naive.z or peak > 1
    return 1 if failures else 0


def _line(n):
    from codekin.classes import ClassTree

    return TreeDistances(ClassTree.from_nested([[str(k), str(k + 1)] for k in range(0, n, 2)]))


if __name__ == "__main__":
    sys.exit(main())
