"""The quadratic assignment problem, the slow and obvious way."""

from itertools import permutations

import numpy as np

MASK = 2**64 - 1


class SplitMix:
    """SplitMix64 in Python's unbounded integers."""

    def __init__(self, seed):
        self.state = seed & MASK

    def word(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return z ^ (z >> 31)

    def uniform(self):
        return (self.word() >> 11) * 2.0**-53

    def below(self, n):
        return ((self.word() & 0xFFFFFFFF) * n) >> 32

    def pair(self, n):
        word = self.word()
        first, second = ((word & 0xFFFFFFFF) * n) >> 32, ((word >> 32) * (n - 1)) >> 32
        return (first, second + 1) if second >= first else (second, first)


def objective(a, b, order):
    return float(sum(a[u, v] * b[order[u], order[v]] for u in range(len(a)) for v in range(len(a))))


def swapped(order, r, s):
    order = list(order)
    order[r], order[s] = order[s], order[r]
    return order


def delta(a, b, order, r, s):
    return objective(a, b, swapped(order, r, s)) - objective(a, b, order)


def pairs(n, n_active):
    return [(r, s) for r in range(min(n_active, n - 1)) for s in range(r + 1, n)]


def all_objectives(a, b):
    return np.array([objective(a, b, order) for order in permutations(range(len(a)))])


def descend(a, b, order, n_active, improvement):
    """The order reached and the delta of every move."""
    trace = []
    while True:
        r, s = min(pairs(len(a), n_active), key=lambda pair: delta(a, b, order, *pair))
        change = delta(a, b, order, r, s)
        if change >= -improvement:
            return order, trace
        order = swapped(order, r, s)
        trace.append(change)


def tabu(a, b, order, n_active, *, n_moves, tenure, patience, seed):
    """The order after so many moves, the best order, and its objective."""
    n, random = len(a), SplitMix(seed)
    order, best = list(order), list(order)
    banned = {(u, c): -(u * n + c) for u in range(n) for c in range(n)}
    for now in range(1, n_moves + 1):
        changes = {pair: delta(a, b, order, *pair) for pair in pairs(n, n_active)}
        since = {(r, s): min(banned[r, order[s]], banned[s, order[r]]) for r, s in changes}
        overdue = [pair for pair in changes if since[pair] < now - patience]
        free = [pair for pair in changes if since[pair] < now]
        record = min(changes, key=changes.get)
        if objective(a, b, order) + changes[record] < objective(a, b, best):
            r, s = record
        elif overdue:
            r, s = min(overdue, key=changes.get)
        elif free:
            r, s = min(free, key=changes.get)
        else:
            r = random.below(min(n_active, n - 1))
            s = r + 1 + random.below(n - r - 1)
            s = next(k for k in range(r + 1, n) if changes[r, k] == changes[r, s])
        banned[r, order[r]] = now + 1 + int(tenure * random.uniform() ** 3)
        banned[s, order[s]] = now + 1 + int(tenure * random.uniform() ** 3)
        order = swapped(order, r, s)
        if objective(a, b, order) < objective(a, b, best):
            best = list(order)
    return order, best


def anneal(a, b, order, n_active, *, temperature, cooling, n_proposals, seed):
    """The order after so many proposals."""
    random, proposals = SplitMix(seed), pairs(len(a), n_active)
    for k in range(n_proposals):
        r, s = proposals[k % len(proposals)]
        change = delta(a, b, order, r, s)
        if change <= 0 or random.uniform() < np.exp(-change / temperature):
            order = swapped(order, r, s)
        temperature *= cooling
    return order


def anneal_near(a, b, order, n_active, *, temperature, cooling, n_proposals, seed):
    """The order after so many proposals, most of them of near rows or values."""
    n, random = len(a), SplitMix(seed)
    for _ in range(n_proposals):
        temperature *= cooling
        r = random.below(n_active)
        kind = random.uniform()
        if kind < 0.75:
            hop = int(np.exp(np.log(n) * random.uniform()))
            if random.below(2) == 0:
                hop = -hop
            s = r + hop if kind < 0.375 else order[r] + hop
            if not 0 <= s < (n_active if kind < 0.375 else n):
                continue
            if kind >= 0.375:
                s = list(order).index(s)
        else:
            s = random.below(n)
        if r == s:
            continue
        change = delta(a, b, order, r, s)
        if change <= 0 or random.uniform() < np.exp(-change / temperature):
            order = swapped(order, r, s)
    return order


def automorphisms(b):
    n = len(b)
    return [g for g in permutations(range(n)) if all(b[g[i], g[j]] == b[i, j] for i in range(n) for j in range(n))]
