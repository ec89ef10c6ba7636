"""Which class distance should informed assignments follow? Test accuracy of each, on real data.

    python benchmarks/class_distance_choice.py [--draws 20] [--data-home FOLDER] [--sets digits yeast ...]

Each draw is a random codebook, which gets the assignment that the default search finds for each class distance; the
learner is always the same. Prints the mean accuracy, and the gain over random assignments of the same codebooks with
its standard error. Digits, yeast and synthetic data are always available; CIFAR-100 features and clinc150 need files.
"""

import argparse
import warnings
from functools import partial

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_digits, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import scale
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from codekin import ECOCClassifier
from codekin.assignments import assign
from codekin.classes.distances import learnability_distances, learned_confusion_distances, mean_distances
from codekin.codebooks import dense_random
from codekin.data import load_dataset
from codekin.data.embedded import load_yeast

DISTANCES = {
    "means": mean_distances,
    "confusion": partial(learned_confusion_distances, rng=0),
    "learnability": learnability_distances,
}


def halves(X, y):
    return train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)


def digits(home):
    X, y = load_digits(return_X_y=True)
    return halves(X / 16, y)


def yeast(home):
    data = load_yeast()
    return halves(scale(data.X), data.y)


def letters(home):
    """Synthetic data with as many classes and features as the letter recognition data, which is not shipped."""
    X, y = make_classification(
        8000, 16, n_informative=12, n_redundant=4, n_classes=26, n_clusters_per_class=1, class_sep=1.2, random_state=0
    )
    return halves(scale(X), y)


def given(name, home):
    data = load_dataset(name, data_home=home)
    return data.train.X, data.test.X, data.train.y, data.test.y


def cifar100(home):
    """Every fifth training sample, so that a thousand fits take minutes."""
    X_train, X_test, y_train, y_test = given("cifar100", home)
    return np.asarray(X_train[::5], dtype=np.float64), np.asarray(X_test, dtype=np.float64), y_train[::5], y_test


SETS = {
    "digits": (digits, LinearSVC(), (8, 15)),
    "digits, trees": (digits, DecisionTreeClassifier(min_samples_split=3), (8, 15)),
    "yeast": (yeast, LinearSVC(), (8, 15)),
    "yeast, trees": (yeast, DecisionTreeClassifier(min_samples_split=3), (8, 15)),
    "letters (made)": (letters, LinearSVC(), (10, 20)),
    "cifar100": (cifar100, RidgeClassifier(), (20, 40)),
    "clinc150": (partial(given, "clinc150"), LinearSVC(), (20, 40)),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--data-home", default=None)
    parser.add_argument("--sets", nargs="*", default=list(SETS), choices=list(SETS))
    arguments = parser.parse_args()
    if arguments.draws < 2:
        parser.error("a standard error takes at least 2 draws.")
    warnings.simplefilter("ignore", ConvergenceWarning)
    print(f"{'data':<16}{'bits':>5}{'random':>9}" + "".join(f"{name:>21}" for name in DISTANCES))
    for name in arguments.sets:
        load, learner, widths = SETS[name]
        try:
            X_train, X_test, y_train, y_test = load(arguments.data_home)
        except (OSError, LookupError) as error:
            print(f"{name:<16} left out: {error}")
            continue
        class_index = np.unique(y_train, return_inverse=True)[1]
        n_classes = class_index.max() + 1
        distances = {metric: make(X_train, class_index) for metric, make in DISTANCES.items()}
        for n_bits in widths:
            rows = []
            for draw in range(arguments.draws):
                codebook = dense_random(n_classes, n_bits, rng=draw)
                assignments = [assign(codebook, distances["means"], "random", rng=draw)]
                assignments += [assign(codebook, of_classes, rng=draw) for of_classes in distances.values()]
                models = [
                    ECOCClassifier(clone(learner), codebook=codebook, assignment=found.assignment, random_state=draw)
                    for found in assignments
                ]
                rows.append([100 * model.fit(X_train, y_train).score(X_test, y_test) for model in models])
            rows = np.array(rows)
            text = f"{name:<16}{n_bits:>5}{rows[:, 0].mean():>9.2f}"
            for j in range(1, rows.shape[1]):
                gains = rows[:, j] - rows[:, 0]
                text += f"{rows[:, j].mean():>9.2f} ({gains.mean():+.2f}±{gains.std(ddof=1) / np.sqrt(len(gains)):.2f})"
            print(text, flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
