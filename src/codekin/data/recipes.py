"""What is counted in texts: recipes, each of one or several blocks of features side by side.

A word is a run of letters, digits and underscores of any length. It goes on over a point before a digit ("3.0",
"E11.9", "v2.1") and over plus and number signs at its end ("C++", "F#"). Characters are counted within what stands
between white space, with a space on both sides, so that scripts without spaces have features, too.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from math import isfinite
from numbers import Integral, Real
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from codekin._system.arrays import Arrays, as_narrow, check_counts, check_ends, check_indices
from codekin.code import FloatArray
from codekin.kernels.text import (
    CHARACTERS,
    IS_DIGIT,
    IS_KNOWN,
    IS_SPACE,
    IS_WORD,
    PREFIXES,
    SHORTEST,
    WORDS,
    count_terms,
    vocabulary_table,
)
from codekin.progress import report, reported

PATTERNS = {1: r"\w\w+", 2: r"\w+", 3: r"\w+(?:\.\d\w*)*(?:[+#]+(?![\w+#]))?"}
"""What a word is, for each version of the format: the first one left out words of one character."""
VERSION = max(PATTERNS)
FIND_WORDS: dict[int, Callable[[str], list[str]]] = {
    version: re.compile(pattern).findall for version, pattern in PATTERNS.items()
}
MAX_NGRAM = 100
"""The longest n-gram: the number of features of a text is this times its length."""

Kind = Literal["words", "characters", "prefixes"]
NUMBER_OF_KIND = {"words": WORDS, "characters": CHARACTERS, "prefixes": PREFIXES}
MARKS = {"words": "{}", "characters": "[{}]", "prefixes": "{}*"}
"""How terms are shown where there are several blocks. No word has these marks."""


class NoFeaturesError(ValueError):
    """Nothing in these samples can be learned from."""


@dataclass(frozen=True)
class Block:
    """A kind of terms that are counted in texts.

    Parameters
    ----------
    kind : {"words", "characters", "prefixes"}
        N-grams of words, characters within words, or the first letters of longer words.
    ngrams : tuple of two int
        The shortest and the longest n-grams; for prefixes, how many letters.
    min_df : int, default=1
        Leave out terms that occur in fewer texts.
    weight : float, default=1
        What the values of this block are multiplied by before rows are scaled to length one.
    reranks : bool, default=False
        Whether a code does not learn from this block where a re-ranking does: that takes less time.
    """

    kind: Kind
    ngrams: tuple[int, int]
    min_df: int = 1
    weight: float = 1.0
    reranks: bool = False

    @classmethod
    def of_state(cls, settings: Mapping[str, Any]) -> Block:
        """The block that the state of a vectorizer describes. Raises ValueError if it describes none."""
        block = cls(**{**settings, "ngrams": checked_ngrams("ngrams", settings["ngrams"])})
        if block.kind not in get_args(Kind):
            raise ValueError(f"A block of text features is of words, characters or prefixes. Got {block.kind!r}.")
        if not (is_count(block.min_df) and is_number(block.weight) and isfinite(block.weight) and block.weight > 0):
            raise ValueError(
                "A block of text features needs a 'min_df' of at least 1 and a positive weight. "
                f"Got {block.min_df!r} and {block.weight!r}."
            )
        if not isinstance(block.reranks, bool):
            raise ValueError(f"The 'reranks' of a block of text features is true or false. Got {block.reranks!r}.")
        return block

    def term(self, text: str, start: int, stop: int, version: int) -> str:
        """The term that the kernel found there, in a text in lower case."""
        if self.kind == "words":
            return " ".join(FIND_WORDS[version](text[start:stop]))
        # White space, and what is outside of the text, stands for the space around a word.
        before, after = " " * (start < 0), " " * (stop > len(text))
        term = before + text[max(start, 0) : stop] + after
        return "".join(" " if letter.isspace() else letter for letter in term)


def checked_ngrams(name: str, ngrams: Any) -> tuple[int, int]:
    """The shortest and the longest n-grams as integers. Raises ValueError if they are not."""
    is_pair = isinstance(ngrams, tuple | list) and len(ngrams) == 2 and all(map(is_count, ngrams))
    if not (is_pair and ngrams[0] <= ngrams[1] <= MAX_NGRAM):
        raise ValueError(
            f"The '{name}' of text features must be two integers, 1 <= from <= to <= {MAX_NGRAM}. Got {ngrams} instead."
        )
    return int(ngrams[0]), int(ngrams[1])


def is_count(value: Any) -> bool:
    """Whether a value is an integer of at least one."""
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 1  # type: ignore[unreachable]


def is_number(value: Any) -> bool:
    """Whether a value is a real number."""
    return isinstance(value, Real) and not isinstance(value, bool)


_WORDS = Block("words", (1, 2))
_PREFIXES = Block("prefixes", (3, 3)), Block("prefixes", (5, 5))
_TRIGRAMS = Block("characters", (3, 3), min_df=3)
RECIPES: dict[str, tuple[Block, ...]] = {
    "words": (_WORDS,),
    "words+prefixes": (_WORDS, *_PREFIXES),
    "words+prefixes+trigrams": (_WORDS, *_PREFIXES, replace(_TRIGRAMS, reranks=True)),
    "words+trigrams": (_WORDS, _TRIGRAMS),
    "characters": (Block("characters", (2, 4), min_df=2),),
}
"""The blocks of each recipe; for the first four, the time of a prediction grows in this order."""
AUTO = "auto"
"""Features that a trial chooses."""


def choices_of_old(settings: Mapping[str, Any], n_terms: int) -> dict[str, Any]:
    """The choices of a state before version 3, which had one block."""
    names = {"version", "method", "analyzer", "ngram_range", "min_df", "max_features", "n_features"}
    if not set(settings) <= names:
        raise KeyError(*(set(settings) - names))
    features = {"word": "words", "char_wb": "characters"}[settings["analyzer"]]
    is_hashed = {"tfidf": False, "hashing": True}[settings["method"]]
    return {
        "version": settings.get("version", 1),
        "features": features,
        "n_columns": settings["n_features"] if is_hashed else 0,
        "blocks": [{"kind": features, "ngrams": tuple(settings["ngram_range"]), "min_df": settings["min_df"]}],
        "max_features": settings.get("max_features"),
        "n_terms": [] if is_hashed else [n_terms],
    }


# ----- texts as the kernels take them -------------------------------------------------------------------------------

LETTERS_AT_A_TIME = 2**18
"""Texts are given to the kernels in groups of about this many letters."""
N_ASCII, N_POINTS = 128, 0x110000

FLAGS = np.zeros(N_POINTS, np.uint8)
"""What is known about each code point that has occurred."""


def code_points(texts: Sequence[str]) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
    """The code points of texts in lower case, and where the texts end; what is to be known about them is then known."""
    lowered = [text.lower() for text in texts]
    whole = lowered[0] if len(lowered) == 1 else "".join(lowered)
    points = np.frombuffer(whole.encode("utf-32-le", errors="surrogatepass"), np.uint32)
    if not whole.isascii():
        _learn(points[FLAGS[points] == 0])
    return points, np.fromiter(accumulate(map(len, lowered)), np.int64, len(lowered))


def _learn(points: NDArray[np.uint32]) -> None:
    """Find out what code points are, in the words of Python's regular expressions."""
    for point in np.unique(points).tolist():
        letter = chr(point)
        is_word, is_digit, is_space = letter.isalnum() or letter == "_", letter.isdecimal(), letter.isspace()
        FLAGS[point] = IS_KNOWN | IS_WORD * is_word | IS_DIGIT * is_digit | IS_SPACE * is_space


_learn(np.arange(N_ASCII, dtype=np.uint32))


def points_in_groups(texts: Iterable[str]) -> Iterator[tuple[NDArray[np.uint32], NDArray[np.int64]]]:
    """Yields the :func:`code_points` of texts in groups of limited length. Raises if something else is among them."""
    if isinstance(texts, str):
        raise ValueError(f"Texts must be a list of strings, or another iterable. Got the string {texts[:40]!r}.")
    group: list[str] = []
    n_letters = 0
    for number, text in enumerate(texts):
        if not isinstance(text, str):
            raise TypeError(f"Texts must be strings. Got {text!r} as text {number}.")
        group.append(text)
        n_letters += len(text)
        if n_letters >= LETTERS_AT_A_TIME:
            yield code_points(group)
            group, n_letters = [], 0
    if group:
        yield code_points(group)


def kernel_vocabulary(blocks: Sequence[Block], terms: Sequence[str], n_terms: Sequence[int]) -> tuple[Any, ...]:
    """The blocks, and the table of the terms that each of them has, as kernels take them."""
    points, ends = code_points(terms)
    of_blocks = _blocks_array(blocks)
    return of_blocks, vocabulary_table(points, ends, np.array([*accumulate(n_terms)], np.int64), of_blocks)


def learned_terms(
    texts: Sequence[str], blocks: Sequence[Block], most: int | None
) -> tuple[tuple[str, ...], NDArray[np.int32], NDArray[np.int32]]:
    """The terms of texts, in order, block by block, the number of the block of each, and in how many texts it is.

    With ``most``, those that are in most texts.
    """
    facts = _counted_terms(reported(texts, "learning the vocabulary", unit="texts"), _blocks_array(blocks))
    facts = facts[facts[:, 0] >= np.array([block.min_df for block in blocks])[facts[:, 5]]]
    report("sorting the vocabulary")
    numbers, terms = facts[:, 5].tolist(), _found_terms(texts, blocks, facts)
    order = sorted(range(len(terms)), key=lambda i: (numbers[i], terms[i]))
    if most is not None:
        kept = sorted(order, key=lambda i: -facts[i, 0])[:most]
        order = sorted(kept, key=lambda i: (numbers[i], terms[i]))
    return tuple(terms[i] for i in order), facts[order, 5], facts[order, 0]


def _counted_terms(texts: Iterable[str], blocks: NDArray[np.int64]) -> NDArray[np.int32]:
    """For each term of texts: in how many it is, the last and the first of them, where it is there, and its block."""
    slots, keys, facts = (
        np.full(SHORTEST, -1, np.int32),
        np.zeros(SHORTEST, np.uint64),
        np.zeros((SHORTEST, 6), np.int32),
    )
    n_terms = n_texts = 0
    for points, ends in points_in_groups(texts):
        slots, keys, facts, n_terms = count_terms(
            points, ends, n_texts, FLAGS, VERSION, blocks, slots, keys, facts, n_terms
        )
        n_texts += len(ends)
    return facts[:n_terms]


def _blocks_array(blocks: Sequence[Block]) -> NDArray[np.int64]:
    """The blocks as kernels take them."""
    return np.array([(NUMBER_OF_KIND[block.kind], *block.ngrams) for block in blocks], dtype=np.int64)


def _found_terms(texts: Sequence[str], blocks: Sequence[Block], facts: NDArray[np.int32]) -> list[str]:
    """The terms that :func:`_counted_terms` found; each text is lowered once."""
    lowered: dict[int, str] = {}
    found = []
    for _, _, number, start, stop, block in facts.tolist():
        if number not in lowered:
            lowered = {number: texts[number].lower()}
        found.append(blocks[block].term(lowered[number], start, stop, VERSION))
    return found


# ----- a vocabulary as arrays of a model folder ----------------------------------------------------------------------

# Terms are stored in order, each without the prefix that it shares with the previous one: sorted words, and even more
# so pairs of words, share prefixes, so that a third of the letters remains. Weights are indices into a table of
# distinct values: rare words, which are most of a vocabulary, share a few.

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


def terms_within(terms: Sequence[str], weights: FloatArray, rarity: FloatArray, n_bytes: int) -> NDArray[np.intp]:
    """The places, in increasing order, of as many of the most frequent terms as fit into this many bytes.

    At least one is kept.
    """
    coded = CodedWords(terms)
    # Among equally frequent terms the short ones are cheaper.
    order = np.lexsort((np.array([len(term) for term in terms]), rarity))

    def is_within(n_terms: int) -> bool:
        of_weights = sum(array.nbytes for array in coded_weights(weights[order[:n_terms]]).values())
        return coded.n_bytes(np.sort(order[:n_terms])) + of_weights <= n_bytes

    n_kept = len(order)
    if not is_within(n_kept):
        n_kept = bisect_left(range(2, n_kept + 1), True, key=lambda n_terms: not is_within(n_terms)) + 1
    return np.sort(order[:n_kept])


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
