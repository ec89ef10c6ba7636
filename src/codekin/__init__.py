"""Error-correcting output codes in which similar classes get similar codewords."""

from codekin._version import __version__

__all__ = ["__version__"]
