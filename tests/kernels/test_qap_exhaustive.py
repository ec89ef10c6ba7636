"""The exhaustive kernel against computing every objective separately."""

import numpy as np
import pytest
from tests.reference import qap as reference

from codekin.assignments.exact import all_objectives
from codekin.assignments.quadratic import QuadraticProblem


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6])
@pytest.mark.parametrize("symmetric", [True, False])
def test_objectives_are_those_of_all_permutations_in_lexicographic_order(n, symmetric):
    a, b = np.random.default_rng(n).normal(size=(2, n, n))
    if symmetric:
        a, b = a + a.T, b + b.T
    problem = QuadraticProblem.of(a, b)
    np.testing.assert_allclose(all_objectives(problem), reference.all_objectives(a, b), atol=1e-12)


def test_the_number_of_threads_changes_nothing():
    a, b = np.random.default_rng(0).normal(size=(2, 8, 8))
    problem = QuadraticProblem.of(a, b)
    np.testing.assert_array_equal(all_objectives(problem, n_threads=1), all_objectives(problem, n_threads=3))
