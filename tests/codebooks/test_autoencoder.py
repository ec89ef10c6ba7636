import numpy as np
import pytest
from scipy.spatial.distance import pdist
from tests.codebooks.class_layouts import groups, places
from threadpoolctl import threadpool_limits

from codekin.codebooks.designs.columns import class_similarities, with_useful_columns
from codekin.codebooks.designs.similarity import DECAY, _centred, _first_weights, _trained, autoencoder, gradients


@pytest.mark.parametrize("n_bits", [6, 10, 20])
def test_classes_that_are_similar_to_the_same_classes_get_similar_codewords(n_bits):
    distances, is_together = groups(4, 3)
    for seed in range(3):
        apart = autoencoder(12, n_bits, class_distances=distances, rng=seed).row_distances()
        assert apart[is_together & ~np.eye(12, dtype=bool)].mean() < 0.5 * apart[~is_together].mean()


def objective(weights, rows, separation, separation_weight):
    into, bias, back, offset = weights
    hidden = np.tanh(rows @ into + bias)
    apart = pdist(hidden, "sqeuclidean") / (4 * len(bias) * separation)
    reconstruction = ((hidden @ back + offset - rows) ** 2).sum() / len(rows)
    decay = DECAY * ((into**2).sum() + (back**2).sum())
    return reconstruction + separation_weight * np.maximum(0, 1 - apart).mean() + decay


def test_gradients_agree_with_differences_of_the_objective():
    rows = _centred(class_similarities("autoencoder", places(6), 6, 1.0))
    weights = _first_weights(6, 4, np.random.default_rng(0))
    found = gradients(weights, rows, 0.4, 2.0)
    for part, gradient in zip(weights, found, strict=True):
        for place in np.ndindex(part.shape):
            losses = []
            for step in (1e-5, -2e-5):
                part[place] += step
                losses.append(objective(weights, rows, 0.4, 2.0))
            part[place] += 1e-5
            assert gradient[place] == pytest.approx((losses[0] - losses[1]) / 2e-5, abs=1e-6)


def test_the_margin_keeps_hidden_layers_apart_at_the_price_of_the_reconstruction():
    rows = _centred(class_similarities("autoencoder", groups(2, 5)[0], 10, 1.0))
    nearest, errors = [], []
    for weight in (0.0, 10.0):
        start = _first_weights(10, 8, np.random.default_rng(0))
        into, bias, back, offset = _trained(start, rows, 0.25, weight, 500)
        hidden = np.tanh(rows @ into + bias)
        nearest.append(pdist(hidden).min())
        errors.append(((hidden @ back + offset - rows) ** 2).sum())
    assert nearest[0] < nearest[1]
    assert errors[0] < errors[1]


@pytest.mark.parametrize(("n_classes", "n_bits"), [(4, 2), (8, 3), (9, 4), (16, 4), (5, 15), (6, 31)])
def test_the_narrowest_and_the_widest_codes_have_distinct_codewords_and_columns(n_classes, n_bits):
    for seed in range(3):
        codebook = autoencoder(n_classes, n_bits, class_distances=places(n_classes), n_steps=100, rng=seed)
        assert codebook.matrix.shape == (n_classes, n_bits)
        assert codebook.n_constant_columns == 0
        assert codebook.has_distinct_columns


def test_the_codebook_does_not_depend_on_the_number_of_threads():
    distances = places(300)
    made = []
    for n_threads in (1, 2):
        with threadpool_limits(n_threads, user_api="blas"):
            made.append(autoencoder(300, 40, class_distances=distances, n_steps=100, rng=0).matrix)
    assert np.array_equal(*made)


@pytest.mark.filterwarnings("error")
def test_classes_that_are_all_equally_similar_get_a_useful_code():
    codebook = autoencoder(5, 6, class_distances=places(5), bandwidth=1e12, n_steps=20, rng=0)
    assert codebook.n_constant_columns == 0
    assert codebook.has_distinct_columns


def test_columns_that_are_constant_or_there_twice_are_changed_where_it_costs_least():
    matrix = np.array([[1, 1, 1], [1, 1, 1], [1, -1, -1], [1, -1, -1]], dtype=np.int8)
    margins = np.array([[4.0, 9, 9], [3, 9, 9], [2, 9, 1], [1, 9, 2]])
    repaired = with_useful_columns(matrix, margins)
    # Flipping the third entry of the last column is cheapest, but would make it equal to the first one.
    assert repaired.T.tolist() == [[1, 1, 1, -1], [1, 1, -1, -1], [1, 1, -1, 1]]


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"separation": 0}, "'separation' parameter of autoencoder must be greater than 0. Got 0 instead"),
        ({"separation": 1.5}, "'separation' parameter of autoencoder must be at most 1. Got 1.5 instead"),
        ({"separation_weight": -1}, "'separation_weight' parameter of autoencoder must be at least 0. Got -1 instead"),
        ({"bandwidth": 0}, "'bandwidth' parameter of autoencoder must be greater than 0. Got 0 instead"),
        ({"n_bits": 1}, "1 bit cannot tell 4 codewords apart"),
        ({"n_bits": 8}, "only 7 different columns"),
        ({"class_distances": np.zeros((4, 4))}, "All class distances are 0"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, complaint):
    with pytest.raises(ValueError, match=complaint):
        autoencoder(4, **{"class_distances": 1 - np.eye(4)} | options)
