from collections import Counter

import numpy as np
import pytest

from codekin.codebooks.classic import n_binary_columns, n_ternary_columns
from codekin.codebooks.drawing import DENSE, SPARSE, codebook_sampler, digits, useful_columns


def frequencies(lines):
    counts = Counter(line.tobytes() for line in lines)
    return np.array(list(counts.values())) / len(lines)


def matrices(sampler, n_draws):
    return sampler(np.random.default_rng(0), n_draws).matrices(np.arange(n_draws))


@pytest.mark.parametrize("n_codewords", range(2, 8))
@pytest.mark.parametrize(("entries", "count"), [(DENSE, n_binary_columns), (SPARSE, n_ternary_columns)])
def test_useful_columns_are_all_there_once_without_their_complements(n_codewords, entries, count):
    columns = digits(useful_columns(n_codewords, entries), n_codewords, entries)
    assert len(columns) == count(n_codewords)
    assert ((columns == 1).any(axis=1) & (columns == -1).any(axis=1)).all()
    assert len(np.unique(np.concatenate([columns, -columns]), axis=0)) == 2 * len(columns)


@pytest.mark.parametrize("shape", [(4, 5), (5, 13), (8, 90)])
def test_scarce_columns_are_drawn_without_replacement_and_evenly(shape):
    draws = matrices(codebook_sampler(*shape, DENSE), 2000)
    columns = draws.transpose(0, 2, 1)
    assert all(len(np.unique(book, axis=0)) == shape[1] for book in columns)
    share = frequencies(columns.reshape(-1, shape[0]))
    assert len(share) == 2 ** (shape[0] - 1) - 1
    assert share * len(share) == pytest.approx(1, abs=0.1)


@pytest.mark.parametrize("shape", [(7, 3), (20, 5), (16, 4)])
def test_scarce_codewords_are_drawn_without_replacement_and_evenly(shape):
    draws = matrices(codebook_sampler(*shape, DENSE), 2000)
    assert all(len(np.unique(book, axis=0)) == shape[0] for book in draws)
    # In every place, not only on the whole: which class gets which codeword is left to chance as well.
    for row in range(shape[0]):
        share = frequencies(draws[:, row])
        assert len(share) == 2 ** shape[1]
        assert share * len(share) == pytest.approx(1, abs=0.5)


def test_scarce_sparse_columns_come_as_often_as_independent_entries_make_them():
    first = matrices(codebook_sampler(4, 8, SPARSE), 4000)[:, :, 0]
    n_zeros = (first == 0).sum(axis=1)
    # Of the 50 columns with both signs 14 have no zero, 24 have one and 12 have two; each zero doubles their chance.
    # Without replacement rare columns catch up, but the order stays.
    share = np.bincount(n_zeros) / len(first)
    assert share.argsort().tolist() == [0, 2, 1]


@pytest.mark.parametrize("entries", [DENSE, SPARSE])
def test_independent_entries_are_as_likely_as_they_should_be_in_columns_with_both_signs(entries):
    draws = matrices(codebook_sampler(14, 10, entries), 500)
    assert ((draws > 0).any(axis=1) & (draws < 0).any(axis=1)).all()
    for entry in set(entries):
        assert (draws == entry).mean() == pytest.approx(entries.count(entry) / len(entries), abs=0.02)


@pytest.mark.parametrize("entries", [DENSE, SPARSE])
@pytest.mark.parametrize("shape", [(5, 9), (20, 30), (300, 12), (80, 64), (90, 70)])
def test_words_and_matrices_are_those_of_the_same_codebooks(shape, entries):
    draws = codebook_sampler(*shape, entries)(np.random.default_rng(0), 7)
    drawn = draws.matrices(np.arange(7))
    np.testing.assert_array_equal(draws.matrices(np.array([5, 2])), drawn[[5, 2]])
    # Bits may be in any order, but must be in the same one in all words.
    for words, flags in ((draws.signs, drawn > 0), (draws.used, drawn != 0)):
        np.testing.assert_array_equal(np.bitwise_count(words).sum(axis=1), flags.sum(axis=2))
        unlike = np.bitwise_count(words ^ words[:, :, :1]).sum(axis=1)
        np.testing.assert_array_equal(unlike, (flags != flags[:, :1]).sum(axis=2))
