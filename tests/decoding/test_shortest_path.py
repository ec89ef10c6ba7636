"""Decoding on a trellis against trying every class."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codekin._system.parallel import available_threads
from codekin.code import Assignment
from codekin.code.trellis import TrellisGraph
from codekin.codebooks import trellis_codebook
from codekin.decoding import LOSSES, DecodedAccuracy, MinimumLossDecoder, ShortestPathDecoder, shortest_path
from codekin.samples import Samples

graphs = st.integers(2, 300).flatmap(lambda k: st.builds(TrellisGraph, st.just(k), st.integers(2, min(k, 20))))
seeds = st.integers(0, 2**32 - 1)
losses = st.sampled_from([*LOSSES, "custom"])


def as_loss(name):
    return (lambda z: np.maximum(0, 0.5 - z) ** 3) if name == "custom" else name


def losses_of_every_class(margins, coding_matrix, loss):
    """The definition, class by class and bit by bit."""
    function = LOSSES[loss] if isinstance(loss, str) else loss
    return np.array([[function(codeword * row).sum() for codeword in coding_matrix] for row in margins])


@given(graphs, seeds, losses)
@settings(max_examples=60, deadline=None)
def test_the_shortest_path_agrees_with_trying_every_class(graph, seed, name):
    loss, rng = as_loss(name), np.random.default_rng(seed)
    assignment = Assignment(rng.permutation(graph.n_paths))
    margins = rng.normal(scale=1.5, size=(6, graph.n_edges))
    expected = losses_of_every_class(margins, graph.codewords(assignment.codeword_of_class), loss)
    decoder = ShortestPathDecoder(graph, loss, assignment)
    np.testing.assert_allclose(decoder.class_losses(margins), expected, rtol=1e-9, atol=1e-12)
    found = np.take_along_axis(expected, decoder.decode(margins)[:, None], axis=1)[:, 0]
    np.testing.assert_allclose(found, expected.min(axis=1), rtol=1e-9, atol=1e-12)

    k = min(7, graph.n_paths)
    classes, top_losses = decoder.top_k(margins, k)
    np.testing.assert_allclose(top_losses, np.sort(expected, axis=1)[:, :k], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(np.take_along_axis(expected, classes, axis=1), top_losses, rtol=1e-9, atol=1e-12)
    assert all(len(set(row)) == k for row in classes)


@given(graphs, seeds, losses)
@settings(max_examples=30, deadline=None)
def test_the_first_of_the_top_is_the_decoded_class_and_losses_agree_to_the_last_bit(graph, seed, name):
    rng = np.random.default_rng(seed)
    decoder = ShortestPathDecoder(graph, as_loss(name), Assignment(rng.permutation(graph.n_paths)))
    margins = rng.normal(size=(6, graph.n_edges))
    classes, top_losses = decoder.top_k(margins, min(5, graph.n_paths))
    np.testing.assert_array_equal(classes[:, 0], decoder.decode(margins))
    np.testing.assert_array_equal(top_losses, decoder.class_losses(margins, classes))


@given(graphs, seeds, losses)
@settings(max_examples=30, deadline=None)
def test_the_first_of_the_smallest_losses_is_that_of_the_decoded_class(graph, seed, name):
    rng = np.random.default_rng(seed)
    decoder = ShortestPathDecoder(graph, as_loss(name), Assignment(rng.permutation(graph.n_paths)))
    margins = rng.choice([-0.7, 0.0, 0.1, 0.3], size=(20, graph.n_edges)) * rng.choice([1e-9, 1.0, 1e9], (20, 1))
    np.testing.assert_array_equal(decoder.class_losses(margins).argmin(axis=1), decoder.decode(margins))


@given(graphs, seeds)
@settings(max_examples=30, deadline=None)
def test_hamming_ties_go_to_the_lowest_path_as_in_the_decoder_of_any_codebook(graph, seed):
    rng = np.random.default_rng(seed)
    margins = rng.normal(size=(10, graph.n_edges))
    margins[0] = 0
    by_table = MinimumLossDecoder(graph.codewords(np.arange(graph.n_paths)), "hamming")
    by_path = ShortestPathDecoder(graph, "hamming")
    np.testing.assert_array_equal(by_path.decode(margins), by_table.decode(margins))
    k = min(4, graph.n_paths)
    np.testing.assert_array_equal(by_path.top_k(margins, k)[0], by_table.top_k(margins, k)[0])


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("width", [2, 3, 10])
def test_decoding_a_codeword_returns_its_class(loss, width):
    codebook = trellis_codebook(12_294, width)
    assignment = Assignment(np.random.default_rng(width).permutation(12_294))
    classes = np.arange(0, 12_294, 97)
    margins = codebook.codewords(assignment.codeword_of_class[classes]).astype(float)
    decoder = ShortestPathDecoder(codebook.trellis, loss, assignment)
    np.testing.assert_array_equal(decoder.decode(margins), classes)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("scale", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_deciding_clear_cases_in_single_precision_changes_nothing(loss, scale, dtype, monkeypatch):
    graph = TrellisGraph(5_000, 4)
    margins = (scale * np.random.default_rng(0).normal(size=(2_000, graph.n_edges))).astype(dtype)
    margins[:5] = 0
    decoder = ShortestPathDecoder(graph, loss)
    in_double = decoder.decode(margins)
    monkeypatch.setattr(shortest_path, "SINGLE_PRECISION_FROM", 0)
    np.testing.assert_array_equal(decoder.decode(margins), in_double)


def test_results_do_not_depend_on_threads_blocks_or_memory_layout(monkeypatch):
    graph = TrellisGraph(1_000, 3)
    margins = np.random.default_rng(0).normal(size=(999, graph.n_edges))
    one = ShortestPathDecoder(graph, n_threads=1)
    decoded, (top, losses), partition = one.decode(margins), one.top_k(margins, 3), one.log_partition(margins)
    monkeypatch.setattr(shortest_path, "SAMPLES_PER_BLOCK", 7)
    monkeypatch.setattr(shortest_path, "BLOCKS_PER_TASK", 3)
    monkeypatch.setattr(shortest_path, "LOSS_BYTES", 2**10)
    for given_margins in (margins, np.asfortranarray(margins)):
        four = ShortestPathDecoder(graph, n_threads=4)
        np.testing.assert_array_equal(four.decode(given_margins), decoded)
        np.testing.assert_array_equal(four.top_k(given_margins, 3)[0], top)
        np.testing.assert_array_equal(four.top_k(given_margins, 3)[1], losses)
        np.testing.assert_array_equal(four.log_partition(given_margins), partition)


@given(graphs, seeds)
@settings(max_examples=30, deadline=None)
def test_probabilities_of_all_classes_sum_to_one(graph, seed):
    rng = np.random.default_rng(seed)
    decoder = ShortestPathDecoder(graph, assignment=Assignment(rng.permutation(graph.n_paths)))
    scores = rng.normal(size=(3, graph.n_edges))
    path_scores = decoder.path_scores(scores, np.arange(graph.n_paths))
    probabilities = np.exp(path_scores - decoder.log_partition(scores)[:, None])
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)


def test_logistic_losses_and_path_scores_give_the_same_probabilities():
    # L(f) - L(-f) = -f for the logistic loss: minus the loss and the path score differ by the same for all classes.
    decoder = ShortestPathDecoder(TrellisGraph(100, 3), "logistic")
    margins = np.random.default_rng(0).normal(size=(4, decoder.trellis.n_edges))
    total = decoder.class_losses(margins) + decoder.path_scores(margins, np.arange(100))
    np.testing.assert_allclose(total, total[:, :1] * np.ones(100))


def test_classes_may_be_asked_for_sample_by_sample():
    decoder = ShortestPathDecoder(TrellisGraph(50, 2))
    margins = np.random.default_rng(0).normal(size=(3, decoder.trellis.n_edges))
    asked = np.array([[1, 2], [3, 4], [49, 0]])
    expected = np.take_along_axis(decoder.class_losses(margins), asked, axis=1)
    np.testing.assert_array_equal(decoder.class_losses(margins, asked), expected)


def test_nothing_to_decode_gives_nothing():
    decoder = ShortestPathDecoder(TrellisGraph(50, 2))
    nothing = np.empty((0, decoder.trellis.n_edges))
    assert decoder.decode(nothing).shape == (0,)
    assert decoder.top_k(nothing, 2)[0].shape == (0, 2)


def test_misfits_are_refused_in_one_sentence():
    graph = TrellisGraph(50, 2)
    with pytest.raises(ValueError, match=r"The trellis has 50 paths. Got path 50 in the assignment"):
        ShortestPathDecoder(graph, assignment=Assignment([3, 50]))
    decoder = ShortestPathDecoder(graph)
    margins = np.zeros((3, graph.n_edges))
    with pytest.raises(ValueError, match=r"must have shape \(n_samples, 23\)"):
        decoder.decode(margins[:, 1:])
    with pytest.raises(ValueError, match=r"between 1 and the number of classes, 50\. Got 51"):
        decoder.top_k(margins, 51)
    with pytest.raises(ValueError, match=r"shape \(n,\) or \(3, n\)"):
        decoder.class_losses(margins, [[1], [2]])


def test_the_accuracy_in_blocks_is_the_accuracy(monkeypatch):
    rng = np.random.default_rng(0)
    decoder = ShortestPathDecoder(trellis_codebook(12, 3).trellis)
    margins = rng.normal(size=(100, decoder.trellis.n_edges))
    accuracy = DecodedAccuracy(decoder, Samples(margins, rng.integers(12, size=100)))
    monkeypatch.setattr("codekin.decoding.SAMPLES_PER_BLOCK", 7)
    sizes = []
    assert accuracy.in_blocks(lambda X: sizes.append(len(X)) or X, margins) == accuracy(margins)
    assert max(sizes) <= 7 * min(available_threads(), 4)
    assert sum(sizes) == 100
