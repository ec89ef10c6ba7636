"""Many classes of dense vectors: ExtremeClassifier() beside what a user would try.

    python benchmarks/dense_vectors.py --vectors FOLDER [--cifar100 FILE] [--passes 5 10] [--only NAME ...]

``--vectors`` has files ``icd10cm_category.npz`` and ``tldr_commands.npz`` with ``X_train``, ``y_train``, ``X_test`` and
``y_test``. Two sets need no files: vectors made up of classes in clusters of clusters (100,000 classes of 128
dimensions, three samples each, unless ``--classes`` says otherwise). The flat softmax is learned in NumPy by Adam, from
class means, with a step that falls to 0; of several numbers of passes and steps the best on the test samples counts,
which favours it; where it would take hours, class means show how long its predictions take. Accuracy in percent, CPU
seconds of training and CPU microseconds of a prediction in batches of 2,048.
"""

import argparse
from pathlib import Path

import numpy as np
from contenders import processor_seconds
from sklearn.linear_model import LogisticRegression

from codekin import ExtremeClassifier
from codekin.storage import stored_bytes

BATCH = 2_048
MOST_FOR_FLAT = 2e12
"""Passes times samples times classes times features up to which a flat softmax is learned."""
MOST_FOR_LOGISTIC = 4e9
"""Samples times classes times features up to which scikit-learn's LogisticRegression is tried."""


def stored(path):
    with np.load(path, allow_pickle=False) as file:
        parts = {name: file[name] for name in ("X_train", "y_train", "X_test", "y_test")}
    labels, y = np.unique(parts["y_train"], return_inverse=True)
    place = np.minimum(np.searchsorted(labels, parts["y_test"]), len(labels) - 1)
    y_test = np.where(labels[place] == parts["y_test"], place, -1)
    return parts["X_train"].astype(np.float32), y, parts["X_test"].astype(np.float32), y_test


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
    return drawn(y), y, drawn(y_test), y_test


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


def contenders(X, y, X_test, n_classes, arguments):
    """Names, training seconds, predictions and microseconds of each."""

    def timed(predict):
        predict(X_test[:300])
        rounds = [processor_seconds(lambda: predict(X_test)) for _ in range(3)]
        return predict(X_test), f"{1e6 * min(rounds) / len(X_test):.1f}"

    found = {}
    seconds = processor_seconds(lambda: found.update(ours=ExtremeClassifier(random_state=0).fit(X, y)))
    yield "`ExtremeClassifier()`", seconds, *timed(found["ours"].predict), f"{stored_bytes(found['ours']) / 1e6:.1f}"
    # Centred and scaled by one number, which suits all sets.
    centre = X.mean(axis=0)
    scale = np.sqrt(((X - centre) ** 2).sum(axis=1).mean())
    Z = (X - centre) / scale
    means = class_means(X, y, n_classes)
    yield "class means", 0.0, *timed(lambda rows: batched(lambda s: (s @ means.T).argmax(axis=1), rows)), ""
    work = len(X) * n_classes * X.shape[1]
    for passes in arguments.passes:
        for rate in arguments.rates if passes * work <= MOST_FOR_FLAT else ():
            seconds = processor_seconds(lambda p=passes, r=rate: found.update(W=flat_softmax(Z, y, n_classes, p, r)))
            W, b = found["W"]
            answer, micros = timed(
                lambda rows, W=W, b=b: batched(lambda s: (s @ W.T + b).argmax(axis=1), (rows - centre) / scale)
            )
            yield f"flat softmax, {passes} passes, {rate:g}", seconds, answer, micros, f"{W.nbytes / 1e6:.1f}"
    if work <= MOST_FOR_LOGISTIC:
        for C in (1.0, 10.0):
            model = LogisticRegression(C=C, max_iter=50)
            seconds = processor_seconds(lambda m=model: m.fit(Z, y))
            yield (
                f"LogisticRegression, C={C:g}",
                seconds,
                *timed(lambda rows, m=model: m.predict((rows - centre) / scale)),
                "",
            )
    seconds = processor_seconds(lambda: found.update(near=neighbours(X, y, X_test, n_classes)))
    for name, answer in zip(("1 nearest neighbour", "20 nearest neighbours"), found["near"], strict=True):
        yield name, 0.0, answer, f"{1e6 * seconds / len(X_test):.0f}", f"{X.nbytes / 1e6:.1f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vectors", type=Path)
    parser.add_argument("--cifar100", type=Path)
    parser.add_argument("--classes", type=int, default=100_000)
    parser.add_argument("--passes", type=int, nargs="+", default=[10])
    parser.add_argument("--rates", type=float, nargs="+", default=[0.02, 0.05])
    parser.add_argument("--only", nargs="+")
    arguments = parser.parse_args()
    sets = {}
    if arguments.vectors:
        for name in ("icd10cm_category", "tldr_commands"):
            sets[name] = lambda name=name: stored(arguments.vectors / f"{name}.npz")
    if arguments.cifar100:
        sets["cifar100"] = lambda: stored(arguments.cifar100)
    sets["made up"] = lambda: made_up(arguments.classes)
    print("| set | classes | dimensions | | accuracy | training s | us | MB |\n|---|---:|---:|---|---:|---:|---:|---:|")
    for name, load in sets.items():
        if arguments.only and name not in arguments.only:
            continue
        X, y, X_test, y_test = load()
        n_classes = int(y.max()) + 1
        for side, seconds, answer, micros, size in contenders(X, y, X_test, n_classes, arguments):
            accuracy = 100 * (answer == y_test).mean()
            row = (name, f"{n_classes:,}", X.shape[1], side, f"{accuracy:.1f}", f"{seconds:.0f}", micros, size)
            print(f"| {' | '.join(map(str, row))} |", flush=True)


if __name__ == "__main__":
    main()
