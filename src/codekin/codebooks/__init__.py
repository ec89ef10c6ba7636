"""Which codewords exist."""

from collections.abc import Callable

from codekin.codebooks.trellis import TrellisGraph, trellis_codebook
from codekin.coding import Codebook

CODEBOOKS: dict[str, Callable[..., Codebook]] = {
    "trellis": trellis_codebook,
}

__all__ = ["CODEBOOKS", "TrellisGraph", "trellis_codebook"]
