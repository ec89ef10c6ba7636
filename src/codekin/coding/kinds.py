"""The five kinds of codebooks by name."""

from __future__ import annotations

from codekin.coding.codebook import Codebook
from codekin.coding.signs import SignCodebook
from codekin.coding.symbols import SymbolCodebook
from codekin.coding.targets import TargetCodebook
from codekin.coding.tree import TreeCodebook
from codekin.coding.trellis import TrellisCodebook

KINDS: dict[str, type[Codebook]] = {
    kind.kind: kind for kind in (SignCodebook, SymbolCodebook, TargetCodebook, TrellisCodebook, TreeCodebook)
}
