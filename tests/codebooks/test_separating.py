from itertools import combinations

import numpy as np
import pytest
from sklearn.svm import LinearSVC

from codekin.classes.learnability import ClassMoments, class_moments
from codekin.codebooks import dense_random, separating
from codekin.codebooks.designs.separating import Remainder, Space, _greedy_columns, _improved
from codekin.estimators import ECOCClassifier


def samples(n_classes, n_features=6, n_per_class=40, seed=0):
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(n_classes), n_per_class)
    return rng.normal(size=(n_classes, n_features))[y] + rng.normal(size=(len(y), n_features)), y


def every_column(n_classes):
    numbers = np.arange(1, 2 ** (n_classes - 1))
    return np.where((numbers[None, :] >> np.arange(n_classes)[:, None]) & 1, 1.0, -1.0)


@pytest.mark.parametrize("seed", range(4))
def test_no_other_three_columns_of_five_classes_have_a_much_smaller_bound(seed):
    moments = class_moments(*samples(5, seed=seed))
    space, columns = Space.of(moments), every_column(5)
    found = space.bound(separating(5, 3, class_moments=moments, rng=0).matrix.astype(float))
    every = [columns[:, chosen] for chosen in combinations(range(15), 3)]
    best = min(space.bound(matrix) for matrix in every if len(np.unique(matrix, axis=0)) == 5)
    assert best - 1e-9 <= found <= 1.02 * best


def test_the_bound_is_that_of_normal_classes_behind_least_squares_margins():
    X, y = samples(6)
    columns = dense_random(6, 4, rng=0).matrix.astype(float)
    centred, targets = X - X.mean(axis=0), columns[y] - columns[y].mean(axis=0)
    margins = centred @ np.linalg.lstsq(centred, targets, rcond=None)[0]
    means = np.array([margins[y == k].mean(axis=0) for k in range(6)])
    precision = np.linalg.inv((margins - means[y]).T @ (margins - means[y]) / len(y))
    differences = means[:, None] - means
    apart = np.einsum("uvi,ij,uvj->uv", differences, precision, differences)
    bound = (np.exp(-apart / 8) / 6).sum() / 2 - 0.5
    assert Space.of(class_moments(X, y, ridge=0)).bound(columns) == pytest.approx(bound, rel=1e-6)


def test_what_flips_do_is_foreseen():
    space = Space.of(class_moments(*samples(7)))
    columns = dense_random(7, 4, rng=0).matrix.astype(float)
    rest = Remainder.of(space, columns[:, :3])
    flipped = [np.where(np.arange(7) == k, -columns[:, 3], columns[:, 3]) for k in range(7)]
    bounds = [space.bound(np.column_stack([columns[:, :3], column])) for column in flipped]
    assert rest.bounds_after_flips(columns[:, 3]) == pytest.approx(bounds, rel=1e-5)
    ratios = [column @ rest.gains @ column / (column @ rest.lengths @ column) for column in flipped]
    assert rest.ratios_after_flips(columns[:, 3]) == pytest.approx(ratios)


def test_trying_columns_again_never_raises_the_bound():
    space = Space.of(class_moments(*samples(40, n_features=30)))
    greedy = _greedy_columns(space, 8)
    assert space.bound(_improved(space, greedy)) <= space.bound(greedy)


def test_the_span_of_all_columns_is_that_of_any_others():
    moments = class_moments(*samples(6))
    bounds = [
        Space.of(moments).bound(codebook.matrix.astype(float))
        for codebook in (separating(6, 5, class_moments=moments, rng=0), dense_random(6, 5, rng=0))
    ]
    assert bounds[0] == pytest.approx(bounds[1], rel=1e-4)


def test_the_estimator_fills_the_moments_in():
    X, y = samples(12)
    by_name = ECOCClassifier(LinearSVC(), codebook="separating", n_bits=5, random_state=0).fit(X, y)
    assert by_name.codebook_.name == "separating"
    assert by_name.codebook_.matrix.shape == (12, 5)
    assert by_name.score(X, y) > 0.3


def test_more_bits_than_linear_bits_can_say_are_refused():
    moments = class_moments(*samples(12, n_features=5))
    with pytest.raises(ValueError, match="at most 5 independent linear bits; n_bits .* must not be greater. Got 6."):
        separating(12, 6, class_moments=moments)
    assert separating(12, class_moments=moments, rng=0).n_bits == 5
    with pytest.raises(ValueError, match="at most 2 independent linear bits, but 12 codewords need 4 bits"):
        separating(12, class_moments=class_moments(*samples(12, n_features=2)))


def test_moments_of_another_number_of_classes_are_refused():
    moments = class_moments(*samples(5))
    with pytest.raises(ValueError, match="of 6 classes are needed. Got those of 5"):
        separating(6, class_moments=moments)
    with pytest.raises(ValueError, match="Got shapes"):
        ClassMoments(np.ones(2) / 2, np.eye(3))
    with pytest.raises(ValueError, match="greater than 0. Got 0.0"):
        ClassMoments(np.array([0.0, 1.0]), np.eye(2))
