"""The kernel for vectors against alignments computed from all pairs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kernels.test_tree_swaps import random_codebook
from tests.reference import tree_swaps as reference

from codekin.assignments.scores import AssignmentProblem
from codekin.assignments.swaps import VectorProblem
from codekin.classes.vectors import EmbeddingDistances, ProductDistances
from codekin.kernels.swaps import anneal_vector_swaps

seeds = st.integers(0, 2**32 - 1)


@given(st.integers(2, 8), st.integers(0, 3), st.booleans(), st.booleans(), st.sampled_from([1.0, -1.0]), seeds)
@settings(max_examples=60, deadline=None)
def test_what_annealing_adds_up_is_what_the_alignment_gained(n_classes, n_spare, is_ternary, is_product, sign, seed):
    rng = np.random.default_rng(seed)
    codebook = random_codebook(n_classes + n_spare, rng, is_ternary=is_ternary)
    vectors = rng.integers(-3, 4, (n_classes, 3)).astype(float)
    distances = ProductDistances(vectors) if is_product else EmbeddingDistances(vectors, squared=True)
    arrays = VectorProblem.of(AssignmentProblem.of(codebook, distances))
    matrix = distances.matrix()[np.ix_(arrays.class_order, arrays.class_order)]
    start = rng.permutation(codebook.n_codewords)[:n_classes].astype(np.int64)
    kept, inverse = start.copy(), np.full(codebook.n_codewords, -1, np.int64)
    inverse[kept] = np.arange(n_classes)
    used = arrays.vectors[kept]
    bit_sums = np.ascontiguousarray(used.T @ arrays.points)
    totals, offset_totals = used.sum(axis=0, dtype=float), arrays.offset @ used.astype(float)
    change = anneal_vector_swaps(
        arrays.vectors, arrays.weight, arrays.points, arrays.offset, arrays.linear, arrays.spread, arrays.scale,
        bit_sums, totals, offset_totals, kept, inverse, sign, 30.0, 0.99, 30, np.empty(0), np.array([seed], np.uint64)
    )  # fmt: skip
    gained = reference.alignment(matrix, codebook.matrix, kept) - reference.alignment(matrix, codebook.matrix, start)
    assert change == pytest.approx(gained, abs=1e-3)
    np.testing.assert_array_equal(inverse[kept], np.arange(n_classes))
    assert (inverse >= 0).sum() == n_classes
    used = arrays.vectors[kept]
    np.testing.assert_allclose(bit_sums, used.T @ arrays.points, atol=1e-4)
    np.testing.assert_allclose(totals, used.sum(axis=0))
    np.testing.assert_allclose(offset_totals, arrays.offset @ used.astype(float), atol=1e-6)
