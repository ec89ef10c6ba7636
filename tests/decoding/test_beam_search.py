"""Beam search on trees of classes."""

import numpy as np
import pytest
from tests.reference.label_tree import leaf_log_probabilities

from codekin.code import Assignment
from codekin.code.tree import label_tree
from codekin.decoding.beam_search import BeamSearchDecoder

CASES = [(5, 2), (40, 2), (100, 3), (700, 8)]


@pytest.mark.parametrize(("n_classes", "width"), CASES)
def test_decoding_a_codeword_returns_its_class(n_classes, width):
    assignment = Assignment(np.random.default_rng(0).permutation(n_classes))
    codebook = label_tree(n_classes, width)
    decoder = BeamSearchDecoder(codebook.tree, assignment)
    assert np.array_equal(decoder.decode(5.0 * codebook.coding_matrix(assignment)), np.arange(n_classes))


@pytest.mark.parametrize(("n_classes", "width"), CASES)
def test_losses_are_minus_the_logarithms_of_probabilities_that_sum_to_one(n_classes, width):
    rng = np.random.default_rng(1)
    assignment = Assignment(rng.permutation(n_classes))
    codebook = label_tree(n_classes, width)
    decoder = BeamSearchDecoder(codebook.tree, assignment)
    margins = rng.normal(size=(20, codebook.n_bits))
    losses = decoder.class_losses(margins)
    np.testing.assert_allclose(np.exp(-losses).sum(axis=1), 1)
    expected = -leaf_log_probabilities(margins, codebook.tree)[:, assignment.codeword_of_class]
    np.testing.assert_allclose(losses, expected, atol=1e-9)
    classes, best = decoder.top_k(margins, 3)
    np.testing.assert_allclose(best, np.sort(losses, axis=1)[:, :3])
    np.testing.assert_allclose(decoder.losses_of(margins, classes), best)
    assert (decoder.losses_of(margins, np.full((20, 1), -1)) == np.inf).all()


def test_a_class_for_every_leaf_is_asked_for():
    with pytest.raises(ValueError, match="tree of 9 leaves needs as many classes. Got 3"):
        BeamSearchDecoder(label_tree(9, 2).tree, Assignment([0, 1, 2]))


def test_a_beam_of_nothing_is_refused():
    with pytest.raises(ValueError, match="'beam' of a search must be at least 1"):
        BeamSearchDecoder(label_tree(9, 2).tree, Assignment.identity(9), beam=0)
