"""The paths of a trellis as a codebook."""

from __future__ import annotations

from math import isqrt
from typing import Literal

from codekin.coding import Codebook
from codekin.coding.trellis import TrellisGraph

LEAST_CODEWORDS_ALLOWED, CODEWORDS_PER_CLASS = 100_000, 10
"""Limits of the number of codewords, in all and per class: a model needs memory even for those without a class."""


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


def check_spare_codewords(codebook: Codebook, n_classes: int) -> None:
    """Raise if a codebook has far more codewords than classes: two numbers define a huge trellis, but not a model."""
    most = max(LEAST_CODEWORDS_ALLOWED, CODEWORDS_PER_CLASS * n_classes)
    if codebook.trellis is not None and codebook.n_codewords > most:
        raise ValueError(
            f"A trellis for {n_classes} classes may have {most:,} codewords. Got {codebook.n_codewords:,}: "
            "most of them would have no class."
        )
