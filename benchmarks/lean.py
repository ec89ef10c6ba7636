"""The first second, and the memory: what codekin costs beside what does not depend on it, in processes of their own.

    python benchmarks/lean.py [--data SET] [--own-features] [--pecos-python PYTHON] [--rounds 3] [--wheel FILE] [--here]

Builds the wheel, installs it alone into a new environment, and compares, all sides in turn:

- the first ``codekin train`` of that environment with later ones: at most 1.2 times their processor time;
- ``codekin predict`` of one line: at most 1.0 seconds and 150 MB;
- ``load_model`` and one prediction: at most 1.2 times the processor time of importing numpy and scipy.sparse, and 0.3
  seconds;
- two threads with one: ``codekin train`` at least 1.6 times as fast, by the clock; on a busy machine that says nothing;
- the peak memory of ``codekin train`` with that of PECOS, if ``--pecos-python`` names an interpreter that has it: at
  most 1.2 times as much. Both read the same features from a file; PECOS learns as in ``contenders.py``, and so does
  omikuji if it is there.

By default the samples are the embedded diagnoses; ``--data icd10cm_category``, or any other set of data/registry.py
with texts or features, is taken from ``CODEKIN_SHARED_DATA``. Features are words and trigrams of the texts, with
``--own-features`` those that the set comes with. Memory is the largest resident size of the process. ``--wheel`` takes
a wheel that is there; ``--here`` measures the environment of the interpreter itself, without the first training. What a
fit takes is compared in ``frontier.py`` and ``short_rows.py``.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
MOST_OF_FIRST, MOST_SECONDS, MOST_MB, MOST_OF_IMPORTS, MORE_SECONDS, MOST_OF_PECOS = 1.2, 1.0, 150, 1.2, 0.3, 1.2
LEAST_OF_TWO = 1.6
IMPORTS = "import numpy, scipy.sparse"
PREDICT = """
import numpy as np
import scipy.sparse
from codekin import load_model
model = load_model({model!r})
model.predict(scipy.sparse.csr_array((1, {n_features}), dtype=np.float32))
"""
PECOS = """
import sys
sys.path.insert(0, {benchmarks!r})
from pathlib import Path
from types import SimpleNamespace
import numpy as np
from scipy import sparse
from contenders import Pecos
folder = Path({folder!r})
y = np.load(folder / "y.npy")
Pecos(SimpleNamespace(X=sparse.load_npz(folder / "X.npz"), y=y, n_classes=int(y.max()) + 1), folder / "pecos", 0).fit()
"""
OMIKUJI = """
import omikuji
settings = omikuji.Model.default_hyper_param()
settings.n_trees = 1
omikuji.Model.train_on_data({folder!r} + "/features.txt", settings, n_threads=1).save({folder!r} + "/trees")
"""


class Cost(NamedTuple):
    """The processor time, the largest resident size and the time of a process."""

    seconds: float
    megabytes: float
    clock: float


def alone():
    """The environment without other folders of packages, which may hold another codekin."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


def cost_of(command, folder, given="type 2 diabetes with kidney disease\n"):
    """What a process costs that reads a line; it must succeed."""
    (folder / "line").write_text(given, encoding="utf-8")
    environment = dict(os.environ) if "--here" in sys.argv else alone()
    to = os.POSIX_SPAWN_OPEN
    files = [(to, 0, folder / "line", os.O_RDONLY, 0), (to, 1, "/dev/null", os.O_WRONLY, 0)]
    files.append((to, 2, folder / "errors", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600))
    begin = time.perf_counter()
    process = os.posix_spawn(command[0], [str(part) for part in command], environment, file_actions=files)
    _, status, used = os.wait4(process, 0)
    if status:
        raise RuntimeError(f"{' '.join(map(str, command))} failed: {(folder / 'errors').read_text()[-2000:]}")
    return Cost(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, time.perf_counter() - begin)


def installed(folder, wheel=None):
    """The interpreter of a new environment with the wheel of this repository and nothing else."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    if wheel is None:
        subprocess.run([*pip, "wheel", "--no-deps", "--wheel-dir", folder, ROOT], check=True)
        (wheel,) = folder.glob("codekin-*.whl")
    subprocess.run([sys.executable, "-m", "venv", folder / "new"], check=True)
    python = folder / "new" / "bin" / "python"
    subprocess.run([python, *pip[1:], "install", wheel], check=True, env=alone())
    # The first import of other packages writes their byte code, which is not of codekin's making.
    for _ in range(2):
        subprocess.run(
            [python, "-c", "import scipy.sparse, sklearn.linear_model, typer, rich.console"], check=True, env=alone()
        )
    return python


def write_set(name, folder, *, has_own_features):
    """Files with the training samples: texts, if there are any, and features, also as arrays for PECOS."""
    import numpy as np
    from scipy import sparse

    from codekin.data import TextVectorizer, load_dataset

    dataset = load_dataset(name, data_home=os.environ.get("CODEKIN_SHARED_DATA"))
    train, names = dataset.train, dataset.class_names
    if train.texts is None or has_own_features:
        X = train.X
    else:
        X = TextVectorizer().fit(train.texts).transform(train.texts)
        labels = [names[k] if names else k for k in train.y.tolist()]
        lines = "".join(f"{k}\t{text}\n" for k, text in zip(labels, train.texts, strict=True))
        (folder / "train.tsv").write_text(lines, encoding="utf-8")
    X = sparse.csr_matrix((X.data.astype(np.float32), X.indices, X.indptr), shape=X.shape)
    X.sort_indices()
    n_filled = int((np.diff(X.indptr) > 0).sum())  # omikuji rejects rows without features
    for file, first in (("features.svm", 1), ("features.txt", 0)):
        with (folder / file).open("w", encoding="utf-8") as stream:
            stream.write("" if first else f"{n_filled} {X.shape[1]} {train.y.max() + 1}\n")
            for i, label in enumerate(train.y.tolist()):
                own = slice(X.indptr[i], X.indptr[i + 1])
                if first or own.start < own.stop:
                    pairs = zip((X.indices[own] + first).tolist(), X.data[own].tolist(), strict=True)
                    stream.write(f"{label} {' '.join(f'{j}:{x:.7g}' for j, x in pairs)}\n")
    sparse.save_npz(folder / "X.npz", X)
    np.save(folder / "y.npy", train.y)


def claim(what, is_met):
    print(f"{what}: {'met' if is_met else 'MISSED'}", flush=True)
    return is_met


def best(costs):
    """The least of each: other programs only add to it."""
    return Cost(*map(min, zip(*costs, strict=True)))


def compare_with_peers(peers_python, python, folder, n_rounds):
    """Print what training takes in processes of their own; whether ours takes little more memory than PECOS."""
    train = [python, "-m", "codekin", "train", folder / "features.svm", folder / "model", "--quiet"]
    commands = {"codekin train": train, "codekin train, one thread": [*train, "--n-threads", "1"]}
    programs = {"pecos": PECOS, "omikuji": OMIKUJI}
    for name, program in programs.items():
        if subprocess.run([peers_python, "-c", f"import {name}"], check=False).returncode == 0:
            code = program.format(benchmarks=str(ROOT / "benchmarks"), folder=str(folder))
            commands[name] = [peers_python, "-c", code]
    rounds = [{name: cost_of(command, folder) for name, command in commands.items()} for _ in range(n_rounds)]
    costs = {name: best([each[name] for each in rounds]) for name in commands}
    print("| | s | MB |\n|---|---:|---:|")
    for name, cost in costs.items():
        print(f"| {name} | {cost.seconds:.2f} | {cost.megabytes:.0f} |")
    ratio = costs["codekin train"].megabytes / costs["pecos"].megabytes
    return claim(f"codekin train takes {ratio:.2f} times the memory of PECOS", ratio <= MOST_OF_PECOS)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="icd10cm")
    parser.add_argument("--own-features", action="store_true")
    parser.add_argument("--pecos-python")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--wheel", type=Path)
    parser.add_argument("--here", action="store_true")
    parser.add_argument("--write", type=Path, help=argparse.SUPPRESS)
    given, met = parser.parse_args(), []
    if given.write:
        write_set(given.data, given.write, has_own_features=given.own_features)
        return 0
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home)
        # In a process of its own: the size of this one counts as that of every process it starts.
        own = ["--own-features"] if given.own_features else []
        subprocess.run([sys.executable, __file__, "--data", given.data, "--write", folder, *own], check=True)
        file, model = folder / "features.svm", folder / "model"
        if (folder / "train.tsv").exists():
            file = folder / "train.tsv"
        python = sys.executable if given.here else installed(folder, given.wheel)
        train = [python, "-m", "codekin", "train", file, model, "--quiet"]
        first, *later = [cost_of(train, folder) for _ in range(given.rounds + 1)]
        again = best(later)
        print(f"codekin train: first {first.seconds:.2f} s, later {again.seconds:.2f} s, {again.megabytes:.0f} MB")
        if not given.here:
            ratio = first.seconds / again.seconds
            met.append(claim(f"the first training takes {ratio:.2f} times as long as the next", ratio <= MOST_OF_FIRST))
        line = "type 2 diabetes with kidney disease\n" if file.suffix == ".tsv" else "1:0.5 7:1\n"
        one = ["-m", "codekin", "predict", model, "-", *([] if file.suffix == ".tsv" else ["--format", "svmlight"])]
        n_features = json.loads((model / "model.json").read_text(encoding="utf-8"))["classifier"]["n_features_in"]
        program = PREDICT.format(model=str(model), n_features=n_features)
        sides = {"imports": ["-c", IMPORTS], "predict": one, "load": ["-c", program]}
        rounds = [{side: cost_of([python, *own], folder, line) for side, own in sides.items()} for _ in range(5)]
        costs = {side: best([each[side] for each in rounds]) for side in sides}
        for side, cost in costs.items():
            print(f"{side}: {cost.seconds:.2f} s, {cost.megabytes:.0f} MB")
        is_small = costs["predict"].seconds <= MOST_SECONDS and costs["predict"].megabytes <= MOST_MB
        met.append(claim(f"codekin predict of one line: at most {MOST_SECONDS} s and {MOST_MB} MB", is_small))
        limit = MOST_OF_IMPORTS * costs["imports"].seconds + MORE_SECONDS
        met.append(claim(f"load_model and predict: at most {limit:.2f} s", costs["load"].seconds <= limit))
        one, two = (
            min(cost_of([*train, "--n-threads", str(n)], folder).clock for _ in range(given.rounds)) for n in (1, 2)
        )
        print(f"codekin train by the clock: one thread {one:.2f} s, two {two:.2f} s; load {os.getloadavg()[0]:.1f}")
        met.append(claim(f"two threads are {one / two:.2f} times as fast", one >= LEAST_OF_TWO * two))
        if given.pecos_python:
            met.append(compare_with_peers(given.pecos_python, python, folder, given.rounds))
    return 0 if all(met) else 1


if __name__ == "__main__":
    raise SystemExit(main())
