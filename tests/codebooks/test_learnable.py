from itertools import combinations

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.linear_model import RidgeClassifier
from tests.codebooks.test_separating import every_column, samples

from codekin.classes.learnability import class_moments
from codekin.codebooks import dense_random
from codekin.codebooks.designs.learnable import Outputs, Rest, learnable
from codekin.estimators import ECOCClassifier


def one_hot_outputs(X, y, train=slice(None)):
    """What least squares on one-hot targets gives every sample."""
    padded = np.column_stack([X, np.ones(len(X))])
    return padded @ np.linalg.lstsq(padded[train], np.eye(y.max() + 1)[y[train]], rcond=None)[0]


def accuracy(matrix, outputs, y):
    return (((outputs @ matrix) @ matrix.T).argmax(axis=1) == y).mean()


def test_the_estimated_error_is_how_often_a_class_is_overtaken_by_each_other_one():
    X, y = samples(5, n_features=4, n_per_class=2_000)
    columns = dense_random(5, 6, rng=0).matrix.astype(float)
    scores = one_hot_outputs(X, y) @ columns @ columns.T
    overtaken = (scores > scores[np.arange(len(y)), y][:, None]).sum(axis=1).mean()
    outputs = Outputs.of(class_moments(X, y, ridge=0))
    assert overtaken > 0.2
    assert outputs.error(columns) == pytest.approx(overtaken, rel=0.03)


def test_slopes_are_the_derivatives_of_the_error():
    columns = dense_random(7, 5, rng=0).matrix.astype(float)
    rest, column = Rest.of(Outputs.of(class_moments(*samples(7))), columns[:, :4]), columns[:, 4]
    step = 1e-5 * np.eye(7)
    differences = [(rest.error(column + one) - rest.error(column - one)) / 2e-5 for one in step]
    np.testing.assert_allclose(rest.slopes(column), differences, atol=1e-8)


@pytest.mark.parametrize("seed", range(3))
def test_no_other_four_columns_of_five_classes_err_much_less(seed):
    moments = class_moments(*samples(5, seed=seed))
    outputs, columns = Outputs.of(moments), every_column(5)
    found = outputs.error(learnable(5, 4, class_moments=moments, rng=0).matrix.astype(float))
    every = [columns[:, chosen] for chosen in combinations(range(15), 4)]
    best = min(outputs.error(matrix) for matrix in every if len(np.unique(matrix, axis=0)) == 5)
    assert best * (1 - 1e-9) <= found <= 1.02 * best


@pytest.mark.parametrize("seed", range(3))
def test_columns_chosen_without_training_beat_all_but_one_in_a_thousand_assignments_of_a_random_code(seed):
    X, y = load_digits(return_X_y=True)
    train, test = np.arange(0, len(y), 2), np.arange(1, len(y), 2)
    outputs = one_hot_outputs(X, y, train)[test]
    random, rng = dense_random(10, 8, rng=seed).matrix, np.random.default_rng(seed)
    accuracies = [accuracy(random[rng.permutation(10)], outputs, y[test]) for _ in range(2_000)]
    chosen = learnable(10, 8, class_moments=class_moments(X[train], y[train]), rng=seed).matrix
    assert accuracy(chosen, outputs, y[test]) >= np.quantile(accuracies, 0.999)


def test_the_estimator_fills_the_moments_in():
    X, y = samples(12)
    by_name = ECOCClassifier(RidgeClassifier(), codebook="learnable", n_bits=6, random_state=0).fit(X, y)
    assert by_name.codebook_.name == "learnable"
    assert by_name.codebook_.matrix.shape == (12, 6)
    assert by_name.score(X, y) > 0.3


def test_moments_of_another_number_of_classes_are_refused():
    with pytest.raises(ValueError, match="of 6 classes are needed. Got those of 5"):
        learnable(6, class_moments=class_moments(*samples(5)))
