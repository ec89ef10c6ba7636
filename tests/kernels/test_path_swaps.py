"""The kernel for paths against alignments computed from all pairs, and against the kernel for any codewords."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reference import path_swaps as reference
from tests.reference.tree_swaps import alignment

from codekin.assignments.scores import AssignmentProblem
from codekin.assignments.swaps import VectorProblem
from codekin.classes.vectors import EmbeddingDistances, ProductDistances
from codekin.codebooks import trellis_codebook
from codekin.kernels.swaps import anneal_path_swaps

seeds = st.integers(0, 2**32 - 1)


class Search:
    """Random classes on random paths, and the kernel's arrays."""

    def __init__(self, n_classes, width, *, is_product, seed):
        rng = np.random.default_rng(seed)
        vectors = rng.integers(-3, 4, (n_classes, 3)).astype(float)
        distances = ProductDistances(vectors) if is_product else EmbeddingDistances(vectors, squared=True)
        self.codebook = trellis_codebook(n_classes, min(width, n_classes))
        self.arrays = VectorProblem.of(AssignmentProblem.of(self.codebook, distances))
        order = self.arrays.class_order
        self.matrix = distances.matrix()[np.ix_(order, order)]
        self.start = rng.permutation(n_classes).astype(np.int64)
        self.paths, self.classes = self.start.copy(), np.argsort(self.start)
        self.squares = np.einsum("ij,ij->i", self.arrays.points, self.arrays.points, dtype=float)
        codewords = self.arrays.vectors
        self.height = -(codewords @ codewords.sum(axis=0, dtype=float))
        self.edge_sums = self.fresh_sums()
        self.products = self.arrays.points @ self.edge_sums.T

    def fresh_sums(self):
        return np.ascontiguousarray(self.arrays.vectors[self.paths].T @ self.arrays.points)

    def anneal(self, *, sign=1.0, temperature=30.0, cooling=0.99, n_proposals=30, max_swaps=1_000, seed=0, n_samples=0):
        arrays, sampled = self.arrays, np.zeros(n_samples)
        found = anneal_path_swaps(
            arrays.problem.codebook.path_edges, arrays.points, self.squares, arrays.offset, self.height, arrays.scale,
            self.edge_sums, self.products, self.paths, self.classes, sign, temperature, cooling, n_proposals, max_swaps,
            sampled, np.array([seed], np.uint64)
        )  # fmt: skip
        return (*found, sampled)

    def alignment(self, paths):
        return alignment(self.matrix, self.codebook.matrix, paths)


@given(st.integers(2, 40), st.integers(2, 4), st.booleans(), st.sampled_from([1.0, -1.0]), seeds)
@settings(max_examples=60, deadline=None)
def test_what_annealing_adds_up_is_what_the_alignment_gained(n_classes, width, is_product, sign, seed):
    search = Search(n_classes, width, is_product=is_product, seed=seed)
    change, n_proposed, n_swaps, _ = search.anneal(sign=sign, seed=seed)
    assert change == pytest.approx(search.alignment(search.paths) - search.alignment(search.start), abs=1e-2)
    np.testing.assert_array_equal(search.classes[search.paths], np.arange(n_classes))
    np.testing.assert_allclose(search.edge_sums, search.fresh_sums(), atol=1e-3)
    assert n_proposed == 30
    assert n_swaps <= n_proposed


@given(st.integers(2, 30), st.integers(2, 4), st.booleans(), seeds)
@settings(max_examples=30, deadline=None)
def test_the_first_swap_is_the_one_that_exact_gains_allow(n_classes, width, is_product, seed):
    search = Search(n_classes, width, is_product=is_product, seed=seed)
    expected = reference.first_swap(
        search.matrix, search.codebook.matrix, search.start, temperature=5.0, cooling=0.9, n_proposals=40, seed=seed
    )
    _, n_proposed, n_swaps, _ = search.anneal(temperature=5.0, cooling=0.9, n_proposals=40, max_swaps=1, seed=seed)
    # What has something against each other gains more than it seems to: such a swap may be missed, none is made up.
    possible = {path_pair for path_pair, _ in expected}
    if n_swaps:
        moved = frozenset(np.flatnonzero(search.paths != search.start).tolist())
        assert (moved, n_proposed) in {(pair, proposal) for pair, proposal in expected}
    else:
        assert not possible or (search.arrays.points @ search.arrays.points.T).min() < 0


def test_sampling_swaps_nothing_and_gives_the_sizes_of_gains():
    search = Search(25, 2, is_product=True, seed=1)
    change, n_proposed, n_swaps, sampled = search.anneal(n_proposals=50, n_samples=50)
    assert (change, n_proposed, n_swaps) == (0.0, 50, 0)
    assert (search.paths == search.start).all()
    swaps = np.array(
        [[search.alignment(swapped(search.start, u, v)) for u in range(v)] + [0] * (25 - v) for v in range(25)]
    )
    gains = np.abs(swaps[swaps != 0] - search.alignment(search.start))
    for size in sampled[sampled > 1e-3]:
        assert np.abs(gains - size).min() < 1e-2


def swapped(paths, u, v):
    other = paths.copy()
    other[[u, v]] = other[[v, u]]
    return other


def test_products_of_the_swapped_classes_are_kept_up():
    search = Search(12, 2, is_product=True, seed=3)
    _, _, n_swaps, _ = search.anneal(temperature=1e6, max_swaps=1)
    assert n_swaps == 1
    moved = np.flatnonzero(search.paths != search.start)
    fresh = search.arrays.points @ search.fresh_sums().T
    np.testing.assert_allclose(search.products[moved], fresh[moved], atol=1e-3)
