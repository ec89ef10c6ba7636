import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from tests.reference import decoding
from tests.reference import multinomial as reference

from codekin.code import Code
from codekin.decoding import LOSSES, LearnedDecoder, MinimumLossDecoder
from codekin.decoding.learned import Products
from codekin.model import FittedCode, Model


def decoders(loss="linear"):
    shapes = st.tuples(st.integers(2, 6), st.integers(1, 40))
    entries = st.floats(-5, 5, width=32)
    return shapes.flatmap(
        lambda shape: st.builds(
            lambda weights, biases: LearnedDecoder(weights, biases, loss),
            hnp.arrays(np.float64, shape, elements=entries),
            hnp.arrays(np.float64, shape[0], elements=entries),
        )
    )


def margins_for(decoder):
    return hnp.arrays(np.float64, (5, decoder.n_bits), elements=st.floats(-4, 4))


@pytest.mark.parametrize("loss", LOSSES)
@given(data=st.data())
@settings(max_examples=15, deadline=None)
def test_class_losses_agree_with_the_definition(loss, data):
    decoder = data.draw(decoders(loss))
    f = data.draw(margins_for(decoder))
    expected = reference.class_losses(f, decoder.weights, decoder.biases, LOSSES[loss])
    scale = 1 + np.abs(expected).max() + np.abs(decoder.weights).sum(axis=1).max() * 30
    np.testing.assert_allclose(decoder.class_losses(f), expected, rtol=0, atol=1e-6 * scale)


@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_decode_and_top_k_and_probabilities_tell_the_story_of_the_class_losses(data):
    decoder = data.draw(decoders())
    f = data.draw(margins_for(decoder))
    losses = decoder.class_losses(f)
    classes, best = decoder.top_k(f, decoder.n_classes)
    np.testing.assert_array_equal(classes, decoding.k_smallest(losses, decoder.n_classes))
    np.testing.assert_array_equal(best, np.take_along_axis(losses, classes, axis=1))
    np.testing.assert_array_equal(decoder.decode(f), classes[:, 0])
    probabilities = decoder.probabilities(f)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    np.testing.assert_allclose(np.log(probabilities[:, :1] / probabilities), losses - losses[:, :1], atol=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_the_coding_matrix_as_weights_is_decoding_under_the_loss(loss):
    rng = np.random.default_rng(0)
    matrix = np.unique(rng.choice(np.array([-1, 1], np.int8), (30, 12)), axis=0)
    f = 2 * rng.normal(size=(500, 12))
    expected = MinimumLossDecoder(matrix, loss)
    decoder = LearnedDecoder(matrix, np.zeros(len(matrix)), loss)
    if loss == "hamming":  # sums of signs have true ties: there the lowest class must win as well
        np.testing.assert_array_equal(decoder.decode(f), expected.decode(f))
    np.testing.assert_array_equal(decoder.top_k(f, 3)[0], expected.top_k(f, 3)[0])


def test_the_coding_matrix_with_zeros_is_decoding_under_the_linear_loss():
    rng = np.random.default_rng(0)
    matrix = np.unique(rng.choice(np.array([-1, 0, 1], np.int8), (30, 12)), axis=0)
    f = 2 * rng.normal(size=(500, 12))
    decoder = LearnedDecoder(matrix, np.zeros(len(matrix)))
    np.testing.assert_array_equal(decoder.decode(f), MinimumLossDecoder(matrix, "linear").decode(f))


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_losses_do_not_depend_on_the_size_of_a_batch(scale):
    rng = np.random.default_rng(0)
    decoder = LearnedDecoder(rng.normal(size=(50, 37)), rng.normal(size=50))
    f = scale * rng.normal(size=(1100, 37))
    whole = decoder.class_losses(f)
    for n in (1, 7, 600):
        parts = np.concatenate([decoder.class_losses(f[start : start + n]) for start in range(0, len(f), n)])
        np.testing.assert_array_equal(parts, whole)


def test_no_weight_loses_more_than_a_millionth_of_the_largest_of_its_class():
    weights = np.random.default_rng(0).normal(size=(40, 20)) * 10.0 ** np.arange(-20, 20)[:, None]
    off = np.abs(LearnedDecoder(weights, np.zeros(40)).weights - weights).max(axis=1)
    assert (off <= 1e-6 * np.abs(weights).max(axis=1)).all()


def with_products(n_classes=5, n_bits=4):
    rng = np.random.default_rng(0)
    products = Products(
        rng.normal(size=(n_classes, n_bits * (n_bits + 1) // 2)), rng.normal(size=n_bits), np.full(4, 2.0)
    )
    return LearnedDecoder(rng.normal(size=(n_classes, n_bits)), rng.normal(size=n_classes), products=products)


def test_products_of_two_margins_are_added_to_the_scores():
    decoder = with_products()
    f = np.random.default_rng(1).normal(size=(50, 4))
    u = (f / 2 - decoder.products.means) / 2
    scores = f / 2 @ decoder.weights.T + decoder.biases
    pairs = [(i, j) for i in range(4) for j in range(i, 4)]
    for weights, (i, j) in zip(decoder.products.weights.T, pairs, strict=True):
        scores += np.outer(u[:, i] * u[:, j], weights)
    np.testing.assert_allclose(decoder.class_losses(f), -scores, atol=1e-5)


def test_losses_with_products_do_not_depend_on_the_size_of_a_batch_and_stay_finite():
    decoder = with_products()
    f = np.random.default_rng(1).normal(size=(600, 4)) * np.logspace(-9, 15, 600)[:, None]
    whole = decoder.class_losses(f)
    assert np.isfinite(whole).all()
    np.testing.assert_array_equal(np.concatenate([decoder.class_losses(row[None]) for row in f]), whole)


def test_products_of_other_shapes_are_refused():
    with pytest.raises(ValueError, match=r"Products of 3 bits need weights of shape \(n_classes, 6\)"):
        Products(np.ones((2, 5)), np.zeros(3), np.ones(3))
    with pytest.raises(ValueError, match="Products must be of 4 bits and 2 classes. Got 3 and 2"):
        LearnedDecoder(np.ones((2, 4)), np.ones(2), products=Products(np.ones((2, 6)), np.zeros(3), np.ones(3)))


def test_a_model_works_with_a_learned_decoder_as_with_any_other():
    class Bits:
        n_bits = 2

        def margins(self, X):
            return X

    code = Code.of([[1, 1], [1, -1], [-1, 1]])
    model = Model((FittedCode(code, Bits(), LearnedDecoder(code.coding_matrix, [0.0, 0.0, 1.0])),))
    assert model.predict(np.array([[0.3, -2.0], [0.1, 0.4]])).tolist() == [1, 2]


def test_weights_and_biases_of_other_shapes_or_without_numbers_are_refused():
    with pytest.raises(ValueError, match=r"a bias for each class. Got \(3, 2\) and \(2,\)"):
        LearnedDecoder(np.ones((3, 2)), np.ones(2))
    with pytest.raises(ValueError, match="must be finite"):
        LearnedDecoder(np.full((3, 2), np.nan), np.ones(3))
