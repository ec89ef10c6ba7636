"""Does the list of suspected labels begin with the wrong ones? Wrong labels are planted and looked for.

    python benchmarks/wrong_labels.py [--data-home FOLDER] [--share 0.02] [--seeds 3]

Claim: of 2 % of labels that are exchanged for another one, drawn evenly from all classes, at least 70 % are among the
first 3 % of the list, on icd10cm_category and on the digits. ``near`` is harder and claims nothing: the planted label
is one of the five that a model of the correct labels finds most probable after the correct one.
"""

import argparse
import time

import numpy as np
from sklearn.datasets import load_digits

from codekin import ECOCClassifier, TextClassifier
from codekin.data import load_dataset
from codekin.estimators import suspected_labels

CLAIM, FIRST, N_NEAR = 0.7, 0.03, 5


def planted(y, share, rng, near=None):
    """Labels of which a share is exchanged, and which ones."""
    labels, index = np.unique(y, return_inverse=True)
    rows = rng.choice(len(y), round(share * len(y)), replace=False)
    wrong = index.copy()
    if near is None:
        wrong[rows] = (index[rows] + rng.integers(1, len(labels), len(rows))) % len(labels)
    else:
        others = [[each for each in own if each != k][:N_NEAR] for own, k in zip(near[rows], index[rows], strict=True)]
        wrong[rows] = [own[rng.integers(len(own))] for own in others]
    return labels[wrong], rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-home", default=None)
    parser.add_argument("--share", type=float, default=0.02)
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parser.parse_args()
    digits = load_digits()
    diagnoses = load_dataset("icd10cm_category", arguments.data_home).splits["train"]
    texts = list(diagnoses.texts)
    features = TextClassifier(random_state=0).fit(texts, diagnoses.y)
    sets = {
        "digits": (ECOCClassifier(random_state=0), digits.data / 16, digits.target),
        "icd10cm_category": (features.classifier_, features.vectorizer_.transform(texts), diagnoses.y),
    }
    print(f"{'data':<20}{'planted':<9}{'seed':>5}{'samples':>9}{'wrong':>7}{'found':>8}{'CPU s':>8}")
    is_good = True
    for name, (classifier, X, y) in sets.items():
        best = type(classifier)(random_state=0).fit(X, y).top_k(X, N_NEAR + 1)[0]
        near = np.searchsorted(np.unique(y), best)
        for kind, own in (("evenly", None), ("near", near)):
            for seed in range(arguments.seeds):
                given, rows = planted(y, arguments.share, np.random.default_rng(seed), own)
                began = time.process_time()
                found = suspected_labels(classifier, X, given, random_state=seed)
                seconds = time.process_time() - began
                share = np.isin(rows, found.rows[: round(FIRST * len(y))]).mean()
                is_good &= bool(share >= CLAIM) or kind == "near"
                print(f"{name:<20}{kind:<9}{seed:>5}{len(y):>9,}{len(rows):>7}{share:>8.1%}{seconds:>8.1f}", flush=True)
    return 0 if is_good else 1


if __name__ == "__main__":
    raise SystemExit(main())
