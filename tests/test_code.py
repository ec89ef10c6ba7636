import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from codekin.code import Assignment, Code, Codebook
from codekin.code.geometry import codeword_distances, paired_distances
from codekin.codebooks import dense_random

ternary = hnp.arrays(np.int8, st.tuples(st.integers(1, 6), st.integers(1, 20)), elements=st.sampled_from([-1, 0, 1]))


@given(matrix=ternary)
@settings(deadline=None)
def test_distances_are_half_the_l1_distance(matrix):
    expected = np.abs(matrix[:, None, :].astype(int) - matrix[None, :, :]).sum(axis=2) / 2
    np.testing.assert_array_equal(codeword_distances(matrix, matrix), expected)


@given(matrix=ternary)
@settings(deadline=None)
def test_allweins_distance_counts_any_zero_as_one_half(matrix):
    m = matrix.astype(float)
    expected = ((1 - m[:, None, :] * m[None, :, :]) / 2).sum(axis=2)
    np.testing.assert_array_equal(codeword_distances(matrix, matrix, zero_pair=0.5), expected)


def test_one_vs_rest_is_symmetric_and_hadamard_only_equidistant():
    assert Codebook(2 * np.eye(4) - 1).is_symmetric
    hadamard = np.array([[1, 1, 1, 1], [1, -1, 1, -1], [1, 1, -1, -1], [1, -1, -1, 1]])
    codebook = Codebook(np.kron(np.array([[1, 1], [1, -1]]), hadamard)[:5, 1:])
    assert codebook.is_equidistant
    assert not codebook.is_symmetric


def test_properties_of_a_small_codebook():
    codebook = Codebook([[1, 1, 0], [1, -1, 1], [-1, -1, -1]])
    assert (codebook.n_codewords, codebook.n_bits) == (3, 3)
    assert codebook.min_distance == 1.5
    assert codebook.is_ternary
    assert not codebook.is_equidistant
    assert codebook.sparsity == pytest.approx(1 / 9)
    np.testing.assert_allclose(codebook.balance, [1 / 3, 1 / 3, 1 / 2])
    assert codebook.has_distinct_columns
    assert codebook.n_constant_columns == 0
    assert codebook.properties()["min_distance"] == 1.5


def test_a_column_and_its_complement_are_not_distinct():
    assert not Codebook([[1, -1], [-1, 1]]).has_distinct_columns


def test_column_correlations_are_those_of_numpy():
    matrix = np.random.default_rng(0).choice([-1, 0, 1], (9, 5))
    np.testing.assert_allclose(Codebook(matrix).column_correlations, np.corrcoef(matrix.T), atol=1e-12)


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([[1, 2], [0, 1]], "must be -1, 0 or .1. Got 2 in row 0, column 1"),
        ([[1, 1], [-1, 1], [1, 1]], "distinct. Rows 0 and 2"),
        ([1, -1], "two dimensions"),
        ([[np.nan, 1], [1, 1]], "Got nan"),
    ],
)
def test_a_bad_matrix_is_named(matrix, message):
    with pytest.raises(ValueError, match=message):
        Codebook(matrix)


def test_a_codebook_cannot_be_changed():
    given_matrix = np.array([[1, -1], [-1, 1]])
    codebook = Codebook(given_matrix)
    given_matrix[0, 0] = -1
    assert codebook.matrix[0, 0] == 1
    with pytest.raises(ValueError, match="read-only"):
        codebook.matrix[0, 0] = -1


@given(st.permutations(range(6)), st.integers(6, 9))
def test_the_two_directions_of_an_assignment_are_inverse(permutation, n_codewords):
    assignment = Assignment(np.array(permutation))
    class_of_codeword = assignment.class_of_codeword(n_codewords)
    np.testing.assert_array_equal(class_of_codeword[assignment.codeword_of_class], np.arange(6))
    assert (class_of_codeword[6:] == -1).all()


@pytest.mark.parametrize(
    ("codeword_of_class", "message"),
    [
        ([0, 0], "Codeword 0 is given to 2 classes"),
        ([-1, 0], "numbered from 0. Got -1"),
        ([0.5, 1], "integers"),
        ([[0]], "one-dim"),
    ],
)
def test_a_bad_assignment_is_named(codeword_of_class, message):
    with pytest.raises(ValueError, match=message):
        Assignment(codeword_of_class)


def test_rows_of_the_coding_matrix_follow_the_assignment():
    codebook = Codebook([[1, 1], [1, -1], [-1, 1]])
    np.testing.assert_array_equal(codebook.coding_matrix(Assignment([2, 0])), [[-1, 1], [1, 1]])
    with pytest.raises(ValueError, match="uses codeword 3, but this codebook has 3"):
        codebook.coding_matrix(Assignment([3, 0]))


real = hnp.arrays(
    np.float64, st.tuples(st.integers(1, 6), st.integers(1, 9)), elements=st.floats(-9, 9, allow_subnormal=False)
)


@given(matrix=real)
@settings(deadline=None)
def test_real_distances_are_a_quarter_of_the_squared_euclidean_ones(matrix):
    expected = np.square(matrix[:, None, :] - matrix[None, :, :]).sum(axis=2) / 4
    np.testing.assert_allclose(codeword_distances(matrix, matrix), expected, rtol=1e-12)
    np.testing.assert_allclose(paired_distances(matrix, matrix[::-1]), np.diag(expected[:, ::-1]), rtol=1e-12)


def test_signs_are_as_far_apart_as_the_same_numbers():
    matrix = dense_random(7, 9, rng=0).matrix
    signs, numbers = Codebook(matrix), Codebook(matrix, is_real=True)
    assert numbers.is_real
    assert not signs.is_real
    np.testing.assert_array_equal(numbers.row_distances(), signs.row_distances())
    assert {**numbers.properties(), "name": ""} == {**signs.properties(), "name": ""}
    assert paired_distances(matrix[:1], matrix[1:2])[0] == signs.row_distances()[0, 1]


def test_a_zero_of_a_real_codeword_is_a_number_and_ignores_nothing():
    one_hot = Codebook(np.eye(4), is_real=True)
    assert not one_hot.is_ternary
    assert one_hot.sparsity == 0
    assert one_hot.n_constant_columns == 0
    assert one_hot.is_symmetric
    np.testing.assert_allclose(one_hot.row_distances(), (1 - np.eye(4)) / 2)
    assert Code.of(2 * np.eye(4) - 1).is_used.all()
    assert Code(one_hot, Assignment([2, 0])).is_used.tolist() == [[True] * 4] * 2


def test_a_real_column_is_constant_if_all_its_numbers_are_equal():
    codebook = Codebook([[0.5, 1.0, 2.0, -2.0], [0.5, 2.0, 3.0, -3.0]], is_real=True)
    assert codebook.n_constant_columns == 1
    assert not codebook.has_distinct_columns


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([[0.5, np.nan], [1, 1]], "numbers of at most 1e.100. Got nan in row 0, column 1"),
        ([[0.5, 1e200], [1, 1]], "Got 1e.200 in row 0, column 1"),
        ([[0.5, 0.0], [0.1, 1], [0.5, -0.0]], "distinct. Rows 0 and 2"),
        ([0.5], "two dimensions"),
    ],
)
def test_a_bad_real_matrix_is_named(matrix, message):
    with pytest.raises(ValueError, match=message):
        Codebook(matrix, is_real=True)


def test_real_numbers_must_be_asked_for():
    with pytest.raises(ValueError, match=r"Got 0.5 in row 1, column 0. Give is_real=True"):
        Codebook([[1.0, -1.0], [0.5, 1.0]])
    with pytest.raises(ValueError, match="needs a matrix, and has no symbols"):
        Codebook([[0, 1], [2, 1]], n_symbols=3, is_real=True)
