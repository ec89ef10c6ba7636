"""AROW as a learner of bits: what its options promise, and that memory and threads do not change its results."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from tests.reference.arow import arow

from codekin.code import Code
from codekin.codebooks import trellis_codebook
from codekin.learners import arow as arow_module
from codekin.learners import online
from codekin.learners.arow import AROW
from codekin.learners.linear import CONSTANT_MARGIN
from codekin.learners.training_rows import Validation, pass_order
from codekin.samples import Samples

N_CLASSES, N_FEATURES = 10, 30


NUMBERED = np.where((np.arange(N_CLASSES)[:, None] >> np.arange(4)) & 1, 1, -1)
"""Bits that make all codewords different, beside those that a test is about."""


@pytest.fixture(scope="module")
def samples():
    """Classes that linear bits can tell apart, with some noise."""
    rng = np.random.default_rng(0)
    class_index = rng.integers(0, N_CLASSES, size=400)
    centres = rng.normal(size=(N_CLASSES, N_FEATURES)) * (rng.random((N_CLASSES, N_FEATURES)) < 0.4)
    X = sparse.csr_array(centres[class_index] * (rng.random((400, N_FEATURES)) < 0.8) * rng.normal(1, 0.3, (400, 1)))
    return X.astype(np.float32), class_index


@pytest.fixture(scope="module")
def coding_matrix():
    return trellis_codebook(N_CLASSES, 3).matrix


def accuracy_of(X, class_index, coding_matrix):
    def score(margins):
        losses = np.exp(-margins[:, None] * coding_matrix).sum(axis=2)
        return float((losses.argmin(axis=1) == class_index).mean())

    return Validation(X, score)


def test_fitting_is_the_paper_s_algorithm(samples, coding_matrix):
    X, class_index = samples
    bits = AROW(r=0.7, n_epochs=2, shuffle=False).fit(Samples(X, class_index), Code.of(coding_matrix))
    weights, _, _ = arow(X.toarray(), coding_matrix[class_index], np.full(400, 0.7), [*range(400)] * 2)
    np.testing.assert_array_equal(bits.weights, weights)
    assert not bits.bias.any()


def test_it_learns(samples, coding_matrix):
    X, class_index = samples
    bits = AROW().fit(Samples(X[:300], class_index[:300]), Code.of(coding_matrix), rng=0)
    validation = accuracy_of(X[300:], class_index[300:], coding_matrix)
    assert validation.score(bits.margins(validation.X)) > 0.9


def test_a_seed_determines_the_result_and_another_gives_another(samples, coding_matrix):
    first, again, other = (
        AROW().fit(Samples(*samples), Code.of(coding_matrix), rng=seed).weights for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_fitting_leaves_the_samples_alone(samples, coding_matrix):
    X, class_index = samples
    before = X.copy()
    AROW(fit_intercept=True).fit(Samples(X, class_index), Code.of(coding_matrix), rng=0)
    np.testing.assert_array_equal(X.toarray(), before.toarray())


@pytest.mark.parametrize("options", [{}, {"average": True}, {"fit_intercept": True, "oversample": 2.5}])
def test_the_number_of_threads_changes_nothing(samples, options, monkeypatch):
    monkeypatch.setattr(arow_module, "BITS_PER_THREAD", 1)
    wide = trellis_codebook(N_CLASSES, 5).matrix
    one = AROW(n_threads=1, **options).fit(Samples(*samples), Code.of(wide), rng=0)
    three = AROW(n_threads=3, **options).fit(Samples(*samples), Code.of(wide), rng=0)
    np.testing.assert_array_equal(one.weights, three.weights)
    np.testing.assert_array_equal(one.bias, three.bias)


@pytest.mark.parametrize("options", [{}, {"average": True}, {"fit_intercept": True, "oversample": 2.5}])
@pytest.mark.parametrize("has_validation", [False, True])
@pytest.mark.parametrize("n_columns", [1, 5])
def test_training_in_column_blocks_changes_nothing(samples, coding_matrix, options, has_validation, n_columns):
    X, class_index = samples
    # A score that prefers the second pass, so that the best weights are not the last.
    seen = []

    def score(margins):
        seen.append(margins.copy())
        return [0.3, 0.5, 0.4][(len(seen) - 1) % 3]

    validation = Validation(X[:1], score) if has_validation else None
    learner = AROW(n_epochs=3, **options)
    at_once = learner.fit(Samples(X, class_index), Code.of(coding_matrix), rng=0, validation=validation)

    reports = []
    n_bits, n_features = coding_matrix.shape[1], N_FEATURES + learner.fit_intercept
    n_rows = 3 if learner.average else 2
    max_memory = 4 * n_features * (n_bits + n_rows * n_columns) + (3 * n_bits * 4 if has_validation else 0)
    blocked = AROW(n_epochs=3, max_memory=max_memory, **options)
    in_blocks = blocked.fit(
        Samples(X, class_index), Code.of(coding_matrix), rng=0, validation=validation, on_epoch=reports.append
    )
    assert max(report.n_blocks for report in reports) == -(-n_bits // n_columns)
    np.testing.assert_array_equal(in_blocks.weights, at_once.weights)
    np.testing.assert_array_equal(in_blocks.bias, at_once.bias)
    if has_validation:
        np.testing.assert_array_equal(seen[:3], seen[3:])


@pytest.mark.parametrize("options", [{}, {"average": True}])
@pytest.mark.parametrize("has_validation", [False, True])
@pytest.mark.parametrize("share", [1.0, 0.75])
def test_training_takes_the_memory_it_says_and_the_result_half_a_plain_state(
    options, has_validation, share, monkeypatch
):
    n_features, n_bits = 20_000, 64
    X = sparse.random_array(
        (50, n_features), density=1e-3, rng=np.random.default_rng(0), format="csr", dtype=np.float32
    )
    matrix = np.random.default_rng(0).choice(np.array([-1, 1], dtype=np.int8), size=(50, n_bits))
    validation = Validation(X[:2], lambda margins: 0.0) if has_validation else None
    cell = 4 * n_features * n_bits
    max_memory = int(share * cell * (2 + options.get("average", False)))
    learner, peaks, gathered = AROW(n_epochs=2, max_memory=max_memory, **options), [], arow_module.AROWBits.gathered

    def fitted():
        return learner.fit(Samples(X, np.arange(50)), Code.of(matrix), validation=validation)

    def watched(bits):
        # The state shrinks in place here, and NumPy 2.5 tells tracemalloc of the new size before it forgets the old.
        peaks.append(tracemalloc.get_traced_memory()[1])
        weights = gathered(bits)
        tracemalloc.reset_peak()
        return weights

    fitted()  # what is compiled and imported is not the training's
    monkeypatch.setattr(arow_module.AROWBits, "gathered", watched)
    tracemalloc.start()
    bits = fitted()
    left, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert bits.weights.shape == (n_features, n_bits)
    assert max(peak, *peaks, 0) < max_memory + 2**20
    assert left < cell + 2**19


def test_too_little_memory_is_refused_with_the_arithmetic(samples, coding_matrix, monkeypatch):
    n_bits = coding_matrix.shape[1]
    with pytest.raises(MemoryError, match=rf"30 features x {n_bits} bits x 8 bytes.*100 B are allowed by max_memory"):
        AROW(max_memory=100).fit(Samples(*samples), Code.of(coding_matrix))
    monkeypatch.setattr(online, "available_memory", lambda: 2000)
    with pytest.raises(MemoryError, match=r"2\.0 KiB are available"):
        AROW(max_memory=10**12).fit(Samples(*samples), Code.of(coding_matrix))
    with pytest.raises(MemoryError, match="features x"):
        AROW().partial_fit(None, Samples(*samples), Code.of(coding_matrix))


@pytest.mark.parametrize("options", [{}, {"average": True, "fit_intercept": True}])
def test_learning_on_from_further_samples_is_learning_from_all(samples, coding_matrix, options):
    X, class_index = samples
    learner = AROW(n_epochs=1, shuffle=False, **options)
    whole = learner.fit(Samples(X, class_index), Code.of(coding_matrix))
    bits = None
    for part in (slice(0, 150), slice(150, 151), slice(151, 400)):
        bits = learner.partial_fit(bits, Samples(X[part], class_index[part]), Code.of(coding_matrix))
    np.testing.assert_array_equal(bits.finished().weights, whole.weights)
    np.testing.assert_array_equal(bits.finished().bias, whole.bias)
    np.testing.assert_allclose(bits.margins(X), whole.margins(X), rtol=1e-4, atol=1e-5)


def test_passes_of_partial_fit_are_the_epochs_of_fit(samples, coding_matrix):
    rng, bits = np.random.default_rng(7), None
    for _ in range(3):
        bits = AROW().partial_fit(bits, Samples(*samples), Code.of(coding_matrix), rng=rng)
    fitted = AROW(n_epochs=3).fit(Samples(*samples), Code.of(coding_matrix), rng=np.random.default_rng(7))
    np.testing.assert_array_equal(bits.finished().weights, fitted.weights)


def test_learning_on_leaves_the_bits_before_alone(samples, coding_matrix):
    first = AROW().partial_fit(None, Samples(*samples), Code.of(coding_matrix), rng=0)
    before = first.state.copy()
    AROW().partial_fit(first, Samples(*samples), Code.of(coding_matrix), rng=0)
    np.testing.assert_array_equal(first.state, before)
    with pytest.raises(ValueError, match="cannot continue"):
        AROW(average=True).partial_fit(first, Samples(*samples), Code.of(coding_matrix), rng=0)


def test_the_best_epoch_is_kept_and_patience_ends_the_training(samples, coding_matrix):
    scores = iter([0.1, 0.6, 0.5, 0.6, 0.5, 0.4, 0.9])
    reports = []
    bits = AROW(n_epochs=7, patience=2).fit(
        Samples(*samples),
        Code.of(coding_matrix),
        rng=0,
        validation=Validation(samples[0], lambda margins: next(scores)),
        on_epoch=reports.append,
    )
    assert [report.score for report in reports] == [0.1, 0.6, 0.5, 0.6, 0.5, 0.4]
    second = AROW(n_epochs=2).fit(Samples(*samples), Code.of(coding_matrix), rng=0)
    # The seeds of the passes do not depend on how many there are.
    np.testing.assert_array_equal(bits.weights, second.weights)


def test_a_report_s_snapshot_is_what_fewer_epochs_give(samples, coding_matrix):
    snapshots = []
    AROW(n_epochs=3).fit(
        Samples(*samples), Code.of(coding_matrix), rng=0, on_epoch=lambda r: snapshots.append(r.snapshot())
    )
    second = AROW(n_epochs=2).fit(Samples(*samples), Code.of(coding_matrix), rng=0)
    np.testing.assert_array_equal(snapshots[1].weights, second.weights)


def test_validation_sees_the_margins_of_the_weights_that_are_kept(samples, coding_matrix):
    for options in ({}, {"average": True, "fit_intercept": True}):
        seen = []
        validation = Validation(samples[0], lambda margins, seen=seen: seen.append(margins.copy()) or len(seen))
        bits = AROW(n_epochs=3, **options).fit(Samples(*samples), Code.of(coding_matrix), rng=0, validation=validation)
        np.testing.assert_allclose(bits.margins(samples[0]), seen[-1], rtol=1e-4, atol=1e-5)


def test_a_zero_bit_learns_only_from_the_other_classes(samples):
    X, class_index = samples
    matrix = np.column_stack([[0, 1, -1, *[0] * 7], NUMBERED])
    some = np.isin(class_index, [1, 2])
    bits = AROW(shuffle=False).fit(Samples(X, class_index), Code.of(matrix))
    alone = AROW(shuffle=False).fit(Samples(X[some], class_index[some]), Code.of(matrix))
    np.testing.assert_array_equal(bits.weights[:, 0], alone.weights[:, 0])


def test_constant_and_empty_bits_are_not_learned(samples):
    X, class_index = samples
    signs = np.where(np.arange(N_CLASSES) < 5, 1, -1)
    matrix = np.column_stack([np.ones(10), signs, -np.ones(10), np.zeros(10), NUMBERED]).astype(np.int8)
    bits = AROW().fit(Samples(X, class_index), Code.of(matrix), rng=0)
    assert not bits.weights[:, [0, 2, 3]].any()
    assert bits.weights[:, 1].any()
    np.testing.assert_array_equal(bits.bias[:4], [CONSTANT_MARGIN, 0, -CONSTANT_MARGIN, 0])
    # Also when it is the samples that lack one side.
    upper = class_index >= 5
    assert AROW().fit(Samples(X[upper], class_index[upper]), Code.of(matrix), rng=0).bias[1] == -CONSTANT_MARGIN


def test_the_constant_bit_of_a_trellis_is_not_learned():
    codebook = trellis_codebook(8, 2)
    X = sparse.eye_array(8, format="csr", dtype=np.float32)
    bits = AROW().fit(Samples(X, np.arange(8)), Code.of(codebook.matrix), rng=0)
    constant = (codebook.matrix == 1).all(axis=0)
    assert constant.sum() == 1
    assert not bits.weights[:, constant].any()
    assert (bits.bias[constant] == CONSTANT_MARGIN).all()


def test_a_weight_divides_r(samples, coding_matrix):
    X, class_index = samples
    heavy = AROW(shuffle=False).fit(Samples(X, class_index, weights=np.full(400, 4.0)), Code.of(coding_matrix))
    bold = AROW(r=0.25, shuffle=False).fit(Samples(X, class_index), Code.of(coding_matrix))
    np.testing.assert_array_equal(heavy.weights, bold.weights)


def test_samples_of_weight_zero_do_not_exist(samples, coding_matrix):
    X, class_index = samples
    weight = (np.arange(400) % 3 > 0).astype(float)
    some = weight > 0
    weighted = AROW(shuffle=False).fit(Samples(X, class_index, weights=weight), Code.of(coding_matrix))
    without = AROW(shuffle=False).fit(Samples(X[some], class_index[some]), Code.of(coding_matrix))
    np.testing.assert_array_equal(weighted.weights, without.weights)


def test_class_weights_are_sample_weights_of_all_its_samples(samples, coding_matrix):
    X, class_index = samples
    class_weight = np.arange(1.0, 11.0)
    by_class = AROW(class_weight=class_weight).fit(Samples(X, class_index), Code.of(coding_matrix), rng=0)
    by_sample = AROW().fit(Samples(X, class_index, weights=class_weight[class_index]), Code.of(coding_matrix), rng=0)
    np.testing.assert_array_equal(by_class.weights, by_sample.weights)
    balanced = AROW(class_weight="balanced").fit(Samples(X, class_index), Code.of(coding_matrix), rng=0)
    weights = 400 / (10 * np.bincount(class_index))
    by_hand = AROW(class_weight=weights).fit(Samples(X, class_index), Code.of(coding_matrix), rng=0)
    np.testing.assert_array_equal(balanced.weights, by_hand.weights)


def test_a_bias_is_the_weight_of_a_feature_that_is_always_one(samples, coding_matrix):
    X, class_index = samples
    with_bias = AROW(fit_intercept=True).fit(Samples(X, class_index), Code.of(coding_matrix), rng=0)
    ones = sparse.hstack([X, np.ones((400, 1), dtype=np.float32)], format="csr")
    by_hand = AROW().fit(Samples(ones, class_index), Code.of(coding_matrix), rng=0)
    np.testing.assert_array_equal(with_bias.weights, by_hand.weights[:-1])
    np.testing.assert_array_equal(with_bias.bias, by_hand.weights[-1])


def test_averaged_weights_are_the_mean_over_all_steps(samples, coding_matrix):
    X, class_index = samples
    bits = AROW(n_epochs=1, average=True, shuffle=False).fit(Samples(X[:40], class_index[:40]), Code.of(coding_matrix))
    _, _, history = arow(X[:40].toarray(), coding_matrix[class_index[:40]], np.ones(40), list(range(40)))
    learned = bits.bias == 0
    np.testing.assert_allclose(bits.weights[:, learned], history.mean(axis=0)[:, learned], rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("oversample", [1.0, 1.5, 3.0])
@pytest.mark.parametrize("is_shuffled", [True, False])
def test_oversampling_shows_positives_that_often_and_all_samples_once(oversample, is_shuffled):
    order = pass_order(20, 0, oversample=oversample, is_shuffled=is_shuffled)
    np.testing.assert_array_equal(np.sort(order[order < 20]), np.arange(20))
    assert (order >= 20).sum() == round(20 * (oversample - 1))
    if oversample == 3:
        np.testing.assert_array_equal(np.bincount(order % 20), np.full(20, 3))


def test_oversampling_helps_the_rare_positives_of_one_vs_rest(samples):
    X, class_index = samples
    one_vs_rest = (2 * np.eye(N_CLASSES) - 1).astype(np.int8)
    few = np.flatnonzero(np.arange(400) < 60)
    plain = AROW(n_epochs=1).fit(Samples(X[few], class_index[few]), Code.of(one_vs_rest), rng=0).margins(X)
    oversampled = (
        AROW(n_epochs=1, oversample=5).fit(Samples(X[few], class_index[few]), Code.of(one_vs_rest), rng=0).margins(X)
    )
    own = np.arange(400), class_index
    assert oversampled[own].mean() > plain[own].mean()


def test_dense_samples_and_duplicates_are_understood(samples, coding_matrix):
    X, class_index = samples
    expected = AROW().fit(Samples(X, class_index), Code.of(coding_matrix), rng=0).weights
    np.testing.assert_array_equal(
        AROW().fit(Samples(X.toarray(), class_index), Code.of(coding_matrix), rng=0).weights, expected
    )
    halves = sparse.csr_array((np.repeat(X.data / 2, 2), np.repeat(X.indices, 2), 2 * X.indptr), shape=X.shape)
    np.testing.assert_array_equal(
        AROW().fit(Samples(halves, class_index), Code.of(coding_matrix), rng=0).weights, expected
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"r": -1}, "The 'r' parameter of AROW must be greater than 0. Got -1 instead."),
        ({"n_epochs": 0}, "The 'n_epochs' parameter of AROW must be at least 1. Got 0 instead."),
        ({"oversample": 0.5}, "at least 1. Got 0.5"),
        ({"patience": 0}, "at least 1. Got 0"),
        ({"max_memory": 0}, "greater than 0. Got 0"),
        ({"class_weight": "even"}, "'balanced' or an array .* Got 'even'"),
    ],
)
def test_impossible_options_are_refused_in_one_sentence(options, message):
    with pytest.raises(ValueError, match=message):
        AROW(**options)


def test_impossible_samples_are_refused_in_one_sentence(samples, coding_matrix):
    X, class_index = samples
    with pytest.raises(ValueError, match="one entry for each of the 400 samples"):
        AROW().fit(Samples(X, class_index[1:]), Code.of(coding_matrix))
    with pytest.raises(ValueError, match="between 0 and 9, the rows of the coding matrix. Got values from 0 to 10"):
        AROW().fit(Samples(X, np.r_[class_index[1:], 10]), Code.of(coding_matrix))
    with pytest.raises(ValueError, match="400 entries, one per sample, none of them negative"):
        AROW().fit(Samples(X, class_index, weights=-np.ones(400)), Code.of(coding_matrix))
    with pytest.raises(ValueError, match="10 entries, one per class"):
        AROW(class_weight=np.ones(9)).fit(Samples(X, class_index), Code.of(coding_matrix))
    with pytest.raises(ValueError, match="must be finite. Got nan"):
        AROW().fit(Samples(X * np.nan, class_index), Code.of(coding_matrix))
