"""Prediction sets hold the true label as often as asked, and are those of the definition."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from codekin import ECOCClassifier, ExtremeClassifier, load_model, save_model
from codekin.data import make_sparse_topics
from codekin.model.prediction_sets import SetCalibration

DATA = make_sparse_topics(40, 3_000, n_features=200, rng=0)
X, Y = DATA.train.X, DATA.train.y
HELD, OF_HELD, NEW, OF_NEW = X[600:1800], Y[600:1800], X[1800:], Y[1800:]
CLASSIFIERS = {
    "code": ECOCClassifier(n_bits=20, random_state=0),
    "trellis": ExtremeClassifier(width=2, rerank=None, random_state=0),
    "free paths": ExtremeClassifier(width=2, n_reserved=5, random_state=0),
    "re-ranked": ExtremeClassifier(width=2, rerank="centroid", random_state=0),
    "tree": ExtremeClassifier(code="tree", width=3, rerank=None, random_state=0),
}


@pytest.fixture(scope="module", params=CLASSIFIERS)
def calibrated(request):
    return CLASSIFIERS[request.param].fit(X[:600], Y[:600]).calibrate_sets(HELD, OF_HELD)


def test_sets_are_the_probable_labels_and_cover_the_true_one_as_often_as_asked(calibrated):
    probabilities = calibrated.predict_proba(NEW)
    for coverage in (0.5, 0.9):
        sets = calibrated.predict_sets(NEW, coverage)
        covered = np.mean([label in own for label, own in zip(OF_NEW, sets, strict=True)])
        # Three standard deviations of the mean over the new and the held-out samples; sets are never empty.
        width = 3 * np.sqrt(coverage * (1 - coverage) * 2 / 1200)
        assert coverage - width <= covered <= max(coverage + width, calibrated.score(NEW, OF_NEW) + width)
        least = np.exp(-float(calibrated.set_calibration_.largest_score(coverage)))
        predicted = calibrated.predict(NEW)
        for row, own in enumerate(sets):
            wanted = set(calibrated.classes_[probabilities[row] >= least * (1 + 1e-5)].tolist())
            allowed = set(calibrated.classes_[probabilities[row] >= least * (1 - 1e-5)].tolist())
            assert wanted <= set(own.tolist()) <= allowed | {predicted[row]}
            assert len(set(own.tolist())) == len(own) >= 1


def test_sets_are_the_same_after_saving_and_loading(calibrated, tmp_path):
    again = load_model(save_model(calibrated, tmp_path / "model"))
    for own, other in zip(calibrated.predict_sets(NEW[:20]), again.predict_sets(NEW[:20]), strict=True):
        assert own.tolist() == other.tolist()


def test_a_model_that_learns_on_must_be_calibrated_again():
    classifier = ExtremeClassifier(width=2, rerank=None, random_state=0)
    classifier.partial_fit(X[:600], Y[:600], classes=np.unique(Y)).calibrate_sets(HELD, OF_HELD)
    assert classifier.predict_sets(NEW[:2])
    classifier.partial_fit(X[:100], Y[:100])
    with pytest.raises(ValueError, match="Prediction sets need held-out samples first; call calibrate_sets"):
        classifier.predict_sets(NEW)


def test_the_threshold_is_the_conformal_quantile():
    scores = SetCalibration.of(-np.arange(1.0, 20.0))  # 1, 2, ..., 19
    assert [float(scores.largest_score(c)) for c in (0.001, 0.05, 0.5, 0.9, 0.95)] == [1, 1, 10, 18, 19]
    for coverage, message in [
        (0.96, "A coverage of 0.96 needs at least 24 calibration samples. Got 19."),
        (1.0, "The 'coverage' parameter must be between 0 and 1. Got 1.0 instead."),
    ]:
        with pytest.raises(ValueError, match=message):
            scores.largest_score(coverage)


def test_unknown_labels_count_as_never_covered():
    classifier = ECOCClassifier(random_state=0).fit(sparse.csr_array(X[:600]), Y[:600])
    labels = np.where(np.arange(1200) < 240, 10_000, OF_HELD)
    classifier.calibrate_sets(HELD, labels)
    with pytest.raises(ValueError, match="out of reach: the model knows the classes of only 960 of 1,200"):
        classifier.predict_sets(NEW, 0.9)
    assert classifier.predict_sets(NEW[:3], 0.5)


def test_wrong_calls_are_refused_with_a_sentence():
    with pytest.raises(NotFittedError):
        ECOCClassifier().predict_sets(NEW)
    classifier = ECOCClassifier(random_state=0).fit(X[:600], Y[:600])
    with pytest.raises(ValueError, match="There are 1200 samples. Got labels of shape \\(3,\\)."):
        classifier.calibrate_sets(HELD, OF_HELD[:3])
