"""Many classes with learners limited to ten: codekin against ManyClassClassifier and native boosting.

    python benchmarks/many_classes.py --peer FOLDER [--sets cifar100 ...] [--learners lda ...] [--seeds 5]
    python benchmarks/many_classes.py --native [--seeds 3]
    python benchmarks/many_classes.py --table ROWS

``--peer`` is the folder of the unpacked wheel of tabpfn-extensions 0.6.3 (PyPI); only its ``many_class`` package is
loaded, since the rest needs torch. Both sides have the same learner, ten symbols and the same number of fits: as many
as ManyClassClassifier makes by default, which is also the minimum of its recommended codebook (nine classes a fit, the
others "rest"), and the fewest that tell the classes apart, which only its other codebook supports. Its predictions are
those of its ``predict``.

The sets are CIFAR-100 features (the 64 leading components), clinc150 and two sizes of ICD-10-CM (64 singular directions
of the TF-IDF vectors), and 26 synthetic classes from scikit-learn. Every seed draws its own training and test samples,
the same for all methods. Rows are written to ``--out`` as they are measured, as JSON lines; ``--table`` prints them.

Bars: a gain of at least 2 points on average at the smallest number of columns that ManyClassClassifier allows, nowhere
worse by more than a standard error of the paired differences, no failure up to 1,532 classes; ``--native``: within a
point of native HistGradientBoostingClassifier and LightGBM with 100 classes in at most a fifth of the CPU time.
"""

import argparse
import json
import sys
import time
import warnings
from pathlib import Path
from types import ModuleType

import numpy as np
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.decomposition import TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from threadpoolctl import threadpool_limits

from codekin import ECOCClassifier
from codekin.codebooks.sizes import fewest_bits
from codekin.datasets import load_dataset

N_SYMBOLS = 10
N_DIRECTIONS = 64
SIZES = {
    "made26": (3_000, 2_000),
    "cifar100": (4_000, 2_000),
    "clinc150": (4_000, 2_000),
    "icd10cm_small": (6_000, 2_000),
    "icd10cm_category": (8_000, 2_000),
}
"""Numbers of training and test samples of each set."""
LEARNERS = {
    "lda": LinearDiscriminantAnalysis(),
    "extra_trees": ExtraTreesClassifier(20),
    "boosting": HistGradientBoostingClassifier(max_iter=10, max_leaf_nodes=15, early_stopping=False),
}


def samples_of(name, data_home, seed):
    """Training and test samples: X, y, X, y."""
    n_train, n_test = SIZES[name]
    rng = np.random.default_rng(seed)
    if name == "made26":
        X, y = make_classification(
            n_train + n_test, 20, n_informative=12, n_classes=26, n_clusters_per_class=1, random_state=seed
        )
        return X[:n_train], y[:n_train], X[n_train:], y[n_train:]
    data = load_dataset(name, data_home)
    if name == "cifar100":
        X, X_test = (part.X[:, :N_DIRECTIONS].astype(np.float64) for part in (data.train, data.test))
    else:
        svd = TruncatedSVD(N_DIRECTIONS, random_state=0).fit(data.train.X)
        X, X_test = svd.transform(data.train.X), svd.transform(data.test.X)
    y, y_test = np.asarray(data.train.y), np.asarray(data.test.y)
    # At least two samples of every class, so that no method fails for lack of one.
    order = rng.permutation(len(y))
    rank = np.zeros(len(y), dtype=np.intp)
    for label in np.unique(y):
        own = order[y[order] == label]
        rank[own] = np.arange(len(own))
    train = np.sort(order[np.argsort(np.minimum(rank[order], 2), kind="stable")][:n_train])
    test = rng.permutation(len(y_test))[:n_test]
    return X[train], y[train], X_test[test], y_test[test]


def many_class_classifier(folder):
    """The class alone, without the rest of its package, which needs torch and asks for a subscription."""
    package = ModuleType("tabpfn_extensions")
    package.__path__ = [str(Path(folder) / "tabpfn_extensions")]
    common, telemetry = ModuleType("tabpfn_common_utils"), ModuleType("tabpfn_common_utils.telemetry")
    telemetry.set_extension = lambda _: lambda kind: kind
    utils, bars = ModuleType("tabpfn_extensions.utils"), ModuleType("tqdm")
    utils.get_max_num_classes = lambda _: None
    bars.tqdm = lambda items, **_: items
    modules = (package, common, telemetry, utils, bars)
    sys.modules.update({module.__name__: module for module in modules})
    from tabpfn_extensions.many_class import ManyClassClassifier

    return ManyClassClassifier


def measured(classifier, samples):
    """Accuracy in percent and CPU seconds of fit and predict together: the peer learns when it predicts."""
    X, y, X_test, y_test = samples
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        accuracy = 100 * float((classifier.fit(X, y).predict(X_test) == y_test).mean())
    return {"accuracy": accuracy, "cpu": time.process_time() - start}


def contenders(learner, n_columns, is_default, seed, peer):
    """Classifiers with this number of fits, by method."""
    ours = {"n_symbols": N_SYMBOLS, "n_bits": n_columns, "random_state": seed}
    theirs = {"alphabet_size": N_SYMBOLS, "n_estimators": n_columns, "random_state": seed}
    made = {
        "codekin": ECOCClassifier(clone(learner), **ours),
        "codekin, random assignment": ECOCClassifier(clone(learner), assignment="random", **ours),
    }
    if peer is not None:
        seeded = clone(learner)
        if "random_state" in seeded.get_params():
            seeded.set_params(random_state=seed)
        if is_default:
            made["ManyClassClassifier"] = peer(seeded, **theirs)
        made["ManyClassClassifier, balanced"] = peer(seeded, codebook_config="balanced_cluster", **theirs)
    return made


def compare(arguments, out):
    """Every set, learner and seed, at both numbers of columns."""
    peer = None if arguments.peer is None else many_class_classifier(arguments.peer)
    for name in arguments.sets:
        for seed in range(arguments.first_seed, arguments.first_seed + arguments.seeds):
            samples = samples_of(name, arguments.data_home, seed)
            n_classes = len(np.unique(samples[1]))
            numbers = {"fewest": fewest_bits(n_classes, N_SYMBOLS), "default": -(-n_classes // (N_SYMBOLS - 1))}
            for learner in arguments.learners:
                for which in arguments.columns:
                    made = contenders(LEARNERS[learner], numbers[which], which == "default", seed, peer)
                    for method, classifier in made.items():
                        row = {"set": name, "n_classes": n_classes, "learner": learner, "seed": seed, "method": method}
                        row |= {"columns": which, "n_columns": numbers[which], **measured(classifier, samples)}
                        out(row)


def natively(arguments, out):
    """Boosting with 100 classes: one tree per class and round, or per symbol of a few columns."""
    from lightgbm import LGBMClassifier

    learners = {
        "boosting": HistGradientBoostingClassifier(max_iter=30, max_leaf_nodes=15, early_stopping=False),
        "lightgbm": LGBMClassifier(n_estimators=30, num_leaves=15, n_jobs=1, verbose=-1),
    }
    for seed in range(arguments.first_seed, arguments.first_seed + arguments.seeds):
        samples = samples_of("cifar100", arguments.data_home, seed)
        for name, learner in learners.items():
            seeded = clone(learner).set_params(random_state=seed)
            row = {"set": "cifar100", "n_classes": 100, "learner": name, "seed": seed}
            out({**row, "method": "native", "columns": "native", "n_columns": 1, **measured(seeded, samples)})
            for n_columns in (2, 4, 8):
                coded = ECOCClassifier(clone(learner), n_symbols=N_SYMBOLS, n_bits=n_columns, random_state=seed)
                row |= {"method": "codekin", "columns": str(n_columns), "n_columns": n_columns}
                out({**row, **measured(coded, samples)})


def tell(rows):
    """Print a line per set, learner and number of columns; then the gains over the better codebook of the peer."""
    keys = list(dict.fromkeys((r["set"], r["learner"], r["columns"], r["n_columns"]) for r in rows))
    gains, worse = [], []
    for key in keys:
        own = [r for r in rows if (r["set"], r["learner"], r["columns"], r["n_columns"]) == key]
        methods = {m: {r["seed"]: r for r in own if r["method"] == m} for m in dict.fromkeys(r["method"] for r in own)}
        shown = [
            f"{method} {np.mean([r['accuracy'] for r in by_seed.values()]):.1f} "
            f"({np.mean([r['cpu'] for r in by_seed.values()]):.1f} s)"
            for method, by_seed in methods.items()
        ]
        print(*key, f"{max(len(m) for m in methods.values())} seeds", *shown, sep=" | ")
        peers = [m for m in methods if m.startswith("ManyClass")]
        if peers and "codekin" in methods:
            best = max(peers, key=lambda m: np.mean([r["accuracy"] for r in methods[m].values()]))
            shared = sorted(set(methods["codekin"]) & set(methods[best]))
            gain = np.array([methods["codekin"][s]["accuracy"] - methods[best][s]["accuracy"] for s in shared])
            error = gain.std(ddof=1) / np.sqrt(len(gain)) if len(gain) > 1 else np.nan
            print(f"    gain over {best}: {gain.mean():+.1f} +- {error:.1f}")
            if key[2] == "default":
                gains.append(gain.mean())
                worse += [key] if gain.mean() < -(error if error == error else 0) else []
    if gains:
        print(f"mean gain at the default number of columns: {np.mean(gains):+.1f}; worse: {worse or 'nowhere'}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", type=Path)
    parser.add_argument("--sets", nargs="+", choices=list(SIZES), default=list(SIZES))
    parser.add_argument("--learners", nargs="+", choices=list(LEARNERS), default=list(LEARNERS))
    parser.add_argument("--columns", nargs="+", choices=["fewest", "default"], default=["fewest", "default"])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--native", action="store_true")
    parser.add_argument("--data-home", type=Path)
    parser.add_argument("--out", type=Path, default=Path("many_classes.jsonl"))
    parser.add_argument("--table", type=Path)
    arguments = parser.parse_args()
    if arguments.table is not None:
        tell([json.loads(line) for line in arguments.table.read_text().splitlines()])
        return
    rows = []

    def out(row):
        rows.append(row)
        with arguments.out.open("a") as stream:
            stream.write(json.dumps(row) + "\n")

    with threadpool_limits(1):
        (natively if arguments.native else compare)(arguments, out)
    tell(rows)


if __name__ == "__main__":
    main()
