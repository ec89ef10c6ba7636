"""An assignment in a JSON file, which maps labels of classes to codewords."""

from __future__ import annotations

import gzip
import io
import json
import os
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from codekin.assignments import AssignmentResult
from codekin.code import KINDS, Assignment, Code, Codebook
from codekin.code.codebook import kind_of_matrix
from codekin.codebooks import trellis_codebook
from codekin.data.blocks import output_stream
from codekin.states.codes import kind_of, matrix_codebook, matrix_parameters

FORMAT = "codekin-assignment"
FORMAT_VERSION = 1
GZIP_MAGIC = b"\x1f\x8b"
LEAST_UNZIPPED_BYTES, UNZIPPED_PER_BYTE = 1 << 24, 100


@dataclass(frozen=True, eq=False)
class SavedAssignment:
    """An assignment with the labels of its classes and the codebook that it was made for.

    Parameters
    ----------
    codebook : Codebook
        The codewords.
    labels : tuple of str
        ``labels[k]`` is the label of class ``k``.
    assignment : Assignment
        Which class gets which codeword.
    facts : dict
        What else is known about it: score, z, method, sense, seed.
    """

    codebook: Codebook
    labels: tuple[str, ...] = field(repr=False)
    assignment: Assignment
    facts: dict[str, Any] = field(default_factory=dict)

    def for_labels(self, labels: Iterable[object]) -> Assignment:
        """The same assignment for classes in another order.

        Parameters
        ----------
        labels : iterable
            The labels of all its classes; numbers match their text.

        Returns
        -------
        Assignment
            ``codeword_of_class[k]`` is the codeword of the ``k``-th label given.
        """
        names = [str(label) for label in labels]
        codeword_of = dict(zip(self.labels, self.assignment.codeword_of_class.tolist(), strict=True))
        missing = [name for name in names if name not in codeword_of]
        if missing:
            raise ValueError(
                f"The assignment has no codeword for {len(missing)} of the {len(names)} classes, "
                f"{missing[0]!r} among them."
            )
        if len(names) < len(self.labels):
            raise ValueError(f"The assignment is for {len(self.labels)} classes. Got {len(names)} of them.")
        return Assignment(np.array([codeword_of[name] for name in names], dtype=np.intp), method=self.assignment.method)


def save_assignment(
    path: str | os.PathLike[str], result: AssignmentResult, labels: Sequence[object], codebook: Codebook
) -> None:
    """Write an assignment as JSON.

    Parameters
    ----------
    path : path or "-"
        The file; compressed if its name ends with ``.gz``. ``"-"`` is the standard output.
    result : AssignmentResult
        The assignment and how it was found.
    labels : sequence
        ``labels[k]`` is the label of class ``k``; written as text.
    codebook : Codebook
        The codewords.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from codekin.assignments import assign
    >>> codebook = Codebook([[1, 1], [1, -1], [-1, -1]])
    >>> result = assign(codebook, [[0, 1, 2], [1, 0, 1], [2, 1, 0]])
    >>> with TemporaryDirectory() as folder:
    ...     save_assignment(f"{folder}/assignment.json", result, ["cat", "dog", "cow"], codebook)
    ...     load_assignment(f"{folder}/assignment.json").for_labels(["dog", "cow", "cat"]).codeword_of_class
    array([1, 2, 0])
    """
    names = [str(label) for label in labels]
    if len(set(names)) != len(result.codeword_of_class):
        raise ValueError(
            f"An assignment of {len(result.codeword_of_class)} classes needs as many different labels. "
            f"Got {len(set(names))}."
        )
    of_codebook: dict[str, Any] = {
        "name": codebook.name,
        "n_codewords": codebook.n_codewords,
        "n_bits": codebook.n_bits,
        "is_designed": codebook.is_designed,
    }
    of_codebook.update(CODEBOOKS[codebook.kind].described(codebook))
    numbers = {"score": result.score, "z": result.z}
    description = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "codebook": of_codebook,
        "method": result.method,
        "sense": result.sense,
        "seed": result.seed,
        **{name: float(number) if np.isfinite(number) else None for name, number in numbers.items()},
        "codeword_of_class": dict(zip(names, result.codeword_of_class.tolist(), strict=True)),
    }
    with output_stream(path) as stream:
        stream.write((json.dumps(description, indent=1, allow_nan=False, ensure_ascii=False) + "\n").encode())


def load_assignment(path: str | os.PathLike[str]) -> SavedAssignment:
    """Read what :func:`save_assignment` wrote.

    Parameters
    ----------
    path : path
        The file.

    Returns
    -------
    SavedAssignment
    """
    description = _read_json(Path(path))
    if not isinstance(description, dict) or description.get("format") != FORMAT:
        raise ValueError(f"{path} does not hold an assignment: its 'format' must be {FORMAT!r}.")
    if description.get("format_version") != FORMAT_VERSION:
        raise ValueError(
            f"{path} has format version {description.get('format_version')}; version {FORMAT_VERSION} can be read."
        )
    try:
        of_codebook, codeword_of_class = description["codebook"], description["codeword_of_class"]
        codebook = CODEBOOKS[kind_of(of_codebook)].restored(of_codebook, len(codeword_of_class))
        assignment = Assignment(np.array(list(codeword_of_class.values())), method=str(description["method"]))
        Code(codebook, assignment)  # checks that they fit together
        facts = {name: description[name] for name in ("method", "sense", "seed", "score", "z")}
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        reason = f"{error} is missing or misplaced" if isinstance(error, KeyError) else str(error).rstrip(".")
        raise ValueError(f"{path} does not hold an assignment: {reason}.") from error
    return SavedAssignment(codebook, tuple(codeword_of_class), assignment, facts)


class _Form(NamedTuple):
    """How a kind of codebook is written into a file of an assignment, and read from it."""

    described: Callable[[Codebook], dict[str, Any]]
    restored: Callable[[dict[str, Any], int], Codebook]
    """From a description and the number of classes."""


def _written(codebook: Codebook) -> dict[str, Any]:
    return {"codewords": [codebook.text(row) for row in codebook.matrix], **codebook.parameters}


def _read(of_codebook: dict[str, Any], _: int) -> Codebook:
    kind = KINDS[kind_of_matrix(**matrix_parameters(of_codebook))]
    return matrix_codebook([kind.entries(word) for word in of_codebook["codewords"]], of_codebook)


def _read_trellis(of_codebook: dict[str, Any], n_classes: int) -> Codebook:
    codebook = trellis_codebook(of_codebook["n_codewords"], of_codebook["width"])
    codebook.check_spare_codewords(n_classes)
    return codebook


_MATRIX = _Form(_written, _read)
CODEBOOKS = {
    "signs": _MATRIX,
    "symbols": _MATRIX,
    "targets": _MATRIX,
    "trellis": _Form(lambda codebook: {"width": codebook.width}, _read_trellis),
    "tree": _MATRIX,
}
"""Maps the kind of a codebook to its form."""


def _read_json(path: Path) -> Any:
    if not path.is_file():
        raise FileNotFoundError(f"{path}: there is no such file.")
    try:
        content = path.read_bytes()
        if content.startswith(GZIP_MAGIC):
            content = _unzipped(content)
        return json.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError, EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(f"{path} is not JSON: {error}.") from error


def _unzipped(content: bytes) -> bytes:
    """The uncompressed text; an error if it is too long for an assignment."""
    limit = max(LEAST_UNZIPPED_BYTES, UNZIPPED_PER_BYTE * len(content))
    with gzip.GzipFile(fileobj=io.BytesIO(content)) as stream:
        text = stream.read(limit + 1)
    if len(text) > limit:
        raise ValueError(f"unzipped it is more than {UNZIPPED_PER_BYTE} times as long")
    return text
