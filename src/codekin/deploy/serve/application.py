"""The ASGI application: endpoints, limits, and one sentence of JSON for everything that goes wrong."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from importlib.resources import files
from ipaddress import ip_address
from typing import Any

from codekin._system.messages import not_installed
from codekin._version import __version__
from codekin.deploy.answers import Best, json_objects
from codekin.deploy.predictor import BatchPredictor, load_coded
from codekin.deploy.serve.requests import (
    Answer,
    Batcher,
    Limits,
    PredictRequest,
    RequestError,
    parsed_request,
    sample,
    shown,
)
from codekin.storage import Trust

try:
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.requests import ClientDisconnect, Request
    from starlette.responses import Response
    from starlette.routing import Route
    from starlette.types import ASGIApp, Message, Receive, Scope, Send
except ImportError as error:
    raise not_installed("Serving a model", "serve") from error

SCHEMA = 1
"""The version of requests and answers, the ``v1`` of their paths. Fields may be added to answers within a version."""
MAX_DISCARDED = 16
"""Of a body that is too large, as many times the limit are read before the refusal, so that the client can read it."""

SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
SAMPLES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024)
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_log = logging.getLogger(__name__)


def application(folder: str | os.PathLike[str], *, limits: Limits | None = None, trusted: Trust = False) -> Application:
    """An ASGI application that answers requests with a saved model; ``codekin serve`` runs one.

    Parameters
    ----------
    folder : path
        A model folder, written by ``codekin train`` or :func:`codekin.save_model`.
    limits : Limits, optional
        What one request may be, and how many may wait.
    trusted : bool or sequence of str, default=False
        As in :func:`codekin.load_model`.

    Returns
    -------
    Application
        To be run by any ASGI server, such as uvicorn.
    """
    saved = load_coded(folder, trusted=trusted)
    parts: Any = saved.parts  # never None here
    return Application(BatchPredictor.of(saved), limits or Limits(), parts.kind)


class Application:
    """Answers requests with one model."""

    def __init__(self, predictor: BatchPredictor, limits: Limits, estimator: str) -> None:
        self.predictor, self.limits, self.estimator = predictor, limits, estimator
        self.host_names: Sequence[str] | None = None  # None: any; see _is_one_of
        self.metrics = Metrics()
        self.batcher = Batcher(self._answers, limits, on_batch=self.metrics.batches.add)
        self.is_stopping = False
        self.endpoints: dict[str, tuple[str, Callable[[Request], Awaitable[Response]]]] = {
            "/v1/predict": ("POST", self._predict),
            "/v1/model": ("GET", self._model),
            "/v1/openapi.json": ("GET", self._openapi),
            "/health": ("GET", self._health),
            "/metrics": ("GET", self._metrics),
        }
        app = Starlette(
            routes=[Route(path, endpoint, methods=[method]) for path, (method, endpoint) in self.endpoints.items()],
            exception_handlers={HTTPException: self._http_error, RequestError: self._refusal, Exception: self._failure},
        )
        app.router.redirect_slashes = False
        self._app: ASGIApp = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; whatever happens, the client gets a sentence or nothing, never a traceback."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if whole_url := re.match(r"(?i)http://([^/]*)(.*)", scope["path"], re.DOTALL):
            host = (b"host", whole_url[1].encode("latin-1", "replace"))  # counts before that of the header
            scope = {**scope, "path": whole_url[2] or "/", "headers": [*scope["headers"], host]}
        began, status = time.perf_counter(), 0

        async def watched_send(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                if self.is_stopping:
                    message["headers"] = [*message["headers"], (b"connection", b"close")]
            await send(message)

        self.metrics.n_in_progress += 1
        try:
            await (self._refused_head(scope) or self._app)(scope, receive, watched_send)
        except ClientDisconnect:
            status = status or 499  # as others count clients that are gone
        except Exception as error:  # Starlette has answered with 500 already, if it could
            _log.error("%s: %s", type(error).__name__, " ".join(str(error).split()))
        finally:
            self.metrics.n_in_progress -= 1
            path = scope["path"] if scope["path"] in self.endpoints else "other"
            self.metrics.requests[path, status] += 1
            if path == "/v1/predict":
                self.metrics.seconds.add(time.perf_counter() - began)

    def _refused_head(self, scope: Scope) -> Response | None:
        """The answer to a request that is not ours, or whose end is not certain."""
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        if headers.keys() >= {b"content-length", b"transfer-encoding"}:
            sentence = "A request must have either a Content-Length or a Transfer-Encoding. Got both."
            return _refused(RequestError(400, sentence), {"connection": "close"})
        host = headers.get(b"host")  # HTTP/1.0 needs none
        if host is None or self.host_names is None or _is_one_of(self.host_names, host, scope):
            return None
        hosts = "localhost, a loopback address, the address of this server, or a name given by --host-name"
        return _refused(RequestError(421, f"The host of a request must be {hosts}. Got {shown(host)}."))

    async def _predict(self, request: Request) -> Response:
        body = await self._body(request)
        options = request.query_params
        if len(set(options)) < len(options.multi_items()):
            raise RequestError(400, "An option of the URL is given twice.")
        asked = parsed_request(body, request.headers.get("content-type", ""), dict(options), self.limits)
        try:
            async with asyncio.timeout(self.limits.max_seconds):
                predictions = await self.batcher.answer(asked)
        except TimeoutError:
            raise RequestError(503, f"The prediction took longer than {self.limits.max_seconds:g} seconds.") from None
        self.metrics.n_samples += len(asked.samples)
        return _json({"predictions": predictions})

    async def _body(self, request: Request) -> bytes:
        """The body, if it is not too large and arrives in time."""
        most = self.limits.max_body_bytes
        too_large = RequestError(413, f"The body of a request may have at most {most:,} bytes.")
        body = bytearray()
        n_received = 0
        try:
            async with asyncio.timeout(self.limits.max_seconds):
                async for chunk in request.stream():
                    n_received += len(chunk)
                    if n_received > MAX_DISCARDED * most:
                        raise too_large
                    if n_received <= most:
                        body += chunk
        except TimeoutError:
            sentence = f"The body of a request must arrive within {self.limits.max_seconds:g} seconds."
            raise RequestError(408, sentence) from None
        if n_received > most:
            raise too_large
        return bytes(body)

    def _answers(self, requests: Sequence[PredictRequest]) -> list[Answer | Exception]:
        """The answers to requests of one kind, in another thread; a wrong sample concerns only its own."""
        answers: list[Answer | Exception] = []
        rows: list[Any] = []
        for asked in requests:
            try:
                own = [self._row(value, i) for i, value in enumerate(asked.samples)]
            except Exception as error:
                answers.append(error)
                continue
            answers.append((len(rows), len(rows) + len(own)))
            rows += own
        k, has_probabilities, least = requests[0].kind
        best: Best = [], None
        try:
            if rows:
                best = self.predictor.best(rows, k, has_probabilities=has_probabilities, least=least)
            known_words = self.predictor.known_words(rows)
        except Exception:
            if len(requests) == 1:
                raise
            # A learner of another library may dislike one of them.
            return [self._alone(asked) for asked in requests]
        labels, probabilities = best
        for i, answer in enumerate(answers):
            if not isinstance(answer, Exception):
                own_rows = slice(*answer)
                of_labels = None if probabilities is None else probabilities[own_rows]
                are_sets = self.predictor.are_sets
                has_list = requests[i].top_k is not None and not are_sets
                known = None if known_words is None else known_words[own_rows]
                answers[i] = list(
                    json_objects(labels[own_rows], of_labels, known, has_list=has_list, are_sets=are_sets)
                )
        return answers

    def _alone(self, asked: PredictRequest) -> Answer | Exception:
        try:
            return self._answers([asked])[0]
        except Exception as error:
            return error

    def _row(self, value: Any, place: int) -> Any:
        checked = sample(value, place, self.predictor.n_features, takes_rows=self.predictor.takes_rows)
        try:
            return self.predictor.row(checked)
        except ValueError as error:
            raise RequestError(400, f"samples[{place}]: {' '.join(str(error).split())}") from None

    async def _model(self, _: Request) -> Response:
        facts = {
            "schema": SCHEMA,
            "codekin": __version__,
            "estimator": self.estimator,
            "n_classes": self.predictor.n_classes,
            "n_features": self.predictor.n_features,
            "takes_texts": self.predictor.takes_texts,
            "min_probability": self.predictor.predictor.min_probability,
            "limits": vars(self.limits),
        }
        return _json(facts)

    async def _openapi(self, _: Request) -> Response:
        """The description, in which names after an equals sign stand for numbers of this server."""
        n, most = self.predictor.n_features, self.predictor.largest_value
        numbers = {**vars(self.limits), "n_features": n, "last_feature": n - 1, "least": -most, "most": most}
        text = files(__package__).joinpath("openapi.json").read_text("utf-8")
        described = json.loads(re.sub(r'"=(\w+)"', lambda place: str(numbers[place[1]]), text))
        if not self.predictor.takes_texts:
            del described["paths"]["/v1/predict"]["post"]["requestBody"]["content"]["text/plain"]
            del described["components"]["schemas"]["Sample"]["oneOf"][0]
        if self.predictor.takes_rows:
            row = {"type": "object", "description": "A row of a table: its texts, numbers and categories, by column."}
            described["components"]["schemas"]["Sample"]["oneOf"].insert(0, row)
        return _json(described)

    async def _health(self, _: Request) -> Response:
        return _json({"status": "stopping"}, 503) if self.is_stopping else _json({"status": "ok"})

    async def _metrics(self, _: Request) -> Response:
        return Response(self.metrics.text(self.batcher.n_waiting), headers={"content-type": CONTENT_TYPE})

    async def _http_error(self, request: Request, error: Exception) -> Response:
        """The answers that Starlette gives itself: unknown paths and wrong methods."""
        assert isinstance(error, HTTPException)
        path = request.scope["path"]
        if error.status_code == 405:
            method = self.endpoints[path][0]
            sentence = f"{path} needs the method {method}. Got {shown(request.method)}."
        else:
            known = ", ".join(f"{method} {path}" for path, (method, _) in self.endpoints.items())
            sentence = f"There is no {shown(path)} here. There are {known}."
        return _refused(RequestError(error.status_code, sentence), dict(error.headers or {}))

    async def _failure(self, _: Request, __: Exception) -> Response:
        return _refused(RequestError(500, "The server failed to answer; its log says why."))

    async def _refusal(self, _: Request, refusal: Exception) -> Response:
        assert isinstance(refusal, RequestError)
        return _refused(refusal)


class Histogram:
    """How many values were at most each of some bounds."""

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds, self.counts, self.total = bounds, [0] * (len(bounds) + 1), 0.0

    def add(self, value: float) -> None:
        """Count a value."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value

    def lines(self, name: str) -> Iterator[str]:
        """The lines of the text format."""
        so_far = 0
        for bound, count in zip((*map(str, self.bounds), "+Inf"), self.counts, strict=True):
            so_far += count
            yield f'{name}_bucket{{le="{bound}"}} {so_far}'
        yield f"{name}_sum {self.total:.9g}"
        yield f"{name}_count {so_far}"


class Metrics:
    """Counts of one server; changed only by the thread of its event loop."""

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, int]] = Counter()
        self.n_samples = self.n_in_progress = 0
        self.seconds, self.batches = Histogram(SECONDS), Histogram(SAMPLES)

    def text(self, n_waiting: int) -> str:
        """All metrics, each with its type and a sentence."""
        return "\n".join(self._lines(n_waiting)) + "\n"

    def _lines(self, n_waiting: int) -> Iterator[str]:
        yield from _head("codekin_requests_total", "counter", "Requests that were answered, by path and status.")
        for (path, status), count in sorted(self.requests.items()):
            yield f'codekin_requests_total{{path="{path}",status="{status}"}} {count}'
        for name, kind, help, value in (
            ("samples_total", "counter", "Samples that were predicted.", self.n_samples),
            ("requests_in_progress", "gauge", "Requests that are being answered.", self.n_in_progress),
            ("samples_waiting", "gauge", "Samples that are being predicted or wait for it.", n_waiting),
            ("predict_seconds", "histogram", "From the header of a prediction's request to its end.", self.seconds),
            ("batch_samples", "histogram", "Samples that were predicted together.", self.batches),
        ):
            yield from _head(f"codekin_{name}", kind, help)
            yield from value.lines(f"codekin_{name}") if isinstance(value, Histogram) else [f"codekin_{name} {value}"]


def _head(name: str, kind: str, help: str) -> tuple[str, str]:
    return f"# HELP {name} {help}", f"# TYPE {name} {kind}"


def _is_one_of(names: Sequence[str], host: str, scope: Scope) -> bool:
    """Whether a host, with or without a port, has one of these names, or is a loopback or the server's own address."""
    name = re.sub(r":\d*$", "", host.lower()).strip("[]")
    with suppress(ValueError):
        if ip_address(name).is_loopback:
            return True
    here = (scope.get("server") or ("",))[0].removeprefix("::ffff:")  # of an IPv4 client of an IPv6 socket
    return name in ("localhost", here, *(known.lower().strip("[]") for known in names))


def error_body(sentence: str) -> bytes:
    """The body of every answer that is not a success."""
    return _encoded({"error": sentence})


def _refused(refusal: RequestError, headers: dict[str, str] | None = None) -> Response:
    headers = {**(headers or {})}
    if refusal.status in (408, 413):
        headers["connection"] = "close"  # the rest of the body is not wanted
    if refusal.status == 503:
        headers["retry-after"] = "1"
    return Response(error_body(refusal.sentence), refusal.status, headers, media_type="application/json")


def _json(value: Any, status: int = 200) -> Response:
    return Response(_encoded(value), status, media_type="application/json")


def _encoded(value: Any) -> bytes:
    # Half of a surrogate pair in a label must not be the end of an answer.
    return json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")
