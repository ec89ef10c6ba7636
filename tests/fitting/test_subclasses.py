"""Parts of classes: how a part is halved, and which halves stay."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression

from codekin.fitting.subclasses import ClassPartition, SplitRules, halves, merged, predicted_parts, split_classes
from codekin.samples import Samples


@pytest.fixture(scope="module")
def cloud():
    """Samples without a gap, in which k-means is not obvious."""
    return np.random.default_rng(0).normal(size=(300, 5)) * [3, 2, 1, 1, 1]


def rules(**changes):
    return SplitRules(**{"max_parts": 8, "min_samples": 10, "max_error": 0.0, "min_gain": 0.0, **changes})


def two_places(seed=0, n_samples=200):
    """Class 0 lies on both sides of class 1, on a line."""
    rng = np.random.default_rng(seed)
    place = np.arange(n_samples) % 3
    return rng.normal(scale=0.1, size=(n_samples, 1)) + place[:, None], (place == 1).astype(int)


def split(X, y, weights=None, **changes):
    def fit(part):
        return LogisticRegression(C=100).fit(X, part, sample_weight=weights)

    return split_classes(Samples(X, y, weights), lambda: X, fit, rules(**changes))


def test_two_far_clusters_are_the_halves():
    rng = np.random.default_rng(0)
    cluster = rng.permutation(np.arange(90) % 3 == 0)
    X = rng.normal(size=(90, 4)) + 20 * np.outer(cluster, [0, 1, 1, 0])
    side = halves(X, np.ones(90))
    assert np.array_equal(side, cluster) or np.array_equal(side, ~cluster)


def test_every_sample_is_in_the_half_with_the_nearer_mean(cloud):
    side = halves(cloud, np.ones(len(cloud)))
    to_means = np.linalg.norm(cloud[:, None] - [cloud[~side].mean(axis=0), cloud[side].mean(axis=0)], axis=2)
    np.testing.assert_array_equal(to_means.argmin(axis=1) == 1, side)


def test_halves_are_as_good_as_the_best_of_many_random_starts(cloud):
    side = halves(cloud, np.ones(len(cloud)))
    spread = sum(((cloud[own] - cloud[own].mean(axis=0)) ** 2).sum() for own in (side, ~side))
    assert spread <= 1.01 * KMeans(2, n_init=20, random_state=0).fit(cloud).inertia_


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csr_matrix, sparse.csc_array])
def test_halves_of_sparse_samples_are_those_of_dense_ones(kind):
    X = sparse.random(200, 30, density=0.2, rng=np.random.default_rng(0)).toarray()
    X[::2, 3] += 2
    np.testing.assert_array_equal(halves(kind(X), np.ones(200)), halves(X, np.ones(200)))


def test_a_sample_of_weight_two_counts_like_two_samples(cloud):
    weights = np.random.default_rng(1).integers(0, 4, size=len(cloud))
    repeated = np.repeat(np.arange(len(cloud)), weights)
    by_weight = halves(cloud, weights.astype(float))[repeated]
    by_repetition = halves(cloud[repeated], np.ones(len(repeated)))
    assert np.array_equal(by_weight, by_repetition) or np.array_equal(by_weight, ~by_repetition)


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_halves_do_not_depend_on_the_scale(cloud, scale):
    np.testing.assert_array_equal(halves(scale * cloud, np.ones(300)), halves(cloud, np.ones(300)))


@pytest.mark.parametrize("X", [np.zeros((5, 2)), np.full((5, 2), 0.1), sparse.csr_array((5, 2))])
def test_samples_that_are_all_the_same_have_no_halves(X):
    assert halves(X, np.ones(5)) is None


def test_parts_always_partition_the_samples_of_their_class():
    rng = np.random.default_rng(0)
    class_index = rng.integers(0, 4, size=100)
    parts = ClassPartition.whole(class_index)
    for _ in range(12):
        part = int(rng.integers(len(parts)))
        rows = np.flatnonzero(parts.part_of_sample == part)
        parts = parts.divided(part, rows[: len(rows) // 2])
        np.testing.assert_array_equal(parts.class_of_part[parts.part_of_sample], class_index)
        assert (np.diff(parts.class_of_part) >= 0).all()
    assert len(parts) == 16


def test_whole_classes_come_first_and_every_split_that_stays_lowers_the_error():
    X, y = two_places()
    best, errors = split(X, y)
    assert len(errors) == len(best.parts) - 1
    assert errors == sorted(errors, reverse=True)
    assert errors[0] > 0.3
    assert errors[-1] == best.error < 0.02
    assert (best.parts.class_of_part == 0).sum() == 2


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"max_parts": 1}, "no class may have two parts"),
        ({"max_error": 0.5}, "the error is small enough"),
        ({"min_samples": 101}, "no part has 202 samples"),
    ],
)
def test_nothing_is_split_beyond_the_limits(changes, reason):
    X, y = two_places()
    best, errors = split(X, y, **changes)
    assert len(best.parts) == 2, reason
    assert len(errors) == 1


def test_samples_without_weight_do_not_make_a_part_larger():
    X, y = two_places(n_samples=300)
    weights = np.ones(300)
    weights[(X[:, 0] > 1.5) & (np.arange(300) >= 24)] = 0  # 8 samples of the last place count
    assert (split(X, y, weights, min_samples=8)[0].parts.class_of_part == 0).sum() == 2
    assert (split(X, y, weights, min_samples=9)[0].parts.class_of_part == 0).sum() == 1


def test_the_gain_of_a_split_is_a_share_of_the_errors_that_the_part_is_involved_in():
    X, y = two_places()
    before, _ = split(X, y, max_parts=1)
    after, _ = split(X, y, max_parts=2)
    # All errors are between the two classes.
    np.testing.assert_allclose(before.error_of_part, before.error)
    share = (before.error - after.error) / before.error
    assert len(split(X, y, max_parts=2, min_gain=share - 1e-6)[0].parts) > 2
    assert len(split(X, y, max_parts=2, min_gain=share + 1e-6)[0].parts) == 2


def test_a_part_that_was_halved_in_vain_is_tried_again_after_another_split():
    tried = []

    class Scripted:
        """Is wrong about the first samples of each class until both are in parts."""

        def __init__(self, part):
            self.part = part

        def predict(self, X):
            tried.append(len(np.unique(self.part)))
            wrong = {2: 10, 3: 12 if len(tried) == 2 else 5, 4: 0}[len(np.unique(self.part))]
            predicted = self.part.copy()
            predicted[:wrong] = self.part[-1]
            return predicted

    y = np.repeat([0, 1], 20)
    X = np.random.default_rng(0).normal(size=(40, 2))
    best, errors = split_classes(Samples(X, y), lambda: X, Scripted, rules(min_samples=1, max_parts=2))
    assert errors == [0.25, 0.125, 0.0]
    assert best.parts.class_of_part.tolist() == [0, 0, 1, 1]


def test_parts_that_cannot_be_learned_end_the_search_with_a_warning():
    X, y = two_places()

    def fit(part):
        if part.max() > 1:
            raise ValueError("At most 2 classes.")
        return LogisticRegression().fit(X, part)

    with pytest.warns(UserWarning, match="Classes stay in 2 parts, since 3 cannot be learned: At most 2 classes."):
        best, _ = split_classes(Samples(X, y), lambda: X, fit, rules())
    assert len(best.parts) == 2


def test_the_predicted_part_is_the_most_probable_one_of_the_most_probable_class():
    class Known:
        def predict_proba(self, X):
            return np.array([[0.4, 0.3, 0.3], [0.6, 0.1, 0.3], [0.2, 0.5, 0.3]])

    class_of_part = np.array([0, 1, 1])
    np.testing.assert_allclose(
        merged(np.add, Known().predict_proba(None), class_of_part), [[0.4, 0.6], [0.6, 0.4], [0.2, 0.8]]
    )
    assert predicted_parts(Known(), None, class_of_part).tolist() == [1, 0, 1]
