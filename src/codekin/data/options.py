"""Options for reading a file."""

from __future__ import annotations

import codecs
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from numpy.typing import NDArray

from codekin.data.datasets import USES, TableColumns

LabelKind = Literal["auto", "int", "str", "none"]
IndexBase = Literal["auto", 0, 1]
MultilabelPolicy = Literal["error", "first", "drop", "all"]
FeatureOrder = Literal["increasing", "any"]
UnknownPolicy = Literal["error", "drop"]
MissingPolicy = Literal["error", "drop"]

MAX_HASH_BITS = 30

VECTOR_FILES = (".npy", ".npz")
FROM_FILE = "embedding"
"""What the column of vectors is called that a file has beside a table."""
LABEL_PREFIX = "__label__"
"""What stands before a label in fastText's files."""
FEATURE_FORMATS = ("svmlight", "xmc", "vw", "npz", "npy")
"""The formats of samples that already have features; the last two may have vectors."""
TEXT_FORMATS = ("tsv", "csv", "jsonl", "parquet", "fasttext", "annif", "folder")
FORMATS = (*FEATURE_FORMATS, *TEXT_FORMATS)
"""The formats that can be read."""
_TABLES = ("csv", "tsv", "jsonl", "parquet")
_OPTION_FORMATS = {
    **dict.fromkeys(("label", "text", "numbers", "categories", "keep"), _TABLES),
    "embeddings": TEXT_FORMATS,
    **dict.fromkeys(("header", "delimiter"), ("csv", "tsv")),
    "label_separator": _TABLES,
    "encoding": tuple(format for format in FORMATS if format not in ("npz", "npy", "parquet")),
}
"""The formats that options are for."""


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
    multilabel : {"error", "first", "drop", "all"}, default="error"
        What to do with a row of several labels (integers joined by commas, a list, several ``__label__``): raise, use
        the first one, or leave the row out. With "first" and "drop", rows without any label are left out as well. With
        "all" every row may have any number of labels.
    feature_order : {"increasing", "any"}, default="increasing"
        Whether the indices of an svmlight row must increase, or are sorted after reading.
    unknown_features : {"error", "drop"}, default="error"
        What to do with indices beyond ``n_features``, if that is given. "drop" needs an index base of 0 or 1.
    hash_bits : int, optional
        Hash the features' names into ``2**hash_bits`` columns; only Vowpal Wabbit files have names. 0 means that the
        names are indices. By default 0 if the first names are integers in one namespace, else 20.
    label : str or int, optional
        The column of a table that holds the labels: its name, or its number, counted from 1. By default the column that
        is called "label", "category", "class" or the like, if there is one.
    text : str, int, or sequence of them, optional
        The columns that hold the texts. By default the column that is called "text", "title", "description" or the
        like, if there is one; "none" for no texts, where there are vectors.
    numbers, categories : str, int, or sequence of them, optional
        Further columns to read: numbers, and names of categories.
    embeddings : str, int, or sequence of them, optional
        Columns of vectors; or a file of them, in the order of the rows: ``file.npy``, or ``file.npz``, perhaps with the
        name of the array behind a colon.
    header : bool, optional
        Whether the first row of a CSV or TSV file holds the names of the columns. Without it, columns are called by
        their numbers. By default a CSV file has a header, and a TSV file if the header has the columns' names.
    delimiter : str, optional
        The character between two columns of a CSV file. By default a comma, tab, semicolon or bar, whichever the first
        rows have.
    encoding : str, optional
        The encoding of a text file. By default UTF-8, or UTF-16 if a byte order mark says so.
    trained_on : TableColumns, optional
        The columns of the table that a model was trained on: used where ``label`` and ``text`` say nothing.
    missing_labels : {"error", "drop"}, default="error"
        What to do with a row without a label: raise, or leave the row out.
    keep : str, int, or sequence of them, optional
        Columns to read as they are, to be written beside predictions; ``"*"`` for all.
    label_separator : str, optional
        What separates the labels of a row in a table or in lines of label and text, such as ``","``; it stands for
        ``multilabel="all"``.
    """

    labels: LabelKind = "auto"
    index_base: IndexBase = "auto"
    multilabel: MultilabelPolicy = "error"
    feature_order: FeatureOrder = "increasing"
    unknown_features: UnknownPolicy = "error"
    hash_bits: int | None = None
    label: str | None = None
    text: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    embeddings: tuple[str, ...] = ()
    header: bool | None = None
    delimiter: str | None = None
    encoding: str | None = None
    trained_on: TableColumns | None = None
    missing_labels: MissingPolicy = "error"
    keep: tuple[str, ...] = ()
    label_separator: str | None = None
    may_miss: bool = field(init=False, repr=False)
    """Whether a row needs no label."""
    names_columns: bool = field(init=False, repr=False)
    """Whether columns of a table are chosen."""

    def __post_init__(self) -> None:
        """Check the choices."""
        if self.label is not None:
            object.__setattr__(self, "label", str(self.label))
        for name in (*USES, "keep"):
            given: Any = getattr(self, name)
            columns = (given,) if isinstance(given, str | int) else given
            object.__setattr__(self, name, tuple(str(column) for column in columns))
        if self.label_separator is not None:
            if not self.label_separator or set(self.label_separator) & set("\t\r\n"):
                raise ValueError(
                    "The 'label_separator' option of a reader must be characters within a line, and no tab. Got "
                    f"{self.label_separator!r} instead."
                )
            if self.multilabel in ("first", "drop"):
                raise ValueError(f"A label_separator needs multilabel='all'. Got {self.multilabel!r} instead.")
            object.__setattr__(self, "multilabel", "all" if self.multilabel == "error" else self.multilabel)
        if self.delimiter is not None and (len(self.delimiter) != 1 or self.delimiter in '"\r\n\0 '):
            raise ValueError(
                "The 'delimiter' option of a reader must be one character, and no quote, blank or line end. Got "
                f"{self.delimiter!r} instead."
            )
        try:
            "".encode(self.encoding or "utf-8")
            codecs.getincrementaldecoder(self.encoding or "utf-8")
        except (LookupError, UnicodeError):
            raise ValueError(
                "The 'encoding' option of a reader (--encoding) must be one that Python knows, such as 'latin-1'. "
                f"Got {self.encoding!r} instead."
            ) from None
        for name, kind in (
            ("labels", LabelKind),
            ("index_base", IndexBase),
            ("multilabel", MultilabelPolicy),
            ("feature_order", FeatureOrder),
            ("unknown_features", UnknownPolicy),
            ("missing_labels", MissingPolicy),
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
        may_miss = self.labels == "none" or self.missing_labels == "drop" or self.multilabel == "all"
        chosen = (*self.text, *self.numbers, *self.categories, *column_names(self), *self.keep)
        self.__dict__.update(may_miss=may_miss, names_columns=self.label is not None or bool(chosen))


def check_options(options: ReadOptions, format: str) -> None:
    """Raise if an option is given that means nothing in a format."""
    for option, formats in _OPTION_FORMATS.items():
        value = getattr(options, option)
        known = _TABLES if option == "embeddings" and value and column_names(options) else formats
        if value not in (None, ()) and format not in known:
            raise ValueError(
                f"The '{option}' option of a reader is for {', '.join(known)}. Got {value!r} and a file of {format}."
            )


def column_names(options: ReadOptions) -> tuple[str, ...]:
    """The columns of vectors that are chosen; none if they are in a file."""
    return () if not options.embeddings or is_vector_file(options.embeddings) else options.embeddings


def is_vector_file(names: Sequence[str]) -> bool:
    """Whether an option names a file of vectors, and not columns."""
    return len(names) == 1 and Path(file_and_array(names[0])[0]).suffix.lower() in VECTOR_FILES


def file_and_array(given: str) -> tuple[str, str]:
    """The name of a file, and behind a colon that of an array of it, if there is one."""
    path, _, array = given.rpartition(":")
    return (path, array) if Path(path).suffix.lower() == ".npz" else (given, "")


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
