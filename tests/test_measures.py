import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codekin.classes import ClassTree
from codekin.coding import Codebook
from codekin.decoding import LOSSES, MinimumLossDecoder
from codekin.measures import (
    average_binary_loss,
    binary_losses,
    expected_calibration_error,
    level_accuracies,
    multiclass_error_bound,
    prediction_measures,
)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "exponential", "logistic", "squared", "hamming"])
@pytest.mark.parametrize("entries", [(-1, 1), (-1, 0, 1)])
@given(seed=st.integers(0, 10_000), noise=st.floats(0.1, 5))
@settings(max_examples=25, deadline=None)
def test_the_bound_of_eq_4_holds(loss, entries, seed, noise):
    """For convex losses by theorem, and for the Hamming loss as the paper's special case."""
    rng = np.random.default_rng(seed)
    codebook = Codebook(np.unique(rng.choice(entries, (6, 12)), axis=0))
    y = rng.integers(codebook.n_codewords, size=40)
    margins = codebook.matrix[y] + noise * rng.normal(size=(40, 12))
    error = (MinimumLossDecoder(codebook.matrix, loss).decode(margins) != y).mean()
    epsilon = average_binary_loss(margins, y, codebook.matrix, LOSSES[loss])
    assert error <= multiclass_error_bound(epsilon, codebook, LOSSES[loss]) + 1e-12


def test_average_binary_loss_is_eq_3():
    margins = np.array([[2.0, -0.5], [0.0, 3.0]])
    matrix = np.array([[1, 1], [-1, 1]], dtype=np.int8)
    expected = (0 + 1.5 + 1 + 0) / 4
    assert average_binary_loss(margins, np.array([0, 1]), matrix, LOSSES["hinge"]) == expected
    np.testing.assert_allclose(binary_losses(margins, np.array([0, 1]), matrix, LOSSES["hinge"]), [0.5, 0.75])


def test_a_loss_that_vanishes_at_zero_bounds_nothing():
    codebook = Codebook([[1, 1], [-1, -1]])
    assert multiclass_error_bound(0.1, codebook, lambda z: np.maximum(0, -z)) == np.inf


def test_calibration_error_of_honest_and_boastful_predictions():
    honest = np.tile([0.75, 0.25], (4, 1))
    assert expected_calibration_error(honest, np.array([0, 0, 0, 1])) == pytest.approx(0)
    boastful = np.tile([1.0, 0.0], (4, 1))
    assert expected_calibration_error(boastful, np.array([0, 0, 1, 1])) == pytest.approx(0.5)


TREE = ClassTree.from_nested({"animal": {"pet": ["cat", "dog"], "wild": ["fox"]}, "ship": []})  # cat, dog, fox, ship


def test_precision_counts_the_true_class_once_and_recall_says_whether_it_is_there():
    best = np.array([[0, 1, 2], [1, 0, 2], [2, 3, 1], [3, 2, 0]])
    measures = prediction_measures(best, np.array([0, 0, 0, -1]), at=(1, 2, 3))
    assert measures.recall_at == {1: 0.25, 2: 0.5, 3: 0.5}
    assert measures.precision_at == {1: 0.25, 2: 0.25, 3: 0.5 / 3}
    assert (measures.accuracy, measures.n_samples) == (0.25, 4)
    assert (measures.level_accuracies, measures.mean_error_distance) == ((), None)


def test_levels_of_the_tree_are_right_as_far_as_the_way_down_is():
    predicted, true = np.array([0, 1, 2, 3, 0]), np.array([0, 0, 0, 0, -1])
    np.testing.assert_allclose(level_accuracies(predicted, true, TREE), [3 / 5, 2 / 5, 1 / 5])
    measures = prediction_measures(predicted[:, None], true, tree=TREE)
    assert measures.level_accuracies[-1] == measures.accuracy
    assert measures.mean_error_distance == (2 + 4 + 4) / 3


def test_a_class_above_a_level_is_right_only_if_it_is_the_true_one():
    np.testing.assert_allclose(level_accuracies(np.array([3, 3]), np.array([3, 0]), TREE), [0.5, 0.5, 0.5])


def test_edge_lengths_do_not_change_what_a_level_is():
    stretched = ClassTree(TREE.parent, TREE.node_of_class, 3.5 * np.ones(TREE.n_nodes))
    predicted, true = np.array([0, 1, 2, 3]), np.array([0, 0, 0, 0])
    np.testing.assert_array_equal(level_accuracies(predicted, true, stretched), level_accuracies(predicted, true, TREE))


def test_without_errors_there_is_no_distance_of_errors():
    assert prediction_measures(np.array([[1]]), np.array([1]), tree=TREE).mean_error_distance is None
    with pytest.raises(ValueError, match="no predictions"):
        prediction_measures(np.empty((0, 1), dtype=np.intp), np.empty(0, dtype=np.intp))
