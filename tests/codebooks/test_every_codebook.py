"""Laws that hold for every codebook of the table, including new ones."""

import inspect
from functools import cache

import numpy as np
import pytest
from scipy.cluster.hierarchy import average
from scipy.spatial.distance import pdist, squareform

from codekin.classes import ClassTree
from codekin.classes.learnability import class_moments
from codekin.classes.samples import ColumnTrials
from codekin.code import Codebook
from codekin.codebooks import CODEBOOKS, REAL_CODEBOOKS

DESIGNED = {
    "spectral",
    "error_correcting_factorization",
    "autoencoder",
    "sparse_output",
    "separating",
    "learnable",
    "cross_validated",
    "ecoc_one",
    "ordered_dichotomies",
    "unary",
    "hexj",
    "decoc",
    "tree_levels",
    "eigen_targets",
}
N_SYMBOLS = 5
"""What those codebooks get that cannot do with two."""
MAY_HAVE_USELESS_COLUMNS = {"trellis", "given"}
LARGEST = {"exhaustive": 12, "optimised": 8, "cross_validated": 8}
LARGEST_TRIED = LARGEST | {"separating": 14, "learnable": 7, "ecoc_one": 9}
# Without these the codebooks of a few sizes would be refused (spectral) or take long.
OPTIONS = {
    "spectral": {"repair": True},
    "optimised": {"time_limit": 1.0},
    "error_correcting_factorization": {"max_sweeps": 2},
}


def trials_of_a_learner_that_errs(n_classes):
    """Ten samples of every class; the more a column parts classes that follow each other, the more are wrong."""
    class_index = np.arange(10 * n_classes) % n_classes

    def margins(columns):
        hardness = (np.diff(columns, axis=0) != 0).mean(axis=0)
        noise = np.random.default_rng(n_classes).uniform(size=(len(class_index), 1))
        return np.where(noise < 0.4 * hardness, -0.5, 0.5) * np.where(columns == 0, 1, columns)[class_index]

    return ColumnTrials(class_index, np.ones(len(class_index)), margins)


def make(name, n_codewords, seed=0, **options):
    """The codebook, with whatever it asks for by name."""
    places = np.random.default_rng(n_codewords).normal(size=(n_codewords, 3))
    offers = {
        "class_distances": squareform(pdist(places)),
        "class_moments": class_moments(np.repeat(np.eye(n_codewords), 2, axis=0), np.arange(2 * n_codewords) // 2),
        "column_trials": trials_of_a_learner_that_errs(n_codewords),
        "class_tree": ClassTree.from_linkage(average(pdist(places))),
        "matrix": np.where(np.tri(n_codewords), 1, -1),
        "n_draws": 50,
        "n_symbols": N_SYMBOLS,
        "rng": seed,
    }
    function = CODEBOOKS[name]
    needed = [
        parameter
        for parameter, details in inspect.signature(function).parameters.items()
        if parameter in offers and (details.default is inspect.Parameter.empty or parameter in ("n_draws", "rng"))
    ]
    return function(n_codewords, **{key: offers[key] for key in needed} | OPTIONS.get(name, {}) | options)


@cache
def of_all_sizes(name):
    return [make(name, n_codewords) for n_codewords in range(2, LARGEST_TRIED.get(name, 33) + 1)]


@pytest.mark.parametrize("name", CODEBOOKS)
def test_codewords_are_as_many_as_asked_for_distinct_and_of_signs_and_zeros_symbols_or_real_numbers(name):
    for n_codewords, codebook in enumerate(of_all_sizes(name), start=2):
        assert isinstance(codebook, Codebook)
        assert codebook.is_real == (name in REAL_CODEBOOKS)
        assert codebook.matrix.dtype == (np.float64 if codebook.is_real else np.int8)
        assert codebook.n_codewords == n_codewords
        if not codebook.is_real:
            assert set(np.unique(codebook.matrix)) <= set(range(-1, max(codebook.n_symbols, 2)))
        assert len(np.unique(codebook.matrix, axis=0)) == n_codewords
        assert codebook.min_distance > 0


@pytest.mark.parametrize("name", sorted(set(CODEBOOKS) - MAY_HAVE_USELESS_COLUMNS))
def test_no_column_is_constant_or_there_twice_or_with_its_complement(name):
    for codebook in of_all_sizes(name):
        assert codebook.n_constant_columns == 0, codebook
        assert codebook.has_distinct_columns, codebook


@pytest.mark.parametrize("name", sorted(set(CODEBOOKS) - {"trellis"}))
def test_two_codewords_need_one_bit_and_no_more(name):
    assert make(name, 2).n_bits == (2 if name == "given" else 1)


@pytest.mark.parametrize("name", CODEBOOKS)
def test_only_codes_made_for_their_classes_say_so(name):
    assert make(name, 8).is_designed == (name in DESIGNED)


@pytest.mark.parametrize("name", CODEBOOKS)
def test_the_same_seed_gives_the_same_codebook(name):
    assert np.array_equal(make(name, 8, seed=3).matrix, make(name, 8, seed=3).matrix)


@pytest.mark.parametrize("name", CODEBOOKS)
def test_the_codebook_is_named_after_its_entry(name):
    assert make(name, 6).name.startswith(name)


@pytest.mark.parametrize("name", sorted(set(CODEBOOKS) - {"trellis", "given"}))
@pytest.mark.parametrize("n_codewords", [0, 1])
def test_fewer_than_two_codewords_are_refused(name, n_codewords):
    with pytest.raises(ValueError, match=rf"at least 2 codewords. Got {n_codewords}\.$"):
        CODEBOOKS[name](n_codewords, **dict.fromkeys(needed_arguments(name)))


@pytest.mark.parametrize("name", sorted(LARGEST))
def test_a_codebook_made_for_few_codewords_refuses_many(name):
    with pytest.raises(ValueError, match=rf"The {name} codebook is made for at most 12 codewords. Got 13\."):
        CODEBOOKS[name](13, **dict.fromkeys(needed_arguments(name)))


@pytest.mark.parametrize(
    ("name", "n_bits", "needed"),
    [("dense_random", 4, 5), ("sparse_random", 2, 3), ("spectral", 4, 5), ("error_correcting_factorization", 1, 5)],
)
def test_too_few_bits_are_refused_and_the_error_says_how_many_are_needed(name, n_bits, needed):
    plural = "" if n_bits == 1 else "s"
    sentence = f"^{n_bits} bit{plural} cannot tell 20 codewords apart; at least {needed} are needed.$"
    with pytest.raises(ValueError, match=sentence):
        make(name, 20, n_bits=n_bits)


def needed_arguments(name):
    parameters = inspect.signature(CODEBOOKS[name]).parameters.items()
    return [key for key, details in parameters if details.default is inspect.Parameter.empty][1:]
