"""What looking up features saves if class vectors are long: both ways in one process, with bitwise equal scores.

    python benchmarks/class_scores.py [--samples 1000] [--candidates 50]

The features of class vectors and samples are as frequent as words (Zipf's law). Each sample is scored against random
classes, once by walking over every entry of their vectors and once by looking up the entries of its features. There is
a line per shape: long vectors of few classes, as texts have them, and short ones of many.

Claims: with 5,000 entries drawn per class for 200 classes and 60 per sample, looking up takes at most a fifth of the
time; with 100 per class for 3,000 classes and 13 per sample, it is at most a quarter slower; scores are equal.
"""

import argparse
import time

import numpy as np

from codekin._system.parallel import limited_threads
from codekin.kernels.reranking import score_classes
from codekin.model.class_vectors import ClassVectors

SHAPES = {(300_000, 20_000, 60, 100): None, (300_000, 5_000, 60, 200): 5.0, (300_000, 1_500, 60, 200): None}
SHAPES |= {(40_000, 300, 13, 3_000): None, (40_000, 100, 13, 3_000): 0.8}
NOT_LISTED = np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int8), np.zeros(0, np.int8)


def drawn_rows(rng, n_rows, n_drawn, n_features):
    """Where rows start, and their features: drawn by Zipf's law, without duplicates."""
    frequency = 1 / np.arange(1, n_features + 1) ** 0.9
    drawn = rng.choice(n_features, size=(n_rows, n_drawn), p=rng.permutation(frequency / frequency.sum()))
    rows = [np.unique(row) for row in drawn]
    return np.concatenate([[0], np.cumsum([len(row) for row in rows])]), np.concatenate(rows).astype(np.int32)


def microseconds(rows, vectors, by_feature, n_features, classes, scores):
    """CPU time per sample, the best of five rounds."""
    own = vectors.indptr, vectors.features, vectors.steps, vectors.scales
    score_classes(rows, own, by_feature, n_features, classes[:2], scores[:2])
    times = []
    for _ in range(5):
        begin = time.process_time()
        score_classes(rows, own, by_feature, n_features, classes, scores)
        times.append(time.process_time() - begin)
    return 1e6 * min(times) / len(classes)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=1_000)
    parser.add_argument("--candidates", type=int, default=50)
    arguments = parser.parse_args()
    rng = np.random.default_rng(0)
    missed = []
    print("| features | entries drawn | of a sample | classes | walking us | looking up us | ratio |")
    print("|---:" * 7 + "|")
    for (n_features, n_entries, n_own, n_classes), claimed in SHAPES.items():
        state = rng.bit_generator.state
        indptr, features = drawn_rows(rng, n_classes, n_entries, n_features)
        rng.bit_generator.state = state  # the same words are frequent in the samples
        row_indptr, row_features = drawn_rows(rng, arguments.samples, n_own, n_features)
        steps = rng.integers(1, 128, len(features)) * rng.choice([-1, 1], len(features))
        vectors = ClassVectors(indptr, features, steps, rng.random(n_classes), n_features)
        rows = row_indptr, row_features, rng.random(len(row_features)).astype(np.float32)
        classes = rng.integers(0, n_classes, (arguments.samples, arguments.candidates)).astype(np.intp)
        walked, looked_up = np.empty(classes.shape), np.empty(classes.shape)
        with limited_threads(1):
            before = microseconds(rows, vectors, NOT_LISTED, n_features, classes, walked)
            after = microseconds(rows, vectors, vectors.by_feature, n_features, classes, looked_up)
        shape = f"{n_features:,} | {n_entries:,} | {n_own} | {n_classes:,}"
        print(f"| {shape} | {before:.1f} | {after:.1f} | {before / after:.2f} |", flush=True)
        if walked.tobytes() != looked_up.tobytes():
            missed.append(f"{shape}: the scores differ")
        if claimed is not None and before < claimed * after:
            missed.append(f"{shape}: a ratio of {before / after:.2f}, not {claimed}")
    print("claims hold" if not missed else "\n".join(missed))
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
