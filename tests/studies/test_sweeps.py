from math import factorial

import numpy as np
import pytest
from tests.reference import sweep as reference

from codekin.assignments.exact import nth_assignment
from codekin.code import Codebook
from codekin.codebooks import CODEBOOKS
from codekin.decoding import MinimumLossDecoder
from codekin.decoding.losses import get_loss
from codekin_studies.splits.sweeps import (
    average_losses,
    count_correct,
    distinct_assignments,
    lexicographic_rank,
    rounded_margins,
)

N, N_SAMPLES = 5, 150


@pytest.fixture(scope="module")
def codebook():
    return CODEBOOKS["dense_random"](N, 6, rng=0)


def random_margins(kind, n_samples=N_SAMPLES):
    rng = np.random.default_rng(1)
    shape = (2 ** (N - 1), n_samples)
    whole, real = rng.integers(-1, 2, size=shape).astype(float), rounded_margins(rng.normal(scale=2, size=shape), 6)
    return {"ties": whole, "real": real, "both": np.where(np.arange(n_samples) % 2, whole, real)}[kind]


@pytest.mark.parametrize("kind", ["ties", "real", "both"])
def test_a_sweep_agrees_with_decoding_every_assignment(codebook, kind):
    margins = random_margins(kind)
    y = np.random.default_rng(2).integers(N, size=N_SAMPLES)
    counts = count_correct(codebook, margins, y)
    assert len(counts) == factorial(N)
    for rank, count in enumerate(counts):
        coding_matrix = codebook.matrix[nth_assignment(rank, N, N)]
        bits = reference.margins_of(coding_matrix, margins)
        assert count == (MinimumLossDecoder(coding_matrix, "hinge").decode(bits) == y).sum()
        if rank % 40 == 0:
            assert count == reference.n_correct(codebook.matrix, margins, y, nth_assignment(rank, N, N))


def test_a_sweep_does_not_depend_on_threads_or_on_the_choice_of_assignments(codebook, monkeypatch):
    margins, y = random_margins("ties"), np.arange(N_SAMPLES) % N
    everyone = count_correct(codebook, margins, y, n_threads=1)
    monkeypatch.setattr("codekin_studies.splits.sweeps.ASSIGNMENTS_PER_BLOCK", 7)
    ranks = np.array([3, 100, 3, 0])
    np.testing.assert_array_equal(count_correct(codebook, margins, y, n_threads=3), everyone)
    np.testing.assert_array_equal(count_correct(codebook, margins, y, ranks=ranks), everyone[ranks])


def test_average_losses_are_those_of_the_measures(codebook):
    rng = np.random.default_rng(3)
    margins, y = rng.normal(size=(2 ** (N - 1), 60)), rng.integers(N, size=60)
    signs = np.where((np.arange(2 ** (N - 1))[:, None] >> y[None, :]) & 1, 1, -1)
    hinge = get_loss("hinge")
    losses = average_losses(codebook, hinge(signs * margins).mean(axis=1))
    for rank in range(0, factorial(N), 17):
        coding_matrix = codebook.matrix[nth_assignment(rank, N, N)]
        bits = reference.margins_of(coding_matrix, margins)
        assert losses[rank] == pytest.approx(Codebook(coding_matrix).bit_losses(bits, coding_matrix, y, hinge).mean())


def test_symmetric_codebooks_have_few_distinct_assignments():
    codebook = CODEBOOKS["hadamard"](8)
    ranks, kinds = distinct_assignments(codebook)
    # The symmetries of the code are the affine maps of three bits; there are 1,344 of them.
    assert len(ranks) == factorial(8) // 1344
    assert np.bincount(kinds).tolist() == [1344] * len(ranks)


def test_equal_kinds_are_equal_classifiers():
    codebook = Codebook([[1, 1, 1, 1], [1, -1, -1, 1], [-1, 1, -1, 1], [-1, -1, 1, 1], [1, 1, 1, -1]])
    margins, y = random_margins("ties"), np.arange(N_SAMPLES) % N
    ranks, kinds = distinct_assignments(codebook)
    assert len(ranks) < factorial(N)
    everyone = count_correct(codebook, margins, y)
    np.testing.assert_array_equal(count_correct(codebook, margins, y, ranks=ranks)[kinds], everyone)


def test_ranks_are_places_in_lexicographic_order():
    assert [lexicographic_rank(nth_assignment(rank, 5, 5)) for rank in range(120)] == list(range(120))


@pytest.mark.parametrize("wrong", [[0, 1, 1], [1, 2, 3]])
def test_a_rank_needs_a_permutation(wrong):
    with pytest.raises(ValueError, match="names each codeword from 0 to 2 once"):
        lexicographic_rank(wrong)


def test_large_ternary_and_real_codebooks_are_refused():
    makers = {"dense_random": (11, 8), "one_vs_one": (4,), "random_projection": (4, 8)}
    for codebook in (CODEBOOKS[name](*size) for name, size in makers.items()):
        with pytest.raises(ValueError, match="at most 10 codewords of signs without zeros"):
            distinct_assignments(codebook)
