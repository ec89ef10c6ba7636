"""Class distances in every representation agree with the matrix they stand for."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.spatial.distance import cdist

from codekin.classes import ClassDistances, ClassTree, DenseDistances, as_class_distances
from codekin.classes.interface import PartialDistances
from codekin.classes.tree_distances import TreeDistances
from codekin.classes.vectors import EmbeddingDistances, ProductDistances
from codekin.code.geometry import codeword_distances


def random_tree(rng: np.random.Generator, n_nodes: int, *, weighted: bool) -> ClassTree:
    """A random recursive tree; its nodes, inner ones too, hold classes at random."""
    parent = np.array([-1] + [int(rng.integers(node)) for node in range(1, n_nodes)])
    shuffled = rng.permutation(n_nodes)
    renumbered = np.empty(n_nodes, dtype=int)
    renumbered[shuffled] = np.where(parent >= 0, shuffled[parent], -1)
    node_of_class = rng.choice(n_nodes, size=int(rng.integers(1, n_nodes + 1)), replace=False)
    return ClassTree(renumbered, node_of_class, rng.random(n_nodes) * 3 if weighted else None)


def dense_path_lengths(tree: ClassTree) -> np.ndarray:
    """By walking up from both classes, edge by edge."""

    def way_up(node: int) -> list[int]:
        way = [node]
        while tree.parent[way[-1]] >= 0:
            way.append(int(tree.parent[way[-1]]))
        return way

    ways = [set(way_up(int(node))) for node in tree.node_of_class]
    return np.array([[sum(tree.edge_length[node] for node in a ^ b) for b in ways] for a in ways])


def representation(kind: str, rng: np.random.Generator, n_classes: int) -> tuple[ClassDistances, np.ndarray]:
    """Distances of one kind and their matrix, made the slow and obvious way."""
    if kind == "dense":
        matrix = rng.random((n_classes, n_classes))
        matrix = matrix + matrix.T
        np.fill_diagonal(matrix, 0)
        return DenseDistances(matrix), matrix
    if kind == "signed":
        matrix = rng.normal(size=(n_classes, n_classes))
        matrix = matrix + matrix.T
        np.fill_diagonal(matrix, 0)
        return DenseDistances(matrix, signed=True), matrix
    if kind in ("tree", "weighted tree"):
        tree = random_tree(rng, n_classes, weighted=kind == "weighted tree")
        return TreeDistances(tree), dense_path_lengths(tree)
    if kind == "product":
        factors = rng.normal(size=(n_classes, 4))
        return ProductDistances(factors), -factors @ factors.T * (1 - np.eye(n_classes))
    if kind == "partial":
        known, known_matrix = representation("squared", rng, n_classes)
        n_known = len(known_matrix)
        classes = rng.permutation(n_known + 3)[:n_known]
        mean = known_matrix.sum() / (n_known * (n_known - 1)) if n_known > 1 else 1.0
        matrix = mean * (1 - np.eye(n_known + 3))
        matrix[np.ix_(classes, classes)] = known_matrix
        return PartialDistances(known, classes, n_classes=n_known + 3), matrix
    vectors = rng.normal(size=(n_classes, 5)) + 100
    squared = "squared" in kind
    if "sparse" in kind:
        vectors = np.where(rng.random(vectors.shape) < 0.4, vectors, 0)
    vectors[0] = vectors[-1]
    given_vectors = sparse.csr_matrix(vectors) if "sparse" in kind else vectors
    return EmbeddingDistances(given_vectors, squared=squared), cdist(vectors, vectors) ** (2 if squared else 1)


KINDS = [
    "dense",
    "signed",
    "tree",
    "weighted tree",
    "embedding",
    "squared",
    "sparse",
    "sparse squared",
    "product",
    "partial",
]


@pytest.fixture(params=["in one piece", "in blocks"])
def _block_size(request, monkeypatch):
    if request.param == "in blocks":
        monkeypatch.setattr("codekin.classes.vectors.MAX_DENSE_CLASSES", 0)
        monkeypatch.setattr("codekin.classes.vectors._BLOCK_ENTRIES", 9)
        monkeypatch.setattr("codekin.classes.tree_distances._BLOCK_ENTRIES", 9)


@pytest.mark.usefixtures("_block_size")
@pytest.mark.parametrize("ternary", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_inner_product_and_moments_equal_those_of_the_matrix(kind, ternary):
    for seed in range(8):
        rng = np.random.default_rng(seed)
        distances, matrix = representation(kind, rng, n_classes=int(rng.integers(1, 20)))
        coding_matrix = rng.choice([-1, 0, 1] if ternary else [-1, 1], size=(len(matrix), 7)).astype(np.int8)
        expected = (matrix * codeword_distances(coding_matrix, coding_matrix)).sum()
        scale = max(1.0, np.abs(matrix).sum())
        assert distances.inner_product(coding_matrix) == pytest.approx(expected, rel=1e-10, abs=1e-12 * scale)
        moments = distances.moments()
        assert moments.total == pytest.approx(matrix.sum(), rel=1e-10, abs=1e-12 * scale)
        assert moments.sum_of_squares == pytest.approx((matrix**2).sum(), rel=1e-10, abs=1e-10)
        assert moments.sum_of_squared_row_sums == pytest.approx((matrix.sum(1) ** 2).sum(), rel=1e-10, abs=1e-10)
        np.testing.assert_allclose(distances.row_sums(), matrix.sum(1), rtol=1e-10, atol=1e-12 * scale)


@pytest.mark.parametrize("kind", KINDS)
def test_the_matrix_and_single_distances_agree_with_the_slow_ones(kind):
    for seed in range(8):
        rng = np.random.default_rng(seed)
        distances, matrix = representation(kind, rng, n_classes=int(rng.integers(1, 20)))
        assert distances.n_classes == len(matrix)
        np.testing.assert_allclose(distances.matrix(), matrix, rtol=1e-10, atol=1e-11)
        every = np.arange(len(matrix))
        np.testing.assert_allclose(distances.between(every[:, None], every), matrix, rtol=1e-10, atol=1e-11)


@given(seed=st.integers(0, 2**32 - 1), n_nodes=st.integers(4, 25))
@settings(max_examples=40, deadline=None)
def test_path_lengths_are_a_tree_metric(seed, n_nodes):
    matrix = TreeDistances(random_tree(np.random.default_rng(seed), n_nodes, weighted=True)).matrix()
    assert (matrix == matrix.T).all()
    assert (matrix >= 0).all()
    assert (matrix[:, :, None] + matrix[None] >= matrix[:, None, :] - 1e-9).all(), "triangle inequality"
    n_classes = len(matrix)
    if n_classes >= 4:
        # Four points: of the three ways to pair them, the two largest sums of path lengths are equal.
        rng = np.random.default_rng(seed)
        for _ in range(20):
            a, b, c, d = rng.choice(n_classes, size=4, replace=False)
            sums = sorted([matrix[a, b] + matrix[c, d], matrix[a, c] + matrix[b, d], matrix[a, d] + matrix[b, c]])
            assert sums[1] == pytest.approx(sums[2], abs=1e-9)


def test_nearly_equal_vectors_keep_their_small_distance():
    vectors = np.array([[1.0, 1.0], [1.0, 1.0 + 1e-9], [-1.0, 5.0]])
    assert EmbeddingDistances(vectors).matrix()[0, 1] == pytest.approx(1e-9, rel=1e-6)


def test_matrices_of_all_pairs_are_refused_beyond_5000_classes():
    tree = ClassTree(np.concatenate([[-1], np.zeros(5001, dtype=int)]), np.arange(1, 5002))
    for distances in (TreeDistances(tree), EmbeddingDistances(np.zeros((5001, 1)))):
        with pytest.raises(ValueError, match="the limit is 5000 classes"):
            distances.matrix()
    assert TreeDistances(tree).moments().total == 2 * 5001 * 5000


@pytest.mark.parametrize("kind", ["tree", "squared", "sparse squared", "product", "embedding"])
def test_many_classes_need_no_matrix_of_all_pairs(kind):
    n_classes = 8_000 if kind == "embedding" else 20_000  # all pairs: 0.5 and 3.2 GB
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(n_classes, 5))
    distances = {
        "tree": lambda: TreeDistances(random_tree(rng, n_classes, weighted=True)),
        "squared": lambda: EmbeddingDistances(vectors, squared=True),
        "sparse squared": lambda: EmbeddingDistances(
            sparse.csr_array(vectors * (rng.random(vectors.shape) < 0.2)), squared=True
        ),
        "product": lambda: ProductDistances(vectors),
        "embedding": lambda: EmbeddingDistances(vectors),
    }[kind]()
    coding_matrix = rng.choice(np.array([-1, 1], dtype=np.int8), size=(distances.n_classes, 8))
    tracemalloc.start()
    try:
        distances.moments()
        distances.inner_product(coding_matrix)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 200e6


@pytest.mark.parametrize(
    ("matrix", "sentence"),
    [
        ([[0, 1, 2], [1, 0, 2]], "square"),
        ([[0, np.nan], [np.nan, 0]], "finite"),
        ([[0, 1], [2, 0]], "symmetric. Got 1 from class 0 to 1, and 2 back"),
        ([[0, 1], [1, 3]], "itself must be 0. Got 3 for class 1"),
        ([[0, -1], [-1, 0]], "must not be negative. Got -1 between classes 0 and 1"),
    ],
)
def test_a_given_matrix_is_checked(matrix, sentence):
    with pytest.raises(ValueError, match=sentence):
        as_class_distances(matrix)


def test_a_given_matrix_is_copied_and_frozen():
    matrix = np.array([[0.0, 1.0], [1.0, 0.0]])
    distances = DenseDistances(matrix)
    matrix[0, 1] = 7
    assert distances.matrix()[0, 1] == 1
    with pytest.raises(ValueError, match="read-only"):
        distances.matrix()[0, 1] = 2


def test_vectors_are_checked():
    with pytest.raises(ValueError, match="one row per class"):
        EmbeddingDistances([1.0, 2.0])
    with pytest.raises(ValueError, match="finite"):
        EmbeddingDistances([[1.0], [np.inf]])


def test_factors_and_known_classes_are_checked():
    with pytest.raises(ValueError, match="one row per class"):
        ProductDistances([1.0])
    with pytest.raises(ValueError, match="finite"):
        ProductDistances([[np.nan]])
    known = DenseDistances([[0, 1], [1, 0]])
    with pytest.raises(ValueError, match="between 2 classes"):
        PartialDistances(known, [0, 1, 2], n_classes=4)
    with pytest.raises(ValueError, match="different numbers from 0 to 3"):
        PartialDistances(known, [0, 4], n_classes=4)


@pytest.mark.parametrize("kind", KINDS)
def test_a_coding_matrix_needs_one_row_per_class(kind):
    distances, matrix = representation(kind, np.random.default_rng(0), 6)
    with pytest.raises(ValueError, match=f"one row per class, {len(matrix)}"):
        distances.inner_product(np.ones((len(matrix) + 1, 2)))


def test_a_coding_matrix_of_whole_numbers_holds_bits():
    distances = DenseDistances([[0, 1], [1, 0]])
    with pytest.raises(ValueError, match="-1, 0 or"):
        distances.inner_product([[2, 1], [1, 1]])


@pytest.mark.parametrize("kind", KINDS)
def test_real_codewords_are_as_far_apart_as_a_quarter_of_their_squared_distance(kind):
    rng = np.random.default_rng(0)
    distances, _ = representation(kind, rng, 6)
    codewords = rng.normal(size=(distances.n_classes, 3))
    apart = np.square(codewords[:, None] - codewords).sum(axis=2) / 4
    assert distances.inner_product(codewords) == pytest.approx((distances.matrix() * apart).sum(), rel=1e-5)


def test_anything_that_stands_for_distances_is_accepted():
    tree = ClassTree.from_nested(["a", "b"])
    assert as_class_distances(tree).tree is tree
    distances = EmbeddingDistances([[0.0], [1.0]])
    assert as_class_distances(distances) is distances
    assert isinstance(as_class_distances([[0, 1], [1, 0]]), DenseDistances)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_keeps_the_interface(kind):
    distances, _ = representation(kind, np.random.default_rng(0), 6)
    assert isinstance(distances, ClassDistances)
    assert str(distances.n_classes) in repr(distances)
