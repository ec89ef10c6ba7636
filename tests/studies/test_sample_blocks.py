from functools import reduce
from itertools import combinations

import numpy as np
import pytest

from codekin.codebooks import CODEBOOKS
from codekin.decoding.losses import get_loss
from codekin_studies.splits.sweeps import grid_exponent, rounded_margins, sample_blocks


@pytest.fixture(scope="module")
def codebook():
    return CODEBOOKS["dense_random"](5, 6, rng=0)


@pytest.fixture(scope="module")
def used(codebook):
    """The splits that are as large as a side of some bit."""
    sizes = set((codebook.matrix > 0).sum(axis=0)) | set((codebook.matrix < 0).sum(axis=0))
    return [split for split in range(1, 16) if split.bit_count() in sizes]


def saturating_sum(a, b):
    return np.clip(a + b, -(2**15), 2**15 - 1)


def test_small_numbers_have_sums_with_the_signs_of_the_exact_ones(codebook, used):
    rng = np.random.default_rng(0)
    y = rng.integers(5, size=120)
    # Samples that most splits get right, that most get wrong, and that a few get wrong by far.
    towards = np.where((np.arange(16)[:, None] >> y) & 1, 1.0, -1.0) * ([2, 0, -2, 1] * 30)
    margins = rounded_margins(towards + rng.normal(scale=[0.01, 1, 2, 50] * 30, size=(16, 120)), 6)
    blocks = sample_blocks(codebook, margins, y)
    assert blocks.is_rounded
    n_open = 0
    for terms in combinations(used, int(codebook.row_distances().max())):
        small = reduce(saturating_sum, (blocks.small[:, split].astype(int) for split in terms))
        exact = blocks.exact[:, list(terms)].sum(axis=1)
        is_open = np.abs(small) <= blocks.slack
        np.testing.assert_array_equal(np.sign(small[~is_open]), np.sign(exact[~is_open]))
        n_open += is_open.sum()
    assert n_open


def test_whole_margins_are_not_rounded(codebook, used):
    rng = np.random.default_rng(0)
    margins = rng.integers(-3, 4, size=(16, 60)).astype(float)
    blocks = sample_blocks(codebook, margins, rng.integers(5, size=60))
    assert not blocks.is_rounded
    is_sample = (blocks.exact != blocks.exact[:, :1, -1:]).any(axis=1)
    small, exact = (np.moveaxis(t[:, used], 1, 2)[is_sample].astype(float) for t in (blocks.small, blocks.exact))
    assert len(small) == 60 - blocks.n_always_right
    ratio = np.abs(exact).max(axis=1, keepdims=True) / np.abs(small).max(axis=1, keepdims=True)
    np.testing.assert_array_equal(small * ratio, exact)


def test_samples_that_every_split_gets_right_are_counted_and_left_out(codebook):
    y = np.arange(40) % 5
    towards = np.where((np.arange(16)[:, None] >> y) & 1, 1.0, -1.0)
    towards[3, :7] *= -1
    blocks = sample_blocks(codebook, towards, y)
    assert blocks.n_always_right == 33
    assert blocks.class_of_block.tolist() == [0, 1, 2, 3, 4]
    assert (blocks.exact[:, 1:].max(axis=1) > 0).sum() == 7


@pytest.mark.parametrize("size", [1e-3, 1.0, 40.0, 3000.0])
def test_rounding_is_fine_and_keeps_sums_exact(size):
    margins = np.random.default_rng(0).normal(scale=size, size=1000)
    rounded = rounded_margins(margins, 15)
    assert np.abs(rounded - margins).max() <= 2.0**-20 * max(np.abs(margins).max(), 1.0)
    whole = get_loss("hinge").agreement(rounded) * 2.0 ** (grid_exponent(rounded, 15) + 1)
    np.testing.assert_array_equal(whole, np.rint(whole))
    assert 15 * np.abs(whole).max() < 2**30
