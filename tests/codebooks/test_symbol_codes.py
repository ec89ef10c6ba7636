"""Codebooks with more than two symbols, other than random ones."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.linear_model import RidgeClassifier

from codekin import ECOCClassifier
from codekin.classes import ClassTree
from codekin.codebooks import one_vs_rest, reed_solomon, tree_levels
from codekin.codebooks.classic import fewest_bits
from codekin.codebooks.symbols import _field


@pytest.mark.parametrize(("q", "prime"), [(3, 3), (4, 2), (8, 2), (9, 3), (13, 13), (16, 2), (25, 5), (27, 3)])
def test_the_field_is_one(q, prime):
    sums, products = _field(q, prime)
    every = np.arange(q)
    for table, neutral, members in ((sums, 0, every), (products, 1, every[1:])):
        assert np.array_equal(table, table.T)
        assert np.array_equal(table[neutral], every)
        within = table[np.ix_(members, members)]
        assert all(sorted(row) == members.tolist() for row in within)  # every equation has one solution
    a, b, c = np.random.default_rng(0).integers(q, size=(3, 200))
    assert np.array_equal(products[a, sums[b, c]], sums[products[a, b], products[a, c]])
    assert np.array_equal(products[a, products[b, c]], products[products[a, b], c])


@pytest.mark.parametrize(
    ("n_codewords", "n_bits", "n_symbols", "q"), [(81, 5, 10, 9), (100, 6, 11, 11), (100, 6, 10, 9), (60, 8, 8, 8)]
)
def test_reed_solomon_codes_are_as_far_apart_as_the_singleton_bound_allows(n_codewords, n_bits, n_symbols, q):
    codebook = reed_solomon(n_codewords, n_bits, n_symbols=n_symbols)
    assert codebook.n_symbols == q
    assert codebook.min_distance >= n_bits - fewest_bits(n_codewords, q) + 1
    counts = np.array([np.bincount(column, minlength=q) for column in codebook.matrix.T])
    assert np.ptp(counts) <= 1


@pytest.mark.parametrize(
    ("n_bits", "n_symbols", "sentence"),
    [(4, 2, "needs at least 3 symbols"), (12, 10, "at most 9 columns. Got n_bits=12"), (1, 10, "1 bit cannot tell")],
)
def test_reed_solomon_codes_that_do_not_exist_are_refused(n_bits, n_symbols, sentence):
    with pytest.raises(ValueError, match=sentence):
        reed_solomon(50, n_bits, n_symbols=n_symbols)


def test_classes_against_the_rest_have_a_symbol_of_their_own_once():
    codebook = one_vs_rest(23, n_symbols=10)
    assert codebook.matrix.shape == (23, 3)
    assert ((codebook.matrix > 0).sum(axis=1) == 1).all()
    assert (codebook.matrix > 0).sum(axis=0).tolist() == [8, 8, 7]
    same = (codebook.matrix > 0).argmax(axis=1)
    expected = np.where(same[:, None] == same, 1, 2) * (1 - np.eye(23))
    np.testing.assert_array_equal(codebook.row_distances(), expected)


@pytest.fixture
def tree():
    return ClassTree.from_nested([[f"{group}{leaf}" for leaf in range(6)] for group in "abcdefg"])


@pytest.mark.parametrize("n_symbols", [2, 3, 7, 10])
def test_siblings_share_symbols_more_often_than_others(tree, n_symbols):
    codebook = tree_levels(42, 2 * fewest_bits(42, n_symbols), n_symbols=n_symbols, class_tree=tree, rng=0)
    distances, near = codebook.row_distances(), tree.path_length(*np.indices((42, 42)).reshape(2, -1)).reshape(42, 42)
    assert distances[near == 2].mean() < distances[near > 2].mean()
    assert codebook.min_distance >= 1
    assert codebook.n_constant_columns == 0
    assert codebook.has_distinct_columns
    assert (codebook.balance > 0).all()


def test_the_first_column_cuts_the_tree_at_its_top(tree):
    column = tree_levels(42, n_symbols=7, class_tree=tree).matrix[:, 0]
    assert [len(set(column[6 * group : 6 * group + 6])) for group in range(7)] == [1] * 7
    assert sorted(set(column)) == list(range(7))


def test_columns_that_a_tree_does_not_have_are_refused():
    with pytest.raises(ValueError, match="different columns of 2 symbols. Got n_bits=5"):
        tree_levels(3, 5, class_tree=ClassTree.from_nested([["a", "b"], "c"]), rng=0)


def test_an_estimator_of_two_symbols_says_that_reed_solomon_codes_need_more():
    X, y = load_digits(return_X_y=True)
    with pytest.raises(ValueError, match=r"needs at least 3 symbols. Got n_symbols=2\."):
        ECOCClassifier(RidgeClassifier(), codebook="reed_solomon").fit(X[:200], y[:200])
