"""Where a function of one number is least, without scipy.optimize: its import takes 0.15 seconds and 25 MB."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

TOLERANCE = 1e-5
MOST_CALLS = 500
_GOLDEN, _EPSILON = 0.5 * (3 - 5**0.5), 2.2e-16**0.5


def least_between(function: Callable[[float], float], low: float, high: float) -> float:
    """Where a function is least between two numbers: Brent's method, step by step as ``minimize_scalar`` bounds it.

    A step goes to the minimum of the parabola through the best three points if that lies well within the bounds, and
    otherwise to the golden section of the larger side.
    """
    best = second = third = low + _GOLDEN * (high - low)
    at_best = at_second = at_third = function(best)
    step = before = 0.0
    for _ in range(MOST_CALLS - 1):
        middle, tolerance = 0.5 * (low + high), _EPSILON * abs(best) + TOLERANCE / 3
        if not abs(best - middle) > 2 * tolerance - 0.5 * (high - low):
            break
        is_golden = True
        if abs(before) > tolerance:
            r, q = (best - second) * (at_best - at_third), (best - third) * (at_best - at_second)
            p, q = (best - third) * q - (best - second) * r, 2 * (q - r)
            p, q = -p if q > 0 else p, abs(q)
            r, before = before, step
            if abs(p) < abs(0.5 * q * r) and q * (low - best) < p < q * (high - best):
                is_golden, step = False, p / q
                if best + step - low < 2 * tolerance or high - best - step < 2 * tolerance:
                    step = tolerance if middle >= best else -tolerance
        if is_golden:
            before = (low if best >= middle else high) - best
            step = _GOLDEN * before
        new = best + float(np.copysign(max(abs(step), tolerance), step if step else 1.0))
        at_new = function(new)
        if at_new <= at_best:
            low, high = (best, high) if new >= best else (low, best)
            third, at_third, second, at_second, best, at_best = second, at_second, best, at_best, new, at_new
        else:
            low, high = (new, high) if new < best else (low, new)
            if at_new <= at_second or second == best:
                third, at_third, second, at_second = second, at_second, new, at_new
            elif at_new <= at_third or third in (best, second):
                third, at_third = new, at_new
    return best
