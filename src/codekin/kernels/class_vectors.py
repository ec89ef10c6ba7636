"""Class vectors: their entries by feature, the classes with the largest scores, and how vectors are learned.

An entry belongs to a list: one for the positive and one for the negative entries of each feature. A sample meets the
lists of its features that have its own signs, so that all products are positive and a sum of some of them is a lower
bound of the score. They are read in the order of the most that they can add, until all that are left cannot lift a
class that has not been met to the k best (MaxScore: Turtle and Flood 1995). Only then are the classes that can be among
the k best scored. To leave a list before its end, when its entries get small, is slower: it leaves too much open.

A step of learning has two halves. Which entries of the compared classes are on the features of a sample does not depend
on what is learned, and takes most of the time: that is found for some samples at a time, by several threads. The steps
themselves are made one after the other.
"""

from __future__ import annotations

import math

import numpy as np

from codekin.kernels.calling import MOST_AHEAD, PER_LINE, njit, prefetch
from codekin.kernels.reranking import (
    WALKED_MEANWHILE,
    distinct_features,
    longest_row,
    n_entries_on,
    place_of,
    work_of_lookups,
)

LEAST_GRADIENT = 1e-3
"""Less probable candidates are skipped: they change next to nothing."""


@njit(cache=True, nogil=True)
def list_by_feature(indptr, features, feature_indptr, classes, places):
    """List the entries of compressed class vectors by feature, those of a feature by class.

    ``feature_indptr`` receives where each feature begins, ``classes`` and ``places`` the class and the place of each
    entry.
    """
    feature_indptr[:] = 0
    for j in range(len(features)):
        feature_indptr[features[j] + 1] += 1
    for f in range(len(feature_indptr) - 1):
        feature_indptr[f + 1] += feature_indptr[f]
    following = feature_indptr[:-1].copy()
    for c in range(len(indptr) - 1):
        for j in range(indptr[c], indptr[c + 1]):
            m = following[features[j]]
            classes[m], places[m] = c, j
            following[features[j]] = m + 1


@njit(cache=True, nogil=True)
def turns_by_feature(indptr, classes, places, steps, listed_steps, turns):
    """Say for each entry, listed by feature, its step and to which of the four sums of its class it belongs.

    The entries of a class belong to the sums in turn, those after the last full round to the first one.
    """
    for m in range(len(places)):
        start, stop = indptr[classes[m]], indptr[classes[m] + 1]
        place = np.int64(places[m]) - start
        listed_steps[m] = steps[places[m]]
        turns[m] = place & 3 if place < (stop - start) & ~3 else 0


@njit(cache=True, nogil=True)
def count_entries(indptr, indices, order, ends, room):
    """Count the features of the samples of each class, added up over the classes.

    ``order`` has the samples class by class, those of class ``c`` from ``ends[c]`` to ``ends[c + 1]``. ``room``,
    (n_features,), is overwritten.
    """
    room[:] = -1
    n = 0
    for c in range(len(ends) - 1):
        for i in order[ends[c] : ends[c + 1]]:
            for q in range(indptr[i], indptr[i + 1]):
                if room[indices[q]] != c:
                    room[indices[q]] = c
                    n += 1
    return n


ROUNDING_DOWN = 1 - 1e-9
"""The same products are added up in another order."""
WORTHWHILE = 8
"""How many entries must be left for each class that was met, so that a better threshold is worth its time."""


@njit(cache=True, nogil=True)
def index_room(n_lists, n_classes):
    """Make room for searching one sample after the other: spread, sums, met_for, met, others, clock.

    A sample is spread over the lists; a class that was met has the sum of its products and the number of that sample.
    """
    return (
        np.zeros(n_lists),
        np.empty(n_classes),
        np.zeros(n_classes, np.int64),
        np.empty(n_classes, np.int32),
        np.empty(n_classes),
        np.zeros(1, np.int64),
    )


@njit(cache=True, nogil=True)
def best_of_index(rows, by_class, by_list, best):
    """List the classes with the largest scores for each sample, the largest first; the smaller class among equals.

    ``by_class`` and ``by_list`` are the entries of each class, and of each list, the largest first: list ``2 f`` has
    the positive ones on feature ``f``, list ``2 f + 1`` the negative ones; values are sizes. Features of a row may come
    twice. ``best``, (n_samples, k), receives the classes, -1 if fewer have a score above zero.
    """
    room = index_room(len(by_list[0]) - 1, len(by_class[0]) - 1)
    best_of_index_in(room, rows, by_class, by_list, best)


@njit(cache=True, nogil=True)
def best_of_index_in(room, rows, by_class, by_list, best):
    """Do what :func:`best_of_index` does, in the room of :func:`index_room`."""
    spread, sums, met_for, met, others, clock = room
    indptr, features, x = rows
    class_indptr, lists, sizes = by_class
    list_indptr, classes, values = by_list
    k = best.shape[1]
    # The lists of a sample, what they and all that follow can add, and the scores of its best classes.
    n_most = longest_row(indptr)
    own, most, scores = np.empty(n_most, np.int64), np.empty(n_most + 1), np.empty(k)
    for s in range(best.shape[0]):
        clock[0] += 1
        now = clock[0]
        n_own = _met_lists(indptr[s], indptr[s + 1], features, x, list_indptr, spread, own)
        threshold = _order_by_most(n_own, list_indptr, values, spread, own, most, k)
        n_met, n_left, i = 0, 0, 0
        for p in range(n_own):
            n_left += list_indptr[own[p] + 1] - list_indptr[own[p]]
        # What the lists from i on can add is not enough for a class that has not been met.
        while i < n_own and most[i] >= threshold:
            for j in range(list_indptr[own[i]], list_indptr[own[i] + 1]):
                c = classes[j]
                if met_for[c] != now:
                    met_for[c], sums[c], met[n_met] = now, 0.0, c
                    n_met += 1
                sums[c] += spread[own[i]] * values[j]
            n_left -= list_indptr[own[i] + 1] - list_indptr[own[i]]
            i += 1
            # Raising the threshold takes time for each class that was met; at the end it saves scoring most of them.
            is_last = i == n_own or most[i] < threshold
            if n_met > k and (is_last or n_left > WORTHWHILE * n_met):
                for p in range(n_met):
                    others[p] = sums[met[p]]
                threshold = max(threshold, ROUNDING_DOWN * _kth_largest(others, n_met, k))
        n_best = 0
        for p in range(n_met):
            c = met[p]
            if sums[c] + most[i] < threshold:
                continue
            score = 0.0
            for j in range(class_indptr[c], class_indptr[c + 1]):
                score += spread[lists[j]] * sizes[j]
            n_best = _keep_largest(best[s], scores, n_best, c, score)
        best[s, n_best:] = -1
        for p in range(indptr[s], indptr[s + 1]):
            spread[2 * features[p]], spread[2 * features[p] + 1] = 0.0, 0.0


@njit(cache=True, nogil=True)
def _met_lists(start, stop, features, x, list_indptr, spread, own):
    """Spread a sample over the lists that it meets, write those to ``own``, and return how many there are."""
    for p in range(start, stop):
        spread[2 * features[p]] += x[p]
    n_own = 0
    for p in range(distinct_features(features, start, stop, own)):
        at = 2 * own[p]
        if spread[at] < 0:
            spread[at + 1], spread[at] = -spread[at], 0.0
            at += 1
        if spread[at] > 0 and list_indptr[at] < list_indptr[at + 1]:
            own[n_own] = at
            n_own += 1
    return n_own


@njit(cache=True, nogil=True)
def _order_by_most(n_own, list_indptr, values, spread, own, most, k):
    """Sort the lists by the most that they can add; return a score that k classes of one of them have at least.

    ``most`` receives what all lists from each place on can add together; zero behind the last one.
    """
    threshold = 0.0
    for p in range(n_own):
        first, stop = list_indptr[own[p]], list_indptr[own[p] + 1]
        most[p] = spread[own[p]] * values[first]
        if stop - first >= k:
            threshold = max(threshold, ROUNDING_DOWN * spread[own[p]] * values[first + k - 1])
    gap = n_own // 2
    while gap > 0:
        for p in range(gap, n_own):
            at, largest, place = own[p], most[p], p
            while place >= gap and most[place - gap] < largest:
                own[place], most[place] = own[place - gap], most[place - gap]
                place -= gap
            own[place], most[place] = at, largest
        gap //= 2
    most[n_own] = 0.0
    for p in range(n_own - 1, -1, -1):
        most[p] += most[p + 1]
    return threshold


@njit(cache=True, nogil=True)
def _kth_largest(numbers, n, k):
    """Give the k-th largest of the first n numbers, which are moved around (Hoare's selection)."""
    low, high = 0, n - 1
    while low < high:
        middle = numbers[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while numbers[i] > middle:
                i += 1
            while numbers[j] < middle:
                j -= 1
            if i <= j:
                numbers[i], numbers[j] = numbers[j], numbers[i]
                i, j = i + 1, j - 1
        if k - 1 <= j:
            high = j
        elif k - 1 >= i:
            low = i
        else:
            break
    return numbers[k - 1]


@njit(cache=True, nogil=True)
def _keep_largest(classes, scores, n, c, score):
    """Put a class into a sorted list, behind equal scores of smaller classes, if there is room; return its length."""
    if n < len(classes):
        n += 1
    elif score < scores[n - 1] or (score == scores[n - 1] and c > classes[n - 1]):
        return n
    place = n - 1
    while place > 0 and (scores[place - 1] < score or (scores[place - 1] == score and classes[place - 1] > c)):
        classes[place], scores[place] = classes[place - 1], scores[place - 1]
        place -= 1
    classes[place], scores[place] = c, score
    return n


@njit(cache=True, nogil=True)
def find_entries(samples, rows, class_index, candidates, vectors, by_feature, room, compared, ends, places, factors):
    """Find the entries of each sample's class and of its candidates that are on features of the sample.

    ``samples`` are row numbers; ``candidates``, (n_samples, n_candidates), the classes to tell their classes from, -1
    where there are fewer. The features of each of the ``vectors`` increase. ``by_feature`` lists the class and the
    place of the same entries feature by feature; empty to walk over the entries of every candidate, or look features up
    among them. ``room`` is zeros for all features and -1 for all classes, and so again afterwards. ``compared``
    receives the classes, the sample's own first, -1 behind them; ``ends`` where the entries of each begin in ``places``
    and ``factors``, which receive the places in the class vectors and the sample's values on their features, and need a
    place more than there are entries.
    """
    row_indptr, row_indices, row_values = rows
    indptr, features = vectors
    feature_indptr, class_of_entry, place_of_entry = by_feature
    spread, number = room
    has_lists = len(feature_indptr) > 0
    longest = 0
    for s in range(len(samples)):
        longest = max(longest, row_indptr[samples[s] + 1] - row_indptr[samples[s]])
    own, n_found = np.empty(longest, row_indices.dtype), np.empty(compared.shape[1], np.int64)
    first = 0
    for s in range(len(samples)):
        i = samples[s]
        for q in range(row_indptr[i], row_indptr[i + 1]):
            spread[row_indices[q]] += row_values[q]
        for p in range(candidates.shape[1] if s + 1 < len(samples) else 0):
            c = candidates[samples[s + 1], p]
            begin = indptr[max(c, 0)]
            for line in range(begin, min(indptr[c + 1], begin + MOST_AHEAD), PER_LINE):
                prefetch(features, line)
        compared[s, 0], number[class_index[i]] = class_index[i], 0
        n = 1
        for p in range(candidates.shape[1]):
            c = candidates[i, p]
            if c >= 0 and number[c] < 0:
                compared[s, n], number[c] = c, n
                n += 1
        compared[s, n:] = -1
        n_own = distinct_features(row_indices, row_indptr[i], row_indptr[i + 1], own)
        n_walked = 0
        for p in range(n):
            n_entries = indptr[compared[s, p] + 1] - indptr[compared[s, p]]
            n_walked += min(n_entries, work_of_lookups(n_own, n_entries))
            n_found[p] = 0
        if has_lists and n_walked > WALKED_MEANWHILE * n_entries_on(own, n_own, feature_indptr):
            for q in range(n_own):
                x = spread[own[q]]
                if x == 0:
                    continue
                for m in range(feature_indptr[own[q]], feature_indptr[own[q] + 1]):
                    p = number[class_of_entry[m]]
                    if p >= 0:
                        place = first + p * n_own + n_found[p]
                        places[place], factors[place] = place_of_entry[m], x
                        n_found[p] += 1
            # The entries of the classes follow each other without gaps.
            last = first
            for p in range(n):
                ends[s, p] = last
                begin = first + p * n_own
                for m in range(n_found[p]):
                    places[last + m], factors[last + m] = places[begin + m], factors[begin + m]
                last += n_found[p]
        else:
            last = first
            for p in range(n):
                ends[s, p] = last
                begin, end = indptr[compared[s, p]], indptr[compared[s, p] + 1]
                if work_of_lookups(n_own, end - begin) < end - begin:
                    for q in range(n_own):
                        begin = place_of(own[q], features, begin, end)
                        if begin < end and features[begin] == own[q] and spread[own[q]] != 0:
                            places[last], factors[last] = begin, spread[own[q]]
                            last += 1
                    continue
                for j in range(begin, end):
                    # Without a branch, which would often be guessed wrongly.
                    x = spread[features[j]]
                    places[last], factors[last] = j, x
                    last += x != 0
        ends[s, n:] = last
        first = last
        for p in range(n):
            number[compared[s, p]] = -1
        for q in range(row_indptr[i], row_indptr[i + 1]):
            spread[row_indices[q]] = 0


@njit(cache=True, nogil=True)
def learn_vectors(samples, sample_weight, compared, ends, places, factors, rate, values, curvature):
    """Make one step of softmax regression over each sample's class and its candidates, from :func:`find_entries`.

    With ``p`` the softmax of the dot products, the entry of class ``c`` on a feature of value ``x`` moves by ``-rate *
    (p_c - [c is the sample's class]) x / G`` after ``G += p_c (1 - p_c) x**2``: Newton's step with the curvature seen
    so far, entry by entry. ``values`` and ``curvature``, of all entries, are changed in place.
    """
    scores = np.empty(compared.shape[1])
    for s in range(len(samples)):
        weight = sample_weight[samples[s]]
        largest, n = -np.inf, 0
        while n < compared.shape[1] and compared[s, n] >= 0:
            score = 0.0
            for m in range(ends[s, n], ends[s, n + 1]):
                score += factors[m] * values[places[m]]
            scores[n] = score
            largest = max(largest, score)
            n += 1
        total = 0.0
        for p in range(n):
            scores[p] = math.exp(scores[p] - largest)
            total += scores[p]
        for p in range(n):
            share = scores[p] / total
            gradient = weight * (share - (p == 0))
            if abs(gradient) < LEAST_GRADIENT:
                continue
            bend = weight * share * (1 - share)
            for m in range(ends[s, p], ends[s, p + 1]):
                j, x = places[m], factors[m]
                curvature[j] += bend * x * x
                values[j] -= rate * gradient * x / curvature[j]
