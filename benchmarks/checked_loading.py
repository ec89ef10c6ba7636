"""What checking a model costs when it is loaded: the time of loading it, and of its checksums alone.

A model of 100 MB and one of 400 MB; CPU time, the best of three, and the share of the checksums.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from codekin._system.files import bytes_in, sha256
from codekin.code import Assignment, Code
from codekin.codebooks import trellis_codebook
from codekin.learners.linear import LinearBits
from codekin.model import FittedCode, Model
from codekin.storage import load_model, save_model

N_CLASSES = 1000


def seconds(work: Callable[[], object]) -> float:
    """The minimum CPU time of three runs."""
    times = []
    for _ in range(3):
        started = time.process_time()
        work()
        times.append(time.process_time() - started)
    return min(times)


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    codebook, assignment = trellis_codebook(N_CLASSES, 4), Assignment.identity(N_CLASSES)
    for n_megabytes in (100, 400):
        n_features = n_megabytes * 10**6 // (4 * codebook.n_bits)
        weights = np.random.default_rng(0).standard_normal((n_features, codebook.n_bits), dtype=np.float32)
        bits = LinearBits(weights, np.zeros(codebook.n_bits, dtype=np.float32))
        with TemporaryDirectory() as home:
            folder = save_model(
                Model((FittedCode.of(Code(codebook, assignment), bits, "hinge"),)),
                Path(home) / "model",
            )
            whole = seconds(lambda folder=folder: load_model(folder))
            checksums = seconds(lambda folder=folder: [sha256(path) for path in folder.iterdir()])
            n_bytes = bytes_in(folder)
            share = f"{checksums:.3f} s ({checksums / whole:.0%}) of it for checksums"
            print(f"{n_bytes / 1e6:.0f} MB: loaded in {whole:.3f} s, {share}, at {n_bytes / checksums / 1e9:.2f} GB/s")


if __name__ == "__main__":
    main()
