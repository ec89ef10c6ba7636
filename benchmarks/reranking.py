"""What rescoring the best classes is worth: accuracy, bytes and microseconds, with and without, one code and two.

    python benchmarks/reranking.py [--data-home FOLDER] [--sets ...] [--widths 2 5] [--members 1 2] [--seeds 1]
    python benchmarks/reranking.py --widths 10 20 --members 1 --prune 0.001 --assignment preserving --estimator softmax

Trellises in learnability order with the default learner, without re-ranking, with class means and with learned class
vectors, each as one code and as two codes whose losses are added. The second command is for wide, pruned trellises.
Bytes are those of the model folder without the names of the labels, microseconds are CPU time from features to class on
one thread, in one batch. With ``--journal FILE`` every fit is written to that file when it ends, and fits in it are not
repeated.

Claims: at width 2, learned vectors gain at least 3 points on icd10cm_category and 12 on wordnet_hypernym, class means
at least half of that; at width 10 a prediction takes at most 10 and 40 microseconds.
"""

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from codekin import ExtremeClassifier, save_model
from codekin._system.files import bytes_in
from codekin._system.parallel import limited_threads
from codekin.data import load_dataset

SETS = ("icd10cm_category", "wordnet_hypernym", "clinc150")
RERANKS = (None, "centroid", "learned")
CLAIMED_GAINS = {"icd10cm_category": 3.0, "wordnet_hypernym": 12.0}
CLAIMED_MICROSECONDS = {"icd10cm_category": 10.0, "wordnet_hypernym": 40.0}
MEASURES = ("accuracy", "megabytes", "microseconds", "seconds", "n_candidates", "certified")


class Journal:
    """Results of known fits; new ones are also written to a file, if there is one."""

    def __init__(self, path):
        self.path, self.found = path, {}
        if path is not None and path.exists():
            for line in path.read_text().splitlines():
                fit, measured = json.loads(line)
                self.found[tuple(fit)] = measured

    def add(self, fit, measured):
        self.found[fit] = measured
        if self.path is not None:
            with self.path.open("a") as file:
                file.write(json.dumps([fit, measured]) + "\n")


def measured(data, width, rerank, n_codes, options, seed):
    """One fit: its accuracy in percent, size, prediction time and training time."""
    classifier = ExtremeClassifier(
        width,
        taxonomy=data.class_tree,
        rerank=rerank,
        candidates="code",
        n_codes=n_codes,
        random_state=seed,
        **options,
    )
    begin = time.perf_counter()
    classifier.fit(data.X, data.y, validation=(data.validation.X, data.validation.y))
    seconds = time.perf_counter() - begin
    model = classifier.model_
    with tempfile.TemporaryDirectory() as home:
        megabytes = bytes_in(save_model(model, Path(home) / "model")) / 1e6
    certified = None
    if n_codes > 1:
        certified = float(model.candidates(data.test.X, 1).is_certified.mean())
    return {
        "accuracy": 100 * float(classifier.score(data.test.X, data.test.y)),
        "megabytes": megabytes,
        "microseconds": microseconds(model, data.test.X),
        "seconds": seconds,
        "n_candidates": getattr(model, "n_candidates", None),
        "certified": certified,
    }


def microseconds(model, X):
    """CPU time of a prediction, the best of five batches."""
    model.predict(X[:10])
    times = []
    with limited_threads(1):
        for _ in range(5):
            begin = time.process_time()
            model.predict(X)
            times.append(time.process_time() - begin)
    return 1e6 * min(times) / X.shape[0]


def mean_of(rows, name):
    values = [row[name] for row in rows if row[name] is not None]
    return float(np.mean(values)) if values else None


def as_line(cells):
    sizes = (18, 5, 7, 9, 8, 6, 6, 7, 9, 9)
    padded = [f"{'' if cell is None else cell!s:<{size}}" for cell, size in zip(cells, sizes, strict=True)]
    return "| " + " | ".join(padded) + " |"


def table_row(name, width, n_codes, rerank, rows):
    means = {measure: mean_of(rows, measure) for measure in MEASURES}
    texts = [name, width, n_codes, rerank or "none"]
    forms = {"accuracy": ".2f", "megabytes": ".2f", "microseconds": ".1f", "seconds": ".1f", "n_candidates": ".0f"}
    forms["certified"] = ".3f"
    return as_line(
        texts + [None if value is None else format(value, forms[key]) for key, value in means.items()]
    ), means


def claims(name, width, results):
    """Whether a set's claims hold, with reasons if they do not."""
    bare, means, learned = (results[1, rerank]["accuracy"] for rerank in RERANKS)
    if width == 2 and name in CLAIMED_GAINS:
        yield learned - bare >= CLAIMED_GAINS[name], f"{name}: learned vectors gain {learned - bare:.2f}"
        yield means - bare >= CLAIMED_GAINS[name] / 2, f"{name}: class means gain {means - bare:.2f}"
    if width >= 10 and name in CLAIMED_MICROSECONDS:
        slowest = results[1, "learned"]["microseconds"]
        yield slowest <= CLAIMED_MICROSECONDS[name], f"{name}, width {width}: {slowest:.1f} microseconds"


def parsed():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-home", help="the folder with one folder per data set; otherwise CODEKIN_DATA")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS)
    parser.add_argument("--widths", nargs="+", type=int, default=[2, 5])
    parser.add_argument("--members", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--seeds", type=int, default=1, help="how many")
    parser.add_argument("--precision", choices=["float32", "float16", "int8"], default="int8")
    parser.add_argument("--prune", type=float, help="the validation accuracy that pruning may cost")
    parser.add_argument("--assignment", default="learnability")
    parser.add_argument("--estimator", default="auto")
    parser.add_argument("--journal", type=Path, help="where to write every fit, and to look for earlier ones")
    return parser.parse_args()


def main():
    arguments = parsed()
    journal = Journal(arguments.journal)
    options = {name: getattr(arguments, name) for name in ("assignment", "estimator", "precision", "prune")}
    print(f"{arguments.seeds} seeds;", ", ".join(f"{name}: {value}" for name, value in options.items()))
    print(as_line(["data", "width", "codes", "re-rank", "accuracy", "MB", "us", "train s", "best of", "certified"]))
    print("|---" + "|---:" * 9 + "|")
    outcomes = []
    for name in arguments.sets:
        try:
            data = load_dataset(name, arguments.data_home)
        except FileNotFoundError as error:
            print(f"{name} left out: {error}")
            continue
        for width in arguments.widths:
            results = {}
            for n_codes in arguments.members:
                for rerank in RERANKS:
                    rows = []
                    for seed in range(arguments.seeds):
                        fit = (name, width, n_codes, rerank, *options.values(), seed)
                        if fit not in journal.found:
                            journal.add(fit, measured(data, width, rerank, n_codes, options, seed))
                            print(*fit, journal.found[fit], file=sys.stderr, flush=True)
                        rows.append(journal.found[fit])
                    line, results[n_codes, rerank] = table_row(name, width, n_codes, rerank, rows)
                    print(line, flush=True)
            if 1 in arguments.members:
                outcomes += claims(name, width, results)
    missed = [reason for holds, reason in outcomes if not holds]
    print(f"claims: {len(outcomes) - len(missed)} of {len(outcomes)} hold", *missed, sep="\n")
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
