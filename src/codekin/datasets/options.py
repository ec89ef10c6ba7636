"""Options for reading a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from numpy.typing import NDArray

LabelKind = Literal["auto", "int", "str", "none"]
IndexBase = Literal["auto", 0, 1]
MultilabelPolicy = Literal["error", "first", "drop"]
FeatureOrder = Literal["increasing", "any"]
UnknownPolicy = Literal["error", "drop"]

MAX_HASH_BITS = 30


@dataclass(frozen=True)
class ReadOptions:
    """Options for reading a file.

    Parameters
    ----------
    labels : {"auto", "int", "str", "none"}, default="auto"
        "auto": integers if all labels are plain integers, such as 7 and -1, otherwise strings as written. "int":
        integers, also +1 and 3.0, or an error. "str": strings as written. "none": labels are not read and may be
        missing.
    index_base : {"auto", 0, 1}, default="auto"
        The index of the first feature in an svmlight file. "auto" means 0 if the file contains that index, else 1.
    multilabel : {"error", "first", "drop"}, default="error"
        What to do with a row of several labels (integers joined by commas): raise, use the first one, or leave the row
        out. With "first" and "drop", rows without any label are left out as well.
    feature_order : {"increasing", "any"}, default="increasing"
        Whether the indices of an svmlight row must increase, or are sorted after reading.
    unknown_features : {"error", "drop"}, default="error"
        What to do with indices beyond ``n_features``, if that is given. "drop" needs an index base of 0 or 1.
    hash_bits : int, optional
        Hash the features' names into ``2**hash_bits`` columns; only Vowpal Wabbit files have names. 0 means that the
        names are indices. By default 0 if the first names are integers in one namespace, else 20.
    """

    labels: LabelKind = "auto"
    index_base: IndexBase = "auto"
    multilabel: MultilabelPolicy = "error"
    feature_order: FeatureOrder = "increasing"
    unknown_features: UnknownPolicy = "error"
    hash_bits: int | None = None

    def __post_init__(self) -> None:
        """Check the choices."""
        for name, kind in (
            ("labels", LabelKind),
            ("index_base", IndexBase),
            ("multilabel", MultilabelPolicy),
            ("feature_order", FeatureOrder),
            ("unknown_features", UnknownPolicy),
        ):
            value, choices = getattr(self, name), get_args(kind)
            if value not in choices:
                shown = ", ".join(repr(choice) for choice in choices)
                raise ValueError(f"The '{name}' option of a reader must be one of {shown}. Got {value!r} instead.")
        if self.hash_bits is not None and not 0 <= self.hash_bits <= MAX_HASH_BITS:
            raise ValueError(
                f"The 'hash_bits' option of a reader must be from 0 to {MAX_HASH_BITS}. Got {self.hash_bits} instead."
            )
        if self.unknown_features == "drop" and self.index_base == "auto":
            raise ValueError("Unknown features can be dropped only when 'index_base' is 0 or 1. Got 'auto' instead.")


def checked_encoding(encoding: Mapping[str, Any]) -> dict[str, int]:
    """The encoding of features from a description: ``index_base`` and ``hash_bits``; raises on anything else."""
    is_known = isinstance(encoding, Mapping) and set(encoding) <= {"index_base", "hash_bits"}
    if not is_known or not all(type(value) is int for value in encoding.values()):
        raise ValueError(f"The encoding of features has 'index_base' and 'hash_bits', integers. Got {encoding!r}.")
    ReadOptions(**encoding)
    return dict(encoding)


def label_kind(classes: NDArray[Any]) -> Literal["int", "str"]:
    """The option ``labels`` for reading labels that are compared with given ones."""
    if classes.dtype.kind not in "iu":
        return "str"
    # Longer ones are read and compared as written.
    return "int" if all(abs(label) < 10**18 for label in classes.tolist()) else "str"
