import numpy as np
import pytest

from codekin.classes import ClassTree
from codekin.measures.predictions import (
    Evaluation,
    level_accuracies,
    prediction_measures,
)

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


def test_a_summary_says_if_the_nearest_class_mean_is_better_by_more_than_noise():
    sentence = "The nearest class mean is better than this model: try rerank learned or centroid"
    for n_samples, nearest, is_better in (
        (60, 0.5, False),
        (5_000, 0.5, True),
        (5_000, 0.41, False),
        (5_000, None, False),
    ):
        shown = str(Evaluation(n_samples, 0, 0.4, 0.6, 0.1, nearest, n_classes=60))
        assert (sentence in shown) == is_better


def test_an_evaluation_claims_nothing_about_its_samples_and_leaves_out_five_of_five_classes():
    shown = str(Evaluation(500, 0, 0.4, 1.0, n_classes=5))
    assert "40.0%  (on 500 samples)" in shown
    assert "among the best 5" not in shown
    assert "among the best 5" in str(Evaluation(500, 0, 0.4, 1.0, n_classes=6))
