"""Codebooks whose columns are chosen by trials of the learner."""

from itertools import combinations

import numpy as np
import pytest
from sklearn.linear_model import RidgeClassifier
from tests.codebooks.test_separating import every_column, samples

from codekin import ECOCClassifier
from codekin.classes.samples import ColumnTrials
from codekin.codebooks.designs.trained import Ensemble, chosen_columns, ecoc_one
from codekin.fitting.classes import column_trials
from codekin.learners import IndependentBits
from codekin.samples import Samples


def bound(columns, errors, frequency):
    first, second = np.triu_indices(len(columns), k=1)
    factors = np.where(columns[first] != columns[second], 2 * np.sqrt(errors * (1 - errors)), 1.0)
    return np.sqrt(frequency[first] * frequency[second]) @ factors.prod(axis=1)


@pytest.mark.parametrize("seed", range(3))
def test_no_other_four_columns_of_five_classes_have_a_lower_bound(seed):
    columns = every_column(5).astype(np.int8) * -1
    columns = columns * columns[0]
    rng = np.random.default_rng(seed)
    errors, frequency = rng.uniform(0.01, 0.4, columns.shape[1]), rng.dirichlet(np.ones(5))
    chosen = chosen_columns(columns, errors, frequency, 4, np.random.default_rng(0))
    every = [list(some) for some in combinations(range(15), 4) if len(np.unique(columns[:, some], axis=0)) == 5]
    best = min(bound(columns[:, some], errors[some], frequency) for some in every)
    assert bound(columns[:, chosen], errors[chosen], frequency) == pytest.approx(best)


def test_trials_are_those_of_learning_without_the_samples():
    X, y = samples(4, n_per_class=20)
    columns = np.array([[1, 1], [-1, 1], [0, -1], [1, -1]], dtype=np.int8)
    trials = column_trials(IndependentBits(RidgeClassifier()), Samples(X, y), 4, np.random.default_rng(0))
    assert len(trials.class_index) == len(y)
    order = np.lexsort(trials.margins(columns).T)
    one_by_one = np.column_stack([trials.margins(columns[:, [bit]]) for bit in range(2)])
    np.testing.assert_allclose(trials.margins(columns), one_by_one)
    own = RidgeClassifier().fit(X[y != 2], columns[y[y != 2], 0] > 0).decision_function(X)
    assert not np.allclose(np.sort(own), trials.margins(columns)[order, 0])
    assert np.corrcoef(np.sort(own), np.sort(trials.margins(columns)[:, 0]))[0, 1] > 0.9


def test_errors_count_the_samples_of_a_columns_classes_only():
    trials = ColumnTrials(np.array([0, 0, 1, 2]), np.ones(4), lambda _: np.array([[1.0], [-1.0], [-1.0], [5.0]]))
    assert trials.errors(np.array([[1], [-1], [0]], dtype=np.int8)) == pytest.approx([2 / 5])


def test_a_column_for_the_most_confused_pair_separates_it_and_lowers_the_error():
    X, y = samples(6, n_features=4)
    trials = column_trials(IndependentBits(RidgeClassifier()), Samples(X, y), 6, np.random.default_rng(0))
    before = Ensemble.of(trials, ecoc_one(6, 3, column_trials=trials, rng=0).matrix)
    after = before.extended()
    first, second = next(before._confused_pairs())
    assert set(after.matrix[[first, second], -1]) == {-1, 1}
    wrong = [(one.distances.argmin(axis=1) != trials.class_index).mean() for one in (before, after)]
    assert wrong[1] < wrong[0]
    np.testing.assert_allclose(after.distances, Ensemble.of(trials, after.matrix).distances)


def test_cross_validated_columns_are_more_accurate_than_random_ones():
    y = np.repeat(np.arange(6), 100)
    rng = np.random.default_rng(0)
    X = 1.5 * rng.normal(size=(6, 5))[y] + rng.normal(size=(600, 5))
    train, test = np.arange(0, len(y), 2), np.arange(1, len(y), 2)

    def accuracy(seed, **options):
        options |= {"n_bits": 4, "decoding": "loss", "weighted_decoding": True, "random_state": seed}
        classifier = ECOCClassifier(RidgeClassifier(), **options)
        return classifier.fit(X[train], y[train]).score(X[test], y[test])

    random = [accuracy(seed, codebook="dense_random", assignment="random") for seed in range(4)]
    assert accuracy(0, codebook="cross_validated") > np.mean(random) + 0.02
