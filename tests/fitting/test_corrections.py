"""What class sizes make of probabilities can be taken back."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from scipy.special import softmax

from codekin import ExtremeClassifier
from codekin.code import Assignment, Code
from codekin.code.tree import label_tree
from codekin.codebooks import trellis_codebook
from codekin.fitting.trial import best_power, class_sizes, size_corrected
from codekin.learners import Softmax
from codekin.model import FittedCode, Model
from codekin.samples import Samples


def member_of(n_classes=40, width=3, n_per_class=None, seed=0):
    """A tree that has learned classes of different sizes from features of which each class has its own."""
    rng = np.random.default_rng(seed)
    sizes = np.asarray(n_per_class if n_per_class is not None else rng.integers(2, 30, size=n_classes))
    classes = np.repeat(np.arange(n_classes), sizes)
    X = sparse.csr_matrix(
        (np.eye(n_classes)[classes] + (rng.random((len(classes), n_classes)) < 0.2)).astype("float32")
    )
    samples = Samples(X, classes)
    code = Code(label_tree(n_classes, width), Assignment(rng.permutation(n_classes)))
    return FittedCode.of(code, Softmax().fit(samples, code, rng=0), "logistic"), samples


def test_leaves_of_one_node_are_divided_by_the_power_of_their_sizes():
    codebook, sizes = label_tree(6, 4), np.array([1.0, 2.0, 3.0, 5.0, 8.0, 13.0])
    margins = np.random.default_rng(0).normal(size=6)
    corrected = softmax(margins + codebook.size_terms(sizes, 0.7))
    expected = softmax(margins) / sizes**0.7
    np.testing.assert_allclose(corrected, expected / expected.sum())


@pytest.mark.parametrize("power", [0.0, 0.4, 1.0, 1.5])
def test_a_tree_that_knows_only_sizes_gets_the_corrected_ones(power):
    """Nodes that predict the shares of their children give every leaf its size to the power of one minus the power."""
    codebook, sizes = label_tree(50, 3), np.random.default_rng(1).integers(1, 20, size=50).astype(float)
    margins = -codebook.size_terms(sizes, 1.0)  # the logarithm of the mean size below each bit
    tree = codebook.tree
    counts = np.append(tree.bit_starts[1:], 0)
    counts[tree.first_bits[1:] - 1] = tree.spans[:, 1]
    margins += np.log(counts - tree.bit_starts)
    code = Code(label_tree(50, 3), Assignment.identity(50))
    losses = FittedCode.of(code, None, "logistic").decoder.class_losses(
        (margins + codebook.size_terms(sizes, power))[None]
    )
    expected = sizes ** (1 - power)
    np.testing.assert_allclose(np.exp(-losses[0]), expected / expected.sum(), rtol=1e-6)


def test_equal_sizes_change_nothing():
    member, samples = member_of(n_per_class=np.full(40, 6))
    corrected = size_corrected(member, class_sizes(samples, 40), 0.8)
    losses = [one.decoder.class_losses(np.asarray(one.bits.margins(samples.X))) for one in (member, corrected)]
    np.testing.assert_allclose(*losses, atol=1e-5)


def test_trellises_and_a_power_of_zero_stay_as_they_are():
    member, samples = member_of()
    assert size_corrected(member, class_sizes(samples, 40), 0.0) is member
    code = Code(trellis_codebook(40, 2), Assignment.identity(40))
    trellis = FittedCode.of(code, Softmax().fit(samples, code, rng=0), "logistic")
    assert size_corrected(trellis, class_sizes(samples, 40), 0.5) is trellis
    assert best_power(trellis, class_sizes(samples, 40), samples) == 0.0


def test_classes_without_samples_count_as_the_smallest_others():
    samples = Samples(sparse.eye_array(3, format="csr"), np.array([0, 2, 2]), np.array([0.5, 1.0, 1.0]))
    assert class_sizes(samples, 4).tolist() == [0.5, 0.5, 2.0, 0.5]


def test_held_out_samples_of_small_classes_choose_a_large_power():
    member, samples = member_of(n_per_class=np.repeat([40, 2], 20))
    rng = np.random.default_rng(3)
    small = np.repeat(np.arange(20, 40), 10)
    X = sparse.csr_matrix((0.6 * np.eye(40)[small] + (rng.random((200, 40)) < 0.2)).astype("float32"))
    sizes = class_sizes(samples, 40)
    power = best_power(member, sizes, Samples(X, small))
    assert power > 0.1

    def accuracy(one):
        return (one.decoder.decode(one.bits.margins(X)) == small).mean()

    assert accuracy(size_corrected(member, sizes, power)) > accuracy(member)


def test_a_model_that_learns_on_keeps_its_correction():
    member, samples = member_of()
    corrected = size_corrected(member, class_sizes(samples, 40), 0.5)
    learned_on = Softmax().partial_fit(corrected.bits, samples, member.code, rng=0)
    np.testing.assert_array_equal(learned_on.bias, corrected.bits.bias)


def test_fitting_corrects_for_class_sizes_with_and_without_validation():
    _, samples = member_of()
    labels = samples.class_index
    settings = {"code": "tree", "width": 3, "rerank": None, "random_state": 0}
    without = ExtremeClassifier(**settings).fit(samples.X, labels)
    assert without.model_.bits.bias.any()
    validated = ExtremeClassifier(**settings).fit(samples.X, labels, validation=(samples.X, labels))
    model = validated.model_
    plain = Model((replace(model.first, bits=replace(model.bits, bias=np.zeros_like(model.bits.bias))),))
    assert (model.predict(samples.X) == labels).mean() > (plain.predict(samples.X) == labels).mean()
