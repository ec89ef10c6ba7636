"""What a learner makes of columns before a code is chosen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from codekin.coding import CodingMatrix, FloatArray, IntArray, Margins


@dataclass(frozen=True, eq=False)
class ColumnTrials:
    """Margins of samples from predictors that did not learn from them, for any columns.

    - ``class_index``: the classes of the samples.
    - ``weights``: how much each sample counts.
    - ``margins``: a function of columns (n_classes, n_columns) that learns them and returns the margins,
      (n_samples, n_columns).
    """

    class_index: IntArray
    weights: FloatArray = field(repr=False)
    margins: Callable[[CodingMatrix], Margins] = field(repr=False)

    def errors(self, columns: CodingMatrix, margins: Margins | None = None) -> FloatArray:
        """The share of samples on the wrong side of each column, among those of its classes; never quite 0 or 1.

        ``margins``: those of the columns, if they are known.
        """
        margins = self.margins(columns) if margins is None else margins
        bits = columns[self.class_index]
        counts = np.abs(bits) * self.weights[:, None]
        wrong = (counts * (bits * margins <= 0)).sum(axis=0)
        # As if one of two further samples were wrong: no errors among some samples prove no perfect bit.
        unit = self.weights.mean()
        return np.asarray((wrong + unit) / (counts.sum(axis=0) + 2 * unit))
