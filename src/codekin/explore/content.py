"""Everything that a page about a model holds, as a description and arrays; classes are in the order of kinship."""

from __future__ import annotations

from typing import Any

import numpy as np

from codekin._system.arrays import as_narrow
from codekin.assignments.scores import score_and_z
from codekin.class_distances.learnability import learnability_distances
from codekin.classes import as_class_distances
from codekin.coding import FloatArray
from codekin.explore.kinship import Kinship, as_numbers, kinship, tree_arrays
from codekin.explore.measured import chosen_samples, confusions, predictions, worst_classes
from codekin.export.packing import Arrays
from codekin.learners.linear_rows import linear_rows
from codekin.model.measuring import measured
from codekin.samples import Samples, rows_at

MOST_TO_MOVE = 12
"""Up to this many classes can be moved to other codewords."""
MOST_TO_TYPE = 50_000
"""Up to this many classes, the page knows the order of the model's labels, which typing texts needs."""
N_SAMPLES = 60
MOST_MARGINS = 200_000
"""How many margins of samples a page holds."""
MOST_TEXT = 2_000

Json = dict[str, Any]


def described(
    classifier: Any, samples: Samples | None, texts: list[str] | None, names: Any, max_label: int
) -> tuple[Json, Arrays]:
    """What the page shows of a classifier and, if there are samples, of these."""
    model = classifier.model_
    arrays: Arrays = {}
    kin = kinship(model.code, classifier.class_distances_, samples)
    place = np.empty(model.n_classes, dtype=np.intp)
    place[kin.order] = np.arange(model.n_classes)
    labels = [_shortened(str(label), max_label) for label in classifier.classes_[kin.order].tolist()]
    report = classifier.report()
    description: Json = {
        "n_classes": model.n_classes,
        "n_bits": model.n_bits,
        "codebook": model.codebook.name,
        "assignment": report.assignment,
        "loss": report.loss,
        "min_distance": float(model.codebook.min_distance) if model.n_classes <= 2_000 else None,
        "labels": labels,
        "kinship": kin.source,
        "ranking": _ranking(model),
        "is_learned": bool(model.decoder.is_learned),
        "bit_losses": None,
        "samples": None,
        "is_linear": _is_linear(model),
    }
    description["code"] = _code(model, kin, arrays)
    if model.n_classes <= MOST_TO_TYPE:
        arrays["order"] = as_narrow(kin.order)
    if kin.tree is not None:
        arrays |= {name: as_narrow(array) for name, array in tree_arrays(kin.tree).items()}
    if kin.nearest is not None and kin.distances is not None:
        arrays["kin"] = as_narrow(kin.nearest - np.arange(model.n_classes)[:, None])
        arrays["kin_distance"] = _numbers(kin.distances)
    if samples is not None:
        description |= _of_samples(classifier, samples, texts, names, place, arrays)
    if model.n_classes <= MOST_TO_MOVE:
        description["moving"] = _moving(classifier, kin, samples)
    return description, arrays


def _ranking(model: Any) -> Json | None:
    ranking = model.ranking
    if ranking is None:
        return None
    return {"n_candidates": min(int(ranking.n_candidates), model.n_classes), "n_members": len(model.members)}


def _code(model: Any, kin: Kinship, arrays: Arrays) -> Json:
    """The codewords: the edges of paths, or the matrix."""
    code = model.code
    graph, codewords = code.codebook.graph, code.assignment.codeword_of_class[kin.order]
    if graph is None:
        arrays["matrix"] = np.ascontiguousarray(code.coding_matrix[kin.order])
        has_zeros = bool(code.codebook.is_ternary)
        return {"kind": "matrix", "n_bits": code.n_bits, "n_symbols": code.n_symbols, "has_zeros": has_zeros}
    edges = graph.unrank(codewords)
    arrays["path"] = as_narrow(np.where(edges < 0, graph.n_edges, edges))
    facts = {"n_bits": int(graph.n_edges), "n_steps": int(edges.shape[1]), "width": int(graph.width)}
    if code.codebook.tree is not None:
        tree = code.codebook.tree
        arrays["first_bit"] = as_narrow(tree.first_bits)
        sizes = {"n_nodes": int(tree.n_nodes), "most_children": int(np.diff(tree.first_bits).max())}
        return {"kind": "tree", "has_zeros": True, **facts, **sizes}
    ends: Any = graph
    arrays["edge_from"], arrays["edge_to"] = as_narrow(ends.edges[:, 0]), as_narrow(ends.edges[:, 1])
    return {"kind": "trellis", **facts, "n_slices": int(ends.n_slices), "n_vertices": int(ends.n_vertices)}


def _of_samples(  # noqa: PLR0917
    classifier: Any, samples: Samples, texts: list[str] | None, names: Any, place: Any, arrays: Arrays
) -> Json:
    """Measurements, and some samples to look at."""
    model, true = classifier.model_, samples.class_index
    predicted = model.predict(samples.X)
    in_order = np.where(true >= 0, place[np.maximum(true, 0)], -1)
    for name, array in confusions(in_order, place[predicted]).items():
        arrays[f"confused_{name}"] = as_narrow(array)
    sizes = np.bincount(in_order[in_order >= 0], minlength=model.n_classes)
    arrays["n_samples_of"] = as_narrow(sizes)
    found: Json = {"n_measured": len(true), "n_unknown": int((true < 0).sum())}
    found["accuracy"] = float((true == predicted).mean())
    known = np.flatnonzero(true >= 0)
    worst = worst_classes(model, samples)
    if worst is not None:
        arrays["worst"], arrays["worst_share"] = as_narrow(place[worst[0]]), _numbers(worst[1])
    if model.codebook.tree is None and len(known):
        of_known = Samples(rows_at(samples.X, known), true[known])
        losses = measured(model, classifier.loss_, of_known)["bit_losses"]
        found["bit_losses"] = [float(loss) for loss in losses]
    n_margins = model.code.n_margins * len(model.members)
    has_margins = model.codebook.tree is None
    most = min(N_SAMPLES, MOST_MARGINS // n_margins) if has_margins else N_SAMPLES
    chosen = chosen_samples(true, predicted, min(max(most, 1), len(true)))
    X = rows_at(samples.X, chosen)
    shown = predictions(classifier, X, true[chosen], place, lambda row, feature: names(int(chosen[row]), feature))
    for number, (row, one) in enumerate(zip(chosen.tolist(), shown, strict=True)):
        one["name"] = f"sample {row + 1}" if texts is None else _shortened(texts[row], MOST_TEXT)
        one["margins"] = number
    if has_margins:
        arrays["margins"] = np.asarray(model.margins(X), dtype=np.float32)
    found["samples"] = shown
    return found


def _moving(classifier: Any, kin: Kinship, samples: Samples | None) -> Json:
    """Matrices from which score and learnability of any assignment follow; None where they are not known."""
    model = classifier.model_
    found: Json = {"distances": None, "learnability": None, "what": None, "score": None, "z": None}
    codebook, in_order = model.codebook, np.ix_(kin.order, kin.order)
    if codebook.n_codewords > MOST_TO_MOVE or codebook.n_codewords > model.n_classes:
        found["refused"] = "This code has more codewords than classes; moving classes is for codes with as many."
        return found
    found["codeword_of_class"] = model.assignment.codeword_of_class[kin.order].tolist()
    found["codewords"] = codebook.matrix.tolist()
    found["apart"] = codebook.row_distances().tolist()
    found["is_plain"] = codebook.n_symbols == 2 and not codebook.is_ternary
    distances = classifier.class_distances_
    learned: FloatArray | None = None
    numbers = as_numbers(samples)
    if numbers is not None:
        own = learnability_distances(numbers.X, numbers.class_index, n_classes=model.n_classes)
        learned = own.matrix()
        distances, found["what"] = (own, "learnability, from the samples") if distances is None else (distances, None)
    if distances is not None:
        score, z = score_and_z(codebook, model.assignment, as_class_distances(distances))
        found["distances"] = np.asarray(distances.matrix())[in_order].tolist()
        found["what"] = found["what"] or "the class distances of the model"
        found["score"], found["z"] = float(score), float(z)
    if learned is not None and codebook.n_symbols == 2 and not codebook.is_ternary:
        found["learnability"] = np.asarray(learned)[in_order].tolist()
    return found


def _is_linear(model: Any) -> bool:
    if model.codebook.n_symbols > 2:
        return False
    try:
        for member in model.members:
            if member.code.codebook.tree is None:
                linear_rows(member.bits)
    except ValueError:
        return False
    return True


def _numbers(values: Any) -> Any:
    """Whole numbers in the narrowest type, others in single precision."""
    whole = np.rint(values)
    is_whole = values.size == 0 or (np.isfinite(values).all() and (whole == values).all() and whole.min() >= 0)
    return as_narrow(whole.astype(np.int64)) if is_whole else values.astype(np.float32)


def _shortened(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
