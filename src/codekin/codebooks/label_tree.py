"""The leaves of a balanced tree as a codebook."""

from __future__ import annotations

from codekin.coding import Codebook
from codekin.coding.tree import TreeGraph


def label_tree(n_codewords: int, width: int = 32) -> Codebook:
    """The leaves of a balanced tree as codewords: a ternary code whose bits are learned by softmax in every node.

    Parameters
    ----------
    n_codewords : int
        The number of codewords, at least 2.
    width : int, default=32
        How many children a node has, at least 2. A node with at most four times as many leaves has these as children.

    Returns
    -------
    Codebook
        Its ``tree`` is the graph; its matrix is computed on demand.

    References
    ----------
    F. Morin and Y. Bengio, "Hierarchical Probabilistic Neural Network Language Model", AISTATS 2005.
    Y. Prabhu, A. Kag, S. Harsola, R. Agrawal and M. Varma, "Parabel: Partitioned Label Trees for Extreme Classification
    with Application to Dynamic Search Advertising", WWW 2018.

    Examples
    --------
    >>> label_tree(9, 2)
    <Codebook label_tree: 9 codewords x 11 bits, minimum distance 2>
    >>> label_tree(9, 2).codewords([0, 5])
    array([[ 1, -1,  1, -1, -1, -1, -1,  0,  0,  0,  0],
           [-1,  1,  0,  0,  0,  0,  0,  1, -1, -1, -1]], dtype=int8)
    """
    return Codebook(name="label_tree", tree=TreeGraph(n_codewords, width))
