"""Fewer than 1,000 classes of texts: a support vector machine of each class beside a re-ranked tree and a wide trellis.

    python benchmarks/few_classes.py [--licences WHEEL] [--seeds 3]

Both sides, and scikit-learn's LinearSVC, learn from the same features, words beside trigrams of characters. The sets
are those of ``texts.py``, of some only the most frequent classes. Accuracy in percent, megabytes of the whole model,
vocabulary included (of LinearSVC, its weights in double precision alone), CPU microseconds from features to class.
"""

import argparse
import collections
from pathlib import Path

import numpy as np
import texts
from contenders import processor_seconds
from sklearn.svm import LinearSVC

from codekin import ExtremeClassifier
from codekin.data import TextVectorizer
from codekin.storage import ModelInput, stored_bytes

SETS = (("debian_sections", 58), ("licences", 713), ("licences", 50), ("icd10cm_category", 300))
SETS += (("icd10cm_category", 60), ("icd10cm_category", 20))
SIDES = {
    "trellis": {"code": "trellis", "rerank": None, "precision": "float32", "width": 10},
    "tree, re-ranked": {"code": "tree"},
    "machines": {},
}


def most_frequent(splits, n_classes):
    counts = collections.Counter(label for label, _ in splits["train"])
    kept = {label for label, _ in counts.most_common(n_classes)}
    return {split: [row for row in rows if row[0] in kept] for split, rows in splits.items()}


def measured(classifier, X, n_rounds=5):
    rounds = [processor_seconds(lambda: classifier.predict(X)) for _ in range(n_rounds)]
    return 1e6 * min(rounds) / X.shape[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-home", help="the folder with one folder per data set; otherwise CODEKIN_DATA")
    parser.add_argument("--licences", type=Path, help="the wheel of scancode-toolkit-mini")
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parser.parse_args()
    print("| set | classes | | accuracy | MB | us |")
    print("|---|---:|---|---:|---:|---:|")
    for name, n_classes in SETS:
        try:
            splits = most_frequent(texts.SETS[name](name, arguments), n_classes)
        except (FileNotFoundError, KeyError) as error:
            print(f"{name} left out: {error}")
            continue
        labels, samples = ({split: [row[k] for row in rows] for split, rows in splits.items()} for k in (0, 1))
        fitted = TextVectorizer("words+trigrams").fit(samples["train"])
        X = {split: fitted.transform(rows) for split, rows in samples.items()}
        for side, settings in SIDES.items():
            found = []
            for seed in range(arguments.seeds):
                classifier = ExtremeClassifier(**settings, random_state=seed)
                classifier.fit(X["train"], labels["train"], validation=(X["validation"], labels["validation"]))
                n_bytes = stored_bytes(classifier, ModelInput(fitted))
                found.append(
                    (100 * classifier.score(X["test"], labels["test"]), n_bytes / 1e6, measured(classifier, X["test"]))
                )
            accuracy, size, time = np.mean(found, axis=0)
            print(f"| {name} | {n_classes} | {side} | {accuracy:.1f} | {size:.2f} | {time:.1f} |", flush=True)
        svc = LinearSVC().fit(X["train"], labels["train"])
        accuracy, size = 100 * svc.score(X["test"], labels["test"]), svc.coef_.nbytes / 1e6
        print(f"| {name} | {n_classes} | LinearSVC | {accuracy:.1f} | {size:.2f} | {measured(svc, X['test']):.1f} |")


if __name__ == "__main__":
    main()
