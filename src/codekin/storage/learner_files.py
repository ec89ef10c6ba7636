"""The file of scikit-learn learners: read once, checked, and loaded from the bytes that were checked.

A skops file is a ZIP archive of arrays and ``schema.json``, a tree of nodes that say which classes to create. Every
node is compared with :mod:`codekin.storage.trusted_types` before skops sees it. Nodes have numbers, and skops uses the
first node with a number: if a value is checked here, all nodes with its number must be the same.
"""

from __future__ import annotations

import hashlib
import io
import json
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from codekin._system.arrays import npy_shape
from codekin.storage.files import LEARNER_FILE, Json, ModelFolderError
from codekin.storage.learner_checks import check_learners
from codekin.storage.trusted_types import is_listed

LEAST_UNPACKED_BYTES, UNPACKED_PER_BYTE = 1 << 24, 10
"""Sparse matrices are compressed in the file: how much memory they may take, at least and per byte of the file."""
SEED_POOL = "4"
"""The size of the pool from which NumPy seeds generators. Larger ones take quadratic time."""


def read_learners(path: Path, checksum: str, trusted: Sequence[str]) -> list[Any]:
    """The learners of a file, if its checksum is right and it creates only trusted classes."""
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != checksum:
        raise ModelFolderError(f"{path} was changed after it was written: its checksum does not match.")
    try:
        names = _checked_names(path, content, trusted)
        learners = _loaded(content, names)
        if not isinstance(learners, list):
            raise ModelFolderError(f"{path} must hold a list of learners. It holds a {type(learners).__name__}.")
        for learner in learners:
            if isinstance(learner, type) or not hasattr(learner, "fit"):
                raise ModelFolderError(f"{path} must hold learners only. It holds a {type(learner).__name__}.")
        check_learners(learners, trusted)
    except ModelFolderError:
        raise
    except Exception as error:  # skops raises what zipfile, json and the constructors raise
        reason = " ".join(str(error).split()).rstrip(".")
        raise ModelFolderError(f"{path} is not a readable skops file: {type(error).__name__}: {reason}.") from error
    return learners


def warn_of_refusal(learners: list[Any]) -> None:
    """Warn about learners that can be saved but are loaded only if named as trusted."""
    from skops.io import dumps

    try:
        _checked_names(Path(LEARNER_FILE), dumps(learners), ())
        check_learners(learners)
    except ValueError as error:
        reason = str(error).partition(". ")[0].rstrip(".")
        warnings.warn(
            f"load_model will refuse these learners unless you name them as trusted=[...]: {reason}.",
            stacklevel=3,
        )


def _loaded(content: bytes, names: Sequence[str]) -> Any:
    from skops.io import loads

    with warnings.catch_warnings():
        # A learner without the version of scikit-learn is forged and checked anyway.
        warnings.filterwarnings("ignore", message="Trying to unpickle estimator")
        return loads(content, trusted=list(names))


def _checked_names(path: Path, content: bytes, trusted: Sequence[str]) -> list[str]:
    """The names of all types in the file; raises unless each of them is listed or trusted by the caller."""
    with ZipFile(io.BytesIO(content)) as archive:
        members = archive.infolist()
        if sum(member.file_size for member in members) > len(content):
            raise ModelFolderError(f"{path} is packed, so that it may be larger than memory; it must not be.")
        if len({member.filename for member in members}) < len(members):
            raise ValueError("two of its parts have the same name")
        nodes = list(_nodes(json.loads(archive.read("schema.json"))))
        named = [(node, f"{node['__module__']}.{node['__class__']}") for node in nodes]
        refused = sorted(
            {
                name
                for node, name in named
                if name not in trusted and not is_listed(node["__loader__"], node["__module__"], node["__class__"])
            }
        )
        if refused:
            raise ModelFolderError(
                f"{path} holds types that are not trusted: {', '.join(refused)}. If you know where the file comes "
                "from, pass them as trusted=[...]."
            )
        _check_shared(nodes)
        for node in nodes:
            _check_node(node, archive, len(content))
    return sorted({name for _, name in named})


def _nodes(schema: Any) -> Iterator[Json]:
    """All nodes of a schema, wherever they are in it."""
    to_do = [schema]
    while to_do:
        item = to_do.pop()
        if isinstance(item, dict) and "__loader__" in item:
            if not all(isinstance(item[key], str) for key in ("__loader__", "__module__", "__class__")):
                raise ValueError("a node has no name")
            yield item
        if isinstance(item, dict | list):
            to_do.extend(item.values() if isinstance(item, dict) else item)


def _check_shared(nodes: Sequence[Json]) -> None:
    """Raise if checked nodes could be replaced by others with their number, or two nodes copy one array."""
    relied_on = {id(part): part for node in nodes for part in _relied_on(node)}
    by_number = {part["__id__"]: part for part in relied_on.values()}
    owner: dict[str, int] = {}
    for node in nodes:
        number = node.get("__id__")
        if type(number) is not int:
            raise ValueError("a node has no number")
        if number in by_number and _unnumbered(by_number[number]) != _unnumbered(node):
            raise ValueError(f"two different nodes have the number {number}")
        if "file" in node and owner.setdefault(node["file"], number) != number:
            raise ValueError(f"two nodes are made of {node['file']}")


def _relied_on(node: Json) -> list[Json]:
    """The nodes below this one whose values are checked before they are used."""
    if node["__loader__"] == "TreeNode":
        arguments = node["__reduce__"]["args"]
        _, n_classes, n_outputs = arguments["content"]
        state = node["content"]
        return [arguments, n_classes, n_outputs, state, state["content"]["nodes"], state["content"]["values"]]
    if node["__loader__"] == "RandomGeneratorNode":
        seed = node["content"]["seed_seq"]
        return [seed, seed["content"]["pool_size"]]
    return []


def _unnumbered(item: Any) -> Any:
    """The same node without numbers."""
    if isinstance(item, dict):
        return {key: _unnumbered(value) for key, value in item.items() if key != "__id__"}
    return [_unnumbered(value) for value in item] if isinstance(item, list) else item


def _check_node(node: Json, archive: ZipFile, n_bytes: int) -> None:
    """Raise if the content of a node of a listed type could do harm."""
    loader = node["__loader__"]
    if loader == "NdArrayNode" and node["type"] == "numpy":
        _shape(archive.read(node["file"]))
    elif loader == "SparseMatrixNode":
        _check_packed(archive.read(node["file"]), n_bytes)
    elif loader == "RandomGeneratorNode":
        if _relied_on(node)[1]["content"] != SEED_POOL:
            raise ValueError(f"the pool of a seed must have the size {SEED_POOL}")
    elif loader == "TreeNode":
        _, n_classes, n_outputs, _, nodes, values = _relied_on(node)
        # The constructor of a tree reads as many numbers of classes as there are outputs, without checking bounds.
        if n_outputs["content"] != "1" or _shape(archive.read(n_classes["file"])) != (1,):
            raise ValueError("a tree must have one output")
        # It also reads the length of its state before checking that there is one.
        of_nodes, of_values = (_shape(archive.read(array["file"])) for array in (nodes, values))
        if len(of_nodes) != 1 or len(of_values) != 3 or of_values[0] != of_nodes[0]:
            raise ValueError(f"the nodes of a tree have the shape {of_nodes}, its values {of_values}")


def _check_packed(content: bytes, n_bytes: int) -> None:
    """Raise unless a sparse matrix stays small when uncompressed and consists of complete arrays."""
    with ZipFile(io.BytesIO(content)) as archive:
        members = archive.infolist()
        if sum(member.file_size for member in members) > max(LEAST_UNPACKED_BYTES, UNPACKED_PER_BYTE * n_bytes):
            raise ValueError(f"unpacked, a sparse matrix is more than {UNPACKED_PER_BYTE} times as large as the file")
        for member in members:
            _shape(archive.read(member))


def _shape(content: bytes) -> tuple[int, ...]:
    return npy_shape(io.BytesIO(content), len(content))
