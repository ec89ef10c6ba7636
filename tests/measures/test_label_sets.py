import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.metrics import f1_score, ndcg_score

from codekin.measures import label_evaluation
from codekin.measures.label_sets import f1_scores, inverse_propensities, is_tail

AT = (1, 2, 3, 5)


@st.composite
def ranked(draw, *, n_unknown=0):
    """Random labels of samples, and a random ranking of the labels that are known."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_samples, n_classes = draw(st.integers(1, 12)), draw(st.integers(1, 8))
    truth = rng.random((n_samples, n_classes + n_unknown)) < draw(st.floats(0.1, 0.9))
    return rng.permuted(np.tile(np.arange(n_classes), (n_samples, 1)), axis=1), truth


def slow_measures(best, truth, k, weights=None):
    """Precision, recall and nDCG among the first k, summed sample by sample as the formulas say."""
    weights = np.ones(truth.shape[1]) if weights is None else weights
    sums = np.zeros(3)
    for row, labels in zip(best.tolist(), map(np.flatnonzero, truth), strict=True):
        found = [(place, label) for place, label in enumerate(row[:k]) if label in labels]
        ideal = sum(1 / math.log2(place + 2) for place in range(min(k, len(labels))))
        sums += [
            sum(weights[label] for _, label in found) / k,
            len(found) / max(len(labels), 1),
            sum(weights[label] / math.log2(place + 2) for place, label in found) / max(ideal, 1),
        ]
    return sums / len(truth)


@given(ranked(n_unknown=2))
def test_precision_recall_and_gain_agree_with_their_formulas_sample_by_sample(case):
    best, truth = case
    found = label_evaluation(best, csr_array(truth), n_classes=best.shape[1], at=AT)
    for k in AT:
        of_k = found.precision_at[k], found.recall_at[k], found.ndcg_at[k]
        np.testing.assert_allclose(of_k, slow_measures(best, truth, k), atol=1e-12)
    assert found.n_unknown == truth[:, best.shape[1] :].any(axis=0).sum()


@given(ranked())
def test_gain_agrees_with_scikit_learn(case):
    best, truth = case
    assume(truth.shape[1] > 1)
    scores = np.empty(truth.shape)
    np.put_along_axis(scores, best, -np.arange(truth.shape[1], dtype=float), axis=1)
    found = label_evaluation(best, csr_array(truth), at=AT)
    for k in AT:
        np.testing.assert_allclose(found.ndcg_at[k], ndcg_score(truth, scores, k=k), atol=1e-12)


@given(ranked(), st.integers(3, 1000))
def test_propensity_scored_measures_are_weighted_sums_relative_to_the_best_possible_ranking(case, n_training):
    best, truth = case
    assume(truth.any())
    counts = np.arange(truth.shape[1]) ** 2
    weights = inverse_propensities(counts, n_training)
    ideal = np.argsort(np.where(truth, -weights, 0), axis=1, kind="stable")
    found = label_evaluation(best, csr_array(truth), label_counts=counts, n_training=n_training, at=AT)
    for k in AT:
        reached, possible = (slow_measures(order, truth, k, weights) for order in (best, ideal))
        np.testing.assert_allclose(found.propensity_precision_at[k], reached[0] / possible[0])
        np.testing.assert_allclose(found.propensity_ndcg_at[k], reached[2] / possible[2])


@given(ranked())
def test_a_ranking_by_weight_of_the_true_labels_has_every_propensity_scored_measure_one(case):
    _, truth = case
    assume(truth.any())
    counts = np.arange(truth.shape[1])
    ideal = np.argsort(np.where(truth, -inverse_propensities(counts, 50), 0), axis=1, kind="stable")
    found = label_evaluation(ideal, csr_array(truth), label_counts=counts, n_training=50, at=AT)
    np.testing.assert_allclose([*found.propensity_precision_at.values(), *found.propensity_ndcg_at.values()], 1)
    np.testing.assert_allclose(list(found.ndcg_at.values()), truth.any(axis=1).mean())


def test_propensities_are_those_of_the_formula_with_the_constants_of_the_repository():
    n, a, b = 15_539, 0.55, 1.5
    c = (math.log(n) - 1) * (b + 1) ** a
    for count in (0, 1, 17, 15_000):
        inverse = inverse_propensities(np.array([count]), n)[0]
        np.testing.assert_allclose(1 / inverse, 1 / (1 + c * math.exp(-a * math.log(count + b))))


@given(ranked(), st.floats(0, 1))
def test_f1_agrees_with_scikit_learn(case, share):
    _, truth = case
    predicted = np.random.default_rng(truth.size).random(truth.shape) < share
    assume((truth | predicted).any() and truth.shape[1] > 1)
    micro, macro = f1_scores(csr_array(predicted), csr_array(truth))
    np.testing.assert_allclose(micro, f1_score(truth, predicted, average="micro"))
    np.testing.assert_allclose(macro, f1_score(truth, predicted, average="macro", zero_division=np.nan))


def test_labels_that_are_not_known_count_as_missed():
    truth = csr_array(np.array([[1, 0, 0, 1], [0, 1, 0, 1]]))
    found = label_evaluation(
        np.array([[0, 1], [1, 0]]), truth, n_classes=3, predicted=csr_array(np.eye(2, 3)), at=(1, 2)
    )
    assert (found.recall_at[2], found.n_unknown, found.precision_at[1]) == (0.5, 1, 1)
    assert (found.micro_f1, found.macro_f1) == (4 / 6, 2 / 3)


def test_a_place_without_a_class_is_no_hit():
    found = label_evaluation(np.array([[1, -1]]), csr_array(np.array([[1, 0, 1]])), at=(1, 2))
    assert found.precision_at == {1: 0, 2: 0}


def test_tail_labels_are_rare_ones_with_at_most_a_fifth_of_all_labels_and_equal_ones_stay_together():
    assert is_tail(np.array([80, 10, 10])).tolist() == [False, True, True]
    assert is_tail(np.array([79, 11, 11])).tolist() == [False, False, False]
    assert is_tail(np.array([0, 79, 11, 10])).tolist() == [True, False, False, True]


def test_coverage_counts_tail_labels_that_are_found_once():
    truth = csr_array(np.array([[1, 1, 0, 0], [1, 1, 0, 0], [1, 0, 1, 0]]))
    best = np.array([[0, 2], [0, 1], [0, 1]])
    counts = np.array([1000, 9, 9, 9])
    assert label_evaluation(best, truth, label_counts=counts, n_training=1000, at=(1, 2)).tail_coverage == 0.5
    assert label_evaluation(best, truth, label_counts=counts, n_training=1000, at=(1,)).tail_coverage == 0


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1))
def test_probabilities_that_are_true_have_a_small_calibration_error_and_too_large_ones_a_large_one(seed):
    rng = np.random.default_rng(seed)
    probabilities = -np.sort(-rng.random((4000, 3)), axis=1)
    truth, best = csr_array(rng.random((4000, 3)) < probabilities), np.tile(np.arange(3), (4000, 1))
    assert label_evaluation(best, truth, probabilities=probabilities).calibration_error < 0.04
    assert label_evaluation(best, truth, probabilities=np.sqrt(probabilities)).calibration_error > 0.1


def test_what_people_read_names_every_measure_that_is_known():
    truth, best = csr_array(np.array([[1, 1, 0], [0, 0, 1]])), np.array([[0, 2, 1], [2, 0, 1]])
    assert str(label_evaluation(best, truth)).count("\n") == 3
    known = {"label_counts": np.array([90, 5, 5]), "n_training": 90, "probabilities": np.full((2, 3), 0.5)}
    shown = str(label_evaluation(best, truth, predicted=truth, **known))
    for line in (
        "samples                         2 with 1.50 labels on average",
        "rare labels found at all        100.0%",
    ):
        assert line in shown
    assert "100.0%, 100.0%" in shown
    assert shown.count("\n") == 9


def test_nothing_to_measure_is_an_error():
    with pytest.raises(ValueError, match="no predictions"):
        label_evaluation(np.empty((0, 1), np.intp), csr_array((0, 3)))
