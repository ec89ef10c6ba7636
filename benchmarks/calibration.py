"""Are the probabilities calibrated? Expected calibration error (ECE) and log loss on digits and yeast.

    python benchmarks/calibration.py [--seeds 5]

Claim: averaged over learners and widths, the ECE with ``calibrate`` is at most half that of the softmax over raw
margins, on both data sets.
"""

import argparse
import warnings

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import scale
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from codekin import ECOCClassifier
from codekin.data.embedded import load_yeast
from codekin.measures.predictions import confidence_error

LEARNERS = {
    "linear SVM": LinearSVC(),
    "logistic regression": LogisticRegression(max_iter=1000),
    "decision tree": DecisionTreeClassifier(min_samples_leaf=3),
}


def measure(X, y, learner, n_bits, calibrate, seeds):
    """Mean ECE, log loss and accuracy over seeds, each with its own split of the data."""
    rows = []
    for seed in seeds:
        X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=seed, stratify=y)
        model = ECOCClassifier(clone(learner), n_bits=n_bits, calibrate=calibrate, decoding="loss", random_state=seed)
        probabilities = model.fit(X_train, y_train).predict_proba(X_test)
        loss = log_loss(y_test, probabilities, labels=np.unique(y))
        ece = confidence_error(probabilities.max(axis=1), probabilities.argmax(axis=1) == y_test)
        rows.append((ece, loss, model.score(X_test, y_test)))
    return np.mean(rows, axis=0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    seeds = range(parser.parse_args().seeds)
    warnings.simplefilter("ignore", ConvergenceWarning)
    digits, yeast = load_digits(), load_yeast()
    sets = {
        "digits": (digits.data / 16, digits.target),
        "yeast": (scale(yeast.X), np.unique(yeast.y, return_inverse=True)[1]),
    }
    print(f"{'data':<8}{'learner':<21}{'bits':>5}  {'calibrate':<10}{'ECE':>7}{'log loss':>10}{'accuracy':>10}")
    all_good = True
    for name, (X, y) in sets.items():
        errors = {None: [], "cv": [], "holdout": []}
        for learner_name, learner in LEARNERS.items():
            for n_bits in (10, 33):
                for calibrate, collected in errors.items():
                    ece, loss, accuracy = measure(X, y, learner, n_bits, calibrate, seeds)
                    collected.append(ece)
                    print(
                        f"{name:<8}{learner_name:<21}{n_bits:>5}  {calibrate or 'none':<10}{ece:>7.3f}{loss:>10.3f}"
                        f"{accuracy:>10.3f}",
                        flush=True,
                    )
        means = {calibrate: np.mean(collected) for calibrate, collected in errors.items()}
        for calibrate in ("cv", "holdout"):
            is_good = means[calibrate] <= means[None] / 2
            all_good &= bool(is_good)
            print(
                f"{name}: ECE {means[None]:.3f} raw, {means[calibrate]:.3f} with calibrate={calibrate!r}"
                f"{'' if is_good else '  BELOW THE CLAIM'}"
            )
    return 0 if all_good else 1


if __name__ == "__main__":
    raise SystemExit(main())
