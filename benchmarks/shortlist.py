"""How often is the right class in a short list for a language model, what is promised, and what does it cost?

    python benchmarks/shortlist.py [--data-home FOLDER] [--set icd10cm_category] [--splits 20]

The default TextClassifier learns from the training texts and chooses by the validation texts. Half of the test texts
say how often the right class is among the best k, and a bound that holds with 95 % confidence (Clopper and Pearson
1934); the other half say whether it is kept. Halves are drawn 20 times.

    promised     the mean of the bounds
    covered      how often the right class is in the list, on the other halves
    kept         in how many of the splits that is at least what was promised, less twice the standard error of the
                 half that measures it
    characters   of the JSON that goes into the prompt, codes and titles; a token is about four characters
    us           CPU microseconds for a list, from the text on, all texts in one call

Claim: what is promised is kept in at least 95 % of the splits.
"""

import argparse
import json
import time

import numpy as np
from scipy.stats import beta

from codekin import TextClassifier
from codekin.data import load_dataset

SIZES = (1, 5, 10, 20, 50, 100)
CONFIDENCE = 0.95


def promised(is_listed):
    """A share that is exceeded with 95 % confidence."""
    n, n_right = len(is_listed), int(is_listed.sum())
    return float(beta.ppf(1 - CONFIDENCE, n_right, n - n_right + 1)) if n_right else 0.0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-home", default=None)
    parser.add_argument("--set", default="icd10cm_category")
    parser.add_argument("--splits", type=int, default=20)
    arguments = parser.parse_args()
    data = load_dataset(arguments.set, arguments.data_home)
    parts = {name: (list(part.texts), np.asarray(part.y)) for name, part in data.splits.items()}
    held_out = parts["val" if "val" in parts else "validation"]
    classifier = TextClassifier(random_state=0).fit(*parts["train"], validation=held_out)
    texts, y = parts["test"]
    titles = data.class_titles
    everything = len(json.dumps(list(titles), ensure_ascii=False))
    print(f"{arguments.set}: {len(classifier.classes_):,} classes, {everything:,} characters of titles")
    print(f"{'k':>4}{'promised':>10}{'covered':>10}{'kept':>9}{'characters':>12}{'us':>8}")
    rng = np.random.default_rng(0)
    halves = [rng.permutation(len(y)) for _ in range(arguments.splits)]
    is_good = True
    for k in SIZES:
        began = time.process_time()
        listed, _ = classifier.top_k_proba(texts, k)
        microseconds = 1e6 * (time.process_time() - began) / len(texts)
        is_listed = (listed == y[:, None]).any(axis=1)
        own, other, n_kept = [], [], 0
        for order in halves:
            held, tested = is_listed[order[: len(y) // 2]], is_listed[order[len(y) // 2 :]]
            own.append(promised(held))
            other.append(tested.mean())
            n_kept += tested.mean() + 2 * np.sqrt(tested.mean() * (1 - tested.mean()) / len(tested)) >= own[-1]
        shown = [json.dumps([titles[label] for label in row], ensure_ascii=False) for row in listed[:1000].tolist()]
        characters = np.mean([len(each) for each in shown])
        is_good &= bool(n_kept >= 0.95 * len(halves))
        print(
            f"{k:>4}{np.mean(own):>10.1%}{np.mean(other):>10.1%}{n_kept:>6}/{len(halves)}{characters:>12,.0f}"
            f"{microseconds:>8.0f}",
            flush=True,
        )
    return 0 if is_good else 1


if __name__ == "__main__":
    raise SystemExit(main())
