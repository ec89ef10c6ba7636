import numpy as np
import pytest
from tests.codebooks.class_layouts import groups, places

from codekin.codebooks.designs.similarity import _lengthened, _scaled, gradient, sparse_output


def opposite_shares(matrix):
    """In what share of the bits that use both of two classes they are on different sides."""
    signs, used = matrix.astype(float), np.abs(matrix).astype(float)
    shared = used @ used.T
    return (shared - signs @ signs.T) / 2 / np.maximum(shared, 1)


@pytest.mark.parametrize("n_bits", [6, 10, 20])
def test_similar_classes_are_more_often_on_the_same_side_of_the_bits_that_use_both(n_bits):
    distances, is_together = groups(4, 3)
    for seed in range(3):
        apart = opposite_shares(sparse_output(12, n_bits, class_distances=distances, rng=seed).matrix)
        assert apart[is_together & ~np.eye(12, dtype=bool)].mean() < 0.7 * apart[~is_together].mean()


def objective(columns, similarities, decorrelation):
    products = columns.T @ columns
    np.fill_diagonal(products, 0)
    similar = (columns * (similarities @ columns)).sum() / 2
    uneven = (columns.sum(axis=0) ** 2).sum() / (2 * len(columns))
    return decorrelation * (products**2).sum() / (4 * columns.size) + uneven - similar


def test_the_gradient_agrees_with_differences_of_the_objective():
    rng = np.random.default_rng(0)
    columns, similarities = rng.normal(size=(5, 3)), _scaled(places(5))
    found = gradient(columns, similarities, 2.0)
    for place in np.ndindex(columns.shape):
        step = np.zeros_like(columns)
        step[place] = 1e-5
        after, before = (objective(columns + sign * step, similarities, 2.0) for sign in (1, -1))
        assert found[place] == pytest.approx((after - before) / 2e-5, abs=1e-7)


def test_uncorrelated_columns_are_the_same_as_uncorrelated_codewords():
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (9, 14))
    by_columns, by_rows = signs.T @ signs, signs @ signs.T
    assert (by_columns**2).sum() == (by_rows**2).sum()


def test_columns_keep_the_length_of_a_column_of_signs():
    columns = _lengthened(np.random.default_rng(0).normal(size=(7, 4)))
    assert (columns**2).sum(axis=0) == pytest.approx(7)


@pytest.mark.parametrize("sparsity", [0.0, 0.2, 0.5])
def test_the_share_of_zeros_is_what_was_asked_for(sparsity):
    codebook = sparse_output(20, 30, class_distances=places(20), sparsity=sparsity, rng=0)
    assert codebook.sparsity == pytest.approx(sparsity, abs=1 / 600)


@pytest.mark.parametrize(("n_classes", "n_bits"), [(4, 2), (8, 3), (9, 4), (12, 8), (5, 15)])
def test_however_many_zeros_are_asked_for_every_two_classes_have_opposite_signs_in_a_bit(n_classes, n_bits):
    for seed in range(3):
        codebook = sparse_output(n_classes, n_bits, class_distances=places(n_classes), sparsity=0.95, rng=seed)
        shares = opposite_shares(codebook.matrix)
        assert (shares[~np.eye(n_classes, dtype=bool)] > 0).all()
        assert codebook.n_constant_columns == 0
        assert codebook.has_distinct_columns


def test_more_decorrelation_makes_columns_less_correlated():
    distances = places(12)
    made = [
        sparse_output(12, 10, class_distances=distances, sparsity=0, decorrelation=weight, rng=0) for weight in (1, 8)
    ]
    assert made[0].mean_column_correlation > made[1].mean_column_correlation


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"sparsity": 1}, "'sparsity' parameter of sparse_output must be at least 0 and less than 1. Got 1 instead"),
        ({"decorrelation": -1}, "'decorrelation' parameter of sparse_output must be at least 0. Got -1 instead"),
        ({"bandwidth": 0}, "'bandwidth' parameter of sparse_output must be greater than 0. Got 0 instead"),
        ({"n_bits": 1}, "1 bit cannot tell 4 codewords apart"),
        ({"class_distances": np.zeros((4, 4))}, "All class distances are 0"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, complaint):
    with pytest.raises(ValueError, match=complaint):
        sparse_output(4, **{"class_distances": 1 - np.eye(4)} | options)
