"""Budgets of 2, 3 and 5 MB are met on every set of one label per row, for every seed.

    python benchmarks/budgets_met.py [--data-home FOLDER] [--sets ...] [--budgets 2MB 3MB 5MB] [--seeds 0 1 2 3 4]

Each row is one ``codekin train --max-model-bytes``, with the validation samples of the set if it has some, and one
``codekin evaluate`` on the test samples. The bytes are those of all files in the model's folder:
vectorizer, labels and all. A budget is met if the folder is within it; "smallest recipe does not fit" is the answer of
a command that ended with that sentence. yeast, mnist and cifar100 are written by ``codekin data export`` first, the
vectors in minilm as svmlight files with numbers as labels. debian_dirs100k takes minutes per row. The last table
says where a smaller budget kept a model that a trial of a larger one, with the same seed, beats within the smaller
budget by more than two standard errors on the validation samples.
"""

import argparse
import json
import tempfile
import time
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.datasets import dump_svmlight_file

from codekin.cli.main import EXIT_INTERRUPTED, EXIT_TERMINATED
from codekin.cli.main import main as command_line
from codekin.data import read_data
from codekin.data.stored_sets import data_home

SVMLIGHT = ("clinc150", "icd10cm_small", "icd10cm_category", "wordnet_hypernym", "debian_dirs100k")
EXPORTED = ("yeast", "mnist", "cifar100")
SETS = ("yeast", "clinc150", "icd10cm_small", "icd10cm_category", "tldr_commands", "mnist", "cifar100")
SETS += ("minilm/tldr_commands", "minilm/icd10cm_category", "wordnet_hypernym", "debian_dirs100k")
NOT_POSSIBLE = "There is no model within"


class Done(NamedTuple):
    """What a command line left: its exit code and what it wrote."""

    returncode: int
    stdout: str
    stderr: str


def codekin(*arguments):
    """Run a command line in this process, so that kernels are loaded once."""
    with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as err:
        code = command_line([str(argument) for argument in arguments])
    if code in (EXIT_INTERRUPTED, EXIT_TERMINATED):
        raise SystemExit(code)
    return Done(code, out.getvalue(), err.getvalue())


def splits_of(name, home, workplace):
    """The files of training, validation and test samples; None for those that a set does not have."""
    if name in SVMLIGHT or name == "tldr_commands":
        end = "svm.gz" if name in SVMLIGHT else "tsv.gz"
        return [home / name / f"{part}.{end}" for part in ("train", "val", "test")]
    folder = workplace / name
    if name.startswith("minilm/") and not folder.exists():
        write_vectors(home / f"{name}.npz", folder)
    elif not folder.exists():
        done = codekin("data", "export", name, folder, "--data-home", home, "--quiet")
        if done.returncode:
            raise SystemExit(done.stderr)
    return [next(iter(folder.glob(f"{part}*")), None) for part in ("train", "val", "test")]


def write_vectors(archive, folder):
    """Write dense vectors as svmlight files."""
    folder.mkdir(parents=True)
    with np.load(archive) as arrays:
        every = np.unique(np.concatenate([arrays[f"y_{part}"] for part in ("train", "val", "test")]))
        for part in ("train", "val", "test"):
            y = np.searchsorted(every, arrays[f"y_{part}"])
            dump_svmlight_file(arrays[f"X_{part}"].astype(np.float32), y, str(folder / f"{part}.svm"), zero_based=False)


def measure(files, budget, seed, workplace):
    """One row: what a search within a budget ends with."""
    train, validation, test = files
    with tempfile.TemporaryDirectory(dir=workplace) as folder:
        model, started = Path(folder) / "model", time.perf_counter()
        validated = () if validation is None else ("--validation", validation)
        options = ("--max-model-bytes", budget, "--random-state", seed, "--json", "--quiet")
        done = codekin("train", train, model, *validated, *options)
        row = {"seconds": time.perf_counter() - started, "accuracy": None, "bytes": None, "trials": []}
        if done.returncode:
            is_said = NOT_POSSIBLE in done.stderr
            sentence = done.stderr.strip().splitlines()[-1]
            return {**row, "verdict": "smallest recipe does not fit" if is_said else "NOT met", "sentence": sentence}
        summary = json.loads(done.stdout)
        row["bytes"] = sum(file.stat().st_size for file in model.rglob("*") if file.is_file())
        row["trials"] = [(trial["accuracy"], trial["n_bytes"]) for trial in summary["trials"]]
        row["verdict"] = "met" if row["bytes"] <= _in_bytes(budget) else "NOT met"
        if test is not None:
            row["accuracy"] = json.loads(codekin("evaluate", model, test, "--json", "--quiet").stdout)["accuracy"]
        return row


def _in_bytes(budget):
    return int(1e6 * float(budget.removesuffix("MB")))


def outdone(rows, n_judges):
    """Yields where a trial of a larger budget is better than what a smaller one kept, and fits it."""
    for (name, seed, budget), row in rows.items():
        if row["verdict"] != "met":
            continue
        most = _in_bytes(budget)
        kept = max(accuracy for accuracy, n_bytes in row["trials"] if n_bytes <= most)
        allowed = 2 * np.sqrt(kept * (1 - kept) / n_judges[name])
        for (other, same, larger), found in rows.items():
            if (other, same) == (name, seed) and _in_bytes(larger) > most:
                best = max((a for a, n_bytes in found["trials"] if n_bytes <= most), default=0.0)
                if best > kept + allowed:
                    yield f"{name}, seed {seed}: {budget} kept {100 * kept:.2f} %, {larger} tried {100 * best:.2f} %"


def main():
    """Print a row per set, budget and seed; the exit code is 1 if a budget was not met."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-home", type=Path)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS)
    parser.add_argument("--budgets", nargs="+", default=["2MB", "3MB", "5MB"])
    parser.add_argument("--seeds", nargs="+", type=int, default=range(5))
    options = parser.parse_args()
    home, rows, n_judges = data_home(options.data_home), {}, {}
    print(
        "| set | budget | seed | test accuracy, % | bytes on disk | s | |\n|---|---|---:|---:|---:|---:|---|",
        flush=True,
    )
    with tempfile.TemporaryDirectory() as workplace:
        for name in options.sets:
            files = splits_of(name, home, Path(workplace))
            n_judges[name] = read_data(files[1]).n_samples if files[1] else read_data(files[0]).n_samples // 10
            for budget in options.budgets:
                for seed in options.seeds:
                    row = rows[name, seed, budget] = measure(files, budget, seed, workplace)
                    accuracy = "" if row["accuracy"] is None else f"{100 * row['accuracy']:.2f}"
                    n_bytes = "" if row["bytes"] is None else f"{row['bytes']:,}"
                    verdict = row["verdict"] + (f": {row['sentence']}" if row["verdict"] == "NOT met" else "")
                    facts = name, budget, seed, accuracy, n_bytes, f"{row['seconds']:.0f}", verdict
                    print(f"| {' | '.join(map(str, facts))} |", flush=True)
    verdicts = [row["verdict"] for row in rows.values()]
    for verdict in dict.fromkeys(verdicts):
        print(f"\n{verdicts.count(verdict)} {verdict}", end="")
    print("".join(f"\noutdone: {line}" for line in outdone(rows, n_judges)) or "\nno smaller budget was outdone")
    return int("NOT met" in verdicts)


if __name__ == "__main__":
    raise SystemExit(main())
