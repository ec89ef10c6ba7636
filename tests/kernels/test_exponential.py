"""Exponentials by a polynomial agree with NumPy's, shifted and clipped, in single precision."""

import numpy as np
import pytest

from codekin.kernels.softmax import LARGEST, exponentials


@pytest.mark.parametrize(("shift", "limit"), [(0.0, 30.0), (0.0, LARGEST), (12.5, LARGEST)])
def test_exponentials_agree_with_those_of_double_precision(shift, limit):
    edges = np.array([-np.inf, -1e30, -limit, -0.5, -0.0, 0.0, 1e-30, 0.34657359, 0.5, limit, 1e30, np.inf])
    scores = np.concatenate([edges, np.linspace(-100, 100, 20_001)]).astype(np.float32)
    found = np.empty(len(scores))
    exponentials(scores, shift, limit, np.empty_like(scores), found)
    expected = np.exp(np.clip((scores - np.float32(shift)).astype(np.float64), -limit, limit))
    np.testing.assert_allclose(found, expected, rtol=2e-7)
