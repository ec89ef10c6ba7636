"""Which codewords exist."""

from collections.abc import Callable

from codekin.codebooks.autoencoder import autoencoder
from codekin.codebooks.complete import exhaustive
from codekin.codebooks.cross_validated import cross_validated
from codekin.codebooks.ecoc_one import ecoc_one
from codekin.codebooks.eigenvector import spectral
from codekin.codebooks.factorization import error_correcting_factorization
from codekin.codebooks.integer_program import OptimisedColumns, optimised, optimised_columns
from codekin.codebooks.learnable import learnable
from codekin.codebooks.one_vs import one_vs_one, one_vs_rest
from codekin.codebooks.ordinal import hexj, unary
from codekin.codebooks.orthogonal import hadamard
from codekin.codebooks.own_matrix import given
from codekin.codebooks.random import dense_random, sparse_random
from codekin.codebooks.reed_solomon import reed_solomon
from codekin.codebooks.separating import separating
from codekin.codebooks.sparse_output import sparse_output
from codekin.codebooks.targets import eigen_targets, random_projection
from codekin.codebooks.tree_codes import decoc, nested_dichotomies, ordered_dichotomies
from codekin.codebooks.tree_levels import tree_levels
from codekin.codebooks.trellis import trellis_codebook
from codekin.coding import Codebook

CODEBOOKS: dict[str, Callable[..., Codebook]] = {
    "one_vs_rest": one_vs_rest,
    "one_vs_one": one_vs_one,
    "dense_random": dense_random,
    "sparse_random": sparse_random,
    "hadamard": hadamard,
    "exhaustive": exhaustive,
    "optimised": optimised,
    "spectral": spectral,
    "error_correcting_factorization": error_correcting_factorization,
    "autoencoder": autoencoder,
    "sparse_output": sparse_output,
    "separating": separating,
    "learnable": learnable,
    "cross_validated": cross_validated,
    "ecoc_one": ecoc_one,
    "unary": unary,
    "hexj": hexj,
    "nested_dichotomies": nested_dichotomies,
    "ordered_dichotomies": ordered_dichotomies,
    "decoc": decoc,
    "tree_levels": tree_levels,
    "reed_solomon": reed_solomon,
    "trellis": trellis_codebook,
    "eigen_targets": eigen_targets,
    "random_projection": random_projection,
    "given": given,
}
"""Maps names to functions that make codebooks. Their first argument is the number of codewords; names of the others
say what they need: ``n_bits``, ``n_symbols``, ``class_distances``, ``class_moments``, ``column_trials``,
``class_tree``, ``rng``, ..."""

REAL_CODEBOOKS = ("eigen_targets", "random_projection")
"""Those whose bits are real numbers, which regressors learn."""

__all__ = [
    "CODEBOOKS",
    "OptimisedColumns",
    "decoc",
    "dense_random",
    "error_correcting_factorization",
    "exhaustive",
    "hadamard",
    "hexj",
    "nested_dichotomies",
    "one_vs_one",
    "one_vs_rest",
    "optimised",
    "optimised_columns",
    "separating",
    "sparse_random",
    "spectral",
    "trellis_codebook",
    "unary",
]
