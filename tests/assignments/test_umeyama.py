import numpy as np
import pytest
from tests.assignments.problems import random_codebook, random_distances

from codekin.assignments import assign, quadratic_assignment


def permuted(matrix, order):
    """The matrix whose entry (order[u], order[v]) is entry (u, v) of another one."""
    places = np.argsort(order)
    return matrix[np.ix_(places, places)]


@pytest.mark.parametrize("n", [3, 10, 40])
@pytest.mark.parametrize("is_symmetric", [True, False])
def test_a_permuted_matrix_is_recognised(n, is_symmetric):
    rng = np.random.default_rng(n)
    weights, order = rng.uniform(size=(n, n)), rng.permutation(n)
    weights = weights + weights.T if is_symmetric else weights
    found = quadratic_assignment(weights, permuted(weights, order), "umeyama", maximize=True)
    np.testing.assert_array_equal(found.order, order)


def test_a_nearly_equal_matrix_is_recognised():
    rng = np.random.default_rng(0)
    weights, order = rng.uniform(size=(10, 10)), rng.permutation(10)
    weights += weights.T
    noise = rng.uniform(-0.02, 0.02, size=(10, 10))
    found = quadratic_assignment(weights, permuted(weights + noise + noise.T, order), "umeyama", maximize=True)
    np.testing.assert_array_equal(found.order, order)


@pytest.mark.parametrize("sense", ["preserving", "breaking"])
def test_descent_follows_if_asked_for(sense):
    codebook, distances = random_codebook(12), random_distances(12)
    plain = assign(codebook, distances, "umeyama", sense=sense)
    refined = assign(codebook, distances, "umeyama", sense=sense, refine=True)
    assert plain.n_evaluations == 1
    assert (refined.z > plain.z) if sense == "preserving" else (refined.z < plain.z)
