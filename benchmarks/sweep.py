"""All 3,628,800 assignments of a 10 x 8 codebook on 10,000 samples: at most 60 s of one processor, and exact.

The other sides are loops over assignments, timed on some of them in the same run: a NumPy loop that looks up what the
splits say, multiplies it by the codewords and takes the largest; and the library's decoder. Exact means: equal to that
decoder, ties included.
"""

import time

import numpy as np

from codekin.assignments import nth_assignment
from codekin.codebooks import dense_random
from codekin.decoding import MinimumLossDecoder, get_loss
from codekin.studies.sweeps import count_correct, rounded_margins

N_SAMPLES, N_BITS, N_CHECKED, N_TIMED = 10_000, 8, 1_000, 100


def made_up_margins(rng, y):
    """Margins of 511 splits, mostly right, on a grid; a tenth of the samples have whole numbers, to make ties."""
    splits = np.arange(512)
    signs = np.where((splits[:, None] >> y[None, :]) & 1, 1.0, -1.0)
    margins = signs + rng.normal(scale=1.5, size=signs.shape)
    margins[:, : N_SAMPLES // 10] = np.rint(margins[:, : N_SAMPLES // 10])
    return rounded_margins(margins, N_BITS)


def bits_of(coding_matrix, margins):
    masks = ((coding_matrix > 0) * (1 << np.arange(10))[:, None]).sum(axis=0)
    return np.stack([margins[m] if m < 512 else -margins[1023 - m] for m in masks], axis=1)


def main():
    rng = np.random.default_rng(0)
    y = rng.integers(10, size=N_SAMPLES)
    margins = made_up_margins(rng, y)
    codebook = dense_random(10, N_BITS, min_distance=3, rng=0)
    started = time.process_time()
    n_correct = count_correct(codebook, margins, y, n_threads=1)
    seconds = time.process_time() - started
    print(
        f"sweep: {len(n_correct):,} assignments x {N_SAMPLES:,} samples in {seconds:.1f} s of one processor, "
        "compiling included"
    )

    agreements = get_loss("hinge").agreement(margins)
    n_equal, numpy_seconds, decoder_seconds = 0, 0.0, 0.0
    ranks = rng.choice(len(n_correct), N_CHECKED, replace=False)
    for number, rank in enumerate(ranks):
        coding_matrix = codebook.matrix[nth_assignment(int(rank), 10, 10)]
        start = time.process_time()
        decoded = MinimumLossDecoder(coding_matrix, "hinge").decode(bits_of(coding_matrix, margins))
        middle = time.process_time()
        n_equal += int((decoded == y).sum() == n_correct[rank])
        if number < N_TIMED:
            decoder_seconds += middle - start
            start = time.process_time()
            scores = bits_of(coding_matrix, agreements) @ coding_matrix.T.astype(np.float64)
            (scores.argmax(axis=1) == y).sum()
            numpy_seconds += time.process_time() - start
    print(f"exact: {n_equal} of {N_CHECKED} sampled assignments are as the decoder says")
    for name, spent in (("NumPy", numpy_seconds), ("the decoder", decoder_seconds)):
        loop = spent / N_TIMED * len(n_correct)
        print(f"a loop of {name}: {loop / 3600:.1f} hours, {loop / seconds:,.0f} times as long")


if __name__ == "__main__":
    main()
