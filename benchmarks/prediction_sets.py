"""Do prediction sets hold the true class as often as asked, and how large are they?

    python benchmarks/prediction_sets.py [--data wordnet_hypernym] [--data-home FOLDER]

Claim: a classifier that was validated on one half of the validation samples and calibrated on the other covers 90 % of
the test samples within a point. Sets come from lists of the best classes; also printed are other coverages, the mean
and median size of a set, and the time it takes. "Top k" are sets of the same mean size for every sample.
"""

import argparse
import time

import numpy as np

from codekin import ExtremeClassifier
from codekin.data import load_dataset

COVERAGES = (0.5, 0.7, 0.8, 0.9, 0.95)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="wordnet_hypernym")
    parser.add_argument("--data-home", help="the folder with one folder per data set; otherwise CODEKIN_DATA")
    parser.add_argument("--random-state", type=int, default=0)
    options = parser.parse_args()
    data = load_dataset(options.data, options.data_home)
    half = np.random.default_rng(0).permutation(len(data.validation.y))
    first, second = half[: len(half) // 2], half[len(half) // 2 :]
    classifier = ExtremeClassifier(random_state=options.random_state)
    classifier.fit(data.train.X, data.train.y, validation=(data.validation.X[first], data.validation.y[first]))
    accuracy = classifier.score(data.test.X, data.test.y)
    print(f"{options.data}: {len(classifier.classes_):,} classes, accuracy {accuracy:.1%}", flush=True)
    start = time.process_time()
    classifier.calibrate_sets(data.validation.X[second], data.validation.y[second])
    print(f"calibrated with {len(second):,} samples in {time.process_time() - start:.1f} s", flush=True)
    print(f"{'coverage':>9}{'covered':>9}{'mean size':>11}{'median':>8}{'largest':>9}{'top k':>8}{'µs/sample':>11}")
    found = {}
    for coverage in COVERAGES:
        start = time.process_time()
        sets = classifier.predict_sets(data.test.X, coverage)
        seconds = time.process_time() - start
        sizes = np.array([len(own) for own in sets])
        found[coverage] = np.mean([label in own for label, own in zip(data.test.y.tolist(), sets, strict=True)])
        k = max(round(sizes.mean()), 1)
        listed = classifier.top_k(data.test.X, k)[0]
        of_lists = (listed == data.test.y[:, None]).any(axis=1).mean()
        per_sample = 1e6 * seconds / len(sets)
        row = f"{coverage:>9.0%}{found[coverage]:>9.1%}{sizes.mean():>11.1f}{np.median(sizes):>8.0f}{sizes.max():>9,}"
        print(f"{row}{of_lists:>8.1%}{per_sample:>11,.0f}", flush=True)
    is_kept = abs(found[0.9] - 0.9) <= 0.01
    print(f"90 % of the test samples are covered within a point: {'yes' if is_kept else 'NO'}")
    raise SystemExit(0 if is_kept else 1)


if __name__ == "__main__":
    main()
