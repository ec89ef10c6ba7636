"""The terms of a vocabulary and their weights as arrays of a model folder.

Terms are stored in order, each without the prefix that it shares with the previous one: sorted words, and even more so
pairs of words, share prefixes, so that a third of the letters remains. Weights are indices into a table of distinct
values: rare words, which are most of a vocabulary, share a few.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from codekin._system.arrays import Arrays, as_narrow, check_counts, check_ends, check_indices
from codekin.code import FloatArray

MOST_SHARED = 31
"""The longest shared prefix in bytes, so that no file can expand to many times its size."""


class CodedWords:
    """Words in an order in which neighbours share prefixes; it works best for sorted words.

    >>> words = CodedWords(["cat", "cat purrs", "dog"])
    >>> words.arrays()["letters"].tobytes()
    b'cat purrsdog'
    >>> words.n_bytes(np.array([0, 2]))
    10
    """

    def __init__(self, words: Sequence[str]) -> None:
        self._words = [word.encode(errors="surrogatepass") for word in words]
        self._lengths = np.array([len(word) for word in self._words], dtype=np.int64)
        beginnings = np.array(self._words, dtype=f"S{MOST_SHARED}") if self._words else np.zeros(0, f"S{MOST_SHARED}")
        self._beginnings = beginnings.view(np.uint8).reshape(-1, MOST_SHARED)

    def n_bytes(self, kept: NDArray[np.intp]) -> int:
        """The bytes of the arrays for some of the words, given in increasing order."""
        shared, lengths = self._shared(kept), self._lengths[kept]
        rests = as_narrow(lengths - shared)
        return int((lengths - shared).sum()) + shared.astype(np.uint8).nbytes + rests.nbytes

    def arrays(self) -> Arrays:
        """The bytes that words do not share, how many each word has, and how many it shares."""
        shared = self._shared(np.arange(len(self._words)))
        letters = b"".join(word[n:] for word, n in zip(self._words, shared.tolist(), strict=True))
        return {
            "letters": np.frombuffer(letters, np.uint8),
            "n_letters": as_narrow(self._lengths - shared),
            "n_shared": shared.astype(np.uint8),
        }

    def _shared(self, kept: NDArray[np.intp]) -> NDArray[np.int64]:
        """How many bytes each word shares with the one before it."""
        beginnings, lengths = self._beginnings[kept], self._lengths[kept]
        shared = np.zeros(len(kept), dtype=np.int64)
        is_alike = np.logical_and.accumulate(beginnings[1:] == beginnings[:-1], axis=1)
        shared[1:] = np.minimum(is_alike.sum(axis=1), np.minimum(lengths[1:], lengths[:-1]))
        return shared


def decoded_words(arrays: Mapping[str, NDArray[Any]]) -> tuple[str, ...]:
    """The words that :meth:`CodedWords.arrays` describes. Raises ValueError if the arrays do not fit together."""
    n_letters, n_shared = arrays["n_letters"], arrays["n_shared"]
    letters = arrays["letters"].tobytes()
    check_counts(n_letters, len(letters), "the numbers of letters in the state of this text vectorizer")
    check_indices(n_shared, MOST_SHARED + 1, "the numbers of shared letters in the state of this text vectorizer")
    if n_letters.shape != n_shared.shape:
        raise ValueError("Every word in the state of this text vectorizer needs two numbers of letters.")
    ends = np.cumsum(n_letters, dtype=np.int64).tolist()
    words, word, start = [], b"", 0
    for end, n in zip(ends, n_shared.tolist(), strict=True):
        if n > len(word):
            raise ValueError("A word in the state of this text vectorizer shares more letters than there are.")
        word = word[:n] + letters[start:end]
        words.append(word.decode(errors="surrogatepass"))
        start = end
    return tuple(words)


def coded_terms(terms: Sequence[str], weights: FloatArray) -> Arrays:
    """The arrays of a vocabulary, which :func:`terms_and_weights` reads."""
    return {**CodedWords(terms).arrays(), **coded_weights(weights)}


def coded_weights(weights: FloatArray) -> Arrays:
    """The distinct weights, and the index of each word's weight."""
    values, numbers = np.unique(weights, return_inverse=True)
    return {"idf_values": values, "idf_numbers": as_narrow(numbers)}


def decoded_weights(arrays: Mapping[str, NDArray[Any]]) -> FloatArray:
    """The weights that :func:`coded_weights` describes. Raises ValueError if there is no weight of some number."""
    values, numbers = np.asarray(arrays["idf_values"], dtype=np.float64), arrays["idf_numbers"]
    check_indices(numbers, len(values), "the numbers of weights in the state of this text vectorizer")
    return np.asarray(values[numbers])


def terms_and_weights(arrays: Mapping[str, NDArray[Any]]) -> tuple[tuple[str, ...], FloatArray]:
    """The vocabulary that arrays describe, which may be none. Raises ValueError if they do not fit together."""
    if "vocabulary" in arrays:  # before version 3 of the model folder
        ends = np.concatenate([np.zeros(1, arrays["word_end"].dtype), arrays["word_end"]])
        letters = arrays["vocabulary"].tobytes()
        check_ends(ends, len(letters), "the ends of words in the state of this text vectorizer")
        words = tuple(letters[start:stop].decode(errors="surrogatepass") for start, stop in pairwise(ends.tolist()))
        return words, np.asarray(arrays["idf"], dtype=np.float64)
    if not arrays:
        return (), np.zeros(0)
    return decoded_words(arrays), decoded_weights(arrays)
