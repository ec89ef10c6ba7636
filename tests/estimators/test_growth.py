"""New classes get suitable free codewords and change nothing else."""

from itertools import permutations

import numpy as np
import pytest
from sklearn.datasets import load_digits

from codekin import ECOCClassifier, ExtremeClassifier
from codekin.code import Assignment, Code
from codekin.codebooks import dense_random, trellis_codebook
from codekin.decoding import MinimumLossDecoder, ShortestPathDecoder
from codekin.decoding.losses import get_loss
from codekin.fitting.fit import best_free_codewords
from codekin.storage import load_model, save_model


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X / 16, y


def grown(kind, digits, **options):
    """A classifier of the digits below eight, with five free codewords, and the others' samples."""
    X, y = digits
    is_old = y < 8
    if kind == "trellis":
        classifier = ExtremeClassifier(3, n_reserved=5, random_state=0, **options)
    else:
        classifier = ECOCClassifier(codebook=dense_random(13, n_bits=20, rng=0), random_state=0, **options)
    return classifier.fit(X[is_old], y[is_old]), X[~is_old], y[~is_old]


@pytest.mark.parametrize("kind", ["trellis", "dense"])
def test_old_losses_stay_and_predictions_change_only_to_new_classes(kind, digits):
    classifier, X_new, y_new = grown(kind, digits)
    X, _ = digits
    before, losses = classifier.predict(X), -classifier.decision_function(X)
    bits = classifier.model_.bits
    assert classifier.add_classes(X_new, y_new) is classifier
    assert classifier.model_.bits is bits
    np.testing.assert_array_equal(classifier.classes_, np.arange(10))
    np.testing.assert_array_equal(-classifier.decision_function(X)[:, :8], losses)
    after = classifier.predict(X)
    np.testing.assert_array_equal(after[after < 8], before[after < 8])
    assert len(classifier.model_.code.free_codewords) == 3
    assert "10 classes" in str(classifier.report())


def test_the_temperature_stays_until_the_bits_learn(digits):
    classifier, X_new, y_new = grown("trellis", digits, loss="hinge")
    classifier.model_ = classifier.model_.with_temperature(2.5)
    assert classifier.add_classes(X_new, y_new).temperature_ == 2.5
    assert classifier.partial_fit(X_new, y_new).temperature_ == 1


def test_further_samples_then_teach_the_bits(digits, tmp_path):
    classifier, X_new, y_new = grown("trellis", digits)
    classifier = load_model(save_model(classifier, tmp_path / "model"))  # a loaded model grows as well
    X, y = digits
    classifier.add_classes(X_new, y_new)
    for _ in range(5):
        classifier.partial_fit(X, y)
    again = load_model(save_model(classifier, tmp_path / "grown"))
    assert again.score(X, y) > 0.85
    np.testing.assert_array_equal(again.predict(X), classifier.predict(X))
    assert again.predict_proba(X[:5]).sum(axis=1) == pytest.approx(1)


@pytest.mark.parametrize("loss", ["exponential", "hinge"])
@pytest.mark.parametrize(
    "codebook", [trellis_codebook(9, 3), dense_random(9, n_bits=7, rng=1)], ids=["trellis", "dense"]
)
def test_codewords_are_those_with_the_least_loss_of_all_choices(codebook, loss):
    rng = np.random.default_rng(0)
    code = Code(codebook, Assignment([4, 0, 7, 2, 8]))
    margins, new_class = rng.normal(size=(30, codebook.n_bits)), np.arange(30) % 3
    chosen = best_free_codewords(code, margins, new_class, get_loss(loss))
    losses = MinimumLossDecoder(codebook.matrix, loss).class_losses(margins)

    def cost(codewords):
        return sum(losses[new_class == k, codeword].mean() for k, codeword in enumerate(codewords))

    free = code.free_codewords
    assert list(free) == [1, 3, 5, 6]
    assert cost(chosen) == pytest.approx(min(cost(some) for some in permutations(free, 3)))


def test_shortest_paths_pass_over_free_ones():
    rng = np.random.default_rng(0)
    codebook = trellis_codebook(60, 3)
    margins = rng.normal(size=(400, codebook.n_bits))
    for n_classes in (59, 50, 7):
        assignment = Assignment(rng.permutation(60)[:n_classes])
        path = ShortestPathDecoder(codebook.trellis, "exponential", assignment)
        dense = MinimumLossDecoder(codebook.coding_matrix(assignment), "exponential")
        np.testing.assert_array_equal(path.decode(margins), dense.decode(margins))
        for ours, theirs in zip(path.top_k(margins, 5), dense.top_k(margins, 5), strict=True):
            np.testing.assert_allclose(ours, theirs)
        sharp = 30 * margins  # so sharp that free paths may have all of the sum
        for scores in (margins, sharp):
            expected = np.logaddexp.reduce(path.path_scores(scores, np.arange(n_classes)), axis=1)
            np.testing.assert_allclose(path.log_partition(scores), expected, rtol=1e-9)


def test_free_paths_lie_among_the_others(digits):
    X, y = digits
    for assignment in ("preserving", "random", "learnability"):
        fitted = ExtremeClassifier(n_reserved=10, assignment=assignment, random_state=0).fit(X, y)
        assert fitted.score(X, y) > 0.5
    ordered = ExtremeClassifier(n_reserved=10, assignment="preserving", random_state=0).fit(X, y)
    assert np.array_equal(np.sort(ordered.model_.assignment.codeword_of_class), np.arange(0, 20, 2))


def test_what_cannot_grow_says_why(digits):
    classifier, X_new, _ = grown("trellis", digits)
    X, y = digits
    with pytest.raises(ValueError, match=r"6 new classes need as many free codewords\. Got 5 among the 13"):
        classifier.add_classes(X_new[:6], np.arange(100, 106))
    with pytest.raises(ValueError, match="The label 3 is not new"):
        classifier.add_classes(X[:2], [3, 12])
    with pytest.raises(ValueError, match="There are 2 samples. Got 3 labels"):
        classifier.add_classes(X[:2], [11, 12, 13])
    with pytest.raises(ValueError, match="New labels must have the type of the others"):
        classifier.add_classes(X[:1], ["nine"])
    with pytest.raises(ValueError, match="needs a single code without re-ranking"):
        ExtremeClassifier(n_reserved=1, rerank="centroid").fit(X, y)
    ranked = ExtremeClassifier(rerank="centroid", random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="Classes can only be added to a single code"):
        ranked.add_classes(X[:1], [11])
