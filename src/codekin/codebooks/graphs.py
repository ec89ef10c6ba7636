"""The paths of a trellis, and the leaves of a balanced tree, as codebooks."""

from __future__ import annotations

from math import isqrt
from typing import Literal

from codekin.code import Codebook
from codekin.code.tree import TreeGraph
from codekin.code.trellis import TrellisGraph


def trellis_codebook(n_codewords: int, width: int | Literal["auto"] = 2, *, n_bits: int | None = None) -> Codebook:
    """The paths of a trellis as codewords: W-LTLS of Evron et al. (2018), which is LTLS at width 2.

    With ``K = n_codewords``, ``b = width`` and ``K = sum_i d_i b**i`` for ``i = 0..m``, a codeword has
    ``b + (m - 1) b**2 + b d_m + sum_i d_i`` bits. A wider trellis has more bits and shorter paths: there are more
    predictors to train and to store, each of them is easier to learn, and more errors are corrected.

    Parameters
    ----------
    n_codewords : int
        The number of codewords, at least 2; it need not be a power of ``width``.
    width : int or "auto", default=2
        The number of vertices in a slice of the graph, from 2 to ``n_codewords``. ``"auto"`` is the widest trellis with
        at most ``n_bits`` bits, and at most the square root of ``n_codewords``, beyond which there are more bits than
        codewords.
    n_bits : int, optional
        The most bits a codeword may have.

    Returns
    -------
    Codebook
        Its ``trellis`` is the graph; its matrix is computed on demand.

    References
    ----------
    I. Evron, E. Moroshko and K. Crammer, "Efficient Loss-Based Decoding on Graphs for Extreme Classification",
    NeurIPS 2018.

    Examples
    --------
    >>> trellis_codebook(12_294, 10)
    <Codebook trellis: 12294 codewords x 338 bits, minimum distance 3>
    >>> trellis_codebook(12_294, "auto", n_bits=150).trellis
    TrellisGraph(n_paths=12294, width=5)
    """
    if width != "auto":
        graph = TrellisGraph(n_codewords, width)
        if n_bits is not None and graph.n_edges > n_bits:
            raise ValueError(
                f"A trellis of width {width} for {n_codewords} codewords has {graph.n_edges} bits, but n_bits is "
                f"{n_bits}. Use width='auto' for the widest one that fits."
            )
        return Codebook(name="trellis", trellis=graph)
    if n_bits is None:
        raise ValueError("width='auto' needs n_bits, the most bits that a codeword may have.")
    graphs = [TrellisGraph(n_codewords, b) for b in range(2, max(2, isqrt(n_codewords)) + 1)]
    fitting = [graph for graph in graphs if graph.n_edges <= n_bits]
    if not fitting:
        narrowest = min(graphs, key=lambda graph: graph.n_edges)
        raise ValueError(
            f"A trellis for {n_codewords} codewords needs at least {narrowest.n_edges} bits "
            f"(width {narrowest.width}), but n_bits is {n_bits}."
        )
    return Codebook(name="trellis", trellis=fitting[-1])


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
