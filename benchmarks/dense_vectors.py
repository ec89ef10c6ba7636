"""Many classes of dense vectors: ExtremeClassifier() beside what a user would try.

    python benchmarks/dense_vectors.py --data-home FOLDER [--passes 5 10] [--only NAME ...]

The folder has ``minilm/icd10cm_category.npz`` and ``minilm/tldr_commands.npz``, with ``X_train``, ``y_train``,
``X_val`` and so on, ``cifar100`` and the sparse sets ``wordnet_hypernym`` and ``debian_dirs100k``, whose texts become
vectors of 256 numbers by an SVD of their TF-IDF weights. One set needs no files: vectors made up of classes in clusters
of clusters (100,000 classes of 128 dimensions, three samples each, unless ``--classes`` says otherwise). cifar100 has
no validation samples; 5,000 training samples are taken for them.

The flat softmax is learned in NumPy by Adam, from class means, with a step that falls to 0. Of several steps, and of
several C of logistic regression, validation samples choose; the seconds are those of the chosen one alone. Where
learning would take hours, class means show how long a prediction by one product takes. Accuracy in percent with its
standard error, CPU seconds of training, and CPU microseconds of a prediction in batches of 2,048: the least of five
rounds, in which all take turns.
"""

import argparse
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from contenders import processor_seconds
from sklearn.decomposition import TruncatedSVD
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import normalize

from codekin import ExtremeClassifier
from codekin.data import load_dataset
from codekin.storage import stored_bytes

BATCH = 2_048
MOST_FOR_FLAT = 2e12
"""Passes times samples times classes times features up to which a flat softmax is learned."""
MOST_FOR_LOGISTIC = 4e9
"""Samples times classes times features up to which scikit-learn's LogisticRegression is tried."""


ROUNDS = 5
DIMENSIONS = 256
MOST_TESTED = 5_000


class Parts(NamedTuple):
    """Samples and classes to learn from, to choose by and to test on; -1 is a class that was not learned."""

    X: np.ndarray
    y: np.ndarray
    X_val: np.ndarray
    y_val: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray

    @classmethod
    def of(cls, arrays):
        """With classes numbered as they occur among those to learn from."""
        if "X_val" not in arrays:
            order = np.random.default_rng(0).permutation(len(arrays["y_train"]))
            for name in "Xy":
                every = arrays[f"{name}_train"]
                arrays |= {f"{name}_val": every[order[:5_000]], f"{name}_train": every[order[5_000:]]}
        labels = np.unique(arrays["y_train"])
        found = []
        for part in ("train", "val", "test"):
            X, y = (arrays[f"{name}_{part}"][: None if part == "train" else MOST_TESTED * 2] for name in "Xy")
            place = np.minimum(np.searchsorted(labels, y), len(labels) - 1)
            found += [X.astype(np.float32), np.where(labels[place] == y, place, -1)]
        return cls(*found)


def stored(path):
    with np.load(path, allow_pickle=False) as file:
        return Parts.of({name: file[name] for name in file.files if name[:2] in ("X_", "y_")})


def by_svd(name, home):
    """Vectors of texts by an SVD of their TF-IDF weights, scaled to length 1."""
    data = load_dataset(name, data_home=home)
    svd = TruncatedSVD(DIMENSIONS, random_state=0).fit(data.X)
    arrays = {}
    for part, samples in (("train", data), ("val", data.validation), ("test", data.test)):
        some = slice(None if part == "train" else MOST_TESTED)
        arrays |= {f"X_{part}": normalize(svd.transform(samples.X[some])), f"y_{part}": samples.y[some]}
    return Parts.of(arrays)


def made_up(n_classes, n_features=128, per_class=3, n_test=2_000, noise=1.6):
    rng = np.random.default_rng(0)
    large, small = (
        rng.normal(size=(n_classes // 200 + 1, n_features)),
        rng.normal(size=(n_classes // 10 + 1, n_features)),
    )
    every = np.arange(n_classes)
    means = large[every // 200] + 0.8 * small[every // 10] + 0.7 * rng.normal(size=(n_classes, n_features))

    def drawn(classes):
        rows = means[classes] + noise * rng.normal(size=(len(classes), n_features))
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)

    y, y_test = np.repeat(every, per_class), rng.integers(n_classes, size=n_test)
    X, X_test, y_val = drawn(y), drawn(y_test), rng.integers(n_classes, size=n_test)
    return Parts(X, y, drawn(y_val), y_val, X_test, y_test)


def class_means(X, y, n_classes):
    sums = np.zeros((n_classes, X.shape[1]), np.float32)
    np.add.at(sums, y, X)
    return sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-9)


def flat_softmax(X, y, n_classes, passes, rate, batch=256):
    """The vectors and biases of all classes."""
    W, b, rng = 10 * class_means(X, y, n_classes), np.zeros(n_classes, np.float32), np.random.default_rng(0)
    state, n_steps, step = [np.zeros_like(a) for a in (W, W, b, b)], passes * -(-len(X) // batch), 0
    for _ in range(passes):
        order = rng.permutation(len(X))
        for start in range(0, len(X), batch):
            some = order[start : start + batch]
            p = X[some] @ W.T + b
            p -= p.max(axis=1, keepdims=True)
            np.exp(p, out=p)
            p /= p.sum(axis=1, keepdims=True)
            p[np.arange(len(some)), y[some]] -= 1
            p /= len(some)
            step += 1
            size = rate * (1 - step / n_steps) * (1 - 0.999**step) ** 0.5 / (1 - 0.9**step)
            for own, g, (m, v) in ((W, p.T @ X[some], state[:2]), (b, p.sum(axis=0), state[2:])):
                np.add(m, 0.1 * (g - m), out=m)
                np.add(v, 0.001 * (g * g - v), out=v)
                np.subtract(own, size * m / (np.sqrt(v) + 1e-8), out=own)
    return W, b


def batched(function, X):
    return np.concatenate([function(X[start : start + BATCH]) for start in range(0, len(X), BATCH)])


def neighbours(X, y, X_test, n_classes):
    """The class of the nearest row, and the class with the most similarity among the twenty nearest."""
    rows, tests = (a / np.maximum(np.linalg.norm(a, axis=1, keepdims=True), 1e-9) for a in (X, X_test))
    one, twenty = [], []
    for start in range(0, len(tests), 256):
        similar = tests[start : start + 256] @ rows.T
        near = np.argpartition(-similar, 20, axis=1)[:, :20]
        of_near = np.take_along_axis(similar, near, axis=1)
        votes = np.zeros((len(near), n_classes), np.float32)
        np.add.at(votes, (np.arange(len(near))[:, None], y[near]), np.maximum(of_near, 0) ** 4)
        one.append(y[similar.argmax(axis=1)])
        twenty.append(votes.argmax(axis=1))
    return np.concatenate(one), np.concatenate(twenty)


def linear(W, b, centre, scale):
    return lambda rows: batched(lambda some: (some @ W.T + b).argmax(axis=1), (rows - centre) / scale)


def best_of(trials, parts):
    """The name, training seconds and predictions of what is right most often on the validation samples."""
    found = []
    for name, fit in trials:
        fitted = []
        seconds = processor_seconds(lambda fit=fit, fitted=fitted: fitted.append(fit()))
        found.append(((fitted[0](parts.X_val) == parts.y_val).mean(), name, seconds, fitted[0]))
    return max(found, key=lambda one: one[0])[1:] if found else None


def contenders(parts, n_classes, arguments):
    """Names, training seconds, predictions and megabytes of each; and those of nearest neighbours."""
    X, y, fitted = parts.X, parts.y, []
    # What is compiled at a first use is not counted.
    small = made_up(1_200, 16)
    ExtremeClassifier(random_state=0).fit(small.X, small.y).predict(small.X_test)
    seconds = processor_seconds(lambda: fitted.append(ExtremeClassifier(random_state=0).fit(X, y)))
    yield "`ExtremeClassifier()`", seconds, fitted[0].predict, f"{stored_bytes(fitted[0]) / 1e6:.1f}"
    # Centred and scaled by one number, which suits all sets.
    centre = X.mean(axis=0)
    scale = np.sqrt(((X - centre) ** 2).sum(axis=1).mean())
    Z = (X - centre) / scale
    means = class_means(X, y, n_classes)
    yield "class means", 0.0, lambda rows: batched(lambda some: (some @ means.T).argmax(axis=1), rows), ""
    work = len(X) * n_classes * X.shape[1]

    def softmax(passes, rate):
        return linear(*flat_softmax(Z, y, n_classes, passes, rate), centre, scale)

    def logistic(C):
        model = LogisticRegression(C=C, max_iter=50).fit(Z, y)
        return lambda rows: model.predict((rows - centre) / scale)

    for passes in arguments.passes:
        if passes * work <= MOST_FOR_FLAT:
            rates = [
                (f"flat softmax, {passes} passes, {rate:g}", partial(softmax, passes, rate)) for rate in arguments.rates
            ]
            yield *best_of(rates, parts), f"{4e-6 * n_classes * X.shape[1]:.1f}"
    if work <= MOST_FOR_LOGISTIC:
        every = [(f"LogisticRegression, C={C:g}", partial(logistic, C)) for C in (1.0, 10.0)]
        yield *best_of(every, parts), ""


def rows_of(parts, n_classes, arguments):
    """The cells of a row for each contender: name, accuracy, training seconds, microseconds, megabytes."""
    every = list(contenders(parts, n_classes, arguments))
    micros = np.full(len(every), np.inf)
    for _ in range(ROUNDS):
        for place, (_, _, predict, _) in enumerate(every):
            seconds = processor_seconds(lambda predict=predict: predict(parts.X_test))
            micros[place] = min(micros[place], 1e6 * seconds / len(parts.X_test))
    for (name, seconds, predict, size), each in zip(every, micros, strict=True):
        yield name, predict(parts.X_test), f"{seconds:.1f}", f"{each:.1f}", size
    found = []
    seconds = processor_seconds(lambda: found.extend(neighbours(parts.X, parts.y, parts.X_test, n_classes)))
    for name, answer in zip(("1 nearest neighbour", "20 nearest neighbours"), found, strict=True):
        yield name, answer, "", f"{1e6 * seconds / len(parts.X_test):.0f}", f"{parts.X.nbytes / 1e6:.1f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-home", type=Path)
    parser.add_argument("--classes", type=int, default=100_000)
    parser.add_argument("--passes", type=int, nargs="*", default=[5, 10])
    parser.add_argument("--rates", type=float, nargs="+", default=[0.02, 0.05])
    parser.add_argument("--only", nargs="+")
    arguments = parser.parse_args()
    sets, home = {}, arguments.data_home
    if home:
        for name in ("icd10cm_category", "tldr_commands"):
            sets[name] = partial(stored, home / "minilm" / f"{name}.npz")
        sets["cifar100"] = partial(stored, home / "cifar100" / "cifar100_features.npz")
        for name in ("wordnet_hypernym", "debian_dirs100k"):
            sets[name] = partial(by_svd, name, home)
    sets["made up"] = partial(made_up, arguments.classes)
    print("| set | classes | dimensions | | accuracy | training s | us | MB |\n|---|---:|---:|---|---:|---:|---:|---:|")
    for name, load in sets.items():
        if arguments.only and name not in arguments.only:
            continue
        parts = load()
        n_classes = int(parts.y.max()) + 1
        for side, answer, *numbers in rows_of(parts, n_classes, arguments):
            is_right = answer == parts.y_test
            accuracy = f"{100 * is_right.mean():.1f} ± {100 * is_right.std() / len(is_right) ** 0.5:.1f}"
            row = (name, f"{n_classes:,}", parts.X.shape[1], side, accuracy, *numbers)
            print(f"| {' | '.join(map(str, row))} |", flush=True)


if __name__ == "__main__":
    main()
