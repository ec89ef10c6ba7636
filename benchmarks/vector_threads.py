"""Two threads learn class vectors faster than one, to the same bytes.

    python benchmarks/vector_threads.py [--sets ...] [--data-home FOLDER] [--rounds 20]

Passes over the training samples, with ten neighbours of the own class in the order of labels as candidates.
One thread and two take turns; the best of all rounds counts. The last row is the same number of independent loops on
one thread and on two: what the machine allows at the moment. On a busy machine that is nothing.
"""

import argparse
import time

import numpy as np
from budget_time import splits_of
from numba import njit

from codekin._system.parallel import limited_threads, on_threads
from codekin.fitting import learned_vectors as learning
from codekin.fitting.learned_vectors import centroids

N_CANDIDATES = 10
SETS = ("icd10cm_category", "wordnet_hypernym")


@njit(nogil=True)
def loop(n):
    total = 0.0
    for i in range(n):
        total += (i * 1.0) ** 0.5
    return total


def timed(action):
    begin = time.perf_counter(), time.process_time()
    action()
    return time.perf_counter() - begin[0], time.process_time() - begin[1]


def measured(actions, n_rounds):
    """The best wall and CPU seconds of each action."""
    found = {name: [] for name in actions}
    for _ in range(n_rounds):
        for name, action in actions.items():
            found[name].append(timed(action))
    return {name: np.min(rounds, axis=0) for name, rounds in found.items()}


def show(name, found):
    (wall, cpu), (wall2, cpu2) = found[1], found[2]
    print(f"| {name} | {wall:.3f} | {cpu:.3f} | {wall2:.3f} | {cpu2:.3f} | {wall2 / wall:.2f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-home", help="the folder with one folder per data set; otherwise CODEKIN_DATA")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--rounds", type=int, default=20)
    options = parser.parse_args()
    print("| | one thread, s | CPU, s | two threads, s | CPU, s | ratio |\n|---|---:|---:|---:|---:|---:|")
    is_same = True
    for data in options.sets:
        (train, _, _), _ = splits_of(data, options.data_home)
        X, y = train[0], np.unique(train[1], return_inverse=True)[1].astype(np.int32)
        n_classes, rng = int(y.max()) + 1, np.random.default_rng(0)
        near = (y[:, None] + rng.integers(-30, 31, (len(y), N_CANDIDATES))) % n_classes
        means, ones, order = centroids(X, y, n_classes=n_classes), np.ones(len(y)), rng.permutation(len(y))
        states = {n: learning._Learning.of(means, learning.RATE) for n in (1, 2)}

        def learn(n_threads, states=states, arguments=(X, y, ones, near, order)):
            with limited_threads(n_threads):
                states[n_threads].go_through(*arguments)

        learn(1)
        learn(2)
        show(data, measured({n: lambda n=n: learn(n) for n in (1, 2)}, options.rounds))
        is_same &= states[1].values.tobytes() == states[2].values.tobytes()
    loop(1)
    show(
        "independent loops",
        measured({n: lambda n=n: on_threads(loop, [10_000_000] * 4, n_threads=n) for n in (1, 2)}, options.rounds),
    )
    print(f"\nthe same bytes: {'yes' if is_same else 'NO'}")
    return 0 if is_same else 1


if __name__ == "__main__":
    raise SystemExit(main())
