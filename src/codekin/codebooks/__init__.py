"""Which codewords exist."""

from collections.abc import Callable

from codekin.code import Codebook
from codekin.code.trellis import trellis_codebook
from codekin.codebooks.classic import exhaustive, given, hadamard, hexj, one_vs_one, one_vs_rest, unary
from codekin.codebooks.designs.learnable import learnable
from codekin.codebooks.designs.optimised import (
    OptimisedColumns,
    error_correcting_factorization,
    optimised,
    optimised_columns,
)
from codekin.codebooks.designs.separating import separating
from codekin.codebooks.designs.similarity import autoencoder, sparse_output
from codekin.codebooks.designs.spectral import eigen_targets, random_projection, spectral
from codekin.codebooks.designs.trained import cross_validated, ecoc_one
from codekin.codebooks.random import dense_random, sparse_random
from codekin.codebooks.symbols import reed_solomon
from codekin.codebooks.trees import decoc, nested_dichotomies, ordered_dichotomies, tree_levels

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
