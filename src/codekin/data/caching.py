"""Samples on disk in a form that can be read in pieces: a folder of NumPy arrays, converted once from a text file.

    cache.json         what it was made from and how; checksums of the other files
    row_ends.npy       where each row's values begin, and where the last one's end
    features.npy       the column of each value, row after row
    values.npy         the values
    class_index.npy    the class of each row, an index into the labels
    labels.npy         the labels, in sorted order
    sample_weight.npy  the weight of each row, if the file has weights

The folder is made under a temporary name and renamed when it is complete. ``docs/reference/formats.md`` describes it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from codekin._system.arrays import NOT_AN_ARRAY, check_ends, check_indices, read_npy
from codekin._system.files import (
    json_checksum,
    named_in_errors,
    sha256,
    whole_file,
    whole_folder,
)
from codekin._system.rows import StoredRows
from codekin._version import __version__
from codekin.data.blocks import opened
from codekin.data.datasets import DataError, SparseData
from codekin.data.options import ReadOptions, checked_encoding
from codekin.data.parsed_rows import RowLabels, Rows, sorted_classes
from codekin.data.reading import ReadProgress, file_parts, watched

FORMAT, FORMAT_VERSION = "codekin-cache", 1
MAX_FEATURES = 2**31
"""Feature indices take four bytes each."""
DESCRIPTION = "cache.json"
ARRAYS = ("row_ends", "features", "values", "class_index", "labels")
DEFAULT_MEMORY = 1 << 30
_ITEMS_AT_ONCE = 1 << 20

Json = dict[str, Any]


class CacheError(ValueError):
    """A folder that is not a readable cache of samples; the message says which file and why."""


def cached_data(
    source: str | Path,
    folder: str | Path | None = None,
    *,
    format: str = "auto",
    n_features: int | None = None,
    options: ReadOptions | None = None,
    max_memory: int = DEFAULT_MEMORY,
    progress: ReadProgress | None = None,
    note: Callable[[str], None] | None = None,
) -> SparseData:
    r"""The samples of a file of any size, left on disk: converted once, and reused as long as the file is the same.

    Parameters
    ----------
    source : path
        A file in any format except text, plain or compressed.
    folder : path, optional
        The folder of the cache; by default next to the file, with ``.cache`` added to its name.
    format, n_features, options
        As in :func:`read_data`.
    max_memory : int, default=1 GiB
        How many bytes of the samples may be in memory at a time.
    progress : callable, optional
        Called with the bytes read so far and the bytes of the whole file, while it is converted.
    note : callable, optional
        Called with a sentence: whether the cache is used, created, or created again and why.

    Returns
    -------
    SparseData
        Its ``X`` stays on disk; it has a shape and can be sliced, ``X[10:20]``.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as home:
    ...     file = Path(home) / "train.svm"
    ...     _ = file.write_bytes(b"cat 1:0.5 3:1\ndog 2:2\n")
    ...     data = cached_data(file, note=lambda sentence: print(sentence.replace(home, "")))
    ...     data = cached_data(file, note=lambda sentence: print(sentence.replace(home, "")))
    ...     data.n_samples, data.X[1:].toarray()
    converting it into /train.svm.cache
    using /train.svm.cache
    (2, array([[0., 2., 0.]], dtype=float32))
    """
    path = Path(source)
    folder = path.with_name(f"{path.name}.cache") if folder is None else Path(folder)
    say = note or (lambda _: None)
    reading = _Reading(format, n_features, options or ReadOptions())
    if reading.options.labels == "none":
        raise ValueError("A cache holds labels. Got the option labels='none'; use 'auto'.")
    if reading.options.multilabel == "all":
        raise DataError(str(path), "samples with several labels each are read into memory only; allow more of it.")
    if (folder / DESCRIPTION).is_file():
        try:
            description = _description(folder)
            _check_source(description, path, reading)
            data = open_cache(folder, max_memory=max_memory)
        except CacheError as error:
            say(f"converting it again: {error}")
        else:
            say(f"using {folder}")
            return data
    else:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise FileExistsError(f"{folder} is there already and is not a cache of samples. Choose another name.")
        say(f"converting it into {folder}")
    _write(path, folder, reading, progress)
    return open_cache(folder, max_memory=max_memory, verify=False)


@dataclass(frozen=True)
class _Reading:
    """How a file is read."""

    format: str
    n_features: int | None
    options: ReadOptions

    def as_dict(self) -> Json:
        """As JSON has it."""
        return dict(json.loads(json.dumps(asdict(self))))


def open_cache(folder: str | Path, *, max_memory: int = DEFAULT_MEMORY, verify: bool = True) -> SparseData:
    """The samples of a cache, left on disk.

    ``folder`` was made by :func:`cached_data`. ``max_memory`` is how many bytes of the samples may be in memory at a
    time; the shuffled blocks of training depend on it. With ``verify``, all checksums are compared.
    """
    folder = Path(folder)
    description = _description(folder)
    for name, facts in description["files"].items():
        path = folder / Path(name).name
        has_facts = isinstance(facts, dict) and path.is_file() and path.stat().st_size == facts.get("bytes")
        if not has_facts or (verify and sha256(path) != facts.get("sha256")):
            raise CacheError(f"{path} is missing or was changed after it was written: its checksum does not match.")
    try:
        row_ends, class_index, labels = (
            read_npy(folder / f"{name}.npy") for name in ("row_ends", "class_index", "labels")
        )
        has_weights = "sample_weight.npy" in description["files"]
        if verify:
            _check_arrays(folder, row_ends, class_index, description["n_features"], len(labels))
        X: Any = StoredRows(
            folder, row_ends, description["n_features"], description["files"]["values.npy"]["sha256"], max_memory
        )
        return SparseData(
            X,
            class_index.astype(np.intp),
            labels,
            read_npy(folder / "sample_weight.npy") if has_weights else None,
            checked_encoding(description["encoding"]),
        )
    except (*NOT_AN_ARRAY, AttributeError, OSError) as error:
        raise CacheError(f"{folder} is damaged: {' '.join(str(error).split()).rstrip('.')}.") from error


def _check_arrays(
    folder: Path, row_ends: NDArray[Any], class_index: NDArray[Any], n_features: int, n_classes: int
) -> None:
    """Raise unless every index is valid: compiled loops do not check them."""
    if row_ends.dtype != np.int64 or class_index.ndim != 1 or row_ends.shape != (len(class_index) + 1,):
        raise ValueError("there must be a class and an end for every row")
    check_ends(row_ends, int(row_ends[-1]), "the ends of the rows")
    check_indices(class_index, n_classes, "the classes of the rows")
    for name, kind in (("features", "<i4"), ("values", "<f4")):
        with (folder / f"{name}.npy").open("rb") as file:
            npy.read_magic(file)
            shape, _, dtype = npy.read_array_header_1_0(file)
            if shape != (int(row_ends[-1]),) or dtype != np.dtype(kind):
                raise ValueError(f"there must be {int(row_ends[-1])} {name} of type {kind}")
            while name == "features":
                items = np.frombuffer(file.read(4 * _ITEMS_AT_ONCE), dtype=kind)
                if not len(items):
                    break
                if items.min() < 0 or items.max() >= n_features:
                    raise ValueError(f"a value is for feature {int(items.max())} of {n_features}")


def _description(folder: Path) -> Json:
    path = folder / DESCRIPTION
    try:
        description = json.loads(path.read_bytes())
        checksum = json_checksum(description) if isinstance(description, dict) else None
    except FileNotFoundError:
        raise CacheError(f"{folder} is not a cache of samples: it has no {DESCRIPTION}.") from None
    except (ValueError, RecursionError) as error:
        raise CacheError(f"{path} is not JSON: {error}.") from None
    if not isinstance(description, dict) or description.get("format") != FORMAT:
        raise CacheError(f"{path} does not describe a cache of samples: its 'format' must be {FORMAT!r}.")
    if description.get("format_version") != FORMAT_VERSION:
        version = description.get("format_version")
        raise CacheError(f"{path} has format version {version}; codekin {__version__} reads version {FORMAT_VERSION}.")
    names = {f"{name}.npy" for name in ARRAYS}
    files = description.get("files")
    if not isinstance(files, dict) or not names <= set(files) or not isinstance(description.get("n_features"), int):
        raise CacheError(f"{path}: a part of the description is missing.")
    if not 0 <= description["n_features"] <= MAX_FEATURES:
        raise CacheError(f"{path}: 'n_features' must be at most {MAX_FEATURES:,}. Got {description['n_features']}.")
    if description.get("sha256") != checksum:
        raise CacheError(f"{path} was changed after it was written: its checksum does not match.")
    return description


def _check_source(description: Json, path: Path, reading: _Reading) -> None:
    """Raise unless a cache was made from this file in this way."""
    then, now = description.get("source", {}), path.stat()
    made = description.get("reading")
    if isinstance(made, dict) and isinstance(made.get("options"), dict):
        # Options that are younger than the cache had their defaults.
        made = {**made, "options": {**_Reading("auto", None, ReadOptions()).as_dict()["options"], **made["options"]}}
    if made != reading.as_dict():
        raise CacheError(f"{path} was made with other options.")
    if then.get("bytes") != now.st_size:
        raise CacheError(f"{path} has changed since.")
    # A file that was only copied or touched is still the same.
    if then.get("modified_ns") != now.st_mtime_ns and then.get("sha256") != sha256(path):
        raise CacheError(f"{path} has changed since.")


def _write(path: Path, folder: Path, reading: _Reading, progress: ReadProgress | None) -> None:
    before = path.stat()
    with whole_folder(folder) as unfinished, named_in_errors(folder):
        facts = _convert(path, unfinished, reading, progress)
        files = {file.name: {"bytes": file.stat().st_size, "sha256": sha256(file)} for file in unfinished.glob("*.npy")}
        source = {"bytes": before.st_size, "modified_ns": before.st_mtime_ns, "sha256": sha256(path)}
        after = path.stat()
        if (after.st_size, after.st_mtime_ns) != (before.st_size, before.st_mtime_ns):
            raise DataError(str(path), "the file changed while it was read.")
        description = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "codekin": __version__,
            "source": source,
            "reading": reading.as_dict(),
            **facts,
            "files": dict(sorted(files.items())),
        }
        description["sha256"] = json_checksum(description)
        with whole_file(unfinished / DESCRIPTION) as stream:
            stream.write(json.dumps(description, indent=1).encode())


def _convert(path: Path, folder: Path, reading: _Reading, progress: ReadProgress | None) -> Json:
    """Write the arrays; returns how the features are numbered."""
    numbers, n_values = _LabelNumbers(), 0
    lengths: list[NDArray[np.int32]] = []
    weights: list[NDArray[np.float32] | None] = []
    with (
        opened(path) as (stream, name),
        (folder / "features.npy").open("wb+") as features,
        (folder / "values.npy").open("wb+") as values,
    ):
        content, parts = file_parts(path, stream, name, reading.format, reading.n_features, reading.options)
        for file, kind in ((features, "<i4"), (values, "<f4")):
            _write_header(file, kind, 0)
        for part in watched(parts, stream, progress):
            if not isinstance(part, Rows):
                raise DataError(
                    name,
                    "texts can be converted to features only in memory. Allow more memory, or give features.",
                )
            # Not tofile, which does not say why writing failed.
            features.write(part.indices.astype("<i4", copy=False).data)
            values.write(part.values.astype("<f4", copy=False).data)
            n_values += len(part.indices)
            lengths.append(part.n_in_row.astype(np.int32))
            weights.append(part.weights)
            numbers.add(part.labels)
        content.report_left_out()
        if n_values + sum(map(len, lengths)) == 0:
            raise DataError(name, "there are no samples in it.")
        index_base, width = content.features.settled(name)
        for file, kind in ((values, "<f4"), (features, "<i4")):
            _write_header(file, kind, n_values)
        _subtract(features, index_base)
    n_in_row = np.concatenate(lengths)
    class_index, labels = numbers.settled(name)
    np.save(folder / "row_ends.npy", np.concatenate([[0], np.cumsum(n_in_row, dtype=np.int64)]))
    np.save(folder / "class_index.npy", class_index)
    np.save(folder / "labels.npy", labels)
    if any(part is not None for part in weights):
        ones = [np.ones(len(n), np.float32) if w is None else w for n, w in zip(lengths, weights, strict=True)]
        np.save(folder / "sample_weight.npy", np.concatenate(ones))
    return {
        "n_samples": len(n_in_row),
        "n_features": width,
        "n_values": n_values,
        "n_classes": len(labels),
        "encoding": {name: int(value) for name, value in content.features.encoding.items()},
    }


def _write_header(file: IO[bytes], kind: str, n_items: int) -> None:
    """The header of a .npy file; NumPy leaves space in it for any number of items."""
    file.seek(0)
    npy.write_array_header_1_0(file, {"descr": kind, "fortran_order": False, "shape": (n_items,)})


def _subtract(file: IO[bytes], index_base: int) -> None:
    """Number the features from 0, in blocks, since mapped memory counts as memory."""
    start = file.tell()
    while True:
        file.seek(start)
        items = np.frombuffer(file.read(4 * _ITEMS_AT_ONCE), dtype="<i4")
        if not len(items):
            return
        file.seek(start)
        file.write((items - np.int32(index_base)).tobytes())
        start += items.nbytes


class _LabelNumbers:
    """Labels as numbers in the order of their first appearance, four bytes per row."""

    def __init__(self) -> None:
        self._number: dict[Any, int] = {}
        self._rows: list[NDArray[np.int32]] = []

    def add(self, labels: RowLabels) -> None:
        number = self._number
        if isinstance(labels, np.ndarray):
            distinct, inverse = np.unique(labels, return_inverse=True)
            # If any label is text, all of them are.
            has_text = isinstance(next(iter(number), 0), str)
            spelled = [str(label) if has_text else label for label in distinct.tolist()]
            of_distinct = np.array([number.setdefault(label, len(number)) for label in spelled], dtype=np.int32)
            self._rows.append(of_distinct[inverse])
            return
        if any(isinstance(label, int) for label in number):
            self._number = number = {str(label): k for label, k in number.items()}
        self._rows.append(np.array([number.setdefault(label, len(number)) for label in labels or ()], dtype=np.int32))

    def settled(self, source: str) -> tuple[NDArray[np.int32], NDArray[Any]]:
        """The class of each row, and the labels in sorted order."""
        rank, labels = sorted_classes(self._number, source)
        return rank.astype(np.int32)[np.concatenate(self._rows)], labels
