"""What an informed assignment is worth on dense vectors: trees, trellises, and a vector for each class.

    python benchmarks/dense_assignments.py --data-home FOLDER [--seeds 1]

The same codes with classes at random and in an informed order: trees by halving the classes, trellises by an assignment
that preserves the distances of class means. A vector for each class has no order: its row shuffles the numbers of the
classes instead. Accuracy on the test samples in percent, means over the seeds; the gain with one standard error of the
difference on the same samples.
"""

import argparse
from functools import partial
from pathlib import Path

import numpy as np
from dense_vectors import stored

from codekin import ExtremeClassifier

CODES = {
    "trellis of width 2": ({"width": 2, "rerank": None}, "preserving"),
    "trellis of width 10": ({"width": 10, "rerank": None}, "preserving"),
    "tree": ({"code": "tree", "rerank": None}, "halving"),
}


def is_right(parts, seed, **settings):
    fitted = ExtremeClassifier(random_state=seed, **settings).fit(parts.X, parts.y)
    return fitted.predict(parts.X_test) == parts.y_test


def of_vectors(parts, seed, shuffled):
    """With the numbers of the classes shuffled or as they are."""
    number = np.arange(int(parts.y.max()) + 1)
    number = np.random.default_rng(seed).permutation(number) if shuffled else number
    fitted = ExtremeClassifier(random_state=seed).fit(parts.X, number[parts.y])
    return np.argsort(number)[fitted.predict(parts.X_test)] == parts.y_test


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-home", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=1)
    arguments = parser.parse_args()
    print("| set | | random | informed | gain |\n|---|---|---:|---:|---:|")
    for name, path in (("icd10cm_category", "minilm/icd10cm_category"), ("cifar100", "cifar100/cifar100_features")):
        parts = stored(arguments.data_home / f"{path}.npz")
        sides = {
            code: [partial(is_right, parts, assignment=order, **settings) for order in ("random", informed)]
            for code, (settings, informed) in CODES.items()
        }
        sides["a vector for each class, numbers shuffled"] = [
            partial(of_vectors, parts, shuffled=s) for s in (True, False)
        ]
        for code, pair in sides.items():
            random, informed = (np.mean([side(seed) for seed in range(arguments.seeds)], axis=0) for side in pair)
            gain = informed - random
            shown = f"{100 * gain.mean():+.1f} ± {100 * gain.std() / len(gain) ** 0.5:.1f}"
            print(
                f"| {name} | {code} | {100 * random.mean():.1f} | {100 * informed.mean():.1f} | {shown} |", flush=True
            )


if __name__ == "__main__":
    main()
