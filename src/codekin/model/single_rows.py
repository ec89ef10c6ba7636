"""Which way to the best classes of one sample is the fastest, by the kind of the code."""

from __future__ import annotations

from collections.abc import Callable

from codekin.model import Model
from codekin.model.single import SingleRow, SingleRowOfCode, row_margins
from codekin.model.single_leaves import single_of_leaves
from codekin.model.single_paths import single_of_paths


def single_row(model: Model) -> SingleRow:
    """The fastest way to the best classes of one row of this model."""
    return SINGLE_ROWS[model.codebook.kind](model)


def _of_matrix(model: Model) -> SingleRow:
    return SingleRowOfCode(model, row_margins(model.bits))


SINGLE_ROWS: dict[str, Callable[[Model], SingleRow]] = {
    "signs": _of_matrix,
    "symbols": _of_matrix,
    "targets": _of_matrix,
    "trellis": single_of_paths,
    "tree": single_of_leaves,
}
"""Maps the kind of a codebook to what answers single rows."""
