"""All 3,628,800 assignments of a 10 x 8 codebook on 10,000 samples: at most 60 s of one processor, and exact.

The other sides are loops over assignments, timed on some of them in the same run. A plain NumPy loop picks the columns
of the splits, works out how much they speak for +1 under the hinge loss, multiplies that by the codewords and takes the
largest. A careful one has done all of that beforehand which no assignment changes, and stores splits as rows. The third
is the library's decoder. Exact means: equal to that decoder, ties included.
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


def plain_loop(coding_matrix, margins_by_sample, y):
    """How many samples an assignment gets right, by a matrix product; margins of shape (n_samples, 512)."""
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

    loops = {
        "plain NumPy": (plain_loop, np.ascontiguousarray(margins.T)),
        "careful NumPy": (careful_loop, get_loss("hinge").agreement(margins)),
        "the decoder": (decoder_loop, margins),
    }
    n_equal, spent = 0, dict.fromkeys(loops, 0.0)
    ranks = rng.choice(len(n_correct), N_CHECKED, replace=False)
    for number, rank in enumerate(ranks):
        coding_matrix = codebook.matrix[nth_assignment(int(rank), 10, 10)]
        n_equal += int(decoder_loop(coding_matrix, margins, y) == n_correct[rank])
        for name, (count, values) in loops.items() if number < N_TIMED else ():
            started = time.process_time()
            assert count(coding_matrix, values, y) == n_correct[rank]
            spent[name] += time.process_time() - started
    print(f"exact: {n_equal} of {N_CHECKED} sampled assignments are as the decoder says")
    for name, of_some in spent.items():
        loop = of_some / N_TIMED * len(n_correct)
        print(f"a loop of {name}: {loop / 3600:.1f} hours, {loop / seconds:,.0f} times as long")


if __name__ == "__main__":
    main()
