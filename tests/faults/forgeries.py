"""Model folders with invalid values and valid checksums.

The number of a mutant determines the model it starts from, what is changed and how.
"""

from __future__ import annotations

import io
import json
import random
import shutil
import struct
import sys
import zipfile
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from codekin._system.arrays import read_arrays, write_arrays
from codekin._system.files import json_checksum, sha256

ODD = [
    *[None, True, False, -1, 0, 1, 2, 3, 7, 255, 256, 65_536, 2**31 - 1, 2**31, 2 * 10**9, 10**16, 2**63, 2**64],
    *[-(2**63), 0.5, -0.0, 1e-300, 1e308, float("nan"), float("inf"), "", "x", "auto", "os.system", "\x1b[2J", "1"],
    *[[], [1], [[]], [0] * 40, {}, {"a": 1}, {"kind": "linear"}, "x" * 5_000],
]
"""What a field may become."""

FOREIGN = [
    *[("sklearn.metrics._scorer", "partial"), ("sklearn.datasets._covtype", "GzipFile"), ("os", "system")],
    *[
        ("sklearn.preprocessing._function_transformer", "FunctionTransformer"),
        ("builtins", "eval"),
        ("gzip", "GzipFile"),
    ],
    *[("sklearn.utils.fixes", "Thread"), ("threading", "Thread"), ("builtins", "map"), ("numpy", "memmap")],
    *[("sklearn.tree._tree", "Tree"), ("sklearn.svm._classes", "SVC"), ("sklearn.pipeline", "Pipeline")],
    *[
        ("numpy.random._generator", "Generator"),
        ("numpy.random.mtrand", "RandomState"),
        ("scipy.sparse._csr", "csr_matrix"),
    ],
]
LOADERS = ["ObjectNode", "TypeNode", "PartialNode", "FunctionNode", "MethodNode", "ListNode", "DictNode", "TreeNode"]
LOADERS += ["ConstructorFromReduceNode", "NdArrayNode", "JsonNode", "SparseMatrixNode", "CachedNode", "RandomStateNode"]
ADDED = [
    *["_validate_for_predict", "_raw_predict_init", "_validate_X_predict", "__sklearn_tags__", "__class__", "__dict__"],
    *["predict", "decision_function", "tree_", "estimators_", "classes_", "n_classes_", "n_outputs_", "n_features_in_"],
    *["coef_", "intercept_", "t_", "_standard_coef", "random_state", "n_trees", "n_jobs", "verbose", "estimator"],
    *["class", "params", "n_features", "n_classes", "feature_names", "by_column", "learners", "symbols", "n_symbols"],
    *["index", "vectors", "subclasses", "has_class_tree", "prediction_sets", "plan", "is_real", "trusted", "x"],
]
"""Names of attributes and fields that a file may have besides its own."""
KINDS_OF_NUMBERS = ["f8", "f4", "f2", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1", "?"]


@dataclass(frozen=True)
class Forgery:
    """A folder that was changed: from which model, what of it, and how."""

    number: int
    model: str
    what: str
    how: str


def forge(number: int, models: dict[str, Path], target: Path, seed: int = 0) -> Forgery:
    """Make the mutant of this number in a folder of its own."""
    rng = random.Random(f"{seed} {number}")
    name = sorted(models)[number % len(models)]
    shutil.copytree(models[name], target)
    has_learners = (target / "learners.skops").exists()
    parts = [part for part in PARTS if has_learners or part != "schema"]
    what = parts[number // len(models) % len(parts)]
    how = PARTS[what](target, rng)
    sign(target)
    return Forgery(number, name, what, how)


def sign(folder: Path) -> None:
    """Write the checksums of a folder anew, as far as its description has any."""
    path, limit = folder / "model.json", sys.getrecursionlimit()
    # A forger's interpreter goes deeper than that of the victim.
    sys.setrecursionlimit(10 * limit)
    try:
        description = json.loads(path.read_text())
        files = description.get("files")
        for name, facts in files.items() if isinstance(files, dict) else ():
            if isinstance(facts, dict) and (folder / name).is_file():
                facts.update(bytes=(folder / name).stat().st_size, sha256=sha256(folder / name))
        description["sha256"] = json_checksum(description)
        path.write_text(json.dumps(description))
    except RecursionError:
        return  # too deep for anybody's checksum
    finally:
        sys.setrecursionlimit(limit)


def forge_description(folder: Path, rng: random.Random) -> str:
    path = folder / "model.json"
    description = json.loads(path.read_text())
    how = "; ".join(change_json(description, rng) for _ in range(rng.choice([1, 1, 1, 2, 3])))
    text = json.dumps(description)
    if rng.random() < 0.02:
        depth = rng.choice([100, 500, 900, 990, 2_000, 100_000])
        text, how = text[:-1] + ', "deep": ' + "[" * depth + "]" * depth + "}", f"{depth} brackets"
    path.write_text(text)
    return how


def forge_arrays(n_changed: int) -> Callable[[Path, random.Random], str]:
    def forge_some(folder: Path, rng: random.Random) -> str:
        path = folder / "arrays.safetensors"
        arrays = {name: np.array(array) for name, array in read_arrays(path).items()}
        # What points into other arrays is more than half of it.
        pointing = [name for name in arrays if arrays[name].dtype.kind in "iu"]
        changes = []
        for _ in range(n_changed):
            name = rng.choice(pointing if pointing and rng.random() < 0.6 else sorted(arrays))
            if name not in arrays:
                continue
            how, changed = change_array(arrays.pop(name), arrays, rng)
            if changed is not None:
                arrays[name] = changed
            changes.append(f"{name} {how}")
        write_arrays(path, arrays)
        return "; ".join(changes)

    return forge_some


def forge_header(folder: Path, rng: random.Random) -> str:
    path = folder / "arrays.safetensors"
    content = path.read_bytes()
    start = 8 + struct.unpack("<Q", content[:8])[0]
    header = json.loads(content[8:start])
    how = "; ".join(change_json(header, rng) for _ in range(rng.choice([1, 1, 2])))
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8 if rng.random() < 0.9 else rng.randrange(8))
    size = len(text) if rng.random() < 0.95 else rng.choice([0, 1, 2**40, 2**64 - 1, len(text) + 8])
    path.write_bytes(struct.pack("<Q", size) + text + content[start:])
    return how


def forge_addition(folder: Path, rng: random.Random) -> str:
    """Add an attribute or a field that was not there, anywhere."""
    path, description = folder / "arrays.safetensors", json.loads((folder / "model.json").read_text())
    name, how = rng.choice(ADDED), rng.random()
    if (folder / "learners.skops").exists() and how < 0.5:
        return forge_schema(folder, rng, _add_attribute)
    if how < 0.5:
        arrays = {name: np.array(array) for name, array in read_arrays(path).items()}
        n_kinds = len(description.get("learners") or ())
        name = rng.choice([name, *(f"learner_{kind}_{name}" for kind in range(n_kinds + 1))])
        _, changed = change_array(arrays[rng.choice(sorted(arrays))], arrays, rng)
        arrays[name] = np.arange(rng.choice([0, 1, 2, 12, 10_000])) if changed is None else changed
        write_arrays(path, arrays)
        return f"the array {name} is added"
    kinds = [*description.get("learners", ()), *(kind["params"] for kind in description.get("learners", ()))]
    places = [place for place in _nodes(description) if place is not description.get("files")]
    place = rng.choice(kinds if kinds and rng.random() < 0.5 else places)
    place[name] = deepcopy(rng.choice([rng.choice(ODD), *rng.choice(places).values()]))
    (folder / "model.json").write_text(json.dumps(description))
    return f"{name} = {json.dumps(place[name])[:60]} is added"


def _add_attribute(schema: Any, _: dict[str, bytes], rng: random.Random) -> str:
    """An attribute of a learner, which may shadow a method."""
    nodes = [node for node in _nodes(schema) if "__loader__" in node]
    objects = [node for node in nodes if node["__loader__"] == "ObjectNode"]
    owner = rng.choice([node for node in objects if isinstance(node["content"].get("content"), dict)])
    attributes, name, number = owner["content"]["content"], rng.choice(ADDED), rng.randrange(10**9)
    type_node = {"__class__": "float64", "__module__": "numpy", "__loader__": "TypeNode", "__id__": number}
    attributes[name] = deepcopy(rng.choice([type_node, rng.choice(nodes)]))
    return f"{owner['__class__']}.{name} is added, a {attributes[name].get('__class__')}"


def forge_schema(
    folder: Path, rng: random.Random, change: Callable[[Any, dict[str, bytes], random.Random], str] | None = None
) -> str:
    path = folder / "learners.skops"
    with zipfile.ZipFile(path) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    schema = json.loads(files["schema.json"])
    how = "; ".join((change or _change_learners)(schema, files, rng) for _ in range(rng.choice([1, 1, 2])))
    files["schema.json"] = json.dumps(schema).encode()
    packing = zipfile.ZIP_DEFLATED if rng.random() < 0.02 else zipfile.ZIP_STORED
    with zipfile.ZipFile(path, "w", packing) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return how


PARTS: dict[str, Callable[[Path, random.Random], str]] = {
    "description": forge_description,
    "one array": forge_arrays(1),
    "two arrays": forge_arrays(2),
    "header": forge_header,
    "addition": forge_addition,
    "schema": forge_schema,
}


def change_json(content: Any, rng: random.Random) -> str:
    """Change one value, anywhere in nested dicts and lists; in words, how."""
    places = [(content, key) for key in _keys(content)]
    steps: list[str] = []
    while places:
        place, key = rng.choice(places)
        steps.append(str(key))
        value = place[key]
        if isinstance(value, dict | list) and value and rng.random() < 0.85:
            places = [(value, inner) for inner in _keys(value)]
            continue
        how = rng.random()
        if how < 0.15:
            del place[key]
            return f"{'.'.join(steps)} is gone"
        if how < 0.4 and isinstance(value, int | float) and not isinstance(value, bool):
            place[key] = rng.choice([value + 1, value - 1, -value, value * 2, value * 1000, value + 256, value / 2])
        elif how < 0.5:
            place[key] = deepcopy(rng.choice([place[other] for other in _keys(place)]))
        else:
            place[key] = deepcopy(rng.choice(ODD))
        return f"{'.'.join(steps)} = {json.dumps(place[key])[:60]}"
    return "nothing"


def _keys(place: Any) -> list[Any]:
    return list(place) if isinstance(place, dict) else list(range(len(place)))


def change_array(array: Any, others: dict[str, Any], rng: random.Random) -> tuple[str, Any]:
    """The array with a change, None if it is gone, and how in words."""
    how = rng.choice([*CHANGES, "one entry", "one entry", "one entry", "an end", "an end"])
    if how == "gone":
        return how, None
    if how == "another one":
        name = rng.choice(sorted(others)) if others else None
        return f"is {name}", array if name is None else others[name].copy()
    with np.errstate(all="ignore"):
        return how, CHANGES[how](array.copy(), rng)


def _extreme(array: Any, rng: random.Random) -> Any:
    """A value of the array's type, as far out as it goes, or just beyond what is there."""
    if array.dtype.kind == "f":
        return rng.choice([np.nan, np.inf, -np.inf, 0, -1, 1e30, np.finfo(array.dtype).max, np.finfo(array.dtype).tiny])
    if array.dtype.kind not in "iu":
        return rng.random() < 0.5
    limits = np.iinfo(array.dtype)
    near = [int(array.max()) + 1, int(array.max()), len(array), len(array) - 1] if array.size and array.ndim else []
    value = rng.choice([limits.min, limits.max, limits.max // 2 + 1, 0, 1, -1, *near])
    return min(max(value, limits.min), limits.max)


def _one_entry(array: Any, rng: random.Random) -> Any:
    if array.size and array.dtype.names is None:
        array.flat[rng.randrange(array.size)] = _extreme(array, rng)
    elif array.size:  # the nodes of a tree
        name = rng.choice(array.dtype.names)
        array[name].flat[rng.randrange(array.size)] = _extreme(array[name], rng)
    return array


def _an_end(array: Any, rng: random.Random) -> Any:
    if array.size and array.dtype.names is None:
        array.flat[rng.choice([0, -1])] = _extreme(array, rng)
    return array


def _all_entries(array: Any, rng: random.Random) -> Any:
    return np.full_like(array, _extreme(array, rng)) if array.dtype.names is None else array


def _another_type(array: Any, rng: random.Random) -> Any:
    return array.astype(rng.choice(KINDS_OF_NUMBERS)) if array.dtype.names is None else array


def _same_bytes(array: Any, rng: random.Random) -> Any:
    """Unsigned as signed numbers, and the like."""
    kinds = [kind for kind in KINDS_OF_NUMBERS if np.dtype(kind).itemsize == array.dtype.itemsize]
    return array.view(rng.choice(kinds)) if kinds and array.dtype.names is None else array


def _wrapping(array: Any, rng: random.Random) -> Any:
    """Large numbers whose sum is what it was, if sums wrap around."""
    if array.dtype.kind not in "iu" or array.size < 3:
        return array
    wide = array.astype(np.uint64 if rng.random() < 0.5 else np.int64)
    first, second = rng.sample(range(wide.size), 2)
    for place in (first, second):
        wide.flat[place] += np.array(2**63 if wide.dtype == np.uint64 else 2**62).astype(wide.dtype)
    return wide


CHANGES: dict[str, Callable[[Any, random.Random], Any]] = {
    "gone": lambda array, _: array,
    "another one": lambda array, _: array,
    "one entry": _one_entry,
    "an end": _an_end,
    "all entries": _all_entries,
    "another type": _another_type,
    "same bytes": _same_bytes,
    "wrapping": _wrapping,
    "shorter": lambda array, rng: array[: len(array) - rng.choice([1, 1, 2, 8])] if array.ndim else array,
    "longer": lambda array, _: np.concatenate([array, array]) if array.ndim else array,
    "empty": lambda array, _: array[:0] if array.ndim else array,
    "one number": lambda array, _: array.reshape(-1)[0] if array.size else array,
    "flat": lambda array, _: array.ravel(),
    "a column": lambda array, _: array.reshape(-1, 1),
    "transposed": lambda array, _: np.ascontiguousarray(array.T),
    "shuffled": lambda array, rng: (
        np.random.default_rng(rng.randrange(2**32)).permutation(array) if array.ndim else array
    ),
}


def _change_learners(schema: Any, files: dict[str, bytes], rng: random.Random) -> str:
    """Change the tree of nodes, or an array that a node is made of."""
    # In the order of the archive: their names are addresses in the memory of whoever wrote it.
    arrays = [name for name in files if name.endswith(".npy")]
    nodes = [node for node in _nodes(schema) if "__loader__" in node]
    how = rng.random()
    if how < 0.4 and arrays:
        name = rng.choice(arrays)
        stream = io.BytesIO()
        in_words, changed = change_array(np.load(io.BytesIO(files[name])), {}, rng)
        if changed is None:
            del files[name]
        else:
            np.save(stream, changed)
            files[name] = stream.getvalue()
        return f"an array {in_words}"
    node = rng.choice(nodes)
    if how < 0.5:
        module, kind = rng.choice(FOREIGN)
        node.update(__module__=module, __class__=kind)
        if rng.random() < 0.5:
            node["__loader__"] = rng.choice(LOADERS)
        return f"a {module}.{kind} by {node['__loader__']}"
    if how < 0.6:
        node["__loader__"] = rng.choice(LOADERS)
        return f"a {node['__class__']} by {node['__loader__']}"
    if how < 0.7:
        other = rng.choice(nodes)
        node["__id__"] = other.get("__id__")
        return f"{node['__class__']} with the number of {other['__class__']}"
    if how < 0.8:
        other = deepcopy(rng.choice(nodes))
        node.clear()
        node.update(other)
        return f"a second {other.get('__class__')}"
    if how < 0.9 and "content" in node:
        node["content"] = rng.choice([json.dumps(value) for value in ODD])
        return f"{node['__class__']} of {str(node['content'])[:60]}"
    return change_json(schema, rng)


def _nodes(schema: Any) -> list[Any]:
    found, to_do = [], [schema]
    while to_do:
        item = to_do.pop()
        if isinstance(item, dict):
            found.append(item)
        if isinstance(item, dict | list):
            to_do.extend(item.values() if isinstance(item, dict) else item)
    return found
