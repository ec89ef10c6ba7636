"""Do identifiers that share symbols belong to similar items? Beside random ones and digits of k-means with a counter.

    python benchmarks/identifiers.py [--vectors FOLDER] [--symbols 64 256] [--items 100000]

The items are texts with their MiniLM vectors: ``icd10cm_category.npz`` and ``tldr_commands.npz`` of the folder. To get
as many items as asked for, some are taken again with noise. Contenders have as many columns as tell all items apart.

    random      the same identifiers in a random order
    k-means     k-means of all items, of the items of each part, and so on; the last column is a counter, as in
                libraries that resolve collisions by one. It may exceed the number of symbols: see ``largest``
    splits      item_identifiers

For each number of shared first symbols: the mean cosine of an item and the others that share them, and how many these
are. k-means has parts of different sizes, so both have to be looked at. Claim: identifiers of splits are all different,
at any number of shared symbols they are more alike than random ones, and 100,000 take less than five minutes of
processor time.
"""

import argparse
import os
import time
from pathlib import Path

import numpy as np

from codekin.assignments import item_identifiers
from codekin.assignments.identifiers import prefix_similarity

N_ROUNDS = 10


def read_items(folder, n_items, rng):
    """Vectors of length one."""
    parts = []
    for name in ("icd10cm_category", "tldr_commands"):
        with np.load(folder / f"{name}.npz") as stored:
            parts += [stored[split].astype(np.float32) for split in ("X_train", "X_val", "X_test")]
    vectors = np.concatenate(parts)
    if n_items > len(vectors):
        again = vectors[rng.choice(len(vectors), n_items - len(vectors), replace=False)]
        vectors = np.concatenate([vectors, again + rng.normal(scale=0.02, size=again.shape).astype(np.float32)])
    vectors = vectors[rng.permutation(len(vectors))[:n_items]]
    return vectors / np.linalg.norm(vectors, axis=1)[:, None]


def k_means(vectors, n_parts, rng):
    """The part of each vector, by spherical k-means from random vectors."""
    centres = vectors[rng.choice(len(vectors), n_parts, replace=False)]
    for _ in range(N_ROUNDS):
        part = (vectors @ centres.T).argmax(axis=1)
        order = np.argsort(part, kind="stable")
        present, starts = np.unique(part[order], return_index=True)
        sums = np.add.reduceat(vectors[order], starts, axis=0)
        centres[present] = sums / np.maximum(np.linalg.norm(sums, axis=1), 1e-9)[:, None]
    return part


def k_means_digits(vectors, n_symbols, n_columns, rng):
    """Parts of parts, and a counter."""
    digits = np.zeros((len(vectors), n_columns), dtype=np.int64)
    waiting = [(np.arange(len(vectors)), 0)]
    while waiting:
        rows, column = waiting.pop()
        if column == n_columns - 1 or len(rows) <= n_symbols:
            digits[rows, column] = np.arange(len(rows))
            continue
        digits[rows, column] = part = k_means(vectors[rows], n_symbols, rng)
        waiting += [(rows[part == k], column + 1) for k in np.unique(part)]
    return digits


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    home = Path(os.environ.get("CODEKIN_SHARED_DATA", "."))
    parser.add_argument("--vectors", type=Path, default=home / "minilm")
    parser.add_argument("--symbols", type=int, nargs="+", default=[64, 256])
    parser.add_argument("--items", type=int, default=100_000)
    arguments = parser.parse_args()
    rng = np.random.default_rng(0)
    vectors = read_items(arguments.vectors, arguments.items, rng)
    print(f"{len(vectors):,} items of {vectors.shape[1]} dimensions")
    print(f"{'symbols':>7}  {'identifiers':<12}{'largest':>8}  {'mean cosine (with others)':<60}{'CPU s':>7}")
    is_good = True
    for n_symbols in arguments.symbols:
        began = time.process_time()
        found = item_identifiers(vectors, n_symbols, rng=0)
        seconds = time.process_time() - began
        shuffled = found.symbols[rng.permutation(len(vectors))]
        rows = {"random": (shuffled, None), "splits": (found.symbols, seconds)}
        began = time.process_time()
        digits = k_means_digits(vectors, n_symbols, found.symbols.shape[1], rng)
        rows["k-means"] = (digits, time.process_time() - began)
        cosines = {}
        for name, (symbols, taken) in rows.items():
            cosines[name], shared = prefix_similarity(vectors, symbols)
            text = ", ".join(f"{c:.3f} ({n:,.1f})" for c, n in zip(cosines[name], shared, strict=True))
            took = "" if taken is None else f"{taken:.0f}"
            print(f"{n_symbols:>7}  {name:<12}{symbols.max():>8}  {text:<60}{took:>7}", flush=True)
        is_good &= len(np.unique(found.symbols, axis=0)) == len(vectors) and found.symbols.max() < n_symbols
        is_good &= bool((cosines["splits"] > cosines["random"])[1:].all()) and seconds < 300
    return 0 if is_good else 1


if __name__ == "__main__":
    raise SystemExit(main())
