"""The basic values of error-correcting output codes: a codebook, an assignment of codewords to classes, and a code.

A codebook says which codewords exist; an assignment says which class gets which of them. Together they are a code, with
a coding matrix whose row ``k`` is the codeword of class ``k`` and whose column ``j`` is a binary subproblem.
"""

from collections.abc import Mapping
from typing import TypeVar

from codekin.code.code import Assignment, Code
from codekin.code.codebook import Codebook, SignCodebook
from codekin.code.symbols import SymbolCodebook
from codekin.code.targets import TargetCodebook
from codekin.code.tree import TreeCodebook
from codekin.code.trellis import TrellisCodebook
from codekin.code.types import CodingMatrix, FloatArray, IntArray, Margins

KINDS: dict[str, type[Codebook]] = {
    kind.kind: kind for kind in (SignCodebook, SymbolCodebook, TargetCodebook, TrellisCodebook, TreeCodebook)
}
"""The five kinds of codebooks by name."""

__all__ = ["Assignment", "Code", "Codebook", "CodingMatrix", "FloatArray", "IntArray", "Margins"]
T = TypeVar("T")


def entry_for(table: Mapping[str, T | str], codebook: Codebook) -> T:
    """The entry of a table for the kind of a codebook; ValueError if it is a sentence that refuses this kind.

    >>> entry_for({"signs": len, "symbols": "Nobody draws symbols."}, Codebook([[1, 1], [1, -1]])) is len
    True
    """
    found = table[codebook.kind]
    if isinstance(found, str):
        raise ValueError(f"{found} Got {codebook!r}.")
    return found
