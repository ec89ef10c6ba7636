"""Lists of several trees are merged and ranked as their readable twins do it."""

import numpy as np
from tests.reference import label_tree as reference

from codekin.kernels.ranking import merge_lists, rank_listed


def drawn(n_samples, n_each, seed):
    """Lists of two trees, some of whose classes are the same and some missing."""
    rng = np.random.default_rng(seed)
    listed = np.hstack([np.argsort(rng.random((n_samples, 12)), axis=1)[:, :n_each] for _ in range(2)])
    listed[rng.random(listed.shape) < 0.2] = -1
    losses = np.where(listed < 0, np.inf, rng.exponential(size=listed.shape))
    return listed, losses, (rng.random(listed.shape) < 0.6) & (listed >= 0), rng.normal(size=listed.shape)


def test_merged_lists_have_every_class_once_with_the_losses_that_are_known():
    listed, losses, is_candidate, _ = drawn(50, 5, 0)
    merged, known = np.empty_like(listed), np.empty((2, *listed.shape))
    is_merged = np.empty(listed.shape, dtype=bool)
    longest = merge_lists(listed, losses, is_candidate, 5, merged, known, is_merged)
    expected = reference.merged_lists(listed, losses, is_candidate, 5)
    assert longest == max(map(len, expected))
    for s, found in enumerate(expected):
        n = len(found)
        assert merged[s, :n].tolist() == list(found)
        assert (merged[s, n:] == -1).all()
        for place, (own, candidate) in enumerate(found.values()):
            np.testing.assert_array_equal(known[:, s, place], own)
            assert is_merged[s, place] == candidate


def test_candidates_come_first_and_others_follow_with_raised_losses():
    listed, losses, is_candidate, scores = drawn(80, 6, 1)
    listed, losses, is_candidate, scores = (array[:, :6].copy() for array in (listed, losses, is_candidate, scores))
    best = np.empty((80, 4), dtype=np.intp), np.empty((80, 4)), np.empty((80, 4))
    rank_listed(listed, losses, is_candidate, 0.7, scores, *best)
    for s in range(80):
        expected = reference.ranked_list(listed[s], losses[s], is_candidate[s], 0.7, scores[s], 4)
        n = len(expected)
        assert best[0][s, :n].tolist() == [c for c, _ in expected]
        np.testing.assert_allclose(best[1][s, :n], [loss for _, loss in expected])
        assert (best[0][s, n:] == -1).all()
        assert np.isinf(best[1][s, n:]).all()
