"""Claims about assignments, with what the test samples and the drawn assignments leave uncertain.

    python benchmarks/claims.py equal [--data mnist digits] [--data-home FOLDER]   robustness at equal clean accuracy
    python benchmarks/claims.py ceilings                                           how much an r2 can be: yeast, digits
    python benchmarks/claims.py tests                                              what survives many tests

``equal``: 1,000 random assignments of the codebooks of the study ``robustness``, ridge regression on pixels and on 500
random features, all test samples. The clean accuracy in "at equal clean accuracy" is itself a measurement. A regression
on it is biased towards the plain effect of the score; here it is instrumented: of three parts of the test samples one
gives the clean accuracy, the second its instrument and the third the accuracy under the corruption, in all six orders.
Intervals are 95 %, from 200 draws of both assignments and test samples.

``ceilings``: the reliability of accuracies over 2,000 random assignments, from halves of the test samples, beside the
r2 of what predicts them; r2 / reliability is the share of the variation that other test samples would show, too.

``tests``: counts the differences in the stored tables of docs/measurements/results that survive Bonferroni's
correction.
"""

import argparse
import csv
import re
from math import factorial
from pathlib import Path
from statistics import NormalDist

import numpy as np
from threadpoolctl import threadpool_limits

from codekin.assignments.exact import nth_assignment
from codekin.classes import distances
from codekin.classes.distances import confusion_distances
from codekin_studies import load_study
from codekin_studies.configuration import entry_of
from codekin_studies.entries import make_codebook
from codekin_studies.own.streaming import halves_of, reliability, split_values, values_of_ranks
from codekin_studies.robustness import models
from codekin_studies.splits import sweeps
from codekin_studies.splits.dichotomies import load_problem, n_splits, train_splits

N_ASSIGNMENTS, N_RESAMPLES, N_BEFORE = 1000, 200, 1200
FEATURES = {"mnist": (0, 500), "digits": (0,), "cifar10": (0, 500)}
N_CEILINGS = 2000
RESULTS = Path(__file__).parents[1] / "docs" / "measurements" / "results"


def right(outputs, y, orders, codewords):
    """Which samples assignments get right by the smallest hinge loss, (n_assignments, n_samples)."""
    found = np.empty((len(orders), len(y)), dtype=np.float32)
    for place, order in enumerate(orders):
        matrix = codewords[order].astype(np.float32)
        margins = outputs @ matrix
        agreement = np.maximum(0, 1 + margins) - np.maximum(0, 1 - margins)
        found[place] = (agreement @ matrix.T).argmax(axis=1) == y
    return found


def at_equal(accuracy, clean, z, instrument=None):
    """Points per standard deviation of the score in a regression on it and clean accuracy, perhaps instrumented."""
    ones = np.ones_like(z)
    regressors = np.column_stack([ones, z, clean])
    instruments = regressors if instrument is None else np.column_stack([ones, z, instrument])
    return np.linalg.solve(instruments.T @ regressors, instruments.T @ accuracy)[1]


def instrumented(of_parts, clean_of_parts, z):
    """The mean over the six ways to use three parts of the samples."""
    orders = [(a, b, 3 - a - b) for a in range(3) for b in range(3) if a != b]
    return np.mean([at_equal(of_parts[c], clean_of_parts[a], z, clean_of_parts[b]) for a, b, c in orders])


def accuracies(is_right, parts, weights):
    """Accuracy in percent on each part of the samples, which count as often as their weights say."""
    return [100 * is_right[:, part] @ weights[part] / weights[part].sum() for part in parts]


def measured(is_right, clean, z):
    """The effects of the score, as measured and on resamples: on some samples, on all, instrumented; between tenths."""
    n = clean.shape[1]
    parts = [np.arange(part, n, 3) for part in range(3)]
    everyone, before = [np.arange(n)], [np.arange(min(N_BEFORE, n))]
    rng, found = np.random.default_rng(0), []
    for draw in range(N_RESAMPLES + 1):
        own = np.arange(len(z)) if draw == 0 else rng.integers(len(z), size=len(z))
        counts = np.ones(n) if draw == 0 else np.bincount(rng.integers(n, size=n), minlength=n)
        weights = counts.astype(np.float32)
        effects = []
        for which in (before, everyone):
            a, c = (accuracies(one, which, weights)[0][own] for one in (is_right, clean))
            effects.append(at_equal(a, c, z[own]))
        of_parts, clean_of_parts = (
            [accuracy[own] for accuracy in accuracies(one, parts, weights)] for one in (is_right, clean)
        )
        effects.append(instrumented(of_parts, clean_of_parts, z[own]))
        order = np.argsort(z[own])
        tenth = len(order) // 10
        effects.append(a[order[:tenth]].mean() - a[order[-tenth:]].mean())
        found.append(effects)
    values = np.array(found)
    return values[0], 1.96 * values[1:].std(axis=0)


def shown(value, half):
    return f"{value:+.2f} ± {half:.2f}".replace("-", "−")


def equal(arguments):
    study = load_study("robustness")
    print(
        "| data | codebook | features | reliability of clean accuracy, 1,200 samples | all samples | condition | "
        "at equal clean accuracy, 1,200 samples | all samples | instrumented | lowest − highest tenth |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    for name in arguments.data:
        data = entry_of(study, "data", name)
        problem = load_problem(name, data.get("n_test"), 0, arguments.data_home)
        X, X_test = (part.astype(np.float32) for part in (problem.X_train, problem.X_test))
        chosen = np.random.default_rng([0, 2]).permutation(len(X_test))
        X_test, y = X_test[chosen], problem.y_test[chosen]
        box, pictures = (float(X.min()), float(X.max())), X_test.reshape(len(X_test), *data["picture"])
        for n_features in FEATURES[name]:
            rng = np.random.default_rng([0, 0, n_features])
            features = models.RandomFeatures.drawn(X, n_features, width=data["width"], rng=rng)
            model = models.fit_ridge(features, X, problem.y_train, problem.n_classes, ridge=data["ridge"])
            confusion = np.zeros((problem.n_classes,) * 2)
            np.add.at(confusion, (problem.y_train, model(X).argmax(axis=1)), 1)
            of_classes = {"confusion": confusion_distances(confusion).matrix()}
            outputs = {"clean": model(X_test)}
            for number, (condition, corrupt) in enumerate(models.PICTURE_CORRUPTIONS.items()):
                noise = np.random.default_rng([0, 1, number])
                altered = corrupt(pictures, study.option("corruptions")[condition], box, noise)
                outputs[condition] = model(np.ascontiguousarray(altered.reshape(X_test.shape)))
            for code in study.option("codebooks"):
                if code["name"] not in data.get("codebooks", [code["name"]]):
                    continue
                codebook = make_codebook(code, problem.n_classes, {})
                ranks = np.random.default_rng(0).choice(factorial(10), N_ASSIGNMENTS, replace=False)
                orders = [nth_assignment(int(rank), 10, 10) for rank in ranks]
                table = split_values(codebook, np.zeros(n_splits(10) + 1), of_classes)
                scores = values_of_ranks(codebook, ranks, table, of_classes)[:, 1]
                z = (scores - scores.mean()) / scores.std()
                clean = right(outputs["clean"], y, orders, codebook.matrix)
                halves = np.cov([clean[:, half::2].mean(axis=1) for half in range(2)])
                true, noise_of_half = halves[0, 1], np.trace(halves) / 2 - halves[0, 1]
                n = clean.shape[1]
                of_size = [true / (true + noise_of_half * (n / 2) / size) for size in (min(N_BEFORE, n), n)]
                for condition in models.PICTURE_CORRUPTIONS:
                    values, errors = measured(right(outputs[condition], y, orders, codebook.matrix), clean, z)
                    cells = [shown(*pair) for pair in zip(values, errors, strict=True)]
                    capacity = "pixels" if n_features == 0 else str(n_features)
                    print(
                        f"| {name} | `{code['name']}` | {capacity} | {of_size[0]:.2f} | {of_size[1]:.2f} | "
                        f"{condition} | {' | '.join(cells)} |",
                        flush=True,
                    )


def ceilings(arguments):
    study = load_study("exhaustive")
    print(
        "| data | codebook | test samples | reliability | r² loss | r² confusion | r² class means | r² learnability | "
        "the same / reliability |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for name, learner in (
        ("yeast", {"name": "decision_tree", "min_samples_split": 3}),
        ("digits", {"name": "linear_svm", "C": 1.0}),
    ):
        data = entry_of(study, "data", name)
        problem = load_problem(name, data["n_test"], 0)
        train, test = train_splits(problem, np.arange(1, n_splits(10) + 1), learner, 0)
        from codekin_studies.splits.dichotomies import one_vs_rest_confusion, split_signs

        z = split_signs(np.arange(1, n_splits(10) + 1), 10)[problem.y_train] * train
        losses = np.append(0, np.maximum(0, 1 - z).mean(axis=0))
        margins = sweeps.rounded_margins(np.concatenate([np.zeros((1, len(test))), test.T]), sweeps.MAX_BITS)
        X, y = problem.X_train, problem.y_train
        if name == "yeast":
            from sklearn.multiclass import OneVsRestClassifier
            from sklearn.tree import DecisionTreeClassifier

            tree = OneVsRestClassifier(DecisionTreeClassifier(min_samples_split=3, random_state=0))
            of_confusion = distances.learned_confusion_distances(
                X, y, estimator=tree, counted="inverse_folds", n_folds=8, rng=0
            )
        else:
            of_confusion = confusion_distances(one_vs_rest_confusion(problem, learner, 0))
        of_classes = {
            "confusion": of_confusion.matrix(),
            "means": distances.mean_distances(X, y).matrix(),
            "learnability": distances.learnability_distances(X, y, rng=0).matrix(),
        }
        is_first = halves_of(problem.y_test, 10)
        for code in study.option("codebooks"):
            if code["codebook"] != "dense_random":
                continue
            codebook = make_codebook(code, 10, {})
            ranks = np.sort(np.random.default_rng(0).choice(factorial(10), N_CEILINGS, replace=False))
            counts = [
                sweeps.count_correct(codebook, margins[:, half], problem.y_test[half], ranks=ranks)
                for half in (is_first, ~is_first)
            ]
            values = values_of_ranks(codebook, ranks, split_values(codebook, losses, of_classes), of_classes)
            rng, found = np.random.default_rng(0), []
            for draw in range(N_RESAMPLES + 1):
                own = np.arange(len(ranks)) if draw == 0 else rng.integers(len(ranks), size=len(ranks))
                halves = np.cov([count[own] for count in counts])
                accuracy = (counts[0] + counts[1])[own]
                r = [np.corrcoef(values[own, column], accuracy)[0, 1] ** 2 for column in range(values.shape[1])]
                found.append([reliability(halves), *r])
            found = np.array(found)
            half = 1.96 * found[1:].std(axis=0)
            cells = [f"{value:.2f} ± {error:.2f}" for value, error in zip(found[0], half, strict=True)]
            corrected = ", ".join(f"{value / found[0, 0]:.2f}" for value in found[0, 1:])
            print(
                f"| {name} | `{code['name']}` | {len(problem.y_test)} | {' | '.join(cells)} | {corrected} |", flush=True
            )


def differences(name):
    """All differences with intervals in a stored table; those of 0 +- 0 are no measurements."""
    with (RESULTS / f"{name}.csv").open(encoding="utf-8") as stream:
        cells = [cell for row in csv.reader(stream) for cell in row]
    pairs = [re.search(r"([+−][\d.]+) ± ([\d.]+)$", cell) for cell in cells]
    found = [(float(pair[1].replace("−", "-")), float(pair[2])) for pair in pairs if pair]
    return [(value, half) for value, half in found if half > 0]


def tests(arguments):
    print(
        "| table | differences | preserving ahead, interval without 0 | breaking ahead | "
        "after Bonferroni: preserving | breaking |"
    )
    print("|---|---|---|---|---|---|")
    for title, names in {
        "MNIST, corrupted": ("robustness-2", "robustness-3"),
        "MNIST, attacked": ("robustness-4",),
        "CIFAR-10, corrupted": ("robustness-8", "robustness-9"),
        "CIFAR-10, attacked": ("robustness-10",),
    }.items():
        found = [pair for name in names for pair in differences(name)]
        needed = NormalDist().inv_cdf(1 - 0.025 / len(found)) / 1.96
        counts = [sum(sign * value > bar * half for value, half in found) for bar in (1, needed) for sign in (1, -1)]
        print(f"| {title} | {len(found)} | {' | '.join(map(str, counts))} |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("claim", choices=("equal", "ceilings", "tests"))
    parser.add_argument("--data", nargs="+", default=["mnist", "digits"], choices=list(FEATURES))
    parser.add_argument("--data-home")
    given = parser.parse_args()
    with threadpool_limits(1):
        {"equal": equal, "ceilings": ceilings, "tests": tests}[given.claim](given)
