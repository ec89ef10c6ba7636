"""The parts of a model as JSON and arrays: for each a function that describes it and one that restores it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from codekin._system.arrays import Arrays, as_narrow
from codekin.codebooks.label_tree import label_tree
from codekin.codebooks.trellis import check_spare_codewords, trellis_codebook
from codekin.coding import Assignment, Code, Codebook, IntArray, Margins
from codekin.decoding import LOSSES, LearnedDecoder
from codekin.learners.calibration import CalibratedBits
from codekin.learners.independent import ConstantBit, EstimatorBits
from codekin.learners.learning import LearningBits
from codekin.learners.tree_bits import TreeBits
from codekin.model import Member
from codekin.storage.files import Json, ModelFolderError
from codekin.storage.tree_weights import describe_tree_bits, restore_tree_bits
from codekin.storage.values import shortened, typed, whole_number
from codekin.storage.weights import LINEAR_KINDS, describe_linear_bits, restore_linear_bits


def describe_member(member: Member, arrays: Arrays, learners: list[Any]) -> Json:
    """A code, its bits and its decoder as JSON; arrays and learners are added to the given ones."""
    return {
        "codebook": describe_codebook(member.code.codebook, arrays),
        "assignment": describe_assignment(member.code.assignment, arrays),
        "decoder": describe_decoder(member.decoder, arrays),
        "bits": describe_bits(member.bits, arrays, learners),
    }


def restore_member(description: Json, arrays: Arrays, learners: list[Any]) -> Member:
    """What :func:`describe_member` described."""
    codebook = restore_codebook(description["codebook"], arrays)
    named = description["assignment"]
    assignment = Assignment(arrays["codeword_of_class"], str(named["method"]), str(named.get("policy", "")))
    check_spare_codewords(codebook, assignment.n_classes)
    if codebook.tree is not None and codebook.n_codewords != assignment.n_classes:
        raise ValueError(f"a tree of {codebook.n_codewords} leaves cannot have {assignment.n_classes} classes.")
    bits = restore_bits(description["bits"], arrays, learners, codebook)
    return restored_decoder(Code(codebook, assignment), bits, dict(description["decoder"]), arrays)


def describe_codebook(codebook: Codebook, arrays: Arrays) -> Json:
    """A codebook as JSON and an array, or as the size of its trellis or tree."""
    description: Json = {"name": codebook.name, "is_designed": codebook.is_designed}
    if codebook.graph is not None:
        kind = "tree" if codebook.trellis is None else "trellis"
        return {**description, kind: {"n_codewords": codebook.n_codewords, "width": int(codebook.graph.width)}}
    arrays["codebook"] = codebook.matrix
    if codebook.is_real:
        description["is_real"] = True
    return description if codebook.n_symbols == 2 else {**description, "n_symbols": codebook.n_symbols}


def restore_codebook(description: Json, arrays: Arrays) -> Codebook:
    """What :func:`describe_codebook` described."""
    for kind, make in (("trellis", trellis_codebook), ("tree", label_tree)):
        if kind in description:
            return make(*(whole_number(description[kind][name], name) for name in ("n_codewords", "width")))
    named: Json = {"name": str(description["name"]), "is_designed": bool(description["is_designed"])}
    if description.get("is_real", False):
        return Codebook(typed(arrays["codebook"], "codebook", "float64", 2), is_real=True, **named)
    n_symbols = whole_number(description.get("n_symbols", 2), "n_symbols")
    return Codebook(arrays["codebook"], n_symbols=n_symbols, **named)


def describe_assignment(assignment: Assignment, arrays: Arrays) -> Json:
    """An assignment as JSON and an array."""
    arrays["codeword_of_class"] = as_narrow(assignment.codeword_of_class)
    return {"method": assignment.method, **({"policy": assignment.policy} if assignment.policy else {})}


def restored_decoder(code: Code, bits: Any, description: Json, arrays: Arrays) -> Member:
    """A code and its bits with the described decoder."""
    is_learned = description.pop("is_learned", False)
    member = Member.of(code, bits, **description)
    if not is_learned:
        return member
    prefix = "decoder_"
    own = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
    decoder = LearnedDecoder.from_arrays(own, description["loss"])
    if (decoder.n_classes, decoder.n_bits) != (code.n_classes, code.n_margins):
        raise ValueError(f"the decoder is not of {code.n_classes} classes and {code.n_margins} margins.")
    return replace(member, decoder=decoder)


def describe_decoder(decoder: Any, arrays: Arrays) -> Json:
    """The loss of a decoder, whether it is weighted, and its learned weights."""
    loss = decoder.loss.name
    if loss not in LOSSES:
        raise ValueError(f"A loss given as a function cannot be saved; use one of {sorted(LOSSES)}. Got {loss}.")
    description = {"loss": loss, "is_weighted": bool(getattr(decoder, "is_weighted", False))}
    if decoder.is_learned:
        description["is_learned"] = True
        arrays.update({f"decoder_{name}": array for name, array in decoder.to_arrays().items()})
    return description


def describe_bits(bits: Any, arrays: Arrays, learners: list[Any]) -> Json:
    """The predictors of all bits as JSON, arrays and learners."""
    if isinstance(bits, CalibratedBits):
        arrays["calibration_slopes"], arrays["calibration_intercepts"] = bits.slopes, bits.intercepts
        return {"kind": "calibrated", "bits": describe_bits(bits.bits, arrays, learners)}
    if isinstance(bits, EstimatorBits):
        places: list[Json] = []
        for predictor in bits.predictors:
            if isinstance(predictor, ConstantBit):
                places.append({"constant": predictor.sign})
            else:
                places.append({"learner": len(learners)})
                learners.append(predictor)
        if bits.columns is not None:
            arrays["bit_columns"] = bits.columns
        if bits.symbols is None:
            return {"kind": "estimators", "predictors": places}
        for place, symbols in zip(places, bits.symbols, strict=True):
            place["symbols"] = symbols.tolist()
        return {"kind": "estimators", "n_symbols": bits.n_symbols, "predictors": places}
    if isinstance(bits, TreeBits):
        return describe_tree_bits(bits, arrays)
    if isinstance(bits, LearningBits):
        bits = bits.finished()
    if isinstance(bits, LINEAR_KINDS):
        return describe_linear_bits(bits, arrays)
    raise TypeError(f"Bits of type {type(bits).__name__} cannot be saved.")


def restore_bits(description: Json, arrays: Arrays, learners: list[Any], codebook: Codebook) -> Any:
    """What :func:`describe_bits` described."""
    if (description["kind"] == "tree") != (codebook.tree is not None):
        raise ValueError(f"the codebook {codebook.name!r} cannot have bits of kind {shortened(description['kind'])}.")
    if codebook.tree is not None:
        return restore_tree_bits(description, arrays, codebook.tree)
    if description["kind"] == "calibrated":
        if description["bits"]["kind"] == "calibrated":
            raise ValueError("bits are calibrated once.")
        inner = restore_bits(description["bits"], arrays, learners, codebook)
        slopes, intercepts = (arrays[f"calibration_{name}"] for name in ("slopes", "intercepts"))
        return CalibratedBits(inner, slopes.astype(np.float64), intercepts.astype(np.float64))
    if description["kind"] != "estimators":
        return restore_linear_bits(description, arrays)
    predictors = [_restore_predictor(place, learners) for place in description["predictors"]]
    columns = typed(arrays["bit_columns"], "bit_columns", "bool", 2) if "bit_columns" in arrays else None
    n_symbols = whole_number(description.get("n_symbols", 2), "n_symbols", smallest=2)
    places = description["predictors"] if n_symbols > 2 else []
    symbols = [_restore_symbols(place["symbols"], n_symbols) for place in places] or None
    return RestoredEstimatorBits(predictors, columns, symbols, n_symbols)


def _restore_symbols(symbols: Any, n_symbols: int) -> IntArray:
    checked = [whole_number(symbol, "symbols") for symbol in symbols]
    if not checked or checked != sorted(set(checked)) or checked[-1] >= n_symbols:
        raise ValueError(
            f"'symbols' must increase from 0 to at most {n_symbols - 1}. Got {shortened(symbols)} instead."
        )
    return np.array(checked, dtype=np.intp)


def _restore_predictor(place: Json, learners: list[Any]) -> Any:
    if "learner" in place:
        return learners[whole_number(place["learner"], "learner")]
    if place["constant"] not in (-1, 1):
        raise ValueError(f"'constant' must be -1 or 1. Got {shortened(place['constant'])} instead.")
    return ConstantBit(int(place["constant"]))


class RestoredEstimatorBits(EstimatorBits):
    """Predictors from a file; if one cannot predict, the file is damaged."""

    def margins(self, X: Any) -> Margins:
        """One column per bit; errors of damaged learners become one sentence."""
        try:
            return super().margins(X)
        except (ValueError, MemoryError):
            raise
        except Exception as error:
            reason = " ".join(str(error).split()).rstrip(".")
            raise ModelFolderError(
                f"The learners of this model cannot predict ({type(error).__name__}: {reason}). Save it again."
            ) from error
