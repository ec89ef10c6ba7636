"""Draw many random codebooks at once, without rejecting most of the draws.

Entries are independent, on the condition that every column has both signs. If two columns are likely to be equal or
complementary (few codewords, many bits), columns are drawn without replacement from the list of all columns; if two
codewords are likely to be equal (few bits, many codewords), codewords are. Either way the condition is met by
construction instead of by drawing again and again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import comb

import numpy as np
from numpy.typing import NDArray

from codekin.code import CodingMatrix, IntArray
from codekin.code.geometry import packed_bits

DENSE = (-1, 1)
"""Equally likely entries of a dense code."""

SPARSE = (-1, 0, 0, 1)
"""Equally likely entries of a sparse code: half of them are zero."""

LIKELY_CLASHES = 0.5
"""From this expected number of equal pairs on, columns or codewords are drawn without replacement."""

NEVER = 1e-12
"""Less likely cases are ignored."""

Words = NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class Draws:
    """Some random codebooks: packed bits for comparing them, and a function from indices to their matrices.

    ``signs`` and ``used``, (n_draws, n_words, n_codewords), have a bit for each entry: whether it is +1, and whether
    not 0.
    """

    signs: Words
    used: Words
    matrices: Callable[[IntArray], CodingMatrix]

    def __len__(self) -> int:
        """The number of codebooks."""
        return len(self.signs)

    @classmethod
    def of(cls, drawn: CodingMatrix) -> Draws:
        """The draws with these matrices, (n_draws, n_codewords, n_bits)."""
        signs, used = (np.swapaxes(packed_bits(flags), 1, 2).copy() for flags in (drawn > 0, drawn != 0))
        return cls(signs, used, lambda numbers: drawn[numbers])


Sampler = Callable[[np.random.Generator, int], Draws]
"""Draws a number of codebooks with a generator."""


def codebook_sampler(n_codewords: int, n_bits: int, entries: tuple[int, ...]) -> Sampler:
    """A function that draws codebooks of this shape; equal columns or codewords are possible but unlikely."""
    # The probability that two entries are equal, that one is +1 (or -1), and that one is 0.
    equal = sum((entries.count(entry) / len(entries)) ** 2 for entry in set(entries))
    positive, zero = entries.count(1) / len(entries), entries.count(0) / len(entries)
    both_signs = 1 - 2 * (1 - positive) ** n_codewords + zero**n_codewords
    equal_columns = comb(n_bits, 2) * 2 * equal**n_codewords / both_signs**2
    equal_rows = comb(n_codewords, 2) * equal**n_bits
    if max(equal_columns, equal_rows) < LIKELY_CLASHES:
        return partial(_independent, n_codewords=n_codewords, n_bits=n_bits, entries=entries)
    if equal_rows > equal_columns:
        n_words = len(set(entries)) ** n_bits
        rows = partial(_chosen, patterns=np.arange(n_words), length=n_bits, n_chosen=n_codewords, entries=entries)
        return lambda rng, n_draws: Draws.of(rows(rng, n_draws))
    columns = partial(
        _chosen, patterns=useful_columns(n_codewords, entries), length=n_codewords, n_chosen=n_bits, entries=entries
    )
    return lambda rng, n_draws: Draws.of(columns(rng, n_draws).transpose(0, 2, 1))


def useful_columns(n_codewords: int, entries: tuple[int, ...]) -> IntArray:
    """The numbers of all columns that have both signs, one of each complementary pair; see :func:`digits`."""
    if 0 not in entries:
        # Those that end with -1, except the constant one.
        return np.arange(1, 2 ** (n_codewords - 1))
    columns = digits(np.arange(3**n_codewords), n_codewords, entries)
    # Complements sum to 3**K - 1, so exactly one of the two is below half of it.
    is_useful = (columns == 1).any(axis=1) & (columns == -1).any(axis=1)
    return np.flatnonzero(is_useful[: 3**n_codewords // 2])


def digits(patterns: IntArray, length: int, entries: tuple[int, ...]) -> CodingMatrix:
    """The digits of numbers in base 2 or 3 as entries -1 and +1, or -1, 0 and +1: (..., length), the lowest first."""
    values = np.unique(np.array(entries, dtype=np.int8))
    powers = len(values) ** np.arange(length)
    return np.asarray(values[patterns[..., None] // powers % len(values)])


def _independent(
    rng: np.random.Generator, n_draws: int, *, n_codewords: int, n_bits: int, entries: tuple[int, ...]
) -> Draws:
    """Entries drawn independently; a column that lacks a sign is drawn again."""
    stream = _Stream.drawn(rng, n_draws, n_codewords, n_bits, entries)
    lacks_a_sign = 2 * (1 - entries.count(1) / len(entries)) ** n_codewords
    if n_draws * n_bits * lacks_a_sign < NEVER:
        return Draws(*stream.words(), stream.matrices)
    drawn = stream.matrices(np.arange(n_draws))
    while True:
        one_sided = (drawn.max(axis=1) < 1) | (drawn.min(axis=1) > -1)
        book, bit = np.nonzero(one_sided)
        if not len(book):
            return Draws.of(drawn)
        again = _Stream.drawn(rng, 1, len(book), n_codewords, entries)
        drawn[book, :, bit] = again.matrices(np.zeros(1, dtype=np.intp))[0]


@dataclass(frozen=True, eq=False)
class _Stream:
    """Entries as random bits, which are by far the fastest to draw: one for a dense entry, two for a sparse one."""

    parts: tuple[NDArray[np.uint8], ...]
    n_draws: int
    n_codewords: int
    n_bits: int

    @classmethod
    def drawn(
        cls, rng: np.random.Generator, n_draws: int, n_codewords: int, n_bits: int, entries: tuple[int, ...]
    ) -> _Stream:
        """The entries of ``n_draws`` codebooks."""
        size = n_draws * n_codewords * n_bits
        n_parts = 1 if entries == DENSE else 2
        stream = np.frombuffer(rng.bytes(-(-size * n_parts // 8)), dtype=np.uint8)
        if n_parts == 1:
            return cls((stream,), n_draws, n_codewords, n_bits)
        bits = np.unpackbits(stream)
        return cls((np.packbits(bits[:size]), np.packbits(bits[size : 2 * size])), n_draws, n_codewords, n_bits)

    def words(self) -> tuple[Words, Words]:
        """Whether entries are +1, and whether they are not 0."""
        from codekin.kernels.hamming import pack_rows

        n_words = -(-self.n_bits // 64)
        packed = [np.empty((self.n_draws, n_words, self.n_codewords), dtype=np.uint64) for _ in self.parts]
        for part, words in zip(self.parts, packed, strict=True):
            pack_rows(np.concatenate([part, np.zeros(9, dtype=np.uint8)]), self.n_bits, words)
        every_bit = np.full((n_words, 1), ~np.uint64(0))
        every_bit[-1] <<= np.uint64(-self.n_bits % 64)
        # Two bits that are 1 make a sparse entry +1, and two that differ make it 0.
        if len(packed) == 1:
            return packed[0], np.broadcast_to(every_bit, packed[0].shape)
        return packed[0] & packed[1], ~(packed[0] ^ packed[1]) & every_bit

    def matrices(self, numbers: IntArray) -> CodingMatrix:
        """The codebooks with these indices, (n, n_codewords, n_bits)."""
        if len(numbers) == self.n_draws:
            bits = [np.unpackbits(part)[: self.n_draws * self._size] for part in self.parts]
        else:
            bits = [np.concatenate([self._bits(part, number) for number in numbers.tolist()]) for part in self.parts]
        # A dense entry is twice a bit minus one, a sparse entry the sum of two bits minus one.
        entries = bits[0].view(np.int8) + bits[-1].view(np.int8)
        entries -= 1
        return entries.reshape(len(numbers), self.n_codewords, self.n_bits)

    @property
    def _size(self) -> int:
        return self.n_codewords * self.n_bits

    def _bits(self, part: NDArray[np.uint8], number: int) -> NDArray[np.uint8]:
        start, stop = number * self._size, (number + 1) * self._size
        return np.unpackbits(part[start // 8 : -(-stop // 8)])[start % 8 : start % 8 + self._size]


def _chosen(
    rng: np.random.Generator, n_draws: int, *, patterns: IntArray, length: int, n_chosen: int, entries: tuple[int, ...]
) -> CodingMatrix:
    """Columns or codewords drawn from ``patterns`` without replacement, (n_draws, n_chosen, length)."""
    if 0 not in entries:
        chosen = [rng.choice(len(patterns), n_chosen, replace=False) for _ in range(n_draws)]
        return digits(patterns[np.array(chosen)], length, entries)
    # How likely each pattern is with independent entries, up to a factor.
    n_zeros = (digits(patterns, length, entries) == 0).sum(axis=1)
    keys = rng.exponential(size=(n_draws, len(patterns))) / float(entries.count(0)) ** n_zeros
    # The smallest exponential keys are successive draws without replacement, in proportion to the likelihoods.
    first = np.argpartition(keys, n_chosen - 1, axis=1)[:, :n_chosen]
    return digits(patterns[rng.permuted(first, axis=1)], length, entries)
