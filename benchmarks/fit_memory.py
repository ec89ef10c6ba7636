"""Does ECOCClassifier take more memory than one-vs-rest where there are many samples? A million of 20 classes.

    python benchmarks/fit_memory.py [--samples 1000000] [--features 10] [--classes 20] [--learners logistic tree ...]

Every fit has a process of its own. Memory is the largest resident set of the process, imports and samples included;
seconds are processor time of ``fit``. The bar, for the default learner, a logistic regression: at most 1.3 times the
memory of ``OneVsRestClassifier``. The learner as it is is shown beside both.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
import warnings

import numpy as np

LEARNERS = {
    "logistic": ("linear_model", "LogisticRegression", {"max_iter": 1000}),
    "svm": ("svm", "LinearSVC", {}),
    "nb": ("naive_bayes", "GaussianNB", {}),
    "tree": ("tree", "DecisionTreeClassifier", {"random_state": 0, "max_depth": 8}),
}
NAMES = ("one-vs-rest", "native", "default")
MOST_MEMORY = 1.3


def measure(arguments):
    """Fit one classifier in this process, and print what it took."""
    from importlib import import_module

    from sklearn.multiclass import OneVsRestClassifier

    module, name, settings = LEARNERS[arguments.learners[0]]
    learner = getattr(import_module(f"sklearn.{module}"), name)(**settings)
    if arguments.name == "one-vs-rest":
        learner = OneVsRestClassifier(learner)
    elif arguments.name == "default":
        from codekin import ECOCClassifier

        learner = ECOCClassifier(learner, random_state=0)
    rng = np.random.default_rng(0)
    y = rng.integers(arguments.classes, size=arguments.samples)
    X = rng.normal(size=(arguments.samples, arguments.features))
    X += 0.7 * rng.normal(size=(arguments.classes, arguments.features))[y]
    warnings.simplefilter("ignore")
    start = time.process_time()
    learner.fit(X, y)
    seconds = time.process_time() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps([peak, seconds, float(learner.score(X[:20_000], y[:20_000]))]))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=1_000_000)
    parser.add_argument("--features", type=int, default=10)
    parser.add_argument("--classes", type=int, default=20)
    parser.add_argument("--learners", nargs="+", choices=LEARNERS, default=["logistic"])
    parser.add_argument("--name", choices=NAMES, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.name:
        return measure(arguments)
    print("| learner | classifier | peak memory | ratio | seconds | accuracy |\n|---|---|---:|---:|---:|---:|")
    sizes = [f"--{name}={getattr(arguments, name)}" for name in ("samples", "features", "classes")]
    holds = True
    for learner in arguments.learners:
        least = None
        for name in NAMES:
            command = [sys.executable, __file__, *sizes, f"--learners={learner}", f"--name={name}"]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            peak, seconds, accuracy = json.loads(done.stdout)
            least = least or peak
            print(
                f"| {learner} | {name} | {peak:.0f} MB | {peak / least:.2f} | {seconds:.1f} | {accuracy:.1%} |",
                flush=True,
            )
            holds &= name != "default" or learner != "logistic" or peak <= MOST_MEMORY * least
    print(f"\nmemory of the default learner: {'holds' if holds else 'BROKEN'}")
    return 0 if holds else 1


if __name__ == "__main__":
    raise SystemExit(main())
