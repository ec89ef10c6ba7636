"""Learning from rows on disk, in blocks: the same seed gives the same result for any number of threads and columns."""

from dataclasses import replace

import numpy as np
import pytest

from codekin._system import rows as stored_rows
from codekin.code import Assignment, Code
from codekin.codebooks import trellis_codebook
from codekin.data import SparseData, cached_data, make_sparse_topics, write_data
from codekin.decoding import ShortestPathDecoder
from codekin.learners import AROW, Checkpoints, Softmax
from codekin.learners.training_rows import training_rows
from codekin.samples import Samples

N_CLASSES = 32
CODEBOOK = trellis_codebook(N_CLASSES, 3)
ASSIGNMENT = Assignment.identity(N_CLASSES)
CODING_MATRIX = CODEBOOK.coding_matrix(ASSIGNMENT)


@pytest.fixture(scope="module")
def topics(tmp_path_factory):
    """Samples in the order of their classes, in memory and on disk: the file is some ten blocks."""
    made = make_sparse_topics(N_CLASSES, 2_000, n_features=300, rng=0)
    order = np.argsort(made.y, kind="stable")
    X, y = made.X[order], made.y[order]
    path = tmp_path_factory.mktemp("topics") / "train.svm"
    write_data(path, SparseData(X, y, np.arange(N_CLASSES)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stored_rows, "LEAST_PAGE", 1)
        stored = cached_data(path, n_features=300, max_memory=8 * X.nnz // 4).X
        assert stored._pages_per_block < len(stored._pages) / 4
        yield X, stored, y, made


def fitted(learner, X, y, **options):
    if isinstance(learner, Softmax):
        return learner.fit(Samples(X, y), Code(CODEBOOK, ASSIGNMENT), rng=0, **options)
    return learner.fit(Samples(X, y), Code.of(CODING_MATRIX), rng=0, **options)


def accuracy(learner, bits, X, y):
    loss = "logistic" if isinstance(learner, Softmax) else "exponential"
    return (ShortestPathDecoder(CODEBOOK.trellis, loss).decode(bits.margins(X)) == y).mean()


@pytest.mark.parametrize("learner", [AROW(), AROW(fit_intercept=True, average=True, oversample=1.5), Softmax()])
def test_blocks_teach_as_much_as_all_samples_at_once(learner, topics):
    X, stored, y, made = topics
    on_disk, in_memory = (
        accuracy(learner, fitted(learner, samples, y), made.test.X, made.test.y) for samples in (stored, X)
    )
    assert on_disk > in_memory - 0.04
    assert on_disk > 0.3


def test_neither_threads_nor_columns_in_turns_change_anything(topics):
    _, stored, y, _ = topics
    n_bits = CODING_MATRIX.shape[1]
    in_turns = 4 * 300 * (n_bits + 2 * (n_bits // 2))
    weights = [
        fitted(AROW(n_epochs=2, n_threads=n_threads, max_memory=limit), stored, y).weights
        for n_threads, limit in ((1, None), (2, None), (1, in_turns))
    ]
    np.testing.assert_array_equal(weights[0], weights[1])
    np.testing.assert_array_equal(weights[0], weights[2])


def test_an_interrupted_training_goes_on_to_the_same_end(topics, tmp_path):
    _, stored, y, _ = topics
    expected = fitted(AROW(n_epochs=3), stored, y).weights

    def stop(report):
        if report.epoch == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fitted(AROW(n_epochs=3), stored, y, on_epoch=stop, checkpoints=Checkpoints(tmp_path / "part"))
    going_on = Checkpoints(tmp_path / "part", resume=True)
    np.testing.assert_array_equal(fitted(AROW(n_epochs=3), stored, y, checkpoints=going_on).weights, expected)
    with pytest.raises(ValueError, match="is of another training"):
        fitted(AROW(n_epochs=3), replace(stored, max_memory=2**20), y, checkpoints=going_on)


@pytest.mark.parametrize("is_shuffled", [False, True])
def test_a_pass_sees_every_sample_once(is_shuffled, topics):
    X, stored, y, _ = topics
    learner, code = AROW(shuffle=is_shuffled, fit_intercept=True), Code(CODEBOOK, ASSIGNMENT)
    samples = training_rows(learner, Samples(stored, y), code)
    turns = list(samples.in_turns(lambda n, _: np.arange(n), 5))
    assert sum(some.n_rows for some, _ in turns) == len(y)
    classes = np.concatenate([some.class_of_sample[order] for some, order in turns])
    assert np.array_equal(np.sort(classes), y)
    assert np.array_equal(classes, y) != is_shuffled
    whole = training_rows(learner, Samples(X, y), code)
    assert samples.mean_squared_norm == pytest.approx(whole.mean_squared_norm)


def test_further_batches_may_be_on_disk(topics):
    X, stored, y, _ = topics
    samples, code = Samples(stored, y), Code(CODEBOOK, ASSIGNMENT)
    for learner in (AROW(), Softmax()):
        bits = learner.partial_fit(learner.partial_fit(None, samples, code, rng=0), samples, code, rng=1)
        assert accuracy(learner, bits, X, y) > 0.3
