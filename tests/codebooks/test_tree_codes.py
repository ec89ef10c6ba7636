from collections import Counter

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from codekin import ECOCClassifier
from codekin.classes import ClassTree
from codekin.codebooks import decoc, nested_dichotomies
from codekin.codebooks.trees import ordered_dichotomies

NESTED = [["a", "b", "c"], ["d", ["e", "f"]], "g"]


def classes_below(tree):
    return {frozenset(tree.classes_below(node).tolist()) for node in range(tree.n_nodes)}


def used_together(matrix):
    return [frozenset(np.flatnonzero(column).tolist()) for column in matrix.T]


def test_decoc_has_a_bit_for_every_split_of_the_tree():
    tree = ClassTree.from_nested(NESTED)
    matrix = decoc(7, class_tree=tree).matrix
    assert matrix.shape == (7, 6)
    for column, (left, right) in zip(matrix.T, tree.splits(), strict=True):
        assert np.flatnonzero(column == 1).tolist() == sorted(left)
        assert np.flatnonzero(column == -1).tolist() == sorted(right)


@pytest.mark.parametrize("split", ["random", "balanced"])
@pytest.mark.parametrize("n_codewords", [2, 3, 7, 16, 33])
def test_any_two_classes_are_parted_by_exactly_one_bit_of_a_tree(n_codewords, split):
    matrix = nested_dichotomies(n_codewords, split=split, rng=0).matrix.astype(int)
    assert matrix.shape == (n_codewords, n_codewords - 1)
    n_parting = (np.abs(matrix) @ np.abs(matrix.T) - matrix @ matrix.T) // 2
    assert np.array_equal(n_parting, 1 - np.eye(n_codewords, dtype=int))
    assert (np.abs(matrix).sum(axis=0) == n_codewords).any(), "the root parts all classes"


@pytest.mark.parametrize("n_codewords", [5, 8, 33])
def test_balanced_dichotomies_have_equal_sides_up_to_one(n_codewords):
    matrix = nested_dichotomies(n_codewords, split="balanced", rng=0).matrix
    assert (np.abs(matrix.sum(axis=0, dtype=int)) <= 1).all()


def test_random_dichotomies_make_all_trees_equally_likely():
    rng = np.random.default_rng(0)
    drawn = Counter(frozenset(used_together(nested_dichotomies(4, rng=rng).matrix)) for _ in range(1500))
    # (2 * 4 - 3)!! = 15 rooted binary trees with four labelled leaves: 100 draws of each, give or take.
    assert len(drawn) == 15
    assert all(60 < count < 140 for count in drawn.values())


def test_several_trees_stand_side_by_side_and_share_their_common_splits():
    one, many = (nested_dichotomies(10, n_trees=n, rng=0) for n in (1, 20))
    assert one.n_bits == 9
    assert 9 * 10 < many.n_bits <= 9 * 20
    assert many.has_distinct_columns
    assert many.min_distance > 5 * one.min_distance


def test_every_tree_of_two_classes_is_the_same_bit():
    assert nested_dichotomies(2, n_trees=10, rng=0).n_bits == 1


@pytest.mark.parametrize("split", ["random", "balanced"])
def test_dichotomies_of_a_class_tree_never_cut_through_one_of_its_nodes(split):
    tree = ClassTree.from_nested(NESTED)
    codebook = nested_dichotomies(7, class_tree=tree, split=split, n_trees=5, rng=0)
    assert codebook.is_designed
    for column in codebook.matrix.T:
        used = set(np.flatnonzero(column).tolist())
        for together in classes_below(tree):
            is_parted = {1, -1} <= set(column[list(together)].tolist())
            assert not is_parted or used <= together


def test_a_class_on_an_inner_node_is_a_leaf_below_it():
    tree = ClassTree(parent=[-1, 0, 0, 1, 1], node_of_class=[1, 2, 3, 4])
    matrix = nested_dichotomies(4, class_tree=tree, rng=0).matrix
    assert frozenset({0, 2, 3}) in used_together(matrix)


def test_a_binary_class_tree_allows_one_tree_only():
    tree = ClassTree.from_nested([["a", "b"], ["c", "d"]])
    one = nested_dichotomies(4, class_tree=tree, rng=0)
    assert set(used_together(one.matrix)) == set(used_together(decoc(4, class_tree=tree).matrix))
    with pytest.raises(ValueError, match="only one nested dichotomy: 3 trees would be the same. Use n_trees=1"):
        nested_dichotomies(4, class_tree=tree, n_trees=3)


@pytest.mark.parametrize("make", [decoc, nested_dichotomies])
def test_a_tree_of_other_classes_is_refused(make):
    with pytest.raises(ValueError, match="A class tree of 5 classes is needed. Got one with 7 classes"):
        make(5, class_tree=ClassTree.from_nested(NESTED))


@pytest.mark.parametrize(("option", "value"), [("split", "even"), ("n_trees", 0)])
def test_options_that_make_no_sense_are_refused(option, value):
    with pytest.raises(ValueError, match=f"The '{option}' parameter of nested_dichotomies must be"):
        nested_dichotomies(5, **{option: value})


@pytest.mark.parametrize("n_codewords", [2, 3, 10, 33])
def test_ordered_dichotomies_cut_ranges_of_consecutive_classes(n_codewords):
    for column in ordered_dichotomies(n_codewords, n_trees=3, rng=0).matrix.T:
        used = np.flatnonzero(column)
        assert np.array_equal(used, np.arange(used[0], used[-1] + 1))
        assert np.count_nonzero(np.diff(column[used])) == 1


def test_ordered_dichotomies_gain_from_the_true_order_of_the_classes_and_weak_learners_gain_more():
    # The claim of Hühn and Hüllermeier (2008): classes along a line, against the same classes in random orders.
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(8), 60)
    X = y[:, None] * [[1.0, 0.3]] + rng.normal(scale=0.7, size=(len(y), 2))
    train, test = np.arange(0, len(y), 2), np.arange(1, len(y), 2)

    def accuracy(estimator, order, seed):
        codebook = ordered_dichotomies(8, rng=seed)
        classifier = ECOCClassifier(
            estimator, codebook=codebook, assignment=order, decoding="loss", weighted_decoding=True, random_state=0
        )
        return classifier.fit(X[train], y[train]).score(X[test], y[test])

    gains = []
    for estimator in (LogisticRegression(), DecisionTreeClassifier(min_samples_leaf=5)):
        true = np.mean([accuracy(estimator, np.arange(8), seed) for seed in range(4)])
        shuffled = np.mean([accuracy(estimator, rng.permutation(8), seed) for seed in range(4)])
        gains.append(true - shuffled)
    assert gains[0] > 0.1
    assert gains[0] > gains[1] + 0.05


def test_no_trees_of_ordered_classes_are_refused():
    with pytest.raises(ValueError, match="'n_trees' parameter of ordered_dichotomies must be at least 1. Got 0"):
        ordered_dichotomies(4, n_trees=0)
