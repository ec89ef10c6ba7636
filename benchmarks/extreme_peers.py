"""codekin side by side with its peers: accuracy, bytes, seconds, microseconds, number of predictors.

    pip install napkinxc omikuji vowpalwabbit liblinear-official
    python benchmarks/extreme_peers.py [--data-home FOLDER] [--sets ...] [--contenders ...] [--pecos-python PATH]

codekin is the paper's recipe: a trellis, AROW, exponential decoding, paths in the depth-first order of the given
taxonomy, the best of five passes by validation. ``contenders.py`` describes the others and how they are run.

    accuracy     of the test samples, in percent
    MB           size of the model on disk, in its own format
    training     CPU seconds from samples to saved model, including the reading of files if a peer requires them
    prediction   CPU microseconds per test sample, all samples in one call or loop; the best round of two seconds
    predictors   binary predictors (or class vectors) in the model

Peers that are not installed are left out. ``frontier.py`` shows what codekin does beyond the paper.
"""

import argparse
import tempfile
from pathlib import Path

from contenders import PAPER, PEERS, Samples, class_of, result_of, three_digits

SETS = ("icd10cm_category", "wordnet_hypernym")
CONTENDERS = [*PAPER, *PEERS]
NOT_FEASIBLE = {
    ("Vowpal Wabbit oaa", "wordnet_hypernym"): "a table of 45,656 features x 12,582 classes does not fit",
}


def as_line(cells):
    sizes = (18, 9, 9, 9, 11, 10)
    padded = [f"{cell!s:<{sizes[0]}}" if i == 0 else f"{cell!s:>{sizes[i]}}" for i, cell in enumerate(cells)]
    return "| " + " | ".join(padded) + " |"


def compare(names, data_name, folder, pecos_python, time_limit):
    """Print one line per contender; returns the versions and the names of those that failed."""
    versions, failed = set(), []
    for name in names:
        if data_name not in class_of(name).sets:
            continue
        why_not = NOT_FEASIBLE.get((name, data_name))
        result = (
            f"left out: {why_not}"
            if why_not
            else result_of(name, folder, pecos_python=pecos_python, time_limit=time_limit)
        )
        if isinstance(result, str):
            failed += [name] if result.startswith("failed") else []
            print(f"{name} {result}", flush=True)
            continue
        versions.add(result["version"])
        cells = [name, f"{result['accuracy']:.1f}", three_digits(result["bytes"] / 1e6)]
        cells += [three_digits(result["training"]), three_digits(result["prediction"]), f"{result['predictors']:,}"]
        print(as_line(cells), flush=True)
    return versions, failed


def parsed():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-home", help="the folder with one folder per data set; otherwise CODEKIN_DATA")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--contenders", nargs="+", choices=CONTENDERS, default=CONTENDERS)
    parser.add_argument("--pecos-python", help="the interpreter of an environment that has libpecos")
    parser.add_argument("--time-limit", type=float, default=1800, help="seconds for each contender and data set")
    return parser.parse_args()


def main():
    arguments = parsed()
    from codekin.data import load_dataset

    all_versions, all_failed = set(), []
    for name in arguments.sets:
        try:
            data = load_dataset(name, arguments.data_home)
        except FileNotFoundError as error:
            print(f"{name} left out: {error}")
            continue
        n_samples, n_features = data.X.shape
        print(f"\n{name}: {data.n_classes:,} classes, {n_samples:,} training samples, {n_features:,} features")
        print(f"({data.X.nnz / n_samples:.0f} of them non-zero), {len(data.test):,} test samples\n")
        print(as_line(["", "accuracy", "MB", "training", "prediction", "predictors"]))
        print("|---" + "|---:" * 5 + "|", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            Samples.write(data, Path(folder))
            options = arguments.pecos_python, arguments.time_limit
            versions, failed = compare(arguments.contenders, name, Path(folder), *options)
        all_versions |= versions
        all_failed += failed
    print("\n" + ", ".join(sorted(all_versions)))
    return 1 if all_failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
