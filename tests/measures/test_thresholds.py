import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from codekin.measures import label_thresholds
from codekin.measures.label_sets import f1_scores


@st.composite
def marginals(draw):
    """Probabilities of labels, with ties, of samples whose labels they tell about; every label occurs."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_samples, n_labels = draw(st.integers(1, 7)), draw(st.integers(1, 3))
    probabilities = rng.integers(1, draw(st.sampled_from((4, 50))), (n_samples, n_labels)) / 50
    truth = rng.random(probabilities.shape) < (probabilities > 0.5 if draw(st.booleans()) else 0.5)
    truth[0] = True
    best = np.argsort(-probabilities, axis=1, kind="stable")[:, : draw(st.integers(1, n_labels))]
    return best, probabilities, truth


def predicted(best, probabilities, thresholds):
    among = np.zeros(probabilities.shape, bool)
    np.put_along_axis(among, best, True, axis=1)
    return csr_array(among & (probabilities >= thresholds))


def every_threshold(probabilities, n):
    return itertools.product([*np.unique(probabilities), np.inf], repeat=n)


@settings(max_examples=150)
@pytest.mark.parametrize("aim", ["micro_f1", "macro_f1"])
@pytest.mark.parametrize("per_label", [False, True])
@given(case=marginals())
def test_no_threshold_has_a_larger_f1_than_the_chosen_one(aim, per_label, case):
    best, probabilities, truth = case
    own = np.take_along_axis(probabilities, best, axis=1)
    chosen = label_thresholds(best, own, csr_array(truth), aim, per_label=per_label)
    assert chosen.shape == ((truth.shape[1],) if per_label else (1,))
    which = ("micro_f1", "macro_f1").index(aim)
    reached = f1_scores(predicted(best, probabilities, chosen), csr_array(truth))[which]
    possible = [
        f1_scores(predicted(best, probabilities, np.array(each)), csr_array(truth))[which]
        for each in every_threshold(own, len(chosen))
    ]
    assert reached >= max(possible) - 1e-12


@given(marginals(), st.sampled_from((0.3, 0.5, 0.75, 1.0)))
def test_the_threshold_of_a_precision_is_the_smallest_that_keeps_it(case, precision):
    best, probabilities, truth = case
    own = np.take_along_axis(probabilities, best, axis=1)

    def kept(thresholds):
        found = predicted(best, probabilities, np.asarray(thresholds)).toarray()
        return found.sum(), not found.any() or truth[found].mean() >= precision

    (threshold,) = label_thresholds(best, own, csr_array(truth), precision)
    n_predicted, is_kept = kept(threshold)
    assert is_kept
    for each in np.unique(own):
        n_others, is_kept = kept(each)
        assert n_others <= n_predicted or not is_kept


@given(marginals(), st.sampled_from((0.5, 1.0)))
def test_every_label_keeps_the_precision_that_is_asked_of_each(case, precision):
    best, probabilities, truth = case
    own = np.take_along_axis(probabilities, best, axis=1)
    chosen = label_thresholds(best, own, csr_array(truth), precision, per_label=True)
    found = predicted(best, probabilities, chosen).toarray()
    for of_label, is_true in zip(found.T, truth.T, strict=True):
        assert not of_label.any() or is_true[of_label].mean() >= precision


@pytest.mark.parametrize("aim", ["micro_f1", "macro_f1", 0.5])
def test_labels_without_samples_get_the_threshold_of_all_labels(aim):
    best, probabilities = np.array([[0, 1], [0, 1]]), np.array([[0.9, 0.2], [0.5, 0.1]])
    truth = csr_array(np.array([[1, 0, 0], [0, 0, 0]]))
    (common,) = label_thresholds(best, probabilities, truth, aim)
    chosen = label_thresholds(best, probabilities, truth, aim, per_label=True)
    assert (chosen[1:] == common).all()
    assert 0.2 < common <= 0.9


def test_no_threshold_keeps_a_precision_that_no_prediction_has():
    truth = csr_array(np.array([[0, 1]]))
    assert label_thresholds(np.array([[0]]), np.array([[0.9]]), truth, 0.5).tolist() == [np.inf]
    assert label_thresholds(np.zeros((1, 0), np.intp), np.zeros((1, 0)), truth).tolist() == [np.inf]


@pytest.mark.parametrize("aim", ["f1", 0.0, 1.5, True])
def test_another_aim_is_an_error(aim):
    with pytest.raises(ValueError, match="'aim' of thresholds must be 'micro_f1', 'macro_f1' or a precision"):
        label_thresholds(np.array([[0]]), np.array([[0.9]]), csr_array(np.array([[1]])), aim)
