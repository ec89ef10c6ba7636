"""From the body of a request to samples, checked value by value; nothing a client sends may surprise what follows."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from codekin._system.magnitudes import MAX_DOUBLE
from codekin.serving.limits import Limits, Refusal

JSON, TEXT = "application/json", "text/plain"
MAX_SHOWN = 60
"""How many characters of a wrong value an error repeats."""

Sample = str | NDArray[np.float64] | tuple[NDArray[np.int64], NDArray[np.float64]]
"""A text, the values of all features, or features and their values."""


@dataclass(frozen=True)
class Question:
    """Samples whose labels are wanted; ``top_k`` is None if only the best label is."""

    samples: list[Any]
    top_k: int | None = None
    has_probabilities: bool = False

    @property
    def kind(self) -> tuple[int, bool]:
        """Questions of one kind can be answered together."""
        return self.top_k or 1, self.has_probabilities


def question(body: bytes, content_type: str, options: Mapping[str, str], limits: Limits) -> Question:
    """What a request asks; raises Refusal if it is not understood. Samples are checked later, by :func:`sample`."""
    kind, _, parameters = content_type.partition(";")
    kind, charset = kind.strip().lower(), parameters.strip().lower()
    if kind not in (JSON, TEXT):
        raise Refusal(415, f"The content type must be {JSON} or {TEXT}. Got {shown(content_type)}.")
    if charset and charset.replace('"', "") not in ("charset=utf-8", "charset=utf8", "charset=us-ascii"):
        raise Refusal(415, f"The body must be encoded as UTF-8. Got {shown(content_type)}.")
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Refusal(400, f"The body must be encoded as UTF-8. Byte {error.start} is not.") from None
    defaults = {"top_k": None, "probabilities": False, **_url_options(options)}
    fields = {**defaults, **(_json_fields(text) if kind == JSON else {"samples": _lines(text)})}
    if len(fields["samples"]) > limits.max_samples:
        n_samples = len(fields["samples"])
        raise Refusal(413, f"A request may have at most {limits.max_samples:,} samples. Got {n_samples:,}.")
    for given in (defaults, fields):
        top_k, has_probabilities = given["top_k"], given["probabilities"]
        if top_k is not None and not _is_whole(top_k):
            raise Refusal(400, f"'top_k' must be a whole number. Got {shown(top_k)}.")
        if top_k is not None and not 1 <= top_k <= limits.max_top_k:
            raise Refusal(400, f"'top_k' must be between 1 and {limits.max_top_k}. Got {shown(top_k)}.")
        if not isinstance(has_probabilities, bool):
            raise Refusal(400, f"'probabilities' must be true or false. Got {shown(has_probabilities)}.")
    return Question(fields["samples"], None if top_k is None else int(top_k), has_probabilities)


def sample(value: Any, place: int, n_features: int) -> Sample:
    """One sample of a question; raises Refusal with its place if it is none."""
    name = f"samples[{place}]"
    if isinstance(value, str):
        try:
            value.encode("utf-8")
        except UnicodeEncodeError as error:
            raise Refusal(400, f"{name}: half of a surrogate pair at character {error.start}.") from None
        return value
    if isinstance(value, list):
        if len(value) != n_features:
            raise Refusal(400, f"{name}: {n_features:,} numbers are needed, one for each feature. Got {len(value):,}.")
        return _numbers(value, name)
    if isinstance(value, dict):
        return _sparse_row(value, name, n_features)
    raise Refusal(
        400,
        f"{name}: a sample must be a text, a list of numbers, or an object with 'indices' and 'values'. "
        f"Got {shown(value)}.",
    )


def shown(value: Any) -> str:
    """A wrong value as an error repeats it: as JSON, and not at length."""
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "an object"
    try:
        text = json.dumps(value)
    except ValueError:  # an integer with too many digits
        text = "a very large number"
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}..."


def _json_fields(text: str) -> dict[str, Any]:
    try:
        given = json.loads(text, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        reason = f"{error.msg[:1].lower()}{error.msg[1:]}"
        raise Refusal(400, f"The body is not JSON: {reason} (line {error.lineno}, column {error.colno}).") from None
    except RecursionError:
        raise Refusal(400, "The body is nested too deeply.") from None
    except ValueError:
        raise Refusal(400, "The body has a number with too many digits.") from None
    if not isinstance(given, dict):
        raise Refusal(400, f"The body must be an object with 'samples'. Got {shown(given)}.")
    for name in given:
        if name not in ("samples", "top_k", "probabilities"):
            raise Refusal(400, f"The body may have 'samples', 'top_k' and 'probabilities'. Got {shown(name)}.")
    if not isinstance(given.get("samples"), list):
        got = f"Got {shown(given['samples'])}." if "samples" in given else "It is missing."
        raise Refusal(400, f"'samples' must be a list. {got}")
    return given


def _url_options(options: Mapping[str, str]) -> dict[str, Any]:
    """The values that the options of a URL stand for; texts that stand for none stay, and are refused as such."""
    for name in options:
        if name not in ("top_k", "probabilities"):
            raise Refusal(400, f"The options of the URL are 'top_k' and 'probabilities'. Got {shown(name)}.")
    names = {"true": True, "false": False}
    return {
        name: int(text) if re.fullmatch("[0-9]{1,9}", text) else names.get(text, text) for name, text in options.items()
    }


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    return [line.removesuffix("\r") for line in (lines if lines[-1] else lines[:-1])]


def _no_constant(name: str) -> NoReturn:
    raise Refusal(400, f"JSON has no {name}; numbers must be finite.")


def _is_whole(value: Any) -> bool:
    """Whether a value of JSON is a whole number, which may be written as 3.0."""
    return type(value) is int or (type(value) is float and value.is_integer())


def _numbers(values: list[Any], name: str) -> NDArray[np.float64]:
    if not set(map(type, values)) <= {int, float}:
        wrong = next(value for value in values if type(value) not in (int, float))
        raise Refusal(400, f"{name}: values must be numbers. Got {shown(wrong)}.")
    try:
        numbers = np.array(values, dtype=np.float64)
    except OverflowError:
        numbers = np.array([np.inf])
    if not (np.abs(numbers) <= MAX_DOUBLE).all():
        raise Refusal(400, f"{name}: a number is too large.")
    return numbers


def _sparse_row(value: dict[str, Any], name: str, n_features: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    indices, values = value.get("indices"), value.get("values")
    if len(value) != 2 or not (isinstance(indices, list) and isinstance(values, list)):
        raise Refusal(400, f"{name}: an object must have two lists, 'indices' and 'values', and nothing else.")
    if len(indices) != len(values):
        raise Refusal(
            400, f"{name}: there must be as many values as indices. Got {len(values):,} and {len(indices):,}."
        )
    for index in indices:
        if not _is_whole(index) or not 0 <= index < n_features:
            raise Refusal(
                400, f"{name}: indices must be whole numbers from 0 to {n_features - 1:,}. Got {shown(index)}."
            )
    if len(set(indices)) < len(indices):
        raise Refusal(400, f"{name}: an index occurs twice.")
    return np.array(indices, dtype=np.int64), _numbers(values, name)
