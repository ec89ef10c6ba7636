import numpy as np
from tests.reference.decoding import k_smallest

from codekin.kernels.ranking import keep_smallest


def test_the_k_smallest_agree_with_a_stable_sort():
    rng = np.random.default_rng(0)
    costs = rng.integers(0, 6, (40, 33)).astype(float)  # many ties
    for k in (1, 4, 33):
        best, classes = np.full((40, k), np.inf), np.zeros((40, k), dtype=np.int64)
        for first in range(0, 33, 8):
            keep_smallest(costs[:, first : first + 8], first, best, classes)
        np.testing.assert_array_equal(classes, k_smallest(costs, k))
        np.testing.assert_array_equal(best, np.take_along_axis(costs, classes, axis=1))
