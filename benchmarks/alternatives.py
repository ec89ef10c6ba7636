"""What else one would try: ECOCClassifier() against quadratic features, kernel machines, forests and boosting.

    python benchmarks/alternatives.py --keel FOLDER --common FOLDER [--sets vowel vehicle ...] [--seeds 3]

The tables and splits are those of ``never_behind.py``. "without products" is ``ECOCClassifier()`` whose learned decoder
has no weights for products of two margins; "quadratic" is logistic regression on all products of two features. Prints
the mean accuracy in percent, and the seconds of processor time of ``fit`` in brackets.
"""

import argparse
import time
import warnings
from pathlib import Path
from unittest.mock import patch

import numpy as np
from never_behind import HELD_BACK, USED, samples_of
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from codekin import ECOCClassifier

CONTENDERS = {
    "LogisticRegression()": lambda: LogisticRegression(max_iter=1000),
    "ECOCClassifier()": lambda: ECOCClassifier(random_state=0),
    "without products": lambda: ECOCClassifier(random_state=0),
    "quadratic": lambda: make_pipeline(PolynomialFeatures(2), StandardScaler(), LogisticRegression(max_iter=1000)),
    "SVC()": SVC,
    "RandomForestClassifier()": lambda: RandomForestClassifier(random_state=0),
    "HistGradientBoostingClassifier()": lambda: HistGradientBoostingClassifier(random_state=0),
}


def measured(name, split):
    """Accuracy in percent and CPU seconds."""
    X, X_test, y, y_test = split
    n_products = 0 if name == "without products" else 32
    with patch("codekin.fitting.codes.MAX_BITS_IN_PRODUCTS", n_products):
        start = time.process_time()
        classifier = CONTENDERS[name]().fit(X, y)
        seconds = time.process_time() - start
    return 100 * classifier.score(X_test, y_test), seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    sets = ["vowel", "vehicle", "letter", "satimage", "segment", "yeast"]
    parser.add_argument("--sets", nargs="+", choices=[*USED, *HELD_BACK], default=sets)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--keel", type=Path, required=True)
    parser.add_argument("--common", type=Path, required=True)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"| set | {' | '.join(CONTENDERS)} |\n|---{'|---' * len(CONTENDERS)}|")
    for name in arguments.sets:
        X, y = samples_of(name, arguments)
        found = {contender: [] for contender in CONTENDERS}
        for seed in range(arguments.seeds):
            parts = train_test_split(X, y, test_size=0.4, random_state=seed, stratify=y)
            scaler = StandardScaler().fit(parts[0])
            split = scaler.transform(parts[0]), scaler.transform(parts[1]), *parts[2:]
            for contender, measures in found.items():
                measures.append(measured(contender, split))
        means = [np.mean(measures, axis=0) for measures in found.values()]
        print(
            f"| {name} | {' | '.join(f'{accuracy:.1f} ({seconds:.2f} s)' for accuracy, seconds in means)} |", flush=True
        )


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
