"""ECOCClassifier against other ways to make a multiclass classifier from the same learner.

    python benchmarks/against_one_vs_rest.py [--seeds 5] [--data-home FOLDER] [--sets digits wine ...]

For linear SVMs and decision trees: ECOCClassifier with its defaults, one-vs-rest, one-vs-one, the learner on its own
and, for trees, a random forest with as many trees as the code has bits. Each seed splits the data into new halves.
Prints the mean accuracy, the lead of ECOCClassifier with the standard error of the paired difference, the number of
predictors, and the CPU time of fitting as a multiple of ECOCClassifier's.

Only trees have a claim: with more than three classes (with three, the code is one-vs-rest), ECOCClassifier is more
accurate than one-vs-rest and a single tree, by more than one standard error.
"""

import argparse
import time
import warnings

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_digits, load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.preprocessing import scale
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from codekin import ECOCClassifier
from codekin.data import load_dataset
from codekin.data.embedded import load_yeast

MIN_SAMPLES_LEAF = 3


def digits(home):
    data = load_digits()
    return data.data / 16, data.target


def wine(home):
    data = load_wine()
    return scale(data.data), data.target


def yeast(home):
    data = load_yeast()
    return scale(data.X), data.y


def mnist(home):
    """The first 2,000 training images."""
    data = load_dataset("mnist", data_home=home)
    return np.asarray(data.train.X[:2000], dtype=np.float64) / 255, data.train.y[:2000]


def cifar100(home):
    """The 64 of the 256 components that vary most, 40 samples of each of the hundred classes."""
    data = load_dataset("cifar100", data_home=home)
    y = np.asarray(data.train.y)
    chosen = np.concatenate([np.flatnonzero(y == k)[:40] for k in range(100)])
    return scale(np.asarray(data.train.X[chosen, :64], dtype=np.float64)), y[chosen]


SETS = {"digits": digits, "wine": wine, "yeast": yeast, "mnist": mnist, "cifar100": cifar100}


def learners(seed):
    yield "linear SVM", LinearSVC(random_state=seed)
    yield "decision tree", DecisionTreeClassifier(min_samples_leaf=MIN_SAMPLES_LEAF, random_state=seed)


def contenders(learner, n_bits, seed):
    """The other classifiers, by name."""
    own = {
        "one-vs-rest": OneVsRestClassifier(clone(learner)),
        "one-vs-one": OneVsOneClassifier(clone(learner)),
        "on its own": clone(learner),
    }
    if isinstance(learner, DecisionTreeClassifier):
        own["forest"] = RandomForestClassifier(n_bits, min_samples_leaf=MIN_SAMPLES_LEAF, random_state=seed)
    return own


def n_predictors(model):
    """How many binary predictors a model has; LinearSVC has one per class, a tree is one."""
    if isinstance(model, LinearSVC):
        return len(model.coef_)
    return len(getattr(model, "estimators_", [model]))


def measured(model, halves):
    """Accuracy in percent, CPU seconds of fitting, number of predictors."""
    X_train, X_test, y_train, y_test = halves
    start = time.process_time()
    model.fit(X_train, y_train)
    seconds = time.process_time() - start
    return 100 * model.score(X_test, y_test), seconds, n_predictors(model)


def compare(X, y, seeds):
    """The measurements of every learner and contender, one row per seed."""
    found = {}
    for seed in seeds:
        halves = train_test_split(X, y, test_size=0.5, random_state=seed, stratify=y)
        for learner_name, learner in learners(seed):
            ours = measured(ECOCClassifier(clone(learner), random_state=seed), halves)
            found.setdefault((learner_name, "codekin"), []).append(ours)
            for name, model in contenders(learner, ours[2], seed).items():
                found.setdefault((learner_name, name), []).append(measured(model, halves))
    return {key: np.array(rows) for key, rows in found.items()}


def show(data_name, found):
    """Print the rows of a data set; returns whether the claim holds."""
    all_good = True
    for (learner_name, name), rows in found.items():
        ours = found[learner_name, "codekin"]
        accuracy, seconds, predictors = rows.mean(axis=0)
        line = f"{data_name:<10}{learner_name:<15}{name:<13}{accuracy:>9.1f}"
        if name == "codekin":
            line += f"{'':>9}{'':>12}{predictors:>12.0f}{1:>10.2f}"
        else:
            gains = ours[:, 0] - rows[:, 0]
            error = gains.std(ddof=1) / np.sqrt(len(gains))
            ratio = seconds / ours[:, 1].mean()
            line += f"{gains.mean():>+9.1f}{error:>12.2f}{predictors:>12.0f}{ratio:>10.3f}"
            is_claimed = learner_name == "decision tree" and name in ("one-vs-rest", "on its own") and ours[0, 2] > 3
            if is_claimed and gains.mean() <= error:
                line += "  BELOW THE CLAIM"
                all_good = False
        print(line, flush=True)
    return all_good


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--data-home", default=None)
    parser.add_argument("--sets", nargs="*", default=list(SETS), choices=list(SETS))
    arguments = parser.parse_args()
    if arguments.seeds < 2:
        parser.error("a standard error takes at least 2 seeds.")
    warnings.simplefilter("ignore", ConvergenceWarning)
    columns = f"{'accuracy':>9}{'gain':>9}{'std. error':>12}{'predictors':>12}{'fit time':>10}"
    print(f"{'data':<10}{'learner':<15}{'':<13}{columns}")
    all_good = True
    with threadpool_limits(1):
        # The first fit compiles the searches.
        ECOCClassifier(LinearSVC(), random_state=0).fit(*digits(None))
        for name in arguments.sets:
            try:
                X, y = SETS[name](arguments.data_home)
            except OSError as error:
                print(f"{name:<10}left out: {error}")
                continue
            all_good &= show(name, compare(X, y, range(arguments.seeds)))
    return 0 if all_good else 1


if __name__ == "__main__":
    raise SystemExit(main())
