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
from codekin.learners import BitLearner, FittedBits, JointLearner, calibrate_bits


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

    @property
    def n_bits(self) -> int:
        """How many bits a codeword has."""
        return self.codebook.n_bits

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

    def class_losses(self, X: Any) -> FloatArray:
        """The decoding loss of every class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        return self.decoder.class_losses(self.margins(X))


def fit_coded_model(
    X: Any,
    class_index: IntArray,
    *,
    codebook: Codebook,
    assignment: Assignment,
    learner: BitLearner | JointLearner,
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
    learner : BitLearner or JointLearner
        Who learns the bits, each on its own or all of them together.
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
    bits: FittedBits
    if calibrate is None:
        bits = learn_bits(learner, X, class_index, codebook, assignment, sample_weight=sample_weight, rng=rng)
    elif isinstance(learner, JointLearner):
        raise ValueError(
            f"{type(learner).__name__} learns probabilities of the classes; calibrate={calibrate!r} is for bits that "
            "are learned one by one. Use calibrate=None."
        )
    else:
        matrix = codebook.coding_matrix(assignment)
        bits = calibrate_bits(learner, X, class_index, matrix, method=calibrate, sample_weight=sample_weight, rng=rng)
    return CodedModel(codebook, assignment, bits, make_decoder(codebook, assignment, loss, is_weighted=is_weighted))


def learn_bits(
    learner: BitLearner | JointLearner,
    X: Any,
    class_index: IntArray,
    codebook: Codebook,
    assignment: Assignment,
    *,
    sample_weight: FloatArray | None = None,
    rng: np.random.Generator,
    **options: Any,
) -> FittedBits:
    """Learn the bits, one by one or together, whichever the learner does.

    Parameters
    ----------
    learner : BitLearner or JointLearner
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
    class_index : array of shape (n_samples,)
        The class of each sample, from 0.
    codebook : Codebook
    assignment : Assignment
    sample_weight : array of shape (n_samples,), optional
    rng : numpy.random.Generator
    **options : dict
        What else the learner takes: validation, checkpoints.

    Returns
    -------
    FittedBits
    """
    if isinstance(learner, JointLearner):
        return learner.fit_code(X, class_index, codebook, assignment, sample_weight=sample_weight, rng=rng, **options)
    matrix = codebook.coding_matrix(assignment)
    return learner.fit_bits(X, class_index, matrix, sample_weight=sample_weight, rng=rng, **options)


def learn_bits_further(
    learner: Any,
    X: Any,
    class_index: IntArray,
    codebook: Codebook,
    assignment: Assignment,
    *,
    bits: FittedBits | None,
    sample_weight: FloatArray | None = None,
    rng: np.random.Generator,
) -> FittedBits:
    """Learn from a further batch of samples.

    Parameters
    ----------
    learner : BitLearner or JointLearner
        One that has ``partial_fit_bits`` or ``partial_fit_code``.
    X, class_index, codebook, assignment
        As in :func:`learn_bits`.
    bits : FittedBits or None
        What an earlier call returned; None to begin.
    sample_weight : array of shape (n_samples,), optional
    rng : numpy.random.Generator

    Returns
    -------
    FittedBits
    """
    is_joint = isinstance(learner, JointLearner)
    learn = getattr(learner, "partial_fit_code" if is_joint else "partial_fit_bits", None)
    if learn is None:
        raise ValueError(f"The learner {type(learner).__name__} cannot learn batch by batch.")
    code = (codebook, assignment) if is_joint else (codebook.coding_matrix(assignment),)
    further: FittedBits = learn(bits, X, class_index, *code, sample_weight=sample_weight, rng=rng)
    return further


def make_decoder(
    codebook: Codebook, assignment: Assignment, loss: LossLike, *, is_weighted: bool = False
) -> MinimumLossDecoder | ShortestPathDecoder:
    """The fastest decoder that the codebook allows: shortest paths on a trellis.

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
    if codebook.trellis is not None:
        return ShortestPathDecoder(codebook.trellis, loss, assignment)
    return MinimumLossDecoder(codebook.coding_matrix(assignment), loss, is_weighted)
