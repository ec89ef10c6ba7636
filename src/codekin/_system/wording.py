"""Numbers with their nouns in the singular or plural (1 class, 2 classes), and nouns with a or an."""

from __future__ import annotations


def counted(n: int, what: str) -> str:
    """A number and its noun: 1 class, 2 classes.

    Examples
    --------
    >>> counted(1, "bit"), counted(1200, "class")
    ('1 bit', '1,200 classes')
    """
    return f"{n:,} {plural(n, what)}"


def plural(n: int, what: str) -> str:
    """The noun that goes with a number: bit for 1, bits otherwise."""
    return what if n == 1 else f"{what}es" if what.endswith("s") else f"{what}s"


def with_article(noun: str) -> str:
    """A noun after a or an, by its first letter: an ECOCClassifier, a TrellisClassifier."""
    return f"{'an' if noun[:1].lower() in 'aeiou' else 'a'} {noun}"
