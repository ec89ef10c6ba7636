"""How many samples each of many assignments of one codebook gets right, by additions of tabulated numbers only.

Let ``g`` be the agreement of a sample's margins with +1 (:mod:`codekin.decoding.losses`), one number per two-way split
of the classes, and ``t`` the same number turned towards the sample's own class ``y``. A class whose codeword differs
from that of ``y`` in the bits ``D`` has a larger loss than ``y`` exactly if ``sum(t[split of bit j] for j in D) > 0``.
Which bits these are depends on the two codewords alone, so the sums of all pairs of codewords are laid out as straight
lines of code, in which partial sums that several of them need are made once. The text of the function depends on the
codebook and is compiled for it, in some seconds; everything it adds up is an integer, so no order of additions matters.
"""

from collections import Counter
from functools import lru_cache
from itertools import combinations

import numpy as np
from numba import njit

LANES = 128
"""How many samples a block has; the table of 511 splits of a block of int32 then fits in the second-level cache."""

PADDING = -1
"""What stands in the place of samples that are missing in a block: no assignment gets it right."""


@njit(cache=True, nogil=True)
def fill_assignments(ranks, codewords, codeword_of_class, class_of_codeword, splits):
    """Spell out assignments that are given by their places in lexicographic order.

    Parameters
    ----------
    ranks : int64 array of shape (n_assignments,)
    codewords : int8 array of shape (n, n_bits)
        As many codewords as classes, at most 15.
    codeword_of_class, class_of_codeword : int8 arrays of shape (n_assignments, n), changed in place
    splits : int16 array of shape (n_assignments, n_bits), changed in place
        The classes on one side of each bit, as a mask; of the two sides, the one without the last class.
    """
    n, n_bits = codewords.shape
    left = np.empty(n, np.int64)
    everyone = (1 << n) - 1
    for a in range(ranks.shape[0]):
        rest = ranks[a]
        block = 1
        for k in range(n):
            left[k] = k
            block *= k + 1
        for k in range(n):
            block //= n - k
            digit = rest // block
            rest -= digit * block
            codeword_of_class[a, k] = left[digit]
            class_of_codeword[a, left[digit]] = k
            for i in range(digit, n - k - 1):
                left[i] = left[i + 1]
        for j in range(n_bits):
            mask = 0
            for k in range(n):
                if codewords[codeword_of_class[a, k], j] > 0:
                    mask |= 1 << k
            if mask >> (n - 1):
                mask = everyone ^ mask
            splits[a, j] = mask


def sweep_kernel(codewords):
    """The compiled function that counts, for one codebook, the samples that assignments get right.

    Parameters
    ----------
    codewords : int8 array of shape (n, n_bits)
        Entries -1 and +1.

    Returns
    -------
    callable
        ``count(tables, class_of_block, codeword_of_class, class_of_codeword, splits, n_correct)``: adds to
        ``n_correct``, int32 of shape (n_assignments,). ``tables``, int32 of shape (n_blocks, 2**(n - 1), LANES), holds
        ``t`` for the samples of each block, which are all of class ``class_of_block``; the other arrays are those of
        :func:`fill_assignments`. Of classes with equal losses the lowest is the answer.
    """
    codewords = np.ascontiguousarray(codewords, dtype=np.int8)
    return _compiled(codewords.tobytes(), codewords.shape)


@lru_cache(maxsize=8)
def _compiled(content, shape):
    namespace = {"LANES": LANES, "int32": np.int32}
    exec(sweep_source(np.frombuffer(content, dtype=np.int8).reshape(shape)), namespace)
    return njit(nogil=True)(namespace["count"])


def sweep_source(codewords):
    """The text of the function that :func:`sweep_kernel` compiles.

    Parameters
    ----------
    codewords : int8 array of shape (n, n_bits)

    Returns
    -------
    str
    """
    n, n_bits = codewords.shape
    lines = [
        "def count(tables, class_of_block, codeword_of_class, class_of_codeword, splits, n_correct):",
        "    for block in range(tables.shape[0]):",
        "        t = tables[block]",
        "        y = class_of_block[block]",
        "        for a in range(splits.shape[0]):",
        "            own = codeword_of_class[a, y]",
        "            n_wrong = int32(0)",
        *(f"            s{j} = splits[a, {j}]" for j in range(n_bits)),
    ]
    for own in range(n):
        others = [c for c in range(n) if c != own]
        steps, sums = shared_sums([np.flatnonzero(codewords[c] != codewords[own]).tolist() for c in others], n_bits)
        lines.append(f"            {'if' if own == 0 else 'elif'} own == {own}:")
        # An equal loss is enough for a lower class to win: its sum must be above zero, not only at zero.
        lines += [f"                e{c} = int32(class_of_codeword[a, {c}] < y)" for c in others]
        lines.append("                for i in range(LANES):")
        indent = " " * 20
        lines += [f"{indent}v{j} = t[s{j}, i]" for j in range(n_bits)]
        # Without the casts, Numba would add in 64 bits, half as many at a time.
        lines += [f"{indent}v{k} = int32(v{a} + v{b})" for k, (a, b) in enumerate(steps, start=n_bits)]
        leads = [f"int32(v{k} - e{c})" for k, c in zip(sums, others, strict=True)]
        lines.append(f"{indent}lead = {leads[0]}")
        lines += [f"{indent}lead = min(lead, {lead})" for lead in leads[1:]]
        lines.append(f"{indent}n_wrong = int32(n_wrong + ((lead >> int32(31)) & int32(1)))")
    lines.append("            n_correct[a] += int32(LANES) - n_wrong")
    return "\n".join(lines) + "\n"


def shared_sums(sets, n_terms):
    """A short sequence of additions that makes the sums over several sets, after Paar (1997).

    The pair of terms that occurs in most sets is added once and takes the place of both, until one term is left of
    every set.

    Parameters
    ----------
    sets : list of lists of int
        Terms ``0..n_terms - 1``, at least one in each set.
    n_terms : int

    Returns
    -------
    steps : list of (int, int)
        Step ``k`` makes term ``n_terms + k``, the sum of two earlier terms.
    sums : list of int
        The term that is the sum over each set.
    """
    remaining = [set(terms) for terms in sets]
    steps = []
    while True:
        pairs = Counter(pair for terms in remaining for pair in combinations(sorted(terms), 2))
        if not pairs:
            return steps, [terms.pop() for terms in remaining]
        pair = min(pairs, key=lambda candidate: (-pairs[candidate], candidate))
        for terms in remaining:
            if terms.issuperset(pair):
                terms.difference_update(pair)
                terms.add(n_terms + len(steps))
        steps.append(pair)
