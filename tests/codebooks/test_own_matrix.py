import numpy as np
import pytest

from codekin.codebooks.classic import given


def test_a_given_matrix_is_kept_as_it_is():
    matrix = [[1, 0, 1], [-1, 1, 1], [1, -1, 1]]
    codebook = given(3, matrix=matrix, is_designed=True)
    assert codebook.matrix.tolist() == matrix
    assert codebook.is_designed
    assert codebook.n_constant_columns == 1


def test_more_codewords_than_classes_are_welcome_and_fewer_are_refused():
    assert given(2, matrix=np.where(np.eye(3), 1, -1)).n_codewords == 3
    with pytest.raises(ValueError, match="The given matrix has 3 codewords; at least 4 are needed"):
        given(4, matrix=np.where(np.eye(3), 1, -1))


@pytest.mark.parametrize(
    ("matrix", "complaint"),
    [
        ([[1, 2], [1, 1]], "must be -1, 0 or [+]1. Got 2 in row 0, column 1"),
        ([[1, 1], [-1, 1], [1, 1]], "must be distinct. Rows 0 and 2"),
        ([1, -1], "two dimensions"),
    ],
)
def test_a_matrix_that_is_no_codebook_is_refused(matrix, complaint):
    with pytest.raises(ValueError, match=complaint):
        given(2, matrix=matrix)
