"""The one fitted object, and the one place where the steps of the method meet.

A coded model is a codebook, an assignment of its codewords to classes, predictors of the bits and a decoder.
Estimators, studies, the command line and storage all share it. Classes are indices here; labels belong to the outside.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np

from codekin.coding import Assignment, Codebook, CodingMatrix, FloatArray, IntArray, Margins
from codekin.decoding import Decoder, MinimumLossDecoder, ShortestPathDecoder
from codekin.decoding.losses import LossLike
from codekin.learners import BitLearner, FittedBits, calibrate_bits


@dataclass(frozen=True, eq=False)
class CodedModel:
    """A fitted code: from samples to margins to classes.

    Parameters
    ----------
    codebook : Codebook
        The codewords.
    assignment : Assignment
        Which class has which of them.
    bits : FittedBits
        The predictors of the bits.
    decoder : Decoder
        From margins to classes.
    """

    codebook: Codebook
    assignment: Assignment
    bits: FittedBits = field(repr=False)
    decoder: Decoder

    @property
    def n_classes(self) -> int:
        """How many classes there are."""
        return self.assignment.n_classes

    @cached_property
    def coding_matrix(self) -> CodingMatrix:
        """Row ``k`` is the codeword of class ``k``."""
        return self.codebook.coding_matrix(self.assignment)

    def margins(self, X: Any) -> Margins:
        """One column per bit; (n_samples, n_bits).

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_bits)
        """
        return self.bits.margins(X)

    def predict(self, X: Any) -> IntArray:
        """The class index with the smallest decoding loss.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self.decoder.decode(self.margins(X))

    def top_k(self, X: Any, k: int) -> tuple[IntArray, FloatArray]:
        """The k class indices with the smallest losses, and those losses, smallest first.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        k : int
            At least 1 and at most the number of classes.

        Returns
        -------
        classes : ndarray of shape (n_samples, k)
        losses : ndarray of shape (n_samples, k)
        """
        return self.decoder.top_k(self.margins(X), k)


def fit_coded_model(
    X: Any,
    class_index: IntArray,
    *,
    codebook: Codebook,
    assignment: Assignment,
    learner: BitLearner,
    loss: LossLike,
    calibrate: Literal["cv", "holdout"] | None = None,
    is_weighted: bool = False,
    sample_weight: FloatArray | None = None,
    rng: np.random.Generator,
) -> CodedModel:
    """Learn the bits of a codebook under an assignment and put a decoder behind them.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
    class_index : array of shape (n_samples,)
        The class of each sample, from 0.
    codebook : Codebook
    assignment : Assignment
    learner : BitLearner
    loss : str or callable
        The decoding loss.
    calibrate : {"cv", "holdout"}, optional
        Turn the margins into log-odds by samples that the bits have not seen.
    is_weighted : bool, default=False
        Divide the loss of a class by the number of its non-zero bits.
    sample_weight : array of shape (n_samples,), optional
    rng : numpy.random.Generator

    Returns
    -------
    CodedModel
    """
    matrix = codebook.coding_matrix(assignment)
    bits: FittedBits
    if calibrate is None:
        bits = learner.fit_bits(X, class_index, matrix, sample_weight=sample_weight, rng=rng)
    else:
        bits = calibrate_bits(learner, X, class_index, matrix, method=calibrate, sample_weight=sample_weight, rng=rng)
    return CodedModel(codebook, assignment, bits, make_decoder(codebook, assignment, loss, is_weighted=is_weighted))


def make_decoder(
    codebook: Codebook, assignment: Assignment, loss: LossLike, *, is_weighted: bool = False
) -> MinimumLossDecoder | ShortestPathDecoder:
    """The fastest decoder that the codebook allows: shortest paths where all of a trellis's paths are classes.

    Parameters
    ----------
    codebook : Codebook
    assignment : Assignment
    loss : str or callable
        The decoding loss.
    is_weighted : bool, default=False
        Divide the loss of a class by the number of its non-zero bits; a trellis has no others.

    Returns
    -------
    MinimumLossDecoder or ShortestPathDecoder
    """
    if codebook.trellis is not None and assignment.n_classes == codebook.n_codewords:
        return ShortestPathDecoder(codebook.trellis, loss, assignment)
    return MinimumLossDecoder(codebook.coding_matrix(assignment), loss, is_weighted)
