"""The basic values of error-correcting output codes: a codebook, an assignment of codewords to classes, and a code.

A codebook says which codewords exist; an assignment says which class gets which of them. Together they are a code, with
a coding matrix whose row ``k`` is the codeword of class ``k`` and whose column ``j`` is a binary subproblem.
"""

from codekin.coding.assignment import Assignment
from codekin.coding.code import Code
from codekin.coding.codebook import Codebook
from codekin.coding.types import CodingMatrix, FloatArray, IntArray, Margins

__all__ = ["Assignment", "Code", "Codebook", "CodingMatrix", "FloatArray", "IntArray", "Margins"]
