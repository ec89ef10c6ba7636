"""Phrases for messages: suggested names, plurals, packages to install, and what settings need of each other."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from difflib import get_close_matches
from typing import Any, NamedTuple

ALIASES = {
    "ovr": "one_vs_rest",
    "ova": "one_vs_rest",
    "one_vs_all": "one_vs_rest",
    "one_against_all": "one_vs_rest",
    "ovo": "one_vs_one",
    "all_pairs": "one_vs_one",
    "log_loss": "logistic",
    "mse": "squared",
    "zero_one": "hamming",
    "euclidean": "means",
    "simulated_annealing": "annealing",
}
"""Other common names of entries in our tables."""


def near_name(given: Any, names: Iterable[str]) -> str | None:
    """The known name that was probably meant, or None.

    >>> near_name("ovr", ["one_vs_one", "one_vs_rest"]), near_name("Dense-Randm", ["dense_random", "sparse_random"])
    ('one_vs_rest', 'dense_random')
    """
    if not isinstance(given, str):
        return None
    known = list(names)
    plain = given.strip().lower().replace("-", "_").replace(" ", "_")
    if ALIASES.get(plain) in known:
        return ALIASES[plain]
    similar = get_close_matches(plain, known, n=1) or [name for name in known if len(plain) > 2 and plain in name]
    return similar[0] if similar else None


def suggestion(given: Any, names: Iterable[str]) -> str:
    """A space and a question that suggests the name that was probably meant; empty if there is none."""
    near = near_name(given, names)
    return "" if near is None else f" Did you mean {near!r}?"


def shortened(text: str, limit: int = 40) -> str:
    """A text, short enough for an error message."""
    return text if len(text) <= limit else f"{text[:limit]}..."


def counted(n: int, what: str) -> str:
    """A number and its noun: 1 bit, 1,200 classes."""
    return f"{n:,} {plural(n, what)}"


def plural(n: int, what: str) -> str:
    """The noun that goes with a number: bit for 1, bits otherwise."""
    return what if n == 1 else f"{what}es" if what.endswith("s") else f"{what}s"


def with_article(noun: str) -> str:
    """A noun after a or an, by its first letter: an ECOCClassifier, a TrellisClassifier."""
    return f"{'an' if noun[:1].lower() in 'aeiou' else 'a'} {noun}"


EXTRAS = {
    "plots": "matplotlib",
    "onnx": "onnx",
    "parquet": "pyarrow",
    "serve": "starlette uvicorn",
    "distributed": "dask distributed",
}
"""The packages of each extra of ``pyproject.toml`` for users."""


def not_installed(what: str, extra: str) -> ImportError:
    """The error of something that needs an extra; its command works however codekin was installed.

    >>> not_installed("Serving a model", "serve").args[0]
    'Serving a model needs starlette and uvicorn. Install with: pip install starlette uvicorn'
    """
    packages = EXTRAS[extra]
    return ImportError(f"{what} needs {packages.replace(' ', ' and ')}. Install with: pip install {packages}")


class Need(NamedTuple):
    """What a setting needs: without it the setting would have no effect, so it is rejected.

    In ``what``, ``{width}`` is the name of a setting as its user writes it, ``{width.given}`` its name and value and
    ``{width.value}`` its value. ``is_met`` takes the values of all settings. ``kind`` is the kind of codebook that has
    this need; all kinds have it if it is empty.
    """

    what: str
    is_met: Callable[[Any], bool]
    kind: str = ""


class Spelled(NamedTuple):
    """A setting as its user writes it, alone and with its value, and the value."""

    name: str
    given: str
    value: Any

    def __format__(self, _: str) -> str:
        return self.name
