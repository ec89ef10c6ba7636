"""The best classes of one sample: the kernels of a model, called with arrays that are made ready once.

For a single row, what surrounds a kernel takes several times as long as the kernel itself: checks, conversions, blocks,
threads, memory that is allocated and cleared. Here all of that happens once per model. The results are those of
:class:`codekin.model.Model`, to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from codekin.coding import FloatArray, IntArray, Margins
from codekin.learners.compact import CompactForm
from codekin.learners.linear import LinearForm
from codekin.model import Model


class Row(NamedTuple):
    """One sample: compressed as the kernels take it, and as a matrix of one row if it was given as one.

    - ``indptr``, ``indices``, ``values``: int64, int32 and float32, writeable.
    - ``given``: a dense array of shape (1, n_features), or a sparse matrix that predictors of other libraries get.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    values: NDArray[np.float32]
    n_features: int
    given: Any = None

    def matrix(self) -> Any:
        """The sample as a matrix of one row."""
        if self.given is not None:
            return self.given
        return sparse.csr_array((self.values, self.indices, self.indptr), shape=(1, self.n_features))


class Workspaces:
    """Working memory of kernels that is used again, by one thread at a time."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self.make = make
        self._free: list[Any] = []

    def take(self) -> Any:
        """Room that nobody else uses; give it back unless an error left it dirty."""
        try:
            return self._free.pop()
        except IndexError:
            return self.make()

    def give_back(self, room: Any) -> None:
        """Let the next one use it."""
        self._free.append(room)


class SingleRow:
    """The best classes of one row; this one asks the model itself."""

    def __init__(self, model: Model) -> None:
        self.model = model

    def best(self, row: Row, k: int, *, has_losses: bool) -> tuple[IntArray, FloatArray]:
        """The k class indices with the smallest losses, and those losses, if they are wanted."""
        if k == 1 and not has_losses:
            return self.model.predict(row.matrix()), np.zeros(1)
        classes, losses = self.model.top_k(row.matrix(), k)
        return classes[0], losses[0]


class SingleRowOfCode(SingleRow):
    """Fast margins, and the decoder of the model."""

    def __init__(self, model: Model, margins: Callable[[Row], Margins]) -> None:
        super().__init__(model)
        self.margins = margins

    def best(self, row: Row, k: int, *, has_losses: bool) -> tuple[IntArray, FloatArray]:
        """See :meth:`SingleRow.best`."""
        margins = self.margins(row)
        if k == 1 and not has_losses:
            return self.model.decoder.decode(margins), np.zeros(1)
        classes, losses = self.model.decoder.top_k(margins, k)
        return classes[0], losses[0]


def row_margins(bits: Any) -> Callable[[Row], Margins]:
    """The margins of one row, (1, n_bits), as the bits themselves compute them."""
    if not isinstance(bits, LinearForm):
        return lambda row: bits.margins(row.matrix())
    kernel, weights = bits.product()
    bias, n_bits = bits.bias, bits.n_bits
    # Compact weights are multiplied by sparse rows only; others have a product of their own for dense rows.
    is_always_sparse = isinstance(bits, CompactForm)

    def margins(row: Row) -> Margins:
        if not (is_always_sparse or row.given is None or sparse.issparse(row.given)):
            return bits.margins(row.given)
        product = np.empty((1, n_bits), np.float32)
        kernel(row.indptr, row.indices, row.values, *weights, product)
        product += bias
        return product

    return margins
