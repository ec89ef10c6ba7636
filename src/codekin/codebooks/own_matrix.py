"""A codebook from any matrix, checked."""

from __future__ import annotations

from numpy.typing import ArrayLike

from codekin.codebooks.sizes import checked_n_codewords
from codekin.coding import Codebook


def given(n_codewords: int, *, matrix: ArrayLike, is_designed: bool = False) -> Codebook:
    """A codebook from a given matrix.

    The matrix has at least ``n_codewords`` distinct rows of -1, 0 and +1; if it has more, the assignment chooses among
    them. Constant or repeated columns are kept; see :attr:`Codebook.n_constant_columns` and
    :attr:`Codebook.has_distinct_columns`. ``is_designed`` means that row ``k`` was made for class ``k``.

    Examples
    --------
    >>> given(3, matrix=[[1, 1], [-1, 1], [0, -1]])
    <Codebook given: 3 codewords x 2 bits, minimum distance 1, 17% zeros>
    >>> given(4, matrix=[[1, 1], [-1, 1], [0, -1]])
    Traceback (most recent call last):
        ...
    ValueError: The given matrix has 3 codewords; at least 4 are needed.
    """
    n_codewords = checked_n_codewords(n_codewords, codebook="given")
    codebook = Codebook(matrix, name="given", is_designed=is_designed)
    if codebook.n_codewords < n_codewords:
        raise ValueError(f"The given matrix has {codebook.n_codewords} codewords; at least {n_codewords} are needed.")
    return codebook
