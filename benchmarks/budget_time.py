"""A search within a budget takes at most three times as long as one fit, and no plain recipe that fits is better.

    python benchmarks/budget_time.py [--sets ...] [--seeds 1] [--data-home FOLDER] [--journal FILE]

For each data set: one fit with the defaults, plain recipes with and without re-ranking, and searches within several
budgets, each in a process of its own, on one thread. Prints CPU seconds of training, accuracy on the test samples, size
of the folder and microseconds of a prediction. The ratio is that of a search to the fit with the defaults. A recipe
that also fits the budget counts as better if it beats the search by more than two standard errors of the difference on
the same test samples.

``place_names`` is made up: 1,381 classes that share most of their features, so that class vectors are long.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np
from apart import Journal, carry_out, cpu_seconds, microseconds_of, peak_bytes
from scipy import sparse

MOST = 3.0
PLAIN = {
    "default": {},
    "width 10": {"width": 10, "rerank": None, "precision": "int8", "prune": 0.001},
    "width 5": {"width": 5, "rerank": None, "precision": "int8", "prune": 0.001},
    "width 2": {"width": 2, "rerank": None, "precision": "int8", "prune": 0.001},
    "tree": {"code": "tree", "rerank": None},
}
BUDGETS = {
    "icd10cm_category": [{"max_model_bytes": 700_000}, {"max_model_bytes": 2_000_000}, {"max_microseconds": 4.0}],
    "wordnet_hypernym": [{"max_model_bytes": 3_000_000}, {"max_model_bytes": 10_000_000}, {"max_microseconds": 12.0}],
    "place_names": [{"max_model_bytes": 2_000_000}, {"max_model_bytes": 5_000_000}, {"max_microseconds": 20.0}],
    "debian_dirs100k": [{"max_model_bytes": 20_000_000}, {"max_model_bytes": 60_000_000}],
}


def made_up_names(n_classes=1381, n_features=6_000, n_samples=60_000, n_words=28, seed=0):
    """Samples of classes that differ only in how often they use the features that all of them share."""
    rng = np.random.default_rng(seed)
    base = 1 / np.arange(1, n_features + 1)
    parts = []
    counts = rng.multinomial(n_samples, rng.dirichlet(np.full(n_classes, 0.7)))
    groups = [rng.permutation(n_features)[:300] for _ in range(60)]
    for k in range(n_classes):
        weights = base.copy()
        weights[groups[k % len(groups)]] *= 6
        weights[rng.integers(n_features, size=60)] *= 15
        cdf = np.cumsum(weights / weights.sum())
        parts.append(np.searchsorted(cdf, rng.random((counts[k] + 1, n_words))).clip(max=n_features - 1))
    y = np.repeat(np.arange(n_classes), counts + 1)
    words = np.concatenate(parts)
    ones = np.ones(words.size, dtype=np.float32)
    X = sparse.csr_array((ones, (np.repeat(np.arange(len(y)), n_words), words.ravel())), shape=(len(y), n_features))
    order = rng.permutation(len(y))
    X, y = sparse.csr_array(X[order]), y[order]
    X = sparse.csr_array(sparse.diags_array(1 / np.sqrt(X.multiply(X).sum(axis=1))) @ X).astype(np.float32)
    cuts = np.cumsum([int(0.8 * len(y)), int(0.1 * len(y))])
    return [(X[rows], y[rows]) for rows in np.split(np.arange(len(y)), cuts)], None


def splits_of(name, home):
    """Training, validation and test samples, and the class tree."""
    if name == "place_names":
        return made_up_names()
    from codekin.data import load_dataset

    data = load_dataset(name, home)
    return [(data.splits[part].X, data.splits[part].y) for part in ("train", "validation", "test")], data.class_tree


def measure(task):
    from codekin import ExtremeClassifier
    from codekin.storage import save_model

    (train, validation, test), tree = splits_of(task["data"], task["home"])
    if not task["with_tree"]:
        tree = None
    # Kernels are compiled once per installation.
    few = np.flatnonzero(train[1] < 300)[:3000]
    classes, y = np.unique(train[1][few], return_inverse=True)
    settings = dict(task["settings"])
    without_budget = {name: value for name, value in settings.items() if not name.startswith("max_")}
    for own in (without_budget, {"width": 3, "rerank": None, "prune": 0.001}):
        ExtremeClassifier(random_state=0, **own).fit(train[0][few], y, validation=(train[0][few], y))
    del few, classes, y
    begin = cpu_seconds()
    classifier = ExtremeClassifier(taxonomy=tree, random_state=task["seed"], **settings)
    classifier.fit(*train, validation=validation)
    seconds = cpu_seconds() - begin
    with tempfile.TemporaryDirectory() as folder:
        save_model(classifier, Path(folder) / "model")
        n_bytes = sum(file.stat().st_size for file in (Path(folder) / "model").rglob("*") if file.is_file())
    is_right = classifier.predict(test[0]) == test[1]
    return {
        "seconds": seconds,
        "accuracy": 100 * float(is_right.mean()),
        "bytes": n_bytes,
        "microseconds": microseconds_of(classifier.predict, test[0]),
        "peak_bytes": peak_bytes(),
        "n_tests": len(test[1]),
        "recipe": str(classifier.recipe_),
        "trials": [[str(trial), trial.seconds] for trial in classifier.trials_],
    }


def fits(result, budget):
    small = result["bytes"] <= budget.get("max_model_bytes", np.inf)
    return small and result["microseconds"] <= budget.get("max_microseconds", np.inf)


def report(name, results):
    """Print the table of a data set; returns whether both claims hold."""
    print(f"\n{name}\n\n| | CPU s | ratio | accuracy, % | MB | µs | recipe |\n|---|---:|---:|---:|---:|---:|---|")
    default, is_met = results[0][1], True
    for label, result, budget in results:
        if result is None:
            continue
        ratio = result["seconds"] / default["seconds"]
        print(
            f"| {label} | {result['seconds']:.1f} | {ratio:.2f} | {result['accuracy']:.2f} | "
            f"{result['bytes'] / 1e6:.2f} | {result['microseconds']:.1f} | {result['recipe']} |"
        )
        if budget is None:
            continue
        is_met &= ratio <= MOST and fits(result, {name: 1.1 * value for name, value in budget.items()})
        p = result["accuracy"] / 100
        allowed = 100 * 2 * np.sqrt(2 * p * (1 - p) / result["n_tests"])
        for other, plain, none in results:
            if none is None and plain is not None and fits(plain, budget):
                behind = plain["accuracy"] - result["accuracy"]
                if behind > allowed:
                    is_met = False
                    print(f"| | | | {behind:.2f} behind {other} | | | |")
    print("\nmet" if is_met else "\nNOT met")
    return is_met


def main():
    carry_out(measure)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-home", help="the folder with one folder per data set; otherwise CODEKIN_DATA")
    parser.add_argument("--sets", nargs="+", choices=BUDGETS, default=list(BUDGETS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--no-tree", action="store_true", help="without the taxonomies")
    parser.add_argument("--plain", nargs="*", choices=PLAIN, default=list(PLAIN))
    parser.add_argument("--journal", type=Path, default=Path("out/budget_time.jsonl"))
    options = parser.parse_args()
    journal, is_met = Journal(options.journal), True
    for name in options.sets:
        common = {"data": name, "home": options.data_home, "seed": options.seed, "with_tree": not options.no_tree}
        wanted = [(label, PLAIN[label], None) for label in PLAIN if label in ("default", *options.plain)]
        wanted += [(", ".join(f"{k} {v:g}" for k, v in budget.items()), budget, budget) for budget in BUDGETS[name]]
        results = []
        for label, settings, budget in wanted:
            results.append((label, journal.of(__file__, {**common, "settings": settings}), budget))
        if results[0][1] is not None:
            is_met &= report(name, results)
    return 0 if is_met else 1


if __name__ == "__main__":
    raise SystemExit(main())
