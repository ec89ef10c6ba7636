"""Why a model grows faster than its classes: bytes of the default at some shares of the classes of one set.

    python benchmarks/class_bytes.py [--data debian_dirs100k] [--recipes ...] [--pecos-python PATH] [--journal FILE]

Takes every eighth, fourth, second class and all classes of a set, with all of their samples and the features of these,
and fits each recipe in a process of its own, on one thread: the default; one tree and two; and with a root so wide that
the tree has two levels. Prints what the bytes on disk are made of, weights of the trees with their places and class
vectors, and how many of each there are for a class; accuracy on the test samples; processor seconds of ``fit``; PECOS
beside, if ``--pecos-python`` names an interpreter that has it.
"""

import argparse
import tempfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from apart import Journal, carry_out, cpu_seconds, microseconds_of
from contenders import Samples, result_of

STEPS = (8, 4, 2, 1)
PARTS = ("weights", "children", "nodes", "lengths", "counts")
RECIPES = ("default", "one tree", "two trees", "two levels", "two levels, two trees")


def subset_of(name, home, step):
    """The splits of a set with every so many-th class, numbered anew, and the features of its training samples."""
    from codekin.data import load_dataset

    data = load_dataset(name, home)
    classes = np.arange(0, data.n_classes, step)
    number = np.full(data.n_classes, -1)
    number[classes] = np.arange(len(classes))
    kept = {part: np.flatnonzero(number[split.y] >= 0) for part, split in data.splits.items()}
    features = np.unique(data.splits["train"].X[kept["train"]].indices)
    splits = {
        part: SimpleNamespace(X=split.X[kept[part]][:, features], y=number[split.y[kept[part]]])
        for part, split in data.splits.items()
    }
    return splits, data.class_tree.restricted_to(classes)


def settings_of(recipe, n_classes):
    """The settings of a recipe; a node with four times as many leaves as the tree's width is above leaves."""
    two_levels = {"code": "tree", "width": int(np.ceil(np.sqrt(n_classes / 4)))}
    return {
        "default": {},
        "one tree": {"code": "tree", "n_codes": 1},
        "two trees": {"code": "tree", "n_codes": 2},
        "two levels": {**two_levels, "n_codes": 1},
        "two levels, two trees": {**two_levels, "n_codes": 2},
    }[recipe]


def measure(task):
    from codekin import ExtremeClassifier
    from codekin.storage import save_model

    splits, tree = subset_of(task["data"], task["home"], task["step"])
    train, validation, test = (splits[part] for part in ("train", "validation", "test"))
    n_classes = int(train.y.max()) + 1
    classifier = ExtremeClassifier(taxonomy=tree, random_state=0, **settings_of(task["recipe"], n_classes))
    begin = cpu_seconds()
    classifier.fit(train.X, train.y, validation=(validation.X, validation.y))
    seconds, model = cpu_seconds() - begin, classifier.model_
    with tempfile.TemporaryDirectory() as folder:
        n_bytes = sum(file.stat().st_size for file in save_model(classifier, Path(folder) / "model").rglob("*"))
    bits = [member.bits for member in model.codes]
    return {
        "n_classes": n_classes,
        "n_samples": len(train.y),
        "n_features": int(train.X.shape[1]),
        "n_codes": len(bits),
        "depth": int(model.codebook.graph.depth),
        "bytes": n_bytes,
        "weights": sum(len(own.weights) for own in bits),
        "chunks": sum(len(own.nodes) for own in bits),
        "tree_bytes": sum(getattr(own, part).nbytes for own in bits for part in PARTS),
        "entries": model.ranking.vectors.n_entries,
        "vector_bytes": 3 * model.ranking.vectors.n_entries,
        "seconds": seconds,
        "accuracy": 100 * float((classifier.predict(test.X) == test.y).mean()),
        "microseconds": microseconds_of(classifier.predict, test.X),
    }  # fmt: skip


def measure_pecos(options, step):
    with tempfile.TemporaryDirectory() as folder:
        splits, tree = subset_of(options.data, options.data_home, step)
        Samples.write(SimpleNamespace(splits=splits, class_tree=tree), Path(folder))
        return result_of("PECOS XR-Linear", Path(folder), pecos_python=options.pecos_python)


def main():
    carry_out(measure)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="debian_dirs100k")
    parser.add_argument("--data-home", help="the folder with one folder per data set; otherwise CODEKIN_DATA")
    parser.add_argument("--recipes", nargs="+", choices=RECIPES, default=list(RECIPES))
    parser.add_argument("--steps", nargs="+", type=int, default=list(STEPS))
    parser.add_argument("--pecos-python", help="the interpreter of an environment that has libpecos")
    parser.add_argument("--journal", type=Path, default=Path("out/class_bytes.jsonl"))
    options = parser.parse_args()
    journal = Journal(options.journal)
    print(
        "| | classes | samples | trees x levels | MB | trees | vectors | weights per class | entries per class ", end=""
    )
    print("| training, s | µs | accuracy, % |")
    print(f"|---|{'---:|' * 11}")
    for step in options.steps:
        for recipe in options.recipes:
            task = {"data": options.data, "home": options.data_home, "step": step, "recipe": recipe}
            of = journal.of(__file__, task)
            if of is None:
                continue
            n = of["n_classes"]
            sizes = " | ".join(f"{of[part] / 1e6:.1f}" for part in ("bytes", "tree_bytes", "vector_bytes"))
            print(f"| {recipe} | {n:,} | {of['n_samples']:,} | {of['n_codes']} x {of['depth']} | {sizes} ", end="")
            print(f"| {of['weights'] / n:.0f} | {of['entries'] / n:.0f} | {of['seconds']:.1f} ", end="")
            print(f"| {of['microseconds']:.1f} | {of['accuracy']:.2f} |", flush=True)
        if options.pecos_python:
            of = measure_pecos(options, step)
            if isinstance(of, str):
                raise SystemExit(of)
            print(f"| PECOS, every {step}th class | | | | {of['bytes'] / 1e6:.1f} | | | | ", end="")
            print(f"| {of['training']:.1f} | {of['prediction']:.1f} | {of['accuracy']:.2f} |", flush=True)


if __name__ == "__main__":
    main()
