"""Class distances from vectors of the classes, given as such or found by the words of their names."""

from __future__ import annotations

import gzip
import re
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from codekin.classes import ClassDistances
from codekin.classes._tree_arrays import listed
from codekin.classes.interface import PartialDistances
from codekin.classes.vectors import EmbeddingDistances
from codekin.code import FloatArray


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
    rows: Any = vectors
    unknown: list[str] = []
    if isinstance(vectors, (Mapping, str, Path)) or callable(vectors):
        if names is None:
            raise ValueError("Vectors are looked up by the names of the classes. Give them as 'names'.")
        rows, unknown = (vectors(list(names)), []) if callable(vectors) else name_vectors(names, vectors)
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


def read_word_vectors(path: str | Path, words: Iterable[str]) -> dict[str, FloatArray]:
    """The vectors of some words in a file of word vectors.

    Parameters
    ----------
    path : str or Path
        A text file with a word and its numbers on each line, as GloVe, word2vec and fastText (``.vec``) write them,
        with or without a first line of two counts; compressed if its name ends in ``.gz``.
    words : iterable of str
        The words to look for, in exactly this spelling.

    Returns
    -------
    dict
        Maps each word that was found to its vector; the first one if a word occurs twice.
    """
    source = Path(path)
    wanted = {word.encode(): word for word in words}
    found: dict[str, FloatArray] = {}
    n_dimensions = 0
    with cast("IO[bytes]", gzip.open(source, "rb") if source.suffix == ".gz" else source.open("rb")) as file:
        for number, line in enumerate(file, start=1):
            if number == 1:
                fields = line.split()
                if len(fields) < 2 or b"\0" in line:
                    expected = "a word and its numbers were expected, in text; binary files must be converted"
                    raise ValueError(f"{source}, line 1: {expected}.")
                n_dimensions = len(fields) - 1
                if n_dimensions == 1 and fields[0].isdigit() and fields[1].isdigit():
                    n_dimensions = int(fields[1])
                    continue
            # Most lines end here, so their numbers are not parsed before.
            word = wanted.get(line.split(None, 1)[0] if line.strip() else b"")
            if word is None or word in found:
                continue
            numbers = line.split()[1:]
            if len(numbers) > n_dimensions:
                continue  # a phrase of several words that begins with this one
            try:
                vector = np.array(numbers, dtype=np.float64)
            except ValueError:
                raise ValueError(
                    f"{source}, line {number}: something in the vector of {word!r} is not a number."
                ) from None
            if len(vector) < n_dimensions:
                wrong = f"the vector of {word!r} has {len(vector)} numbers; {n_dimensions} expected"
                raise ValueError(f"{source}, line {number}: {wrong}.")
            found[word] = vector
            if len(found) == len(wanted):
                break
    return found


def name_vectors(names: Sequence[str], vectors: Mapping[str, ArrayLike] | str | Path) -> tuple[FloatArray, list[str]]:
    """A vector for each name: that of the name as one word, or else the mean of the vectors of its words.

    Names are looked up as they are and in lower, capitalised and upper case, also with their words joined by
    underscores. Words without a vector are left out of a mean. The second result lists the names without a vector,
    whose rows are NaN.

    >>> name_vectors(["aquarium_fish", "yeti"], {"aquarium": [0, 2], "fish": [2, 0], "cat": [1, 3]})
    (array([[ 1.,  1.],
           [nan, nan]]), ['yeti'])
    """
    # For each name what to look up: first as one word, then its words; each in its spellings, best first.
    ways = [[[_spellings(name)], [_spellings(word) for word in words_of(name)]] for name in names]
    known: Mapping[str, Any] = vectors if isinstance(vectors, Mapping) else {}
    if not isinstance(vectors, Mapping):
        known = read_word_vectors(vectors, {text for way in ways for words in way for word in words for text in word})
    rows: list[FloatArray | None] = []
    for way in ways:
        found = ([next((known[text] for text in word if text in known), None) for word in words] for words in way)
        parts = next(filter(None, ([part for part in parts if part is not None] for parts in found)), None)
        rows.append(None if parts is None else np.mean(np.asarray(parts, dtype=np.float64), axis=0))
    n_dimensions = next((len(row) for row in rows if row is not None), 0)
    nothing = np.full(n_dimensions, np.nan)
    matrix = np.array([nothing if row is None else row for row in rows]).reshape(len(rows), n_dimensions)
    return matrix, [name for name, row in zip(names, rows, strict=True) if row is None]


def words_of(name: str) -> list[str]:
    """The words of a name, at spaces, underscores, hyphens and other signs."""
    return re.findall(r"[^\W_]+", name)


def _spellings(name: str) -> list[str]:
    """Spellings of a name as one word, best first."""
    forms = (name, "_".join(words_of(name)))
    return list(dict.fromkeys(case(form) for case in (str, str.lower, str.capitalize, str.upper) for form in forms))
