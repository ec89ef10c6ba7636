"""How many samples each of many assignments of one codebook gets right, by additions of tabulated numbers only.

Let ``g`` be the agreement of a sample's margins with +1 (:mod:`codekin.decoding.losses`), one number per two-way split
of the classes, and ``t`` the same number turned towards the sample's own class ``y``. A class whose codeword differs
from that of ``y`` in the bits ``D`` has a larger loss than ``y`` exactly if ``sum(t[split of bit j] for j in D) > 0``.
Which bits these are depends only on the two codewords, so the sums of all pairs of codewords are written as
straight-line code that computes shared partial sums once. The code depends on the codebook and is compiled for it, in
some seconds.

It adds numbers of 16 bits, 16 at a time on a processor with registers of 256 bits. Sums saturate, and a sum may be so
close to zero that rounding has changed its sign: such samples are computed again with exact numbers. All exact sums are
sums of integers, so the order of additions does not matter.
"""

from collections import Counter
from functools import lru_cache
from itertools import combinations

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from codekin.kernels.calling import njit

LANES = 128
"""The number of samples of a block; the rows that a few hundred assignments need then stay in fast caches."""

PADDING = -1_000
"""The value of samples that are missing in a block: no assignment gets them right."""


@intrinsic
def saturating_sum(_, a, b):
    """The sum of two int16, or the int16 that is closest to it: one instruction for many of them."""

    def code(_context, builder, _signature, terms):
        int16 = terms[0].type
        function = ir.FunctionType(int16, [int16, int16])
        return builder.call(builder.module.declare_intrinsic("llvm.sadd.sat", [int16], function), terms)

    return types.int16(a, b), code


@njit(cache=True, nogil=True)
def fill_assignments(ranks, codewords, codeword_of_class, class_of_codeword, splits):
    """Spell out assignments of at most 15 codewords that are given by their places in lexicographic order.

    ``splits`` receives the classes on one side of each bit, as a mask; of the two sides, the one without the last
    class.
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


@njit(cache=True, nogil=True)
def group_by_codeword(codeword_of_class, places, first):
    """For every class, list assignments by the codeword that it has in them, in rising order.

    ``places[k, first[k, c]:first[k, c + 1]]`` are those in which class ``k`` has codeword ``c``.
    """
    n_assignments, n = codeword_of_class.shape
    following = np.empty(n, np.int64)
    first[:] = 0
    for k in range(n):
        for a in range(n_assignments):
            first[k, codeword_of_class[a, k] + 1] += 1
        for c in range(n):
            first[k, c + 1] += first[k, c]
            following[c] = first[k, c]
        for a in range(n_assignments):
            c = codeword_of_class[a, k]
            places[k, following[c]] = a
            following[c] += 1


@njit(cache=True, nogil=True)
def count_exactly(table, y, plans, sums, codeword_of_class, class_of_codeword, splits, is_wanted, n_correct):
    """Count the samples of a block that some assignments get right; of classes with equal losses the lowest wins.

    ``table``, int32 (n_splits, LANES), has ``t``, not rounded, of samples of class ``y``; ``plans`` and ``sums`` are
    those of :func:`plans_of_sums`. Adds to ``n_correct`` of the assignments that ``is_wanted``.
    """
    n_bits, n_steps = splits.shape[1], plans.shape[1]
    v = np.empty((n_bits + n_steps, LANES), np.int32)
    lead = np.empty(LANES, np.int32)
    for a in range(splits.shape[0]):
        if not is_wanted[a]:
            continue
        own = codeword_of_class[a, y]
        for j in range(n_bits):
            split = splits[a, j]
            for i in range(LANES):
                v[j, i] = table[split, i]
        for step in range(n_steps):
            if plans[own, step, 0] == plans[own, step, 1]:
                break
            # Unsigned, so that no index counts from the end and the loop need not check.
            left, right = np.uint64(plans[own, step, 0]), np.uint64(plans[own, step, 1])
            target = np.uint64(n_bits + step)
            for i in range(LANES):
                v[target, i] = v[left, i] + v[right, i]
        lead[:] = 0
        for c in range(sums.shape[0]):
            if c != own:
                # An equal loss is enough for a lower class to win: its sum must be above zero, not only at zero.
                handicap = np.int32(class_of_codeword[a, c] < y)
                source = np.uint64(sums[own, c])
                for i in range(LANES):
                    lead[i] = min(lead[i], np.int32(v[source, i] - handicap))
        n_right = 0
        for i in range(LANES):
            n_right += lead[i] >= 0
        n_correct[a] += n_right


def plans_of_sums(codewords):
    """For each codeword, how to add up the bits in which it differs from the other ones.

    Returns the terms that :func:`shared_sums` adds up in each step, (n, n_steps, 2), zeros after the last step, and the
    term that is the sum over the bits in which two codewords differ, (n, n).
    """
    n = len(codewords)
    steps_and_sums = [_steps_and_sums(codewords, own) for own in range(n)]
    plans = np.zeros((n, max(len(steps) for steps, _ in steps_and_sums), 2), dtype=np.int64)
    sums = np.zeros((n, n), dtype=np.int64)
    for own, (steps, sums_of_others) in enumerate(steps_and_sums):
        plans[own, : len(steps)] = np.reshape(steps, (-1, 2))
        sums[own, np.arange(n) != own] = sums_of_others
    return plans, sums


def sweep_kernel(codewords, is_rounded):
    """The compiled function that counts, for one codebook, the samples of a block that assignments get right.

    ``count(table, y, places, first, class_of_codeword, splits, slack, n_correct, is_open)`` adds to ``n_correct``.
    ``table``, int16 (2**(n - 1), LANES), holds ``t`` of samples of class ``y``; ``places`` and ``first`` are the rows
    of :func:`group_by_codeword` for that class. If numbers are rounded, assignments with a sum from ``-slack`` to
    ``slack`` are marked in ``is_open``, for :func:`count_exactly`, and not counted; if not, of classes with equal
    losses the lowest wins.
    """
    codewords = np.ascontiguousarray(codewords, dtype=np.int8)
    return _compiled(codewords.tobytes(), codewords.shape, is_rounded)


@lru_cache(maxsize=8)
def _compiled(content, shape, is_rounded):
    namespace = {"LANES": LANES, "int16": np.int16, "uint16": np.uint16, "int32": np.int32, "plus": saturating_sum}
    exec(sweep_source(np.frombuffer(content, dtype=np.int8).reshape(shape), is_rounded), namespace)
    return njit(nogil=True)(namespace["count"])


def sweep_source(codewords, is_rounded):
    """The text of the function that :func:`sweep_kernel` compiles."""
    n = len(codewords)
    lines = [
        "def count(table, y, places, first, class_of_codeword, splits, slack, n_correct, is_open):",
        "    least, most = int16(-slack), int16(slack)",
    ]
    for own in range(n):
        lines += [
            f"    for place in range(first[{own}], first[{own + 1}]):",
            "        a = places[place]",
            *(f"        {line}" for line in (_rounded_lines if is_rounded else _exact_lines)(codewords, own)),
        ]
    return "\n".join(lines) + "\n"


def _rounded_lines(codewords, own):
    return [
        "counts = uint16(0)",
        *_lead_lines(codewords, own, has_handicaps=False),
        # Two counts in one number, a byte each: sums below the slack, and sums not above it.
        "    counts = uint16(counts + uint16(lead < least) + (uint16(lead <= most) << uint16(8)))",
        "n_below, n_not_above = counts & uint16(255), counts >> uint16(8)",
        "is_open[a] = n_below != n_not_above",
        "n_correct[a] += int32(LANES - n_below) * int32(n_below == n_not_above)",
    ]


def _exact_lines(codewords, own):
    """An equal loss is enough for a lower class to win: its sum must be above zero, not only at zero."""
    return [
        *(f"e{c} = int16(class_of_codeword[a, {c}] < y)" for c in range(len(codewords)) if c != own),
        "n_below = uint16(0)",
        *_lead_lines(codewords, own, has_handicaps=True),
        "    n_below = uint16(n_below + uint16(lead < int16(0)))",
        "n_correct[a] += int32(LANES) - int32(n_below)",
    ]


def _lead_lines(codewords, own, *, has_handicaps):
    """A loop over the samples, up to the least sum by which the codeword ``own`` leads another one."""
    n, n_bits = codewords.shape
    steps, sums = _steps_and_sums(codewords, own)
    others = [c for c in range(n) if c != own]
    leads = [f"int16(v{k} - e{c})" if has_handicaps else f"v{k}" for k, c in zip(sums, others, strict=True)]
    return [
        *(f"s{j} = splits[a, {j}]" for j in range(n_bits)),
        "for i in range(LANES):",
        *(f"    v{j} = table[s{j}, i]" for j in range(n_bits)),
        *(f"    v{k} = plus(v{a}, v{b})" for k, (a, b) in enumerate(steps, start=n_bits)),
        f"    lead = min({', '.join(leads)})",
    ]


def _steps_and_sums(codewords, own):
    others = np.delete(codewords, own, axis=0)
    return shared_sums([np.flatnonzero(word != codewords[own]).tolist() for word in others], codewords.shape[1])


def shared_sums(sets, n_terms):
    """A short sequence of additions that makes the sums over several sets of terms, after Paar (1997).

    The pair of terms that occurs in most sets is added once and takes the place of both, until one term is left of
    every set. Step ``k`` makes term ``n_terms + k``; the second result is the term that is the sum over each set.
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
