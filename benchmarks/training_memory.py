"""Training holds at most twice the final model, before any weight is pruned, and the samples.

    python benchmarks/training_memory.py [--sets ...] [--data-home FOLDER] [--journal FILE]

For each data set a trellis of width 10, a label tree, and both re-ranked, each fitted in a process of its own with
validation samples, on one thread. Prints the largest growth of the process during ``fit`` and what the model takes with
all its weights in single precision: for a trellis 4 bytes for each feature and bit, for a tree its weights and their
places, for a re-ranking 8 bytes for each entry of the class vectors. The samples were there before and are not counted;
their size is shown, and so is the same ratio with one more copy of them allowed.
"""

import argparse
import os
from pathlib import Path

import numpy as np
from apart import Journal, bytes_of_rows, carry_out, peak_bytes, reset_peak
from budget_time import splits_of

MOST = 2.0
RECIPES = {
    "trellis": {"width": 10, "rerank": None},
    "tree": {"code": "tree", "rerank": None},
    "trellis, re-ranked": {"width": 10, "rerank": "learned", "prune": None},
    "tree, re-ranked": {"code": "tree", "rerank": "learned"},
}
SETS = ("icd10cm_category", "wordnet_hypernym", "debian_dirs100k")


def resident():
    """The memory that this process holds now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def unpruned_bytes(classifier):
    """The size of the model with all weights in single precision."""
    model = classifier.model_
    bits = model.members[0].bits
    if model.codebook.tree is None:
        n_bytes = 4 * bits.n_features * bits.n_bits
    else:
        places = (bits.counts, bits.nodes, bits.lengths, bits.children)
        n_bytes = 4 * len(bits.weights) + sum(array.nbytes for array in places)
    if model.ranking is not None and model.ranking.vectors is not None:
        n_bytes += 8 * model.ranking.vectors.to_csr().nnz
    return n_bytes


def measure(task):
    from codekin import TrellisClassifier

    (train, validation, _), tree = splits_of(task["data"], task["home"])
    few = np.flatnonzero(train[1] < 300)[:3000]
    y = np.unique(train[1][few], return_inverse=True)[1]
    classifier = TrellisClassifier(random_state=0, **RECIPES[task["recipe"]])
    classifier.fit(train[0][few], y, validation=(train[0][few], y))  # compiles
    del few, y, classifier
    before = resident()
    if not reset_peak():
        raise SystemExit("This system cannot reset the peak of a process.")
    classifier = TrellisClassifier(taxonomy=tree, random_state=0, **RECIPES[task["recipe"]])
    classifier.fit(*train, validation=validation)
    growth = peak_bytes() - before
    return {"growth": growth, "model": unpruned_bytes(classifier), "data": bytes_of_rows(train[0]) + train[1].nbytes}


def main():
    carry_out(measure)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-home", help="the folder with one folder per data set; otherwise CODEKIN_DATA")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--recipes", nargs="+", choices=RECIPES, default=list(RECIPES))
    parser.add_argument("--journal", type=Path, default=Path("out/training_memory.jsonl"))
    options = parser.parse_args()
    journal, is_met = Journal(options.journal), True
    print("| | growth, MB | model, MB | samples, MB | growth / model | with a copy of the samples |")
    print("|---|---:|---:|---:|---:|---:|")
    for data in options.sets:
        for recipe in options.recipes:
            if data == "debian_dirs100k" and recipe.startswith("trellis"):
                continue  # the default is a tree
            of = journal.of(__file__, {"data": data, "home": options.data_home, "recipe": recipe})
            if of is None:
                is_met = False
                continue
            ratio, lenient = of["growth"] / of["model"], (of["growth"] - of["data"]) / of["model"]
            is_met &= lenient <= MOST
            sizes = " | ".join(f"{of[name] / 1e6:,.1f}" for name in ("growth", "model", "data"))
            print(f"| {data}, {recipe} | {sizes} | {ratio:.2f} | {lenient:.2f} |", flush=True)
    print(f"\nat most {MOST:g} times the model and the samples: {'met' if is_met else 'NOT met'}")
    return 0 if is_met else 1


if __name__ == "__main__":
    raise SystemExit(main())
