"""The packages that parts of codekin need beyond its own dependencies, and what to say where they are missing."""

from __future__ import annotations

EXTRAS = {"plots": "matplotlib", "onnx": "onnx", "serve": "starlette uvicorn", "distributed": "dask distributed"}
"""The packages of each extra of ``pyproject.toml`` for users."""


def not_installed(what: str, extra: str) -> ImportError:
    """The error of something that needs an extra; its command works however codekin was installed.

    >>> not_installed("Serving a model", "serve").args[0]
    'Serving a model needs starlette and uvicorn. Install with: pip install starlette uvicorn'
    """
    packages = EXTRAS[extra]
    return ImportError(f"{what} needs {packages.replace(' ', ' and ')}. Install with: pip install {packages}")
