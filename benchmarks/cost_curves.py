"""What training and prediction cost as classes and samples grow: fitted exponents, and a picture.

    python benchmarks/cost_curves.py [--recipes trellis tree] [--most-classes 1000000] [--sets ...] [--journal FILE]

Made-up texts: classes in groups, each with words of its own and words of its group, and common words that say nothing;
a sample has about a dozen words. Two recipes, a trellis of width 10 and a label tree, both re-ranked, and the default:

    classes   from 1,000 to 1,000,000 with six samples each (three from 300,000 classes on)
    samples   from 2 to 64 for each of 3,000 classes
    sets      the real ones, with the default

Each point runs in a process of its own, on one thread. Measured are CPU seconds of training, peak memory in training
without that of the interpreter and its libraries, bytes on disk, CPU microseconds of a prediction, and accuracy.
Results are written to a journal at once, so an interrupted run continues where it stopped; ``--only-report`` prints and
draws again. Exponents are slopes of straight lines through the logarithms.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np
from apart import Journal, bytes_of_rows, carry_out, cpu_seconds, microseconds_of, peak_bytes, reset_peak
from scipy import sparse

CLASSES = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
PER_CLASS, PER_CLASS_OF_MANY, MANY = 6, 3, 300_000
SAMPLES_PER_CLASS, N_CLASSES = (2, 4, 8, 16, 32, 64), 3_000
MOST_ON_TRELLIS = 30_000
"""A trellis of width 10 has a weight for every feature and bit."""
RECIPES = {
    "trellis": {"code": "trellis", "width": 10, "rerank": "learned", "precision": "int8"},
    "tree": {"code": "tree", "rerank": "learned"},
    "default": {},
}
SETS = ("icd10cm_category", "wordnet_hypernym", "debian_dirs100k")
COSTS = (
    ("seconds", 1, "training, CPU s"),
    ("peak_bytes", 1e6, "peak in training, MB"),
    ("bytes", 1e6, "model on disk, MB"),
    ("microseconds", 1, "prediction, µs"),
)
COLOURS = {"trellis": "#D55E00", "tree": "#0072B2", "default": "#009E73"}


def made_up_texts(n_classes, per_class, seed=0):
    """Samples and classes: four words of the class, four of its group and four common ones; repeated words add up."""
    rng = np.random.default_rng(seed)
    n_features = min(20_000 + 2 * n_classes, 500_000)
    classes = np.repeat(np.arange(n_classes, dtype=np.int64), per_class)
    n = len(classes)
    words = np.empty((n, 12), dtype=np.int32)
    words[:, :4] = hashed(classes[:, None] * 16 + rng.integers(8, size=(n, 4)), 1) % n_features
    words[:, 4:8] = hashed(classes[:, None] // 30 * 16 + rng.integers(12, size=(n, 4)), 2) % n_features
    # Frequencies of common words fall like one over the rank.
    words[:, 8:] = np.minimum(np.exp(rng.random((n, 4)) * np.log(n_features)), n_features - 1)
    indptr = np.arange(0, 12 * n + 1, 12, dtype=np.int64)
    values = np.full(words.size, 1 / np.sqrt(12), dtype=np.float32)
    X = sparse.csr_array((values, words.ravel(), indptr), shape=(n, n_features))
    X.sum_duplicates()
    return X, classes


def hashed(numbers, salt):
    """Numbers that look random, the same for the same number."""
    mixed = (numbers + salt * 0x9E3779B97F4A7C15 % 2**63).astype(np.uint64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return (mixed >> np.uint64(33)).astype(np.int64)


def samples_of(task):
    """Training, validation and test samples, and the class tree of a real set."""
    if "data" in task:
        from codekin.data import load_dataset

        data = load_dataset(task["data"], task["home"])
        return [(data.splits[part].X, data.splits[part].y) for part in ("train", "validation", "test")], data.class_tree
    n_classes = task["n_classes"]
    train = made_up_texts(n_classes, task["per_class"])
    X, y = made_up_texts(n_classes, 2 if n_classes <= 10_000 else 1, seed=1)
    rows = np.random.default_rng(2).permutation(len(y))[:10_000]
    return [train, (X[rows[::2]], y[rows[::2]]), (X[rows[1::2]], y[rows[1::2]])], None


def measure(task):
    from codekin import ExtremeClassifier
    from codekin.storage import save_model

    settings = RECIPES[task["recipe"]]
    few = made_up_texts(300, 6)
    for own in (settings, {"code": "tree"}):  # kernels are compiled once per installation
        ExtremeClassifier(random_state=0, **own).fit(*few, validation=few).predict(few[0])
    reset_peak()
    before = peak_bytes()
    (train, validation, test), tree = samples_of(task)
    begin = cpu_seconds()
    classifier = ExtremeClassifier(taxonomy=tree, random_state=0, **settings).fit(*train, validation=validation)
    seconds, peak = cpu_seconds() - begin, peak_bytes() - before
    with tempfile.TemporaryDirectory() as folder:
        save_model(classifier, Path(folder) / "model")
        n_bytes = sum(file.stat().st_size for file in (Path(folder) / "model").rglob("*") if file.is_file())
    return {
        "seconds": seconds,
        "peak_bytes": peak,
        "data_bytes": bytes_of_rows(train[0]) + train[1].nbytes,
        "bytes": n_bytes,
        "microseconds": microseconds_of(classifier.predict, test[0]),
        "accuracy": 100 * float((classifier.predict(test[0]) == test[1]).mean()),
        "n_classes": len(classifier.classes_),
        "n_samples": len(train[1]),
        "n_features": int(train[0].shape[1]),
        "recipe": str(classifier.recipe_),
    }


def tasks(options):
    """The name of each curve, and the tasks of its points."""
    for recipe in options.recipes:
        most = min(MOST_ON_TRELLIS if recipe == "trellis" else CLASSES[-1], options.most_classes)
        of_classes = [
            {"recipe": recipe, "n_classes": n, "per_class": PER_CLASS if n < MANY else PER_CLASS_OF_MANY}
            for n in CLASSES
            if n <= most
        ]
        yield f"{recipe}, classes", "n_classes", of_classes
        if options.with_samples:
            of_samples = [{"recipe": recipe, "n_classes": N_CLASSES, "per_class": n} for n in SAMPLES_PER_CLASS]
            yield f"{recipe}, samples", "n_samples", of_samples
    yield "default, sets", "", [{"recipe": "default", "data": name, "home": options.data_home} for name in options.sets]


def print_curve(name, against, points):
    print(f"\n{name}\n")
    print("| classes | samples | features | training, s | peak, MB | data, MB | model, MB | µs | accuracy, % |")
    print("|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    for of in points:
        sizes = (of["peak_bytes"], of["data_bytes"], of["bytes"])
        print(
            f"| {of['n_classes']:,} | {of['n_samples']:,} | {of['n_features']:,} | {of['seconds']:.1f} | "
            + " | ".join(f"{size / 1e6:,.1f}" for size in sizes)
            + f" | {of['microseconds']:.1f} | {of['accuracy']:.1f} |"
        )
    if against and len(points) > 2:
        found = exponents(points, against)
        print(f"\ngrows like {against[2:]} to the power of " + ", ".join(f"{found[c]:.2f} ({c})" for c, _, _ in COSTS))


def exponents(points, against):
    """The slope of each cost in logarithms."""
    x = np.log([point[against] for point in points])
    return {cost: float(np.polyfit(x, np.log([point[cost] for point in points]), 1)[0]) for cost, _, _ in COSTS}


def draw(curves, picture):
    """A row against classes and one against samples, a column for each cost; slopes are in the legends."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    rows = [("n_classes", "classes"), ("n_samples", "samples of 3,000 classes")]
    rows = [row for row in rows if any(against == row[0] and len(points) > 1 for _, against, points in curves)]
    figure, all_axes = plt.subplots(
        len(rows), len(COSTS), figsize=(14, 3.6 * len(rows)), layout="constrained", squeeze=False
    )
    for row, (quantity, label) in zip(all_axes, rows, strict=True):
        for axes, (cost, unit, title) in zip(row, COSTS, strict=True):
            for name, against, points in curves:
                recipe = name.partition(",")[0]
                style = {"color": COLOURS[recipe], "markersize": 4}
                if against == quantity and len(points) > 1:
                    slope = f", {exponents(points, against)[cost]:.2f}" if len(points) > 2 else ""
                    x, y = ([point[key] for point in points] for key in (against, cost))
                    axes.plot(x, np.array(y) / unit, marker="o", label=recipe + slope, **style)
                elif not against and quantity == "n_classes" and points:
                    x, y = ([point[key] for point in points] for key in ("n_classes", cost))
                    axes.plot(x, np.array(y) / unit, marker="s", linestyle="", label="real sets, default", **style)
            axes.set(xscale="log", yscale="log", xlabel=label, title=title)
            axes.grid(alpha=0.25)
            axes.legend(fontsize=8, frameon=False)
    picture.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(picture, dpi=110)
    print(f"\npicture: {picture}")


def main():
    carry_out(measure)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recipes", nargs="+", choices=["trellis", "tree"], default=["trellis", "tree"])
    parser.add_argument("--most-classes", type=int, default=CLASSES[-1])
    parser.add_argument("--with-samples", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--sets", nargs="*", choices=SETS, default=list(SETS))
    parser.add_argument("--data-home", help="the folder with one folder per data set; otherwise CODEKIN_DATA")
    parser.add_argument("--time-limit", type=float, default=7200, help="seconds for each point")
    parser.add_argument("--journal", type=Path, default=Path("out/cost_curves.jsonl"))
    parser.add_argument("--picture", type=Path, default=Path("out/cost_curves.png"))
    parser.add_argument("--only-report", action="store_true")
    options = parser.parse_args()
    journal, curves = Journal(options.journal), []
    for name, against, of_curve in tasks(options):
        known = [
            journal.of(__file__, task, time_limit=options.time_limit, only_known=options.only_report)
            for task in of_curve
        ]
        points = [point for point in known if point is not None]
        curves.append((name, against, points))
        if points:
            print_curve(name, against, points)
    draw(curves, options.picture)


if __name__ == "__main__":
    main()
