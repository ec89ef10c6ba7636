"""What an informed order of the leaves is worth with several labels per sample, and which source of it is best.

    python benchmarks/label_orders.py [--data-home FOLDER] [--sets ...] [--seeds N] [--width N]

On each of four sets a tree of linear machines, ``ExtremeClassifier(code="tree", estimator="svm")``, is trained with its
leaves in orders from different sources, and otherwise the same settings, samples and seeds:

    random          the baseline
    features        the labels' mean samples, halved again and again (``assignment="halving"``)
    cooccurrence    the labels that occur with each label, halved likewise
    mixed           both side by side
    names           pieces of the labels' names, halved likewise, as a taxonomy
    taxonomy        the names before a colon, such as ``role::`` or ``topics:``, where labels have them

Every measurement is written to a journal at once; ``--only-report`` prints the table again. The table has the mean of
P@1, P@3 and P@5 over the seeds, in percent, and by how much it exceeds random orders with the same seeds: the mean
difference and half of its 95 % interval (Student's t). The seed changes the order of ties, or all of a random order,
and the order in which samples are learned; the test samples are always the same.
"""

import argparse
import json
import re
import tempfile
from pathlib import Path

import numpy as np
from multi_label import SETS, Indicators, write_set
from scipy import sparse, stats

BASELINE = "random"
SOURCES = (BASELINE, "features", "cooccurrence", "mixed", "names", "taxonomy")
AT = (1, 3, 5)


def label_names(name, data_home, n_classes):
    """The labels of a set in the order of its columns, which is that of their names."""
    import gzip

    home = Path(data_home) / name
    if (home / "labels.txt").exists():
        return (home / "labels.txt").read_text().splitlines()
    rows = gzip.decompress((home / "train.tsv.gz").read_bytes()).decode().splitlines()
    names = sorted({label for row in rows for label in row.split("\t", 1)[0].split(",")})
    assert len(names) == n_classes
    return names


def tree_of(source, names):
    """A tree of the labels by their names; None where these have no facets."""
    from codekin.classes import ClassTree
    from codekin.classes.distances import splitting_distances

    if source == "names":
        from sklearn.feature_extraction.text import TfidfVectorizer

        pieces = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4)).fit_transform(names)
        return splitting_distances(pieces, np.arange(len(names)), rng=0).tree
    facets = [re.split(r":+", name)[:-1] for name in names]
    if not all(facets):
        return None
    paths = [[":".join(own[: k + 1]) for k in range(len(own))] for own in facets]
    nodes = sorted({path for own in paths for path in own})
    place = {node: 1 + len(names) + k for k, node in enumerate(nodes)}
    parent = np.zeros(1 + len(names) + len(nodes), dtype=np.intp)
    parent[0] = -1
    for k, own in enumerate(paths):
        parent[1 + k] = place[own[-1]]
        for above, node in zip([None, *own], own, strict=False):
            parent[place[node]] = 0 if above is None else place[above]
    return ClassTree(parent, 1 + np.arange(len(names)))


def settings_of(source, tree):
    if tree is not None:
        return {"assignment": "preserving", "taxonomy": tree}
    return {"assignment": {"features": "halving"}.get(source, source)}


def measured(data, Y, truth, source, tree, seed, width):
    from codekin import ExtremeClassifier
    from codekin.measures import label_evaluation

    classifier = ExtremeClassifier(
        width, code="tree", estimator="svm", rerank=None, random_state=seed, **settings_of(source, tree)
    ).fit(data.X, Y)
    best = np.searchsorted(classifier.classes_, classifier.top_k(data.X_test, max(AT))[0])
    found = label_evaluation(best, truth, n_classes=Y.shape[1])
    return {f"P@{k}": 100 * found.precision_at[k] for k in AT}


def run(arguments):
    import os

    done = read_journal(arguments.journal)
    arguments.journal.parent.mkdir(parents=True, exist_ok=True)
    home = arguments.data_home or os.environ["CODEKIN_DATA"]
    for name in arguments.sets:
        with tempfile.TemporaryDirectory() as working:
            folder = Path(working)
            try:
                write_set(name, home, folder)
            except FileNotFoundError as error:
                print(f"{name} left out: {error}")
                continue
            data, truth = Indicators(folder), sparse.csr_array(sparse.load_npz(folder / "test_y.npz"))
        Y, names = sparse.csr_array(data.Y), label_names(name, home, data.n_classes)
        for seed in range(arguments.seeds):
            for source in SOURCES:
                key = {"data": name, "source": source, "seed": seed, "width": arguments.width}
                tree = tree_of(source, names) if source in ("names", "taxonomy") else None
                if any(key.items() <= entry.items() for entry in done) or (source == "taxonomy" and tree is None):
                    continue
                found = measured(data, Y, truth, source, tree, seed, arguments.width)
                with arguments.journal.open("a") as stream:
                    stream.write(json.dumps(key | found) + "\n")
                print(f"{name}, {source}, seed {seed}: {found['P@1']:.1f} %", flush=True)


def read_journal(path):
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def interval(differences):
    """The mean and half of its 95 % interval, without which one seed says nothing."""
    mean, n = float(np.mean(differences)), len(differences)
    if n < 2:
        return f"{mean:+.2f}"
    return f"{mean:+.2f} ± {stats.t.ppf(0.975, n - 1) * np.std(differences, ddof=1) / np.sqrt(n):.2f}"


def print_table(entries, arguments):
    print("\n| | seeds |" + "".join(f" P@{k} | over random |" for k in AT))
    print("|---|---:|" + "---:|---:|" * len(AT))
    for name in arguments.sets:
        own = [entry for entry in entries if (entry["data"], entry["width"]) == (name, arguments.width)]
        for source in SOURCES:
            of = {entry["seed"]: entry for entry in own if entry["source"] == source}
            base = {entry["seed"]: entry for entry in own if entry["source"] == BASELINE and entry["seed"] in of}
            if not of:
                continue
            cells = [f"{name}, {source}", str(len(of))]
            for k in AT:
                gaps = [of[seed][f"P@{k}"] - base[seed][f"P@{k}"] for seed in base]
                cells += [f"{np.mean([entry[f'P@{k}'] for entry in of.values()]):.2f}"]
                cells += ["" if source == BASELINE else interval(gaps)]
            print(f"| {' | '.join(cells)} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-home", help="the folder with one folder per data set; otherwise CODEKIN_DATA")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--width", type=lambda given: given if given == "auto" else int(given), default="auto")
    parser.add_argument("--journal", type=Path, default=Path("out/label_orders.jsonl"))
    parser.add_argument("--only-report", action="store_true")
    arguments = parser.parse_args()
    if not arguments.only_report:
        run(arguments)
    print_table(read_journal(arguments.journal), arguments)


if __name__ == "__main__":
    main()
