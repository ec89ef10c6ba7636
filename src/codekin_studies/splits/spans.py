r"""Least-squares decoders of least-squares bits, from the moments of one-hot outputs.

Least squares is linear in its targets: the margins of bits ``M`` are :math:`M^\top p(x)`, with :math:`p(x)` the outputs
for one-hot targets ``t``. The least-squares decoder of such margins scores the classes by

.. math:: \pi + C^\top M (M^\top V M)^{-1} M^\top (p(x) - \bar p), \qquad
    V = \operatorname{Cov} p, \quad C = \operatorname{Cov}(p, t),

and explains the variance :math:`\operatorname{tr} C^\top M (M^\top V M)^{-1} M^\top C` of the targets. It depends only
on the span of the columns and the constant one. Assignments with the same span give the same classifier, and one of
them is enough.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from codekin.assignments.exhaustive import all_objectives
from codekin.assignments.quadratic import QuadraticProblem
from codekin.coding import Codebook, FloatArray, IntArray

RELATIVE_ZERO = 1e-10
"""Variances below this share of the largest are rounding."""


@dataclass(frozen=True, eq=False)
class Outputs:
    """The outputs of least squares for one-hot targets: their moments on training samples, and the test outputs.

    ``targets`` has the covariances of outputs with one-hot targets, ``variances`` those of outputs with each other.
    """

    frequency: FloatArray
    mean: FloatArray
    variances: FloatArray
    targets: FloatArray
    test: FloatArray

    @classmethod
    def of(cls, train: FloatArray, y: IntArray, test: FloatArray) -> Outputs:
        """The moments of training outputs (n_samples, n_classes)."""
        one_hot = np.eye(train.shape[1])[y]
        mean, frequency = train.mean(axis=0), one_hot.mean(axis=0)
        centred = train - mean
        return cls(frequency, mean, centred.T @ centred / len(y), centred.T @ (one_hot - frequency) / len(y), test)

    def decoder(self, coding_matrix: FloatArray) -> FloatArray:
        """The matrix from centred outputs to scores, (n_classes, n_classes)."""
        precision = linalg.pinvh(coding_matrix.T @ self.variances @ coding_matrix, rtol=RELATIVE_ZERO)
        return np.asarray(self.targets.T @ coding_matrix @ precision @ coding_matrix.T)

    def judged(self, coding_matrix: FloatArray, y: IntArray) -> tuple[int, float]:
        """How many test samples of classes ``y`` are right, and the explained variance of the targets."""
        decoder = self.decoder(coding_matrix)
        scores = decoder @ self.test.T + (self.frequency - decoder @ self.mean)[:, None]
        return int(np.count_nonzero(scores.argmax(axis=0) == y)), float(np.sum(decoder * self.targets.T))


def spans_of_assignments(codebook: Codebook) -> tuple[IntArray, IntArray]:
    """The first assignment of each span, in lexicographic order, and for every assignment the number of its span.

    The projection onto the span of an assignment is that of the codebook with rows and columns permuted. An exact sum
    of random integers, one for each position and value of that matrix, identifies projections.
    """
    n = codebook.n_codewords
    basis = linalg.orth(np.column_stack([codebook.matrix, np.ones(n)]).astype(np.float64))
    values = np.unique((basis @ basis.T).round(9), return_inverse=True)[1].reshape(n, n)
    weights = np.tril(np.random.default_rng(0).integers(0, 2**38, (n, n)))
    marks = all_objectives(QuadraticProblem.of(weights + weights.T, values))
    return np.unique(marks, return_index=True, return_inverse=True)[1:]
