"""For 100 classes, half a second of the portfolio beats the paper's descent by two standard deviations, and SciPy.

    python benchmarks/assignment_cifar100.py

Needs ``cifar100`` in the folder that CODEKIN_DATA names: distances between embeddings of the classes' names, and path
lengths in their taxonomy of 20 superclasses. All methods get the same random 100 x 20 codebook; z is in exact standard
deviations of random assignments.
"""

import sys
from time import perf_counter

import numpy as np
from scipy.optimize import quadratic_assignment

from codekin.assignments import AssignmentProblem, assign
from codekin.class_trees import ClassTree
from codekin.codebooks import dense_random
from codekin.coding import Assignment
from codekin.datasets import data_home
from codekin.distances import EmbeddingDistances, TreeDistances

TIME_LIMIT = 0.5


def problems():
    folder = data_home() / "cifar100"
    with np.load(folder / "cifar100_class_names.npz") as names:
        for key in ("glove_100d", "minilm_384d"):
            yield key, EmbeddingDistances(names[key])
    with np.load(folder / "cifar100_features.npz") as features:
        superclass = features["superclass_of_class"]
    tree = ClassTree.from_nested({f"super {s}": [int(k) for k in np.flatnonzero(superclass == s)] for s in range(20)})
    yield "taxonomy", TreeDistances(tree)


def scipy_z(problem, method):
    a, b = problem.class_distances.matrix(), problem.codebook.row_distances()
    start = perf_counter()
    found = quadratic_assignment(a, b, method=method, options={"maximize": True, "rng": np.random.default_rng(0)})
    seconds = perf_counter() - start
    return problem.z(Assignment(found.col_ind)), seconds


def main():
    codebook = dense_random(100, 20, rng=0)
    failures = 0
    for method in ("portfolio", "steepest_descent"):
        assign(codebook, np.random.default_rng(0).random((100, 100)) * 0 + 1 - np.eye(100), method, rng=0)  # compile
    print(f"{'distances':<12} {'method':<22} {'z':>7} {'seconds':>8}")
    for name, distances in problems():
        problem = AssignmentProblem.of(codebook, distances)
        ours = assign(codebook, distances, "portfolio", rng=0, time_limit=TIME_LIMIT)
        unlimited = assign(codebook, distances, "portfolio", rng=0)
        descent = assign(codebook, distances, "steepest_descent", rng=0, n_restarts=10)
        rows = [
            (f"portfolio, {TIME_LIMIT} s", ours.z, ours.seconds),
            ("portfolio, default", unlimited.z, unlimited.seconds),
            ("descent, best of 10", descent.z, descent.seconds),
            *((f"SciPy {method}", *scipy_z(problem, method)) for method in ("2opt", "faq")),
        ]
        for label, z, seconds in rows:
            print(f"{name:<12} {label:<22} {z:>7.2f} {seconds:>8.3f}")
        (_, z_2opt, seconds_2opt), (_, z_faq, _) = rows[3:]
        failures += ours.z < descent.z + 2
        failures += ours.z <= max(z_2opt, z_faq) or ours.seconds >= seconds_2opt
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
