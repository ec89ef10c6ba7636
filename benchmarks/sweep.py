"""All 3,628,800 assignments of a 10 x 8 codebook on 10,000 samples: at most 60 s of one processor, and exact.

    python benchmarks/sweep.py                     on synthetic margins
    python benchmarks/sweep.py --study out/studies on the margins trained by `codekin study run exhaustive`

The other sides are loops over assignments, timed on some of them in the same run, in turn and with one thread. A plain
NumPy loop picks the columns of the splits, computes how much they support +1 under the hinge loss, multiplies that by
the codewords and takes the maximum. A careful loop precomputes everything that does not depend on the assignment, and
stores splits as rows. The third is the library's decoder. Exact means equal to that decoder, including ties.
"""

import argparse
import time
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from codekin.assignments.exact import nth_assignment
from codekin.codebooks import dense_random
from codekin.data.stored_sets import data_home
from codekin.decoding import MinimumLossDecoder
from codekin.decoding.losses import get_loss
from codekin_studies.configuration import load_study
from codekin_studies.engine.workspace import Workspace
from codekin_studies.exhaustive.tasks import load_splits, sweep_task
from codekin_studies.splits.dichotomies import load_problem
from codekin_studies.splits.sweeps import count_correct, rounded_margins

N_SAMPLES, N_BITS, N_CHECKED, N_TIMED = 10_000, 8, 1_000, 100


def made_up_margins(is_whole):
    """Margins of 511 splits, mostly right; whole numbers give ties, as decision trees do."""
    rng = np.random.default_rng(0)
    y = rng.integers(10, size=N_SAMPLES)
    signs = np.where((np.arange(512)[:, None] >> y[None, :]) & 1, 1.0, -1.0)
    margins = signs + rng.normal(scale=1.5, size=signs.shape)
    return np.rint(margins) if is_whole else rounded_margins(margins, N_BITS), y


def trained_margins(folder, name):
    """The margins of a data set from the study of all assignments, which must have been run."""
    study = load_study("exhaustive")
    workspace = Workspace(folder / "exhaustive", data_home())
    (data,) = (data for data in study.option("data") if data["name"] == name)
    task = sweep_task(study, data, study.option("codebooks")[0])
    problem = load_problem(name, data.get("n_test"), study.option("seed"), workspace.data_home)
    return load_splits(task, workspace)[0], problem.y_test


def bits_of(coding_matrix, margins):
    masks = ((coding_matrix > 0) * (1 << np.arange(10))[:, None]).sum(axis=0)
    return np.stack([margins[m] if m < 512 else -margins[1023 - m] for m in masks], axis=1)


def plain_loop(coding_matrix, margins_by_sample, y):
    """How many samples an assignment gets right, by a matrix product; margins have shape (n_samples, 512)."""
    masks = ((coding_matrix > 0) * (1 << np.arange(10))[:, None]).sum(axis=0)
    is_turned = masks >= 512
    margins = margins_by_sample[:, np.where(is_turned, 1023 - masks, masks)] * np.where(is_turned, -1.0, 1.0)
    agreement = (np.maximum(0, 1 + margins) - np.maximum(0, 1 - margins)) / 2
    return ((agreement @ coding_matrix.T.astype(np.float64)).argmax(axis=1) == y).sum()


def careful_loop(coding_matrix, agreements, y):
    """The same from agreements of shape (512, n_samples)."""
    return ((bits_of(coding_matrix, agreements) @ coding_matrix.T.astype(np.float64)).argmax(axis=1) == y).sum()


def decoder_loop(coding_matrix, margins, y):
    """The same by the library's decoder."""
    return (MinimumLossDecoder(coding_matrix, "hinge").decode(bits_of(coding_matrix, margins)) == y).sum()


def compare(name, margins, y):
    """Sweep, and time the loops on some of the assignments."""
    codebook = dense_random(10, N_BITS, min_distance=3, rng=0)
    started = time.process_time()
    count_correct(codebook, margins, y, ranks=np.zeros(1, dtype=np.int64), n_threads=1)
    compiling = time.process_time() - started
    started = time.process_time()
    n_correct = count_correct(codebook, margins, y, n_threads=1)
    seconds = compiling + time.process_time() - started
    print(
        f"{name}: {len(n_correct):,} assignments x {len(y):,} samples in {seconds:.1f} s of one processor, "
        f"{compiling:.1f} of them for compiling, once for a codebook"
    )
    loops = {
        "plain NumPy": (plain_loop, np.ascontiguousarray(margins.T)),
        "careful NumPy": (careful_loop, get_loss("hinge").agreement(margins)),
        "the decoder": (decoder_loop, margins),
    }
    n_equal, spent = 0, dict.fromkeys(loops, 0.0)
    ranks = np.random.default_rng(1).choice(len(n_correct), N_CHECKED, replace=False)
    for number, rank in enumerate(ranks):
        coding_matrix = codebook.matrix[nth_assignment(int(rank), 10, 10)]
        n_equal += int(decoder_loop(coding_matrix, margins, y) == n_correct[rank])
        for loop, (count, values) in loops.items() if number < N_TIMED else ():
            started = time.process_time()
            assert count(coding_matrix, values, y) == n_correct[rank]
            spent[loop] += time.process_time() - started
    print(f"  exact: {n_equal} of {N_CHECKED} sampled assignments are as the decoder says")
    for loop, of_some in spent.items():
        of_all = of_some / N_TIMED * len(n_correct)
        print(
            f"  a loop of {loop}: {of_all / 3600:.1f} hours, {of_all / seconds:,.0f} times as long, "
            f"{of_all / (seconds - compiling):,.0f} times the part without compiling"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--study", type=Path, help="the output folder of codekin study run exhaustive")
    parser.add_argument("--data", default="mnist", help="which of its data sets (default: mnist)")
    options = parser.parse_args()
    with threadpool_limits(1):
        if options.study:
            compare(options.data, *trained_margins(options.study, options.data))
        else:
            compare("made-up margins", *made_up_margins(is_whole=False))
            compare("made-up whole margins", *made_up_margins(is_whole=True))


if __name__ == "__main__":
    main()
