"""``codekin inspect``: the properties of a model, and its easiest and hardest bits."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer

from codekin._system.files import visible
from codekin._system.memory import in_units
from codekin._system.messages import counted
from codekin.cli.display import show
from codekin.cli.models import LoadedModel, has_parts, ranking_facts, ranking_text
from codekin.cli.options import App, AsJson, Quiet, Trust
from codekin.data.row_features import takes_vectors

app = App()

LABELS_SHOWN = 4


@app.command()
def inspect(
    model: Annotated[Path, typer.Argument(help="The folder of a model.")],
    n_shown: Annotated[int, typer.Option("--bits", min=0, help="How many easy and hard bits to show.")] = 3,
    trust: Trust = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Show what a model is: codebook, sizes, losses, its easiest and hardest bits.

    Losses are decoding losses on the samples of the last measurement: training samples, if the model comes from codekin
    train. A model that was saved without a measurement has none.
    """
    loaded = LoadedModel(model, trust=trust, quiet=quiet, takes_parts=True, takes_sets=True)
    whole = loaded.classifier
    classifier = whole.estimator_ if has_parts(whole) else whole
    codebook, report = classifier.codebook_, classifier.report()
    facts = report.as_dict()
    losses = facts.pop("bit_losses")
    kind, fitted, labels = KINDS[codebook.kind], classifier.model_, _labels(whole)
    learned = np.flatnonzero(is_learned := kind.varies(fitted))
    extreme: dict[str, list[Any]] = {"easiest": [], "hardest": []}
    for name, sign in (("easiest", 1), ("hardest", -1)) if losses else ():
        order = np.argsort(sign * np.array(losses)[learned], kind="stable")  # the lower number first among equals
        extreme[name] = [
            {"bit": bit, "loss": losses[bit], **kind.sides(fitted.coding_matrix[:, bit], labels)}
            for bit in learned[order[:n_shown]].tolist()
        ]
    tree = None if classifier.class_distances_ is None else classifier.class_distances_.tree
    vectorizer = loaded.model_input.vectorizer
    result: dict[str, Any] = {
        "model": str(model),
        "kind": type(whole).__name__,
        **facts,
        "parts": _parts(whole) if has_parts(whole) else None,
        "width": codebook.width,
        "nodes": kind.nodes(codebook.graph),
        "n_features": getattr(classifier, "n_features_in_", None),
        "input": "features"
        if vectorizer is None
        else f"{'vectors' if takes_vectors(vectorizer) else 'texts'} ({vectorizer.described})",
        "class_tree": None if tree is None else {"n_nodes": tree.n_nodes, "height": float(tree.depth.max())},
        "temperature": getattr(classifier, "temperature_", None),
        "model_bytes": loaded.saved.n_bytes,
        "weights_precision": getattr(fitted.codes[0].bits, "precision", None),
        "weights_bytes": _weights_bytes(fitted),
        "ranking": ranking_facts(fitted),
        "files": {path.name: path.stat().st_size for path in visible(model)},
        "n_constant_bits": int((~is_learned).sum()),
        "easiest_bits": extreme["easiest"],
        "hardest_bits": extreme["hardest"],
    }
    show(json.dumps(result, ensure_ascii=False) if as_json else _text(report, result))


def _parts(classifier: Any) -> dict[str, Any]:
    """Which classes have several parts; the counts of classes in the report are then counts of parts."""
    counts = np.bincount(classifier.class_of_part_)
    split = np.flatnonzero(counts > 1)
    return {
        "n_classes": len(counts),
        "n_parts": int(counts.sum()),
        "split_labels": dict(zip(map(str, classifier.classes_[split].tolist()), counts[split].tolist(), strict=True)),
        "training_errors": classifier.training_errors_.tolist(),
    }


def _labels(classifier: Any) -> Any:
    """The label of each codeword; those of the parts of a class also have a number, from 1."""
    if not has_parts(classifier):
        return classifier.classes_
    class_of_part = classifier.class_of_part_
    counts = np.bincount(class_of_part)
    number = np.arange(len(class_of_part)) - np.searchsorted(class_of_part, class_of_part) + 1
    names = classifier.classes_[class_of_part].tolist()
    is_split = (counts[class_of_part] > 1).tolist()
    parts = [f"{name}, part {n}" if s else name for name, n, s in zip(names, number.tolist(), is_split, strict=True)]
    return np.array(parts, dtype=object)


def _weights_bytes(model: Any) -> int | None:
    """The memory of the weights of all codes, if known."""
    bits: list[Any] = [member.bits for member in model.codes]
    return sum(of_member.nbytes for of_member in bits) if all(hasattr(b, "nbytes") for b in bits) else None


def _varies(model: Any) -> Any:
    """Which columns of the coding matrix have more than one symbol, or number."""
    matrix, is_used = model.coding_matrix, np.hstack([member.code.is_used for member in model.codes])
    lowest = np.where(is_used, matrix, np.inf).min(axis=0)
    return np.asarray(np.where(is_used, matrix, -np.inf).max(axis=0) > lowest)


def _two_sides(column: Any, labels: Any) -> dict[str, Any]:
    sides: dict[str, Any] = {}
    for name, is_there in (("positive", column > 0), ("negative", column < 0)):
        sides[f"n_{name}"] = int(is_there.sum())
        sides[f"{name}_labels"] = labels[np.flatnonzero(is_there)[:LABELS_SHOWN]].tolist()
    return sides


def _side_of_each_symbol(column: Any, labels: Any) -> dict[str, Any]:
    classes = [np.flatnonzero(column == symbol) for symbol in np.unique(column[column >= 0])]
    return {"symbols": [{"n": len(own), "labels": labels[own[:LABELS_SHOWN]].tolist()} for own in classes]}


class _Kind(NamedTuple):
    """What is shown of a kind of codebook.

    - ``varies``: which bits of a model are not constant.
    - ``sides``: a column of the coding matrix as the labels on its sides.
    - ``nodes``: the sizes of a tree of classes.
    """

    varies: Callable[[Any], Any] = _varies
    sides: Callable[[Any, Any], dict[str, Any]] = _two_sides
    nodes: Callable[[Any], dict[str, int] | None] = lambda _: None


KINDS = {
    "signs": _Kind(),
    "symbols": _Kind(sides=_side_of_each_symbol),
    "targets": _Kind(),
    "trellis": _Kind(),
    "tree": _Kind(
        # A tree may be too large for a coding matrix; none of its bits is constant.
        varies=lambda model: np.ones(model.n_bits, dtype=bool),
        nodes=lambda tree: {"n_nodes": tree.n_nodes, "most_children": int(np.diff(tree.first_bits).max())},
    ),
}


def _text(report: Any, result: dict[str, Any]) -> str:
    width = "" if result["width"] is None else f" of width {result['width']}"
    if result["nodes"] is not None:
        counts = result["nodes"]
        width = f" on a tree of {counted(counts['n_nodes'], 'node')} with up to {counts['most_children']} children"
    tree = result["class_tree"]
    n_features = "any" if result["n_features"] is None else f"{result['n_features']:,}"
    lines = [
        str(report),
        f"{result['kind']}{width}, {n_features} features"
        + ("" if result["input"] == "features" else f" of {result['input']}"),
        f"  on the disk                    {in_units(result['model_bytes'])}",
    ]
    if result["parts"] is not None:
        lines.append(_parts_line(result["parts"]))
    if result["weights_bytes"] is not None:
        precision = f", {result['weights_precision']}" if result["weights_precision"] else ""
        lines.append(f"  weights                        {in_units(result['weights_bytes'])}{precision}")
    lines += ranking_text(result["ranking"])
    if tree is not None:
        lines.append(f"  class tree                     {tree['n_nodes']:,} nodes, height {tree['height']:g}")
    if result["temperature"] is not None:
        lines.append(f"  temperature of probabilities   {result['temperature']:.3g}")
    if result["n_constant_bits"]:
        lines.append(f"  bits that need no learner      {result['n_constant_bits']}")
    for name in ("easiest", "hardest"):
        if result[f"{name}_bits"]:
            lines.append(f"{name} bits")
            lines += [_bit_line(bit) for bit in result[f"{name}_bits"]]
    return "\n".join(lines)


def _parts_line(parts: dict[str, Any]) -> str:
    split = [f"{label} ({n})" for label, n in parts["split_labels"].items()]
    some = f": {', '.join(split[:LABELS_SHOWN])}{', ...' if len(split) > LABELS_SHOWN else ''}" if split else ""
    count = f"{counted(parts['n_parts'], 'part')} of {counted(parts['n_classes'], 'class')}"
    return f"  what the report calls classes  {count}{some}"


def _bit_line(bit: dict[str, Any]) -> str:
    if "symbols" in bit:
        sides = " against ".join(_side(side["n"], side["labels"]) for side in bit["symbols"])
    else:
        sides = " against ".join(_side(bit[f"n_{name}"], bit[f"{name}_labels"]) for name in ("positive", "negative"))
    return f"  bit {bit['bit']:<5} loss {bit['loss']:.4f}   {sides}"


def _side(n_classes: int, labels: list[Any]) -> str:
    more = ", ..." if n_classes > len(labels) else ""
    return f"{counted(n_classes, 'class')} ({', '.join(map(str, labels))}{more})"
