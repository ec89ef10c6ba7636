"""Accuracy at equal numbers of bits against scikit-learn's OutputCodeClassifier, the same learner on both sides.

Also shown: the learner on its own, a linear SVM per class or a single tree for any number of bits, and codekin's CPU
time as a multiple of it.

    python benchmarks/against_output_code.py [--seeds 10]

Claims: at least 3 points better on digits with 10 bits and a linear SVM, and nowhere worse by more than one standard
error of the paired difference.
"""

import argparse
import time
import warnings

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_digits, load_wine, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.multiclass import OutputCodeClassifier
from sklearn.preprocessing import scale
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from codekin import ECOCClassifier
from codekin.data.embedded import load_yeast


def data_sets():
    digits, wine, yeast = load_digits(), load_wine(), load_yeast()
    yield "digits", digits.data / 16, digits.target
    yield "yeast", scale(yeast.X), yeast.y
    yield "wine", scale(wine.data), wine.target
    made = make_classification(
        4000, 30, n_informative=12, n_classes=20, n_clusters_per_class=1, class_sep=1.5, random_state=0
    )
    yield "made (20 classes)", scale(made[0]), made[1]


def compare(X, y, learner, n_bits, seeds):
    """Accuracies and CPU seconds of theirs, ours and the learner on its own; each seed has a row and its own split."""
    n_classes = len(np.unique(y))
    rows = []
    for seed in seeds:
        X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=seed, stratify=y)
        # int(n_classes * code_size) bits, regardless of rounding
        theirs = OutputCodeClassifier(clone(learner), code_size=(n_bits + 0.5) / n_classes, random_state=seed)
        ours = ECOCClassifier(clone(learner), n_bits=n_bits, decoding="loss", random_state=seed)
        models = (theirs, ours, clone(learner))
        row = []
        for model in models:
            start = time.process_time()
            model.fit(X_train, y_train)
            row.append((100 * model.score(X_test, y_test), time.process_time() - start))
        rows.append(row)
        assert len(theirs.estimators_) == len(ours.estimators_) == n_bits
    return np.array(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    seeds = range(parser.parse_args().seeds)
    if len(seeds) < 2:
        parser.error("a standard error takes at least 2 seeds.")
    warnings.simplefilter("ignore", ConvergenceWarning)
    learners = {"linear SVM": LinearSVC(), "decision tree": DecisionTreeClassifier(min_samples_leaf=3)}
    columns = f"{'OutputCode':>12}{'codekin':>10}{'gain':>8}{'std. error':>12}{'alone':>8}{'time':>8}"
    print(f"{'data':<18}{'learner':<15}{'bits':>5}{columns}")
    all_good = True
    for name, X, y in data_sets():
        n_classes = len(np.unique(y))
        widths = [3] if n_classes == 3 else [n_classes // 2 + 3, n_classes, 3 * n_classes // 2, 2 * n_classes]
        for learner_name, learner in learners.items():
            for n_bits in widths:
                scores, seconds = np.moveaxis(compare(X, y, learner, n_bits, seeds), 2, 0)
                gains = scores[:, 1] - scores[:, 0]
                error = gains.std(ddof=1) / np.sqrt(len(gains))
                wanted = 3.0 if (name, learner_name, n_bits) == ("digits", "linear SVM", 10) else -error
                is_good = gains.mean() >= wanted
                all_good &= is_good
                theirs, ours, alone = scores.mean(axis=0)
                times = seconds[:, 1].mean() / seconds[:, 2].mean()
                print(
                    f"{name:<18}{learner_name:<15}{n_bits:>5}{theirs:>12.1f}{ours:>10.1f}{gains.mean():>+8.1f}"
                    f"{error:>12.2f}{alone:>8.1f}{times:>8.1f}{'' if is_good else '  BELOW THE CLAIM'}",
                    flush=True,
                )
    return 0 if all_good else 1


if __name__ == "__main__":
    raise SystemExit(main())
