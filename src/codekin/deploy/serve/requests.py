"""Requests for predictions: what one may be, what it asks, and how those that wait are answered together.

A body is checked value by value; nothing a client sends may surprise what follows.
"""

from __future__ import annotations

import asyncio
import contextvars
import json
import re
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from codekin._system.arrays import MAX_DOUBLE

JSON, TEXT = "application/json", "text/plain"
OPTIONS = ("top_k", "probabilities", "min_probability")
MAX_SHOWN = 60
"""How many characters of a wrong value an error repeats."""

Sample = str | dict[str, Any] | NDArray[np.float64] | tuple[NDArray[np.int64], NDArray[np.float64]]
"""A text, the columns of a row, the values of all features, or features and their values."""


@dataclass(frozen=True)
class Limits:
    """What one request may be, and how many may wait.

    Parameters
    ----------
    max_body_bytes : int, default=1_000_000
        The size of a request's body.
    max_seconds : float, default=10.0
        The time a request's body may take to arrive, and then its prediction.
    max_samples : int, default=1_000
        The samples of a request.
    max_top_k : int, default=100
        The labels of a sample.
    max_batch : int, default=256
        How many samples of different requests are predicted together; 1 predicts each request on its own.
    max_waiting : int, default=10_000
        How many samples may wait before further requests are refused.
    """

    max_body_bytes: int = 1_000_000
    max_seconds: float = 10.0
    max_samples: int = 1_000
    max_top_k: int = 100
    max_batch: int = 256
    max_waiting: int = 10_000

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not value > 0:
                raise ValueError(f"The {name!r} parameter of Limits must be greater than 0. Got {value!r} instead.")


class RequestError(Exception):
    """A request that is not answered: the HTTP status and one sentence."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status, self.sentence = status, sentence


@dataclass(frozen=True)
class PredictRequest:
    """Samples whose labels are wanted; ``top_k`` is None if only the best label is.

    Labels that are less probable than ``min_probability`` are left out, by default as the model says.
    """

    samples: list[Any]
    top_k: int | None = None
    has_probabilities: bool = False
    min_probability: float | None = None

    @property
    def kind(self) -> tuple[int, bool, float | None]:
        """Requests of one kind can be answered together."""
        return self.top_k or 0, self.has_probabilities, self.min_probability


def parsed_request(body: bytes, content_type: str, options: Mapping[str, str], limits: Limits) -> PredictRequest:
    """The request in a body; raises RequestError if it is not understood. Samples are checked by :func:`sample`."""
    kind, _, parameters = content_type.partition(";")
    kind, charset = kind.strip().lower(), parameters.strip().lower()
    if kind not in (JSON, TEXT):
        raise RequestError(415, f"The content type must be {JSON} or {TEXT}. Got {shown(content_type)}.")
    if charset and charset.replace('"', "") not in ("charset=utf-8", "charset=utf8", "charset=us-ascii"):
        raise RequestError(415, f"The body must be encoded as UTF-8. Got {shown(content_type)}.")
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise RequestError(400, f"The body must be encoded as UTF-8. Byte {error.start} is not.") from None
    defaults = {"top_k": None, "probabilities": False, "min_probability": None, **_url_options(options)}
    fields = {**defaults, **(_json_fields(text) if kind == JSON else {"samples": _lines(text)})}
    if len(fields["samples"]) > limits.max_samples:
        n_samples = len(fields["samples"])
        raise RequestError(413, f"A request may have at most {limits.max_samples:,} samples. Got {n_samples:,}.")
    for given in (defaults, fields):
        top_k, has_probabilities, least = (given[name] for name in OPTIONS)
        if top_k is not None and not _is_whole(top_k):
            raise RequestError(400, f"'top_k' must be a whole number. Got {shown(top_k)}.")
        if top_k is not None and not 1 <= top_k <= limits.max_top_k:
            raise RequestError(400, f"'top_k' must be between 1 and {limits.max_top_k}. Got {shown(top_k)}.")
        if not isinstance(has_probabilities, bool):
            raise RequestError(400, f"'probabilities' must be true or false. Got {shown(has_probabilities)}.")
        if least is not None and not (type(least) in (int, float) and 0 <= least <= 1):
            raise RequestError(400, f"'min_probability' must be a number from 0 to 1. Got {shown(least)}.")
    return PredictRequest(fields["samples"], None if top_k is None else int(top_k), has_probabilities, least)


def sample(value: Any, place: int, n_features: int, *, takes_rows: bool = False) -> Sample:
    """One sample of a request; raises RequestError with its place if it is invalid.

    With ``takes_rows``, an object is a row by its columns, which the predictor checks, unless it has features.
    """
    name = f"samples[{place}]"
    is_row = takes_rows and isinstance(value, dict) and value.keys() != {"indices", "values"}
    if isinstance(value, str) or is_row:
        for text in value.values() if is_row else [value]:
            try:
                if isinstance(text, str):
                    text.encode("utf-8")
            except UnicodeEncodeError as error:
                raise RequestError(400, f"{name}: half of a surrogate pair at character {error.start}.") from None
        return value  # type: ignore[no-any-return]
    if isinstance(value, list):
        if len(value) != n_features:
            raise RequestError(
                400, f"{name}: {n_features:,} numbers are needed, one for each feature. Got {len(value):,}."
            )
        return _numbers(value, name)
    if isinstance(value, dict):
        return _sparse_row(value, name, n_features)
    raise RequestError(
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
        raise RequestError(
            400, f"The body is not JSON: {reason} (line {error.lineno}, column {error.colno})."
        ) from None
    except RecursionError:
        raise RequestError(400, "The body is nested too deeply.") from None
    except ValueError:
        raise RequestError(400, "The body has a number with too many digits.") from None
    if not isinstance(given, dict):
        raise RequestError(400, f"The body must be an object with 'samples'. Got {shown(given)}.")
    for name in given:
        if name not in ("samples", *OPTIONS):
            raise RequestError(
                400, f"The body may have 'samples', 'top_k', 'probabilities' and 'min_probability'. Got {shown(name)}."
            )
    if not isinstance(given.get("samples"), list):
        got = f"Got {shown(given['samples'])}." if "samples" in given else "It is missing."
        raise RequestError(400, f"'samples' must be a list. {got}")
    return given


def _url_options(options: Mapping[str, str]) -> dict[str, Any]:
    """The values of the options of a URL; texts that are no values stay, and are refused later."""
    for name in options:
        if name not in OPTIONS:
            known = "'top_k', 'probabilities' and 'min_probability'"
            raise RequestError(400, f"The options of the URL are {known}. Got {shown(name)}.")
    return {name: _url_value(text) for name, text in options.items()}


def _url_value(text: str) -> Any:
    if re.fullmatch("[0-9]{1,9}", text):
        return int(text)
    if re.fullmatch(r"[0-9]{0,9}(\.[0-9]{0,30})?([eE][+-]?[0-9]{1,3})?", text) and text[:1] not in ("", ".", "e", "E"):
        return float(text)
    return {"true": True, "false": False}.get(text, text)


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    return [line.removesuffix("\r") for line in (lines if lines[-1] else lines[:-1])]


def _no_constant(name: str) -> NoReturn:
    raise RequestError(400, f"JSON has no {name}; numbers must be finite.")


def _is_whole(value: Any) -> bool:
    """Whether a value of JSON is a whole number, which may be written as 3.0."""
    return type(value) is int or (type(value) is float and value.is_integer())


def _numbers(values: list[Any], name: str) -> NDArray[np.float64]:
    if not set(map(type, values)) <= {int, float}:
        wrong = next(value for value in values if type(value) not in (int, float))
        raise RequestError(400, f"{name}: values must be numbers. Got {shown(wrong)}.")
    try:
        numbers = np.array(values, dtype=np.float64)
    except OverflowError:
        numbers = np.array([np.inf])
    if not (np.abs(numbers) <= MAX_DOUBLE).all():
        raise RequestError(400, f"{name}: a number is too large.")
    return numbers


def _sparse_row(value: dict[str, Any], name: str, n_features: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    indices, values = value.get("indices"), value.get("values")
    if len(value) != 2 or not (isinstance(indices, list) and isinstance(values, list)):
        raise RequestError(400, f"{name}: an object must have two lists, 'indices' and 'values', and nothing else.")
    if len(indices) != len(values):
        raise RequestError(
            400, f"{name}: there must be as many values as indices. Got {len(values):,} and {len(indices):,}."
        )
    for index in indices:
        if not _is_whole(index) or not 0 <= index < n_features:
            raise RequestError(
                400, f"{name}: indices must be whole numbers from 0 to {n_features - 1:,}. Got {shown(index)}."
            )
    if len(set(indices)) < len(indices):
        raise RequestError(400, f"{name}: an index occurs twice.")
    return np.array(indices, dtype=np.int64), _numbers(values, name)


Answer = Any
Answers = Callable[[Sequence[PredictRequest]], Sequence[Answer | Exception]]
"""From requests of one kind to an answer or an exception for each; called in another thread."""


class Batcher:
    """Collects requests, answers them in one thread, and hands out the answers.

    No request waits for others: a thread predicts, and when it is done, it takes all that has arrived in the meantime,
    up to a limit. An idle server answers each request at once; a busy one shares the fixed cost of a prediction.
    """

    def __init__(self, answers: Answers, limits: Limits, *, on_batch: Callable[[int], None] = lambda _: None) -> None:
        self.answers, self.limits, self.on_batch = answers, limits, on_batch
        self.n_waiting = 0
        self._waiting: deque[tuple[PredictRequest, asyncio.Future[Answer]]] = deque()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="codekin-predict")
        self._work: asyncio.Task[None] | None = None

    async def answer(self, request: PredictRequest) -> Answer:
        """The answer to a request; raises RequestError if too many wait, or what the request itself raised."""
        n = len(request.samples)
        if self.n_waiting > 0 and self.n_waiting + n > self.limits.max_waiting:
            raise RequestError(503, f"{self.n_waiting:,} samples are waiting already; try again later.")
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        waiting = request, future
        self._waiting.append(waiting)
        self.n_waiting += n
        if self._work is None or self._work.done():
            self._work = asyncio.create_task(self._answer_all())
        try:
            return await future
        finally:
            self.n_waiting -= n

    def close(self) -> None:
        """End the thread after the current prediction."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def _answer_all(self) -> None:
        loop, context = asyncio.get_running_loop(), contextvars.copy_context()
        while batch := self._next_batch():
            requests = [request for request, _ in batch]
            self.on_batch(sum(len(request.samples) for request in requests))
            answers: Sequence[Answer | Exception]
            try:
                # A copy of the context for the thread: it holds the limit of threads.
                answers = await loop.run_in_executor(self._thread, context.run, self.answers, requests)
            except Exception as error:
                answers = [error] * len(batch)
            for (_, future), answer in zip(batch, answers, strict=True):
                if future.done():  # nobody waits any more
                    continue
                if isinstance(answer, Exception):
                    future.set_exception(answer)
                else:
                    future.set_result(answer)

    def _next_batch(self) -> list[tuple[PredictRequest, asyncio.Future[Answer]]]:
        """The oldest request and, as far as the limit allows, later ones of its kind; the others keep their order."""
        batch: list[tuple[PredictRequest, asyncio.Future[Answer]]] = []
        left: deque[tuple[PredictRequest, asyncio.Future[Answer]]] = deque()
        n_samples = 0
        for waiting in self._waiting:
            request, future = waiting
            if future.done():  # its request was given up
                continue
            n = len(request.samples)
            fits = n_samples + n <= self.limits.max_batch and self.limits.max_batch > 1
            if not batch or (request.kind == batch[0][0].kind and fits):
                batch.append(waiting)
                n_samples += n
            else:
                left.append(waiting)
        self._waiting = left
        return batch
