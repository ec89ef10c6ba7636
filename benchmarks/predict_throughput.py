"""End-to-end prediction, from zipped text to labels, as a share of the rate at which the text can be parsed.

    python benchmarks/predict_throughput.py [--rows 200000] [--classes 1000] [--rounds 3]

`codekin predict` unzips, parses, multiplies, decodes and writes a few thousand samples at a time. Parsing alone reads
the same file in the same chunks and discards them; unzipping alone is what no reader can avoid. All run in one process,
on one thread, in turn; times are CPU times, without starting Python and loading compiled code. Samples are synthetic
rows like those of text. The model is a trellis of width 2 without re-ranking.

Claim: predicting runs at half the rate of parsing, or faster.
"""

import argparse
import gzip
import tempfile
import time
import zlib
from pathlib import Path

import numpy as np

from codekin import ExtremeClassifier
from codekin._system.parallel import limited_threads
from codekin.cli.main import main as codekin
from codekin.data import ReadOptions, SparseData, iter_data, make_sparse_topics, write_data
from codekin.learners import AROW
from codekin.storage import ModelInput, save_model

LEAST_SHARE = 0.5


def best_of(rounds, *actions):
    """The minimum CPU time of each action; the actions take turns."""
    seconds = [[] for _ in actions]
    for _ in range(rounds + 1):  # the first round compiles
        for times, action in zip(seconds, actions, strict=True):
            begin = time.process_time()
            action()
            times.append(time.process_time() - begin)
    return [min(times[1:]) for times in seconds]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--classes", type=int, default=1_000)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    n_made = min(20_000, arguments.rows)
    made = make_sparse_topics(arguments.classes, n_made, n_features=50_000, words_per_sample=60, rng=0)
    classifier = ExtremeClassifier(assignment="random", estimator=AROW(n_epochs=1), rerank=None, random_state=0)
    classifier.fit(made.X, made.y)
    with tempfile.TemporaryDirectory() as home, limited_threads(1):
        folder = Path(home)
        save_model(classifier, folder / "model", model_input=ModelInput(None, {"index_base": 1}))
        write_data(folder / "some.svm", SparseData(made.X, made.y, np.arange(arguments.classes)))
        text = (folder / "some.svm").read_bytes() * (arguments.rows // n_made)
        zipped = folder / "data.svm.gz"
        zipped.write_bytes(gzip.compress(text, compresslevel=6))
        options = ReadOptions(labels="none", index_base=1)

        def unzip():
            zlib.decompressobj(wbits=31).decompress(zipped.read_bytes())

        def parse():
            for _ in iter_data(zipped, n_features=made.X.shape[1], options=options):
                pass

        def predict():
            output = ("--output", str(folder / "labels.txt"), "--quiet", "--n-threads", "1")
            assert codekin(["predict", str(folder / "model"), str(zipped), *output]) == 0

        times = dict(zip(("unzip", "parse", "predict"), best_of(arguments.rounds, unzip, parse, predict), strict=True))
    megabytes = len(text) / 1e6
    n_rows, n_bits = n_made * (arguments.rows // n_made), classifier.codebook_.n_bits
    print(f"{n_rows:,} rows, {megabytes:.0f} MB of text, {made.X.nnz / n_made:.0f} values a row, {n_bits} bits")
    for name, seconds in times.items():
        print(f"{name:8} {seconds:6.2f} s   {megabytes / seconds:6.0f} MB/s   {n_rows / seconds:9,.0f} rows/s")
    share = times["parse"] / times["predict"]
    is_met = share >= LEAST_SHARE
    print(f"predict runs at {share:.2f} of the rate of parse, bar {LEAST_SHARE}: {'met' if is_met else 'MISSED'}")
    return 0 if is_met else 1


if __name__ == "__main__":
    raise SystemExit(main())
