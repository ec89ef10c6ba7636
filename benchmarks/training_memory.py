"""Training holds at most twice the model, before any weight is dropped or pruned, and the samples.

    python benchmarks/training_memory.py [--sets ...] [--data-home FOLDER] [--journal FILE]
    python benchmarks/training_memory.py --limits [--sets icd10cm_category]

For each data set a trellis of width 10, a label tree, both re-ranked, and two trellises, each fitted in a process of
its own with validation samples, on one thread. Prints the largest growth of the process during ``fit``; how much of it
is fixed, which is the growth with 300 samples and their features; and two sizes of the model. With all weights that are
learned it has 4 bytes for each feature and bit, on a tree for each child of a node and feature of its samples, and 8
bytes for each entry of the class vectors. A tree drops small weights as soon as a node is learned, and vectors drop
small entries: the second size is that of what is kept, still in single precision.

The samples were there before and are not counted; their size is shown. The claim is that beyond the fixed part the
growth is at most twice the model with all weights and once the samples. Models smaller than the fixed part are shown,
but not judged. Trees hold far more than twice what they keep: the weights and curvatures of the node in training.

``--limits`` shows that a limit given is a limit kept. Every recipe gets ``max_memory`` of 4, 6, 9 and so on megabytes,
half as much again each time, until two of them were enough. Prints the limit and the largest growth of the process
until ``fit`` ended or refused. Not counted are 16 MiB and the fixed part, 40 bytes for each training sample, and on
disk the part of the samples that may be in memory. A limit is kept if the rest of the growth is at most as large.
"""

import argparse
import os
import tempfile
from pathlib import Path

import numpy as np
from apart import Journal, bytes_of_rows, carry_out, peak_bytes, reset_peak
from budget_time import splits_of

MOST = 2.0
RECIPES = {
    "trellis": {"width": 10, "rerank": None},
    "tree": {"code": "tree", "rerank": None},
    "trellis, re-ranked": {"width": 10, "rerank": "learned", "prune": None},
    "two trellises": {"width": 10, "n_codes": 2, "rerank": None, "assignment": "preserving"},
    "tree, re-ranked": {"code": "tree", "rerank": "learned"},
}
SETS = ("icd10cm_category", "wordnet_hypernym", "debian_dirs100k")
LIMITED = {
    "trellis": {"width": 10, "rerank": None},
    "trellis, a learned class tree": {"width": 10, "rerank": None, "taxonomy": False},
    "trellis, AROW": {"width": 5, "rerank": None, "estimator": "arow", "assignment": "preserving"},
    "trellis, re-ranked": {"width": 10, "rerank": "learned"},
    "trellis, re-ranked, no validation": {"width": 5, "rerank": "learned", "validation": False},
    "width 2, an index": {"width": 2, "rerank": "learned", "assignment": "preserving"},
    "width 2, a searched order": {"width": 2, "rerank": None, "assignment": "learnability"},
    "two codes": {"width": 5, "n_codes": 2, "rerank": None, "assignment": "random"},
    "tree": {"code": "tree", "rerank": None},
    "tree, re-ranked": {},
    "tree, no validation": {"validation": False},
    "two trees": {"code": "tree", "n_codes": 2},
    "tree of samples on disk": {"code": "tree", "rerank": None, "samples": "disk"},
    "trellis of samples on disk": {"width": 10, "rerank": None, "samples": "disk"},
    "trellis of dense samples": {"width": 10, "rerank": None, "samples": "dense"},
    "trellis of dense samples, re-ranked": {"width": 10, "rerank": "learned", "samples": "dense"},
    "trellis of double precision": {"width": 10, "rerank": None, "samples": "double"},
}
LIMITS = [int(4_000_000 * 1.5**n) for n in range(16)]
UNCOUNTED = 16 * 2**20
PER_SAMPLE = 40
DENSE_FEATURES = 300


def resident():
    """The memory that this process holds now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def kept_bytes(classifier):
    """The size of the model as it is, in single precision."""
    model = classifier.model_
    n_bytes = 0
    for member in model.codes:
        bits = member.bits
        if model.codebook.tree is None:
            n_bytes += 4 * bits.n_features * bits.n_bits
        else:
            places = (bits.counts, bits.nodes, bits.lengths, bits.children)
            n_bytes += 4 * len(bits.weights) + sum(array.nbytes for array in places)
    n_entries = 0 if model.ranking is None or model.ranking.vectors is None else model.ranking.vectors.n_entries
    return n_bytes + 8 * n_entries


def unpruned_bytes(classifier, X, class_index):
    """The size of the model with all weights that were learned, in single precision."""
    model = classifier.model_
    tree, n_bytes = model.codebook.tree, 0
    for member in model.codes:
        if tree is None:
            n_bytes += 4 * member.bits.n_features * member.bits.n_bits
            continue
        leaves = member.code.assignment.codeword_of_class[class_index]
        for node in range(tree.n_nodes):
            first, last = tree.spans[node]
            is_below = (leaves >= first) & (leaves < last)
            n_features = len(np.unique(X[is_below].indices))
            n_bytes += 4 * n_features * int(tree.first_bits[node + 1] - tree.first_bits[node])
    if model.ranking is not None and model.ranking.vectors is not None:
        pairs = np.repeat(class_index.astype(np.int64), np.diff(X.indptr)) * X.shape[1] + X.indices
        n_bytes += 8 * len(np.unique(pairs))
    return n_bytes


def growth_of(fit):
    """What a function returns, and the largest growth of the process meanwhile."""
    from codekin._system.memory import give_back

    give_back()
    growth_of.before = resident()
    if not reset_peak():
        raise SystemExit("This system cannot reset the peak of a process.")
    return fit(), peak_bytes() - growth_of.before


def measure(task):
    from codekin import ExtremeClassifier

    (train, validation, _), tree = splits_of(task["data"], task["home"])

    def fit_to(rows):
        X, y = train[0][rows], np.unique(train[1][rows], return_inverse=True)[1]
        X = X[:, np.unique(X.indices)]
        return ExtremeClassifier(random_state=0, **RECIPES[task["recipe"]]).fit(X, y, validation=(X, y))

    few = np.flatnonzero(train[1] < 300)[:3000]
    fit_to(few)  # compiles
    _, fixed = growth_of(lambda: fit_to(few[:300]))
    classifier = ExtremeClassifier(taxonomy=tree, random_state=0, **RECIPES[task["recipe"]])
    _, growth = growth_of(lambda: classifier.fit(*train, validation=validation))
    class_index = np.searchsorted(classifier.classes_, train[1])
    return {
        "growth": growth,
        "fixed": fixed,
        "all weights": unpruned_bytes(classifier, train[0], class_index),
        "kept": kept_bytes(classifier),
        "data": bytes_of_rows(train[0]) + train[1].nbytes,
    }


def samples_as(X, how, folder):
    """The samples, and how many of their bytes may be in memory if they are on disk."""
    from codekin.data import SparseData, cached_data, write_data

    if how == "dense":
        frequent = np.argsort(-np.bincount(X.indices, minlength=X.shape[1]), kind="stable")[:DENSE_FEATURES]
        return X[:, np.sort(frequent)].toarray(), 0
    if how == "double":
        return X.astype(np.float64), 0
    if how == "disk":
        n_rows, allowed = X.shape[0], bytes_of_rows(X) // 4
        path = Path(folder) / f"{n_rows}.svm"
        write_data(path, SparseData(X, np.arange(n_rows) % 2, np.arange(2)))
        return cached_data(path, n_features=X.shape[1], max_memory=allowed).X, allowed
    return X, 0


def measure_limits(task):
    """What becomes of a recipe within limits, one after the other."""
    from codekin import ExtremeClassifier
    from codekin.fitting.defaults import AutoLearner
    from codekin.learners import AROW, LinearSVM, Softmax, VectorSoftmax

    settings = dict(LIMITED[task["recipe"]])
    how, has_validation = settings.pop("samples", "memory"), settings.pop("validation", True)
    only_arow, has_tree = settings.pop("estimator", "auto") == "arow", settings.pop("taxonomy", True)
    (train, validation, _), tree = splits_of(task["data"], task["home"])
    tree = tree if has_tree else None

    def fitted(X, y, limit, held_out, **options):
        each = [learner(max_memory=limit) for learner in (AROW, Softmax, LinearSVM, VectorSoftmax)]
        learner = each[0] if only_arow else AutoLearner(*each)
        classifier = ExtremeClassifier(estimator=learner, random_state=0, **settings, **options)
        return classifier.fit(X, y, **({"validation": held_out} if has_validation else {}))

    with tempfile.TemporaryDirectory() as folder:
        few = np.flatnonzero(train[1] < 300)[:3000]
        names = np.unique(train[1][few], return_inverse=True)[1]
        kind = "memory" if how == "disk" else how
        small = samples_as(train[0][few], kind, folder)[0]
        fitted(small, names, None, (small, names))  # compiles
        small, names = small[:300], names[:300]
        if kind != "dense":
            small = small[:, np.unique(small.indices)]
        _, fixed = growth_of(lambda: fitted(small, names, None, (small, names)))
        X, on_disk = samples_as(train[0], how, folder)
        held_out = samples_as(validation[0], kind, folder)[0], validation[1]
        y, train = train[1], None
        results = []
        for limit in LIMITS:
            try:
                _, growth = growth_of(lambda limit=limit: fitted(X, y, limit, held_out, taxonomy=tree) and None)
                sentence = ""
            except MemoryError as error:
                growth, sentence = peak_bytes() - growth_of.before, str(error)
            counted = growth - fixed - UNCOUNTED - PER_SAMPLE * len(y) - on_disk
            results.append({"limit": limit, "growth": growth, "counted": counted, "refused": sentence})
            if sum(not result["refused"] for result in results) == 2:
                break
    return results


def show_limits(options, journal):
    """Print what became of every recipe and limit; whether all limits were kept."""
    is_met = True
    print("| | limit, MB | growth | counted | |")
    print("|---|---:|---:|---:|---|")
    for data in options.sets:
        for recipe in options.limited:
            found = journal.of(__file__, {"data": data, "home": options.data_home, "recipe": recipe, "limits": True})
            is_met &= found is not None
            for of in found or []:
                is_kept = of["counted"] <= of["limit"]
                is_met &= is_kept
                outcome = "kept" if is_kept else "EXCEEDED"
                if of["refused"]:
                    outcome = f"{'refused' if is_kept else 'REFUSED TOO LATE'}: {of['refused']}"
                sizes = " | ".join(f"{max(of[name], 0) / 1e6:,.1f}" for name in ("limit", "growth", "counted"))
                print(f"| {data}, {recipe} | {sizes} | {outcome} |", flush=True)
    print(f"\nevery limit is kept, or refused in one sentence: {'met' if is_met else 'NOT met'}")
    return 0 if is_met else 1


def main():
    carry_out(lambda task: measure_limits(task) if task.get("limits") else measure(task))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-home", help="the folder with one folder per data set; otherwise CODEKIN_DATA")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--recipes", nargs="+", choices=RECIPES, default=list(RECIPES))
    parser.add_argument("--limits", action="store_true", help="show that limits are kept")
    parser.add_argument("--limited", nargs="+", choices=LIMITED, default=list(LIMITED), metavar="RECIPE")
    parser.add_argument("--journal", type=Path, default=Path("out/training_memory.jsonl"))
    options = parser.parse_args()
    journal, is_met = Journal(options.journal), True
    if options.limits:
        return show_limits(options, journal)
    print("| | growth, MB | fixed | all weights | kept | samples | growth / all weights | judged | growth / kept |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|")
    for data in options.sets:
        for recipe in options.recipes:
            if data == "debian_dirs100k" and "trellis" in recipe:
                continue  # the default is a tree
            of = journal.of(__file__, {"data": data, "home": options.data_home, "recipe": recipe})
            if of is None:
                is_met = False
                continue
            judged = (of["growth"] - of["data"] - of["fixed"]) / of["all weights"]
            if of["all weights"] > of["fixed"]:
                is_met &= judged <= MOST
            sizes = " | ".join(f"{of[name] / 1e6:,.1f}" for name in ("growth", "fixed", "all weights", "kept", "data"))
            ratios = of["growth"] / of["all weights"], judged, of["growth"] / of["kept"]
            print(f"| {data}, {recipe} | {sizes} | {' | '.join(f'{ratio:.2f}' for ratio in ratios)} |", flush=True)
    verdict = "met" if is_met else "NOT met"
    print(f"\nat most {MOST:g} times the model with all weights, the samples and the fixed part: {verdict}")
    return 0 if is_met else 1


if __name__ == "__main__":
    raise SystemExit(main())
