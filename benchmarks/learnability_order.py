"""Paths whose bits are learned best: what learnability gains over the depth-first order, at the same bits and cost.

    python benchmarks/learnability_order.py [--data-home FOLDER] [--sets ...] [--widths 2] [--seeds 3] [--journal FILE]

The paper's extreme recipe: a trellis, AROW, exponential decoding, the best of five passes by validation. The same
codebook with three assignments: in the depth-first order of the taxonomy, by ``assignment="learnability"`` from there,
and by learnability without a taxonomy. A seed draws the order of the samples and everything in the search. Prints the
mean test accuracy in percent and its standard error over the seeds, the gain with its standard error, and the CPU
seconds of finding an assignment, including its measurements. With ``--journal FILE`` every fit is written to that file
when it ends, and fits in it are not repeated.

Claims: at width 2, a gain of at least 2.5 points on icd10cm_category and clinc150 and of 2 points on wordnet_hypernym.
"""

import argparse
import json
import sys
import time
from pathlib import Path
from unittest.mock import patch

import numpy as np

from codekin import ExtremeClassifier
from codekin.codebooks import trellis_codebook
from codekin.data import load_dataset
from codekin.fitting.orders import FINDERS
from codekin.learners import AROW

SETS = ("icd10cm_category", "clinc150", "wordnet_hypernym", "debian_dirs100k")
DEFAULT_SETS = SETS[:3]
N_EPOCHS = 5
CLAIMED_GAINS = {("icd10cm_category", 2): 2.5, ("clinc150", 2): 2.5, ("wordnet_hypernym", 2): 2.0}
ORDERS = ("depth-first", "learnability", "without taxonomy")
COLUMNS = ("data", "K", "width", "bits", *ORDERS, "gain", "gain without", "search, s", "claimed")


class Journal:
    """Accuracy and search seconds of known fits; new ones are written to a file, if there is one."""

    def __init__(self, path):
        self.path = path
        self.fits = {}
        if path is not None and path.exists():
            for line in path.read_text().splitlines():
                *fit, accuracy, seconds = json.loads(line)
                self.fits[tuple(fit)] = accuracy, seconds

    def of(self, data, width, order, seed):
        fit = (data.name, width, order, seed)
        if fit not in self.fits:
            self.fits[fit] = fitted(data, width, order, seed)
            print(*fit, "{:.2f} ({:.1f} s)".format(*self.fits[fit]), file=sys.stderr, flush=True)
            if self.path is not None:
                with self.path.open("a") as file:
                    file.write(json.dumps([*fit, *self.fits[fit]]) + "\n")
        return self.fits[fit]


def fitted(data, width, order, seed):
    """Test accuracy in percent of one fit, and the CPU seconds of its assignment."""
    seconds = []
    choose = FINDERS["trellis"]

    def timed(*arguments, **options):
        begin = time.process_time()
        chosen = choose(*arguments, **options)
        seconds.append(time.process_time() - begin)
        return chosen

    classifier = ExtremeClassifier(
        width,
        taxonomy=None if order == "without taxonomy" else data.class_tree,
        assignment="preserving" if order == "depth-first" else "learnability",
        estimator=AROW(n_epochs=N_EPOCHS),
        loss="exponential",
        rerank=None,
        random_state=seed,
    )
    with patch.dict(FINDERS, trellis=timed):
        classifier.fit(data.X, data.y, validation=(data.validation.X, data.validation.y))
    return 100 * classifier.score(data.test.X, data.test.y), seconds[0]


def table_row(name, n_classes, width, accuracies, seconds):
    """One line of the table, and whether its claim holds."""
    gains = accuracies[1:] - accuracies[0]
    claimed = CLAIMED_GAINS.get((name, width))
    holds = claimed is None or gains[0].mean() >= claimed
    cells = [name, f"{n_classes:,}", width, trellis_codebook(n_classes, width).n_bits]
    cells += [mean_and_error(scores) for scores in accuracies]
    cells += [mean_and_error(gain, "+") for gain in gains]
    cells += [f"{seconds[1].mean():.1f}", "" if claimed is None else f">= {claimed}: {'holds' if holds else 'FAILS'}"]
    return as_line(cells), holds


def mean_and_error(values, sign=""):
    error = values.std(ddof=1) / len(values) ** 0.5 if len(values) > 1 else np.nan
    return f"{values.mean():{sign}.2f} ± {error:.2f}"


def as_line(cells):
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def parsed():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-home", help="the folder with one folder per data set; otherwise CODEKIN_DATA")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(DEFAULT_SETS))
    parser.add_argument("--widths", nargs="+", type=int, default=[2])
    parser.add_argument("--seeds", type=int, default=3, help="how many")
    parser.add_argument("--journal", type=Path, help="where to write every fit, and to look for earlier ones")
    return parser.parse_args()


def main():
    arguments = parsed()
    journal = Journal(arguments.journal)
    print(f"{arguments.seeds} seeds; AROW, at most {N_EPOCHS} passes; exponential decoding; means ± standard errors")
    print(as_line(COLUMNS))
    print("|---" + "|---:" * (len(COLUMNS) - 1) + "|")
    outcomes = []
    for name in arguments.sets:
        try:
            data = load_dataset(name, arguments.data_home)
        except FileNotFoundError as error:
            print(f"{name} left out: {error}")
            continue
        for width in arguments.widths:
            fits = [[journal.of(data, width, order, seed) for seed in range(arguments.seeds)] for order in ORDERS]
            accuracies, seconds = np.moveaxis(np.array(fits), 2, 0)
            line, holds = table_row(name, data.n_classes, width, accuracies, seconds)
            outcomes.append(holds)
            print(line, flush=True)
    print(f"claims: {sum(outcomes)} of {len(outcomes)} rows hold")
    return 0 if all(outcomes) else 1


if __name__ == "__main__":
    raise SystemExit(main())
