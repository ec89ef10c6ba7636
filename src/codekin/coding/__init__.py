"""The basic values of error-correcting output codes: a codebook, an assignment of codewords to classes, and a code.

A codebook says which codewords exist; an assignment says which class gets which of them. Together they are a code, with
a coding matrix whose row ``k`` is the codeword of class ``k`` and whose column ``j`` is a binary subproblem.
"""

from codekin.coding._graph import GraphCodebook, RankingConstants, graph_of
from codekin.coding.assignment import Assignment
from codekin.coding.code import Code
from codekin.coding.codebook import KINDS, Codebook
from codekin.coding.signs import SignCodebook
from codekin.coding.symbols import SymbolCodebook
from codekin.coding.targets import TargetCodebook
from codekin.coding.tree import TreeCodebook, TreeGraph
from codekin.coding.trellis import TrellisCodebook, TrellisGraph
from codekin.coding.types import CodingMatrix, FloatArray, IntArray, Margins

__all__ = [
    "KINDS",
    "Assignment",
    "Code",
    "Codebook",
    "CodingMatrix",
    "FloatArray",
    "GraphCodebook",
    "IntArray",
    "Margins",
    "RankingConstants",
    "SignCodebook",
    "SymbolCodebook",
    "TargetCodebook",
    "TreeCodebook",
    "TreeGraph",
    "TrellisCodebook",
    "TrellisGraph",
    "graph_of",
]
