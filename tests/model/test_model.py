"""Models, and the codes they consist of."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from codekin.code import Assignment, Code
from codekin.codebooks import dense_random, trellis_codebook
from codekin.learners.linear import LinearBits
from codekin.model import FittedCode, Model, reranking
from codekin.model.class_vectors import ClassVectors
from codekin.model.reranking import Reranking

seeds = st.integers(0, 2**32 - 1)
sizes = st.integers(2, 90).flatmap(lambda k: st.tuples(st.just(k), st.integers(2, min(k, 6))))


def members_and_samples(rng, n_classes, width, n_codes, loss="exponential", n_features=9, n_samples=7):
    codebook = trellis_codebook(n_classes, width)
    members = []
    for _ in range(n_codes):
        assignment = Assignment(rng.permutation(n_classes))
        weights = rng.normal(size=(n_features, codebook.n_bits)).astype(np.float32)
        bits = LinearBits(weights, np.zeros(codebook.n_bits))
        members.append(FittedCode.of(Code(codebook, assignment), bits, loss))
    X = (rng.normal(size=(n_samples, n_features)) * (rng.random((n_samples, n_features)) < 0.6)).astype(np.float32)
    vectors = ClassVectors.of(rng.normal(size=(n_classes, n_features)) * (rng.random((n_classes, n_features)) < 0.5))
    return tuple(members), X, vectors


def exhaustive(members, X):
    return sum(Model((member,)).class_losses(X) for member in members)


@given(seeds, sizes, st.integers(1, 3), st.sampled_from(["exponential", "hinge", "hamming"]))
@settings(max_examples=40, deadline=None)
def test_with_all_classes_as_candidates_an_ensemble_is_the_exhaustive_sum(seed, size, n_codes, loss):
    members, X, _ = members_and_samples(np.random.default_rng(seed), *size, n_codes, loss)
    model = Model(members, Reranking(size[0]))
    expected = exhaustive(members, X)
    np.testing.assert_allclose(model.class_losses(X), expected, rtol=1e-9)
    np.testing.assert_allclose(model.top_k(X, size[0])[1], np.sort(expected, axis=1), rtol=1e-9)
    of_predicted = np.take_along_axis(expected, model.predict(X)[:, None], axis=1)[:, 0]
    np.testing.assert_allclose(of_predicted, expected.min(axis=1), rtol=1e-9)
    assert model.candidates(X).is_certified.all()


@given(seeds, sizes, st.integers(2, 3), st.integers(1, 6))
@settings(max_examples=60, deadline=None)
def test_a_certified_prediction_is_the_best_of_all_classes(seed, size, n_codes, n_candidates):
    members, X, _ = members_and_samples(np.random.default_rng(seed), *size, n_codes)
    best = Model(members, Reranking(n_candidates)).candidates(X, 1)
    expected = exhaustive(members, X)
    of_predicted = np.take_along_axis(expected, best.classes, axis=1)[:, 0]
    certified = best.is_certified
    np.testing.assert_allclose(of_predicted[certified], expected.min(axis=1)[certified], rtol=1e-9)
    assert (of_predicted >= expected.min(axis=1) * (1 - 1e-9)).all()


@given(seeds, sizes, st.integers(1, 12))
@settings(max_examples=40, deadline=None)
def test_without_weight_a_reranking_changes_nothing(seed, size, n_candidates):
    members, X, vectors = members_and_samples(np.random.default_rng(seed), *size, 1)
    model, code = Model(members, Reranking(n_candidates, vectors, 0.0)), Model(members)
    k = min(8, size[0])
    np.testing.assert_array_equal(model.predict(X), code.predict(X))
    np.testing.assert_array_equal(model.top_k(X, k)[0], code.top_k(X, k)[0])
    np.testing.assert_allclose(model.top_k(X, k)[1], code.top_k(X, k)[1], rtol=1e-12)
    np.testing.assert_allclose(model.class_losses(X), code.class_losses(X), rtol=1e-12)


@given(seeds, sizes, st.integers(1, 3), st.integers(1, 12))
@settings(max_examples=40, deadline=None)
def test_all_ways_to_ask_agree(seed, size, n_codes, n_candidates):
    members, X, vectors = members_and_samples(np.random.default_rng(seed), *size, n_codes)
    model = Model(members, Reranking(n_candidates, vectors, 1.5))
    everything = model.class_losses(X)
    classes, losses = model.top_k(X, min(n_candidates, size[0]))
    np.testing.assert_array_equal(model.predict(X), classes[:, 0])
    np.testing.assert_array_equal(model.predict(sparse.csr_array(X)), classes[:, 0])
    np.testing.assert_allclose(losses, np.take_along_axis(everything, classes, axis=1), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(losses[:, 0], everything.min(axis=1), rtol=1e-9, atol=1e-9)
    assert (np.diff(losses, axis=1) >= 0).all()
    assert all(len(set(row)) == len(row) for row in model.top_k(X, size[0])[0].tolist())


def test_results_do_not_depend_on_threads_or_blocks(monkeypatch):
    members, X, vectors = members_and_samples(np.random.default_rng(0), 500, 3, 2, n_features=40, n_samples=301)
    one = Model(members, Reranking(10, vectors, 2.0), n_threads=1).top_k(X, 30)
    monkeypatch.setattr(reranking, "CANDIDATES_PER_BLOCK", 7)
    four = Model(members, Reranking(10, vectors, 2.0), n_threads=4).top_k(X, 30)
    np.testing.assert_array_equal(one[0], four[0])
    np.testing.assert_array_equal(one[1], four[1])


def test_an_empty_batch_and_empty_rows_are_no_trouble():
    members, X, vectors = members_and_samples(np.random.default_rng(0), 20, 2, 2)
    model = Model(members, Reranking(5, vectors, 1.0))
    assert model.predict(X[:0]).shape == (0,)
    assert model.top_k(X[:0], 3)[0].shape == (0, 3)
    assert model.predict(sparse.csr_array((3, X.shape[1]), dtype=np.float32)).shape == (3,)


@pytest.mark.parametrize("n_codes", [1, 2])
def test_ties_go_to_the_same_class_in_predictions_and_losses(n_codes):
    members, X, vectors = members_and_samples(np.random.default_rng(0), 20, 2, n_codes)
    model = Model(members, Reranking(5, vectors, 1.0))
    X[:5] = 0
    np.testing.assert_array_equal(model.class_losses(X).argmin(axis=1), model.predict(X))


def test_more_candidates_than_classes_are_all_classes():
    members, X, _ = members_and_samples(np.random.default_rng(0), 6, 2, 2)
    model = Model(members, Reranking(100))
    assert model.candidates(X).classes.shape[1] == 6
    assert sorted(model.top_k(X, 6)[0][0].tolist()) == list(range(6))


def test_what_does_not_fit_together_is_refused():
    rng = np.random.default_rng(0)
    members, _, vectors = members_and_samples(rng, 20, 2, 1)
    wider, _, _ = members_and_samples(rng, 20, 3, 1)
    with pytest.raises(ValueError, match="at least one code"):
        Model((), Reranking(5))
    with pytest.raises(ValueError, match="without a ranking has a single code. Got 2"):
        Model(members * 2)
    with pytest.raises(ValueError, match="lists no candidates"):
        Model(members).candidates(np.zeros((1, 9)))
    with pytest.raises(ValueError, match="must have the same trellis"):
        Model(members + wider, Reranking(5))
    with pytest.raises(ValueError, match="30 classes need as many class vectors. Got 20"):
        Model(members_and_samples(rng, 30, 2, 1)[0], Reranking(5, vectors))
    codebook, assignment = dense_random(4, n_bits=5, rng=0), Assignment(np.arange(4))
    bits = LinearBits(np.zeros((3, 5)), np.zeros(5))
    dense = FittedCode.of(Code(codebook, assignment), bits, "hinge")
    with pytest.raises(ValueError, match="must be paths of a trellis or leaves of a tree"):
        Model((dense,), Reranking(5))
    with pytest.raises(ValueError, match="k"):
        Model(members, Reranking(5)).top_k(np.zeros((1, 9)), 21)


@given(seeds, sizes, st.integers(1, 3), st.integers(1, 8), st.sampled_from([0.5, 1.0, 3.0]))
@settings(max_examples=20, deadline=None)
def test_probabilities_agree_however_they_are_asked_for(seed, size, n_codes, n_candidates, temperature):
    members, X, vectors = members_and_samples(np.random.default_rng(seed), *size, n_codes, "logistic")
    model = Model(members, Reranking(n_candidates, vectors, 1.5, temperature=2.0)).with_temperature(temperature)
    every = model.proba(X)
    np.testing.assert_allclose(every.sum(axis=1), 1)
    np.testing.assert_allclose(np.exp(model.log_proba(X)), every)
    classes, probabilities = model.top_k_proba(X, min(n_candidates, size[0]))
    np.testing.assert_allclose(probabilities, np.take_along_axis(every, classes, axis=1))
    np.testing.assert_allclose(np.exp(model.top_k_proba(X, 1, is_log=True)[1]), probabilities[:, :1])
    asked = np.append(classes[:-1, 0], -1)
    np.testing.assert_allclose(np.exp(model.log_proba(X, asked)), np.append(probabilities[:-1, 0], 0))


def test_a_temperature_that_means_nothing_is_refused():
    members, _, _ = members_and_samples(np.random.default_rng(0), 9, 2, 1)
    for temperature in (0.0, -1.0, np.inf, np.nan):
        with pytest.raises(ValueError, match="'temperature' of a model must be greater than 0"):
            Model(members).with_temperature(temperature)
