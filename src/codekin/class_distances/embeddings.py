"""Distances between vectors of the classes, or of their names."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from codekin.class_distances.word_vectors import name_vectors
from codekin.classes import ClassDistances
from codekin.classes._tree_checks import listed
from codekin.classes.embedding import EmbeddingDistances
from codekin.classes.partial import PartialDistances


def embedding_distances(
    vectors: ArrayLike | Mapping[str, ArrayLike] | str | Path | Callable[[list[str]], ArrayLike],
    *,
    names: Sequence[str] | None = None,
    normalize: bool = False,
    squared: bool = False,
    missing: Literal["error", "mean"] = "error",
) -> ClassDistances:
    """Euclidean distances between vectors of the classes, or of their names (App. E of Evron et al., 2023).

    Names say a lot about classes before any sample is seen, though not what a learner will find hard. Words that are
    used in similar ways have similar vectors.

    Parameters
    ----------
    vectors : array-like or sparse matrix of shape (n_classes, n_dimensions), mapping, path or callable
        A vector for each class; or a source of vectors for names: a mapping from words to vectors, a file of word
        vectors (text of GloVe, word2vec or fastText, ``.gz`` too; it is read once, and only what is needed is kept), or
        a function that takes the list of names and returns a vector for each, such as the ``encode`` method of a
        sentence transformer.
    names : sequence of str, optional
        ``names[k]`` is the name of class ``k``. A name of several words that is not in a mapping or file itself gets
        the mean of their vectors.
    normalize : bool, default=False
        Scale the vectors to length 1, so that only their directions count.
    squared : bool, default=False
        Take the squares of the distances; at more than 5,000 classes their sums are much faster. With ``normalize``
        they are twice the cosine distances.
    missing : {"error", "mean"}, default="error"
        What to do about names without a vector: raise, or warn and put these classes at the mean distance.

    Returns
    -------
    ClassDistances

    Examples
    --------
    >>> words = {"house": [0.0, 0.0], "cat": [3.0, 4.0], "dog": [3.0, 5.0]}
    >>> embedding_distances(words, names=["house cat", "dog", "cat"]).matrix().round(2)
    array([[0.  , 3.35, 2.5 ],
           [3.35, 0.  , 1.  ],
           [2.5 , 1.  , 0.  ]])
    """
    if missing not in ("error", "mean"):
        raise ValueError(f"'missing' must be 'error' or 'mean'. Got {missing!r} instead.")
    rows: Any
    unknown: list[str] = []
    if isinstance(vectors, (Mapping, str, Path)) or callable(vectors):
        if names is None:
            raise ValueError("Vectors are looked up by the names of the classes. Give them as 'names'.")
        rows, unknown = (vectors(list(names)), []) if callable(vectors) else name_vectors(names, vectors)
    else:
        rows = vectors
    rows = sparse.csr_array(cast(Any, rows)) if sparse.issparse(rows) else np.asarray(rows, dtype=np.float64)
    if names is not None and rows.shape[:1] != (len(names),):
        raise ValueError(f"There must be one vector per name, {len(names)}. Got shape {rows.shape}.")
    if not unknown:
        return EmbeddingDistances(_unit_length(rows) if normalize else rows, squared=squared)
    shown = listed(unknown, 5)
    if missing == "error" or len(unknown) == len(rows):
        raise ValueError(
            f"{len(unknown)} of {len(rows)} names have no vector: {shown}. Rename them, or use missing='mean'."
        )
    warnings.warn(
        f"{len(unknown)} of {len(rows)} names have no vector and are put at the mean distance: {shown}.", stacklevel=2
    )
    known = np.flatnonzero(~np.isnan(rows).any(axis=1))
    distances = EmbeddingDistances(_unit_length(rows[known]) if normalize else rows[known], squared=squared)
    return PartialDistances(distances, known, n_classes=len(rows))


def _unit_length(rows: Any) -> Any:
    """Rows of length 1; those of length 0 stay."""
    squares = np.asarray((rows * rows).sum(axis=1), dtype=np.float64).ravel()
    return sparse.diags_array(1 / np.sqrt(np.where(squares > 0, squares, 1.0))) @ rows
