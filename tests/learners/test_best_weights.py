"""The weights of the best pass, kept outside of memory."""

import tempfile

import numpy as np
import pytest

from codekin.code import Assignment, Code
from codekin.codebooks import trellis_codebook
from codekin.data import make_sparse_topics
from codekin.learners import AROW, Checkpoints, Softmax, Validation, training
from codekin.learners.arow import AROWBits
from codekin.learners.training import BestWeights
from codekin.samples import Samples


@pytest.fixture
def on_disk(monkeypatch):
    """Even small weights are kept on disk."""
    monkeypatch.setattr(training, "LEAST_ON_DISK", 0)


def begun(n_features=5_000, *, is_averaged=False):
    bits = AROWBits.begun(n_features, 3, is_averaged=is_averaged, has_bias=True, n_threads=None)
    bits.state[:] = np.random.default_rng(0).normal(size=bits.state.shape)
    return bits if not is_averaged else AROWBits(bits.state, 7, True)


@pytest.mark.parametrize("is_averaged", [False, True])
def test_what_was_kept_last_comes_back(on_disk, is_averaged):
    best, bits = BestWeights(), begun(is_averaged=is_averaged)
    assert not best.is_known
    for _ in range(2):
        bits.state[:] += 1
        best.keep(bits)
        assert isinstance(best.mapped(), np.memmap)
        np.testing.assert_array_equal(best.mapped(), bits.weights())
    other = np.ones((4, 2), dtype=np.float32)
    best.keep_array(other)
    np.testing.assert_array_equal(best.mapped(), other)


def test_without_a_place_for_files_it_is_kept_in_memory(on_disk, monkeypatch):
    def refuse(**_):
        raise OSError

    monkeypatch.setattr(training, "TemporaryFile", refuse)
    best, bits = BestWeights(), begun()
    best.keep(bits)
    assert not isinstance(best.mapped(), np.memmap)
    expected = bits.weights()
    bits.state[:] = 0
    np.testing.assert_array_equal(best.mapped(), expected)


@pytest.mark.parametrize("learner", [Softmax(n_epochs=4, patience=4), AROW(n_epochs=4, patience=4, average=True)])
@pytest.mark.parametrize("best_pass", [1, 2, 4])
def test_the_best_pass_is_the_same_from_disk(learner, best_pass, monkeypatch, tmp_path):
    topics = make_sparse_topics(12, 200, n_features=80, rng=0)
    code, samples = Code(trellis_codebook(12, 3), Assignment.identity(12)), Samples(topics.X, topics.y)

    def fitted(**options):
        scores = iter(float(number == best_pass) for number in range(1, 5))
        return learner.fit(samples, code, rng=0, validation=Validation(topics.X, lambda _: next(scores)), **options)

    in_memory = fitted().weights
    monkeypatch.setattr(training, "LEAST_ON_DISK", 0)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    np.testing.assert_array_equal(fitted().weights, in_memory)
    np.testing.assert_array_equal(fitted(checkpoints=Checkpoints(tmp_path / "c")).weights, in_memory)
    assert not list(tmp_path.glob("codekin-*"))
