"""Reading svmlight files is faster than scikit-learn's `load_svmlight_file`, plain and zipped, whole and in chunks.

Both sides read the same files in turn, and must agree on every number. The files are synthetic (sparse rows like those
of text) or given: `python benchmarks/readers.py train.svm.gz`.
"""

import argparse
import gzip
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_svmlight_file

from codekin.data import SparseData, iter_data, make_sparse_topics, read_data, write_data

ROUNDS = 5
BAR = 1.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", type=Path, metavar="FILE")
    parser.add_argument("--samples", type=int, default=60_000, help="of the synthetic file")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        plain, zipped = Path(folder) / "data.svm", Path(folder) / "data.svm.gz"
        if arguments.file:
            shutil.copyfile(arguments.file, zipped if arguments.file.suffix == ".gz" else plain)
        else:
            made = make_sparse_topics(1_000, arguments.samples, n_features=100_000, words_per_sample=15, rng=0)
            write_data(plain, SparseData(made.X, made.y, np.arange(made.n_classes)))
        if plain.exists():
            zipped.write_bytes(gzip.compress(plain.read_bytes(), compresslevel=6))
        else:
            plain.write_bytes(gzip.decompress(zipped.read_bytes()))
        return compare(plain, zipped)


def compare(plain: Path, zipped: Path) -> int:
    megabytes = plain.stat().st_size / 1e6
    ours, theirs = read_data(plain), load_svmlight_file(str(plain), dtype=np.float32)  # compiles, and warms the disk
    assert isinstance(ours, SparseData)
    assert (theirs[0] != ours.X).nnz == 0
    assert np.array_equal(ours.labels, theirs[1])
    print(f"{ours!r}, {megabytes:.0f} MB of text; best of {ROUNDS}")
    sides: dict[str, Callable[[Path], Any]] = {
        "scikit-learn": lambda path: load_svmlight_file(str(path), dtype=np.float32),
        "codekin": read_data,
        "codekin, in chunks": lambda path: sum(len(c) for c in iter_data(path, n_features=ours.n_features)),
    }
    is_met = True
    for path in (plain, zipped):
        seconds: dict[str, list[float]] = {name: [] for name in sides}
        for _ in range(ROUNDS):
            for name, side in sides.items():
                seconds[name].append(timed(side, path))
        base = min(seconds["scikit-learn"])
        for name, times in seconds.items():
            ratio = base / min(times)
            is_met &= name == "scikit-learn" or ratio > BAR
            print(
                f"{path.suffix:4} {name:20} {min(times):7.3f} s {megabytes / min(times):7.0f} MB/s   ratio {ratio:5.1f}"
            )
    print(f"bar: faster than scikit-learn (ratio above {BAR:g}): {'met' if is_met else 'MISSED'}")
    return 0 if is_met else 1


def timed(read: Callable[[Path], Any], path: Path) -> float:
    started = time.perf_counter()
    read(path)
    return time.perf_counter() - started


if __name__ == "__main__":
    raise SystemExit(main())
